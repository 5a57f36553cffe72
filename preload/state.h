/* SPDX-License-Identifier: MIT */
/* The state of the preload object in this process. preload.c defines and fills it. */
#ifndef PINJECT_PRELOAD_STATE_H
#define PINJECT_PRELOAD_STATE_H

#include "environ.h"
#include "request.h"

#include <stdbool.h>
#include <stdint.h>

enum pinject_state {
    PINJECT_NOTHING, /* no session: hooks only call the next function */
    PINJECT_FOLLOWED,
    PINJECT_LEFT, /* child of fork that is not followed: what it executes must not be followed either */
};

/*
 * The only state of this process. Only the constructor and the only thread of a forked child write it, so reads need no
 * lock; a vfork child must not write it.
 */
struct pinject_preload {
    uint32_t begun; /* 0, 1: init runs, 2: done */
    uint32_t state; /* enum pinject_state */
    uint32_t flags; /* enum pinject_session_flags, of the segment */
    int32_t pid;
    uint32_t user;       /* the channel's user: the effective user when it was opened */
    uint32_t user_fixed; /* atomic: number of filters that forbid a change of channel (hook_filter.c) */
    uint32_t blocked;    /* number of filters under which no request may be made (hook_filter.c) */
    struct pinject_channel channel;
    struct pinject_ours ours;
    bool inherits;     /* this process has inherited events, and all that it starts inherits them from it; atomic */
    bool threads;      /* follow threads; in the first process always */
    bool environ_join; /* put our variables into environ as soon as libc has set it up (hook_process.c) */
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

/* True if this process is followed by a session that still runs. */
static inline bool pinject_preload_follows(void)
{
    return pinject_preload.state == PINJECT_FOLLOWED && !pinject_preload_blocked() &&
           !__atomic_load_n(&pinject_preload.channel.segment->closed, __ATOMIC_RELAXED);
}

/* Counts a start that the session would follow (WANTED: enum pinject_session_flags) but that may not be announced. */
static inline void pinject_preload_count_blocked(uint32_t wanted)
{
    const struct pinject_preload *preload = &pinject_preload;
    if (pinject_preload_blocked() && preload->state == PINJECT_FOLLOWED && preload->flags & wanted)
        __atomic_fetch_add(&preload->channel.requests->blocked, 1, __ATOMIC_RELAXED);
}

#endif
