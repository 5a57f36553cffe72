/* SPDX-License-Identifier: MIT */
#include "collector/config/sample_fields.h"

#include <string.h>
#include <unistd.h>

#include "collector/config/probe.h"

size_t sample_fields_size(uint64_t type)
{
    return sizeof(uint64_t) *
           (size_t)__builtin_popcountll(type & (SAMPLE_FIELDS_AFTER_TIME | SAMPLE_FIELDS_AFTER_STACK));
}

/* 0 or -errno. */
static int try_fields(struct perf_event_attr attr, int group, uint64_t fields)
{
    attr.sample_type |= fields;
    const int fd = probe_open_in(&attr, group);
    if (fd < 0)
        return fd;
    close(fd);
    return 0;
}

/*
 * The fields of --data that the kernel accepts beside those of ATTR, which is opened in the group of the event GROUP (an
 * fd; -1: in none), and closed. *RET_PHYSICAL and *RET_ALL: why there are no physical addresses, and why there is no
 * field at all: -errno, or 0.
 */
static uint64_t find_data(const struct perf_event_attr *attr, int group, int *ret_physical, int *ret_all)
{
    const uint64_t data = PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC;
    *ret_all = 0;
    *ret_physical = try_fields(*attr, group, data | PERF_SAMPLE_PHYS_ADDR);
    if (*ret_physical == 0)
        return data | PERF_SAMPLE_PHYS_ADDR;
    *ret_all = try_fields(*attr, group, data);
    return *ret_all == 0 ? data : 0;
}

/* WITHOUT of the events have no ADDRESSES, FIRST is one of them. */
static void note_without(struct event_config *config, unsigned without, const char *first, const char *addresses,
                         int error)
{
    if (without == config->sampling)
        event_config_note(config, "samples have no %s: %s", addresses, strerror(-error));
    else if (without)
        event_config_note(config, "samples of '%s'%s have no %s: %s", first, without > 1 ? " and other events" : "",
                          addresses, strerror(-error));
}

/* Of each event that samples: a PMU may know fields that another one does not. */
static void add_data(struct event_config *config)
{
    unsigned without = 0, without_physical = 0;
    const char *first = "", *first_physical = "";
    int physical = 0, all = 0;
    for (unsigned i = 0; i < config->sampling; i++) {
        struct config_event *event = &config->events[i];
        const int group = event->leader < i ? config->keepers[event->leader] : -1;
        int no_physical, none;
        event->attr.sample_type |= find_data(&event->attr, group, &no_physical, &none);
        if (none && !without++) {
            all = none;
            first = event->name;
        } else if (!none && no_physical && !without_physical++) {
            physical = no_physical;
            first_physical = event->name;
        }
    }
    note_without(config, without_physical, first_physical, "physical addresses", physical);
    note_without(config, without, first, "addresses", all);
}

void sample_fields_add(struct event_config *config, const struct settings *settings)
{
    if (!settings->sample_cpu && !settings->data)
        return;
    if (config->source == PINJECT_SOURCE_TIMER) {
        event_config_note(config,
                          "samples have no CPU and no address: the timers of the preload object do not know them");
        return;
    }
    for (unsigned i = 0; i < config->count && settings->sample_cpu; i++)
        config->events[i].attr.sample_type |= PERF_SAMPLE_CPU; /* the same trailer for all */
    if (settings->data)
        add_data(config);
}
