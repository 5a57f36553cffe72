/* SPDX-License-Identifier: MIT */
/* The rows of a report by fields of samples. A row is a tuple of cells: texts and numbers. */
#ifndef ANALYZE_FIELDS_FIELD_ROWS_H
#define ANALYZE_FIELDS_FIELD_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/map.h"

enum { FIELD_CELLS = 6 };
#define FIELD_NONE UINT64_MAX /* a cell without a value */

struct field_sum {
    uint64_t samples;
    uint64_t weight; /* sum of their periods; of branches: how many there are */
};

struct field_row {
    uint64_t cells[FIELD_CELLS]; /* numbers, or numbers of texts: see field_rows_text() */
    uint32_t number;             /* in order of first appearance */
    /* Of branches, of the shown event: */
    uint64_t predicted, mispredicted; /* a processor that does not know says neither */
    uint64_t cycles, cycle_branches;  /* sum over the branches that have them, and how many these are */
};

struct field_rows {
    size_t cell_count;
    uint32_t event_count;               /* 1: only one of the events has sums, whatever its number */
    struct map levels[FIELD_CELLS - 1]; /* the first N + 2 cells have a number in levels[N] */
    struct map_strings texts;
    struct field_row *rows;
    size_t count, capacity;
    struct field_sum *sums; /* by number of the row, then by event */
    size_t sum_capacity;
};

void field_rows_init(struct field_rows *rows, size_t cell_count, uint32_t event_count);
void field_rows_release(struct field_rows *rows);
/* The cell of TEXT; NULL: FIELD_NONE. */
uint64_t field_rows_cell(struct field_rows *rows, const char *text);
/* The text of CELL; NULL for FIELD_NONE. */
const char *field_rows_text(const struct field_rows *rows, uint64_t cell);
/* The row with these CELLS, a new one if there is none. Valid until the next call. */
struct field_row *field_rows_add(struct field_rows *rows, const uint64_t *cells);
struct field_sum *field_rows_sum(const struct field_rows *rows, const struct field_row *row, uint32_t event);
/* Puts the largest weight of EVENT first, then that of the other events; between equals the cells decide. IS_TEXT: by
 * cell. No row may be added afterwards. */
void field_rows_sort(struct field_rows *rows, uint32_t event, const bool *is_text);

#endif
