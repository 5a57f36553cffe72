/* SPDX-License-Identifier: MIT */
#include "collector/output/counts.h"

#include <inttypes.h>
#include <stdio.h>

#include "collector/output/result_task.h"

enum { AMOUNT = 32, WIDTH = 18 };

/* What the event would have counted if it had always been on a hardware counter. */
static uint64_t scaled(const struct attach_value *value)
{
    unsigned __int128 whole = (unsigned __int128)value->value * value->enabled_ns / value->running_ns;
    return whole > UINT64_MAX ? UINT64_MAX : (uint64_t)whole;
}

void counts_add(struct counts *counts, const struct event_config *config, const struct result_task *task)
{
    int clock = event_config_find_clock(config);
    for (unsigned i = 0; i < config->count; i++) {
        const struct attach_value *value = &task->values[i];
        bool never_ran = value->enabled_ns && !value->running_ns;
        if (!task->ids[i] || never_ran)
            continue;
        bool part = value->running_ns < value->enabled_ns;
        counts->events[i].known = true;
        counts->events[i].estimate |= part;
        counts->events[i].value += part ? scaled(value) : value->value;
        if ((int)i == clock)
            counts->events[i].value += task->startup_ns + task->exit_ns;
    }
}

/* "1,234,567"; RET has room for AMOUNT. */
static char *grouped(char *ret, uint64_t value)
{
    char digits[24];
    int size = snprintf(digits, sizeof(digits), "%" PRIu64, value), used = 0;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            ret[used++] = ',';
        ret[used++] = digits[i];
    }
    ret[used] = '\0';
    return ret;
}

/* "20.7 K/s" */
static void append_rate(struct buffer *line, double rate)
{
    static const char *const units[] = {"/s", " K/s", " M/s", " G/s"};
    unsigned unit = 0;
    for (; rate >= 1000 && unit < 3; unit++)
        rate /= 1000;
    buffer_printf(line, "  %.3g%s of CPU time", rate, units[unit]);
}

/* The count of the whole tree, by the kernel's accounting; 0: it has none. */
static uint64_t count_by_accounting(const struct perf_event_attr *attr, const struct rusage *tree)
{
    if (attr->type != PERF_TYPE_SOFTWARE || attr->exclude_user || attr->exclude_kernel)
        return 0;
    switch (attr->config) {
    case PERF_COUNT_SW_PAGE_FAULTS: return (uint64_t)tree->ru_minflt + (uint64_t)tree->ru_majflt;
    case PERF_COUNT_SW_PAGE_FAULTS_MIN: return (uint64_t)tree->ru_minflt;
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ: return (uint64_t)tree->ru_majflt;
    case PERF_COUNT_SW_CONTEXT_SWITCHES: return (uint64_t)tree->ru_nvcsw + (uint64_t)tree->ru_nivcsw;
    default: return 0;
    }
}

static void append_amount(struct buffer *line, const struct config_event *event, uint64_t value, bool known)
{
    char amount[AMOUNT];
    if (!known)
        snprintf(amount, sizeof(amount), "<not counted>");
    else if (event->nanoseconds)
        snprintf(amount, sizeof(amount), "%.2f ms", (double)value / 1e6);
    else
        grouped(amount, value);
    buffer_printf(line, "%*s  %-18s", WIDTH, amount, event->name);
}

static void say_event(const struct counts *counts, const struct event_config *config, unsigned i,
                      const struct counts_run *run, void (*say)(struct buffer *line))
{
    const struct config_event *event = &config->events[i];
    uint64_t own = counts->events[i].value, tree = count_by_accounting(&event->attr, &run->tree);
    uint64_t value = tree > own ? tree : own;
    bool known = counts->events[i].known || tree;
    struct buffer line = BUFFER_INIT;
    char amount[AMOUNT];
    append_amount(&line, event, value, known);
    if (known && event->nanoseconds && run->elapsed_ns)
        buffer_printf(&line, "  %.3f CPUs busy", (double)value / (double)run->elapsed_ns);
    else if (known && !event->nanoseconds && run->cpu_ns)
        append_rate(&line, (double)value * 1e9 / (double)run->cpu_ns);
    if (tree > own)
        buffer_printf(&line, "; %s of them after each program's start", grouped(amount, own));
    if (counts->events[i].estimate)
        buffer_printf(&line, "; estimate: counted for part of the time only");
    say(&line);
    buffer_release(&line);
}

void counts_say(const struct counts *counts, const struct event_config *config, const struct counts_run *run,
                void (*say)(struct buffer *line))
{
    for (unsigned i = config->dummy ? 1 : 0; i < config->count; i++)
        say_event(counts, config, i, run, say);
    for (unsigned i = 0; i < config->missing_count; i++) {
        struct buffer line = BUFFER_INIT;
        buffer_printf(&line, "%*s  %s", WIDTH, "<not supported>", config->missing[i]);
        say(&line);
        buffer_release(&line);
    }
}
