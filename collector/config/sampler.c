/* SPDX-License-Identifier: MIT */
#include "collector/config/sampler.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pinject/wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/config/event_choice.h"
#include "collector/config/event_config.h"
#include "collector/config/event_rate.h"
#include "collector/config/probe.h"
#include "collector/config/sample_cost.h"
#include "collector/config/settings.h"

enum { COPIES = 64 }; /* of events that each task inherits, at most, where the user did not choose */

/* What the kernel's accounting of a task, which does not tell user space from the kernel, has of an event with ATTR. */
static enum config_account find_account(const struct perf_event_attr *attr)
{
    static const enum config_account accounts[] = {
        [PERF_COUNT_SW_CPU_CLOCK] = CONFIG_ACCOUNT_CLOCK,
        [PERF_COUNT_SW_TASK_CLOCK] = CONFIG_ACCOUNT_CLOCK,
        [PERF_COUNT_SW_PAGE_FAULTS] = CONFIG_ACCOUNT_FAULTS,
        [PERF_COUNT_SW_CONTEXT_SWITCHES] = CONFIG_ACCOUNT_SWITCHES,
        [PERF_COUNT_SW_CPU_MIGRATIONS] = CONFIG_ACCOUNT_SAMPLES,
        [PERF_COUNT_SW_PAGE_FAULTS_MIN] = CONFIG_ACCOUNT_MINOR_FAULTS,
        [PERF_COUNT_SW_PAGE_FAULTS_MAJ] = CONFIG_ACCOUNT_MAJOR_FAULTS,
    };
    if (attr->type != PERF_TYPE_SOFTWARE || attr->config >= sizeof(accounts) / sizeof(accounts[0]))
        return CONFIG_ACCOUNT_NONE;
    const bool whole = !attr->exclude_kernel && !attr->exclude_user;
    return whole || event_rate_is_clock(attr->type, attr->config) ? accounts[attr->config] : CONFIG_ACCOUNT_NONE;
}

/* Only of a hardware event is the sum of the periods known: the kernel's clocks are in the accounting. */
static enum config_account find_account_of(const struct config_event *event)
{
    const bool hardware = event->attr.type == PERF_TYPE_HARDWARE || event->attr.type == PERF_TYPE_HW_CACHE ||
                          event->attr.type == PERF_TYPE_RAW || event->attr.type >= PERF_TYPE_MAX;
    return event->samples && hardware ? CONFIG_ACCOUNT_SAMPLES : find_account(&event->attr);
}

/* Why EVENT cannot be one for each CPU; NULL: it can. %s is its name. */
static const char *find_cpu_obstacle_of(const struct event_config *config, const struct config_event *event)
{
    const bool dropped = !event->spec && !event->samples; /* drop_counters() */
    if (event->samples && event->period_is_next)
        return "samples of '%s' with a frequency (-F) need per-task events; use a period (-c)";
    return event->spec && event->spec->filter        ? "'%s' has a filter (--filter), which needs per-task events"
           : event->values                           ? "'%s' has modifier S, which needs per-task events"
           : &config->events[event->leader] != event ? "'%s' is in a group, which needs per-task events"
           : event->account || dropped               ? NULL
                                       : "the kernel's accounting of a task does not have the count of '%s'";
}

/* Why EVENT cannot be inherited by all tasks; NULL: it can. */
static const char *find_inherit_obstacle_of(const struct event_config *config, const struct config_event *event)
{
    if (event->samples && event->period_is_next)
        return "samples of an inherited software event with a frequency (-F) do not say how many events each sample "
               "stands for";
    return event->values && !config->inherit_values ? "this kernel does not inherit events with modifier S" : NULL;
}

/* Why EVENT has to be one of each task; NULL: it has not. */
static const char *find_obstacle_of(const struct event_config *config, const struct config_event *event)
{
    if (event->random_mask)
        return "random periods (--smpl-periods-random) need per-task events";
    if (event->spec && (event_choice_is_own(event->spec) || event_choice_is_relative(event->spec)))
        return "probes, and mem:SYMBOL in a position-independent program, need per-task events";
    return config->system_wide ? find_cpu_obstacle_of(config, event) : find_inherit_obstacle_of(config, event);
}

/* The same of all events. The reason is in REASON[SIZE], or not. */
static const char *find_obstacle(const struct event_config *config, const struct settings *settings, char *reason,
                                 size_t size)
{
    const char *obstacle = config->source != PINJECT_SOURCE_PERF
                               ? "perf_event_open is refused, so timers take the samples"
                           : settings->bare ? "without pinject-run, each task has to have events of its own"
                           : settings->follow != PINJECT_SESSION_ALL
                               ? "with --follow, each followed task has events of its own"
                           : settings->split    ? "--exec-split-results needs the counts of a task at each exec"
                           : settings->saturate ? "--saturate-smpl-buffer needs per-task events"
                           : config->system_wide && settings->switch_events ? "--switch-events needs per-task events"
                                                                            : NULL;
    for (unsigned i = 0; !obstacle && i < config->count; i++) {
        const char *form = find_obstacle_of(config, &config->events[i]), *hole = form ? strstr(form, "%s") : NULL;
        if (hole)
            snprintf(reason, size, "%.*s%s%s", (int)(hole - form), form, config->events[i].name, hole + 2);
        obstacle = hole ? reason : form;
    }
    if (!obstacle && !config->system_wide && !probe_reports_ends())
        obstacle = "this kernel does not report what inherited events counted (Linux 5.13 to 6.18.1)";
    return obstacle;
}

/*
 * Are inherited events cheaper than those of each task, and their counts certain (keeps_counts_apart() in
 * inherited_open.c)? A task has a copy of each event that samples for each CPU, and one of each that counts, all made at
 * its start: some 1 us and 1 kB each. Events of its own are opened for some 100 us. Only where nobody asked for more the
 * two ways give the same.
 */
static bool is_cheaper_inherited(const struct event_config *config, const struct settings *settings)
{
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    bool plain = !settings->switch_events && config->turn_count < 2 && cpus > 0 &&
                 config->sampling * (unsigned long)cpus + config->count <= COPIES;
    for (unsigned i = 0; plain && i < config->count; i++) {
        const struct config_event *event = &config->events[i];
        plain = (!event->samples || event->nanoseconds) && !event->values && event->leader == i &&
                !(event->spec && event->spec->filter);
    }
    return plain;
}

/* Inherited events are not switched off and on with each task, so only samples cost, and all tasks have one rate. */
static void choose_rate(struct event_config *config)
{
    struct sample_cost cost = {.unwind_ns = config->dump ? SAMPLE_COST_UNWIND_NS : 0};
    for (unsigned i = 0; i < config->sampling; i++) {
        struct config_event *event = &config->events[i];
        if (!event->by_cost)
            continue;
        if (!cost.sample_ns)
            sample_cost_measure(&event->attr, &cost);
        event->attr.sample_period = sample_cost_period(&cost, 0, 0);
        event->by_cost = false;
        event->had_cost = true;
    }
    config->varies = false;
}

/* The counters that nobody asked for, and that accounting does not have. */
static void drop_counters(struct event_config *config)
{
    unsigned count = 0, dropped = 0;
    for (unsigned i = 0; i < config->count; i++) {
        if (!config->events[i].account && !config->events[i].spec && !config->events[i].samples) {
            dropped++;
            continue;
        }
        if (dropped) {
            if (config->keepers[count] >= 0)
                close(config->keepers[count]);
            config->keepers[count] = config->keepers[i];
            config->keepers[i] = -1;
            config->events[count] = config->events[i];
            config->events[count].leader -= dropped; /* behind those that the user chose, no event is in a group */
        }
        count++;
    }
    config->count = count;
    if (dropped)
        event_config_note(config,
                          "with --sampler=cpu, tasks have no events, so hardware events that are not sampled are not "
                          "counted; to count them, name them with -e, or use --sampler=task");
}

static bool drops_counters(const struct event_config *config)
{
    for (unsigned i = 0; i < config->count; i++)
        if (!config->events[i].account && !config->events[i].spec && !config->events[i].samples)
            return true;
    return false;
}

static void say_refusal(struct event_config *config, const char *reason)
{
    event_config_note(
        config,
        !config->sampler_wanted ? "each task has events of its own, because inherited events could not be opened: %s"
        : config->system_wide   ? "each task has events of its own, because --sampler=cpu is not possible: %s"
                                : "each task has events of its own, because --sampler=inherit is not possible: %s",
        reason);
}

void sampler_give_up(struct event_config *config, int status)
{
    config->inherits = false;
    for (unsigned i = 0; i < config->sampling; i++) {
        struct config_event *event = &config->events[i];
        if (!event->had_cost)
            continue;
        event->attr.sample_period = UINT64_C(1000000000) / SAMPLE_COST_MOST_HZ;
        event->by_cost = config->varies = true;
    }
    say_refusal(config, status == -ENOBUFS ? "too little memory may be locked for their ring buffers (ulimit -l)"
                                           : strerror(-status));
    config->system_wide = false;
}

void sampler_choose(struct event_config *config, const struct settings *settings)
{
    const bool automatic = settings->sampler == SETTINGS_SAMPLER_AUTO;
    char reason[256];
    config->sampler_wanted = !automatic;
    if (settings->stat || settings->sampler == SETTINGS_SAMPLER_TASK)
        return;
    config->system_wide = automatic || settings->sampler == SETTINGS_SAMPLER_CPU;
    for (unsigned i = 0; i < config->count; i++)
        config->events[i].account = find_account_of(&config->events[i]);
    const char *obstacle = find_obstacle(config, settings, reason, sizeof(reason));
    if (automatic) { /* whether the kernel tells its accounting is found out when it is needed: that takes a while */
        config->system_wide_later = !obstacle && !drops_counters(config) && probe_sees_cpus();
        config->system_wide = false;
        config->inherits = !config->system_wide_later && is_cheaper_inherited(config, settings) &&
                           !find_obstacle(config, settings, reason, sizeof(reason));
        if (config->inherits)
            choose_rate(config);
        return;
    }
    if (!obstacle && config->system_wide)
        obstacle = probe_system_wide();
    if (obstacle) {
        say_refusal(config, obstacle);
        config->system_wide = false;
        return;
    }
    config->inherits = true;
    if (config->system_wide)
        drop_counters(config);
    else
        choose_rate(config);
}
