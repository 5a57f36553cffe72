/* SPDX-License-Identifier: MIT */
/* Looks at all tasks and processes, now and then, and at the end of the session. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_SWEEP_H
#define COLLECTOR_TASKS_SWEEP_H

struct result_coverage;
struct tasks;

/* Looks at rings, growing files, held processes, untracked tasks; about ten times a second. */
void tasks_sweep(struct tasks *tasks);
/*
 * The end of the session: writes everything that still lives as it stands. The root's file is last:
 * tasks_finish_root().
 */
void tasks_close(struct tasks *tasks);
void tasks_finish_root(struct tasks *tasks, const struct result_coverage *coverage);

#endif
