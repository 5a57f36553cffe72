/* SPDX-License-Identifier: MIT */
/* Samples added up by function, object, address, task, process or command name. */
#ifndef ANALYZE_VIEW_HITS_H
#define ANALYZE_VIEW_HITS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/map.h"
#include "analyze/view/names.h"

struct hits_row {
    uint64_t key;   /* function or object number, frame, task index, pid, or address of the interned comm */
    uint32_t frame; /* where rows have stacks: one frame of it */
    uint32_t task;  /* the index of one task that it was in */
    uint64_t self_samples, self_weight;
    uint64_t own_samples, own_weight; /* self without what was inlined there; an inlined function has only this */
    uint64_t total_samples, total_weight; /* a row counts once per sample, however often it is in the stack */
    uint64_t stamp;
    uint32_t number; /* in the order of their coming */
};

/* What a row has of another event than the shown one. */
struct hits_other {
    uint64_t samples, weight;
};

struct hits {
    int by; /* enum settings_by */
    const struct profile *profile;
    struct names *names;
    struct hits_row *rows;
    size_t count, capacity;
    const uint32_t *numbers; /* of frames + 1, as far as they are known; NULL: a frame is its own number */
    uint32_t *row_of;        /* where rows have stacks: by key, the row + 1 */
    size_t row_of_capacity;
    struct map keys;         /* where they have none */
    uint64_t samples, weight, stamp;
    struct hits_other *others; /* --group: by number of the row, then by event; NULL until one is added */
    size_t other_capacity;
    struct hits_other *other_sums; /* by event */
};

void hits_init(struct hits *hits, const struct profile *profile, struct names *names, int by);
void hits_release(struct hits *hits);
void hits_add(struct hits *hits, const struct profile_entry *entry);
/* The same for an entry of another event than the shown one; where it hit gets a row. */
void hits_add_other(struct hits *hits, const struct profile_entry *entry);
/* What ROW (NULL: all) has of EVENT, the shown one or another, by itself. */
struct hits_other hits_of_event(const struct hits *hits, const struct hits_row *row, uint32_t event);
/* Where functions are named: what was inlined is their self too, or else it is in no row. Before hits_sort(). */
void hits_count_inlined(struct hits *hits);
/* SORT: enum settings_sort. Invalidates what was looked up by key. */
void hits_sort(struct hits *hits, int sort);
/* The frames of STACK that are added up: with inlined functions where rows are functions. Valid until the next call. */
const uint32_t *hits_stack(const struct hits *hits, uint32_t stack, uint32_t *ret_depth);
/* The key of FRAME, where rows are functions, objects or addresses. */
uint64_t hits_frame_key(struct hits *hits, uint32_t frame);
/*
 * Which of ROWS[COUNT] (HITS_MARKED at most) the stacks of the profile go through, bit by bit; of those of the
 * ENTRIES[ENTRY_COUNT] alone. By index of the stack; to be freed.
 */
enum { HITS_MARKED = 31 };
uint32_t *hits_mark_stacks(struct hits *hits, const struct hits_row *const *rows, size_t count, const uint32_t *entries,
                           uint32_t entry_count);
/* Whether rows have a stack below them, so that total differs from self. */
bool hits_has_stacks(int by);

#endif
