/* SPDX-License-Identifier: MIT */
/*
 * What the requests of one channel may cost the collector when nothing comes of them. A task that asks for events pays
 * for its start itself; a request that is refused, or tells of what happened, costs its sender next to nothing, and
 * somebody could send a million a second. Thread-safe. A window is a tenth of a second. With each one BUDGET_REFILL_NS
 * of what came to nothing are forgotten, and all that was told.
 */
#ifndef COLLECTOR_SERVICE_BUDGET_H
#define COLLECTOR_SERVICE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t window_ns;  /* atomic: when the current tenth of a second began */
    uint64_t wasted_ns;  /* atomic: CPU time for requests that came to nothing, and is not forgotten */
    uint32_t told;       /* atomic: requests that open nothing: exec generations, ends, of who is covered */
    uint64_t held;       /* atomic: how often the limit was met */
};

enum {
    BUDGET_WINDOW_NS = 100 * 1000 * 1000,
    BUDGET_REFILL_NS = 1500 * 1000,        /* forgotten with each window: 1.5 % of a CPU... */
    BUDGET_WASTED_NS = 6 * 1000 * 1000,    /* ... and so much at once: in storms tasks end before they are heard */
    BUDGET_TOLD_PER_CPU = 250,             /* of each window: twice what fork, exec and exit of `true` reach on a CPU */
};

void budget_waste(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns);
void budget_tell(struct budget *budget, uint64_t now_ns);
/* How long whoever serves the channel shall wait before the next request, in ns; 0: not at all. */
uint64_t budget_wait_ns(struct budget *budget, uint64_t now_ns, unsigned cpus);

#endif
