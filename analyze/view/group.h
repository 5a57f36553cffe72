/* SPDX-License-Identifier: MIT */
/* --group: all sampled events of a report, side by side. */
#ifndef ANALYZE_VIEW_GROUP_H
#define ANALYZE_VIEW_GROUP_H

#include <stdint.h>

#include "analyze/view/hits.h"
#include "analyze/view/json.h"
#include "analyze/view/view.h"

#define GROUP_ALL_TASKS UINT32_MAX

/* Adds to HITS what the samples of the other events hit, in TASK or in all of them. Nothing without --group. */
void group_add(const struct view *view, struct hits *hits, uint32_t task);
/* The sampled events, the shown one first; owned by the caller. */
uint32_t *group_events(const struct profile *profile, uint32_t *ret_count);
/* With --group the member "events": what ROW (NULL: all) has of each by itself. */
void group_json(struct json *json, const struct view *view, const struct hits *hits, const struct hits_row *row);

#endif
