/* SPDX-License-Identifier: MIT */
#include "unwind/cfi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/bound.h"
#include "common/leb.h"
#include "unwind/cfi_parse.h"
#include "unwind/pointer.h"

/* The largest program seen so far, for a function of gcc itself, has 20 KB. */
enum { NAME_MAX_SIZE = 16, PROGRAM_MAX = 128 << 10 };
enum { SPLIT_MAX = 16 };
/* Zeros and entries of all kinds that are read; later ones are ignored. libLLVM has a fifth of that. */
enum { ENTRIES_MAX = 1 << 19 };

/* One entry, a CIE or an FDE. */
struct entry {
    struct cursor body; /* what follows the id */
    size_t id_at;       /* offset of the id in the section */
    uint64_t id;
    bool wide; /* 64-bit DWARF */
    size_t next;
};

static bool read_entry(const struct cfi *cfi, size_t at, struct entry *ret)
{
    if (at >= cfi->size)
        return false;
    struct cursor cursor = cursor_of(cfi->bytes + at, cfi->size - at);
    uint64_t size = cursor_u32(&cursor);
    ret->wide = size == UINT32_MAX;
    if (ret->wide)
        size = cursor_u64(&cursor);
    if (cursor.failed || size == 0 || size > cursor_left(&cursor))
        return false;
    ret->id_at = (size_t)(cursor.at - cfi->bytes);
    ret->next = ret->id_at + (size_t)size;
    ret->body = cursor_part(&cursor, (size_t)size);
    ret->id = ret->wide ? cursor_u64(&ret->body) : cursor_u32(&ret->body);
    return !ret->body.failed;
}

static bool is_cie(const struct cfi *cfi, const struct entry *entry)
{
    if (!cfi->debug)
        return entry->id == 0;
    return entry->id == (entry->wide ? UINT64_MAX : UINT32_MAX);
}

static bool read_augmentation(const char *text, struct cursor *cursor, struct cfi_cie *ret)
{
    ret->augmented = *text == 'z';
    if (!ret->augmented)
        return *text == '\0';
    struct cursor data = cursor_part(cursor, (size_t)leb_unsigned(cursor));
    for (text++; *text && !data.failed; text++) {
        uint8_t encoding;
        switch (*text) {
        case 'R': ret->encoding = cursor_u8(&data); break;
        case 'P':
            encoding = cursor_u8(&data);
            pointer_read(&data, encoding & 0x0f, 0);
            break;
        case 'L': cursor_u8(&data); break;
        case 'S': ret->signal = true; break;
        case 'B': break;
        default: /* unknown, so its size is, too: keep what was read so far */ return true;
        }
    }
    return !data.failed;
}

/* Reads a short string; limited, since each FDE may have a CIE of its own. */
static const char *read_name(struct cursor *cursor)
{
    struct cursor text = *cursor;
    if (cursor_left(&text) > NAME_MAX_SIZE)
        text.end = text.at + NAME_MAX_SIZE;
    const char *name = cursor_string(&text);
    if (name)
        cursor_skip(cursor, strlen(name) + 1);
    return name;
}

static bool read_cie(const struct cfi *cfi, size_t at, struct cfi_cie *ret)
{
    struct entry entry;
    if (!read_entry(cfi, at, &entry) || !is_cie(cfi, &entry))
        return false;
    struct cursor *cursor = &entry.body;
    *ret = (struct cfi_cie){0};
    uint8_t version = cursor_u8(cursor);
    const char *augmentation = read_name(cursor);
    if (!augmentation || (version != 1 && version != 3 && version != 4))
        return false;
    if (version == 4 && (cursor_u8(cursor) != 8 || cursor_u8(cursor) != 0)) /* address and segment selector size */
        return false;
    ret->code_align = leb_unsigned(cursor);
    ret->data_align = leb_signed(cursor);
    ret->return_reg = version == 1 ? cursor_u8(cursor) : leb_unsigned(cursor);
    if (!read_augmentation(augmentation, cursor, ret))
        return false;
    ret->program = *cursor;
    return !cursor->failed && ret->return_reg < UNWIND_REGS;
}

static uint64_t address_of(const struct cfi *cfi, const struct cursor *cursor)
{
    return cfi->address + (uint64_t)(cursor->at - cfi->bytes);
}

/* The offset of the CIE of an FDE. False: ENTRY is a CIE, or has no valid one. */
static bool find_cie(const struct cfi *cfi, const struct entry *entry, size_t *ret)
{
    if (is_cie(cfi, entry) || (!cfi->debug && entry->id > entry->id_at))
        return false;
    *ret = (size_t)(cfi->debug ? entry->id : entry->id_at - entry->id);
    return true;
}

static bool read_range(const struct cfi *cfi, const struct cfi_cie *cie, struct cursor *body, uint64_t *ret_start,
                       uint64_t *ret_size)
{
    *ret_start = pointer_read(body, cie->encoding, address_of(cfi, body));
    *ret_size = pointer_read(body, cie->encoding & 0x0f, 0);
    return !body->failed && *ret_size && *ret_size <= UINT64_MAX - *ret_start;
}

bool cfi_parse_function(const struct cfi *cfi, size_t at, struct cfi_function *ret)
{
    struct entry entry;
    size_t cie;
    if (!read_entry(cfi, at, &entry) || !find_cie(cfi, &entry, &cie) || !read_cie(cfi, cie, &ret->cie))
        return false;
    if (!read_range(cfi, &ret->cie, &entry.body, &ret->start, &ret->size))
        return false;
    if (ret->cie.augmented) {
        uint64_t size = leb_unsigned(&entry.body);
        cursor_skip(&entry.body, size > SIZE_MAX ? SIZE_MAX : (size_t)size);
    }
    ret->program = entry.body;
    return !entry.body.failed;
}

static int by_start(const void *one, const void *other)
{
    const struct cfi_fde *a = one, *b = other;
    return (a->start > b->start) - (a->start < b->start);
}

static int add_fde(struct cfi *cfi, size_t *capacity, uint64_t start, uint64_t size, size_t at)
{
    if (cfi->count == *capacity) {
        size_t more = *capacity ? 2 * *capacity : 256;
        struct cfi_fde *fdes = realloc(cfi->fdes, more * sizeof(*fdes));
        if (!fdes)
            return -ENOMEM;
        cfi->fdes = fdes;
        *capacity = more;
    }
    uint32_t small = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    cfi->fdes[cfi->count++] = (struct cfi_fde){start, small, (uint32_t)at};
    return 0;
}

/* Builds an index, so that a search looks at about one FDE. Out of memory: searches look at all FDEs. */
void cfi_index_blocks(struct cfi *cfi)
{
    const uint64_t base = cfi->fdes[0].start, span = cfi->fdes[cfi->count - 1].start - base;
    while (span >> cfi->block_shift >= cfi->count)
        cfi->block_shift++;
    size_t blocks = (size_t)(span >> cfi->block_shift) + 1, block = 0;
    cfi->blocks = malloc((blocks + 1) * sizeof(*cfi->blocks));
    if (!cfi->blocks)
        return;
    for (size_t i = 0; i < cfi->count; i++)
        for (; block <= (cfi->fdes[i].start - base) >> cfi->block_shift; block++)
            cfi->blocks[block] = (uint32_t)i;
    cfi->blocks[blocks] = (uint32_t)cfi->count;
    cfi->block_count = blocks;
}

int cfi_index(struct cfi *cfi)
{
    struct cfi_cie cie = {0};
    size_t cie_at = SIZE_MAX, capacity = 0, at = 0, own;
    struct entry entry;
    bool valid = false;
    if (cfi->size > UINT32_MAX)
        return 0;
    for (size_t walked = 0; at < cfi->size && walked < ENTRIES_MAX; at = entry.next, walked++) {
        if (!read_entry(cfi, at, &entry)) {
            /* A zero word is the terminator of .eh_frame, but linkers leave some in the middle. */
            if (cfi->size - at < 4 || memcmp(cfi->bytes + at, "\0\0\0\0", 4) != 0)
                break;
            entry.next = at + 4;
            continue;
        }
        if (!find_cie(cfi, &entry, &own))
            continue;
        if (own != cie_at) {
            valid = read_cie(cfi, own, &cie);
            cie_at = own;
        }
        uint64_t start, size;
        if (!valid || !read_range(cfi, &cie, &entry.body, &start, &size) || start == 0)
            continue; /* start 0: the linker dropped the function */
        if (add_fde(cfi, &capacity, start, size, at) < 0)
            return -ENOMEM;
    }
    if (!cfi->count)
        return 0;
    qsort(cfi->fdes, cfi->count, sizeof(*cfi->fdes), by_start);
    cfi_index_blocks(cfi);
    return 0;
}

void cfi_release(struct cfi *cfi)
{
    free(cfi->bytes);
    free(cfi->fdes);
    free(cfi->blocks);
    *cfi = (struct cfi){0};
}

/* The number of functions that start at or before ADDRESS. */
static size_t count_before(const struct cfi *cfi, uint64_t address)
{
    size_t low = 0, high = cfi->count;
    if (high == 0 || address < cfi->fdes[0].start)
        return 0;
    const uint64_t block = (address - cfi->fdes[0].start) >> cfi->block_shift;
    if (block < cfi->block_count) {
        low = cfi->blocks[block];
        high = cfi->blocks[block + 1];
    }
    return low + UPPER_BOUND(&cfi->fdes[low], high - low, .start, address);
}

static uint64_t function_size(const struct cfi *cfi, struct cfi_fde *fde)
{
    struct cfi_function function;
    if (!fde->size && cfi_parse_function(cfi, fde->at, &function) && function.start == fde->start)
        fde->size = function.size > UINT32_MAX ? UINT32_MAX : (uint32_t)function.size;
    return fde->size;
}

/* The FDE of the function at ADDRESS; NULL: there is none. */
static const struct cfi_fde *find_fde(const struct cfi *cfi, uint64_t address)
{
    size_t low = count_before(cfi, address);
    if (low == 0 || address - cfi->fdes[low - 1].start >= function_size(cfi, &cfi->fdes[low - 1]))
        return NULL;
    return &cfi->fdes[low - 1];
}

bool cfi_find_function(const struct cfi *cfi, uint64_t address, uint64_t *ret_start, uint64_t *ret_size)
{
    const struct cfi_fde *fde = find_fde(cfi, address);
    if (!fde)
        return false;
    *ret_start = fde->start;
    *ret_size = fde->size;
    return true;
}

bool cfi_find_row(const struct cfi *cfi, uint64_t address, struct cfi_row *ret)
{
    const struct cfi_fde *fde = find_fde(cfi, address);
    struct cfi_function function;
    ret->work = 0;
    if (!fde || !cfi_parse_function(cfi, fde->at, &function))
        return false;
    size_t work = cursor_left(&function.cie.program) + cursor_left(&function.program);
    bool found = work <= PROGRAM_MAX && cfi_run(cfi, &function, address, ret);
    ret->work = work <= PROGRAM_MAX ? (uint32_t)work : 0;
    return found;
}

bool cfi_find_split(const struct cfi *cfi, uint64_t address, struct cfi_row *ret)
{
    struct cfi_row behind;
    ret->work = 0;
    size_t low = count_before(cfi, address);
    if (low == 0 || low == cfi->count)
        return false;
    uint64_t end = cfi->fdes[low - 1].start + function_size(cfi, &cfi->fdes[low - 1]), next = cfi->fdes[low].start;
    if (address < end || next - end > SPLIT_MAX)
        return false;
    bool found = cfi_find_row(cfi, next, &behind) && behind.rules[behind.return_reg].how == CFI_UNDEFINED &&
                 cfi_find_row(cfi, end - 1, ret);
    ret->work += behind.work;
    return found;
}
