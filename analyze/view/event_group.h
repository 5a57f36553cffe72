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

/* Without --group there are no other events. */
/* Has TASK, or any task, samples of the other events? */
bool event_group_has(const struct view *view, uint32_t task);
/* Does the stack of one of these samples match --object and --symbol? */
bool event_group_finds(const struct view *view, uint32_t task);
/* The samples of EVENT, the shown one or another, in TASK or in all tasks. */
struct histogram_other event_group_sum(const struct view *view, uint32_t task, uint32_t event);
/* Adds the samples of the other events to HISTOGRAM, of TASK or of all tasks. */
void event_group_add(const struct view *view, struct histogram *histogram, uint32_t task);
/* The sampled events, the shown one first; owned by the caller. */
uint32_t *event_group_events(const struct profile *profile, uint32_t *ret_count);
/* With --group the member "events": the self weight of ROW (NULL: all) for each event. */
void event_group_json(struct json *json, const struct view *view, const struct histogram *histogram,
                      const struct histogram_row *row);
/* With --group the member "events" of TASK, or of all: the sums of each. */
void event_group_json_sums(struct json *json, const struct view *view, uint32_t task);

#endif
