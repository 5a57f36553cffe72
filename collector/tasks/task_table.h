/* SPDX-License-Identifier: MIT */
/* The tables and lists of tasks and processes, and the life of these. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_TASK_TABLE_H
#define COLLECTOR_TASKS_TASK_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/records/records.h"
#include "collector/tasks/tasks.h"

/* Between two tries to open the inherited sets that processes are owed. */
enum { TASKS_SOON_NS = 2 * 1000 * 1000 };

struct task *tasks_find(const struct tasks *tasks, pid_t tid);
struct process *tasks_find_process(const struct tasks *tasks, pid_t pid);
/* Makes a process and adds it to the table. NULL: out of memory. */
struct process *tasks_add_process(struct tasks *tasks, pid_t pid, pid_t ppid, uint64_t start_ns);
/* An earlier process with the same number was added after PROCESS, which is found again from now on. */
void tasks_put_first(struct tasks *tasks, struct process *process);
void tasks_remove_process(struct tasks *tasks, struct process *process);
/*
 * PROCESS has ended and is held until its parent's wait is reported; or is no longer held, which may be called twice.
 */
void tasks_hold_process(struct tasks *tasks, struct process *process);
void tasks_let_go(struct tasks *tasks, struct process *process);
/* Adds TASK to the table, to its process and to epoll. */
void tasks_link(struct tasks *tasks, struct task *task, struct process *process);
/* The ended children of PROCESS that are held become those of TO. */
void tasks_move_children(struct process *process, struct process *to);
/* A live task turns out to be of another process. */
void tasks_move(struct tasks *tasks, struct task *task, struct process *process);
/* The kernel has given it another tid. */
void tasks_rename(struct tasks *tasks, struct task *task, pid_t tid);
/* The opposite of tasks_link(); closes its events. The task stays. */
void tasks_unlink(struct tasks *tasks, struct task *task);
/* EVENT happens to TASK: the only way to change its state. What cannot come in that state is counted. */
void tasks_step(struct tasks *tasks, struct task *task, enum task_event event);
/* Is it in the list of tasks whose rings are read further in the next round? */
bool tasks_is_unread(const struct tasks *tasks, const struct task *task);
/* Its ring is not to be read further in the next round. */
void tasks_forget_unread(struct tasks *tasks, struct task *task);
/* Freed at the next tasks_bury(). */
void tasks_discard(struct tasks *tasks, struct task *task);
void tasks_bury(struct tasks *tasks);
/* Counts it: an exec generation of it runs. */
void tasks_count(struct tasks *tasks, struct task *task);
/* Is TID a thread, not a process? Also true for one of the last that ended. */
bool tasks_knows_thread(const struct tasks *tasks, pid_t tid);
/* For records that are made in the name of the ring's owner. */
struct records_stamp tasks_stamp(const struct tasks *tasks, const struct task *task, uint64_t time_ns);
/* CPU time that the events of TASK counted in VALUES. */
uint64_t tasks_clock(const struct tasks *tasks, const struct attach_value *values);

/*
 * The threads and children of PID, which was attached late, are to be attached too: untracked.c. TIME_NS: it is known
 * since then. False: out of memory.
 */
bool tasks_add_tree(struct tasks *tasks, pid_t pid, uint64_t time_ns);
/* TREE is looked at later, after those that are in the list already. */
void tasks_put_tree(struct tasks *tasks, struct late_tree *tree);
void tasks_forget_late_trees(struct tasks *tasks);
/* What is under PROCESS cannot be seen: ERROR, a -errno. */
void tasks_tell_no_inherit(struct tasks *tasks, const struct process *process, int error);
/* PROCESS is owed an inherited set (inherit_owed): tries again soon, and in sweeps. */
void tasks_owe_inherit(struct tasks *tasks, struct process *process);

/* Takes the first notification out of AT, a part of the list of those that wait. The caller owns it. */
struct notification *tasks_take_waiting(struct tasks *tasks, struct waiting **at);
/*
 * Where in that list the notification is which reports a task TID (0: any) of process PID that an inherited set covers,
 * and that was not attached late. NULL: none waits.
 */
struct waiting **tasks_find_covered(struct tasks *tasks, pid_t pid, pid_t tid);

/* The program that it runs; NULL: it has run none yet. */
static inline struct exec_generation *tasks_last_generation(const struct task *task)
{
    return task->generation_count ? &task->generations[task->generation_count - 1] : NULL;
}

#endif
