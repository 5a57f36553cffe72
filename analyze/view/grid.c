/* SPDX-License-Identifier: MIT */
#include "analyze/view/grid.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

#define GAP 2
#define LEAST 8       /* columns are not cut below this, */
#define LEAST_LAST 10 /* and the last one, which holds the name, not below this */
#define INDENT 4      /* of the last one where it has a line of its own */

struct cell {
    char *text; /* clean */
    size_t columns;
    enum output_color color;
    size_t front;          /* bytes that stay */
    grid_shorten *shorten; /* NULL: cut at the end */
};

struct line {
    size_t row; /* stands in front of this row */
    char *text; /* clean */
};

struct grid {
    const struct grid_column *columns;
    size_t column_count;
    struct cell *cells;
    size_t count, capacity;
    struct line *lines;
    size_t line_count, line_capacity;
    bool utf8;
    bool broken; /* the last column has a line of its own */
};

struct grid *grid_new(const struct grid_column *columns, size_t count, bool utf8)
{
    struct grid *grid = memory_new(1, sizeof(*grid));
    *grid = (struct grid){.columns = columns, .column_count = count, .utf8 = utf8};
    return grid;
}

void grid_free(struct grid *grid)
{
    if (!grid)
        return;
    for (size_t i = 0; i < grid->count; i++)
        free(grid->cells[i].text);
    for (size_t i = 0; i < grid->line_count; i++)
        free(grid->lines[i].text);
    free(grid->lines);
    free(grid->cells);
    free(grid);
}

void grid_line(struct grid *grid, const char *text)
{
    grid->lines = memory_grow(grid->lines, &grid->line_capacity, grid->line_count + 1, sizeof(*grid->lines));
    grid->lines[grid->line_count++] = (struct line){grid->count / grid->column_count, text_clean(text, grid->utf8)};
}

void grid_cell(struct grid *grid, enum output_color color, const char *text)
{
    grid->cells = memory_grow(grid->cells, &grid->capacity, grid->count + 1, sizeof(*grid->cells));
    char *clean = text_clean(text, grid->utf8);
    grid->cells[grid->count++] = (struct cell){clean, text_columns(clean, grid->utf8), color, 0, NULL};
}

void grid_brief(struct grid *grid, enum output_color color, const char *front, const char *text,
                grid_shorten *shorten)
{
    char *both = memory_print("%s%s", front, text), *clean = text_clean(front, grid->utf8);
    grid_cell(grid, color, both);
    grid->cells[grid->count - 1].front = strlen(clean);
    grid->cells[grid->count - 1].shorten = shorten;
    free(clean);
    free(both);
}

static void fit(const struct grid *grid, struct cell *cell, size_t width)
{
    char *rest = cell->text + cell->front;
    const size_t rest_columns = text_columns(rest, grid->utf8), front = cell->columns - rest_columns;
    if (cell->shorten && front < width) {
        char *brief = cell->shorten(rest, width - front, grid->utf8);
        char *text = memory_print("%.*s%s", (int)cell->front, cell->text, brief);
        free(brief);
        free(cell->text);
        cell->text = text;
    }
    text_cut(cell->text, width, grid->utf8);
    cell->columns = text_columns(cell->text, grid->utf8);
}

static size_t sum_of(const size_t *widths, size_t count)
{
    size_t sum = count ? (count - 1) * GAP : 0;
    for (size_t i = 0; i < count; i++)
        sum += widths[i];
    return sum;
}

/* How much of MORE, what is too wide, comes off WIDTH when LEAST stays. */
static size_t cut_of(size_t width, size_t least, size_t more)
{
    size_t room = width > least ? width - least : 0;
    return room < more ? room : more;
}

/* What stands last is cut first, down to a half of the terminal; then the others that may be; then the last again. If
 * nothing would be left of it, it gets a line of its own. */
static void shrink(struct grid *grid, size_t *widths, size_t width)
{
    size_t last = grid->column_count - 1, total = sum_of(widths, last + 1), more = total > width ? total - width : 0;
    size_t half = width / 2 > LEAST_LAST ? width / 2 : LEAST_LAST, cut = cut_of(widths[last], half, more);
    widths[last] -= cut;
    more -= cut;
    for (size_t i = last; i-- > 0 && more;) {
        cut = grid->columns[i].shrinks ? cut_of(widths[i], LEAST, more) : 0;
        widths[i] -= cut;
        more -= cut;
    }
    cut = cut_of(widths[last], LEAST_LAST, more);
    widths[last] -= cut;
    grid->broken = last && more > cut;
    if (grid->broken)
        widths[last] = width - INDENT;
}

/* PENDING: blanks that are due in front of what comes next, so that no line ends in blanks. */
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

static void print_row(const struct grid *grid, struct output *output, struct cell *row, const size_t *widths)
{
    size_t pending = 0;
    for (size_t i = 0; i < grid->column_count; i++) {
        if (row[i].columns > widths[i])
            fit(grid, &row[i], widths[i]);
        pending += i ? GAP : 0;
        if (grid->broken && i + 1 == grid->column_count && row[i].columns) {
            fputc('\n', output->to);
            pending = INDENT;
        }
        print_cell(output, &row[i], widths[i], grid->columns[i].right, &pending);
    }
    fputc('\n', output->to);
}

static void print_lines(const struct grid *grid, struct output *output, size_t *line, size_t row)
{
    for (; *line < grid->line_count && grid->lines[*line].row <= row; ++*line) {
        if (output->width)
            text_cut(grid->lines[*line].text, (size_t)output->width, grid->utf8);
        fprintf(output->to, "%s\n", grid->lines[*line].text);
    }
}

static void print_head(const struct grid *grid, struct output *output, const size_t *widths)
{
    struct cell *head = memory_new(grid->column_count, sizeof(*head));
    for (size_t i = 0; i < grid->column_count; i++) {
        char *text = text_clean(grid->columns[i].head, grid->utf8);
        head[i] = (struct cell){text, text_columns(text, grid->utf8), OUTPUT_BOLD, 0, NULL};
    }
    print_row(grid, output, head, widths);
    for (size_t i = 0; i < grid->column_count; i++)
        free(head[i].text);
    free(head);
}

void grid_print(struct grid *grid, struct output *output, bool with_head)
{
    size_t columns = grid->column_count, rows = columns ? grid->count / columns : 0;
    size_t *widths = memory_new(columns, sizeof(*widths));
    for (size_t i = 0; i < columns; i++)
        widths[i] = with_head ? text_columns(grid->columns[i].head, grid->utf8) : 0;
    for (size_t i = 0; i < rows * columns; i++)
        if (grid->cells[i].columns > widths[i % columns])
            widths[i % columns] = grid->cells[i].columns;
    grid->broken = false;
    if (output->width && columns)
        shrink(grid, widths, (size_t)output->width);
    if (with_head)
        print_head(grid, output, widths);
    size_t line = 0;
    for (size_t i = 0; i < rows && !output_is_over(output); i++) {
        print_lines(grid, output, &line, i);
        print_row(grid, output, grid->cells + i * columns, widths);
    }
    print_lines(grid, output, &line, rows);
    free(widths);
}
