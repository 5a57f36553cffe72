/* SPDX-License-Identifier: MIT */
/* The functions of one unit and what was inlined into them, by address. */
#ifndef ANALYZE_SYM_DWARF_SCOPE_H
#define ANALYZE_SYM_DWARF_SCOPE_H

#include "analyze/sym/dwarf_unit.h"

struct dwarf_scope {
    uint32_t parent; /* index + 1 of what it was inlined into; 0: a function of its own */
    uint32_t call_line, call_column;
    uint64_t call_file;
    uint64_t die;   /* in .debug_info */
    bool named;     /* its names were looked for */
    const char *linkage, *name;
    const char *shown; /* the user's: see struct dwarf_frame */
};

/* From START to the next part's start SCOPE (index + 1) is the innermost; 0: none. */
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

/* Of UNIT, which is FILE's. 0, -ENOEXEC (damaged; *ret has what was readable, or NULL), -ENOMEM. */
int dwarf_scopes_new(struct dwarf_file *file, const struct dwarf_unit *unit, struct dwarf_scopes **ret);
void dwarf_scopes_free(struct dwarf_scopes *scopes);

/* The innermost scope at ADDRESS, or NULL; dwarf_scopes_parent() goes outwards. */
struct dwarf_scope *dwarf_scopes_find(const struct dwarf_scopes *scopes, uint64_t address);
struct dwarf_scope *dwarf_scopes_parent(const struct dwarf_scopes *scopes, const struct dwarf_scope *scope);
/* Fills in linkage and name, following what the DIE refers to. */
void dwarf_scope_name(struct dwarf_file *file, struct dwarf_scope *scope);

#endif
