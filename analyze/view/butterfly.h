/* SPDX-License-Identifier: MIT */
/* One function with its callers and its callees, each with its share of the function. */
#ifndef ANALYZE_VIEW_BUTTERFLY_H
#define ANALYZE_VIEW_BUTTERFLY_H

#include <stdint.h>

#include "analyze/view/histogram.h"
#include "analyze/view/view.h"
#include "common/json.h"

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
