/* SPDX-License-Identifier: MIT */
/*
 * Rings of ended tasks, still mapped: they are unmapped together, since each munmap() interrupts all CPUs on which the
 * collector has run. Thread-safe; its own lock, under which no other is taken.
 */
#ifndef COLLECTOR_SOURCES_DEFERRED_MUNMAP_H
#define COLLECTOR_SOURCES_DEFERRED_MUNMAP_H

#include <pthread.h>
#include <stddef.h>

#include "collector/sources/session.h"

void deferred_munmap_init(struct deferred_munmap *deferred);
/* After the last deferred_munmap_run(): what is left stays mapped. */
void deferred_munmap_release(struct deferred_munmap *deferred);
/* Takes over the mapping of SIZE bytes at START. Unmaps all where memory is short, or when DEFERRED_RINGS are here. */
void deferred_munmap_add(struct session *session, void *start, size_t size);
/* Unmaps what is left; session->ring_bytes is less by that. */
void deferred_munmap_run(struct session *session);

#endif
