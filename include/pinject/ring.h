/* SPDX-License-Identifier: MIT */
/*
 * The consumer's side of a ring that the kernel's perf fills (or anybody who follows the same protocol).
 *
 * data_head has one writer, the producer: it writes records first and the head after them. data_tail has one writer,
 * us: what lies before it may be overwritten. Both only grow; a position in the ring is their remainder by the (power
 * of two) size. A consumer distrusts the ring: the head is loaded once per round, a record's size once per record, both
 * are checked, and a ring that makes no sense is given up. One thread at a time.
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
    uint64_t size;     /* bytes of data, a power of two */
    uint64_t head;     /* as of pinject_ring_begin() */
    uint64_t tail;     /* ours alone: the copy in the page is never read back */
    bool broken;       /* given up: nothing more is read */
    bool immutable;    /* the kernel alone writes: no record changes once it is there. Set after pinject_ring_init() */
};

/* SIZE of DATA that is no power of two gives a broken ring. */
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

/* Starts a round: true when there are records. */
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
 * (PINJECT_RING_RECORD_MAX bytes, aligned to 8), so that what is checked is what is used. Of an immutable ring it is
 * only copied where it goes over the ring's end: else it lies in the ring, and holds until pinject_ring_end().
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
    memcpy(scratch, &header, sizeof(header)); /* not read twice */
    ring->tail += header.size;
    return (const struct perf_event_header *)scratch;
}

/* Ends a round: gives the space of what was read back. */
static inline void pinject_ring_end(struct pinject_ring *ring)
{
    /* Pairs with the producer's control dependency on the tail: our reads are over before it writes there again. */
    __atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

#endif
