/* SPDX-License-Identifier: MIT */
/* Checks the records that the preload object's timers write: every byte of such a ring may be a lie. */
#ifndef COLLECTOR_TASKS_TIMER_RECORDS_H
#define COLLECTOR_TASKS_TIMER_RECORDS_H

#include <stdbool.h>

struct task;
struct tasks;

/* Is RECORD, of a ring that the target fills, valid? What it says of itself is replaced by what we know. */
bool tasks_check_timer_record(const struct tasks *tasks, const struct task *task, void *record);

#endif
