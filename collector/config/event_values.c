/* SPDX-License-Identifier: MIT */
#include "collector/config/event_values.h"

#include "collector/config/event_config.h"
#include "collector/config/probe.h"

void event_values_ask(struct perf_event_attr *attr)
{
    attr->sample_type |= PERF_SAMPLE_READ;
    attr->read_format |= PERF_FORMAT_GROUP;
}

static bool are_asked_for(const struct settings *settings)
{
    for (unsigned i = 0; i < settings->events.count; i++)
        if (settings->events.specs[i].says & EVENT_SAYS_VALUES)
            return true;
    return false;
}

void event_values_finish(struct event_config *config, const struct settings *settings)
{
    if (!are_asked_for(settings))
        return;
    const bool timers = config->source == PINJECT_SOURCE_TIMER;
    config->inherit_values = !settings->stat && !timers && probe_inherits_values();
    if (config->inherit_values)
        return;
    event_config_note(
        config, "%s",
        settings->stat ? "modifier S has no effect with --stat, which takes no samples"
        : timers       ? "samples have no counts of the other events of their group (modifier S): perf_event_open is "
                         "refused, and the timers that take the samples cannot read counts"
                       : "in programs that cannot load the preload object (static, setuid), samples have no counts "
                         "of the other events of their group (modifier S): this kernel cannot write such counts "
                         "into samples of inherited events");
    config->values_note = config->note_count;
}
