/* SPDX-License-Identifier: MIT */
/* The functions of one unit and what was inlined into them, by address. */
#ifndef ANALYZE_SYM_DWARF_SCOPE_H
#define ANALYZE_SYM_DWARF_SCOPE_H

#include "analyze/sym/dwarf_unit.h"

struct dwarf_scope {
    uint32_t parent; /* index + 1 of the scope it was inlined into; 0: it is a function */
    uint32_t call_line, call_column;
    uint64_t call_file;
    uint64_t die; /* in .debug_info */
    bool named;   /* its names were looked up */
    const char *linkage, *name;
    const char *shown; /* for the caller: see struct dwarf_frame */
};

/* SCOPE (index + 1; 0: none) is the innermost one from START to the start of the next part. */
struct dwarf_scope_part {
    uint64_t start;
    uint32_t scope;
};

struct dwarf_scopes {
    struct dwarf_scope *list;
    size_t count;
    struct dwarf_scope_part *parts; /* by address */
    size_t part_count;
};

/* Reads the scopes of UNIT of FILE. 0, -ENOEXEC (damaged; *ret has what was readable, or NULL), -ENOMEM. */
int dwarf_scopes_new(struct dwarf_file *file, const struct dwarf_unit *unit, struct dwarf_scopes **ret);
void dwarf_scopes_free(struct dwarf_scopes *scopes);

/* The innermost scope at ADDRESS, or NULL; dwarf_scopes_parent() goes outwards. */
struct dwarf_scope *dwarf_scopes_find(const struct dwarf_scopes *scopes, uint64_t address);
struct dwarf_scope *dwarf_scopes_parent(const struct dwarf_scopes *scopes, const struct dwarf_scope *scope);
/* Fills in linkage and name; follows the references of the DIE. */
void dwarf_scope_name(struct dwarf_file *file, struct dwarf_scope *scope);

#endif
