/* SPDX-License-Identifier: MIT */
#include "analyze/view/hits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"

void hits_init(struct hits *hits, const struct profile *profile, struct names *names, int by)
{
    *hits = (struct hits){.by = by, .profile = profile, .names = names};
}

void hits_release(struct hits *hits)
{
    free(hits->rows);
    map_release(&hits->keys);
    hits->rows = NULL;
    hits->count = hits->capacity = 0;
}

void hits_clear(struct hits *hits)
{
    map_clear(&hits->keys);
    hits->count = 0;
    hits->samples = hits->weight = 0;
}

bool hits_has_stacks(int by)
{
    return by == BY_FUNCTION || by == BY_OBJECT || by == BY_ADDRESS || by == BY_LINE || by == BY_INLINE;
}

uint64_t hits_frame_key(struct hits *hits, uint32_t frame)
{
    if (hits->by == BY_OBJECT)
        return names_object_of(hits->names, frame);
    if (hits->by == BY_ADDRESS)
        return frame;
    return names_frame(hits->names, frame)->function;
}

static struct hits_row *row_of(struct hits *hits, uint64_t key, uint32_t frame, uint32_t task)
{
    uint32_t index = map_add(&hits->keys, key, 0);
    if (index == hits->count) {
        hits->rows = memory_grow(hits->rows, &hits->capacity, hits->count + 1, sizeof(*hits->rows));
        hits->rows[hits->count++] = (struct hits_row){.key = key, .frame = frame, .task = task};
    }
    return &hits->rows[index];
}

static void count_total(struct hits *hits, struct hits_row *row, const struct profile_entry *entry)
{
    if (row->stamp == hits->stamp)
        return;
    row->stamp = hits->stamp;
    row->total_samples += entry->samples;
    row->total_weight += entry->weight;
}

static void add_stack(struct hits *hits, const struct profile_entry *entry)
{
    const struct profile_stack *stack = &hits->profile->stacks[entry->stack];
    for (uint32_t i = 0; i < stack->depth; i++) {
        uint32_t frame = stack->frames[i];
        struct hits_row *row = row_of(hits, hits_frame_key(hits, frame), frame, entry->task);
        if (i == 0) {
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

void hits_add(struct hits *hits, const struct profile_entry *entry)
{
    hits->stamp++;
    hits->samples += entry->samples;
    hits->weight += entry->weight;
    if (hits_has_stacks(hits->by)) {
        add_stack(hits, entry);
        return;
    }
    struct hits_row *row = row_of(hits, task_key(hits, entry), 0, entry->task);
    row->self_samples += entry->samples;
    row->self_weight += entry->weight;
    count_total(hits, row, entry);
}

static int compare(const void *left, const void *right, void *context)
{
    const struct hits_row *a = left, *b = right;
    const int *sort = context;
    uint64_t x = *sort == SORT_TOTAL ? a->total_weight : a->self_weight;
    uint64_t y = *sort == SORT_TOTAL ? b->total_weight : b->self_weight;
    if (x != y)
        return x < y ? 1 : -1;
    x = *sort == SORT_TOTAL ? a->self_weight : a->total_weight;
    y = *sort == SORT_TOTAL ? b->self_weight : b->total_weight;
    if (x != y)
        return x < y ? 1 : -1;
    if (a->frame != b->frame)
        return a->frame < b->frame ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

void hits_sort(struct hits *hits, int sort)
{
    if (hits->count)
        qsort_r(hits->rows, hits->count, sizeof(*hits->rows), compare, &sort);
}
