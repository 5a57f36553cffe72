/* SPDX-License-Identifier: MIT */
/* The events of one task, opened from outside. Thread-safe unless said otherwise. */
#ifndef COLLECTOR_ATTACH_H
#define COLLECTOR_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/plan.h"

struct session;

struct attach_value {
    uint64_t value, enabled_ns, running_ns, lost;
};

struct attached {
    pid_t tid;
    unsigned count;             /* events, as in the plan */
    int fds[PLAN_EVENTS];       /* -1: refused */
    uint64_t ids[PLAN_EVENTS];  /* 0: refused */
    void *ring;                 /* struct perf_event_mmap_page; NULL: counted only */
    size_t ring_size;           /* bytes of data, without the metadata page */
    int ring_error;             /* -errno why there is no ring */
    struct attached *next;      /* hash chain of the session's table of live tasks */
};

enum attach_how {
    ATTACH_RUNNING,  /* counts from now on: process, fork child */
    ATTACH_THREAD,   /* the same with the smaller ring of threads */
    ATTACH_ON_EXEC,  /* counts from inside the next execve */
};

/*
 * Opens the plan's events on TID, maps the ring, marks TID as covered in the segment and enters it into the table of live tasks.
 * 0, or -errno when no event could be opened at all (-ESRCH, -EACCES, -EPERM, -EMFILE, ...). Without a ring (mlock budget): counted only, 0.
 * A task that is in the table already (armed twice, IMAGE of a covered one) gives -EEXIST.
 */
int attach_task(struct session *session, pid_t tid, enum attach_how how, struct attached **ret);
/* Reads the counters; works after the task's end. VALUES has plan.count entries; refused ones are all 0. */
void attach_read(const struct attached *attached, struct attach_value *values);
/* The counters of the live task TID, by the table, for snapshots. -ESRCH when it is not there. */
int attach_snapshot(struct session *session, pid_t tid, struct attach_value *values);
/* Takes the task out of the table and clears its covered bit (only if it is still this one); events stay open. */
void attach_retire(struct session *session, struct attached *attached);
/* Unmaps, closes and frees; after attach_retire(). NULL is accepted. */
void attach_free(struct attached *attached);

#endif
