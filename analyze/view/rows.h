/* SPDX-License-Identifier: MIT */
/* Chooses and shows rows of a histogram. */
#ifndef ANALYZE_VIEW_ROWS_H
#define ANALYZE_VIEW_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/view/histogram.h"
#include "analyze/view/view.h"
#include "common/json.h"

/* The limits that cut a table. */
struct rows_limits {
    bool top, cum;
};

struct rows {
    const struct histogram_row **list; /* point into the histogram */
    size_t count;
    /* Number of rows that --top or --cum leaves out, and their self weight without that of inlined functions, which
     * the functions around them have, too. */
    uint64_t more, more_weight;
    struct rows_limits limits;
};

/* --show-cum: the self weight of the rows so far, by event, without that of inlined functions. */
struct rows_sums {
    uint64_t *weights; /* NULL: without --show-cum */
    bool all;          /* --group: of all events; else only of the shown one */
};

/*
 * LIMIT: most rows; SETTINGS_ALL: no limit. CUM: stop at CUM percent of the whole; 0: no limit. HISTOGRAM must be
 * sorted.
 */
void rows_choose(struct rows *rows, const struct view *view, const struct histogram *histogram, uint64_t limit,
                 double cum);
void rows_release(struct rows *rows);
/* The most rows that a table shows: --top; else, with --cum, no limit; else USUAL. */
uint64_t rows_limit(const struct settings *settings, uint64_t usual);
/* The advice below a table that LIMITS cut: "--top all shows all". WEIGHT: the self weight of the rows left out. */
const char *rows_advice(const struct settings *settings, const struct rows_limits *limits, uint64_t weight);

/* The rows that a table leaves out. */
struct rows_left {
    const char *one, *many; /* what they are: "function", "functions" */
    uint64_t count;
    uint64_t weight, whole; /* their self weight; that of all rows */
    struct rows_limits limits;
};

/* Prints the line below a table that leaves out rows; nothing if COUNT is 0. */
void rows_print_more(struct output *output, const struct settings *settings, const struct rows_left *left);

void rows_sums_init(struct rows_sums *sums, const struct view *view, const struct histogram *histogram);
/* Adds ROW, which is the next one that is shown. */
void rows_sums_add(struct rows_sums *sums, const struct histogram *histogram, const struct histogram_row *row);
void rows_sums_release(struct rows_sums *sums);

/* Prints ROWS as a table, with call trees if they are wanted, else with inlined functions (from ENTRIES[COUNT]). */
void rows_print(struct view *view, struct histogram *histogram, const struct rows *rows, const uint32_t *entries,
                uint32_t count);

/* The member of the document that --by asks for ("objects", "processes", "addresses"), and "commands". */
void rows_json(struct json *json, struct view *view);
/* The members of a JSON object with the samples and weights of ROW; shares are of WHOLE. */
void rows_json_figures(struct json *json, const struct histogram_row *row, uint64_t whole);
/* The same of a row of HISTOGRAM, with the events of --group and, with --show-cum, the shares of SUMS. */
void rows_json_row(struct json *json, const struct view *view, const struct histogram *histogram,
                   const struct histogram_row *row, const struct rows_sums *sums);
/* With --cum: the member KEY_left_out, how many rows the list KEY lacks, and their self weight. */
void rows_json_left_out(struct json *json, const struct view *view, const char *key, uint64_t rows, uint64_t weight,
                        uint64_t whole);

#endif
