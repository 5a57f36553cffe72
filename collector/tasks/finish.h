/* SPDX-License-Identifier: MIT */
/*
 * Reads rings, and ends tasks and processes: a ring may show that its task has left, and a task that ends is read for
 * the last time. Context: the event loop's thread.
 */
#ifndef COLLECTOR_TASKS_FINISH_H
#define COLLECTOR_TASKS_FINISH_H

#include <stdbool.h>

struct process;
struct task;
struct tasks;

/*
 * An ended process is held so long for its parent's wait; and so long for other late notifications once that wait came,
 * or while its report is on the way.
 */
enum { TASKS_HOLD_NS = 200 * 1000 * 1000, TASKS_WAITED_HOLD_NS = 20 * 1000 * 1000 };

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
/* Has it a ring that was full once, or is damaged? Its last records may be missing, with its end. */
bool tasks_lost_records(const struct tasks *tasks, const struct task *task);
/* What is known of PROCESS goes to its first thread's file. */
void tasks_tell_leader(const struct process *process);
/* Writes and frees a process without live tasks; the root's file waits for tasks_finish_root(). */
void tasks_finish_process(struct tasks *tasks, struct process *process);

/*
 * TASK's events have ended, but PROCESS lives on: an unprivileged user's events end in the exec of a setuid or
 * unreadable program, before it is even mapped, and the ring says EXIT.
 */
void tasks_set_revoked(struct tasks *tasks, struct process *process, struct task *task);

#endif
