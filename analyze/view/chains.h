/* SPDX-License-Identifier: MIT */
/* Call trees of one function: its callers (bottom-up) and its callees (top-down). */
#ifndef ANALYZE_VIEW_CHAINS_H
#define ANALYZE_VIEW_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/histogram.h"
#include "analyze/view/text_table.h"

enum chains_direction { CHAINS_CALLERS, CHAINS_CALLEES };

struct chains_part {
    const uint32_t *entries; /* indices into those of the profile */
    uint32_t count;
    const uint32_t *marks;   /* of histogram_mark_stacks(); NULL: each stack is searched */
    unsigned bit;            /* the row's bit in the marks */
};

/*
 * Adds the tree of the row KEY of HISTOGRAM (functions, DSOs or addresses), from the entries of PART, as lines to
 * TABLE. Shares are of WHOLE; branches below 0.5 % of it are only shown as a sum.
 */
void chains_show(struct histogram *histogram, uint64_t key, const struct chains_part *part,
                 enum chains_direction direction, uint64_t whole, struct text_table *table, bool utf8);

#endif
