/* SPDX-License-Identifier: MIT */
#include "collector/config/event_choice.h"

#include <errno.h>
#include <pinject/wire.h>
#include <stdio.h>
#include <string.h>

#include "collector/config/event_rate.h"
#include "collector/config/probe.h"

struct perf_event_attr event_choice_attr(const struct event_spec *spec, bool blind)
{
    const struct perf_event_attr *said = &spec->attr, ours = probe_attr(said->type, said->config);
    struct perf_event_attr attr = *said;
    attr.size = ours.size;
    attr.sample_type = ours.sample_type;
    attr.read_format = ours.read_format;
    attr.sample_id_all = ours.sample_id_all;
    attr.use_clockid = ours.use_clockid;
    attr.clockid = ours.clockid;
    attr.sample_period = attr.freq = 0; /* counting; see event_rate_set() */
    if (blind && !attr.exclude_user)
        attr.exclude_kernel = attr.exclude_hv = 1;
    return attr;
}

static bool is_same_text(const char *one, const char *other)
{
    return (!one && !other) || (one && other && strcmp(one, other) == 0);
}

/* BLIND leaves out the kernel, said or not; a clock counts it all the same. */
static bool is_same_attr(const struct event_spec *one, const struct event_spec *other, bool blind)
{
    struct perf_event_attr attr = one->attr, second = other->attr;
    uint32_t says = one->says ^ other->says;
    if (event_choice_is_own(one))
        attr.config1 = second.config1; /* a pointer: the targets are compared */
    if (blind && !attr.exclude_user && !second.exclude_user && attr.type == PERF_TYPE_SOFTWARE &&
        !event_rate_is_clock(attr.type, attr.config)) {
        attr.exclude_kernel = attr.exclude_hv = second.exclude_kernel = second.exclude_hv = 1;
        says &= ~(uint32_t)EVENT_SAYS_LEVEL;
    }
    return !says && memcmp(&attr, &second, sizeof(attr)) == 0;
}

bool event_choice_is_same(const struct event_spec *one, const struct event_spec *other, bool blind)
{
    const bool same_target = one->target_kind == other->target_kind && is_same_text(one->target, other->target);
    const bool tracepoint = one->attr.type == PERF_TYPE_TRACEPOINT; /* its number says which, also if it has a name */
    return (same_target || tracepoint) && is_same_attr(one, other, blind) && is_same_text(one->filter, other->filter) &&
           (!(one->says & EVENT_SAYS_NAME) || strcmp(one->name, other->name) == 0);
}

bool event_choice_is_own(const struct event_spec *spec)
{
    return spec->target_kind == EVENT_TARGET_FILE || spec->target_kind == EVENT_TARGET_FUNCTION;
}

bool event_choice_is_relative(const struct event_spec *spec)
{
    return spec && spec->relative;
}

bool event_choice_is_whole_tree(const struct settings *settings)
{
    const bool rows = settings->count_by || settings->split, some = settings->follow != PINJECT_SESSION_ALL;
    bool all = settings->stat && !settings->bare && !rows && !some && !settings->linger && !settings->live &&
               !settings->switch_ns;
    for (unsigned i = 0; i < settings->events.count; i++)
        all &= !event_choice_is_own(&settings->events.specs[i]) && !settings->events.specs[i].relative;
    return all;
}

void event_choice_explain(const struct event_spec *spec, int status, char *ret, size_t size)
{
    const bool dynamic = spec && spec->pmu[0];
    if (spec && spec->cpumask[0] && status == -EINVAL)
        snprintf(ret, size, "PMU %s counts whole CPUs or sockets (its cpumask is %s), not single threads", spec->pmu,
                 spec->cpumask);
    else if (spec && spec->filter && status == -EINVAL)
        snprintf(ret, size,
                 "the kernel does not accept the filter '%s'; the file 'format' of the tracepoint in tracefs lists the "
                 "fields that a filter can use",
                 spec->filter);
    else if (spec && spec->attr.type == PERF_TYPE_BREAKPOINT && status == -ENOSPC)
        snprintf(ret, size, "all hardware breakpoints are in use (a CPU usually has 4); use fewer mem: events");
    else if (spec && spec->attr.type == PERF_TYPE_BREAKPOINT && status == -EINVAL)
        snprintf(ret, size, "the CPU has no breakpoint for this combination of address, length and kind of access");
    else if (spec && spec->group && !spec->leader && status == -EINVAL)
        snprintf(ret, size,
                 "this event cannot be counted together with the other events of its group; put fewer events into { }");
    else if (spec && (spec->traces || spec->attr.type == PERF_TYPE_TRACEPOINT) && probe_is_refused(status))
        snprintf(ret, size, "tracepoints and probes need root or CAP_PERFMON (%s)", strerror(-status));
    else if (dynamic && status == -EINVAL)
        snprintf(ret, size,
                 "PMU %s does not count this event for threads, or does not accept these terms and modifiers",
                 spec->pmu);
    else
        probe_explain(status, ret, size);
}
