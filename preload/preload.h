/* SPDX-License-Identifier: MIT */
/* The requests that the hooks make. Nothing here changes errno. */
#ifndef PINJECT_PRELOAD_PRELOAD_H
#define PINJECT_PRELOAD_PRELOAD_H

#include "exec_kind.h"

#include <stdbool.h>
#include <stdint.h>

/* Waits until no thread is between _enter() and _leave() of state.h, 5 ms at most. */
void pinject_preload_settle(void);

/* EXEC_KIND, or PINJECT_EXEC_REFUSES if a new exec generation could not. */
enum pinject_exec_kind pinject_preload_admits(enum pinject_exec_kind exec_kind);

/* Do the threads and children of this process have events without a request? Context: any. */
bool pinject_preload_inherits(void);
/* Requests. Each waits, for a bounded time, if wire.h says that there is a reply. */
void pinject_preload_thread(int32_t creator);
/* PATH: of the program that is about to be executed; may be wild. */
void pinject_preload_arm(const char *path);
/*
 * The calling task is about to execute a program that will not load the preload object. COVERED: the task has events.
 * FLAGS: of the request, PINJECT_REQUEST_SECURE or 0. PATH and ARGV may be wild.
 */
void pinject_preload_inherit_exec(bool covered, uint32_t flags, const char *path, char *const *argv);
/* posix_spawn made PID, which runs a non-injectable program. */
void pinject_preload_spawned(int32_t pid);
/*
 * The calling thread is about to make tasks that cannot send requests: from now on inherited events cover all that it
 * makes. Requested once per thread.
 */
void pinject_preload_inherit(void);
void pinject_preload_snapshot(void);
/* Requests that the channel of USER be created. */
void pinject_preload_become(uint32_t user);
void pinject_preload_reaped(int32_t pid, int status, uint64_t utime_ns, uint64_t stime_ns, uint64_t switches);

/* Before fork, in the parent; and afterwards in the child: drop the parent's state, request events. */
void pinject_preload_before_fork(void);
void pinject_preload_forked(void);

#endif
