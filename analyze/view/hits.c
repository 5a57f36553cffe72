/* SPDX-License-Identifier: MIT */
#include "analyze/view/hits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/order.h"

void hits_init(struct hits *hits, const struct profile *profile, struct names *names, int by)
{
    *hits = (struct hits){.by = by, .profile = profile, .names = names};
    if (by == BY_FUNCTION)
        hits->numbers = names_functions(names);
    else if (by == BY_OBJECT)
        hits->numbers = names_objects(names);
}

void hits_release(struct hits *hits)
{
    free(hits->rows);
    free(hits->row_of);
    free(hits->others);
    free(hits->other_sums);
    map_release(&hits->keys);
    hits->rows = NULL;
    hits->row_of = NULL;
    hits->others = hits->other_sums = NULL;
    hits->count = hits->capacity = hits->row_of_capacity = hits->other_capacity = 0;
}

bool hits_has_stacks(int by)
{
    return by == BY_FUNCTION || by == BY_OBJECT || by == BY_ADDRESS || by == BY_LINE || by == BY_INLINE ||
           by == BY_FILE;
}

static uint32_t number_of(struct hits *hits, uint32_t frame)
{
    if (hits->by == BY_OBJECT)
        return names_object_of(hits->names, frame);
    return hits->by == BY_ADDRESS ? frame : names_function_of(hits->names, frame);
}

static inline uint32_t key_of(struct hits *hits, uint32_t frame)
{
    uint32_t number = hits->numbers ? hits->numbers[frame] : 0;
    return number ? number - 1 : number_of(hits, frame);
}

const uint32_t *hits_stack(const struct hits *hits, uint32_t stack, uint32_t *ret_depth)
{
    if (hits->by == BY_FUNCTION)
        return names_stack(hits->names, stack, ret_depth);
    *ret_depth = hits->profile->stacks[stack].depth;
    return hits->profile->stacks[stack].frames;
}

uint64_t hits_frame_key(struct hits *hits, uint32_t frame)
{
    return key_of(hits, frame);
}

static struct hits_row *add_row(struct hits *hits, uint64_t key, uint32_t frame, uint32_t task)
{
    hits->rows = memory_grow(hits->rows, &hits->capacity, hits->count + 1, sizeof(*hits->rows));
    hits->rows[hits->count] =
        (struct hits_row){.key = key, .frame = frame, .task = task, .number = (uint32_t)hits->count};
    return &hits->rows[hits->count++];
}

static struct hits_row *row_of_key(struct hits *hits, uint64_t key, uint32_t task)
{
    uint32_t index = map_add(&hits->keys, key, 0);
    return index == hits->count ? add_row(hits, key, 0, task) : &hits->rows[index];
}

/* Numbers of frames, functions and objects are dense: an array finds their rows. */
static struct hits_row *row_of_frame(struct hits *hits, uint32_t frame, uint32_t task)
{
    uint32_t key = key_of(hits, frame);
    if (key >= hits->row_of_capacity) {
        size_t before = hits->row_of_capacity;
        hits->row_of = memory_grow(hits->row_of, &hits->row_of_capacity, (size_t)key + 1, sizeof(*hits->row_of));
        memset(hits->row_of + before, 0, (hits->row_of_capacity - before) * sizeof(*hits->row_of));
    }
    if (hits->row_of[key])
        return &hits->rows[hits->row_of[key] - 1];
    struct hits_row *row = add_row(hits, key, frame, task);
    hits->row_of[key] = (uint32_t)hits->count;
    return row;
}

static void count_total(struct hits *hits, struct hits_row *row, const struct profile_entry *entry)
{
    if (row->stamp == hits->stamp)
        return;
    row->stamp = hits->stamp;
    row->total_samples += entry->samples;
    row->total_weight += entry->weight;
}

/* What a function took itself is what hit in its code, whatever was inlined there. */
static void add_stack(struct hits *hits, const struct profile_entry *entry)
{
    uint32_t depth, leaf = hits->profile->stacks[entry->stack].frames[0];
    const uint32_t *frames = hits_stack(hits, entry->stack, &depth);
    bool hit = false;
    for (uint32_t i = 0; i < depth; i++) {
        struct hits_row *row = row_of_frame(hits, frames[i], entry->task);
        row->own_samples += i == 0 ? entry->samples : 0;
        row->own_weight += i == 0 ? entry->weight : 0;
        if (!hit && frames[i] == leaf) {
            hit = true;
            row->self_samples += entry->samples;
            row->self_weight += entry->weight;
        }
        count_total(hits, row, entry);
    }
}

static uint64_t task_key(const struct hits *hits, const struct profile_entry *entry)
{
    if (hits->by == BY_COMM)
        return (uintptr_t)entry->comm;
    return hits->by == BY_PROCESS ? (uint32_t)hits->profile->tasks[entry->task].pid : entry->task;
}

uint32_t *hits_mark_stacks(struct hits *hits, const struct hits_row *const *rows, size_t count, const uint32_t *entries,
                           uint32_t entry_count)
{
    const struct profile *profile = hits->profile;
    const uint32_t looked_at = 1u << HITS_MARKED;
    uint32_t *marks = memory_new(profile->stack_count, sizeof(*marks));
    uint32_t *bits = memory_new(hits->row_of_capacity, sizeof(*bits)); /* by key */
    for (size_t i = 0; i < count; i++)
        bits[rows[i]->key] = 1u << i;
    for (uint32_t i = 0; i < entry_count; i++) {
        uint32_t index = profile->entries[entries[i]].stack;
        if (marks[index] >= looked_at)
            continue;
        uint32_t depth;
        const uint32_t *frames = hits_stack(hits, index, &depth);
        for (uint32_t at = 0; at < depth; at++)
            marks[index] |= bits[key_of(hits, frames[at])];
        marks[index] |= looked_at;
    }
    free(bits);
    return marks;
}

void hits_add(struct hits *hits, const struct profile_entry *entry)
{
    hits->stamp++;
    hits->samples += entry->samples;
    hits->weight += entry->weight;
    if (hits_has_stacks(hits->by)) {
        add_stack(hits, entry);
        return;
    }
    struct hits_row *row = row_of_key(hits, task_key(hits, entry), entry->task);
    row->self_samples += entry->samples;
    row->self_weight += entry->weight;
    count_total(hits, row, entry);
}

/* Room for what each row has of each event. */
static struct hits_other *other_of(struct hits *hits, const struct hits_row *row, uint32_t event)
{
    size_t events = hits->profile->event_count, needed = hits->count * events, before = hits->other_capacity;
    if (!hits->other_sums)
        hits->other_sums = memory_new(events, sizeof(*hits->other_sums));
    hits->others = memory_grow(hits->others, &hits->other_capacity, needed, sizeof(*hits->others));
    if (hits->other_capacity > before)
        memset(hits->others + before, 0, (hits->other_capacity - before) * sizeof(*hits->others));
    return &hits->others[row->number * events + event];
}

void hits_add_other(struct hits *hits, const struct profile_entry *entry)
{
    struct hits_row *row = hits_has_stacks(hits->by)
                               ? row_of_frame(hits, hits->profile->stacks[entry->stack].frames[0], entry->task)
                               : row_of_key(hits, task_key(hits, entry), entry->task);
    struct hits_other *other = other_of(hits, row, entry->event), *sum = &hits->other_sums[entry->event];
    other->samples += entry->samples;
    other->weight += entry->weight;
    sum->samples += entry->samples;
    sum->weight += entry->weight;
}

struct hits_other hits_of_event(const struct hits *hits, const struct hits_row *row, uint32_t event)
{
    if (event == hits->profile->event)
        return row ? (struct hits_other){row->self_samples, row->self_weight}
                   : (struct hits_other){hits->samples, hits->weight};
    if (!row)
        return hits->other_sums ? hits->other_sums[event] : (struct hits_other){0};
    size_t at = (size_t)row->number * hits->profile->event_count + event;
    return at < hits->other_capacity ? hits->others[at] : (struct hits_other){0};
}

/* Rows that are equal by the shown event. */
static int by_others(const struct hits *hits, const struct hits_row *a, const struct hits_row *b)
{
    int order = 0;
    for (uint32_t event = 0; hits->others && event < hits->profile->event_count && !order; event++)
        order = order_larger(hits_of_event(hits, a, event).weight, hits_of_event(hits, b, event).weight);
    return order;
}

static int by_self(const void *left, const void *right, void *context)
{
    const struct hits_row *a = left, *b = right;
    const struct hits *hits = context;
    int order = order_larger(a->self_weight, b->self_weight);
    if (!order)
        order = by_others(hits, a, b);
    if (!order)
        order = order_larger(a->total_weight, b->total_weight);
    return order ? order : order_keys(hits->names, hits->profile, hits->by, a->key, b->key);
}

static int by_total(const void *left, const void *right, void *context)
{
    const struct hits_row *a = left, *b = right;
    int order = order_larger(a->total_weight, b->total_weight);
    return order ? order : by_self(left, right, context);
}

void hits_count_inlined(struct hits *hits)
{
    for (size_t i = 0; i < hits->count; i++) {
        struct hits_row *row = &hits->rows[i];
        if (names_is_inlined(hits->names, row->frame)) {
            row->self_samples = row->own_samples;
            row->self_weight = row->own_weight;
        }
    }
}

void hits_sort(struct hits *hits, int sort)
{
    if (hits->count)
        qsort_r(hits->rows, hits->count, sizeof(*hits->rows), sort == SORT_TOTAL ? by_total : by_self, hits);
}
