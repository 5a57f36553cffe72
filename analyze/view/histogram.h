/* SPDX-License-Identifier: MIT */
/* A histogram of samples by function, DSO, address, task, process or command. */
#ifndef ANALYZE_VIEW_HISTOGRAM_H
#define ANALYZE_VIEW_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"
#include "analyze/view/map.h"
#include "analyze/view/names.h"

struct json;
struct view;

struct histogram_row {
    uint64_t key;   /* function or DSO number, frame, task index, pid, or address of the interned comm */
    uint32_t frame; /* if rows have stacks: one of its frames */
    uint32_t task;  /* index of one of its tasks */
    uint64_t self_samples, self_weight;
    uint64_t own_samples, own_weight;     /* self without inlined functions; an inlined function has only this */
    uint64_t total_samples, total_weight; /* a row counts once per sample, however often it is in the stack */
    uint64_t stamp;
    uint32_t number; /* in order of first appearance */
};

/* The samples of a row for another event than the shown one. */
struct histogram_other {
    uint64_t samples, weight;
};

struct histogram {
    int by; /* enum settings_by */
    const struct profile *profile;
    struct names *names;
    struct histogram_row *rows;
    size_t count, capacity;
    const uint32_t *numbers; /* by frame: its key + 1, 0: not known yet; NULL: a frame is its own key */
    uint32_t *row_of;        /* if rows have stacks: by key, the row + 1 */
    size_t row_of_capacity;
    struct map keys; /* if they have none */
    uint64_t samples, weight, stamp;
    struct histogram_other *others; /* --group: by number of the row, then by event; NULL until one is added */
    size_t other_capacity;
    struct histogram_other *other_sums; /* by event */
};

void histogram_init(struct histogram *histogram, const struct profile *profile, struct names *names, int by);
void histogram_release(struct histogram *histogram);
void histogram_add(struct histogram *histogram, const struct profile_entry *entry);
/* The same for an entry of another event than the shown one; its leaf gets a row if it has none. */
void histogram_add_other(struct histogram *histogram, const struct profile_entry *entry);
/* The self weight of ROW (NULL: all) for EVENT, the shown one or another. */
struct histogram_other histogram_of_event(const struct histogram *histogram, const struct histogram_row *row,
                                          uint32_t event);
/* For --symbol: inlined functions get their own code as self, which would else be in no row. To be called before
 * histogram_sort(). */
void histogram_count_inlined(struct histogram *histogram);
/* SORT: enum settings_sort. Rows move, so row_of and pointers to rows become invalid. */
void histogram_sort(struct histogram *histogram, int sort);
/* The frames of STACK that are counted: with inlined functions if rows are functions. Valid until the next call. */
const uint32_t *histogram_stack(const struct histogram *histogram, uint32_t stack, uint32_t *ret_depth);
/* The key of FRAME, if rows are functions, DSOs or addresses. */
uint64_t histogram_frame_key(struct histogram *histogram, uint32_t frame);
/*
 * Marks the stacks of ENTRIES[ENTRY_COUNT] that contain one of ROWS[COUNT] (at most HISTOGRAM_MARKED): bit N is for
 * row N. The result is by index of the stack; to be freed.
 */
enum { HISTOGRAM_MARKED = 31 };
uint32_t *histogram_mark_stacks(struct histogram *histogram, const struct histogram_row *const *rows, size_t count,
                                const uint32_t *entries, uint32_t entry_count);
/* Whether rows are parts of a stack, so that total differs from self. */
bool histogram_has_stacks(int by);

/* --group: all sampled events of a report, side by side. */

#define EVENT_GROUP_ALL UINT32_MAX

/* Without --group there are no other events. */
/* Has TASK, or any task, samples of the other events? */
bool event_group_has(const struct view *view, uint32_t task);
/* Does the stack of one of these samples match --dso and --symbol? */
bool event_group_finds(const struct view *view, uint32_t task);
/* The samples of EVENT, the shown one or another, in TASK or in all tasks. */
struct histogram_other event_group_sum(const struct view *view, uint32_t task, uint32_t event);
/* Adds the samples of the other events to HISTOGRAM, of TASK or of all tasks. */
void event_group_add(const struct view *view, struct histogram *histogram, uint32_t task);
/* The sampled events, the shown one first; owned by the caller. */
uint32_t *event_group_events(const struct profile *profile, uint32_t *ret_count);
/* With --group the member "events" of TASK, or of all: the sums of each. */
void event_group_json_sums(struct json *json, const struct view *view, uint32_t task);

#endif
