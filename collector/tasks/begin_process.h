/* SPDX-License-Identifier: MIT */
/* How processes begin and go on, and the order of requests that are read late. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_BEGIN_PROCESS_H
#define COLLECTOR_TASKS_BEGIN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct notification;
struct process;
struct program;
struct task;
struct tasks;

/* Finds the creator by its thread, since getppid() is 1 once the parent has ended. */
struct process *tasks_find_parent(const struct tasks *tasks, const struct notification *notification);
/*
 * The program that PROCESS ran when NOTIFICATION was sent: what is known of it may be newer. NULL: unknown. A task that
 * is attached late began before the time of its notification.
 */
struct program *tasks_find_program(const struct process *process, const struct notification *notification);
/* When TASK, a thread, called exec and got the number of its process; 0: it has its own. */
uint64_t tasks_renamed_ns(const struct task *task);
/*
 * The task that had the number TID at TIME_NS, before the main task of PROCESS called exec as a thread. Other threads
 * may have done so before: each gave its own number up, and had that of the process until the next one took it over.
 * The end of such a thread may not be seen yet. NULL: unknown.
 */
struct task *tasks_find_before_exec(const struct process *process, pid_t tid, uint64_t time_ns);
/* When the events of NOTIFICATION were opened, by our clock where that is known. */
uint64_t tasks_opened_ns(const struct notification *notification);
/* Did TASK get the number that it has after the events of NOTIFICATION, with the same number, were opened? */
bool tasks_is_younger(const struct task *task, const struct notification *notification);
/* Did a thread of PROCESS call exec after NOTIFICATION? What is attached late is there now. */
bool tasks_is_before_exec(const struct process *process, const struct notification *notification);
/*
 * Makes the process of a first thread, or lets one go on that lost its events in an exec. Takes the pidfd of
 * NOTIFICATION. YOUNGER: the task that has its number by now; NULL: none. NULL: out of memory.
 */
struct process *tasks_begin_process(struct tasks *tasks, struct notification *notification, const struct task *younger);
/* The process of a thread whose first thread is not known. NULL: out of memory. */
struct process *tasks_begin_by_thread(struct tasks *tasks, const struct notification *notification);
/*
 * The process that sent NOTIFICATION, if a later program of it has events already: the kernel ended those of
 * NOTIFICATION before. NULL: it is not known, or not so.
 */
struct process *tasks_find_gone_on(const struct tasks *tasks, const struct notification *notification);
/*
 * NOTIFICATION is of a program that PROCESS ran before its first task's events were opened: divides the CPU time of that
 * program between both, and takes its mappings.
 */
void tasks_go_back(struct tasks *tasks, struct process *process, struct notification *notification);

#endif
