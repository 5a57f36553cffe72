/* SPDX-License-Identifier: MIT */
/*
 * Exports a profile to the formats of other programs. The table of formats is in export.c. Each format writes to
 * out->to without checks for errors, but may stop early: output_file_is_over().
 */
#ifndef ANALYZE_EXPORT_EXPORT_H
#define ANALYZE_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyze/view/output_file.h"
#include "analyze/view/view.h"

enum export_needs {
    EXPORT_UNPACKED = 1, /* its reader cannot decompress: a name that ends in .gz is refused */
    EXPORT_SAMPLES = 2,  /* functions by name: without samples there is nothing to write */
    EXPORT_ROWS = 4,     /* it has --group, --show-cum and --cum */
};

struct export_format {
    const char *name;                                         /* "pprof" */
    const char *endings;                                      /* of file names, separated by spaces: ".pb.gz .pprof" */
    unsigned flags;                                           /* enum output_file_flags */
    unsigned needs;                                           /* enum export_needs */
    int (*write)(struct view *view, struct output_file *out); /* returns an exit status, after a message */
    const char *help;
};

/* The format called NAME; NULL: there is none. */
const struct export_format *export_find(const char *name);
/* The format by the ending of FILE's name; NULL: none. */
const struct export_format *export_of_file(const char *file);
/* Finds the format of `export`: by OPERAND, the first one, if that is the name of a format, else by the name of OUTPUT.
 * *ret_operand: it was OPERAND. NULL after a message. */
const struct export_format *export_choose(const char *operand, const char *output, bool *ret_operand);
/* 0; -EINVAL after a message: SETTINGS has options that its format does not have. */
int export_check(const struct settings *settings);
/* "perf, pprof, ..." */
void export_names(char *ret, size_t size);
/* Lists formats for --help. */
void export_help(FILE *to);

int export_view(struct view *view);

/* The formats. */
int merge_write(struct view *view, struct output_file *out);
int pprof_write(struct view *view, struct output_file *out);
int speedscope_write(struct view *view, struct output_file *out);
int firefox_write(struct view *view, struct output_file *out);
int folded_write(struct view *view, struct output_file *out);
int chrome_write(struct view *view, struct output_file *out);
int csv_write(struct view *view, struct output_file *out);
int csv_tasks_write(struct view *view, struct output_file *out);

#endif
