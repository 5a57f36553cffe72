/* SPDX-License-Identifier: MIT */
/* Tables of aligned columns that fit the width of the terminal. Cells may hold what someone else wrote. */
#ifndef ANALYZE_VIEW_GRID_H
#define ANALYZE_VIEW_GRID_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/view/output.h"

struct grid_column {
    const char *head;
    bool right;   /* aligned to the right */
    bool shrinks; /* may be cut to fit a terminal; the last column always may */
};

struct grid;

/* COLUMNS is not copied and must live on. UTF8 as of the output. */
struct grid *grid_new(const struct grid_column *columns, size_t count, bool utf8);
void grid_free(struct grid *grid);
/* The next cell, row by row. */
void grid_cell(struct grid *grid, enum output_color color, const char *text);
/* The same where FRONT, which stays, is before TEXT, of which SHORTEN chooses what is shown where both do not fit. */
typedef char *grid_shorten(const char *clean, size_t columns, bool utf8);
void grid_brief(struct grid *grid, enum output_color color, const char *front, const char *text,
                grid_shorten *shorten);
/* A line of its own below the rows so far, across all columns. */
void grid_line(struct grid *grid, const char *text);
void grid_print(struct grid *grid, struct output *output, bool with_head);

#endif
