/* SPDX-License-Identifier: MIT */
/* What /proc says of a task. Thread-safe. The caller frees the strings; NULL: gone, not allowed, out of memory. */
#ifndef COLLECTOR_SYSTEM_PROCFS_H
#define COLLECTOR_SYSTEM_PROCFS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All of /proc/PID/NAME, at most LIMIT bytes, followed by a NUL. RET_SIZE may be NULL. */
char *procfs_read(pid_t pid, const char *name, size_t limit, size_t *ret_size);
char *procfs_maps(pid_t pid);
/* Arguments, each NUL-terminated. */
char *procfs_cmdline(pid_t pid, size_t *ret_size);
/* Path of the executable. */
char *procfs_exec(pid_t pid);
/* The name of a task, "" when it is gone. */
void procfs_comm(pid_t pid, pid_t tid, char ret[16]);
/* The real user of PID, -1: it has ended. */
uid_t procfs_uid(pid_t pid);
/* CPU time of one task in ns, by the scheduler's accounting; 0: unknown. */
uint64_t procfs_scheduled_ns(pid_t pid, pid_t tid);
/* How long it was runnable without a CPU, in ns; 0: unknown. */
uint64_t procfs_waited_ns(pid_t pid, pid_t tid);

#endif
