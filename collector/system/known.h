/* SPDX-License-Identifier: MIT */
/* Is a task that has a number still the one that was known by it? Thread-safe. */
#ifndef COLLECTOR_SYSTEM_KNOWN_H
#define COLLECTOR_SYSTEM_KNOWN_H

#include <stdint.h>
#include <sys/types.h>

struct known_task {
    pid_t parent;  /* process */
    char state;    /* Z: a zombie; X: it ends */
};

/*
 * What one look at task TID of PID says, if that was there at KNOWN_NS (CLOCK_MONOTONIC; 0: any time). 0; -ESRCH: a
 * task that began later has its number; -ENOENT: it is gone, or hides (/proc with hidepid).
 */
int known_look(pid_t pid, pid_t tid, uint64_t known_ns, struct known_task *ret);

#endif
