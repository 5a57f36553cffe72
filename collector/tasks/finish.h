/* SPDX-License-Identifier: MIT */
/* Makes the result files of tasks, and ends processes. */
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
/* Ends the file of exec generation GENERATION_FIRST because the next one begins (--exec-split-results). */
void tasks_split_file(struct tasks *tasks, struct task *task, uint64_t end_ns);
void tasks_flush(struct tasks *tasks, struct task *task);
/* Writes and frees a process without live tasks; the root's file waits for tasks_finish_root(). */
void tasks_finish_process(struct tasks *tasks, struct process *process);
/* Writes COUNT of the complete tasks. Creating files is slow; ends and notifications come first. */
void tasks_write(struct tasks *tasks, size_t count);
/* Looks at rings, growing files, held processes, untracked tasks; about ten times a second. */
void tasks_sweep(struct tasks *tasks);
/*
 * The end of the session: writes everything that still lives as it stands. The root's file is last:
 * tasks_finish_root().
 */
void tasks_close(struct tasks *tasks);
void tasks_finish_root(struct tasks *tasks, const struct result_coverage *coverage);

#endif
