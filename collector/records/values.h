/* SPDX-License-Identifier: MIT */
/*
 * The values of a group's events in the samples of its leader ('{a,b}:S': PERF_SAMPLE_READ with PERF_FORMAT_GROUP).
 *
 * A result file has one id for each event, and its values grow from sample to sample: readers show by how much. So
 * values have two forms. Of a task's own events they are as the kernel wrote them. Inherited events have a counter and
 * an id for each CPU: until they go to a file, their ids are places, which say event and CPU; the file adds up what the
 * CPUs counted. A sample of a leader that comes without values (of a timer; of inherited events where the kernel cannot
 * have them) gets a place that says so: in the file it has only the leader's value, which is the sum of the periods.
 * Pure.
 */
#ifndef COLLECTOR_RECORDS_VALUES_H
#define COLLECTOR_RECORDS_VALUES_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/records/records.h"

enum { VALUES_NONE = 6 * 8 }; /* bytes by which values_add_none() makes a sample longer, at most */

/* Bytes of the values in SAMPLE; 0: EVENT's samples have none, or they do not fit into it. */
size_t values_size(const struct records_layout *layout, unsigned event, const struct perf_event_header *sample);
/*
 * SAMPLE, with VALUES_NONE bytes of room behind it, came without values: adds those that say so, if EVENT's samples
 * have values. False: it would be too large for a record.
 */
bool values_add_none(const struct records_layout *layout, unsigned event, struct perf_event_header *sample);
/* Makes places of the ids in SAMPLE: IDS are those of the events on CPU, as in struct attached. */
void values_place(const struct records_layout *layout, unsigned event, const uint64_t *ids, unsigned cpu,
                  struct perf_event_header *sample);
/* A READ record of a leader has the whole group: leaves what one of its other events would have. */
void values_shorten_read(const struct records_layout *layout, unsigned event, struct perf_event_header *read);

/* What a file has so far of values with places. All 0: nothing. */
struct values {
    uint64_t *totals; /* of each event; and after them, for each CPU, each event's last value there */
    unsigned cpus;
    uint64_t *base; /* of each own event: what it had counted before the file's first sample with it; NULL: not used */
    uint64_t leaders; /* whose first sample was seen, as a bit set: BASE has the values of their groups */
};

void values_release(struct values *values);
/*
 * Brings the samples among RECORDS, SIZE bytes, into the form of the file of a task with IDS. BASE: what its own events
 * had counted before the file began; NULL: nothing, or unknown. LATER: the file begins with a later program of the
 * task, and the values of inherited events before it are unknown; if BASE is NULL, those of its own events, too. Then
 * the first sample of a leader stands for its period, and the values of its group begin there. False: out of memory.
 */
bool values_settle(struct values *values, const struct records_layout *layout, const struct event_config *config,
                   const uint64_t *ids, const uint64_t *base, bool later, void *records, size_t size);

#endif
