/* SPDX-License-Identifier: MIT */
/* From the kernel's ring to the records of a result file. */
#ifndef COLLECTOR_TASKS_DRAIN_H
#define COLLECTOR_TASKS_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_header;
struct process;
struct records_task;
struct task;
struct tasks;

/* Reads all that its ring has. */
void tasks_drain(struct tasks *tasks, struct task *task);
/* Reads its ring as far as its process has time in this round; the rest comes in the next one, in turn with others. */
void tasks_drain_some(struct tasks *tasks, struct task *task);
/* Continues with these rests, at the beginning of a round. */
void tasks_drain_rest(struct tasks *tasks);
/*
 * Reads all that its rings had when the current batch of notifications began: once for each of its tasks, however many
 * notifications refer to it.
 */
void tasks_drain_process(struct tasks *tasks, struct process *process);
/* Takes one record of the task. False: nothing that comes after it is wanted. */
bool tasks_take_record(struct tasks *tasks, struct task *task, const struct perf_event_header *record);
/* A sample that the kernel wrote; for a timer's task: by an inherited set. */
void tasks_take_sample(struct tasks *tasks, struct task *task, const struct perf_event_header *record);
/* Is the task of a FORK record to be followed? */
bool tasks_follows(const struct tasks *tasks, const struct records_task *made);

#endif
