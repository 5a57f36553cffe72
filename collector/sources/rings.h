/* SPDX-License-Identifier: MIT */
/*
 * Rings of tasks that timers sample, in a file beside the segment: pinject/wire.h has its layout. Thread-safe but for
 * init and release. Every byte in a ring may be a lie.
 */
#ifndef COLLECTOR_SOURCES_RINGS_H
#define COLLECTOR_SOURCES_RINGS_H

#include <linux/perf_event.h>
#include <pinject/wire.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/sources/session.h"

/* No file: rings_release() may follow. */
void rings_init_none(struct rings *rings);
/* Creates the file beside SEGMENT_PATH with COUNT rings, or as many as allowed: 0 or -errno. */
int rings_open(struct rings *rings, const char *segment_path, uint32_t count);
/* The same for PINJECT_RINGS_MAX; after report_error(). */
int rings_init(struct rings *rings, const char *segment_path);
/* Removes its file only. */
void rings_unlink(const struct rings *rings);
/* Removes the file. */
void rings_release(struct rings *rings);
size_t rings_size(const struct rings *rings);

/* Of a session whose source is timers: all at once, before its first request. 0 or -errno after report_error(). */
int rings_begin(struct session *session);
/*
 * Thread-safe. Of a session with events: made by the first call, for a thousand tasks. 0 or -errno, the same each time:
 * after an error only accounting counts the tasks that would have a ring.
 */
int rings_need(struct session *session);
/* Whether that was called. */
bool rings_are_needed(const struct session *session);

/* A ring of its own for a task, empty, with pages that are there: its number, or -ENOSPC, -ENOMEM ... */
int rings_take(struct rings *rings, uint64_t interval_ns, uint64_t flags);
/* Gives it and its memory back. */
void rings_give(struct rings *rings, int number);
struct perf_event_mmap_page *rings_page(const struct rings *rings, int number);
struct pinject_timer_head *rings_head(const struct rings *rings, int number);
/* A new id for the samples of a ring; kept by us, not read from the ring. */
uint64_t rings_next_id(struct rings *rings);

#endif
