/* SPDX-License-Identifier: MIT */
/*
 * What was inlined in the heaviest functions of a table: an optimizing compiler leaves their callers' names alone.
 * Debug information is read for those functions only, so that a report of thousands of functions costs no more.
 */
#ifndef ANALYZE_VIEW_INLINES_H
#define ANALYZE_VIEW_INLINES_H

#include <stdint.h>

#include "analyze/view/grid.h"
#include "analyze/view/hits.h"
#include "common/json.h"
#include "analyze/view/rows.h"
#include "analyze/view/view.h"

struct inlines;

/*
 * Of the first of ROWS, from ENTRIES[COUNT] that HITS has added up; NULL: the view shows no such thing. HITS must live
 * on.
 */
struct inlines *inlines_new(const struct view *view, struct hits *hits, const struct rows *rows,
                            const uint32_t *entries, uint32_t count);
void inlines_free(struct inlines *inlines);

/* A line below the row of FUNCTION (its key), where there is something to say. INLINES may be NULL, as below. */
void inlines_show(const struct inlines *inlines, uint64_t function, struct grid *grid, bool utf8);
/* The member "inlined_here" in the same case. */
void inlines_json(const struct inlines *inlines, uint64_t function, struct json *json);

#endif
