/* SPDX-License-Identifier: MIT */
/*
 * One run: the segment, the event configuration, and what the sources of samples share. service.h makes it before the
 * command starts; all threads of the collector use it. The structs of its parts are defined here, and their functions
 * are declared in a header per part, so that this header includes none of those.
 */
#ifndef COLLECTOR_SOURCES_SESSION_H
#define COLLECTOR_SOURCES_SESSION_H

#include <pinject/wire.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "collector/config/event_config.h"
#include "collector/config/sample_cost.h"
#include "collector/config/settings.h"
#include "collector/stacks/dump_size.h"
#include "collector/system/errand.h"

struct attached;
struct channel;
struct channels;
struct inherited_sets;
struct listener;
struct notification;

/* ---- attach_table.h: private to attach_table.c. Chains of struct attached. ---- */

enum { ATTACH_TABLE = 4096 };
struct attach_table {
    pthread_mutex_t lock;
    struct attached *by_tid[ATTACH_TABLE];
    struct attached *threads[ATTACH_TABLE]; /* those that are not their process' first, by pid */
};

/* ---- deferred_munmap.h ---- */

enum { DEFERRED_RINGS = 32 };
struct deferred_munmap {
    pthread_mutex_t lock;
    struct deferred_ring {
        void *start;
        size_t size;
    } rings[DEFERRED_RINGS];
    unsigned count;
};

/* ---- notifications.h: the queue ---- */

/*
 * What targets tell costs them next to nothing, and it may be lies without end: so many lie in the queue, and so much
 * text, at most. From the first bound on worker threads wait for the loop (pressure.h); beyond the second one
 * notifications are refused. Half of that is for the user whose session it is. Tasks that have their events are taken
 * always, since each live one is there once, but without their texts.
 */
enum { NOTIFICATIONS_MANY = 2048, NOTIFICATIONS_MAX = 8192, NOTIFICATIONS_BYTES = 8 << 20 };
struct notifications {
    struct notification *head; /* atomic, newest first */
    int eventfd;
    uint32_t count;  /* atomic: of the queue */
    uint32_t others; /* atomic: of them, of other users than the session's */
    uint64_t bytes;  /* atomic: of their texts */
    uint64_t others_bytes;
    uint64_t refused; /* atomic: notifications that found no room */
    uint64_t cut;     /* atomic: tasks whose mappings and arguments found none */
};

/* Are there so many that no more should come? */
static inline bool notifications_are_many(const struct notifications *notifications)
{
    return __atomic_load_n(&notifications->count, __ATOMIC_RELAXED) > NOTIFICATIONS_MANY ||
           __atomic_load_n(&notifications->bytes, __ATOMIC_RELAXED) > NOTIFICATIONS_BYTES / 4;
}

/* ---- pressure.h ---- */

struct pressure {
    uint64_t descriptors; /* atomic: open for tasks */
    uint64_t unwritten;   /* atomic: ended tasks whose file is not written yet */
    uint32_t progress;    /* atomic, futex word: counts what may end a wait */
    uint32_t waiting;     /* atomic: workers */
    bool idle;            /* atomic: the loop waits for notifications: it holds nothing that it could give back */
};

/* ---- rings.h ---- */

struct rings {
    int fd;             /* -1: there are none */
    unsigned char *map; /* of the whole file, which has pages only where rings are used; NULL: none */
    uint32_t count;
    uint64_t used[PINJECT_RINGS_MAX / 64]; /* a bit per ring; atomic */
    uint64_t next_id;                      /* atomic */
    uint64_t name; /* random end of its path, for the segment: nobody can have made that before */
    char path[PINJECT_PATH + sizeof(PINJECT_RINGS_SUFFIX) + 24];
};

/* ---- The session ---- */

enum { LEARNED_PERIODS = 256 };

struct session {
    const struct settings *settings;
    const struct event_config *config;
    struct pinject_segment *segment; /* what preload objects believe; nobody but we writes to it */
    char path[PINJECT_PATH];         /* of the segment file: the value of PINJECT_SESSION */
    int segment_fd;
    pid_t self; /* this process, which no request may name; 0: a unit test names itself */
    uint64_t id[2];
    uint64_t start_ns; /* CLOCK_MONOTONIC */
    uint64_t start_realtime_ns;
    struct notifications notifications;
    struct inherited_sets *inherited_sets;
    /* Number of the system-wide set (system_wide.h): all tasks that come now are in it. 0: there is none. Atomic */
    uint64_t system_wide_set;
    uint64_t system_wide_ns;     /* when the tasks lost their own events for it (--sampler=auto); 0: they did not */
    struct errands errands;      /* of the event loop */
    unsigned stop_s;             /* seconds that a thread gets to end */
    unsigned sleep_s;            /* seconds that a worker sleeps at most when nobody rings */
    bool hangs;                  /* one did not: it is left in the kernel, and what it uses ends with the process */
    struct channels *channels;   /* owned by service.c, as is the listener */
    struct channel *own;         /* of this process' user, */
    const uint32_t *own_dropped; /* and the requests that its preload objects dropped, atomic; NULL: no channel */
    uint32_t users;              /* atomic: that have a channel */
    /* Makes the channel of a USER of whom there is no process yet: channels_prepare(). */
    int (*prepare_user)(struct session *session, uid_t user);
    unsigned doorbells; /* of each channel */
    unsigned cpus;      /* of the machine */
    struct listener *listener;
    struct attach_table table;              /* live tasks, for workers and snapshots */
    struct deferred_munmap deferred_munmap; /* rings of ended ones */
    struct rings rings; /* of tasks with timers; where there are events, none until one is refused them */
    pthread_mutex_t rings_lock;
    uint32_t rings_asked; /* atomic: rings_need() was called */
    int rings_error;
    uint64_t ring_budget;    /* bytes of rings that the kernel lets us lock; UINT64_MAX: no limit */
    uint64_t ring_bytes;     /* atomic: of them in use */
    struct dump_sizes dumps; /* of those who come now */
    uint64_t fd_limit;       /* RLIMIT_NOFILE as raised */
    struct pressure pressure;
    uint32_t first_sets;   /* atomic: tasks that began with an event set */
    uint64_t random_tasks; /* atomic: tasks that began with random periods */
    /* attach_period.c, with -F auto. */
    struct sample_cost cost;                   /* of the event loop */
    uint64_t learned_periods[LEARNED_PERIODS]; /* atomic: the hash of a task's name, and its period in us */
    struct rlimit old_nofile, old_memlock;
    bool open;    /* not released yet */
    bool guarded; /* guard_begin() was called */
    int tree_fd;  /* bare: task-clock of the first process and all that come from it; -1: none. Atomic */
    int tree_end_fd; /* the same, and with event_config.whole_tree: hangs up when all of them have ended; -1: none. Atomic */
    void *tree_end_ring; /* without it, it would always hang up */
    /* Counted by worker.c, atomic: */
    uint64_t refused;       /* tasks without any event */
    uint64_t unplaced;      /* atomic: programs in which breakpoints on symbols could not get their addresses */
    uint64_t malformed;     /* requests that made no sense */
    uint64_t ended;         /* requests about tasks that were gone, where it takes the task to judge them */
    uint64_t denied;        /* requests about tasks that are not the session's, or not of the channel's user */
    uint64_t users_refused; /* users beyond CHANNELS_MAX, or for whom there were no memory and threads */
    uint64_t inherited, uninherited; /* atomic: INHERIT requests that were fulfilled, or not */
    uint64_t no_memory; /* requests for which there was no memory, or no descriptor to ask whose they are */
};

static inline uint64_t session_system_wide(const struct session *session)
{
    return __atomic_load_n(&session->system_wide_set, __ATOMIC_ACQUIRE);
}

/*
 * Inherited events of a task may have ended in an exec: new programs ask again whether they are covered. A system-wide
 * set has all of them.
 */
static inline void session_unsettle(const struct session *session)
{
    if (session->segment && !session_system_wide(session))
        __atomic_fetch_and(&session->segment->flags, ~(uint32_t)PINJECT_SESSION_SETTLED, __ATOMIC_RELEASE);
}

/* Has nobody but the collector's user a channel? */
static inline bool session_has_one_user(const struct session *session)
{
    return __atomic_load_n(&session->users, __ATOMIC_ACQUIRE) <= 1;
}

#endif
