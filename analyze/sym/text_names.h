/* SPDX-License-Identifier: MIT */
/* Names from text files: /proc/kallsyms and the maps of just-in-time compilers. */
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

/* 0 or -errno. EXTRA_FLAGS for open(2). *ret_owner (may be NULL): the file's owner. */
int text_names_init(struct text_names *names, const char *path, int extra_flags, uint32_t *ret_owner);
void text_names_release(struct text_names *names);

struct kallsyms_facts {
    bool hidden;        /* all addresses are 0 */
    uint64_t reference; /* address of the symbol that was asked for, 0: not there */
};

/* "ADDRESS TYPE NAME\t[MODULE]" lines. REFERENCE: a symbol to look out for, or NULL. Consumes the text. */
void text_names_add_kallsyms(struct text_names *names, struct name_table *table, const char *reference,
                             struct kallsyms_facts *ret_facts);
/* Stands for all that is not in a part of such a list: no name. */
#define KALLSYMS_GAP "(not saved)"

/* What a part of a list of the kernel's symbols is for. */
struct kallsyms_wanted {
    const uint64_t *addresses; /* as in the list */
    size_t count;
    const char *reference; /* a symbol that is in it, too, or NULL */
    uint64_t shift;        /* what is added to addresses; with another one than 0 modules are left out */
};

/*
 * The lines that give the names of WANTED: for each all symbols of that address, and behind them, so that perf and we
 * know where the function ends, one KALLSYMS_GAP. *RET is malloced. Consumes the text. 0 or -ENOMEM.
 */
int text_names_cut_kallsyms(struct text_names *names, const struct kallsyms_wanted *wanted, char **ret,
                            size_t *ret_size);
/* "START SIZE NAME" lines, numbers in hexadecimal, NAME up to the end of the line. Consumes the text. */
void text_names_add_jit(struct text_names *names, struct name_table *table);

#endif
