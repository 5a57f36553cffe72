/* SPDX-License-Identifier: MIT */
/* Names by address: filled in any order, then finished, then searched. */
#ifndef ANALYZE_SYM_NAME_TABLE_H
#define ANALYZE_SYM_NAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/sym/name_pool.h"

enum name_flags {
    NAME_WEAK = 1,
    NAME_GLOBAL = 2,
    NAME_LABEL = 4, /* without a type: from assembler code, perhaps inside a function */
    NAME_IFUNC = 8,
    NAME_PLT = 16,
    NAME_DYNSYM = 32,
};

struct name_entry {
    uint64_t start;
    uint64_t end;       /* == start until name_table_finish(): size unknown */
    uint64_t limit;     /* most that `end` can be: the section's end */
    const char *raw;    /* not owned */
    const char *name;   /* demangled on first use, then in the pool; NULL until then */
    const char *module; /* not owned, or NULL */
    uint32_t enclosing; /* index + 1 of the entry to try next for an address past this one's end; 0: none */
    uint32_t flags;
};

enum name_rule {
    NAME_BEST_ALIAS, /* of several names at one address, the one that perf takes */
    NAME_LAST_WINS,  /* the one added last: JIT compilers reuse addresses; for kallsyms see text_names.c */
};

struct name_table {
    struct name_entry *entries;
    size_t count, capacity;
    size_t finished;        /* number of entries that name_table_find() searches */
    struct name_pool *pool; /* for demangled names; not owned */
    bool no_demangle;
    bool failed; /* out of memory: the table is incomplete */
};

void name_table_init(struct name_table *table, struct name_pool *pool, bool no_demangle);
void name_table_release(struct name_table *table);
void name_table_add(struct name_table *table, const struct name_entry *entry);
/* Sorts, drops aliases and gives ends to entries without a size. More may be added afterwards, and finished again. */
void name_table_finish(struct name_table *table, enum name_rule rule);
/* The entry that covers ADDRESS, or NULL, among those of the last name_table_finish(). Valid until the next
 * name_table_add() or name_table_finish(). */
struct name_entry *name_table_find(struct name_table *table, uint64_t address);
/* The entry's name, demangled unless no_demangle. */
const char *name_table_name(struct name_table *table, struct name_entry *entry);

#endif
