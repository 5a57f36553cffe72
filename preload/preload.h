/* SPDX-License-Identifier: MIT */
/* What the preload object knows of itself, and the requests that its hooks make. Nothing here changes errno. */
#ifndef PINJECT_PRELOAD_PRELOAD_H
#define PINJECT_PRELOAD_PRELOAD_H

#include "environ.h"
#include "exec_kind.h"
#include "request.h"

#include <stdbool.h>
#include <stdint.h>

enum pinject_state {
    PINJECT_NOTHING,  /* no session: the hooks only call on */
    PINJECT_FOLLOWED,
    PINJECT_LEFT,     /* child of fork that is not followed: what it execs must not be either */
};

/*
 * The one state of this process. Written by the constructor and by the only thread of a forked child, so that it is
 * read without locks; a vfork child must not write it.
 */
struct pinject_preload {
    uint32_t begun;     /* 0, 1: init runs, 2: done */
    uint32_t state;     /* enum pinject_state */
    uint32_t flags;     /* enum pinject_session_flags, of the segment */
    int32_t pid;
    uint32_t user;      /* whose channel it is: the effective user when it was opened */
    uint32_t user_fixed; /* atomic: filters that forbid to change the channel (hook_filter.c) */
    uint32_t blocked; /* filters under which no request may be made any more (hook_filter.c) */
    struct pinject_channel channel;
    struct pinject_ours ours;
    bool threads;       /* threads are followed: those of the first process always are */
    bool environ_join;  /* environ is to get our variables as soon as libc has set it up (start.c) */
    int argc;
    char **argv;
    char session[sizeof(PINJECT_ENV_SESSION "=") + PINJECT_PATH];
    char preload[PINJECT_PATH];
    uint32_t busy __attribute__((aligned(64))); /* threads in what the next two enclose: atomic, and often written */
};

extern struct pinject_preload pinject_preload;

/* Idempotent; every hook may be the first to come here, when another DSO's constructor runs before ours. */
void pinject_preload_init(int argc, char **argv, char **envp);

static inline void pinject_preload_ready(void)
{
    if (__builtin_expect(__atomic_load_n(&pinject_preload.begun, __ATOMIC_ACQUIRE) == 0, 0))
        pinject_preload_init(0, NULL, NULL);
}

/* Whether the program has forbidden itself what a request needs. */
static inline bool pinject_preload_blocked(void)
{
    return __builtin_expect(__atomic_load_n(&pinject_preload.blocked, __ATOMIC_RELAXED) != 0, 0);
}

/*
 * Around what looks whether the process is blocked by seccomp, and makes system calls then: a filter for all threads
 * waits until none is there. A handler of the program's may leave it for good, which costs each such filter its
 * patience.
 */
static inline void pinject_preload_enter(void)
{
    __atomic_fetch_add(&pinject_preload.busy, 1, __ATOMIC_SEQ_CST);
    /* Pairs with that of pinject_preload_settle(): who is not seen there sees that it is blocked. */
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void pinject_preload_leave(void)
{
    uint32_t busy = __atomic_load_n(&pinject_preload.busy, __ATOMIC_RELAXED);
    /* A handler may have forked in between: its child begins at 0. */
    while (busy && !__atomic_compare_exchange_n(&pinject_preload.busy, &busy, busy - 1, true, __ATOMIC_RELEASE,
                                                __ATOMIC_RELAXED))
        continue;
}

/* Waits for that, 5 ms at most. */
void pinject_preload_settle(void);

/* Whether this process is followed by a session that still runs. */
static inline bool pinject_preload_follows(void)
{
    return pinject_preload.state == PINJECT_FOLLOWED && !pinject_preload_blocked() &&
           !__atomic_load_n(&pinject_preload.channel.segment->closed, __ATOMIC_RELAXED);
}

/*
 * session.c. Could a new exec generation load the preload object and open the session? Not after chroot, under
 * landlock, or where neither the session's files nor its socket can be reached. Context: also a vfork child.
 */
bool pinject_preload_reachable(void);
/* EXEC_KIND, or PINJECT_EXEC_REFUSES where it could not. */
enum pinject_exec_kind pinject_preload_admits(enum pinject_exec_kind exec_kind);

/* Something starts that WANTED says (enum pinject_session_flags) would be followed, and that may not be announced. */
static inline void pinject_preload_count_blocked(uint32_t wanted)
{
    const struct pinject_preload *preload = &pinject_preload;
    if (pinject_preload_blocked() && preload->state == PINJECT_FOLLOWED && preload->flags & wanted)
        __atomic_fetch_add(&preload->channel.requests->blocked, 1, __ATOMIC_RELAXED);
}

/* Requests; each waits, for a bounded time, where wire.h says that there is a reply. */
void pinject_preload_thread(int32_t creator);
/* PATH: of the program that is about to be executed; may be wild. */
void pinject_preload_arm(const char *path);
/*
 * For a task, COVERED by events or not, that is about to execute what will not load the preload object. FLAGS: of the
 * request, PINJECT_REQUEST_SECURE or 0. PATH and ARGV may be wild.
 */
void pinject_preload_inherit_exec(bool covered, uint32_t flags, const char *path, char *const *argv);
/* PID was made by posix_spawn and runs a program that cannot be injected. */
void pinject_preload_spawned(int32_t pid);
/*
 * The calling thread is about to make others that cannot ask for themselves: from now on all that it makes is covered
 * by inheritance. Asked once a thread.
 */
void pinject_preload_inherit(void);
void pinject_preload_snapshot(void);
/* The channel of USER is to be made. */
void pinject_preload_become(uint32_t user);
void pinject_preload_reaped(int32_t pid, int status, uint64_t utime_ns, uint64_t stime_ns, uint64_t switches);

/* Before fork, in the parent; and afterwards in the child: forget what was the parent's, ask for events of its own. */
void pinject_preload_before_fork(void);
void pinject_preload_forked(void);

/*
 * session.c. The session's segment and this user's channel, mapped and checked: 0, -ENOENT ... when it is none of ours,
 * -EXDEV in another pid namespace.
 */
int pinject_preload_open(const char *path);
/* Unmaps both. */
void pinject_preload_close(void);
/*
 * The process is about to call for these users, UINT32_MAX: as it is. A root that gives up its rights for good by that
 * asks for the channel of its new user, as that user has to wait for the socket. SETREUID: SAVED is what that call
 * makes of the others. Afterwards one of the two below has to be called. Context: as below.
 */
void pinject_preload_changes_user(uint32_t real, uint32_t effective, uint32_t saved, bool setreuid);
/* The call failed. */
void pinject_preload_keeps_user(void);
/*
 * The process may have given up its user's rights for good. Then what it holds of that user's channel is replaced, and
 * the channel of its new user takes its place. Does nothing in a vfork child. Other threads may be in the middle of a
 * request: they go on without an answer.
 */
void pinject_preload_changed_user(void);
/* In a child of fork: the same, as another thread of its parent may have been about to. */
void pinject_preload_look_at_user(void);
/*
 * The process is about to be in another user namespace, perhaps: its next change of user gives up its channel. What was
 * set before.
 */
bool pinject_preload_user_moves(bool moves);
/* In a child of fork: what another thread of its parent was at there is nobody's here. */
void pinject_session_forked(void);

#endif
