/* SPDX-License-Identifier: MIT */
/*
 * Tasks that cannot ask for themselves, and run already: made by clone() behind libc's back, by posix_spawn of a
 * program that cannot be injected, with an environment without us. They get their events from outside, and a process an
 * inherited set under it as well.
 */
#ifndef COLLECTOR_SOURCES_ATTACH_LATE_H
#define COLLECTOR_SOURCES_ATTACH_LATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/sources/notifications.h"

struct session;

/*
 * Fills NOTIFICATION, of which pid and tid are known, and opens its events: kind PROCESS when pid is tid, else THREAD.
 * What the task has used so far is in startup_ns. With known_ns, or of_parent, or a pidfd it has to be that task:
 * -ESRCH when its number is another's, -EACCES when /proc does not show it. 0; -EEXIST: somebody has it; -errno as
 * attach_open(). Context: any thread.
 */
int attach_late_open(struct session *session, struct notification *notification);
/* Its numbers are another's: gives back what was opened and read by them. */
void attach_late_undo(struct notification *notification);
/* CPU time that NOTIFICATION's task, which runs, had used when its events began to count. */
uint64_t attach_late_used_before(const struct session *session, const struct notification *notification);

#endif
