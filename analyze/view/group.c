/* SPDX-License-Identifier: MIT */
#include "analyze/view/group.h"

#include <stdlib.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

void group_add(const struct view *view, struct hits *hits, uint32_t task)
{
    const struct selection *selection = view->selection;
    for (uint32_t i = 0; i < selection->other_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[selection->others[i]];
        if (task == GROUP_ALL_TASKS || entry->task == task)
            hits_add_other(hits, entry);
    }
}

uint32_t *group_events(const struct profile *profile, uint32_t *ret_count)
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

void group_json(struct json *json, const struct view *view, const struct hits *hits, const struct hits_row *row)
{
    if (!view->settings->group)
        return;
    uint32_t count, *events = group_events(view->profile, &count);
    json_list(json, "events");
    for (uint32_t i = 0; i < count; i++) {
        struct hits_other self = hits_of_event(hits, row, events[i]), all = hits_of_event(hits, NULL, events[i]);
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
