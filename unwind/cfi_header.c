/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame_hdr has a table of all functions by address, which libgcc's unwinder uses, too: with it, entries of
 * .eh_frame are read only when they are needed. Format: Linux Standard Base, "DWARF Extensions".
 */
#include <stdlib.h>

#include "unwind/cfi_parse.h"
#include "unwind/pointer.h"

/* The only encoding that linkers write: DW_EH_PE_datarel | DW_EH_PE_sdata4. */
enum { VERSION = 1, TABLE_ENCODING = 0x3b, ENTRY_SIZE = 8 };
/* A large browser has half as many functions. */
enum { ENTRIES_MAX = 1 << 21 };

/* The number of entries; CURSOR is then at the first one. 0: it is not the table of CFI. */
static uint64_t read_head(const struct cfi *cfi, uint64_t address, struct cursor *cursor)
{
    uint8_t version = cursor_u8(cursor), frames = cursor_u8(cursor), count = cursor_u8(cursor);
    uint8_t table = cursor_u8(cursor);
    if (version != VERSION || table != TABLE_ENCODING || count == POINTER_OMIT)
        return 0;
    const unsigned char *start = cursor->at;
    if (pointer_read(cursor, frames, address + 4) != cfi->address)
        return 0;
    uint64_t entries = pointer_read(cursor, count, address + 4 + (uint64_t)(cursor->at - start));
    return cursor->failed || entries > cursor_left(cursor) / ENTRY_SIZE || entries > ENTRIES_MAX ? 0 : entries;
}

/* False: the entries are not sorted, or one is outside of the section. */
static bool read_entries(struct cfi *cfi, uint64_t address, uint64_t entries, struct cursor *cursor)
{
    for (uint64_t i = 0; i < entries; i++) {
        uint64_t start = address + (uint64_t)(int64_t)(int32_t)cursor_u32(cursor);
        uint64_t at = address + (uint64_t)(int64_t)(int32_t)cursor_u32(cursor) - cfi->address;
        if (at >= cfi->size || (i && start < cfi->fdes[i - 1].start))
            return false;
        cfi->fdes[i] = (struct cfi_fde){.start = start, .at = (uint32_t)at};
    }
    return true;
}

bool cfi_index_by_header(struct cfi *cfi, const unsigned char *bytes, size_t size, uint64_t address)
{
    struct cursor cursor = cursor_of(bytes, size);
    uint64_t entries = cfi->size > UINT32_MAX ? 0 : read_head(cfi, address, &cursor);
    cfi->fdes = entries ? malloc((size_t)entries * sizeof(*cfi->fdes)) : NULL;
    if (!cfi->fdes)
        return false;
    if (!read_entries(cfi, address, entries, &cursor)) {
        free(cfi->fdes);
        cfi->fdes = NULL;
        return false;
    }
    cfi->count = (size_t)entries;
    cfi_index_blocks(cfi);
    return true;
}
