/* SPDX-License-Identifier: MIT */
/* Names from text files: /proc/kallsyms and perf maps of JIT compilers. */
#ifndef ANALYZE_SYM_TEXT_NAMES_H
#define ANALYZE_SYM_TEXT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/sym/name_table.h"

/* A whole text file; the names point into it. */
struct text_names {
    char *text; /* owned */
    size_t size;
};

/* Reads the file at PATH. 0 or -errno. EXTRA_FLAGS: for open(2). *ret_owner (may be NULL): the file's owner. */
int text_names_init(struct text_names *names, const char *path, int extra_flags, uint32_t *ret_owner);
void text_names_release(struct text_names *names);

struct kallsyms_facts {
    bool hidden;        /* all addresses are 0 */
    uint64_t reference; /* address of the symbol REFERENCE, 0: not found */
};

/* Adds "ADDRESS TYPE NAME\t[MODULE]" lines. REFERENCE: a symbol to look for, or NULL. Consumes the text. */
void text_names_add_kallsyms(struct text_names *names, struct name_table *table, const char *reference,
                             struct kallsyms_facts *ret_facts);
/* Pseudo-symbol for addresses that a part of such a list leaves out: it is no name. */
#define KALLSYMS_GAP "(not saved)"

/* What a part of the kernel's symbol list is to contain. */
struct kallsyms_wanted {
    const uint64_t *addresses; /* as in the list */
    size_t count;
    const char *reference; /* a symbol to include in any case, or NULL */
    uint64_t shift;        /* added to the addresses; unless it is 0, modules are left out */
};

/*
 * The lines that name the addresses of WANTED: for each, all symbols of that address, then one KALLSYMS_GAP, which
 * shows perf and us where the function ends. *RET is malloced. Consumes the text. 0 or -ENOMEM.
 */
int text_names_cut_kallsyms(struct text_names *names, const struct kallsyms_wanted *wanted, char **ret,
                            size_t *ret_size);
/* Adds "START SIZE NAME" lines: hexadecimal numbers, NAME up to the end of the line. Consumes the text. */
void text_names_add_jit(struct text_names *names, struct name_table *table);

#endif
