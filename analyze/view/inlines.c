/* SPDX-License-Identifier: MIT */
#include "analyze/view/inlines.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/lines.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"

#define HEAVY_PERCENT 5     /* of everything, as self: inlined code is looked up in functions with so much */
#define MOST_HEAVY    20    /* functions; there cannot be more */
#define THIRD         33.33 /* percent of the function that an inlined one needs to be shown */
#define MOST_NAMED    3
#define NAME_COLUMNS  40

/* A function that is inlined in a heavy one. */
struct part {
    uint32_t in, function;              /* index of the heavy one; number in struct lines */
    uint64_t self_samples, self_weight; /* where it is the innermost function */
    uint64_t total_samples, total_weight, stamp;
    double distance; /* sum of its distance from the innermost function, times the weight */
};

struct inlines {
    struct lines *lines;
    const struct histogram *histogram;
    const struct histogram_row *heavy[MOST_HEAVY];
    size_t heavy_count;
    struct map keys;
    struct part *parts;
    size_t count, capacity;
    uint64_t stamp;
};

static bool is_wanted(const struct view *view)
{
    const struct settings *settings = view->settings;
    return settings->by == BY_FUNCTION && !view->lines && !settings->group && !settings->no_inline &&
           !settings->no_resolve && !settings->callers && !settings->callees && !settings->call_tree;
}

static void find_heavy(struct inlines *inlines, const struct rows *rows)
{
    for (size_t i = 0; i < rows->count && inlines->heavy_count < MOST_HEAVY; i++)
        if (text_share(rows->list[i]->self_weight, inlines->histogram->weight) >= HEAVY_PERCENT)
            inlines->heavy[inlines->heavy_count++] = rows->list[i];
}

static void add_part(struct inlines *inlines, uint32_t in, uint32_t function, uint32_t distance,
                     const struct profile_entry *entry)
{
    uint32_t index = map_add(&inlines->keys, in, function);
    if (index == inlines->count) {
        inlines->parts = memory_grow(inlines->parts, &inlines->capacity, inlines->count + 1, sizeof(*inlines->parts));
        inlines->parts[inlines->count++] = (struct part){.in = in, .function = function};
    }
    struct part *part = &inlines->parts[index];
    part->self_samples += distance ? 0 : entry->samples;
    part->self_weight += distance ? 0 : entry->weight;
    if (part->stamp == inlines->stamp)
        return;
    part->stamp = inlines->stamp;
    part->total_samples += entry->samples;
    part->total_weight += entry->weight;
    part->distance += (double)distance * (double)entry->weight;
}

/* Debug information may lack the name. */
static bool is_named(const struct inlines *inlines, uint32_t function)
{
    return strcmp(lines_function(inlines->lines, function).symbol, "[unknown]") != 0;
}

/* Adds the samples in heavy functions. INDEX_OF: by key, the index of the heavy function + 1; 0: it is none. */
static void add_entries(struct inlines *inlines, struct histogram *histogram, const uint8_t *index_of,
                        const uint32_t *entries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_entry *entry = &histogram->profile->entries[entries[i]];
        const uint32_t leaf = histogram->profile->stacks[entry->stack].frames[0];
        const uint8_t index = index_of[histogram_frame_key(histogram, leaf)];
        if (!index)
            continue;
        uint32_t parts;
        const struct lines_part *part = lines_frame(inlines->lines, leaf, &parts);
        inlines->stamp++;
        for (uint32_t j = 0; j + 1 < parts; j++)
            if (is_named(inlines, part[j].function))
                add_part(inlines, index - 1u, part[j].function, j, entry);
    }
}

struct inlines *inlines_new(const struct view *view, struct histogram *histogram, const struct rows *rows,
                            const uint32_t *entries, uint32_t count)
{
    if (!is_wanted(view))
        return NULL;
    struct inlines *inlines = memory_new(1, sizeof(*inlines));
    inlines->histogram = histogram;
    find_heavy(inlines, rows);
    if (!inlines->heavy_count)
        return inlines;
    uint8_t *index_of = memory_new(histogram->row_of_capacity, sizeof(*index_of));
    for (size_t i = 0; i < inlines->heavy_count; i++)
        index_of[inlines->heavy[i]->key] = (uint8_t)(i + 1);
    inlines->lines = lines_new(view->names, view->profile->frame_count);
    add_entries(inlines, histogram, index_of, entries, count);
    free(index_of);
    return inlines;
}

void inlines_free(struct inlines *inlines)
{
    if (!inlines)
        return;
    lines_free(inlines->lines);
    map_release(&inlines->keys);
    free(inlines->parts);
    free(inlines);
}

static double distance_of(const struct part *part)
{
    return part->distance / (double)part->total_weight;
}

static int by_distance(const void *left, const void *right, void *context)
{
    const struct part *a = *(const struct part *const *)left, *b = *(const struct part *const *)right;
    const struct inlines *inlines = context;
    const double x = distance_of(a), y = distance_of(b);
    return x < y ? -1 : x > y ? 1 : lines_order_functions(inlines->lines, a->function, b->function);
}

/* The heaviest first; of equal ones, the outer one. */
static int by_weight(const void *left, const void *right, void *context)
{
    int order = order_larger((*(const struct part *const *)left)->total_weight,
                             (*(const struct part *const *)right)->total_weight);
    return order ? order : -by_distance(left, right, context);
}

/*
 * The inlined functions to show for FUNCTION: at most MOST_NAMED, in RET. If more have a third of it, they are nested:
 * the innermost ones are nearer to the code that took the time.
 */
static size_t choose_parts(const struct inlines *inlines, uint64_t function, const struct part **ret)
{
    size_t heavy = 0, count = 0;
    while (inlines && heavy < inlines->heavy_count && inlines->heavy[heavy]->key != function)
        heavy++;
    if (!inlines || heavy == inlines->heavy_count || !inlines->count)
        return 0;
    const struct part **list = memory_new(inlines->count, sizeof(*list));
    for (size_t i = 0; i < inlines->count; i++) {
        const struct part *part = &inlines->parts[i];
        if (part->in == heavy && text_share(part->total_weight, inlines->heavy[heavy]->self_weight) >= THIRD)
            list[count++] = part;
    }
    qsort_r(list, count, sizeof(*list), by_distance, (void *)(uintptr_t)inlines);
    count = count < MOST_NAMED ? count : MOST_NAMED;
    qsort_r(list, count, sizeof(*list), by_weight, (void *)(uintptr_t)inlines);
    memcpy(ret, list, count * sizeof(*list));
    free(list);
    return count;
}

void inlines_show(const struct inlines *inlines, uint64_t function, struct text_table *table, bool utf8)
{
    const struct part *parts[MOST_NAMED];
    const size_t count = choose_parts(inlines, function, parts);
    char *line = memory_text("      inlined here:");
    for (size_t i = 0; i < count; i++) {
        char share[TEXT_AMOUNT], *clean = text_clean(lines_function(inlines->lines, parts[i]->function).symbol, utf8);
        char *name = brief_name(clean, NAME_COLUMNS, utf8);
        char *longer = memory_print("%s%s %s %s", line, i ? "," : "",
                                    text_percent(share, parts[i]->total_weight, inlines->histogram->weight), name);
        free(name);
        free(clean);
        free(line);
        line = longer;
    }
    if (count)
        text_table_line(table, line);
    free(line);
}

void inlines_json(const struct inlines *inlines, uint64_t function, struct json *json)
{
    const struct part *parts[MOST_NAMED];
    const size_t count = choose_parts(inlines, function, parts);
    if (!count)
        return;
    json_list(json, "inlined_here");
    for (size_t i = 0; i < count; i++) {
        const struct histogram_row figures = {.self_samples = parts[i]->self_samples,
                                              .self_weight = parts[i]->self_weight,
                                              .total_samples = parts[i]->total_samples,
                                              .total_weight = parts[i]->total_weight};
        json_object(json, NULL);
        json_string(json, "symbol", lines_function(inlines->lines, parts[i]->function).symbol);
        rows_json_figures(json, &figures, inlines->histogram->weight);
        json_end_object(json);
    }
    json_end_list(json);
}
