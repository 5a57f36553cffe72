/* SPDX-License-Identifier: MIT */
#include "analyze/view/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/view.h"
#include "common/json.h"

void histogram_init(struct histogram *histogram, const struct profile *profile, struct names *names, int by)
{
    *histogram = (struct histogram){.by = by, .profile = profile, .names = names};
    if (by == BY_FUNCTION)
        histogram->numbers = names_functions(names);
    else if (by == BY_DSO)
        histogram->numbers = names_dsos(names);
}

void histogram_release(struct histogram *histogram)
{
    free(histogram->rows);
    free(histogram->row_of);
    free(histogram->others);
    free(histogram->other_sums);
    map_release(&histogram->keys);
    histogram->rows = NULL;
    histogram->row_of = NULL;
    histogram->others = histogram->other_sums = NULL;
    histogram->count = histogram->capacity = histogram->row_of_capacity = histogram->other_capacity = 0;
}

bool histogram_has_stacks(int by)
{
    return by == BY_FUNCTION || by == BY_DSO || by == BY_ADDRESS || by == BY_LINE || by == BY_INLINE || by == BY_FILE;
}

static uint32_t number_of(struct histogram *histogram, uint32_t frame)
{
    if (histogram->by == BY_DSO)
        return names_dso_of(histogram->names, frame);
    return histogram->by == BY_ADDRESS ? frame : names_function_of(histogram->names, frame);
}

static inline uint32_t key_of(struct histogram *histogram, uint32_t frame)
{
    uint32_t number = histogram->numbers ? histogram->numbers[frame] : 0;
    return number ? number - 1 : number_of(histogram, frame);
}

const uint32_t *histogram_stack(const struct histogram *histogram, uint32_t stack, uint32_t *ret_depth)
{
    if (histogram->by == BY_FUNCTION)
        return names_stack(histogram->names, stack, ret_depth);
    *ret_depth = histogram->profile->stacks[stack].depth;
    return histogram->profile->stacks[stack].frames;
}

uint64_t histogram_frame_key(struct histogram *histogram, uint32_t frame)
{
    return key_of(histogram, frame);
}

static struct histogram_row *add_row(struct histogram *histogram, uint64_t key, uint32_t frame, uint32_t task)
{
    histogram->rows = memory_grow(histogram->rows, &histogram->capacity, histogram->count + 1,
                                  sizeof(*histogram->rows));
    histogram->rows[histogram->count] = (struct histogram_row){
        .key = key, .frame = frame, .task = task, .number = (uint32_t)histogram->count};
    return &histogram->rows[histogram->count++];
}

static struct histogram_row *row_of_key(struct histogram *histogram, uint64_t key, uint32_t task)
{
    uint32_t index = map_add(&histogram->keys, key, 0);
    return index == histogram->count ? add_row(histogram, key, 0, task) : &histogram->rows[index];
}

/* Numbers of frames, functions and DSOs are dense, so an array finds their rows. */
static struct histogram_row *row_of_frame(struct histogram *histogram, uint32_t frame, uint32_t task)
{
    uint32_t key = key_of(histogram, frame);
    if (key >= histogram->row_of_capacity) {
        size_t before = histogram->row_of_capacity;
        histogram->row_of = memory_grow(histogram->row_of, &histogram->row_of_capacity, (size_t)key + 1,
                                        sizeof(*histogram->row_of));
        memset(histogram->row_of + before, 0, (histogram->row_of_capacity - before) * sizeof(*histogram->row_of));
    }
    if (histogram->row_of[key])
        return &histogram->rows[histogram->row_of[key] - 1];
    struct histogram_row *row = add_row(histogram, key, frame, task);
    histogram->row_of[key] = (uint32_t)histogram->count;
    return row;
}

static void count_total(struct histogram *histogram, struct histogram_row *row, const struct profile_entry *entry)
{
    if (row->stamp == histogram->stamp)
        return;
    row->stamp = histogram->stamp;
    row->total_samples += entry->samples;
    row->total_weight += entry->weight;
}

/* The self weight of a function is that of samples in its code, with everything inlined there. */
static void add_stack(struct histogram *histogram, const struct profile_entry *entry)
{
    uint32_t depth, leaf = histogram->profile->stacks[entry->stack].frames[0];
    const uint32_t *frames = histogram_stack(histogram, entry->stack, &depth);
    bool has_self = false;
    for (uint32_t i = 0; i < depth; i++) {
        struct histogram_row *row = row_of_frame(histogram, frames[i], entry->task);
        row->own_samples += i == 0 ? entry->samples : 0;
        row->own_weight += i == 0 ? entry->weight : 0;
        if (!has_self && frames[i] == leaf) {
            has_self = true;
            row->self_samples += entry->samples;
            row->self_weight += entry->weight;
        }
        count_total(histogram, row, entry);
    }
}

static uint64_t task_key(const struct histogram *histogram, const struct profile_entry *entry)
{
    if (histogram->by == BY_COMM)
        return (uintptr_t)entry->comm;
    return histogram->by == BY_PROCESS ? (uint32_t)histogram->profile->tasks[entry->task].pid : entry->task;
}

uint32_t *histogram_mark_stacks(struct histogram *histogram, const struct histogram_row *const *rows, size_t count,
                                const uint32_t *entries, uint32_t entry_count)
{
    const struct profile *profile = histogram->profile;
    const uint32_t looked_at = 1u << HISTOGRAM_MARKED;
    uint32_t *marks = memory_new(profile->stack_count, sizeof(*marks));
    uint32_t *bits = memory_new(histogram->row_of_capacity, sizeof(*bits)); /* by key */
    for (size_t i = 0; i < count; i++)
        bits[rows[i]->key] = 1u << i;
    for (uint32_t i = 0; i < entry_count; i++) {
        uint32_t index = profile->entries[entries[i]].stack;
        if (marks[index] >= looked_at)
            continue;
        uint32_t depth;
        const uint32_t *frames = histogram_stack(histogram, index, &depth);
        for (uint32_t at = 0; at < depth; at++)
            marks[index] |= bits[key_of(histogram, frames[at])];
        marks[index] |= looked_at;
    }
    free(bits);
    return marks;
}

void histogram_add(struct histogram *histogram, const struct profile_entry *entry)
{
    histogram->stamp++;
    histogram->samples += entry->samples;
    histogram->weight += entry->weight;
    if (histogram_has_stacks(histogram->by)) {
        add_stack(histogram, entry);
        return;
    }
    struct histogram_row *row = row_of_key(histogram, task_key(histogram, entry), entry->task);
    row->self_samples += entry->samples;
    row->self_weight += entry->weight;
    count_total(histogram, row, entry);
}

/* The sums of ROW for EVENT; makes room for all rows and events. */
static struct histogram_other *other_of(struct histogram *histogram, const struct histogram_row *row, uint32_t event)
{
    size_t events = histogram->profile->event_count, needed = histogram->count * events,
           before = histogram->other_capacity;
    if (!histogram->other_sums)
        histogram->other_sums = memory_new(events, sizeof(*histogram->other_sums));
    histogram->others = memory_grow(histogram->others, &histogram->other_capacity, needed, sizeof(*histogram->others));
    if (histogram->other_capacity > before)
        memset(histogram->others + before, 0, (histogram->other_capacity - before) * sizeof(*histogram->others));
    return &histogram->others[row->number * events + event];
}

void histogram_add_other(struct histogram *histogram, const struct profile_entry *entry)
{
    struct histogram_row *row = histogram_has_stacks(histogram->by)
                                    ? row_of_frame(histogram, histogram->profile->stacks[entry->stack].frames[0],
                                                   entry->task)
                                    : row_of_key(histogram, task_key(histogram, entry), entry->task);
    struct histogram_other *other = other_of(histogram, row, entry->event), *sum = &histogram->other_sums[entry->event];
    other->samples += entry->samples;
    other->weight += entry->weight;
    sum->samples += entry->samples;
    sum->weight += entry->weight;
}

struct histogram_other histogram_of_event(const struct histogram *histogram, const struct histogram_row *row,
                                          uint32_t event)
{
    if (event == histogram->profile->event)
        return row ? (struct histogram_other){row->self_samples, row->self_weight}
                   : (struct histogram_other){histogram->samples, histogram->weight};
    if (!row)
        return histogram->other_sums ? histogram->other_sums[event] : (struct histogram_other){0};
    size_t at = (size_t)row->number * histogram->profile->event_count + event;
    return at < histogram->other_capacity ? histogram->others[at] : (struct histogram_other){0};
}

/* For rows that are equal by the shown event: compares by the other events. */
static int by_others(const struct histogram *histogram, const struct histogram_row *a, const struct histogram_row *b)
{
    int order = 0;
    for (uint32_t event = 0; histogram->others && event < histogram->profile->event_count && !order; event++)
        order = order_larger(histogram_of_event(histogram, a, event).weight,
                             histogram_of_event(histogram, b, event).weight);
    return order;
}

static int by_self(const void *left, const void *right, void *context)
{
    const struct histogram_row *a = left, *b = right;
    const struct histogram *histogram = context;
    int order = order_larger(a->self_weight, b->self_weight);
    if (!order)
        order = by_others(histogram, a, b);
    if (!order)
        order = order_larger(a->total_weight, b->total_weight);
    return order ? order : order_keys(histogram->names, histogram->profile, histogram->by, a->key, b->key);
}

static int by_total(const void *left, const void *right, void *context)
{
    const struct histogram_row *a = left, *b = right;
    int order = order_larger(a->total_weight, b->total_weight);
    return order ? order : by_self(left, right, context);
}

void histogram_count_inlined(struct histogram *histogram)
{
    for (size_t i = 0; i < histogram->count; i++) {
        struct histogram_row *row = &histogram->rows[i];
        if (names_is_inlined(histogram->names, row->frame)) {
            row->self_samples = row->own_samples;
            row->self_weight = row->own_weight;
        }
    }
}

void histogram_sort(struct histogram *histogram, int sort)
{
    if (histogram->count)
        qsort_r(histogram->rows, histogram->count, sizeof(*histogram->rows), sort == SORT_TOTAL ? by_total : by_self,
                histogram);
}

/* ---- All sampled events side by side ---- */

/* The entries of the other events in TASK, or in all tasks. */
static const uint32_t *others_of(const struct selection *selection, uint32_t task, uint32_t *ret_count)
{
    const uint32_t from = task == EVENT_GROUP_ALL ? 0 : selection->first_other[task];
    *ret_count = (task == EVENT_GROUP_ALL ? selection->other_count : selection->first_other[task + 1]) - from;
    return *ret_count ? selection->others + from : NULL;
}

bool event_group_has(const struct view *view, uint32_t task)
{
    uint32_t count;
    others_of(view->selection, task, &count);
    return count > 0;
}

bool event_group_finds(const struct view *view, uint32_t task)
{
    uint32_t count;
    const uint32_t *others = others_of(view->selection, task, &count);
    return count && select_finds(view->settings, view->profile, view->names, others, count);
}

void event_group_add(const struct view *view, struct histogram *histogram, uint32_t task)
{
    uint32_t count;
    const uint32_t *others = others_of(view->selection, task, &count);
    for (uint32_t i = 0; i < count; i++)
        histogram_add_other(histogram, &view->profile->entries[others[i]]);
}

struct histogram_other event_group_sum(const struct view *view, uint32_t task, uint32_t event)
{
    const struct selection *selection = view->selection;
    struct histogram_other sum = {0};
    if (event == view->profile->event)
        return task == EVENT_GROUP_ALL ? (struct histogram_other){selection->total_samples, selection->total_weight}
                                       : (struct histogram_other){selection->samples[task], selection->weights[task]};
    uint32_t count;
    const uint32_t *others = others_of(selection, task, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_entry *entry = &view->profile->entries[others[i]];
        sum.samples += entry->event == event ? entry->samples : 0;
        sum.weight += entry->event == event ? entry->weight : 0;
    }
    return sum;
}

uint32_t *event_group_events(const struct profile *profile, uint32_t *ret_count)
{
    uint32_t *events = memory_new(profile->event_count, sizeof(*events)), count = 0;
    if (profile->event_count)
        events[count++] = profile->event;
    for (uint32_t i = 0; i < profile->event_count; i++)
        if (i != profile->event && profile->events[i].sampled)
            events[count++] = i;
    *ret_count = count;
    return events;
}

void event_group_json_sums(struct json *json, const struct view *view, uint32_t task)
{
    if (!view->settings->group)
        return;
    uint32_t count, *events = event_group_events(view->profile, &count);
    json_list(json, "events");
    for (uint32_t i = 0; i < count; i++) {
        struct histogram_other sum = event_group_sum(view, task, events[i]);
        json_object(json, NULL);
        json_string(json, "event", view->profile->events[events[i]].name);
        json_bool(json, "nanoseconds", view->profile->events[events[i]].nanoseconds);
        json_unsigned(json, "samples", sum.samples);
        json_unsigned(json, "weight", sum.weight);
        json_end_object(json);
    }
    json_end_list(json);
    free(events);
}
