/* SPDX-License-Identifier: MIT */
/*
 * Source lines of the frames of a profile, with the functions that were inlined there. Each distinct frame is looked up
 * once.
 */
#ifndef ANALYZE_VIEW_LINES_H
#define ANALYZE_VIEW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/view/names.h"

struct lines;

/* A function at a frame: the innermost inlined one comes first, the function that contains the code last. */
struct lines_part {
    uint32_t function; /* number of the function; another one if it is inlined: see lines_function() */
    uint32_t line;     /* number of the line: see lines_line() */
    uint32_t file;     /* number of the source file: see lines_source() */
};

struct lines_function {
    const char *symbol, *dso;
    const char *linkage; /* as in struct names_function */
    bool inlined;
};

struct lines_line {
    const char *file;         /* NULL: not known; then the line stands for all such code of one function */
    uint32_t number;          /* 0: code that the compiler added, without a line */
    const char *symbol, *dso; /* of the first code with this line */
};

struct lines_source {
    const char *file; /* NULL: not known; then it stands for all such code of one DSO */
    const char *dso;  /* that DSO; NULL if the file is known */
};

struct lines *lines_new(struct names *names, uint32_t frame_count);
void lines_free(struct lines *lines);

/* Looks up the frames with WANTED[frame] (NULL: all) at once, by THREADS (0: one per CPU). The results do not depend on
 * their number. */
void lines_symbolize(struct lines *lines, const struct profile *profile, const bool *wanted, unsigned threads);
/* The parts of FRAME, at least one; valid until lines_free(). */
const struct lines_part *lines_frame(struct lines *lines, uint32_t frame, uint32_t *ret_count);
/* Valid until the next lines_frame(). */
struct lines_function lines_function(const struct lines *lines, uint32_t function);
struct lines_line lines_line(const struct lines *lines, uint32_t line);
struct lines_source lines_source(const struct lines *lines, uint32_t file);
/* Comparisons as in names.h: lines by file and number, unknown ones last; functions by symbol and DSO. */
int lines_order(const struct lines *lines, uint32_t a, uint32_t b);
int lines_order_functions(const struct lines *lines, uint32_t a, uint32_t b);
int lines_order_files(const struct lines *lines, uint32_t a, uint32_t b);
/* Why FRAME, whose innermost part has no line, has none. */
const char *lines_why(struct lines *lines, uint32_t frame);

#endif
