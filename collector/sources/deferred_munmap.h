/* SPDX-License-Identifier: MIT */
/*
 * Deferred munmap: rings of ended tasks stay mapped until enough of them can be unmapped together, since each munmap()
 * interrupts all CPUs on which the collector has run. Thread-safe; its own lock, under which no other is taken.
 */
#ifndef COLLECTOR_SOURCES_DEFERRED_MUNMAP_H
#define COLLECTOR_SOURCES_DEFERRED_MUNMAP_H

#include <pthread.h>
#include <stddef.h>

#include "collector/sources/session.h"

void deferred_munmap_init(struct deferred_munmap *deferred);
/* After the last deferred_munmap_run(): what is left stays mapped. */
void deferred_munmap_release(struct deferred_munmap *deferred);
/* Takes over the mapping of SIZE bytes at START. Unmaps all if memory is short or there are DEFERRED_RINGS. */
void deferred_munmap_add(struct session *session, void *start, size_t size);
/* Unmaps what is left, and subtracts it from session->ring_bytes. */
void deferred_munmap_run(struct session *session);

#endif
