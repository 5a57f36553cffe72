/* SPDX-License-Identifier: MIT */
/* CPU time of ended processes, into the totals of tasks.h. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_ACCOUNT_H
#define COLLECTOR_TASKS_ACCOUNT_H

#include <stdbool.h>

struct process;
struct tasks;

/* Has the parent of PROCESS, or the command, ended before it? Nobody of the tree waits for it then. */
bool account_is_orphan(const struct tasks *tasks, const struct process *process);
/*
 * What PROCESS used, by its tasks and by what its parent's wait told; once, before its first thread's file is written.
 * That of its ended children, who are still held, comes first: what is theirs cannot be its own.
 */
void account_process(struct tasks *tasks, struct process *process);
/* PROCESS has ended and is held until its parent's wait is reported; or no longer, which may be said twice. */
void account_hold(struct tasks *tasks, struct process *process);
void account_let_go(struct tasks *tasks, struct process *process);
/* It leaves the table: no child of it knows it any more. */
void account_forget(struct process *process);

#endif
