/* SPDX-License-Identifier: MIT */
/*
 * Back-pressure. The event loop gives back the descriptors and rings of ended tasks, and writes their files. If it
 * falls behind, new tasks would be refused what ended ones still hold, or unwritten tasks would fill the memory. So
 * workers wait a bounded time before they open more. Thread-safe.
 */
#ifndef COLLECTOR_SOURCES_PRESSURE_H
#define COLLECTOR_SOURCES_PRESSURE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/sources/session.h"

/* A task took COUNT descriptors, or gave them back. */
void pressure_taken(struct session *session, unsigned count);
void pressure_freed(struct session *session, unsigned count);
/* Its file waits to be written; or is written. */
void pressure_queued(struct session *session);
void pressure_written(struct session *session);
/* Are descriptors or rings so short that giving them back comes before everything else? */
bool pressure_needs_room(const struct session *session);
/* The same, or are there so many unwritten tasks, or notifications for the loop, that no more should come? */
bool pressure_is_high(const struct session *session);
/* The loop, before and after it waits for notifications. */
void pressure_idle(struct session *session, bool idle);
/*
 * A worker, before it serves requests: waits while pressure is high and the loop has something to give back, 3 ms at
 * most.
 */
void pressure_wait(struct session *session);

#endif
