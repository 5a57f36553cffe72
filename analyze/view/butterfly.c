/* SPDX-License-Identifier: MIT */
#include "analyze/view/butterfly.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/calls.h"
#include "analyze/view/chains.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"

#define MOST_LINES 25

/* One caller or callee, or the end of the stack. */
struct wing {
    uint32_t frame; /* one of its frames; NO_FRAME: no caller, or no callee */
    uint64_t samples, weight;
};

#define NO_FRAME UINT32_MAX

struct wings {
    struct map keys; /* (key, whether there is one) */
    struct wing *list;
    size_t count, capacity;
};

static void add(struct wings *wings, uint64_t key, uint32_t frame, const struct profile_entry *entry)
{
    uint32_t index = map_add(&wings->keys, frame == NO_FRAME ? 0 : key, frame != NO_FRAME);
    if (index == wings->count) {
        wings->list = memory_grow(wings->list, &wings->capacity, wings->count + 1, sizeof(*wings->list));
        wings->list[wings->count++] = (struct wing){.frame = frame};
    }
    wings->list[index].samples += entry->samples;
    wings->list[index].weight += entry->weight;
}

static void add_stack(struct wings *wings, struct histogram *histogram, uint64_t key, const struct profile_entry *entry,
                      enum chains_direction direction)
{
    uint32_t depth;
    const uint32_t *frames = histogram_stack(histogram, entry->stack, &depth);
    bool outwards = direction == CHAINS_CALLERS;
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t at = outwards ? i : depth - 1 - i;
        if (histogram_frame_key(histogram, frames[at]) != key)
            continue;
        bool end = outwards ? at + 1 == depth : at == 0;
        uint32_t frame = end ? NO_FRAME : frames[outwards ? at + 1 : at - 1];
        add(wings, end ? 0 : histogram_frame_key(histogram, frame), frame, entry);
        return;
    }
}

static int compare(const void *left, const void *right, void *context)
{
    const struct wing *a = left, *b = right;
    struct histogram *histogram = context;
    int order = order_larger(a->weight, b->weight);
    if (!order && (a->frame == NO_FRAME || b->frame == NO_FRAME))
        return order_larger(a->frame, b->frame);
    return order ? order
                 : order_keys(histogram->names, histogram->profile, histogram->by,
                              histogram_frame_key(histogram, a->frame), histogram_frame_key(histogram, b->frame));
}

static void find(struct wings *wings, struct histogram *histogram, uint64_t key, const uint32_t *entries,
                 uint32_t count, enum chains_direction direction)
{
    *wings = (struct wings){0};
    for (uint32_t i = 0; i < count; i++)
        add_stack(wings, histogram, key, &histogram->profile->entries[entries[i]], direction);
    if (wings->count)
        qsort_r(wings->list, wings->count, sizeof(*wings->list), compare, histogram);
}

static void release_wings(struct wings *wings)
{
    map_release(&wings->keys);
    free(wings->list);
}

static void add_wing(struct text_table *table, struct view *view, struct histogram *histogram,
                     const struct histogram_row *row, const struct wing *wing, enum chains_direction direction)
{
    bool end = wing->frame == NO_FRAME, nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    char text[TEXT_AMOUNT];
    text_table_cell(table, output_heat(text_share(wing->weight, histogram->weight)),
                    text_percent(text, wing->weight, row->total_weight));
    text_table_cell(table, OUTPUT_PLAIN, text_weight(text, wing->weight, nanoseconds));
    text_table_cell(table, OUTPUT_PLAIN, text_percent(text, wing->weight, histogram->weight));
    text_table_cell(table, OUTPUT_DIM, end ? "" : text_base(names_frame(histogram->names, wing->frame)->dso));
    char *label = end ? memory_text(direction == CHAINS_CALLERS ? "[no caller recorded]" : "[self]")
                      : calls_frame_label(histogram, wing->frame);
    text_table_cell(table, OUTPUT_PLAIN, label);
    free(label);
}

static void print_wings(struct view *view, struct histogram *histogram, const struct histogram_row *row,
                        const struct wings *wings, enum chains_direction direction)
{
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    uint64_t limit = view->settings->top ? view->settings->top : MOST_LINES, more = 0;
    const struct text_table_column columns[] = {{"Of it", true, false},
                                                {nanoseconds ? "Time" : "Weight", true, false},
                                                {"Of all", true, false},
                                                {"Object", false, true},
                                                {direction == CHAINS_CALLERS ? "Called by" : "Calls", false, true}};
    struct text_table *table = text_table_new(columns, sizeof(columns) / sizeof(columns[0]), view->output->utf8);
    for (size_t i = 0; i < wings->count; i++) {
        if (i < limit)
            add_wing(table, view, histogram, row, &wings->list[i], direction);
        else
            more += wings->list[i].weight;
    }
    fputc('\n', view->output->to);
    text_table_print(table, view->output, true);
    text_table_free(table);
    char share[TEXT_AMOUNT];
    if (more)
        fprintf(view->output->to, "and more with %s of it together; --top all shows all\n",
                text_percent(share, more, row->total_weight));
}

static void print_side(struct view *view, struct histogram *histogram, const struct histogram_row *row,
                       const uint32_t *entries, uint32_t count, enum chains_direction direction)
{
    struct wings wings;
    find(&wings, histogram, row->key, entries, count, direction);
    print_wings(view, histogram, row, &wings, direction);
    release_wings(&wings);
    static const struct text_table_column column[] = {{"", false, true}};
    struct text_table *table = text_table_new(column, 1, view->output->utf8);
    const struct chains_part part = {.entries = entries, .count = count};
    chains_show(histogram, row->key, &part, direction, histogram->weight, table, view->output->utf8);
    text_table_print(table, view->output, false);
    text_table_free(table);
}

void butterfly_print(struct view *view, struct histogram *histogram, const struct histogram_row *row,
                     const uint32_t *entries, uint32_t count)
{
    char total[TEXT_AMOUNT], total_share[TEXT_AMOUNT], self[TEXT_AMOUNT], self_share[TEXT_AMOUNT],
        samples[TEXT_AMOUNT], own[TEXT_AMOUNT], own_share[TEXT_AMOUNT];
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    char *label = calls_frame_label(histogram, row->frame);
    fputc('\n', view->output->to);
    output_color(view->output, OUTPUT_BOLD);
    output_text(view->output, label);
    output_color(view->output, OUTPUT_PLAIN);
    if (histogram->by != BY_DSO) {
        fputs(" (", view->output->to);
        output_text(view->output, text_base(names_frame(histogram->names, row->frame)->dso));
        fputc(')', view->output->to);
    }
    fprintf(view->output->to, ": total %s (%s), self %s (%s)", text_weight(total, row->total_weight, nanoseconds),
            text_percent(total_share, row->total_weight, histogram->weight),
            text_weight(self, row->self_weight, nanoseconds),
            text_percent(self_share, row->self_weight, histogram->weight));
    if (row->own_weight < row->self_weight)
        fprintf(view->output->to, ", %s (%s) of that without inlined functions",
                text_weight(own, row->own_weight, nanoseconds),
                text_percent(own_share, row->own_weight, histogram->weight));
    fprintf(view->output->to, ", in %s\n", text_plural(samples, row->total_samples, "sample", "samples"));
    free(label);
    if (view->settings->callers)
        print_side(view, histogram, row, entries, count, CHAINS_CALLERS);
    if (view->settings->callees)
        print_side(view, histogram, row, entries, count, CHAINS_CALLEES);
}

static void side_json(struct json *json, struct histogram *histogram, const struct histogram_row *row,
                      const uint32_t *entries, uint32_t count, enum chains_direction direction)
{
    struct wings wings;
    find(&wings, histogram, row->key, entries, count, direction);
    json_list(json, direction == CHAINS_CALLERS ? "callers" : "callees");
    for (size_t i = 0; i < wings.count; i++) {
        const struct wing *wing = &wings.list[i];
        const struct names_place *place = wing->frame == NO_FRAME ? NULL : names_frame(histogram->names, wing->frame);
        json_object(json, NULL);
        json_string(json, "symbol", place ? place->symbol : NULL);
        json_string(json, "dso", place ? place->dso : NULL);
        json_unsigned(json, "samples", wing->samples);
        json_unsigned(json, "weight", wing->weight);
        json_number(json, "percent", text_share(wing->weight, row->total_weight));
        json_bool(json, "inlined", place && place->inlined);
        json_end_object(json);
    }
    json_end_list(json);
    release_wings(&wings);
}

void butterfly_json(struct json *json, struct view *view, struct histogram *histogram, const struct histogram_row *row,
                    const uint32_t *entries, uint32_t count)
{
    if (view->settings->callers)
        side_json(json, histogram, row, entries, count, CHAINS_CALLERS);
    if (view->settings->callees)
        side_json(json, histogram, row, entries, count, CHAINS_CALLEES);
}
