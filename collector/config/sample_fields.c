/* SPDX-License-Identifier: MIT */
#include "collector/config/sample_fields.h"

#include <string.h>
#include <unistd.h>

#include "collector/config/probe.h"

/* 0 or -errno. */
static int try_fields(const struct event_config *config, uint64_t fields)
{
    struct perf_event_attr attr = config->events[0].attr;
    attr.sample_type |= fields;
    const int fd = probe_open(&attr);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

static uint64_t choose_data(struct event_config *config)
{
    const uint64_t data = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
    int status = try_fields(config, data | PERF_SAMPLE_PHYS_ADDR);
    if (status == 0)
        return data | PERF_SAMPLE_PHYS_ADDR;
    event_config_note(config, "samples have no physical addresses: %s", strerror(-status));
    status = try_fields(config, data);
    if (status == 0)
        return data;
    event_config_note(config, "samples have no addresses: %s", strerror(-status));
    return 0;
}

void sample_fields_add(struct event_config *config, const struct settings *settings)
{
    if (!settings->sample_cpu && !settings->data)
        return;
    if (config->source == PINJECT_SOURCE_TIMER) {
        event_config_note(config,
                          "samples have no CPU and no address: the timers of the preload object do not know it");
        return;
    }
    const uint64_t data = settings->data ? choose_data(config) : 0;
    for (unsigned i = 0; i < config->count; i++) {
        struct config_event *event = &config->events[i];
        event->attr.sample_type |= settings->sample_cpu ? PERF_SAMPLE_CPU : 0; /* the same trailer for all */
        event->attr.sample_type |= event->samples ? data : 0;
    }
}
