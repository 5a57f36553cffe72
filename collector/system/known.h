/* SPDX-License-Identifier: MIT */
/* Is the task that has a number still the known one? Thread-safe. */
#ifndef COLLECTOR_SYSTEM_KNOWN_H
#define COLLECTOR_SYSTEM_KNOWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct known_task {
    pid_t parent; /* process */
    char state;   /* Z: a zombie; X: it ends */
    bool waited;  /* it has waited for children: its cminflt is not 0 */
};

/*
 * Looks once at task TID of PID. 0: it is the one that was there at KNOWN_NS (CLOCK_MONOTONIC; 0: any time); -ESRCH: a
 * task that began later has its number; -ENOENT: it is gone, or hides (/proc with hidepid).
 */
int known_look(pid_t pid, pid_t tid, uint64_t known_ns, struct known_task *ret);

#endif
