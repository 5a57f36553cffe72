/* SPDX-License-Identifier: MIT */
/* The kernel's generic hardware and software events by perf's names. */
#ifndef COMMON_EVENTS_H
#define COMMON_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_name {
    const char *name;  /* perf's name: "task-clock" */
    const char *alias; /* perf's other name ("faults"), or NULL */
    uint32_t type;     /* PERF_TYPE_* */
    uint64_t config;   /* PERF_COUNT_* */
    bool nanoseconds;  /* the value is a time in nanoseconds */
};

extern const struct event_name events_names[];
extern const size_t events_count;

/* The one of that name or alias, in any case; NULL: there is none. */
const struct event_name *events_find_name(const char *name);
/* NULL: the kernel's number has no name here. */
const struct event_name *events_find(uint32_t type, uint64_t config);

#endif
