/* SPDX-License-Identifier: MIT */
#include "counts/count.h"

#include <linux/perf_event.h>

static uint64_t add(uint64_t one, uint64_t other)
{
    return other > UINT64_MAX - one ? UINT64_MAX : one + other;
}

/* Enabled, but never counted: its figure is unknown, not 0. */
static uint64_t unseen_ns(const struct count_cell *cell)
{
    return cell->running_ns ? 0 : cell->enabled_ns;
}

void count_begin(struct count_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cells[i].parts = cells[i].scaled;
        cells[i].unseen_ns = unseen_ns(&cells[i]);
    }
}

void count_add(struct count_cell *to, const struct count_cell *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct count_cell *sum = &to[i];
        sum->present |= from[i].present;
        sum->estimate |= from[i].estimate;
        sum->value = add(sum->value, from[i].value);
        sum->enabled_ns = add(sum->enabled_ns, from[i].enabled_ns);
        sum->running_ns = add(sum->running_ns, from[i].running_ns);
        sum->parts = add(sum->parts, from[i].scaled);
        sum->unseen_ns = add(sum->unseen_ns, unseen_ns(&from[i]));
        sum->scaled = sum->unseen_ns ? count_scale(sum->parts, sum->enabled_ns, sum->enabled_ns - sum->unseen_ns)
                                     : sum->parts;
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
                           !events[at].unsupported && !events[at].set))
        at++;
    return at;
}

bool count_had_turn(const struct count_event *events, const struct count_cell *cells, size_t count, size_t index)
{
    bool had = !events[index].set;
    for (size_t i = 0; i < count && !had; i++)
        had = events[i].set == events[index].set && cells[i].running_ns;
    return had;
}
