/* SPDX-License-Identifier: MIT */
#include "analyze/view/counters.h"

#include <linux/perf_event.h>
#include <string.h>

#include "counts/count.h"

bool counters_is_task_clock(const struct profile_event *event)
{
    return event->type == PERF_TYPE_SOFTWARE && event->config == PERF_COUNT_SW_TASK_CLOCK && !event->set;
}

static void add_count(struct counter *counter, const struct profile_count *count)
{
    counter->present = true;
    counter->counted += count->value;
    counter->value += count->value;
    counter->scaled += count->scaled;
    counter->enabled_ns += count->enabled_ns;
    counter->running_ns += count->running_ns;
}

/* Whether the task has a count of the whole task, besides those of its exec generations. */
static bool has_whole_count(const struct profile_task *task, uint32_t event)
{
    for (uint32_t i = 0; i < task->count_count; i++)
        if (task->counts[i].event == event && task->counts[i].generation == UINT32_MAX)
            return true;
    return false;
}

/* Adds the CPU time that the kernel accounted while no event counted, to one event: the first task-clock that
 * counted. */
static void add_accounting(const struct profile *profile, const struct profile_task *task, struct counter *ret)
{
    uint32_t chosen = UINT32_MAX;
    for (uint32_t i = 0; i < profile->event_count; i++)
        if (counters_is_task_clock(&profile->events[i]) &&
            (chosen == UINT32_MAX || (ret[i].present && !ret[chosen].present)))
            chosen = i;
    uint64_t more = task->startup_ns + task->exit_ns;
    if (chosen == UINT32_MAX || (!ret[chosen].present && more == 0))
        return;
    ret[chosen].present = true;
    ret[chosen].value += more;
    ret[chosen].scaled += more;
}

void counters_of_task(const struct profile *profile, const struct profile_task *task, struct counter *ret)
{
    memset(ret, 0, profile->event_count * sizeof(*ret));
    for (uint32_t i = 0; i < task->count_count; i++) {
        const struct profile_count *count = &task->counts[i];
        if (count->event < profile->event_count &&
            (count->generation == UINT32_MAX || !has_whole_count(task, count->event)))
            add_count(&ret[count->event], count);
    }
    /* Inherited events are enabled on every CPU and run on one at a time: that is no multiplexing. */
    for (uint32_t i = 0; i < profile->event_count; i++)
        ret[i].estimate = (task->source != PROFILE_SOURCE_INHERITED || profile->events[i].set) &&
                          ret[i].running_ns < ret[i].enabled_ns;
    add_accounting(profile, task, ret);
}

void counters_add(const struct profile *profile, struct counter *to, const struct counter *from)
{
    for (uint32_t i = 0; i < profile->event_count; i++) {
        to[i].present |= from[i].present;
        to[i].estimate |= from[i].estimate;
        to[i].value += from[i].value;
        to[i].counted += from[i].counted;
        to[i].enabled_ns += from[i].enabled_ns;
        to[i].running_ns += from[i].running_ns;
        to[i].parts += from[i].scaled;
        to[i].unseen_ns += from[i].running_ns ? 0 : from[i].enabled_ns;
        to[i].scaled = to[i].unseen_ns ? count_scale(to[i].parts, to[i].enabled_ns, to[i].enabled_ns - to[i].unseen_ns)
                                       : to[i].parts;
    }
}

uint64_t counters_cpu(const struct profile *profile, const struct profile_task *task, uint64_t weight,
                      bool *ret_estimate)
{
    bool counted = false;
    uint64_t cpu = task->startup_ns + task->exit_ns;
    for (uint32_t i = 0; i < profile->event_count && !counted; i++) {
        if (!counters_is_task_clock(&profile->events[i]))
            continue;
        bool whole = has_whole_count(task, i);
        for (uint32_t j = 0; j < task->count_count; j++) {
            if (task->counts[j].event != i || (whole && task->counts[j].generation != UINT32_MAX))
                continue;
            cpu += task->counts[j].value;
            counted = true;
        }
    }
    *ret_estimate = !counted && profile->event_count && profile->events[profile->event].nanoseconds && weight;
    if (*ret_estimate)
        return cpu + weight;
    return counted || cpu || task->exit_cost ? cpu : COUNTERS_UNKNOWN;
}
