/* SPDX-License-Identifier: MIT */
/* What the collector's tasks ask of stacks.h. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_TASK_STACKS_H
#define COLLECTOR_TASKS_TASK_STACKS_H

#include <linux/perf_event.h>
#include <stdint.h>

#include "collector/stacks/stacks.h"

struct task;
struct tasks;

/* Makes tasks->stacks, or leaves NULL there: see stacks_new(). 0 or -ENOMEM. */
int tasks_begin_stacks(struct tasks *tasks);
/* TASK as the owner of its samples, for one call. */
struct stack_owner tasks_stack_owner(const struct tasks *tasks, struct task *task);
/* RECORD, a sample of event EVENT of TASK, as it goes to the file: see stacks_take(). NULL: it makes no sense. */
const struct perf_event_header *tasks_unwind(struct tasks *tasks, struct task *task, unsigned event,
                                             const struct perf_event_header *record);
/* A round of TASK's ring begins, of which FILLED bytes of SIZE wait. */
void tasks_begin_round(struct tasks *tasks, struct task *task, uint64_t filled, uint64_t size);

#endif
