/* SPDX-License-Identifier: MIT */
/* Numbers of tasks are reused: what was opened by one may be another task's. Thread-safe. */
#ifndef COLLECTOR_SYSTEM_NUMBERS_H
#define COLLECTOR_SYSTEM_NUMBERS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Does PIDFD's process still have the number PID, and is TID one of its tasks? Asked after an access by number: then
 * that was to this process. A zombie has its number. PIDFD -1: unknown, only the numbers are checked.
 */
bool numbers_hold(int pidfd, pid_t pid, pid_t tid);

/*
 * Does another process have the number PID of PIDFD's by now? Asked after an access of which nothing has to be undone:
 * if the process has just ended and its number is free, the access was to it, or to nothing. PIDFD -1: unknown, false.
 */
bool numbers_are_anothers(int pidfd, pid_t pid);

/* Is there no process PID? */
bool numbers_process_is_gone(pid_t pid);
/* Is there no task TID of a process PID? */
bool numbers_task_is_gone(pid_t pid, pid_t tid);

#endif
