/* SPDX-License-Identifier: MIT */
/* The events of one task, opened from outside. Thread-safe unless said otherwise. */
#ifndef COLLECTOR_SOURCES_ATTACH_H
#define COLLECTOR_SOURCES_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/config/event_config.h"

struct session;

struct attached {
    pid_t tid;
    unsigned count;              /* events, as in the event configuration */
    int fds[CONFIG_EVENTS];      /* -1: refused */
    uint64_t ids[CONFIG_EVENTS]; /* 0: refused */
    void *ring;                  /* struct perf_event_mmap_page; NULL: counted only */
    size_t ring_size;            /* bytes of data, without the metadata page */
    int ring_error;              /* -errno why there is no ring */
    uint32_t dump;               /* bytes of stack with each sample; 0: none */
    uint32_t dump_limit;         /* that many at most, since its user's tasks were too much (dump_limits.h); 0: none */
    struct stack_sizes *sizes;   /* of programs of its name; NULL: nothing is known */
    int error;                   /* -errno of the first counter that was refused or dropped (EMFILE); 0: all are open */
    unsigned descriptors;        /* how many of them are open, end_fd too */
    int number; /* of the timer's ring (rings.h), which RING is then; -1: it is the kernel's, or NULL */
    bool timer;                  /* has no events: a timer of the preload object samples, if it has a ring */
    int refusal;                 /* of such a one in a session with events: -errno why it has none */
    bool armed;                  /* the same before the first exec generation that can start one */
    int64_t base_ns;             /* CPU time before the timer: not in the counts. Atomic: set by workers */
    int end_fd;                 /* only without a ring of the kernel, whose fd tells the end by EPOLLHUP: pidfd, EPOLLIN
                                   at its end; -1: none */

    /* Private to attach.c, attach_table.c and attach_timer.c: */
    struct session *session;
    pid_t pid;                  /* thread group */
    pid_t key;                  /* tid in the table: changes when a thread that is not the first one calls exec */
    bool listed;
    bool exec_told;             /* another thread of the process called exec, with that CPU time */
    uint64_t exec_clock_ns;
    /* Hash chain of the session's table of live tasks, by key; what points here; the same for tasks whose tid is not
       their pid, by pid. */
    struct attached *next, **at;
    struct attached *next_thread, **thread_at;
};

/* The ring; any thread. Of a timer's task a worker makes it when the event loop may have the task already: what belongs
   to it, number and size, is there with it. */
static inline void *attach_ring(const struct attached *attached)
{
    return __atomic_load_n(&attached->ring, __ATOMIC_ACQUIRE);
}

enum attach_how {
    ATTACH_RUNNING,  /* counts from now on: process, fork child */
    ATTACH_THREAD,   /* the same with the smaller ring of threads */
    ATTACH_ON_EXEC,  /* counts from inside the next execve */
};

/*
 * Opens the configured events on TID, maps the ring, marks TID as covered in the segment and enters it into the table
 * of live tasks. 0, or -errno when no event could be opened at all (-ESRCH, -EACCES, -EPERM, -EMFILE, ...). Without a
 * ring (mlock budget): counted only, 0. A task that is in the table already (armed twice, GENERATION of a covered one)
 * gives -EEXIST.
 */
int attach_task(struct session *session, pid_t tid, enum attach_how how, struct attached **ret);
/*
 * attach_task() in two steps, so that the task may go on between them: the first opens and maps, the second reads the
 * events' ids.
 * PID: the thread group, which the caller has checked. NAME: of the task, by which it gets what others of the name
 * needed; NULL or "": not known.
 */
int attach_open(struct session *session, pid_t pid, pid_t tid, const char *name, enum attach_how how,
                struct attached **ret);
void attach_complete(struct attached *attached);
/* Events that wait for an exec count from now on. */
void attach_enable(const struct attached *attached);
/*
 * The same for a task whose events the kernel refuses us (REFUSAL: -errno) though others have theirs: it is not
 * dumpable. A timer of the preload object may be its fallback; only for a task that runs already, and has asked. Its
 * covered bit stays clear: a timer does not survive exec, so that its next exec generation has to ask.
 */
int attach_open_timer(struct session *session, pid_t pid, pid_t tid, int refusal, struct attached **ret);
/* Reads the counters; works after the task's end. VALUES has config.count entries; refused ones are all 0. */
void attach_read(const struct attached *attached, struct attach_value *values);
/*
 * Closes and frees, after attach_retire() and before service_release(). NULL is accepted. The ring is unmapped later,
 * with others (deferred_munmap.h).
 */
void attach_free(struct attached *attached);
/* Data pages of the next ring, WANTED or fewer: BUDGET (service_ring_budget()) and what is USED of it in bytes. DUMPS:
 * its samples have dumps of stacks. */
size_t attach_ring_pages(uint64_t budget, uint64_t used, size_t wanted, bool dumps);

/* attach_table.c: the table of live tasks. */
/*
 * Whether PID's task TID has events that run: true also when it got its tid by calling exec from another thread.
 * *RET_RING, unless NULL: whether they have a ring too.
 */
bool attach_knows(struct session *session, pid_t pid, pid_t tid, bool *ret_ring);
/* Whether one of PID's tasks is there and lives. */
bool attach_has_process(struct session *session, pid_t pid);
/* Is a timer the fallback of the live task TID? */
bool attach_has_timer(struct session *session, pid_t tid);
/*
 * The answer to a task that timers sample: its ring's number + 1, 0: it has none, or there are events. STARTUP_NS: CPU
 * time before its first timer.
 */
int attach_answer(struct session *session, pid_t tid, uint64_t startup_ns);
/* The counters of the live task TID, by the table, for snapshots. -ESRCH when it is not there. */
int attach_snapshot(struct session *session, pid_t tid, struct attach_value *values);
/* Takes the task out of the table and clears its covered bit (only if it is still this one); events stay open. */
void attach_retire(struct session *session, struct attached *attached);

/*
 * attach_timer.c. Index of the event that timers sample, -1: none of the event configuration's is a clock that they
 * know. Event INDEX: do they count it as perf would?
 */
int attach_timer_event(const struct event_config *config);
bool attach_timer_counts(const struct event_config *config, unsigned index);
/* Private to attach.c: its ids and what tells its end; a ring for it, where there is room; its counts. */
void attach_timer_init(struct attached *attached);
void attach_timer_open(struct attached *attached);
/*
 * THREAD, which is about to leave the table, may have called exec and go on in FIRST's ring, the ring of its process'
 * first thread: FIRST is told its clock. When it asks again: what was counted of THREAD is not counted again.
 */
void attach_timer_tell_exec(const struct attached *thread, struct attached *first);
void attach_timer_rebase(struct attached *first);
void attach_timer_read(const struct attached *attached, struct attach_value *values);

#endif
