/* SPDX-License-Identifier: MIT */
/* Chooses and shows rows of a histogram. */
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
    uint64_t more, more_weight; /* number of rows that --top or --cum leaves out, and their self weight */
};

/*
 * LIMIT: most rows; SETTINGS_ALL: no limit. CUM: stop at CUM percent of the whole; 0: no limit. HISTOGRAM must be
 * sorted.
 */
void rows_choose(struct rows *rows, const struct view *view, const struct histogram *histogram, uint64_t limit,
                 double cum);
void rows_release(struct rows *rows);

/* Prints ROWS as a table, with call trees if they are wanted, else with inlined functions (from ENTRIES[COUNT]). */
void rows_print(struct view *view, struct histogram *histogram, const struct rows *rows, const uint32_t *entries,
                uint32_t count);

/* The member of the document that --by asks for ("objects", "processes", "addresses"), and "commands". */
void rows_json(struct json *json, struct view *view);
/* The members of a JSON object with the samples and weights of ROW; shares are of WHOLE. */
void rows_json_figures(struct json *json, const struct histogram_row *row, uint64_t whole);

#endif
