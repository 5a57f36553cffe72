/* SPDX-License-Identifier: MIT */
/*
 * Reads rings, and ends tasks and processes: a ring may show that its task has left, and a task that ends is read for
 * the last time. Sweeps do both for all. Context: the event loop's thread.
 */
#ifndef COLLECTOR_TASKS_FINISH_H
#define COLLECTOR_TASKS_FINISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;
struct result_coverage;
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
/*
 * The task's end was seen: drains, counts, gives its events back. Its file is written later, that of its process' first
 * thread last.
 */
void tasks_task_ended(struct tasks *tasks, struct task *task, bool ended);
/* Writes and frees a process without live tasks; the root's file waits for tasks_finish_root(). */
void tasks_finish_process(struct tasks *tasks, struct process *process);
/* Looks at rings, growing files, held processes, untracked tasks; about ten times a second. */
void tasks_sweep(struct tasks *tasks);
/*
 * The end of the session: writes everything that still lives as it stands. The root's file is last:
 * tasks_finish_root().
 */
void tasks_close(struct tasks *tasks);
void tasks_finish_root(struct tasks *tasks, const struct result_coverage *coverage);

#endif
