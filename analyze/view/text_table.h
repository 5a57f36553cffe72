/* SPDX-License-Identifier: MIT */
/* Tables of aligned columns that fit the width of the terminal. Cells may have untrusted text. */
#ifndef ANALYZE_VIEW_TEXT_TABLE_H
#define ANALYZE_VIEW_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/view/output.h"

struct text_table_column {
    const char *head;
    bool right;   /* right-aligned */
    bool shrinks; /* may be cut to fit a terminal; the last column always may */
};

struct text_table;

/* COLUMNS is not copied and must outlive the table. UTF8: as of the output. */
struct text_table *text_table_new(const struct text_table_column *columns, size_t count, bool utf8);
void text_table_free(struct text_table *table);
/* Adds the next cell, row by row. */
void text_table_cell(struct text_table *table, enum output_color color, const char *text);
/* The same for FRONT and TEXT in one cell. If both do not fit, SHORTEN shortens TEXT; FRONT stays. */
typedef char *text_table_shorten(const char *clean, size_t columns, bool utf8);
void text_table_brief(struct text_table *table, enum output_color color, const char *front, const char *text,
                      text_table_shorten *shorten);
/* Adds a line across all columns, below the rows so far. */
void text_table_line(struct text_table *table, const char *text);
void text_table_print(struct text_table *table, struct output *output, bool with_head);

#endif
