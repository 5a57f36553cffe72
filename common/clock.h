/* SPDX-License-Identifier: MIT */
/* The time of a clock, or CPU time, as one number, in ns. Context: any; async-signal-safe. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

static inline uint64_t clock_ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* The time of CLOCK; 0: there is no such clock. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return clock_ns_of(&now);
}

/* All CPU time in USAGE. */
static inline uint64_t clock_ns_of_usage(const struct rusage *usage)
{
    uint64_t us = (uint64_t)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) * 1000000u;
    return (us + (uint64_t)usage->ru_utime.tv_usec + (uint64_t)usage->ru_stime.tv_usec) * 1000u;
}

#endif
