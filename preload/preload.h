/* SPDX-License-Identifier: MIT */
/* The state of the preload object, and the requests that its hooks make. Nothing here changes errno. */
#ifndef PINJECT_PRELOAD_PRELOAD_H
#define PINJECT_PRELOAD_PRELOAD_H

#include "environ.h"
#include "exec_kind.h"
#include "request.h"

#include <stdbool.h>
#include <stdint.h>

enum pinject_state {
    PINJECT_NOTHING,  /* no session: hooks only call the next function */
    PINJECT_FOLLOWED,
    PINJECT_LEFT,     /* child of fork that is not followed: what it executes must not be followed either */
};

/*
 * The only state of this process. Only the constructor and the only thread of a forked child write it, so reads need no
 * lock; a vfork child must not write it.
 */
struct pinject_preload {
    uint32_t begun;     /* 0, 1: init runs, 2: done */
    uint32_t state;     /* enum pinject_state */
    uint32_t flags;     /* enum pinject_session_flags, of the segment */
    int32_t pid;
    uint32_t user;      /* the channel's user: the effective user when it was opened */
    uint32_t user_fixed; /* atomic: number of filters that forbid a change of channel (hook_filter.c) */
    uint32_t blocked; /* number of filters under which no request may be made (hook_filter.c) */
    struct pinject_channel channel;
    struct pinject_ours ours;
    bool threads;       /* follow threads; in the first process always */
    bool environ_join;  /* put our variables into environ as soon as libc has set it up (hook_process.c) */
    int argc;
    char **argv;
    char session[sizeof(PINJECT_ENV_SESSION "=") + PINJECT_PATH];
    char preload[PINJECT_PATH];
    uint32_t busy __attribute__((aligned(64))); /* atomic, often written: threads between _enter() and _leave() */
};

extern struct pinject_preload pinject_preload;

/* Idempotent. Any hook may call it first, if another DSO's constructor runs before ours. */
void pinject_preload_init(int argc, char **argv, char **envp);

static inline void pinject_preload_ready(void)
{
    if (__builtin_expect(__atomic_load_n(&pinject_preload.begun, __ATOMIC_ACQUIRE) == 0, 0))
        pinject_preload_init(0, NULL, NULL);
}

/* True if the program has installed a filter that forbids what a request needs. */
static inline bool pinject_preload_blocked(void)
{
    return __builtin_expect(__atomic_load_n(&pinject_preload.blocked, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * Around code that checks whether the process is blocked by seccomp and then makes system calls: a filter for all
 * threads waits until no thread is inside. If a handler of the program leaves it for good, each such filter waits until
 * its timeout.
 */
static inline void pinject_preload_enter(void)
{
    __atomic_fetch_add(&pinject_preload.busy, 1, __ATOMIC_SEQ_CST);
    /* Pairs with the fence in pinject_preload_settle(): a thread that is not seen there sees that it is blocked. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void pinject_preload_leave(void)
{
    uint32_t busy = __atomic_load_n(&pinject_preload.busy, __ATOMIC_RELAXED);
    /* A handler may have forked inside: its child begins at 0. */
    while (busy && !__atomic_compare_exchange_n(&pinject_preload.busy, &busy, busy - 1, true, __ATOMIC_RELEASE,
                                                __ATOMIC_RELAXED))
        continue;
}

/* Waits until no thread is inside, 5 ms at most. */
void pinject_preload_settle(void);

/* True if this process is followed by a session that still runs. */
static inline bool pinject_preload_follows(void)
{
    return pinject_preload.state == PINJECT_FOLLOWED && !pinject_preload_blocked() &&
           !__atomic_load_n(&pinject_preload.channel.segment->closed, __ATOMIC_RELAXED);
}

/*
 * session.c. Could a new exec generation load the preload object and open the session? Not after chroot, under
 * landlock, or if neither the session's files nor its socket can be reached. Context: also a vfork child.
 */
bool pinject_preload_reachable(void);
/* EXEC_KIND, or PINJECT_EXEC_REFUSES if a new exec generation could not. */
enum pinject_exec_kind pinject_preload_admits(enum pinject_exec_kind exec_kind);

/* Counts a start that the session would follow (WANTED: enum pinject_session_flags) but that may not be announced. */
static inline void pinject_preload_count_blocked(uint32_t wanted)
{
    const struct pinject_preload *preload = &pinject_preload;
    if (pinject_preload_blocked() && preload->state == PINJECT_FOLLOWED && preload->flags & wanted)
        __atomic_fetch_add(&preload->channel.requests->blocked, 1, __ATOMIC_RELAXED);
}

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

/*
 * session.c. Maps and checks the session's segment and this user's channel: 0, -ENOENT ... if it is none of ours,
 * -EXDEV in another pid namespace.
 */
int pinject_preload_open(const char *path);
/* Unmaps both. */
void pinject_preload_close(void);
/*
 * The process is about to call a setuid() function with these users, UINT32_MAX: unchanged. If root gives up its rights
 * for good by that, this requests the channel of the new user, who would have to wait for the socket otherwise.
 * SETREUID: SAVED is computed as setreuid() does. Afterwards one of the two below must be called. Context: as below.
 */
void pinject_preload_changes_user(uint32_t real, uint32_t effective, uint32_t saved, bool setreuid);
/* The call failed. */
void pinject_preload_keeps_user(void);
/*
 * The process may have given up its user's rights for good. Then private memory replaces that user's channel, and the
 * channel of the new user takes its place. Does nothing in a vfork child. Other threads may be in the middle of a
 * request: they go on without an answer.
 */
void pinject_preload_changed_user(void);
/* In a child of fork: the same, because another thread of the parent may have been about to call it. */
void pinject_preload_look_at_user(void);
/*
 * The process may be about to enter another user namespace: then its next change of user gives up its channel. Returns
 * the previous setting.
 */
bool pinject_preload_user_moves(bool moves);
/* In a child of fork: resets what another thread of the parent was doing. */
void pinject_session_forked(void);

#endif
