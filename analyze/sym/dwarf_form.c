/* SPDX-License-Identifier: MIT */
#include "analyze/sym/dwarf_form.h"

#include <errno.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "common/bound.h"

#define SIZE_ADDRESS  0xfe /* as the unit says */
#define SIZE_OFFSET   0xfd
#define SIZE_REF_ADDR 0xfc /* an address in DWARF 2, an offset since */
#define SIZE_ULEB     0xfb
#define SIZE_SLEB     0xfa
#define SIZE_STRING   0xf9
#define SIZE_BLOCK    0xf8 /* a uleb128 with the size of what follows */
#define SIZE_BLOCK1   0xf7
#define SIZE_BLOCK2   0xf6
#define SIZE_BLOCK4   0xf5
#define SIZE_UNKNOWN  0xff

struct form {
    uint8_t size, class; /* size: in bytes, or one of the above */
};

static const struct form forms[] = {
    [DW_FORM_addr] = {SIZE_ADDRESS, DWARF_ADDRESS},
    [DW_FORM_block2] = {SIZE_BLOCK2, DWARF_OTHER},
    [DW_FORM_block4] = {SIZE_BLOCK4, DWARF_OTHER},
    [DW_FORM_data2] = {2, DWARF_CONSTANT},
    [DW_FORM_data4] = {4, DWARF_CONSTANT},
    [DW_FORM_data8] = {8, DWARF_CONSTANT},
    [DW_FORM_string] = {SIZE_STRING, DWARF_TEXT},
    [DW_FORM_block] = {SIZE_BLOCK, DWARF_OTHER},
    [DW_FORM_block1] = {SIZE_BLOCK1, DWARF_OTHER},
    [DW_FORM_data1] = {1, DWARF_CONSTANT},
    [DW_FORM_flag] = {1, DWARF_CONSTANT},
    [DW_FORM_sdata] = {SIZE_SLEB, DWARF_CONSTANT},
    [DW_FORM_strp] = {SIZE_OFFSET, DWARF_TEXT_STR},
    [DW_FORM_udata] = {SIZE_ULEB, DWARF_CONSTANT},
    [DW_FORM_ref_addr] = {SIZE_REF_ADDR, DWARF_REF_INFO},
    [DW_FORM_ref1] = {1, DWARF_REF},
    [DW_FORM_ref2] = {2, DWARF_REF},
    [DW_FORM_ref4] = {4, DWARF_REF},
    [DW_FORM_ref8] = {8, DWARF_REF},
    [DW_FORM_ref_udata] = {SIZE_ULEB, DWARF_REF},
    [DW_FORM_sec_offset] = {SIZE_OFFSET, DWARF_OFFSET},
    [DW_FORM_exprloc] = {SIZE_BLOCK, DWARF_OTHER},
    [DW_FORM_flag_present] = {0, DWARF_CONSTANT},
    [DW_FORM_strx] = {SIZE_ULEB, DWARF_TEXT_INDEX},
    [DW_FORM_addrx] = {SIZE_ULEB, DWARF_ADDRESS_INDEX},
    [DW_FORM_ref_sup4] = {4, DWARF_REF_SUP},
    [DW_FORM_strp_sup] = {SIZE_OFFSET, DWARF_TEXT_SUP},
    [DW_FORM_data16] = {16, DWARF_OTHER},
    [DW_FORM_line_strp] = {SIZE_OFFSET, DWARF_TEXT_LINE_STR},
    [DW_FORM_ref_sig8] = {8, DWARF_OTHER}, /* a type */
    [DW_FORM_implicit_const] = {0, DWARF_CONSTANT},
    [DW_FORM_loclistx] = {SIZE_ULEB, DWARF_OTHER},
    [DW_FORM_rnglistx] = {SIZE_ULEB, DWARF_LIST_INDEX},
    [DW_FORM_ref_sup8] = {8, DWARF_REF_SUP},
    [DW_FORM_strx1] = {1, DWARF_TEXT_INDEX},
    [DW_FORM_strx2] = {2, DWARF_TEXT_INDEX},
    [DW_FORM_strx3] = {3, DWARF_TEXT_INDEX},
    [DW_FORM_strx4] = {4, DWARF_TEXT_INDEX},
    [DW_FORM_addrx1] = {1, DWARF_ADDRESS_INDEX},
    [DW_FORM_addrx2] = {2, DWARF_ADDRESS_INDEX},
    [DW_FORM_addrx3] = {3, DWARF_ADDRESS_INDEX},
    [DW_FORM_addrx4] = {4, DWARF_ADDRESS_INDEX},
};

static struct form form_of(uint64_t form)
{
    switch (form) {
    case DW_FORM_GNU_addr_index: return (struct form){SIZE_ULEB, DWARF_ADDRESS_INDEX};
    case DW_FORM_GNU_str_index: return (struct form){SIZE_ULEB, DWARF_TEXT_INDEX};
    case DW_FORM_GNU_ref_alt: return (struct form){SIZE_OFFSET, DWARF_REF_SUP};
    case DW_FORM_GNU_strp_alt: return (struct form){SIZE_OFFSET, DWARF_TEXT_SUP};
    default:
        if (form && form < sizeof(forms) / sizeof(forms[0]) && (forms[form].class || forms[form].size))
            return forms[form];
        return (struct form){SIZE_UNKNOWN, DWARF_NONE};
    }
}

/* The size of a value in bytes; UINT32_MAX: it is not the same for every value. */
static uint32_t fixed_size(uint8_t size, const struct dwarf_encoding *encoding)
{
    switch (size) {
    case SIZE_ADDRESS: return encoding->address_size;
    case SIZE_OFFSET: return encoding->offset_size;
    case SIZE_REF_ADDR: return encoding->version <= 2 ? encoding->address_size : encoding->offset_size;
    default: return size <= 16 ? size : UINT32_MAX;
    }
}

static void skip_block(struct cursor *cursor, uint8_t size)
{
    uint64_t length = size == SIZE_BLOCK ? leb_unsigned(cursor)
                                         : dwarf_uint(cursor, size == SIZE_BLOCK1   ? 1
                                                              : size == SIZE_BLOCK2 ? 2
                                                                                    : 4);

    cursor_skip(cursor, length);
}

struct dwarf_value dwarf_form_read(struct cursor *cursor, const struct dwarf_encoding *encoding, uint64_t form,
                                   int64_t constant)
{
    struct form how = form_of(form);
    struct dwarf_value value = {(enum dwarf_class)how.class, 0, NULL};
    uint32_t size = fixed_size(how.size, encoding);

    /* One level only: an indirect form that names itself would never end. */
    if (form == DW_FORM_indirect) {
        form = leb_unsigned(cursor);
        how = form_of(form == DW_FORM_implicit_const ? 0 : form);
        value.class = (enum dwarf_class)how.class;
        size = fixed_size(how.size, encoding);
    }
    if (form == DW_FORM_implicit_const)
        value.number = (uint64_t)constant;
    else if (form == DW_FORM_flag_present)
        value.number = 1;
    else if (size <= 8)
        value.number = dwarf_uint(cursor, size);
    else if (size == 16)
        cursor_skip(cursor, 16);
    else if (how.size == SIZE_ULEB)
        value.number = leb_unsigned(cursor);
    else if (how.size == SIZE_SLEB)
        value.number = (uint64_t)leb_signed(cursor);
    else if (how.size == SIZE_STRING)
        value.text = cursor_string(cursor);
    else if (how.size != SIZE_UNKNOWN)
        skip_block(cursor, how.size);
    else
        cursor->failed = true;
    if (cursor->failed)
        value.class = DWARF_NONE;
    return value;
}

static bool grow_array(void **array, size_t *capacity, size_t count, size_t size)
{
    void *grown;

    if (count < *capacity)
        return true;
    grown = realloc(*array, (2 * count + 32) * size);
    if (!grown)
        return false;
    *array = grown;
    *capacity = 2 * count + 32;
    return true;
}

/* The attributes of one declaration; a pair of zeros ends them. */
static int read_attributes(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev, struct cursor *cursor,
                           size_t *capacity, uint64_t *work)
{
    uint64_t total = 0;

    abbrev->first = (uint32_t)abbrevs->attribute_count;
    for (;;) {
        uint64_t name = leb_unsigned(cursor), form = leb_unsigned(cursor);
        int64_t constant = form == DW_FORM_implicit_const ? leb_signed(cursor) : 0;
        uint32_t size = fixed_size(form_of(form).size, &abbrevs->encoding);

        if (cursor->failed || !*work)
            return -ENOEXEC;
        --*work;
        if (!name && !form)
            break;
        if (form > UINT16_MAX || abbrevs->attribute_count >= INT32_MAX)
            return -ENOEXEC;
        if (!grow_array((void **)&abbrevs->attributes, capacity, abbrevs->attribute_count,
                        sizeof(*abbrevs->attributes)))
            return -ENOMEM;
        /* Names beyond 16 bits are vendor extensions: not needed here. */
        abbrevs->attributes[abbrevs->attribute_count++] = (struct dwarf_attribute){
            name > UINT16_MAX ? 0 : (uint16_t)name, (uint16_t)form, constant};
        total = size == UINT32_MAX || total >= UINT32_MAX ? UINT64_MAX / 2 : total + size;
    }
    abbrev->count = (uint32_t)abbrevs->attribute_count - abbrev->first;
    abbrev->size = total >= UINT32_MAX ? UINT32_MAX : (uint32_t)total;
    return 0;
}

static int by_code(const void *left, const void *right)
{
    const struct dwarf_abbrev *a = left, *b = right;

    if (a->code != b->code)
        return a->code < b->code ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

int dwarf_abbrevs_init(struct dwarf_abbrevs *abbrevs, const struct dwarf_sections *sections, uint64_t offset,
                       const struct dwarf_encoding *encoding, uint64_t *work)
{
    struct cursor cursor = dwarf_cursor(sections, DWARF_ABBREV, offset);
    size_t capacity = 0, attribute_capacity = 0;
    bool sorted = true;
    int error = 0;

    *abbrevs = (struct dwarf_abbrevs){.encoding = *encoding, .offset = offset};
    while (!error && !cursor.failed && cursor_left(&cursor)) {
        struct dwarf_abbrev abbrev = {.code = leb_unsigned(&cursor)};

        if (!abbrev.code)
            break;
        abbrev.tag = (uint16_t)leb_unsigned(&cursor);
        abbrev.children = dwarf_u8(&cursor);
        error = read_attributes(abbrevs, &abbrev, &cursor, &attribute_capacity, work);
        if (!error && !grow_array((void **)&abbrevs->list, &capacity, abbrevs->count, sizeof(abbrev)))
            error = -ENOMEM;
        if (error)
            break;
        sorted = sorted && (!abbrevs->count || abbrevs->list[abbrevs->count - 1].code < abbrev.code);
        abbrevs->list[abbrevs->count++] = abbrev;
    }
    if (cursor.failed && !error)
        error = -ENOEXEC;
    if (error)
        dwarf_abbrevs_release(abbrevs);
    else if (!sorted)
        qsort(abbrevs->list, abbrevs->count, sizeof(*abbrevs->list), by_code);
    return error;
}

void dwarf_abbrevs_release(struct dwarf_abbrevs *abbrevs)
{
    free(abbrevs->list);
    free(abbrevs->attributes);
    *abbrevs = (struct dwarf_abbrevs){0};
}

const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code)
{
    /* Compilers number the codes from 1 on. */
    if (code - 1 < abbrevs->count && abbrevs->list[code - 1].code == code)
        return &abbrevs->list[code - 1];
    size_t at = LOWER_BOUND(abbrevs->list, abbrevs->count, .code, code);
    return at < abbrevs->count && abbrevs->list[at].code == code ? &abbrevs->list[at] : NULL;
}

void dwarf_abbrevs_skip(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev, struct cursor *cursor)
{
    const struct dwarf_attribute *attributes = abbrevs->attributes + abbrev->first;

    if (abbrev->size != UINT32_MAX) {
        cursor_skip(cursor, abbrev->size);
        return;
    }
    for (uint32_t i = 0; i < abbrev->count && !cursor->failed; i++)
        dwarf_form_read(cursor, &abbrevs->encoding, attributes[i].form, attributes[i].constant);
}

bool dwarf_extent_take(struct dwarf_extent *extent, uint16_t attribute, const struct dwarf_value *value)
{
    switch (attribute) {
    case DW_AT_low_pc: extent->low = *value; return true;
    case DW_AT_high_pc: extent->high = *value; return true;
    case DW_AT_ranges: extent->ranges = *value; return true;
    default: return false;
    }
}
