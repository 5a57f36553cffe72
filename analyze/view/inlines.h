/* SPDX-License-Identifier: MIT */
/*
 * What was inlined in the heaviest functions of a table; in optimized code only the functions around it have symbols.
 * Debug information is read only for those functions, so a report of thousands of functions costs no more.
 */
#ifndef ANALYZE_VIEW_INLINES_H
#define ANALYZE_VIEW_INLINES_H

#include <stdint.h>

#include "analyze/view/histogram.h"
#include "analyze/view/rows.h"
#include "analyze/view/text_table.h"
#include "analyze/view/view.h"
#include "common/json.h"

struct inlines;

/*
 * For the first of ROWS, from the ENTRIES[COUNT] of HISTOGRAM, which must outlive the result. NULL: the view does not
 * show inlined functions.
 */
struct inlines *inlines_new(const struct view *view, struct histogram *histogram, const struct rows *rows,
                            const uint32_t *entries, uint32_t count);
void inlines_free(struct inlines *inlines);

/* Adds a line below the row of FUNCTION (its key), if something is inlined in it. INLINES may be NULL, as below. */
void inlines_show(const struct inlines *inlines, uint64_t function, struct text_table *table, bool utf8);
/* The member "inlined_here", in the same case. */
void inlines_json(const struct inlines *inlines, uint64_t function, struct json *json);

#endif
