/* SPDX-License-Identifier: MIT */
/*
 * Tasks that cannot ask for themselves, and run already: made by clone() behind libc's back, by posix_spawn of a
 * program that cannot be injected, with an environment without us. They get their events from outside, and a process a
 * net under it as well.
 */
#ifndef COLLECTOR_FOUND_H
#define COLLECTOR_FOUND_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/arrivals.h"

struct session;

/*
 * Fills ARRIVAL, of which pid and tid are known, and opens its events: kind PROCESS when pid is tid, else THREAD. What
 * the task has used so far is in startup_ns. With known_ns, or of_parent, or a pidfd it has to be that task: -ESRCH
 * when its number is another's, -EACCES when /proc does not show it. 0; -EEXIST: somebody has it; -errno as
 * attach_open(). Context: any thread.
 */
int found_open(struct session *session, struct arrival *arrival);
/* Its numbers are another's: gives back what was opened and read by them. */
void found_give_back(struct arrival *arrival);
/* CPU time that ARRIVAL's task, which runs, had used when its events began to count. */
uint64_t found_used_before(const struct session *session, const struct arrival *arrival);

#endif
