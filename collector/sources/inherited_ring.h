/* SPDX-License-Identifier: MIT */
/*
 * The ring of one CPU's inherited events, or of the counts of one event. Measured with Linux 6.18, in every second
 * `go build -a` beside other load: from some moment on the kernel writes records but does not advance data_head. The
 * ring looks empty for ever, and does not report what is lost. The cause: each record is written on that CPU, except the
 * READ records of attr.inherit_stat. A task that ends writes one for each event of each CPU, on the CPU where it ends,
 * and the kernel's writers of a ring exclude each other only on one CPU (rb->nest, local_t). Two tasks that end at the
 * same moment on two CPUs can leave a count of writers that never returns to 0, or two records at one place. Where
 * counts have rings of their own (inherited_open.c), this has not been seen.
 *
 * So we look behind data_head. What was there before, one round through the ring ago, is older than what was read last.
 * A younger record that stays there shows that the ring has stopped. It is read all the same, with those behind it, and
 * the user of the ring maps a new one. Context: under the inherited sets' lock.
 */
#ifndef COLLECTOR_SOURCES_INHERITED_RING_H
#define COLLECTOR_SOURCES_INHERITED_RING_H

#include <pinject/ring.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/records/records.h"

struct inherited_ring {
    struct pinject_ring ring;
    const struct records_layout *layout;
    const uint64_t *ids; /* of the events that write to it */
    uint64_t newest_ns;  /* the time of the youngest record so far */
    uint64_t look_ns;    /* when to look behind data_head again */
    uint64_t behind_ns;  /* since when there is a record; 0: there is none */
};

/* PAGE is the control page of a mapping, DATA its SIZE bytes. LAYOUT and IDS stay the caller's. */
void inherited_ring_init(struct inherited_ring *ring, void *page, const void *data, uint64_t size,
                         const struct records_layout *layout, const uint64_t *ids);
/* Starts a round: true when there are records. inherited_ring_end() gives back the room of what was read. */
bool inherited_ring_begin(struct inherited_ring *ring);
void inherited_ring_end(struct inherited_ring *ring);
/* The next valid record of the round; see pinject_ring_next(). */
const struct perf_event_header *inherited_ring_next(struct inherited_ring *ring, void *scratch);
/* After a round: is the ring damaged, or has it stopped? ENDED: nobody writes to it any more. SCRATCH as above. */
bool inherited_ring_has_stopped(struct inherited_ring *ring, uint64_t now_ns, bool ended, void *scratch);
/* Of a ring that has stopped: the next record behind data_head, or NULL. */
const struct perf_event_header *inherited_ring_next_behind(struct inherited_ring *ring, uint64_t now_ns, void *scratch);

#endif
