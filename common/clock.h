/* SPDX-License-Identifier: MIT */
/* The time of a clock as one number, in ns. Context: any; async-signal-safe. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* 0: there is no such clock. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return clock_ns_of(&now);
}

#endif
