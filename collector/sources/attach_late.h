/* SPDX-License-Identifier: MIT */
/*
 * Attaches tasks that run already and send no request: made by clone() behind libc, by posix_spawn of a non-injectable
 * program, or without our environment. Their events are opened from outside; a process also gets an inherited set.
 */
#ifndef COLLECTOR_SOURCES_ATTACH_LATE_H
#define COLLECTOR_SOURCES_ATTACH_LATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/sources/notifications.h"

struct session;

/*
 * Opens the events of the task whose pid and tid NOTIFICATION has, and fills in the rest: kind PROCESS if pid is tid,
 * else THREAD; startup_ns is what the task has used so far. With known_ns, of_parent or a pidfd it must be that task:
 * -ESRCH if another one has its number, -EACCES if /proc does not show it. 0; -EEXIST: it has events already; -errno as
 * attach_open(). Context: any thread.
 */
int attach_late_open(struct session *session, struct notification *notification);
/* Another task has its numbers: undoes what was opened and read by them. */
void attach_late_undo(struct notification *notification);
/* CPU time that NOTIFICATION's running task had used when its events began to count. */
uint64_t attach_late_used_before(const struct session *session, const struct notification *notification);
/*
 * Instead of opening events, in a session with a system-wide set: the task is in the set from now on, and its CPU time
 * beyond startup_ns is counted. 0; -EEXIST: it is in the set, has events, or has ended in the set; another -errno.
 */
int attach_late_adopt(struct session *session, struct notification *notification);

#endif
