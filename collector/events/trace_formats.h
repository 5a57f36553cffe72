/* SPDX-License-Identifier: MIT */
/*
 * The descriptions of tracepoints, as perf.data has them in the section TRACING_DATA: perf opens no file with a
 * tracepoint that the section does not describe. Reads files of tracefs on each call; thread-safe.
 */
#ifndef COLLECTOR_EVENTS_TRACE_FORMATS_H
#define COLLECTOR_EVENTS_TRACE_FORMATS_H

#include "collector/events/event_list.h"
#include "common/buffer.h"

/* Is there a tracepoint in LIST? */
bool trace_formats_are_needed(const struct event_list *list);
/*
 * Appends the content of the section for the tracepoints of LIST: the form of trace-cmd's files, version 0.6, as perf
 * writes it (util/trace-event-info.c), without what perf does not need. 0, or -errno: nothing is appended then.
 */
int trace_formats_append(const struct event_sources *sources, const struct event_list *list, struct buffer *to);

#endif
