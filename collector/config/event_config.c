/* SPDX-License-Identifier: MIT */
#include "collector/config/event_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void event_config_note(struct event_config *config, const char *format, ...)
{
    if (config->note_count == CONFIG_NOTES)
        return;
    va_list list;
    va_start(list, format);
    vsnprintf(config->notes[config->note_count++], sizeof(config->notes[0]), format, list);
    va_end(list);
}

bool event_config_in_kernel(uint32_t type, uint64_t number)
{
    return type == PERF_TYPE_SOFTWARE &&
           (number == PERF_COUNT_SW_CONTEXT_SWITCHES || number == PERF_COUNT_SW_CPU_MIGRATIONS ||
            number == PERF_COUNT_SW_CGROUP_SWITCHES);
}

int event_config_find_clock(const struct event_config *config)
{
    for (unsigned i = 0; i < config->count; i++)
        if (config->events[i].attr.type == PERF_TYPE_SOFTWARE && !config->events[i].grouped && !config->events[i].set &&
            config->events[i].attr.config == PERF_COUNT_SW_TASK_CLOCK)
            return (int)i;
    return -1;
}

int event_config_find_shared(const struct event_config *config)
{
    int found = -1;
    for (unsigned i = 0; i < config->sampling; i++) {
        if (config->events[i].attr.type != PERF_TYPE_SOFTWARE || config->events[i].nanoseconds)
            continue;
        if (found >= 0)
            return -1;
        found = (int)i;
    }
    return found;
}

uint64_t event_config_clock(const struct event_config *config, const struct attach_value *values)
{
    /* Without the clock: events of a task are enabled exactly while it runs. */
    int clock = event_config_find_clock(config);
    if (clock >= 0 && values[clock].enabled_ns)
        return values[clock].value;
    for (unsigned i = 0; i < config->count; i++)
        if (values[i].enabled_ns)
            return values[i].enabled_ns;
    return 0;
}

void event_config_close_keepers(struct event_config *config)
{
    for (unsigned i = 0; i < CONFIG_EVENTS; i++) {
        if (config->keepers[i] >= 0)
            close(config->keepers[i]);
        config->keepers[i] = -1;
    }
}

void event_config_release(struct event_config *config)
{
    buffer_release(&config->trace_formats);
    event_config_close_keepers(config);
}
