/* SPDX-License-Identifier: MIT */
/* Burns a known amount of CPU time, by the thread's CPU clock, in functions with known names. */
#ifndef TARGETS_BURN_H
#define TARGETS_BURN_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static inline uint64_t burn_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread in nanoseconds. */
static inline uint64_t burn_cpu(void)
{
    return burn_clock(CLOCK_THREAD_CPUTIME_ID);
}

static inline int burn_tid(void)
{
    return (int)syscall(SYS_gettid);
}

static volatile uint64_t burn_sink;

/*
 * A few microseconds of arithmetic, so that reading the clock takes no noticeable part of the time. Inlined, so that
 * the time counts for its caller.
 */
static inline __attribute__((always_inline)) void burn_some(void)
{
    uint64_t value = burn_sink;
    for (int i = 0; i < 20000; i++)
        value = value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    burn_sink = value;
}

/* Burns until the thread has used UNTIL ns of CPU time in total. */
static inline __attribute__((always_inline)) void burn_until(uint64_t until)
{
    do
        burn_some();
    while (burn_cpu() < until);
}

__attribute__((noinline, unused)) static void spin_a(uint64_t until)
{
    burn_until(until);
}

__attribute__((noinline, unused)) static void spin_b(uint64_t until)
{
    burn_until(until);
}

/* Burns NS more of CPU time: 2/3 in spin_a, 1/3 in spin_b, alternating in slices of 3 ms. */
__attribute__((noinline, unused)) static void spin_both(uint64_t ns)
{
    uint64_t at = burn_cpu(), end = at + ns;
    while (at < end) {
        uint64_t slice = end - at < 3 * MS ? end - at : 3 * MS;
        spin_a(at + slice / 3 * 2);
        spin_b(at + slice);
        at += slice;
    }
}

__attribute__((noinline, unused)) static uint64_t burn_number(const char *text, const char *what)
{
    char *end;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (!text || end == text || *end) {
        fprintf(stderr, "%s is a number, not '%s'\n", what, text ? text : "");
        exit(2);
    }
    return value;
}

#endif
