/* SPDX-License-Identifier: MIT */
/*
 * DSOs with names, lines and files of a test, for the views: symbols_fake.c replaces the functions of
 * analyze/sym/symbols.h that symbols_fake_wraps of view.cmake lists.
 */
#ifndef UNIT_SYMBOLS_FAKE_H
#define UNIT_SYMBOLS_FAKE_H

#include "analyze/sym/symbols.h"

struct symbols_fake_function {
    uint64_t start, size;
    const char *name;   /* NULL: only its bounds are known */
    const char *module; /* of the kernel */
};

struct symbols_fake_row {
    uint64_t address;
    const char *file; /* NULL: the end of a sequence */
    uint32_t line;
};

struct symbols_fake_lines {
    uint64_t address;
    struct symbol_line list[4]; /* the innermost first, up to the first one without a line */
};

struct symbols_dso {
    const char *path; /* as mapped; "[kernel]", and "[jit]" for JIT code */
    const char *file; /* NULL: none */
    bool no_code, replaced;
    uint64_t shift; /* address - offset */
    uint64_t end;   /* no part of it has addresses from here on */
    const struct symbols_fake_function *functions;
    size_t function_count;
    const struct symbols_fake_row *rows;
    size_t row_count;
    const struct symbols_fake_lines *lines;
    size_t line_count;
    const char *lines_why;
    unsigned missing;
    const char *why;
    unsigned asked, asked_lines; /* number of calls of symbols_find() and symbols_lines() */
    const char *jit_dump;        /* path of symbols_jit_dump() */
};

/* Sets all DSOs. */
void symbols_fake_set(struct symbols_dso *dsos, size_t count);
/* The arguments of the last symbols_kernel() and symbols_jit(). */
extern struct symbols_kernel symbols_fake_kernel;
extern uint32_t symbols_fake_pid;

#endif
