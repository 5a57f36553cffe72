/* SPDX-License-Identifier: MIT */
/*
 * The consumer's side of a ring that the kernel's perf fills, or any producer that follows the same protocol.
 *
 * Only the producer writes data_head: it writes records first and the head after them. Only the consumer writes
 * data_tail: the producer may overwrite what is before it. Both only grow; a position in the ring is their remainder
 * modulo the size, which is a power of two. The consumer distrusts the ring: it loads the head once per round and a
 * record's size once per record, checks both, and gives up a ring that makes no sense. One thread at a time.
 */
#ifndef PINJECT_RING_H
#define PINJECT_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* perf_event_header.size is 16 bits wide. */
enum { PINJECT_RING_RECORD_MAX = 65536 };

struct pinject_ring {
    struct perf_event_mmap_page *page;
    const unsigned char *data;
    uint64_t size;  /* bytes of data, a power of two */
    uint64_t head;  /* as of pinject_ring_begin() */
    uint64_t tail;  /* the consumer's own value: data_tail is never read back */
    bool broken;    /* given up: no more records are read */
    bool immutable; /* only the kernel writes: a record never changes. Set after pinject_ring_init() */
};

/* The ring is broken if SIZE, the size of DATA, is not a power of two. */
static inline void pinject_ring_init(struct pinject_ring *ring, void *page, const void *data, uint64_t size)
{
    ring->page = (struct perf_event_mmap_page *)page;
    ring->data = (const unsigned char *)data;
    ring->size = size;
    ring->head = 0;
    ring->tail = 0;
    ring->immutable = false;
    ring->broken = size < sizeof(struct perf_event_header) || (size & (size - 1)) != 0;
}

/* Starts a round. True when there are records. */
static inline bool pinject_ring_begin(struct pinject_ring *ring)
{
    if (ring->broken)
        return false;
    /* Pairs with the producer's barrier between the records and the head: the records are complete. */
    ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    if (ring->head - ring->tail > ring->size)
        ring->broken = true;
    return !ring->broken && ring->head != ring->tail;
}

static inline void pinject_ring_copy(const struct pinject_ring *ring, uint64_t at, void *to, size_t size)
{
    uint64_t start = at & (ring->size - 1);
    size_t first = size < ring->size - start ? size : (size_t)(ring->size - start);
    memcpy(to, ring->data + start, first);
    memcpy((unsigned char *)to + first, ring->data, size - first);
}

/*
 * The next record of the round, or NULL at its end or when the ring is broken. The record is copied to SCRATCH
 * (PINJECT_RING_RECORD_MAX bytes, aligned to 8), so that the checked bytes are the used bytes. In an immutable ring
 * only a record that wraps around is copied; the others stay in the ring, valid until pinject_ring_end().
 */
static inline const struct perf_event_header *pinject_ring_next(struct pinject_ring *ring, void *scratch)
{
    struct perf_event_header header;
    uint64_t left = ring->head - ring->tail;
    if (ring->broken || left == 0)
        return NULL;
    if (left < sizeof(header)) {
        ring->broken = true;
        return NULL;
    }
    pinject_ring_copy(ring, ring->tail, &header, sizeof(header));
    if (header.size < sizeof(header) || header.size % 8 != 0 || header.size > left) {
        ring->broken = true;
        return NULL;
    }
    const uint64_t start = ring->tail & (ring->size - 1);
    if (ring->immutable && header.size <= ring->size - start) {
        ring->tail += header.size;
        return (const struct perf_event_header *)(const void *)(ring->data + start);
    }
    pinject_ring_copy(ring, ring->tail, scratch, header.size);
    memcpy(scratch, &header, sizeof(header)); /* the checked header; not read twice */
    ring->tail += header.size;
    return (const struct perf_event_header *)scratch;
}

/* Ends a round: returns the space of the records that were read to the producer. */
static inline void pinject_ring_end(struct pinject_ring *ring)
{
    /* Pairs with the producer's control dependency on the tail: our reads complete before it writes there again. */
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

#endif
