/* SPDX-License-Identifier: MIT */
/*
 * Sorts records by time. perf writes the rings of several CPUs one after the other; a FINISHED_ROUND promises that no
 * record older than the round before the last one follows. Records that stay in memory are kept by address, others are
 * copied.
 */
#ifndef ANALYZE_READ_ORDER_H
#define ANALYZE_READ_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

struct order_entry {
    uint64_t time;
    const unsigned char *stable; /* the record; NULL: copied, to offset `copy` of bytes */
    size_t copy;
    uint32_t sequence; /* order of records with equal times */
    uint32_t size;
};

struct order {
    struct order_entry *entries;
    uint32_t count, capacity;
    bool sorted;
    struct buffer bytes, spare;
    size_t held;            /* bytes of the entries and their records */
    size_t limit;           /* of held: beyond it the older half is delivered */
    uint64_t newest, round; /* newest time of all records, and what it was at the last round */
};

/* Called for each record in order. Anything but 0 stops the delivery. */
typedef int order_take(void *context, const unsigned char *record, size_t size);

void order_init(struct order *order, size_t limit);
void order_release(struct order *order);
/* STABLE: RECORD stays valid until it is delivered. 0, -ENOMEM, or what TAKE returned. */
int order_push(struct order *order, uint64_t time, const unsigned char *record, size_t size, bool stable,
               order_take *take, void *context);
/* To be called for PERF_RECORD_FINISHED_ROUND. */
int order_round(struct order *order, order_take *take, void *context);
/* Delivers the rest. */
int order_finish(struct order *order, order_take *take, void *context);

#endif
