/* SPDX-License-Identifier: MIT */
/* Records of inherited sets that were read and not taken yet. Context: under the lock of the sets. */
#ifndef COLLECTOR_SOURCES_INHERITED_RECORDS_H
#define COLLECTOR_SOURCES_INHERITED_RECORDS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A record of an inherited set. Its identifier is that of inherited_ids(), whatever CPU it comes from. */
struct inherited_record {
    struct inherited_record *next;
    uint64_t time_ns;
    uint64_t order;         /* in which it was read */
    uint64_t inherited_set; /* number of its inherited set */
    pid_t pid, tid;         /* of its writer */
    unsigned event;         /* of the event configuration */
    unsigned readings;      /* READ records that each task of its set writes at its end */
    bool root;              /* written by the root of the set */
    bool undecided;         /* is the writer in the tree? Of a system-wide set, never outside of collector/sources */
    bool part; /* FORK of a task that began while the set was opened: it has the events of some CPUs only */
    _Alignas(8) unsigned char bytes[];
};

/* All zero: empty. */
struct inherited_records {
    struct inherited_record **at;
    size_t count, capacity;
    uint64_t order;
};

void inherited_records_release(struct inherited_records *records);
/*
 * Adds a copy of RECORD as the last one, with its order, its bytes, and room for MORE bytes. RECORDS owns it. NULL: out
 * of memory.
 */
struct inherited_record *inherited_records_add(struct inherited_records *records,
                                               const struct perf_event_header *record, size_t more);
/* By time, from the one with the index FIRST on. */
void inherited_records_sort(struct inherited_records *records, size_t first);
/* Takes all records before BEFORE_NS, by time: as inherited_take(). */
struct inherited_record *inherited_records_take(struct inherited_records *records, uint64_t before_ns);

#endif
