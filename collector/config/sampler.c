/* SPDX-License-Identifier: MIT */
#include "collector/config/sampler.h"

#include <pinject/wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "collector/config/event_choice.h"
#include "collector/config/event_config.h"
#include "collector/config/probe.h"
#include "collector/config/sample_cost.h"
#include "collector/config/settings.h"

/* Why EVENT cannot be inherited by all tasks; NULL: it can. */
static const char *find_obstacle_of(const struct event_config *config, const struct config_event *event)
{
    if (event->random_mask)
        return "random periods (--smpl-periods-random) need events of each task";
    if (event->values && !config->inherit_values)
        return "this kernel does not inherit events with modifier S";
    if (event->spec && (event_choice_is_own(event->spec) || event_choice_is_relative(event->spec)))
        return "an event has an address of its own in each process";
    if (event->samples && event->period_is_next)
        return "samples of an inherited software event with a frequency (-F) do not say what they stand for";
    return NULL;
}

/* The same of all events. */
static const char *find_obstacle(const struct event_config *config, const struct settings *settings)
{
    const char *obstacle = config->source != PINJECT_SOURCE_PERF ? "perf_event_open is refused, and timers sample"
                           : settings->bare ? "without pinject-run, each task has to have events of its own"
                           : settings->follow != PINJECT_SESSION_ALL
                               ? "with --follow, each followed task has events of its own"
                           : settings->split    ? "--exec-split-results needs the counts of a task at each exec"
                           : settings->saturate ? "--saturate-smpl-buffer needs events of each task"
                                                : NULL;
    for (unsigned i = 0; !obstacle && i < config->count; i++)
        obstacle = find_obstacle_of(config, &config->events[i]);
    if (!obstacle && !probe_reports_ends())
        obstacle = "this kernel does not report what inherited events counted (Linux 5.13 to 6.18.1)";
    return obstacle;
}

/* Inherited events are not switched off and on with each task, so only samples cost, and all tasks have one rate. */
static void choose_rate(struct event_config *config)
{
    struct sample_cost cost = {0};
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
    event_config_note(config, "each task has events of its own, not inherited ones (--sampler=inherit): %s",
                      strerror(-status));
}

void sampler_choose(struct event_config *config, const struct settings *settings)
{
    if (settings->stat || settings->sampler != SETTINGS_SAMPLER_INHERIT)
        return;
    const char *obstacle = find_obstacle(config, settings);
    config->inherits = !obstacle;
    if (config->inherits)
        choose_rate(config);
    else
        event_config_note(config, "each task has events of its own, not inherited ones (--sampler=inherit): %s",
                          obstacle);
}
