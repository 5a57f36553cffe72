/* SPDX-License-Identifier: MIT */
/*
 * When the event loop reads the rings of inherited events. The kernel wakes whoever waits for a ring when it is partly
 * full, but also each time that a task ends, once for each event that writes to the ring, and the task pays for that (8 us
 * of the 500 us that /bin/true takes, measured in a virtual machine). So where many tasks end, the rings are read by the
 * clock instead. Context: the event loop.
 */
#ifndef COLLECTOR_RING_WATCH_H
#define COLLECTOR_RING_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct inherited_sets;

struct ring_watch {
    int epoll; /* not owned */
    struct inherited_sets *sets;
    bool by_clock, filled;
    uint64_t since_ns, seen; /* tasks until then */
};

/* Waits for the rings of SETS, by EPOLL; the tag of that is SETS. 0 or -errno. */
int ring_watch_start(struct ring_watch *watch, int epoll, struct inherited_sets *sets);
/* Is a ring more than half full? Then it is read at once, and not by the clock next time. */
bool ring_watch_is_filling(struct ring_watch *watch);
/* WAIT_MS, or less if the clock says so: for epoll_wait(). */
int ring_watch_wait(const struct ring_watch *watch, int wait_ms);
/* After a round: SEEN tasks have begun so far. */
void ring_watch_choose(struct ring_watch *watch, uint64_t now_ns, uint64_t seen);

#endif
