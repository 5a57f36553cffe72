/* SPDX-License-Identifier: MIT */
#include "collector/config/event_rate.h"

#include <errno.h>
#include <inttypes.h>

#include "collector/config/probe.h"
#include "common/report.h"

bool event_rate_is_clock(uint32_t type, uint64_t number)
{
    return type == PERF_TYPE_SOFTWARE && (number == PERF_COUNT_SW_TASK_CLOCK || number == PERF_COUNT_SW_CPU_CLOCK);
}

/* Does the kernel call its counter each time that it happens? */
static bool is_of_kernel(const struct perf_event_attr *attr, const struct event_spec *spec)
{
    return (attr->type == PERF_TYPE_SOFTWARE && !event_rate_is_clock(attr->type, attr->config)) ||
           attr->type == PERF_TYPE_TRACEPOINT || attr->type == PERF_TYPE_BREAKPOINT || (spec && spec->traces);
}

bool event_rate_is_next(const struct perf_event_attr *attr, const struct event_spec *spec)
{
    return attr->freq && is_of_kernel(attr, spec);
}

/* The period that was asked for: a clock's may be too short. */
static void choose(struct perf_event_attr *attr, const struct settings *settings, const struct event_spec *spec)
{
    bool clock = event_rate_is_clock(attr->type, attr->config);
    bool each = attr->type == PERF_TYPE_TRACEPOINT || attr->type == PERF_TYPE_BREAKPOINT || (spec && spec->traces);
    if (spec && spec->says & EVENT_SAYS_RATE) {
        attr->freq = spec->attr.freq;
        attr->sample_period = spec->attr.sample_period;
        if (clock && attr->freq) {
            attr->freq = 0;
            attr->sample_period = UINT64_C(1000000000) / attr->sample_freq;
        }
    } else if (each && !settings->rate_given)
        attr->sample_period = 1; /* as perf does */
    else if (settings->period)
        attr->sample_period = settings->period;
    else if (clock)
        /* As the kernel does, but this does not fail if the kernel lowers its limit of frequencies under load. */
        attr->sample_period = UINT64_C(1000000000) / settings->frequency;
    else {
        attr->freq = 1;
        attr->sample_freq = settings->frequency;
    }
}

void event_rate_set(struct perf_event_attr *attr, const struct settings *settings, const struct event_spec *spec)
{
    choose(attr, settings, spec);
    if (event_rate_is_clock(attr->type, attr->config) && attr->sample_period < EVENT_RATE_CLOCK_MIN)
        attr->sample_period = EVENT_RATE_CLOCK_MIN;
    /*
     * With PERF_SAMPLE_PERIOD and a fixed period, the kernel writes a sample each time that such an event happens,
     * whatever the period is. Without the field a sample stands for the attribute's period.
     */
    if (is_of_kernel(attr, spec) && !attr->freq && attr->sample_period > 1)
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
}

static int check_own(const struct event_list *list, int64_t limit)
{
    for (unsigned i = 0; i < list->count; i++) {
        const struct event_spec *spec = &list->specs[i];
        const uint64_t frequency = spec->says & EVENT_SAYS_RATE && spec->attr.freq ? spec->attr.sample_freq : 0;
        if (frequency <= (uint64_t)(limit > 0 ? limit : 0))
            continue;
        report_error("event %u, '%s': freq=%" PRIu64 " is above this machine's limit of %" PRId64
                     " Hz (kernel.perf_event_max_sample_rate); use freq=%" PRId64
                     " or less, or raise the limit as root",
                     spec->item, spec->name, frequency, limit, limit);
        return -EINVAL;
    }
    return 0;
}

int event_rate_check(const struct settings *settings)
{
    if (settings->stat)
        return 0;
    const int64_t limit = probe_read_sysctl("perf_event_max_sample_rate", INT64_MAX);
    if (check_own(&settings->events, limit) < 0)
        return -EINVAL;
    if (settings->period) {
        if (settings->period >> 63) {
            report_error("a period of %" PRIu64 " is too long; the longest is 2^63-1", settings->period);
            return -EINVAL;
        }
        return 0;
    }
    if (settings->frequency > (uint64_t)(limit > 0 ? limit : 0)) {
        report_error("-F %" PRIu64 " is above this machine's limit of %" PRId64 " Hz "
                     "(kernel.perf_event_max_sample_rate); use -F %" PRId64 " or less, or raise the limit as root",
                     settings->frequency, limit, limit);
        return -EINVAL;
    }
    if (settings->frequency == 0) {
        report_error("a frequency of 0 Hz takes no samples; use -F 1 or more, or --stat");
        return -EINVAL;
    }
    return 0;
}

/* The period that the user said for a clock; 0: none, or a frequency. */
static uint64_t said_period(const struct settings *settings, const struct event_spec *spec)
{
    if (spec && spec->says & EVENT_SAYS_RATE)
        return spec->attr.freq ? 0 : spec->attr.sample_period;
    return settings->period;
}

bool event_rate_is_raised(const struct perf_event_attr *attr, const struct settings *settings,
                          const struct event_spec *spec)
{
    const uint64_t said = said_period(settings, spec);
    return event_rate_is_clock(attr->type, attr->config) && said && said < attr->sample_period;
}
