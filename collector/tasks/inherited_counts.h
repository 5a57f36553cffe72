/* SPDX-License-Identifier: MIT */
/* What tasks covered by an inherited set used: as it reports, or estimated. */
#ifndef COLLECTOR_TASKS_INHERITED_COUNTS_H
#define COLLECTOR_TASKS_INHERITED_COUNTS_H

#include <stdbool.h>

struct task;
struct tasks;

/* All its counts have come. */
bool tasks_inherited_counted(const struct task *task);
/* The clock of a task whose counts did not come, or not all: by the scheduler's accounting, or by its samples. */
void tasks_inherited_estimate(const struct tasks *tasks, struct task *task);

#endif
