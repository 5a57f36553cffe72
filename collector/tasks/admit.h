/* SPDX-License-Identifier: MIT */
/* Handles notifications: new tasks, new exec generations, and what is reported of them. */
#ifndef COLLECTOR_TASKS_ADMIT_H
#define COLLECTOR_TASKS_ADMIT_H

#include <stdbool.h>

struct notification;
struct tasks;

/* Is the task known that NOTIFICATION refers to? */
bool tasks_is_ready(const struct tasks *tasks, const struct notification *notification);
/*
 * Handles any kind. Takes over what NOTIFICATION has, and frees it. True: its process was attached late, and is in the
 * list of those whose threads and children are to be attached; the caller calls tasks_attach_trees().
 */
bool tasks_admit(struct tasks *tasks, struct notification *notification);

#endif
