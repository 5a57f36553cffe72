/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "analyze/model/loader.h"
#include "common/events.h"

static const char *plain_name(struct store *store, const struct perf_event_attr *attr)
{
    const struct event_name *known = events_find(attr->type, attr->config);
    const char *side = attr->exclude_kernel && !attr->exclude_user   ? ":u"
                       : attr->exclude_user && !attr->exclude_kernel ? ":k"
                                                                     : "";
    char name[64];
    if (known)
        snprintf(name, sizeof(name), "%s%s", known->name, side);
    else if (attr->type == PERF_TYPE_RAW)
        snprintf(name, sizeof(name), "r%llx%s", (unsigned long long)attr->config, side);
    else
        snprintf(name, sizeof(name), "type %u config 0x%llx%s", attr->type, (unsigned long long)attr->config, side);
    return store_string(store, name);
}

static bool is_clock(uint32_t type, uint64_t config)
{
    const struct event_name *known = events_find(type, config);
    return known && known->nanoseconds;
}

uint32_t event_of_attr(struct store *store, const struct attr *attr)
{
    bool dummy = attr->perf.type == PERF_TYPE_SOFTWARE && attr->perf.config == PERF_COUNT_SW_DUMMY;
    struct profile_event event = {
        .name = attr->name && attr->name[0] ? store_string(store, attr->name) : plain_name(store, &attr->perf),
        .type = attr->perf.type,
        .config = attr->perf.config,
        .nanoseconds = is_clock(attr->perf.type, attr->perf.config),
        /* Events of a group that its leader reads have samples without a period of their own. */
        .sampled = (attr->perf.sample_period != 0 || (attr->perf.sample_type & PERF_SAMPLE_READ)) && !dummy,
        .frequency = attr->perf.freq,
        .sample_value = attr->perf.sample_period,
        .exclude_kernel = attr->perf.exclude_kernel,
    };
    return event.name ? store_event(store, &event) : LOOKUP_NONE;
}

uint32_t event_of_count(struct store *store, const struct file *file, const struct pinject_item_count *count,
                        const char *name)
{
    if (count->event < file->attrs.count)
        return event_of_attr(store, &file->attrs.items[count->event]);
    struct profile_event event = {
        .name = store_string(store, name), .type = UINT32_MAX, .nanoseconds = count->nanoseconds};
    if (!event.name)
        return LOOKUP_NONE;
    /* Another file may have an attribute for the same event: one name is one row. */
    for (uint32_t i = 0; i < store->events.count; i++)
        if (store_event_at(store, i)->name == event.name)
            return i;
    for (size_t i = 0; i < events_count; i++) {
        if (strcmp(events_names[i].name, name) == 0) {
            event.type = events_names[i].type;
            event.config = events_names[i].config;
            event.nanoseconds |= events_names[i].nanoseconds;
        }
    }
    return store_event(store, &event);
}
