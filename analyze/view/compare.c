/* SPDX-License-Identifier: MIT */
#include "analyze/view/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/identity.h"
#include "analyze/view/memory.h"
#include "analyze/view/order.h"
#include "analyze/view/text.h"

void compare_init(struct compare *compare, bool total)
{
    *compare = (struct compare){.total = total};
    map_strings_add(&compare->texts, "");
}

void compare_release(struct compare *compare)
{
    for (int i = 0; i < COMPARE_KINDS; i++) {
        map_release(&compare->tables[i].keys);
        free(compare->tables[i].rows);
    }
    map_strings_release(&compare->texts);
    *compare = (struct compare){0};
}

static uint32_t row_of(struct compare *compare, enum compare_by by, uint32_t first, uint32_t second)
{
    struct compare_table *table = &compare->tables[by];
    uint32_t index = map_add(&table->keys, first, second);
    if (index == table->count) {
        table->rows = memory_grow(table->rows, &table->capacity, table->count + 1, sizeof(*table->rows));
        table->rows[table->count++] = (struct compare_row){.first = first, .second = second};
    }
    return index;
}

/* A text that is handed over. */
static uint32_t text_of(struct compare *compare, char *text)
{
    uint32_t number = map_strings_add(&compare->texts, text);
    free(text);
    return number;
}

/* The profile of one side, and what its frames are by now. */
struct adding {
    struct compare *compare;
    struct view *view;
    int side;
    uint32_t *functions, *objects; /* by frame: row + 1 */
};

static void add_sum(struct adding *adding, enum compare_by by, uint32_t row, const struct profile_entry *entry)
{
    struct noise_sum *sum = &adding->compare->tables[by].rows[row].sums[adding->side];
    sum->samples += entry->samples;
    sum->weight += entry->weight;
}

/* Once for each sample, however often the row is in its stack. */
static void add_once(struct adding *adding, enum compare_by by, uint32_t row, const struct profile_entry *entry)
{
    struct compare_row *found = &adding->compare->tables[by].rows[row];
    if (found->stamp == adding->compare->stamp)
        return;
    found->stamp = adding->compare->stamp;
    add_sum(adding, by, row, entry);
}

/* An address without a symbol means nothing in another build: all of an object are one. */
static void identify(struct adding *adding, uint32_t frame)
{
    struct compare *compare = adding->compare;
    const struct settings *settings = adding->view->settings;
    const struct names_place *place = names_frame(adding->view->names, frame);
    uint32_t object = text_of(compare, identity_object(place->object));
    uint32_t symbol = text_of(compare, place->named ? identity_symbol(place->symbol) : memory_text("[no symbol]"));
    uint32_t function_row = row_of(compare, COMPARE_FUNCTION, symbol, object);
    uint32_t object_row = row_of(compare, COMPARE_OBJECT, object, 0);
    adding->functions[frame] = function_row + 1;
    adding->objects[frame] = object_row + 1;
    if (select_place(settings, place->object, place->symbol))
        compare->tables[COMPARE_FUNCTION].rows[function_row].wanted = true;
    if (select_object(settings, place->object))
        compare->tables[COMPARE_OBJECT].rows[object_row].wanted = true;
}

static uint32_t command_row(struct adding *adding, const struct profile_entry *entry)
{
    struct compare *compare = adding->compare;
    const struct profile_task *task = &adding->view->profile->tasks[entry->task];
    const char *path = compare->no_executables ? "" : identity_executable(task, entry->comm);
    uint32_t comm = map_strings_add(&compare->texts, entry->comm);
    uint32_t row = row_of(compare, COMPARE_COMM, comm, text_of(compare, identity_object(path)));
    compare->tables[COMPARE_COMM].rows[row].wanted = true;
    return row;
}

static void add_entry(struct adding *adding, const struct profile_entry *entry)
{
    struct compare *compare = adding->compare;
    uint32_t depth;
    const uint32_t *frames = names_stack(adding->view->names, entry->stack, &depth);
    uint32_t command = command_row(adding, entry);
    uint32_t at = row_of(compare, COMPARE_STACK, 0, command);
    bool wanted = false;
    compare->stamp++;
    add_sum(adding, COMPARE_COMM, command, entry);
    for (uint32_t i = depth; i-- > 0;) {
        uint32_t frame = frames[i];
        if (!adding->functions[frame])
            identify(adding, frame);
        uint32_t function = adding->functions[frame] - 1;
        wanted |= compare->tables[COMPARE_FUNCTION].rows[function].wanted;
        at = row_of(compare, COMPARE_STACK, at + 1, function);
        if (i && !compare->total)
            continue;
        add_once(adding, COMPARE_FUNCTION, function, entry);
        add_once(adding, COMPARE_OBJECT, adding->objects[frame] - 1, entry);
    }
    add_sum(adding, COMPARE_STACK, at, entry);
    compare->tables[COMPARE_STACK].rows[at].wanted |= wanted;
}

void compare_add(struct compare *compare, struct view *view, int side)
{
    struct adding adding = {.compare = compare, .view = view, .side = side};
    adding.functions = memory_new(names_frame_count(view->names), sizeof(*adding.functions));
    adding.objects = memory_new(names_frame_count(view->names), sizeof(*adding.objects));
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        noise_add(&compare->sides[side], entry->samples, entry->weight);
        add_entry(&adding, entry);
    }
    free(adding.objects);
    free(adding.functions);
}

void compare_finish(struct compare *compare)
{
    noise_finish(&compare->sides[0]);
    noise_finish(&compare->sides[1]);
}

double compare_share_change(const struct compare *compare, const struct compare_row *row)
{
    return text_share(row->sums[1].weight, compare->sides[1].all.weight) -
           text_share(row->sums[0].weight, compare->sides[0].all.weight);
}

const char *compare_text(const struct compare *compare, uint32_t text)
{
    return compare->texts.texts[text];
}

struct order {
    const struct compare *compare;
    const struct compare_row *rows;
    bool by_share;
    enum compare_by by;
};

static double size_of_change(const struct order *order, const struct compare_row *row)
{
    if (order->by_share)
        return fabs(compare_share_change(order->compare, row));
    return fabs((double)row->sums[1].weight - (double)row->sums[0].weight);
}

static int order_texts(const struct compare *compare, enum compare_by by, uint32_t a, uint32_t b)
{
    const struct compare_row *x = &compare->tables[by].rows[a], *y = &compare->tables[by].rows[b];
    int order = strcmp(compare_text(compare, x->first), compare_text(compare, y->first));
    return order ? order : strcmp(compare_text(compare, x->second), compare_text(compare, y->second));
}

static uint32_t level_of(const struct compare *compare, uint32_t stack)
{
    uint32_t level = 0;
    for (const struct compare_row *rows = compare->tables[COMPARE_STACK].rows; rows[stack].first; level++)
        stack = rows[stack].first - 1;
    return level;
}

/* From the command inwards: where two stacks part, names decide. One that is a part of the other comes first. */
static int order_stacks(const struct compare *compare, uint32_t a, uint32_t b)
{
    const struct compare_row *rows = compare->tables[COMPARE_STACK].rows;
    uint32_t x = level_of(compare, a), y = level_of(compare, b);
    int shorter = order_smaller(x, y);
    for (; x > y; x--)
        a = rows[a].first - 1;
    for (; y > x; y--)
        b = rows[b].first - 1;
    if (a == b)
        return shorter;
    while (rows[a].first != rows[b].first) {
        a = rows[a].first - 1;
        b = rows[b].first - 1;
    }
    return order_texts(compare, rows[a].first ? COMPARE_FUNCTION : COMPARE_COMM, rows[a].second, rows[b].second);
}

static int order_rows(const struct compare *compare, enum compare_by by, uint32_t a, uint32_t b)
{
    return by == COMPARE_STACK ? order_stacks(compare, a, b) : order_texts(compare, by, a, b);
}

static int by_change(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct compare_row *x = &order->rows[a], *y = &order->rows[b];
    double one = size_of_change(order, x), other = size_of_change(order, y);
    if (one != other)
        return one < other ? 1 : -1;
    int more = order_larger(x->sums[0].weight + x->sums[1].weight, y->sums[0].weight + y->sums[1].weight);
    return more ? more : order_rows(order->compare, order->by, a, b);
}

uint32_t *compare_order(const struct compare *compare, enum compare_by by, bool by_share, size_t *ret_count)
{
    const struct compare_table *table = &compare->tables[by];
    uint32_t *list = memory_new(table->count, sizeof(*list));
    size_t count = 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->rows[i].wanted && (table->rows[i].sums[0].samples || table->rows[i].sums[1].samples))
            list[count++] = i;
    struct order order = {compare, table->rows, by_share, by};
    if (count)
        qsort_r(list, count, sizeof(*list), by_change, &order);
    *ret_count = count;
    return list;
}
