/* SPDX-License-Identifier: MIT */
/*
 * One run: the segment, the event configuration, and what the sources of samples share. service.h makes it before the
 * command starts; all threads of the collector use it.
 */
#ifndef COLLECTOR_SOURCES_SESSION_H
#define COLLECTOR_SOURCES_SESSION_H

#include <pinject/wire.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "collector/config/event_config.h"
#include "collector/config/settings.h"
#include "collector/sources/attach_table.h"
#include "collector/sources/deferred_munmap.h"
#include "collector/sources/notifications.h"
#include "collector/sources/pressure.h"
#include "collector/sources/rings.h"
#include "collector/stacks/dump_size.h"
#include "collector/system/errand.h"

struct channel;
struct channels;
struct inherited_sets;
struct listener;

struct session {
    const struct settings *settings;
    const struct event_config *config;
    struct pinject_segment *segment; /* what preload objects believe; nobody but we writes to it */
    char path[PINJECT_PATH];     /* of the segment file: the value of PINJECT_SESSION */
    int segment_fd;
    pid_t self;                  /* this process, which no request may name; 0: a unit test names itself */
    uint64_t id[2];
    uint64_t start_ns;           /* CLOCK_MONOTONIC */
    uint64_t start_realtime_ns;
    struct notifications notifications;
    struct inherited_sets *inherited_sets;
    struct errands errands;      /* of the event loop */
    unsigned stop_s;             /* seconds that a thread gets to end */
    unsigned sleep_s;            /* seconds that a worker sleeps at most when nobody rings */
    bool hangs;                  /* one did not: it is left in the kernel, and what it uses ends with the process */
    struct channels *channels;   /* service.h's, as is the listener */
    struct channel *own;         /* of this process' user, */
    const uint32_t *own_dropped; /* and how many requests its preload objects dropped, atomic; NULL: no channel */
    unsigned doorbells;          /* of each channel */
    unsigned cpus;               /* of the machine */
    struct listener *listener;
    struct attach_table table;              /* live tasks, for workers and snapshots */
    struct deferred_munmap deferred_munmap; /* rings of ended ones */
    struct rings rings; /* of tasks with timers; where there are events, none until one is refused them */
    pthread_mutex_t rings_lock;
    uint32_t rings_asked;        /* atomic: rings_need() was called */
    int rings_error;
    uint64_t ring_budget;        /* bytes of rings that the kernel lets us lock; UINT64_MAX: no limit */
    uint64_t ring_bytes;         /* atomic: of them in use */
    struct dump_sizes dumps;     /* of those who come now */
    uint64_t fd_limit;           /* RLIMIT_NOFILE as raised */
    struct pressure pressure;
    struct rlimit old_nofile, old_memlock;
    bool open;                   /* not released yet */
    bool guarded;                /* guard_begin() was called */
    int tree_fd;                 /* bare: task-clock of the first process and all that come from it; -1: none. Atomic */
    int tree_end_fd;             /* bare: hangs up when all of them have ended; -1: none. Atomic */
    void *tree_end_ring;         /* without it, it would always hang up */
    /* Counted by worker.c, atomic: */
    uint64_t refused;            /* tasks without any event */
    uint64_t malformed;          /* requests that made no sense */
    uint64_t ended;              /* requests about tasks that were gone, where it takes the task to judge them */
    uint64_t denied;             /* requests about tasks that are not the session's, or not of the channel's user */
    uint64_t users_refused;      /* users beyond CHANNELS_MAX, or for whom there were no memory and threads */
    uint64_t inherited, uninherited; /* atomic: INHERIT requests that were fulfilled, or not */
    uint64_t no_memory;          /* requests for which there was no memory, or no descriptor to ask whose they are */
};

#endif
