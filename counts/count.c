/* SPDX-License-Identifier: MIT */
#include "counts/count.h"

#include <linux/perf_event.h>

static uint64_t add(uint64_t one, uint64_t other)
{
    return other > UINT64_MAX - one ? UINT64_MAX : one + other;
}

void count_add(struct count_cell *to, const struct count_cell *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i].present |= from[i].present;
        to[i].estimate |= from[i].estimate;
        to[i].value = add(to[i].value, from[i].value);
        to[i].scaled = add(to[i].scaled, from[i].scaled);
        to[i].enabled_ns = add(to[i].enabled_ns, from[i].enabled_ns);
        to[i].running_ns = add(to[i].running_ns, from[i].running_ns);
    }
}

uint64_t count_scale(uint64_t value, uint64_t enabled_ns, uint64_t running_ns)
{
    if (!running_ns || running_ns >= enabled_ns)
        return value;
    unsigned __int128 whole = (unsigned __int128)value * enabled_ns / running_ns;
    return whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

size_t count_find_clock(const struct count_event *events, size_t count)
{
    size_t at = 0;
    while (at < count && !(events[at].type == PERF_TYPE_SOFTWARE && events[at].config == PERF_COUNT_SW_TASK_CLOCK &&
                           !events[at].unsupported))
        at++;
    return at;
}
