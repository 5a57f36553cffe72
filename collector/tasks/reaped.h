/* SPDX-License-Identifier: MIT */
/* What wait() reported of processes that have ended. */
#ifndef COLLECTOR_TASKS_REAPED_H
#define COLLECTOR_TASKS_REAPED_H

#include <stdbool.h>
#include <sys/types.h>

struct notification;
struct tasks;

/* A wait reported the end of notification->pid. */
void tasks_reaped(struct tasks *tasks, const struct notification *notification);

#endif
