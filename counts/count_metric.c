/* SPDX-License-Identifier: MIT */
#include "counts/count_metric.h"

#include <linux/perf_event.h>
#include <string.h>

/* What a generic event is divided by, and how the quotient is shown. */
static const struct relation {
    uint64_t config, base;
    const char *unit;
    bool percent;
} relations[] = {
    {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES, "insn per cycle", false},
    {PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "of all branches", true},
    {PERF_COUNT_HW_CACHE_MISSES, PERF_COUNT_HW_CACHE_REFERENCES, "of all cache refs", true},
    {PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, PERF_COUNT_HW_CPU_CYCLES, "frontend cycles idle", true},
    {PERF_COUNT_HW_STALLED_CYCLES_BACKEND, PERF_COUNT_HW_CPU_CYCLES, "backend cycles idle", true},
};

static bool is_known(const struct count_event *event, const struct count_cell *cell)
{
    return !event->unsupported && count_is_known(cell);
}

/* ":u" of "cycles:u" and of "cycles:u (set 2)"; "" of "cycles". *RET_SIZE: how long it is. */
static const char *modifiers(const struct count_event *event, size_t *ret_size)
{
    const char *colon = strrchr(event->name, ':');
    *ret_size = colon ? strcspn(colon, " ") : 0;
    return colon ? colon : "";
}

static bool are_alike(const struct count_event *one, const struct count_event *other)
{
    size_t size, other_size;
    const char *left = modifiers(one, &size), *right = modifiers(other, &other_size);
    return size == other_size && memcmp(left, right, size) == 0;
}

/* Of the same set if there is one: these two were counted at the same time. */
static const struct count_cell *find_base(const struct count_event *events, const struct count_cell *cells,
                                          size_t count, const struct count_event *of, uint64_t config)
{
    const struct count_cell *found = NULL;
    for (size_t i = 0; i < count; i++) {
        if (events[i].type != PERF_TYPE_HARDWARE || events[i].config != config || !is_known(&events[i], &cells[i]) ||
            !are_alike(&events[i], of))
            continue;
        if (events[i].set == of->set)
            return &cells[i];
        found = found ? found : &cells[i];
    }
    return found;
}

static bool relate(const struct count_event *events, const struct count_cell *cells, size_t count, size_t index,
                   struct count_metric *ret)
{
    for (size_t i = 0; i < sizeof(relations) / sizeof(relations[0]); i++) {
        const struct relation *relation = &relations[i];
        if (events[index].type != PERF_TYPE_HARDWARE || events[index].config != relation->config)
            continue;
        const struct count_cell *base = find_base(events, cells, count, &events[index], relation->base);
        if (!base || !base->scaled)
            return false;
        const double quotient = (double)cells[index].scaled / (double)base->scaled;
        *ret = (struct count_metric){.value = relation->percent ? 100 * quotient : quotient,
                                     .unit = relation->unit,
                                     .percent = relation->percent};
        return true;
    }
    return false;
}

bool count_metric(const struct count_event *events, const struct count_cell *cells, size_t count, size_t index,
                  uint64_t elapsed_ns, struct count_metric *ret)
{
    const struct count_event *event = &events[index];
    if (!is_known(event, &cells[index]))
        return false;
    if (event->nanoseconds) {
        if (!elapsed_ns)
            return false;
        *ret = (struct count_metric){.value = (double)cells[index].scaled / (double)elapsed_ns,
                                     .unit = "CPUs utilized"};
        return true;
    }
    if (relate(events, cells, count, index, ret))
        return true;
    const size_t clock = count_find_clock(events, count);
    if (clock == count || !is_known(&events[clock], &cells[clock]) || !cells[clock].scaled || event->scale != 0)
        return false;
    const double each_ns = (double)cells[index].scaled / (double)cells[clock].scaled;
    if (event->type == PERF_TYPE_HARDWARE && event->config == PERF_COUNT_HW_CPU_CYCLES)
        *ret = (struct count_metric){.value = each_ns, .unit = "GHz"};
    else
        *ret = (struct count_metric){.value = each_ns * 1e9, .unit = "/sec", .rate = true};
    return true;
}

const char *count_rate(double *value)
{
    static const char *const units[] = {"/sec", "K/sec", "M/sec", "G/sec"};
    unsigned unit = 0;
    for (; *value >= 1000 && unit < 3; unit++)
        *value /= 1000;
    return units[unit];
}
