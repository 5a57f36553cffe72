/* SPDX-License-Identifier: MIT */
/*
 * Back-pressure: the event loop gives back the descriptors and rings of ended tasks, and writes their files. Where it falls
 * behind, those that begin would be refused what those that ended still hold, or the files to be written would fill the
 * memory; doors then wait a bounded moment before they open more.
 * Thread-safe.
 */
#ifndef COLLECTOR_PRESSURE_H
#define COLLECTOR_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

struct session;

struct pressure {
    uint64_t descriptors; /* atomic: open for tasks */
    uint64_t unwritten;   /* atomic: ended tasks whose file is not written yet */
    uint32_t progress;    /* atomic, futex word: how often a task's events were given back, or its file was written */
    uint32_t waited;      /* atomic: the same at the end of the last wait */
    uint32_t waiting;     /* atomic: doors */
};

/* A task took COUNT descriptors, or gave them back. */
void pressure_taken(struct session *session, unsigned count);
void pressure_freed(struct session *session, unsigned count);
/* Its file waits to be written, or is written. */
void pressure_queued(struct session *session);
void pressure_written(struct session *session);
/* Is so much taken that giving back comes before everything else? */
bool pressure_is_high(const struct session *session);
/* A door, before it serves what was posted: waits until it is not high, 3 ms at most. Tasks that are all alive are not waited for. */
void pressure_wait(struct session *session);

#endif
