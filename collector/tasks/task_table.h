/* SPDX-License-Identifier: MIT */
/* The tables of tasks and processes, and the life of the structures. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_TASK_TABLE_H
#define COLLECTOR_TASKS_TASK_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/records/records.h"

struct attach_value;
struct process;
struct results;
struct session;
struct task;
struct tasks;

/* EPOLL: ring descriptors are added to it, with the task as data. 0 or -errno. */
int tasks_init(struct tasks *tasks, struct session *session, struct results *results, int epoll);
/* Frees everything, written or not. */
void tasks_release(struct tasks *tasks);
struct task *tasks_find(const struct tasks *tasks, pid_t tid);
struct process *tasks_find_process(const struct tasks *tasks, pid_t pid);
/* Makes a process and adds it to the table. NULL: out of memory. */
struct process *tasks_add_process(struct tasks *tasks, pid_t pid, pid_t ppid, uint64_t start_ns);
void tasks_remove_process(struct tasks *tasks, struct process *process);
/* Adds TASK to the table, to its process and to epoll. */
void tasks_link(struct tasks *tasks, struct task *task, struct process *process);
/* The kernel has given it another tid. */
void tasks_rename(struct tasks *tasks, struct task *task, pid_t tid);
/* The opposite of tasks_link(); closes its events. The task stays. */
void tasks_unlink(struct tasks *tasks, struct task *task);
/* Freed at the next tasks_bury(). */
void tasks_discard(struct tasks *tasks, struct task *task);
void tasks_bury(struct tasks *tasks);
/* Counts it: an exec generation of it runs. */
void tasks_count(struct tasks *tasks, struct task *task);
/* For records that are made in the name of the ring's owner. */
struct records_stamp tasks_stamp(const struct tasks *tasks, const struct task *task, uint64_t time_ns);
/* CPU time that the events of TASK counted in VALUES. */
uint64_t tasks_clock(const struct tasks *tasks, const struct attach_value *values);

#endif
