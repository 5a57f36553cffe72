/* SPDX-License-Identifier: MIT */
/* Adds the CPU time of ended processes to the totals of tasks.h. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_ACCOUNT_H
#define COLLECTOR_TASKS_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct process;
struct tasks;

/* Did the parent of PROCESS, or the command, end before it? Then no process of the tree waits for it. */
bool account_is_orphan(const struct tasks *tasks, const struct process *process);
/*
 * Accounts what PROCESS used, by its tasks and by its parent's wait; once, before its first thread's file is written.
 * Its ended children that are still held are accounted first: what is theirs cannot be its own.
 */
void account_process(struct tasks *tasks, struct process *process);
/* PARENT waited at TIME_NS for PID, which is not in the table (any more): if it was accounted for, that was a guess. */
void account_was_waited_for(struct tasks *tasks, struct process *parent, pid_t pid, uint64_t time_ns);

#endif
