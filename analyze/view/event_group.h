/* SPDX-License-Identifier: MIT */
/* --group: all sampled events of a report, side by side. */
#ifndef ANALYZE_VIEW_EVENT_GROUP_H
#define ANALYZE_VIEW_EVENT_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/view/histogram.h"
#include "analyze/view/view.h"
#include "common/json.h"

#define EVENT_GROUP_ALL UINT32_MAX

/* Without --group there are no other events: */
/* Has TASK, or any task, samples of the other events? */
bool event_group_has(const struct view *view, uint32_t task);
/* Does one of them pass where --object and --symbol say? */
bool event_group_finds(const struct view *view, uint32_t task);
/* What TASK, or all, have of EVENT, the shown one or another. */
struct histogram_other event_group_sum(const struct view *view, uint32_t task, uint32_t event);
/* Adds to HISTOGRAM what the samples of the other events hit, in TASK or in all of them. */
void event_group_add(const struct view *view, struct histogram *histogram, uint32_t task);
/* The sampled events, the shown one first; owned by the caller. */
uint32_t *event_group_events(const struct profile *profile, uint32_t *ret_count);
/* With --group the member "events": what ROW (NULL: all) has of each by itself. */
void event_group_json(struct json *json, const struct view *view, const struct histogram *histogram,
                      const struct histogram_row *row);
/* With --group the member "events" of TASK, or of all: the sums of each. */
void event_group_json_sums(struct json *json, const struct view *view, uint32_t task);

#endif
