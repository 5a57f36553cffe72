/* SPDX-License-Identifier: MIT */
#include "collector/sources/inherited_ring.h"

enum {
    LOOK_NS = 20 * 1000 * 1000,
    /* The host may take a virtual CPU away in the middle of a record, with interrupts off; hardly for so long. */
    STOPPED_NS = 100 * 1000 * 1000,
    /* A stopped ring runs full, and then loses records. So once fresh records behind data_head fill one FILLED_PART of
       it, it is replaced after FILLED_NS already: at worst this loses the one record that was being written. */
    FILLED_PART = 4,
    FILLED_NS = 5 * 1000 * 1000,
    LOOK_AGAIN_NS = 2 * 1000 * 1000,
    /*
     * A record may be a little older than one before it. What is left from the last round is older by a round, which
     * takes more than so long for each byte: the smallest record, of 40 bytes, takes the kernel some 300 ns.
     */
    SKEW_NS_PER_BYTE = 3,
    /* A record written from another CPU, which was taken away, may be much older: those behind it are not. */
    LOOK_AT = 8,
};

void inherited_ring_init(struct inherited_ring *ring, void *page, const void *data, uint64_t size,
                         const struct records_layout *layout, const uint64_t *ids)
{
    *ring = (struct inherited_ring){.layout = layout, .ids = ids};
    pinject_ring_init(&ring->ring, page, data, size);
    ring->ring.immutable = true;
}

bool inherited_ring_begin(struct inherited_ring *ring)
{
    return pinject_ring_begin(&ring->ring);
}

void inherited_ring_end(struct inherited_ring *ring)
{
    ring->behind_ns = 0;
    pinject_ring_end(&ring->ring);
}

static uint64_t time_of(const struct inherited_ring *ring, const struct perf_event_header *record)
{
    return records_time(ring->layout, records_event(ring->layout, ring->ids, record), record);
}

const struct perf_event_header *inherited_ring_next(struct inherited_ring *ring, void *scratch)
{
    const struct perf_event_header *record;
    do
        record = pinject_ring_next(&ring->ring, scratch);
    while (record && !records_check(ring->layout, record));
    if (record) {
        const uint64_t time = time_of(ring, record);
        ring->newest_ns = time > ring->newest_ns ? time : ring->newest_ns;
    }
    return record;
}

/* The record at AT, or NULL; *ret_fresh: it was written after the youngest that was read. */
static const struct perf_event_header *peek(const struct inherited_ring *ring, uint64_t at, uint64_t now_ns,
                                            void *scratch, bool *ret_fresh)
{
    struct perf_event_header *record = scratch;
    pinject_ring_copy(&ring->ring, at, record, sizeof(*record));
    if (record->size < sizeof(*record) || record->size % 8 != 0 || record->size > ring->ring.size)
        return NULL;
    pinject_ring_copy(&ring->ring, at, record, record->size);
    if (!records_check(ring->layout, record))
        return NULL;
    const uint64_t time = time_of(ring, record);
    *ret_fresh = time != 0 && time <= now_ns && time + SKEW_NS_PER_BYTE * ring->ring.size > ring->newest_ns;
    return record;
}

static bool is_behind(const struct inherited_ring *ring, uint64_t now_ns, void *scratch)
{
    const struct perf_event_header *record;
    uint64_t at = ring->ring.tail;
    for (unsigned i = 0; i < LOOK_AT; i++, at += record->size) {
        bool fresh;
        if (!(record = peek(ring, at, now_ns, scratch, &fresh)))
            return false;
        if (fresh)
            return true;
    }
    return false;
}

/* Are fresh records in one FILLED_PART of the ring, or more? */
static bool is_filled(const struct inherited_ring *ring, uint64_t now_ns, void *scratch)
{
    const struct perf_event_header *record;
    uint64_t at = ring->ring.tail, fresh_end = at;
    for (unsigned old = 0; old < LOOK_AT && at - ring->ring.tail < ring->ring.size / FILLED_PART; at += record->size) {
        bool fresh;
        if (!(record = peek(ring, at, now_ns, scratch, &fresh)))
            break;
        old = fresh ? 0 : old + 1;
        fresh_end = fresh ? at + record->size : fresh_end;
    }
    return fresh_end - ring->ring.tail >= ring->ring.size / FILLED_PART;
}

bool inherited_ring_has_stopped(struct inherited_ring *ring, uint64_t now_ns, bool ended, void *scratch)
{
    if (ring->ring.broken)
        return true;
    if (!ended && now_ns < ring->look_ns)
        return false;
    ring->look_ns = now_ns + LOOK_NS;
    if (!is_behind(ring, now_ns, scratch)) {
        ring->behind_ns = 0;
        return false;
    }
    if (!ring->behind_ns)
        ring->behind_ns = now_ns;
    ring->look_ns = now_ns + LOOK_AGAIN_NS;
    const uint64_t behind = now_ns - ring->behind_ns;
    return ended || behind >= STOPPED_NS || (behind >= FILLED_NS && is_filled(ring, now_ns, scratch));
}

const struct perf_event_header *inherited_ring_next_behind(struct inherited_ring *ring, uint64_t now_ns, void *scratch)
{
    /* All of the room may have been written to, and no more. */
    const uint64_t given = __atomic_load_n(&ring->ring.page->data_tail, __ATOMIC_RELAXED);
    bool fresh;
    if (ring->ring.broken || !is_behind(ring, now_ns, scratch))
        return NULL;
    const struct perf_event_header *record = peek(ring, ring->ring.tail, now_ns, scratch, &fresh);
    if (!record || record->size > given + ring->ring.size - ring->ring.tail)
        return NULL;
    ring->ring.tail += record->size;
    const uint64_t time = time_of(ring, record);
    ring->newest_ns = time > ring->newest_ns ? time : ring->newest_ns;
    return record;
}
