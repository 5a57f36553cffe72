/* SPDX-License-Identifier: MIT */
/* All events that have a name on this machine. Reads files on each call; not thread-safe (libpfm4). */
#ifndef COLLECTOR_EVENTS_EVENT_CATALOG_H
#define COLLECTOR_EVENTS_EVENT_CATALOG_H

#include "collector/events/event_pmu.h"

enum event_kind {
    EVENT_KIND_GENERIC,
    EVENT_KIND_CACHE,
    EVENT_KIND_RAW,
    EVENT_KIND_BREAKPOINT,
    EVENT_KIND_PMU, /* of sysfs */
    EVENT_KIND_TRACEPOINT,
    EVENT_KIND_PFM,      /* an event of libpfm4 that needs no unit mask to be tried */
    EVENT_KIND_PFM_MASK, /* one with its unit mask */
};

struct event_entry {
    enum event_kind kind;
    const char *name;  /* as -e takes it */
    const char *alias; /* another name; NULL: none */
    const char *description;
};

/* Calls SHOW for each; its strings live until it returns. */
void event_catalog(const struct event_sources *sources, void (*show)(void *to, const struct event_entry *entry),
                   void *to);
/* What a generic event counts; "": unknown. */
const char *event_catalog_describe(uint32_t type, uint64_t config);

#endif
