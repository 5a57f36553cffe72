/* SPDX-License-Identifier: MIT */
/*
 * Handles notifications in the order of their times, and keeps those that wait for another one. The times come from the
 * targets: no order of them may cost more than another.
 */
#ifndef COLLECTOR_TASKS_NOTIFICATION_ORDER_H
#define COLLECTOR_TASKS_NOTIFICATION_ORDER_H

struct notification;
struct tasks;

/*
 * Takes over and frees NOTIFICATIONS, a list. Workers answer before they notify, so a child may be reported before its
 * parent, and the wait for a process before the process: a notification that refers to an unknown task waits a moment.
 */
void tasks_notify(struct tasks *tasks, struct notification *notifications);

/*
 * Marks with the present batch the ended processes that a waiting request for events will go on from, and the processes
 * with which they would be accounted for.
 */
void tasks_mark_awaited(struct tasks *tasks);

#endif
