/* SPDX-License-Identifier: MIT */
#include "collector/config/event_sets.h"

#include <stdio.h>
#include <string.h>

unsigned event_sets_of(const struct event_config *config, const struct settings *settings,
                       const struct event_spec *spec)
{
    /* What getrusage() counts, it counts all the time. */
    const bool turns = settings->switch_ns && settings->stat && config->source == PINJECT_SOURCE_PERF;
    return turns && spec ? spec->set : 0;
}

/* Groups of these alone can always be counted: they need no counter of the machine. */
static bool can_join(const struct perf_event_attr *attr, const struct event_spec *spec)
{
    return (attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT) && !attr->pinned &&
           !attr->exclusive && spec && !spec->group && !spec->filter;
}

unsigned event_sets_find_leader(const struct event_config *config, unsigned set, const struct perf_event_attr *attr,
                                const struct event_spec *spec)
{
    for (unsigned i = 0; set && can_join(attr, spec) && i < config->count; i++)
        if (config->events[i].set == set && config->events[i].leader == i &&
            can_join(&config->events[i].attr, config->events[i].spec))
            return i;
    return config->count;
}

/* The clock that counts all the time is added later, by its own name. */
static bool is_clock_name(const struct config_event *event)
{
    return event->attr.type == PERF_TYPE_SOFTWARE && event->attr.config == PERF_COUNT_SW_TASK_CLOCK;
}

void event_sets_name(const struct event_config *config, struct config_event *event)
{
    const size_t size = strlen(event->name);
    bool taken = event->set && is_clock_name(event);
    for (unsigned i = 0; event->set && i < config->count; i++)
        taken |= strcmp(config->events[i].name, event->name) == 0;
    if (taken && size + 12 < sizeof(event->name))
        snprintf(event->name + size, sizeof(event->name) - size, " (set %u)", event->set);
}

void event_sets_init(struct event_config *config)
{
    config->turn_count = 0;
    for (unsigned set = 1; set <= EVENTS_MAX; set++)
        for (unsigned i = 0; i < config->count; i++)
            if (config->events[i].set == set) {
                config->turns[config->turn_count++] = set;
                break;
            }
}

unsigned event_sets_first(const struct event_config *config, uint32_t *begun)
{
    if (!config->turn_count)
        return 0;
    /* 2^32 divided by the golden ratio: also every second task, or every third one, has each set equally often. */
    const uint32_t part = __atomic_fetch_add(begun, 1, __ATOMIC_RELAXED) * UINT32_C(2654435769);
    return config->turns[(uint64_t)part * config->turn_count >> 32];
}

unsigned event_sets_next(const struct event_config *config, unsigned set)
{
    unsigned at = 0;
    while (at < config->turn_count && config->turns[at] != set)
        at++;
    return config->turns[(at + 1) % config->turn_count];
}

struct attach_value event_sets_value(const struct event_config *config, unsigned index,
                                     const struct attach_value *values)
{
    struct attach_value value = values[index];
    /* The dummy event counts whenever the task runs, on one CPU at a time. */
    if (event_sets_takes_turns(config, index))
        value.enabled_ns = values[0].running_ns > value.running_ns ? values[0].running_ns : value.running_ns;
    return value;
}
