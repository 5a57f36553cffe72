/* SPDX-License-Identifier: MIT */
/*
 * What the kernel's accounting says of tasks that end: the taskstats messages of generic netlink (Linux:
 * Documentation/accounting/taskstats.rst). Only root of the first user, pid and network namespaces gets them. Not
 * thread-safe.
 */
#ifndef COLLECTOR_SYSTEM_ACCOUNTING_H
#define COLLECTOR_SYSTEM_ACCOUNTING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Of one task, from its start on. It is measured before the task gives back its memory: that CPU time is not in it. Nor
 * is, of a task that has slept, what it used since the last tick of the scheduler (1 to 10 ms), or since it was switched
 * to if that was later.
 */
struct accounting_task {
    pid_t tid;
    uint64_t cpu_ns, alive_ns;
    /* More than cpu_ns if the task has never slept: then it ran whenever it did not wait for a CPU. Not to be used if a
       thread called exec: it has alive_ns of the first thread. */
    uint64_t ran_ns;
    uint64_t switches;
    uint64_t minor_faults, major_faults;
};

struct accounting {
    int fd;          /* -1: none */
    uint16_t family; /* of the messages */
};

/*
 * The end of every task of the machine is told from now on. 0 or -errno, and there is nothing to close; -EOPNOTSUPP: the
 * end of a thread of ours was not told (another network namespace), or without its CPU time.
 */
int accounting_open(struct accounting *accounting);
/* For accounting_ask() alone. */
int accounting_open_to_ask(struct accounting *accounting);
void accounting_close(struct accounting *accounting);
/* The next task that has ended. 1; 0: there is none yet; -ENOBUFS: some were lost; another -errno. Does not block. */
int accounting_next(struct accounting *accounting, struct accounting_task *ret);
/* What the living task TID has done so far. 0 or -errno: -ESRCH. */
int accounting_ask(struct accounting *accounting, pid_t tid, struct accounting_task *ret);

#endif
