/* SPDX-License-Identifier: MIT */
/*
 * The sections of debug information (DWARF 2 to 5), and reads of their bytes. The bytes are not trusted: all reads go
 * through bounded cursors, and every loop uses up the file's work budget, which the size of its sections bounds.
 */
#ifndef ANALYZE_SYM_DWARF_BYTES_H
#define ANALYZE_SYM_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/sym/elf_file.h"
#include "common/cursor.h"
#include "common/leb.h"

enum dwarf_part {
    DWARF_INFO,
    DWARF_ABBREV,
    DWARF_LINE,
    DWARF_STR,
    DWARF_LINE_STR,
    DWARF_RANGES,
    DWARF_RNGLISTS,
    DWARF_ADDR,
    DWARF_STR_OFFSETS,
    DWARF_CU_INDEX, /* of a .dwp */
    DWARF_PARTS,
};

struct dwarf_slice {
    const unsigned char *at;
    size_t size;
};

struct dwarf_sections {
    struct dwarf_slice part[DWARF_PARTS];
    void *owned[DWARF_PARTS]; /* to be freed; NULL where the bytes are not ours */
    bool swap;                /* of the other byte order */
    bool unreadable;          /* a section cannot be read: too large, damaged, or an unknown compression */
};

/*
 * The decompressed sections of ELF, which must outlive them. DWO: those of split DWARF (".debug_info.dwo"). A section
 * for which there is no memory counts as unreadable.
 */
void dwarf_sections_init(struct dwarf_sections *sections, const struct elf_file *elf, bool dwo);
void dwarf_sections_release(struct dwarf_sections *sections);
/* Whether ELF has debug information. */
bool dwarf_sections_present(const struct elf_file *elf);
/* The name of PART in ELF files, without ".debug_". */
const char *dwarf_sections_name(enum dwarf_part part);

/* A cursor from OFFSET of PART to its end; failed if OFFSET is not inside. */
static inline struct cursor dwarf_cursor(const struct dwarf_sections *sections, enum dwarf_part part, uint64_t offset)
{
    const struct dwarf_slice *slice = &sections->part[part];
    struct cursor cursor = {.swap = sections->swap, .failed = offset >= slice->size};

    if (!cursor.failed) {
        cursor.at = slice->at + offset;
        cursor.end = slice->at + slice->size;
    }
    return cursor;
}

static inline uint8_t dwarf_u8(struct cursor *cursor)
{
    if (cursor->at < cursor->end)
        return *cursor->at++;
    cursor->failed = true;
    return 0;
}

/* An integer of SIZE bytes: 1, 2, 3, 4 or 8; anything else fails. */
static inline uint64_t dwarf_uint(struct cursor *cursor, unsigned size)
{
    uint64_t low;

    switch (size) {
    case 1: return dwarf_u8(cursor);
    case 2: return cursor_u16(cursor);
    case 3: /* addrx3, strx3 */
        low = dwarf_u8(cursor);
        return cursor->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) ? low << 16 | cursor_u16(cursor)
                                                                           : low | (uint64_t)cursor_u16(cursor) << 8;
    case 4: return cursor_u32(cursor);
    case 8: return cursor_u64(cursor);
    default: cursor->failed = true; return 0;
    }
}

/* The string at OFFSET of PART, or NULL. */
const char *dwarf_text(const struct dwarf_sections *sections, enum dwarf_part part, uint64_t offset);

#endif
