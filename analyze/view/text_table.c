/* SPDX-License-Identifier: MIT */
#include "analyze/view/text_table.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

#define GAP        2
#define LEAST      8  /* width below which columns are not cut */
#define LEAST_LAST 10 /* the same for the last column, which has the name */
#define INDENT     4  /* of the last column on a line of its own */

struct cell {
    char *text; /* clean */
    size_t columns;
    enum output_color color;
    size_t front;                /* bytes that stay */
    text_table_shorten *shorten; /* NULL: cut at the end */
};

struct line {
    size_t row; /* it is printed before this row */
    char *text; /* clean */
};

struct text_table {
    const struct text_table_column *columns;
    size_t column_count;
    struct cell *cells;
    size_t count, capacity;
    struct line *lines;
    size_t line_count, line_capacity;
    bool utf8;
    bool broken; /* the last column has a line of its own */
};

struct text_table *text_table_new(const struct text_table_column *columns, size_t count, bool utf8)
{
    struct text_table *table = memory_new(1, sizeof(*table));
    *table = (struct text_table){.columns = columns, .column_count = count, .utf8 = utf8};
    return table;
}

void text_table_free(struct text_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++)
        free(table->cells[i].text);
    for (size_t i = 0; i < table->line_count; i++)
        free(table->lines[i].text);
    free(table->lines);
    free(table->cells);
    free(table);
}

void text_table_line(struct text_table *table, const char *text)
{
    table->lines = memory_grow(table->lines, &table->line_capacity, table->line_count + 1, sizeof(*table->lines));
    table->lines[table->line_count++] = (struct line){table->count / table->column_count,
                                                      text_clean(text, table->utf8)};
}

void text_table_cell(struct text_table *table, enum output_color color, const char *text)
{
    table->cells = memory_grow(table->cells, &table->capacity, table->count + 1, sizeof(*table->cells));
    char *clean = text_clean(text, table->utf8);
    table->cells[table->count++] = (struct cell){clean, text_columns(clean, table->utf8), color, 0, NULL};
}

void text_table_brief(struct text_table *table, enum output_color color, const char *front, const char *text,
                      text_table_shorten *shorten)
{
    char *both = memory_print("%s%s", front, text), *clean = text_clean(front, table->utf8);
    text_table_cell(table, color, both);
    table->cells[table->count - 1].front = strlen(clean);
    table->cells[table->count - 1].shorten = shorten;
    free(clean);
    free(both);
}

static void fit_cell(const struct text_table *table, struct cell *cell, size_t width)
{
    char *rest = cell->text + cell->front;
    const size_t rest_columns = text_columns(rest, table->utf8), front = cell->columns - rest_columns;
    if (cell->shorten && front < width) {
        char *brief = cell->shorten(rest, width - front, table->utf8);
        char *text = memory_print("%.*s%s", (int)cell->front, cell->text, brief);
        free(brief);
        free(cell->text);
        cell->text = text;
    }
    text_cut(cell->text, width, table->utf8);
    cell->columns = text_columns(cell->text, table->utf8);
}

static size_t sum_of(const size_t *widths, size_t count)
{
    size_t sum = count ? (count - 1) * GAP : 0;
    for (size_t i = 0; i < count; i++)
        sum += widths[i];
    return sum;
}

/* How much of the excess MORE can be cut from WIDTH, of which LEAST must stay. */
static size_t cut_of(size_t width, size_t least, size_t more)
{
    size_t room = width > least ? width - least : 0;
    return room < more ? room : more;
}

/* The last column is cut first, down to half of the terminal; then the others that may be cut; then the last one again.
 * If too little would be left of it, it gets a line of its own. */
static void shrink_columns(struct text_table *table, size_t *widths, size_t width)
{
    size_t last = table->column_count - 1, total = sum_of(widths, last + 1), more = total > width ? total - width : 0;
    size_t half = width / 2 > LEAST_LAST ? width / 2 : LEAST_LAST, cut = cut_of(widths[last], half, more);
    widths[last] -= cut;
    more -= cut;
    for (size_t i = last; i-- > 0 && more;) {
        cut = table->columns[i].shrinks ? cut_of(widths[i], LEAST, more) : 0;
        widths[i] -= cut;
        more -= cut;
    }
    cut = cut_of(widths[last], LEAST_LAST, more);
    widths[last] -= cut;
    table->broken = last && more > cut;
    if (table->broken)
        widths[last] = width - INDENT;
}

/* PENDING: spaces that are printed before the next text, so that no line ends in spaces. */
static void print_cell(struct output *output, const struct cell *cell, size_t width, bool right, size_t *pending)
{
    size_t pad = cell->columns < width ? width - cell->columns : 0;
    if (right)
        *pending += pad;
    if (cell->columns) {
        fprintf(output->to, "%*s", (int)*pending, "");
        *pending = 0;
        if (cell->color != OUTPUT_PLAIN)
            output_color(output, cell->color);
        fputs(cell->text, output->to);
        if (cell->color != OUTPUT_PLAIN)
            output_color(output, OUTPUT_PLAIN);
    }
    *pending += right ? 0 : pad;
}

static void print_row(const struct text_table *table, struct output *output, struct cell *row, const size_t *widths)
{
    size_t pending = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (row[i].columns > widths[i])
            fit_cell(table, &row[i], widths[i]);
        pending += i ? GAP : 0;
        if (table->broken && i + 1 == table->column_count && row[i].columns) {
            fputc('\n', output->to);
            pending = INDENT;
        }
        print_cell(output, &row[i], widths[i], table->columns[i].right, &pending);
    }
    fputc('\n', output->to);
}

static void print_lines(const struct text_table *table, struct output *output, size_t *line, size_t row)
{
    for (; *line < table->line_count && table->lines[*line].row <= row; ++*line) {
        if (output->width)
            text_cut(table->lines[*line].text, (size_t)output->width, table->utf8);
        fprintf(output->to, "%s\n", table->lines[*line].text);
    }
}

static void print_head(const struct text_table *table, struct output *output, const size_t *widths)
{
    struct cell *head = memory_new(table->column_count, sizeof(*head));
    for (size_t i = 0; i < table->column_count; i++) {
        char *text = text_clean(table->columns[i].head, table->utf8);
        head[i] = (struct cell){text, text_columns(text, table->utf8), OUTPUT_BOLD, 0, NULL};
    }
    print_row(table, output, head, widths);
    for (size_t i = 0; i < table->column_count; i++)
        free(head[i].text);
    free(head);
}

void text_table_print(struct text_table *table, struct output *output, bool with_head)
{
    size_t columns = table->column_count, rows = columns ? table->count / columns : 0;
    size_t *widths = memory_new(columns, sizeof(*widths));
    for (size_t i = 0; i < columns; i++)
        widths[i] = with_head ? text_columns(table->columns[i].head, table->utf8) : 0;
    for (size_t i = 0; i < rows * columns; i++)
        if (table->cells[i].columns > widths[i % columns])
            widths[i % columns] = table->cells[i].columns;
    table->broken = false;
    if (output->width && columns)
        shrink_columns(table, widths, (size_t)output->width);
    if (with_head)
        print_head(table, output, widths);
    size_t line = 0;
    for (size_t i = 0; i < rows && !output_is_over(output); i++) {
        print_lines(table, output, &line, i);
        print_row(table, output, table->cells + i * columns, widths);
    }
    print_lines(table, output, &line, rows);
    free(widths);
}
