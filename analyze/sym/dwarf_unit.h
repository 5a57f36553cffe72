/* SPDX-License-Identifier: MIT */
/* The units of one file's .debug_info, and the attributes of their unit DIEs. */
#ifndef ANALYZE_SYM_DWARF_UNIT_H
#define ANALYZE_SYM_DWARF_UNIT_H

#include "analyze/sym/dwarf_form.h"

enum { DWARF_ABBREV_SLOTS = 64 };

/* Whether code can be at ADDRESS: code that the linker dropped keeps its DIEs and lines, at address 0 or the like. */
typedef bool dwarf_is_code(const void *context, uint64_t address);

struct dwarf_lines;
struct dwarf_scopes;
struct dwarf_file;

struct dwarf_unit {
    uint64_t offset, end; /* in .debug_info */
    uint64_t die;         /* the unit DIE */
    uint64_t abbrev;
    struct dwarf_encoding encoding;
    uint8_t type; /* DW_UT_... */
    uint16_t tag; /* of the unit DIE; 0: could not be read */
    bool has_lines;
    struct dwarf_extent extent;
    uint64_t base; /* address that range lists start from */
    uint64_t lines_offset;
    uint64_t str_offsets_base, addr_base, rnglists_base, gnu_ranges_base;
    bool has_rnglists_base, has_str_offsets_base;
    uint64_t dwo_id;
    const char *name, *directory, *dwo_name; /* NULL: none */
    /* Read when an address of the unit is first looked up: */
    bool lines_read, scopes_read, split_looked_for;
    struct dwarf_lines *lines;
    struct dwarf_scopes *scopes;
    struct dwarf_file *split; /* the .dwo; owned */
};

struct dwarf_file {
    struct dwarf_sections sections;
    struct elf_file elf;
    bool has_elf; /* owned; the sections point into it */
    bool dwo;     /* split: addresses and range lists are the skeleton's */
    dwarf_is_code *is_code;
    const void *code; /* its context */
    uint64_t work;    /* steps that are left for reading */
    struct dwarf_unit *units;
    size_t unit_count;
    struct dwarf_file *sup;                 /* not owned; NULL: none */
    const struct dwarf_file *skeleton_file; /* of a split file */
    const struct dwarf_unit *skeleton;
    struct dwarf_abbrevs abbrevs[DWARF_ABBREV_SLOTS];
};

/* Reads the unit headers; file->sections must be set. 0, -ENOEXEC (nothing usable), -ENOMEM. */
int dwarf_units_init(struct dwarf_file *file);
void dwarf_file_free(struct dwarf_file *file);
/* Sets file->work by the size of the sections. */
void dwarf_file_allow(struct dwarf_file *file);

/* The abbreviations of UNIT; NULL: they are damaged. Valid until the next call. */
const struct dwarf_abbrevs *dwarf_unit_abbrevs(struct dwarf_file *file, const struct dwarf_unit *unit);
/* The unit that holds OFFSET of .debug_info, or NULL. */
struct dwarf_unit *dwarf_unit_at(const struct dwarf_file *file, uint64_t offset);

/* Reads the abbreviation of a DIE; CURSOR is then at its values. False: end of the children (code 0), or damaged. */
bool dwarf_die(const struct dwarf_abbrevs *abbrevs, struct cursor *cursor, const struct dwarf_abbrev **ret_abbrev);

/* The string (NULL: none) and the address (false: none) that a value of UNIT stands for. */
const char *dwarf_value_text(const struct dwarf_file *file, const struct dwarf_unit *unit,
                             const struct dwarf_value *value);
bool dwarf_value_address(const struct dwarf_file *file, const struct dwarf_unit *unit, const struct dwarf_value *value,
                         uint64_t *ret_address);

/* Called for each range of addresses; false stops. */
typedef bool dwarf_each_range(void *context, uint64_t low, uint64_t high);
/* Calls EACH for the ranges of a DIE of UNIT. */
void dwarf_unit_ranges(struct dwarf_file *file, const struct dwarf_unit *unit, const struct dwarf_extent *extent,
                       dwarf_each_range *each, void *context);

#endif
