/* SPDX-License-Identifier: MIT */
/* Which rows of a sum are shown, and how. */
#ifndef ANALYZE_VIEW_ROWS_H
#define ANALYZE_VIEW_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/view/histogram.h"
#include "analyze/view/view.h"
#include "common/json.h"

struct rows {
    const struct histogram_row **list; /* point into the histogram */
    size_t count;
    uint64_t more, more_weight; /* left out by --top or --cum, and their self weight */
};

/*
 * LIMIT: rows at most, SETTINGS_ALL: no limit. CUM: so many as have CUM percent, 0: no limit. HISTOGRAM must be sorted.
 */
void rows_choose(struct rows *rows, const struct view *view, const struct histogram *histogram, uint64_t limit,
                 double cum);
void rows_release(struct rows *rows);

/* Prints ROWS as a table, with call trees where they are wanted, or with what was inlined (from ENTRIES[COUNT]). */
void rows_print(struct view *view, struct histogram *histogram, const struct rows *rows, const uint32_t *entries,
                uint32_t count);

/* The member of the document that --by asks for ("objects", "processes", "addresses"), and "commands". */
void rows_json(struct json *json, struct view *view);
/* The members of a JSON object that say how often ROW was hit; shares are of WHOLE. */
void rows_json_figures(struct json *json, const struct histogram_row *row, uint64_t whole);

#endif
