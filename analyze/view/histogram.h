/* SPDX-License-Identifier: MIT */
/* Samples added up by function, DSO, address, task, process or command name. */
#ifndef ANALYZE_VIEW_HISTOGRAM_H
#define ANALYZE_VIEW_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/map.h"
#include "analyze/view/names.h"

struct histogram_row {
    uint64_t key;   /* function or DSO number, frame, task index, pid, or address of the interned comm */
    uint32_t frame; /* where rows have stacks: one frame of it */
    uint32_t task;  /* the index of one task that it was in */
    uint64_t self_samples, self_weight;
    uint64_t own_samples, own_weight; /* self without what was inlined there; an inlined function has only this */
    uint64_t total_samples, total_weight; /* a row counts once per sample, however often it is in the stack */
    uint64_t stamp;
    uint32_t number; /* in the order of their coming */
};

/* What a row has of another event than the shown one. */
struct histogram_other {
    uint64_t samples, weight;
};

struct histogram {
    int by; /* enum settings_by */
    const struct profile *profile;
    struct names *names;
    struct histogram_row *rows;
    size_t count, capacity;
    const uint32_t *numbers; /* of frames + 1, as far as they are known; NULL: a frame is its own number */
    uint32_t *row_of;        /* where rows have stacks: by key, the row + 1 */
    size_t row_of_capacity;
    struct map keys;         /* where they have none */
    uint64_t samples, weight, stamp;
    struct histogram_other *others; /* --group: by number of the row, then by event; NULL until one is added */
    size_t other_capacity;
    struct histogram_other *other_sums; /* by event */
};

void histogram_init(struct histogram *histogram, const struct profile *profile, struct names *names, int by);
void histogram_release(struct histogram *histogram);
void histogram_add(struct histogram *histogram, const struct profile_entry *entry);
/* The same for an entry of another event than the shown one; where it hit gets a row. */
void histogram_add_other(struct histogram *histogram, const struct profile_entry *entry);
/* What ROW (NULL: all) has of EVENT, the shown one or another, by itself. */
struct histogram_other histogram_of_event(const struct histogram *histogram, const struct histogram_row *row,
                                          uint32_t event);
/* Where functions are named: what was inlined is their self too, or else it is in no row. Before histogram_sort(). */
void histogram_count_inlined(struct histogram *histogram);
/* SORT: enum settings_sort. Invalidates what was looked up by key. */
void histogram_sort(struct histogram *histogram, int sort);
/* The frames of STACK that are added up: with inlined functions where rows are functions. Valid until the next call. */
const uint32_t *histogram_stack(const struct histogram *histogram, uint32_t stack, uint32_t *ret_depth);
/* The key of FRAME, where rows are functions, DSOs or addresses. */
uint64_t histogram_frame_key(struct histogram *histogram, uint32_t frame);
/*
 * Which of ROWS[COUNT] (HISTOGRAM_MARKED at most) the stacks of the profile go through, bit by bit; of those of the
 * ENTRIES[ENTRY_COUNT] alone. By index of the stack; to be freed.
 */
enum { HISTOGRAM_MARKED = 31 };
uint32_t *histogram_mark_stacks(struct histogram *histogram, const struct histogram_row *const *rows, size_t count,
                                const uint32_t *entries, uint32_t entry_count);
/* Whether rows have a stack below them, so that total differs from self. */
bool histogram_has_stacks(int by);

#endif
