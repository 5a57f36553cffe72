/* SPDX-License-Identifier: MIT */
/*
 * Batch symbolization: threads look up the names of many frames at once. Each thread works on one DSO at a time, which
 * no other thread uses then, as symbols.h demands. The results do not depend on the number of threads, and have no
 * numbers: the caller gives these, in the order of the frames.
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
    BATCH_INLINED = 2, /* lines, but only of frames where something is inlined */
    BATCH_LINES = 4,   /* lines of all frames */
};

struct symbol_batch_frame {
    const char *name; /* as in struct symbol; NULL: not looked up, or there is none */
    const char *raw_name;
    const char *module;
    uint32_t job; /* the DSO's number + 1; 0: not looked up */
    uint32_t line_count;
    size_t line; /* index of the first one among those of the DSO */
};

/* WANTED: by frame; NULL: all. WHAT: enum symbol_batch_what. THREADS 0: one per CPU. */
struct symbol_batch *symbol_batch_new(struct names *names, const struct profile *profile, const bool *wanted,
                                      unsigned what, unsigned threads);
void symbol_batch_free(struct symbol_batch *batch);

const struct symbol_batch_frame *symbol_batch_frame(const struct symbol_batch *batch, uint32_t frame);
/* The lines of FRAME, frame->line_count of them. */
const struct symbol_line *symbol_batch_lines(const struct symbol_batch *batch, const struct symbol_batch_frame *frame);

#endif
