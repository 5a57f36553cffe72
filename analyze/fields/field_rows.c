/* SPDX-License-Identifier: MIT */
#include "analyze/fields/field_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/names.h"

void field_rows_init(struct field_rows *rows, size_t cell_count, uint32_t event_count)
{
    *rows = (struct field_rows){.cell_count = cell_count, .event_count = event_count};
}

void field_rows_release(struct field_rows *rows)
{
    for (size_t i = 0; i < FIELD_CELLS - 1; i++)
        map_release(&rows->levels[i]);
    map_strings_release(&rows->texts);
    free(rows->rows);
    free(rows->sums);
    *rows = (struct field_rows){0};
}

uint64_t field_rows_cell(struct field_rows *rows, const char *text)
{
    return text ? map_strings_add(&rows->texts, text) : FIELD_NONE;
}

const char *field_rows_text(const struct field_rows *rows, uint64_t cell)
{
    return cell == FIELD_NONE ? NULL : rows->texts.texts[cell];
}

struct field_row *field_rows_add(struct field_rows *rows, const uint64_t *cells)
{
    uint64_t index = cells[0];
    for (size_t i = 1; i < rows->cell_count; i++)
        index = map_add(&rows->levels[i - 1], index, cells[i]);
    if (index < rows->count)
        return &rows->rows[index];
    rows->rows = memory_grow(rows->rows, &rows->capacity, rows->count + 1, sizeof(*rows->rows));
    const size_t before = rows->sum_capacity;
    rows->sums = memory_grow(rows->sums, &rows->sum_capacity, (rows->count + 1) * rows->event_count,
                             sizeof(*rows->sums));
    if (rows->sum_capacity > before)
        memset(rows->sums + before, 0, (rows->sum_capacity - before) * sizeof(*rows->sums));
    struct field_row *row = &rows->rows[rows->count];
    *row = (struct field_row){.number = (uint32_t)rows->count++};
    memcpy(row->cells, cells, rows->cell_count * sizeof(*cells));
    return row;
}

struct field_sum *field_rows_sum(const struct field_rows *rows, const struct field_row *row, uint32_t event)
{
    return &rows->sums[(size_t)row->number * rows->event_count + (rows->event_count > 1 ? event : 0)];
}

struct order {
    const struct field_rows *rows;
    uint32_t event;
    const bool *is_text;
};

static int by_cells(const struct order *order, const struct field_row *a, const struct field_row *b)
{
    int result = 0;
    for (size_t i = 0; i < order->rows->cell_count && !result; i++) {
        const uint64_t x = a->cells[i], y = b->cells[i];
        result = x == FIELD_NONE || y == FIELD_NONE || !order->is_text[i]
                     ? order_smaller(x, y)
                     : strcmp(field_rows_text(order->rows, x), field_rows_text(order->rows, y));
    }
    return result;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct field_row *a = left, *b = right;
    const struct order *order = context;
    int result = order_larger(field_rows_sum(order->rows, a, order->event)->weight,
                              field_rows_sum(order->rows, b, order->event)->weight);
    for (uint32_t i = 0; i < order->rows->event_count && !result; i++)
        result = order_larger(field_rows_sum(order->rows, a, i)->weight, field_rows_sum(order->rows, b, i)->weight);
    return result ? result : by_cells(order, a, b);
}

void field_rows_sort(struct field_rows *rows, uint32_t event, const bool *is_text)
{
    struct order order = {rows, event, is_text};
    if (rows->count)
        qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare, &order);
}
