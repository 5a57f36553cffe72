/* SPDX-License-Identifier: MIT */
/*
 * Frames of a profile by source line, each with the functions that were inlined there: looked up once for each distinct
 * frame.
 */
#ifndef ANALYZE_VIEW_LINES_H
#define ANALYZE_VIEW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/view/names.h"

struct lines;

/* What one frame is a part of: the innermost inlined function first, the function that has the code last. */
struct lines_part {
    uint32_t function; /* the same for all of a function, another where it is inlined: see lines_function() */
    uint32_t line;     /* the same for all of a line: see lines_line() */
    uint32_t file;     /* the same for all of a source file: see lines_source() */
};

struct lines_function {
    const char *symbol, *dso;
    const char *linkage; /* as names_function has it */
    bool inlined;
};

struct lines_line {
    const char *file; /* NULL: not known; then the line stands for all such code of one function */
    uint32_t number;  /* 0: of no line, the compiler's own */
    const char *symbol, *dso; /* of the first code that was met */
};

struct lines_source {
    const char *file;   /* NULL: not known; then it stands for all such code of one DSO */
    const char *dso;    /* that one; NULL where the file is known */
};

struct lines *lines_new(struct names *names, uint32_t frame_count);
void lines_free(struct lines *lines);

/* Looks up the frames with WANTED[frame] (NULL: all) at once, by THREADS (0: one per CPU); whatever their number, the
 * same is answered afterwards. */
void lines_symbolize(struct lines *lines, const struct profile *profile, const bool *wanted, unsigned threads);
/* At least one; valid until lines_free(). */
const struct lines_part *lines_frame(struct lines *lines, uint32_t frame, uint32_t *ret_count);
/* Valid until the next lines_frame(). */
struct lines_function lines_function(const struct lines *lines, uint32_t function);
struct lines_line lines_line(const struct lines *lines, uint32_t line);
struct lines_source lines_source(const struct lines *lines, uint32_t file);
/* As in ranking.h: by file and number, what is not known last; functions by symbol and DSO. */
int lines_order(const struct lines *lines, uint32_t a, uint32_t b);
int lines_order_functions(const struct lines *lines, uint32_t a, uint32_t b);
int lines_order_files(const struct lines *lines, uint32_t a, uint32_t b);
/* Why the code of FRAME, whose innermost part has no line, has none. */
const char *lines_why(struct lines *lines, uint32_t frame);

#endif
