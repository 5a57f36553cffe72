/* SPDX-License-Identifier: MIT */
/* Tracepoints, as tracefs describes them: SYSTEM:NAME, both with * and ?. Reads files on each call; thread-safe. */
#ifndef COLLECTOR_EVENTS_EVENT_TRACEPOINT_H
#define COLLECTOR_EVENTS_EVENT_TRACEPOINT_H

#include "collector/events/event_pmu.h"

enum { EVENT_TRACEPOINT_NAME = 512 };

/* 0: tracefs can be read, *RET_DIRECTORY is its directory of systems; -errno why not. */
int event_tracepoint_directory(const struct event_sources *sources, char *ret_directory, size_t size);
/*
 * Adds "SYSTEM:NAME" to WORDS for each that matches, in order. 0, or -errno of event_tracepoint_directory(). PATTERN
 * NULL: all.
 */
int event_tracepoint_find(const struct event_sources *sources, const char *system, const char *pattern,
                          struct event_words *words);
/* Its number, config of its perf_event_attr. 0 or -errno. */
int event_tracepoint_id(const struct event_sources *sources, const char *system, const char *name, uint64_t *ret);
/* The name of the tracepoint with that number, "SYSTEM:NAME". 0 or -errno. Looks at all tracepoints: some 20 ms. */
int event_tracepoint_find_id(const struct event_sources *sources, uint64_t id, char *ret, size_t size);
/* Why there is none, for a message: "tracefs cannot be read: ..., and what to do". */
void event_tracepoint_explain(int status, char *ret, size_t size);

#endif
