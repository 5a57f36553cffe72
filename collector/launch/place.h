/* SPDX-License-Identifier: MIT */
/*
 * The detached collector leaves the program's working directory and its cgroup (of the unified hierarchy, for the
 * nearest one above that takes us), so that both can be removed when the program has ended.
 */
#ifndef COLLECTOR_LAUNCH_PLACE_H
#define COLLECTOR_LAUNCH_PLACE_H

/* What is refused stays as it is. After this relative paths have another meaning. */
void place_leave(void);

#endif
