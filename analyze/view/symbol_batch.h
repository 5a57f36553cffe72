/* SPDX-License-Identifier: MIT */
/*
 * What frames of a profile are called, found for many at once by threads: each of them has a DSO to itself at a
 * time, as symbols.h wants it. What is found does not depend on how many there are. Nothing is numbered here: who asks
 * does that in the order of the frames.
 */
#ifndef ANALYZE_VIEW_SYMBOL_BATCH_H
#define ANALYZE_VIEW_SYMBOL_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/names.h"

struct symbol_batch;

enum symbol_batch_what {
    BATCH_SYMBOLS = 1,
    BATCH_INLINED = 2, /* lines, of frames alone in which something is inlined */
    BATCH_LINES = 4,   /* of all */
};

struct symbol_batch_frame {
    const char *name;   /* as struct symbol has it; NULL: not looked for, or there is none */
    const char *raw_name;
    const char *module;
    uint32_t job; /* the DSO's number + 1; 0: not looked for */
    uint32_t line_count;
    size_t line; /* the first one, among those of the DSO */
};

/* WANTED: by frame, NULL: all. WHAT: enum symbol_batch_what. THREADS: 0: one per CPU. */
struct symbol_batch *symbol_batch_new(struct names *names, const struct profile *profile, const bool *wanted,
                                      unsigned what, unsigned threads);
void symbol_batch_free(struct symbol_batch *batch);

const struct symbol_batch_frame *symbol_batch_frame(const struct symbol_batch *batch, uint32_t frame);
/* frame->line_count of them. */
const struct symbol_line *symbol_batch_lines(const struct symbol_batch *batch, const struct symbol_batch_frame *frame);

#endif
