/* SPDX-License-Identifier: MIT */
#include "analyze/view/event_group.h"

#include <stdlib.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

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

void event_group_json(struct json *json, const struct view *view, const struct histogram *histogram,
                      const struct histogram_row *row)
{
    if (!view->settings->group)
        return;
    uint32_t count, *events = event_group_events(view->profile, &count);
    json_list(json, "events");
    for (uint32_t i = 0; i < count; i++) {
        struct histogram_other self = histogram_of_event(histogram, row, events[i]),
            all = histogram_of_event(histogram, NULL, events[i]);
        json_object(json, NULL);
        json_string(json, "event", view->profile->events[events[i]].name);
        json_unsigned(json, "self_samples", self.samples);
        json_unsigned(json, "self_weight", self.weight);
        json_number(json, "self_percent", text_share(self.weight, all.weight));
        json_end_object(json);
    }
    json_end_list(json);
    free(events);
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
