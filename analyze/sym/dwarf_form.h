/* SPDX-License-Identifier: MIT */
/* Abbreviations and the values of attributes. */
#ifndef ANALYZE_SYM_DWARF_FORM_H
#define ANALYZE_SYM_DWARF_FORM_H

#include "analyze/sym/dwarf_bytes.h"

/* The properties of a unit that decide how its bytes are read. */
struct dwarf_encoding {
    uint16_t version;
    uint8_t address_size, offset_size;
};

enum dwarf_class {
    DWARF_NONE,
    DWARF_CONSTANT,
    DWARF_ADDRESS,
    DWARF_ADDRESS_INDEX, /* into .debug_addr */
    DWARF_TEXT,          /* in place: text */
    DWARF_TEXT_STR,      /* offset in .debug_str */
    DWARF_TEXT_LINE_STR,
    DWARF_TEXT_INDEX, /* into .debug_str_offsets */
    DWARF_TEXT_SUP,   /* offset in .debug_str of the supplementary file */
    DWARF_REF,        /* offset in the unit */
    DWARF_REF_INFO,   /* offset in .debug_info */
    DWARF_REF_SUP,    /* offset in .debug_info of the supplementary file */
    DWARF_OFFSET,     /* in the section that the attribute implies */
    DWARF_LIST_INDEX, /* into the offsets of .debug_rnglists */
    DWARF_OTHER,      /* blocks, and everything else that is not needed here */
};

struct dwarf_value {
    enum dwarf_class class;
    uint64_t number;
    const char *text;
};

/* DW_AT_low_pc, DW_AT_high_pc and DW_AT_ranges of a DIE; class DWARF_NONE: it has none. */
struct dwarf_extent {
    struct dwarf_value low, high, ranges;
};

/* Keeps VALUE if ATTRIBUTE is one of these; false: it is not. */
bool dwarf_extent_take(struct dwarf_extent *extent, uint16_t attribute, const struct dwarf_value *value);

/* Reads a value of FORM; an unknown form fails, since its size is unknown. CONSTANT: of DW_FORM_implicit_const. */
struct dwarf_value dwarf_form_read(struct cursor *cursor, const struct dwarf_encoding *encoding, uint64_t form,
                                   int64_t constant);

struct dwarf_attribute {
    uint16_t name, form;
    int64_t constant;
};

struct dwarf_abbrev {
    uint64_t code;
    uint32_t first, count; /* attributes */
    uint32_t size;         /* of all values; UINT32_MAX: not fixed */
    uint16_t tag;
    bool children;
};

/* One table of .debug_abbrev, for units of one encoding. */
struct dwarf_abbrevs {
    struct dwarf_encoding encoding;
    uint64_t offset;
    struct dwarf_abbrev *list; /* by code */
    size_t count;
    struct dwarf_attribute *attributes;
    size_t attribute_count;
};

/*
 * Reads the table at OFFSET. Each declaration uses up one of *WORK. 0, -ENOEXEC (no valid table, or *WORK is used up),
 * -ENOMEM.
 */
int dwarf_abbrevs_init(struct dwarf_abbrevs *abbrevs, const struct dwarf_sections *sections, uint64_t offset,
                       const struct dwarf_encoding *encoding, uint64_t *work);
void dwarf_abbrevs_release(struct dwarf_abbrevs *abbrevs);
/* NULL: there is no such code. */
const struct dwarf_abbrev *dwarf_abbrevs_find(const struct dwarf_abbrevs *abbrevs, uint64_t code);
/* Moves CURSOR past the values of a DIE. */
void dwarf_abbrevs_skip(const struct dwarf_abbrevs *abbrevs, const struct dwarf_abbrev *abbrev, struct cursor *cursor);

#endif
