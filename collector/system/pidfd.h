/* SPDX-License-Identifier: MIT */
/* What a pidfd says of its process. PIDFD: -1 where there is none: nothing is known then. Thread-safe. */
#ifndef COLLECTOR_SYSTEM_PIDFD_H
#define COLLECTOR_SYSTEM_PIDFD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Of the process PID; -1: none, it may be gone. The caller closes it. */
int pidfd_open_of(pid_t pid);
/* PIDFD once more, for another owner; -1: none. */
int pidfd_copy(int pidfd);
void pidfd_close(int pidfd);
/*
 * Both are of processes with the same number: are they of one process? Before Linux 6.9, the kernel does not tell: false
 * once the process has been waited for.
 */
bool pidfd_are_same(int one, int other);
/* Has it ended (a zombie too)? */
bool pidfd_is_dead(int pidfd);
/* It is about to end, or nobody has waited for it yet: zombies keep their number. */
bool pidfd_has_number(int pidfd);
/* The wait status of an ended process, from Linux 6.15 on. */
bool pidfd_status(int pidfd, int *ret);
/* The CPU time, in ns and without its children's, of the ended process PID that nobody has waited for yet. */
bool pidfd_clock(int pidfd, pid_t pid, uint64_t *ret_ns);

#endif
