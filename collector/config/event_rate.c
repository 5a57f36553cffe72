/* SPDX-License-Identifier: MIT */
#include "collector/config/event_rate.h"

#include <errno.h>
#include <inttypes.h>

#include "collector/config/event_config.h"
#include "collector/config/probe.h"
#include "common/report.h"

bool event_rate_is_clock(uint32_t type, uint64_t number)
{
    return type == PERF_TYPE_SOFTWARE && (number == PERF_COUNT_SW_TASK_CLOCK || number == PERF_COUNT_SW_CPU_CLOCK);
}

bool event_rate_is_of_kernel(const struct perf_event_attr *attr, const struct event_spec *spec)
{
    return (attr->type == PERF_TYPE_SOFTWARE && !event_rate_is_clock(attr->type, attr->config)) ||
           attr->type == PERF_TYPE_TRACEPOINT || attr->type == PERF_TYPE_BREAKPOINT || (spec && spec->traces);
}

bool event_rate_is_next(const struct perf_event_attr *attr, const struct event_spec *spec)
{
    return attr->freq && event_rate_is_of_kernel(attr, spec);
}

/* Is it sampled each time that it happens, unless the user says a rate? */
static bool is_each(const struct perf_event_attr *attr, const struct event_spec *spec)
{
    return attr->type == PERF_TYPE_TRACEPOINT || attr->type == PERF_TYPE_BREAKPOINT || (spec && spec->traces);
}

/* The period that was asked for: a clock's may be too short. */
static void choose(struct perf_event_attr *attr, const struct settings *settings, const struct event_spec *spec)
{
    bool clock = event_rate_is_clock(attr->type, attr->config);
    bool each = is_each(attr, spec);
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
     * whatever the period is. Without the field a sample stands for the attribute's period. With --saturate-smpl-buffer
     * a longer period has to end the samples. But a tracepoint may count more than 1 at a time, and without the field
     * the kernel would write its sample as often: those of a period of 1 go on, and the collector leaves them out.
     */
    const bool counts_more = attr->type == PERF_TYPE_TRACEPOINT;
    if (event_rate_is_of_kernel(attr, spec) && !attr->freq &&
        (attr->sample_period > 1 || (settings->saturate && !counts_more)))
        attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
}

/* A clock has a period in any case: also if the user said a frequency. */
static bool has_period(const struct config_event *event, const struct settings *settings)
{
    const struct event_spec *spec = event->spec;
    if (spec && spec->says & EVENT_SAYS_RATE)
        return !spec->attr.freq;
    return settings->period || (is_each(&event->attr, spec) && !settings->rate_given);
}

int event_rate_randomize(struct config_event *event, const struct settings *settings)
{
    const struct random_periods *random = &settings->random;
    const unsigned item = event->spec ? event->spec->item - 1 : 0;
    const uint64_t mask = item < random->count ? random->masks[item] : 0;
    if (!mask || (!event->spec && !event->samples)) /* a default that is only counted */
        return 0;
    if (!event->samples || !has_period(event, settings)) {
        if (event->samples)
            report_error(
                "option '--smpl-periods-random' changes periods, but event '%s' has a frequency: give this event a period with -c N or period=N",
                event->name);
        else
            report_error(
                "option '--smpl-periods-random' has a mask for event '%s', but this event is only counted and has no "
                "period: give this event the mask 0, or a period with -c or period=N",
                event->name);
        return -EINVAL;
    }
    if (mask >> 63 || (event->attr.sample_period + mask) >> 63) {
        report_error("a period of %" PRIu64 " of event '%s' with the random part %#" PRIx64
                     " (--smpl-periods-random) is too long: the longest period is 2^63-1",
                     (uint64_t)event->attr.sample_period, event->name, mask);
        return -EINVAL;
    }
    event->random_mask = mask;
    event->random_seed = random->seeds[item];
    event->attr.sample_type |= PERF_SAMPLE_PERIOD;
    return 0;
}

void event_rate_attr(const struct config_event *event, bool inherited, struct perf_event_attr *attr)
{
    if (!event_config_varies(event))
        return;
    attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
    if (!inherited)
        attr->sample_type |= PERF_SAMPLE_READ;
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
