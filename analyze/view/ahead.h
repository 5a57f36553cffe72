/* SPDX-License-Identifier: MIT */
/*
 * What frames of a profile are called, found for many at once by threads: each of them has an object to itself at a
 * time, as symbols.h wants it. What is found does not depend on how many there are. Nothing is numbered here: who asks
 * does that in the order of the frames.
 */
#ifndef ANALYZE_VIEW_AHEAD_H
#define ANALYZE_VIEW_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/names.h"

struct ahead;

enum ahead_what {
    AHEAD_SYMBOLS = 1,
    AHEAD_INLINED = 2, /* lines, of frames alone in which something is inlined */
    AHEAD_LINES = 4,   /* of all */
};

struct ahead_frame {
    const char *name;   /* as struct symbol has it; NULL: not looked for, or there is none */
    const char *raw_name;
    const char *module;
    uint32_t job;       /* the object's number + 1; 0: not looked for */
    uint32_t line_count;
    size_t line;        /* the first one, among those of the object */
};

/* WANTED: by frame, NULL: all. WHAT: enum ahead_what. THREADS: 0: one per CPU. */
struct ahead *ahead_new(struct names *names, const struct profile *profile, const bool *wanted, unsigned what,
                        unsigned threads);
void ahead_free(struct ahead *ahead);

const struct ahead_frame *ahead_frame(const struct ahead *ahead, uint32_t frame);
/* frame->line_count of them. */
const struct symbol_line *ahead_lines(const struct ahead *ahead, const struct ahead_frame *frame);

#endif
