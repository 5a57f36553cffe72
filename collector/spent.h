/* SPDX-License-Identifier: MIT */
/*
 * Rings of ended tasks, still mapped: they are unmapped together, since each munmap() interrupts all CPUs on which the
 * collector has run. Thread-safe; its own lock, under which no other is taken.
 */
#ifndef COLLECTOR_SPENT_H
#define COLLECTOR_SPENT_H

#include <pthread.h>
#include <stddef.h>

struct session;

enum { SPENT_RINGS = 32 };

struct spent {
    pthread_mutex_t lock;
    struct spent_ring {
        void *start;
        size_t size;
    } rings[SPENT_RINGS];
    unsigned count;
};

void spent_init(struct spent *spent);
/* After the last spent_unmap(): what is left stays mapped. */
void spent_release(struct spent *spent);
/* Takes over the mapping of SIZE bytes at START. Unmaps all where memory is short, or when SPENT_RINGS are here. */
void spent_add(struct session *session, void *start, size_t size);
/* Unmaps what is left; session->ring_bytes is less by that. */
void spent_unmap(struct session *session);

#endif
