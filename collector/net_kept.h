/* SPDX-License-Identifier: MIT */
/* Records of nets that were read, by whoever came, and that the event loop has not taken. Context: the nets' lock. */
#ifndef COLLECTOR_NET_KEPT_H
#define COLLECTOR_NET_KEPT_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

struct net_record;

/* Zeroed: none. */
struct net_kept {
    struct net_record **records;
    size_t count, capacity;
    uint64_t order;
};

/* A copy of RECORD, the last one; the caller fills in the rest. NULL: out of memory. */
struct net_record *net_kept_add(struct net_kept *kept, const struct perf_event_header *record);
/* See nets_take(). */
struct net_record *net_kept_take(struct net_kept *kept, uint64_t before_ns);
void net_kept_release(struct net_kept *kept);

#endif
