/* SPDX-License-Identifier: MIT */
/*
 * Brings records into the order of their times. perf writes what it found in the rings of several CPUs one after the
 * other, and promises with FINISHED_ROUND that nothing older than the last but one round comes any more. Records are
 * kept by address when they stay where they are, else copied.
 */
#ifndef ANALYZE_READ_ORDER_H
#define ANALYZE_READ_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buffer.h"

struct order_entry {
    uint64_t time;
    const unsigned char *stable; /* the record, or NULL: a copy at `copy` */
    size_t copy;
    uint32_t sequence;           /* of equal times the first one first */
    uint32_t size;
};

struct order {
    struct order_entry *entries;
    uint32_t count, capacity;
    bool sorted;
    struct buffer bytes, spare;
    size_t held;                 /* bytes of memory that the entries stand for */
    size_t limit;                /* beyond that the older half goes on its way */
    uint64_t newest, round;      /* newest of all, and of all at the end of the last round */
};

/* Gets each record in order; stops when it returns anything but 0. */
typedef int order_take(void *context, const unsigned char *record, size_t size);

void order_init(struct order *order, size_t limit);
void order_release(struct order *order);
/* RECORD must live until it was delivered when STABLE. 0, -ENOMEM, or what TAKE returned. */
int order_push(struct order *order, uint64_t time, const unsigned char *record, size_t size, bool stable,
               order_take *take, void *context);
/* PERF_RECORD_FINISHED_ROUND. */
int order_round(struct order *order, order_take *take, void *context);
/* Delivers everything that is left. */
int order_finish(struct order *order, order_take *take, void *context);

#endif
