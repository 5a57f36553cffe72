/* SPDX-License-Identifier: MIT */
/* What wait() reported of processes that have ended. */
#ifndef COLLECTOR_TASKS_REAPED_H
#define COLLECTOR_TASKS_REAPED_H

#include <stdbool.h>
#include <sys/types.h>

struct notification;
struct process;
struct tasks;

/* A wait reported the end of notification->pid. */
void tasks_reaped(struct tasks *tasks, const struct notification *notification);
/* PROCESS is new: it may have waited for children already. */
void tasks_take_early_waits(struct tasks *tasks, struct process *process);

#endif
