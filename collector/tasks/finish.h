/* SPDX-License-Identifier: MIT */
/* Ends tasks and processes, and sweeps. */
#ifndef COLLECTOR_TASKS_FINISH_H
#define COLLECTOR_TASKS_FINISH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process;
struct result_coverage;
struct task;
struct tasks;

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
