/* SPDX-License-Identifier: MIT */
/* The callers (bottom-up) and the callees (top-down) of one function. */
#ifndef ANALYZE_VIEW_CALLERS_H
#define ANALYZE_VIEW_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/histogram.h"
#include "analyze/view/text_table.h"
#include "analyze/view/view.h"
#include "common/json.h"

/* Call trees of one function. */

enum chains_direction { CHAINS_CALLERS, CHAINS_CALLEES };

struct chains_part {
    const uint32_t *entries; /* indices into those of the profile */
    uint32_t count;
    const uint32_t *marks; /* of histogram_mark_stacks(); NULL: each stack is searched */
    unsigned bit;          /* the row's bit in the marks */
};

/*
 * Adds the tree of the row KEY of HISTOGRAM (functions, DSOs or addresses), from the entries of PART, as lines to
 * TABLE. Shares are of WHOLE; branches below 0.5 % of it are only shown as a sum.
 */
void chains_show(struct histogram *histogram, uint64_t key, const struct chains_part *part,
                 enum chains_direction direction, uint64_t whole, struct text_table *table, bool utf8);

/* One function with its callers and its callees, each with its share of the function. */

/*
 * Prints ROW of HISTOGRAM (functions, DSOs or addresses), from ENTRIES[COUNT]. Each sample has one caller, that of the
 * innermost call, and one callee, that of the outermost call: so both sides add up to the function's total.
 */
void butterfly_print(struct view *view, struct histogram *histogram, const struct histogram_row *row,
                     const uint32_t *entries, uint32_t count);
/* The members "callers" and "callees", if they are wanted. */
void butterfly_json(struct json *json, struct view *view, struct histogram *histogram, const struct histogram_row *row,
                    const uint32_t *entries, uint32_t count);

#endif
