/* SPDX-License-Identifier: MIT */
/* The tasks of a session, before its first and after its last one. Context: the event loop's thread. */
#ifndef COLLECTOR_TASKS_TASKS_INIT_H
#define COLLECTOR_TASKS_TASKS_INIT_H

struct results;
struct session;
struct tasks;

/*
 * TASKS: zeros; it is large, and a short session touches little of it. EPOLL: ring descriptors are added to it, with the
 * task as data. 0 or -errno.
 */
int tasks_init(struct tasks *tasks, struct session *session, struct results *results, int epoll);
/* Frees everything, written or not. */
void tasks_release(struct tasks *tasks);

#endif
