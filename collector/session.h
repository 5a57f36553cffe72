/* SPDX-License-Identifier: MIT */
/*
 * One run: the segment, the workers, the event configuration. Created before the command starts, shared by the
 * collector's threads.
 */
#ifndef COLLECTOR_SESSION_H
#define COLLECTOR_SESSION_H

#include <pinject/wire.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "collector/attach_table.h"
#include "collector/channel.h"
#include "collector/deferred_munmap.h"
#include "collector/dump_size.h"
#include "collector/errand.h"
#include "collector/event_config.h"
#include "collector/listener.h"
#include "collector/notifications.h"
#include "collector/pressure.h"
#include "collector/rings.h"
#include "collector/settings.h"

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
    struct channels channels;
    struct channel *own;         /* of this process' user */
    unsigned doorbells;          /* of each channel */
    unsigned cpus;               /* of the machine */
    struct listener listener;
    struct attach_table table;              /* live tasks, for workers and snapshots */
    struct deferred_munmap deferred_munmap; /* rings of ended ones */
    struct rings rings; /* of tasks with timers; where there are events, none until one is refused them */
    pthread_mutex_t rings_lock;
    uint32_t rings_asked;        /* atomic: session_need_rings() was called */
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
    uint64_t inherited, uninherited; /* atomic: INHERIT requests that were fulfilled, or not */
    uint64_t no_memory;          /* requests for which there was no memory, or no descriptor to ask whose they are */
};

/*
 * Creates the segment (a file with an unguessable name in /dev/shm, else in TMPDIR, /tmp; mode 0600, root's 0644), the
 * channel of this user and the queue, and raises RLIMIT_NOFILE and RLIMIT_MEMLOCK of the collector to the hard limits
 * (session_restore_limits() in the child gives the command the old ones). Catches SIGBUS of that memory until
 * session_release(): one session at a time has that.
 * PRELOAD: absolute path of the preload object. 0 or -errno after report_error().
 */
int session_init(struct session *session, const struct settings *settings, const struct event_config *config,
                 const char *preload);
/* Context: the forked child before exec. */
void session_restore_limits(const struct session *session);
/* Starts / stops the worker threads. Stopping answers what is waiting, sets closed, and joins. */
int session_start_workers(struct session *session);
void session_stop_workers(struct session *session);
/* After a storm: see worker_renew_all(). */
void session_renew_workers(struct session *session);
/*
 * Thread-safe. Rings in a session with events: made by the first call, for a thousand tasks. 0 or -errno, the same each
 * time: then who would have a ring is known by accounting.
 */
int session_need_rings(struct session *session);
/* Whether it was called. */
bool session_has_rings(const struct session *session);
/* Queues the notifications of what preload objects told without waking anybody (worker_take_notifications()). */
void session_take_notifications(struct session *session);
/* Bytes of rings that this user may lock with RLIMIT_MEMLOCK at MEMLOCK; UINT64_MAX: no limit. */
uint64_t session_ring_budget(uint64_t memlock);
/* Removes the segment file and frees everything. Of one that is zeroed, or released already: nothing. */
void session_release(struct session *session);

#endif
