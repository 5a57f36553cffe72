/* SPDX-License-Identifier: MIT */
/* Numbers of tasks are given out again: what was opened by one may be another task's. Thread-safe. */
#ifndef COLLECTOR_SYSTEM_NUMBERS_H
#define COLLECTOR_SYSTEM_NUMBERS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Does PIDFD's process still have the number PID, and is TID a task of it? Asked after a look by number: then that was
 * at this process. A zombie has its number. PIDFD -1: unknown, the numbers have to do.
 */
bool numbers_hold(int pidfd, pid_t pid, pid_t tid);

/*
 * Does another process have the number PID of PIDFD's by now? Asked after a look of which nothing has to be given back:
 * who just ended, and whose number is free, was looked at himself, or there was nothing. PIDFD -1: unknown, false.
 */
bool numbers_are_anothers(int pidfd, pid_t pid);

#endif
