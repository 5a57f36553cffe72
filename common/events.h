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

struct event_choice {
    const struct event_name *event;
    bool exclude_user;   /* asked for with ":k" */
    bool exclude_kernel; /* asked for with ":u" */
    char text[64];       /* as the user wrote it: the name in files and reports */
};

/*
 * Parses one event of TEXT[SIZE], like "task-clock", "faults:u", "cycles:k", "instructions:uk".
 * 0, or -EINVAL after report_error() (with the nearest name).
 */
int events_parse(const char *text, size_t size, struct event_choice *ret_choice);
/* NULL: the kernel's number has no name here. */
const struct event_name *events_find(uint32_t type, uint64_t config);

#endif
