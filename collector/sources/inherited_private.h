/* SPDX-License-Identifier: MIT */
/* The parts of inherited sets, and their opening: for inherited.c and inherited_open.c alone. */
#ifndef COLLECTOR_SOURCES_INHERITED_PRIVATE_H
#define COLLECTOR_SOURCES_INHERITED_PRIVATE_H

#include <pthread.h>

#include "collector/records/records.h"
#include "collector/sources/inherited.h"
#include "collector/sources/inherited_records.h"
#include "collector/sources/inherited_ring.h"
#include "collector/sources/inherited_roots.h"
#include "collector/sources/session.h"
#include "collector/sources/system_wide.h"

struct inherited_output {
    struct inherited_ring ring;
    void *map; /* NULL: none */
    size_t map_size;
};

/*
 * The events of a set that count on all CPUs, for what the tasks have counted at their end: inherited_open.c says why.
 * Each has a ring of its own. An event that samples has a twin here, which only counts.
 */
struct inherited_counters {
    int fds[CONFIG_EVENTS];      /* -1: refused */
    int ring_fds[CONFIG_EVENTS]; /* events that map the rings: inherited ones that count on all CPUs cannot */
    uint64_t ids[CONFIG_EVENTS];
    struct inherited_output outputs[CONFIG_EVENTS];
};

/* The events of an inherited set on one CPU. */
struct inherited_cpu {
    int number;
    int ring_fd;            /* while the set is opened; -1: none */
    int fds[CONFIG_EVENTS]; /* -1: refused, or it only counts, and the set keeps counts apart */
    uint64_t ids[CONFIG_EVENTS];
    struct inherited_output output;
};

struct inherited_set {
    struct inherited_set *next;
    uint64_t number;
    pid_t pid, tid;     /* its root: 0 when the number is in use again */
    int pidfd;          /* of pid; -1: unknown */
    uint64_t whole_ns;  /* a task that the root made before that has only a part */
    bool root_ran;      /* the root ran until then: it may have been making a task */
    uint64_t waited_ns; /* how long it had waited for a CPU by then */
    uint64_t first_ns;  /* when it made the first task after that; 0: it has not */
    unsigned readings;
    uint64_t room, kept;                 /* bytes of records: the bound, and those kept since the last were taken */
    struct root_ids *root_ids;           /* in the sets' roots; NULL: none */
    uint64_t told_lost;                  /* records that the kernel has told it lost */
    uint64_t members;                    /* tasks marked as being in it: at least all that are */
    unsigned turn;                       /* number of the event set that is enabled; 0: there are none */
    bool counts;                         /* its events do: the exec that they waited for is over */
    bool closing;                        /* its events are disabled: this is the last time that its rings are read */
    struct inherited_counters *counters; /* NULL: the events of each CPU count, and write that to their ring, too */
    bool system_wide;                    /* it has no root, and does not end: system_wide.h */
    /* System-wide: tasks that were there before are still to come into it, so nothing is decided; those of records from
       before gathered_ns may have ended since. Other events have told of what was before since_ns. */
    bool gathering;
    uint64_t since_ns, gathered_ns;
    bool incomplete; /* system-wide: records about tasks were lost since members were looked for */
    unsigned cpu_count;
    struct inherited_cpu cpus[];
};

struct inherited_sets {
    struct session *session;
    struct records_layout layout;
    pthread_mutex_t lock;
    int epoll;
    unsigned live;              /* atomic */
    uint64_t fds, rings, bytes; /* atomic: of all of them */
    uint64_t numbers;           /* of sets so far */
    uint64_t begun;             /* atomic: how often a thread began to read all rings, under the lock */
    struct inherited_set *first;
    struct inherited_roots roots;
    struct system_wide *system_wide; /* NULL: there is no such set */
    uint64_t ids[CONFIG_EVENTS];
    uint32_t *inside;                 /* per live tid: the number of its set, written under the lock, atomic; 0: none */
    pid_t highest;                    /* the highest tid in it */
    struct inherited_records records; /* read, not taken */
    uint64_t kept;                    /* the sum of kept of all sets */
    bool untold;                      /* this reading met records that may have another order: note_again() */
    uint64_t lost;
    _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];
};

/* Can TID be the number of a task? */
static inline bool inherited_is_number(pid_t tid)
{
    return tid > 0 && tid < PINJECT_TASKS;
}

/* TID is in SET, or in none, from now on. */
void inherited_enter(struct inherited_sets *sets, struct inherited_set *set, pid_t tid);
void inherited_leave(struct inherited_sets *sets, pid_t tid);
/* KEPT, of SET, is about to be dropped. */
void inherited_give_room(struct inherited_sets *sets, struct inherited_set *set, const struct inherited_record *kept);
/* The system-wide set; NULL: there is none. */
static inline struct inherited_set *inherited_system_wide(const struct inherited_sets *sets)
{
    struct inherited_set *set = sets->first;
    while (set && !set->system_wide)
        set = set->next;
    return set;
}

/* In inherited.c: SET, which is open, is read from now on; all sets are read. */
int inherited_watch_set(const struct inherited_sets *sets, struct inherited_set *set);
void inherited_add_set(struct inherited_sets *sets, struct inherited_set *set);
void inherited_read_all(struct inherited_sets *sets);
/* SET, which is not in the list any more, ends. */
void inherited_note_untold_lost(struct inherited_sets *sets, struct inherited_set *set);
void inherited_free_set(struct inherited_sets *sets, struct inherited_set *set);
/* Is there room for one more set, with the smallest ring on each of CPUS? */
bool inherited_has_room(const struct inherited_sets *sets, uint64_t cpus);
/*
 * Opens all rings, then all events of SET, for at most CONFIGURED CPUs. 0 or -errno: inherited_close_set() in any case.
 */
int inherited_open_set(struct inherited_sets *sets, struct inherited_set *set, unsigned configured, bool on_exec);
/* Closes and unmaps what SET has open. */
void inherited_close_set(struct inherited_sets *sets, struct inherited_set *set);
/*
 * Maps OUTPUT by FD, an event that writes to it, with PAGES or fewer. IDS: of the events that write to it. 0 or -errno.
 */
int inherited_map_ring(struct inherited_sets *sets, struct inherited_output *output, int fd, size_t pages,
                       const uint64_t *ids);
void inherited_unmap_ring(struct inherited_sets *sets, struct inherited_output *output);

#endif
