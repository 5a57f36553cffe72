/* SPDX-License-Identifier: MIT */
/* Records of nets that were read and not taken yet. Context: under the lock of the nets. */
#ifndef COLLECTOR_NET_RECORDS_H
#define COLLECTOR_NET_RECORDS_H

#include "collector/net.h"

/* All zero: empty. */
struct net_records {
    struct net_record **at;
    size_t count, capacity;
    uint64_t order;
};

void net_records_release(struct net_records *records);
/* A copy of RECORD, the last one, which has its order and its bytes. It stays owned. NULL: out of memory. */
struct net_record *net_records_add(struct net_records *records, const struct perf_event_header *record);
/* By time, from the one with the index FIRST on. */
void net_records_sort(struct net_records *records, size_t first);
/* All of before BEFORE_NS, by time: as nets_take(). */
struct net_record *net_records_take(struct net_records *records, uint64_t before_ns);

#endif
