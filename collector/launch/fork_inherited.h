/* SPDX-License-Identifier: MIT */
/* fork() of a child that inherits its events. */
#ifndef COLLECTOR_LAUNCH_FORK_INHERITED_H
#define COLLECTOR_LAUNCH_FORK_INHERITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct inherited_sets;

/*
 * As fork(); the child is in a new inherited set, whose events count from its first exec on. *RET_SET: the number of
 * the set, *RET_READINGS: the READ records that each of its tasks writes at its end. *RET_SET is 0 if the events could
 * not be opened, and *RET_STATUS is -errno then. SYSTEM_WIDE: the events are those of the CPUs, and count from now on; the
 * child has to wait until this returns.
 * Only while the caller has no other thread.
 */
pid_t fork_inherited(struct inherited_sets *sets, bool system_wide, uint64_t *ret_set, unsigned *ret_readings,
                     int *ret_status);

#endif
