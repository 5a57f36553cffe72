/* SPDX-License-Identifier: MIT */
/* Records of inherited sets that were read and not taken yet. Context: under the lock of the sets. */
#ifndef COLLECTOR_SOURCES_INHERITED_RECORDS_H
#define COLLECTOR_SOURCES_INHERITED_RECORDS_H

#include "collector/sources/inherited.h"

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
