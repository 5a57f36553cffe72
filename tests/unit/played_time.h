/* SPDX-License-Identifier: MIT */
/*
 * Put in front of a source of the preload object (-include): clock, pauses, futexes, CPU and scheduling policy are
 * those of the test, which defines these functions. A test can then say what time it is, and sees how long is waited.
 */
#ifndef UNIT_PLAYED_TIME_H
#define UNIT_PLAYED_TIME_H

#include "preload/sys.h"

uint64_t played_clock_ns(clockid_t id);
void played_sleep_ns(uint32_t ns);
long played_futex_wait_until(uint32_t *word, uint32_t expected, const struct timespec *deadline);
long played_futex_wake(uint32_t *word, int count);
long played_yield(void);
bool played_is_real_time(void);
int played_cpu(void);

#define sys_clock_ns         played_clock_ns
#define sys_sleep_ns         played_sleep_ns
#define sys_futex_wait_until played_futex_wait_until
#define sys_futex_wake       played_futex_wake
#define sys_yield            played_yield
#define sys_is_real_time     played_is_real_time
#define sys_cpu              played_cpu

#endif
