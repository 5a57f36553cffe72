/* SPDX-License-Identifier: MIT */
/* The events of one task, opened from outside. Thread-safe unless said otherwise. */
#ifndef COLLECTOR_SOURCES_ATTACH_H
#define COLLECTOR_SOURCES_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>

#include "collector/config/event_config.h"
#include "collector/records/records.h"

struct attach_period;
struct attach_place;
struct session;

struct attached {
    pid_t tid;
    unsigned count; /* events, as in the event configuration */
    /* Of each event, behind this struct: -1 and 0 if it was refused. */
    int *fds;
    uint64_t *ids;
    void *ring;                /* struct perf_event_mmap_page; NULL: counted only */
    size_t ring_size;          /* bytes of data, without the metadata page */
    int ring_error;            /* -errno why there is no ring */
    uint32_t dump;             /* bytes of stack with each sample; 0: none */
    uint32_t dump_limit;       /* upper bound of dump, as its user's tasks were too much (dump_limits.h); 0: none */
    struct stack_sizes *sizes; /* of programs of its name; NULL: unknown */
    int error;                 /* -errno of the first counter that was refused or dropped (EMFILE); 0: all are open */
    unsigned descriptors;      /* how many are open, including end_fd */
    int number;      /* of the timer's ring (rings.h), which RING is then; -1: RING is the kernel's, or NULL */
    bool timer;      /* no events: a timer of the preload object samples, if there is a ring */
    unsigned set;    /* number of the event set whose turn it is; 0: there are none */
    int refusal;     /* of a timer's task in a session with events: -errno why it has no events */
    bool armed;      /* timer: before the first exec generation that can start it */
    int64_t base_ns; /* CPU time before the timer: not in the counts. Atomic: set by workers */
    int end_fd;      /* only without a kernel ring, whose fd reports the end by EPOLLHUP: pidfd, EPOLLIN
                                   at the end; -1: none */

    /* Private to attach.c, attach_table.c and attach_timer.c: */
    struct session *session;
    pid_t pid; /* thread group */
    pid_t key; /* tid in the table: changes when a thread other than the first calls exec */
    bool listed;
    /* Private to attach_turn.c: of the task's last turn. */
    uint32_t turn_lock; /* how often its first event had been switched in or changed, as its ring has it */
    bool turn_ran;      /* it ran in that turn */
    uint64_t turn_ns;   /* how long it had run */
    /* Private to attach_period.c: of each event; NULL: no period changes. */
    struct attach_period *periods;
    uint32_t name;        /* hash of the task's name when its events were opened */
    uint64_t period_pass; /* of the loop, which gave it new periods last */
    bool stopped;         /* it is only counted: attach_stop_sampling() */
    /* Private to attach_place.c: of each event; NULL: no event's address depends on the process. */
    struct attach_place *places;
    uint64_t bias; /* what the process adds to addresses of the program's file; 0: it runs another one */
    bool placed;   /* atomic: that is known, and was at one time at least */
    uint32_t place_turn;

    bool exec_told; /* another thread of the process called exec, with that CPU time */
    uint64_t exec_clock_ns;
    /* Hash chain of the session's table of live tasks, by key, and what points here. The same by pid, for tasks
       whose tid is not their pid. */
    struct attached *next, **at;
    struct attached *next_thread, **thread_at;
};

/* With room for COUNT events, none of which is open; NULL: out of memory. attach_free() frees it. */
static inline struct attached *attach_new(unsigned count)
{
    struct attached *attached = calloc(1,
                                       sizeof(*attached) + count * (sizeof(*attached->ids) + sizeof(*attached->fds)));
    if (!attached)
        return NULL;
    attached->count = count;
    attached->ids = (uint64_t *)(attached + 1);
    attached->fds = (int *)(attached->ids + count);
    for (unsigned i = 0; i < count; i++)
        attached->fds[i] = -1;
    return attached;
}

/* The ring; any thread. A worker makes a timer's ring when the event loop may already have the task: number and size
   are set before it becomes visible. */
static inline void *attach_ring(const struct attached *attached)
{
    return __atomic_load_n(&attached->ring, __ATOMIC_ACQUIRE);
}

/* Does a timer take the place of ATTACHED, which may be NULL? */
static inline bool attach_by_timer(const struct attached *attached)
{
    return attached && attached->timer;
}

enum attach_how {
    ATTACH_RUNNING, /* counts from now on: process, fork child */
    ATTACH_THREAD,  /* the same with the smaller ring of threads */
    ATTACH_ON_EXEC, /* counts from inside the next execve */
};

/*
 * Opens the configured events on TID, maps the ring, marks TID as covered in the segment and enters it into the table
 * of live tasks. 0, or -errno if no event could be opened at all (-ESRCH, -EACCES, -EPERM, -EMFILE, ...). Without a
 * ring (mlock budget) the task is only counted: 0. -EEXIST: the task is in the table already (armed twice, GENERATION
 * of a covered one).
 */
int attach_task(struct session *session, pid_t tid, enum attach_how how, struct attached **ret);
/*
 * attach_task() in two steps, so that the task may go on between them: the first opens and maps, the second reads the
 * events' ids. PID: the thread group, which the caller has checked. NAME: of the task, to predict its stack size; NULL
 * or "": unknown.
 */
int attach_open(struct session *session, pid_t pid, pid_t tid, const char *name, enum attach_how how,
                struct attached **ret);
void attach_complete(struct attached *attached);
/* Enables events that wait for an exec. */
void attach_enable(const struct attached *attached);
/*
 * The same for a task whose events the kernel refuses to us (REFUSAL: -errno) while others have theirs: it is not
 * dumpable. A timer of the preload object may replace them; only for a task that runs already and has sent a request.
 * Its covered bit stays clear: a timer does not survive exec, so the next exec generation must send a request.
 */
int attach_open_timer(struct session *session, pid_t pid, pid_t tid, int refusal, struct attached **ret);
/*
 * With event_config.whole_tree: a descriptor of the caller's that hangs up when the task and all its descendants have
 * ended; -1: there is none. Such a descriptor would always hang up if its event had no ring, and the kernel maps none
 * for an inherited event; so it gets that of a dummy event: *RET_RING, one page, which the caller unmaps later. It is
 * not the ring of the task's own dummy event: the end of each task wakes all who wait for an event with that ring.
 */
int attach_tree_end(const struct attached *attached, void **ret_ring);
/* The events of a living task count and write no more, since *RET_NS. False: it has ended, or is about to. */
bool attach_disable(const struct attached *attached, uint64_t *ret_ns);
/* How often the kernel has switched to the task since its events were opened, modulo 2^31; 0 without a ring. */
uint32_t attach_switches(const struct attached *attached);
/* Reads the counters; works after the task's end. VALUES has config.count entries; refused ones are all 0. */
void attach_read(const struct attached *attached, struct attach_value *values);
/*
 * Closes and frees; after attach_retire() and before service_release(). NULL is accepted. The ring is unmapped later,
 * together with others (deferred_munmap.h).
 */
void attach_free(struct attached *attached);
/* Data pages of the next ring: WANTED or fewer. BUDGET: session_ring_budget(); USED: bytes of it in use. DUMPS:
 * samples have stack dumps. */
size_t attach_ring_pages(uint64_t budget, uint64_t used, size_t wanted, bool dumps);

/*
 * attach_turn.c: with event sets, enables the next set of a task that has run since the last call, and disables its
 * present one. True: it did. For one thread at a time.
 */
bool attach_turn(struct attached *attached);

/*
 * attach_place.c: breakpoints on symbols of a position-independent program (event_config.program). Private to attach.c:
 * 0 or -ENOMEM.
 */
int attach_place_init(struct attached *attached, enum attach_how how);
/* ATTR, for the event INDEX, gets the address; does nothing if that does not depend on the process. */
void attach_place_attr(const struct attached *attached, unsigned index, struct perf_event_attr *attr);
/* The event INDEX was opened with ATTR. */
void attach_place_opened(struct attached *attached, unsigned index, const struct perf_event_attr *attr);
/* Has the event INDEX never had its address? Then it counts nothing. Any thread. */
bool attach_place_is_unknown(const struct attached *attached, unsigned index);
/* The same of all events on symbols. ATTACHED may be NULL. */
bool attach_is_unplaced(const struct attached *attached);
/* The task TID runs a new program: its events get their addresses there. */
void attach_place(struct session *session, pid_t pid, pid_t tid);

/*
 * attach_period.c: periods that change (--smpl-periods-random, -F auto). NAME: of the task, or NULL. Private to attach.c:
 * 0 or -ENOMEM.
 */
int attach_period_init(struct attached *attached, const char *name);
/* The period of the event INDEX, whose periods change; any thread. */
uint64_t attach_period_now(const struct attached *attached, unsigned index);
/* ATTR gets the period that attach_stop_sampling() sets. */
void attach_period_stopped(struct perf_event_attr *attr);
/*
 * RECORD is a sample of the event INDEX, as the kernel wrote it for ATTACHED, or, if that is NULL, for an inherited set
 * (event_rate_attr()). Makes of it the sample as it goes to the file, with a PERIOD: what was counted since the sample
 * before, or what the period was. That one is made in SCRATCH, of PINJECT_RING_RECORD_MAX bytes, in which RECORD may be.
 * 1; 0: the sample is left out, and what it stands for is part of the next one; -EINVAL: it makes no sense. For the
 * event loop.
 */
int attach_weigh(struct attached *attached, const struct event_config *config, const struct records_layout *layout,
                 unsigned index, const struct perf_event_header **record, void *scratch);
/*
 * Gives new periods to the events that were sampled with their present ones: to MOST of them. How many got one. For the
 * event loop, whenever samples were read.
 */
unsigned attach_renew_periods(struct attached *attached, unsigned most);
/*
 * From now on the events only count, but for a few samples: their periods get as long as possible, and an event with a
 * frequency gets that of 1 Hz. (PERF_EVENT_IOC_REFRESH would end the counting, too.) How many calls that took.
 */
unsigned attach_stop_sampling(struct attached *attached);

/* attach_table.c: the table of live tasks. */
/*
 * Does PID's task TID have running events? True also if it got its tid by calling exec from another thread. *RET_RING,
 * unless NULL: do they have a ring too?
 */
bool attach_knows(struct session *session, pid_t pid, pid_t tid, bool *ret_ring);
/*
 * There is a system-wide set now: all tasks of the table are in it. A task that a worker enters later is in it before the
 * worker answers it (attach_open()). So is what they make, even if that sends no requests any more.
 */
void attach_adopt_all(struct session *session);
/* Is a live task of PID in the table? */
bool attach_has_process(struct session *session, pid_t pid);
/* Does a timer replace the events of the live task TID? */
bool attach_has_timer(struct session *session, pid_t tid);
/*
 * The answer to a task that timers sample: its ring's number + 1; 0: no ring, or there are events. STARTUP_NS: CPU time
 * before its first timer.
 */
int attach_answer(struct session *session, pid_t tid, uint64_t startup_ns);
/* Reads the counters of the live task TID through the table, for snapshots. -ESRCH if it is not there. */
int attach_snapshot(struct session *session, pid_t tid, struct attach_value *values);
/*
 * Takes the task out of the table and clears its covered bit (only if the entry is still this task's); events stay
 * open.
 */
void attach_retire(struct session *session, struct attached *attached);

/*
 * attach_timer.c. Index of the event that timers sample; -1: no configured event is a clock that they know. Do timers
 * count the event INDEX as perf would?
 */
int attach_timer_event(const struct event_config *config);
bool attach_timer_counts(const struct event_config *config, unsigned index);
/* Private to attach.c. init: its ids. open: a ring for it, if there is room. */
void attach_timer_init(struct attached *attached);
void attach_timer_open(struct attached *attached);
/*
 * THREAD, which is about to leave the table, may have called exec and go on with FIRST's ring, that of its process'
 * first thread: tell_exec gives FIRST its clock. When FIRST asks again, rebase keeps what THREAD counted from being
 * counted again.
 */
void attach_timer_tell_exec(const struct attached *thread, struct attached *first);
void attach_timer_rebase(struct attached *first);
void attach_timer_read(const struct attached *attached, struct attach_value *values);

#endif
