/* SPDX-License-Identifier: MIT */
/* Attaches late to untracked tasks: announced tasks, and relatives of attached ones, that sent no request. */
#ifndef COLLECTOR_TASKS_UNTRACKED_H
#define COLLECTOR_TASKS_UNTRACKED_H

#include <stdint.h>
#include <sys/types.h>

struct process;
struct task;
struct tasks;

/* Opens events for announced tasks that have sent no request. In sweeps, each time for a bounded time. */
void tasks_attach_untracked(struct tasks *tasks);
/*
 * Programs said that they are covered, and waited for no answer (PINJECT_SESSION_SETTLED), but an exec had ended the
 * events of their tasks before: opens some, if the processes are still those of the tree.
 */
void tasks_attach_uncovered(struct tasks *tasks);
/* TASK's program has sent no request for a while: covers what it makes by inheritance. */
void tasks_cover_unreported(struct tasks *tasks, struct task *task);
/* In a sweep: tries to open the inherited set that PROCESS is owed. */
void tasks_retry_inherit(struct tasks *tasks, struct process *process);
/* Between sweeps, if owed_count is not 0. */
void tasks_retry_inherit_soon(struct tasks *tasks);
/* Opens events for unknown threads and children of processes that were attached late, unless it is doing so already. */
void tasks_attach_trees(struct tasks *tasks);
/* PID is one more of these. TIME_NS: known since then. */
void tasks_attach_tree(struct tasks *tasks, pid_t pid, uint64_t time_ns);

#endif
