/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/model/loader.h"
#include "common/report.h"

static uint32_t first_sampled(const struct profile *profile)
{
    uint32_t found = LOOKUP_NONE;
    for (uint32_t i = 0; i < profile->event_count; i++) {
        if (profile->events[i].samples > 0)
            return i;
        if (profile->events[i].sampled && found == LOOKUP_NONE)
            found = i;
    }
    return found == LOOKUP_NONE ? 0 : found;
}

/* "task-clock" also finds "task-clock:u", if no event has exactly that name. */
static uint32_t find_event(const struct profile *profile, const char *name)
{
    size_t length = strlen(name);
    uint32_t found = LOOKUP_NONE;
    for (uint32_t i = 0; i < profile->event_count; i++) {
        const char *one = profile->events[i].name;
        if (strcmp(one, name) == 0)
            return i;
        if (found == LOOKUP_NONE && strncmp(one, name, length) == 0 && one[length] == ':')
            found = i;
    }
    return found;
}

static int refuse_event(const struct profile *profile, const char *name)
{
    char list[400] = "none";
    size_t used = 0;
    for (uint32_t i = 0; i < profile->event_count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "", profile->events[i].name);
    report_error("no event '%s' was recorded; recorded events: %s", name, list);
    return -EINVAL;
}

int profile_select_event(struct profile *profile, const char *name)
{
    uint32_t event = name ? find_event(profile, name) : first_sampled(profile);
    if (event == LOOKUP_NONE)
        return refuse_event(profile, name);
    profile->event = event;
    for (uint32_t i = 0; i < profile->task_count; i++)
        profile->tasks[i].weight = 0;
    for (uint32_t i = 0; i < profile->sum_count; i++)
        if (profile->sums[i].event == event)
            profile->tasks[profile->sums[i].task].weight += profile->sums[i].weight;
    return 0;
}

void profile_session_text(const struct profile_session *session, char *ret)
{
    choose_text(session->id, sizeof(session->id), ret);
}
