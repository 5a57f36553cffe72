/* SPDX-License-Identifier: MIT */
/*
 * Limits what requests of one channel that come to nothing may cost the collector. A task that asks for events pays for
 * its start itself. A request that is refused, or that only reports something, costs its sender next to nothing, and
 * somebody could send a million a second. Thread-safe. A window is a tenth of a second. Each window forgets
 * BUDGET_REFILL_NS of the waste, and all reports.
 */
#ifndef COLLECTOR_SERVICE_BUDGET_H
#define COLLECTOR_SERVICE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
    uint64_t window_ns; /* atomic: when the current tenth of a second began */
    uint64_t wasted_ns; /* atomic: CPU time of requests that came to nothing, as far as not forgotten */
    uint32_t told;      /* atomic: requests that open nothing: exec generations, ends, those of covered tasks */
    uint64_t held;      /* atomic: how often the limit was reached */
};

enum {
    BUDGET_WINDOW_NS = 100 * 1000 * 1000,
    BUDGET_REFILL_NS = 1500 * 1000,     /* forgotten with each window: 1.5 % of a CPU... */
    BUDGET_WASTED_NS = 6 * 1000 * 1000, /* ... and so much at once: in storms tasks end before they are served */
    BUDGET_TOLD_PER_CPU = 250,          /* per window: twice what fork, exec and exit of `true` reach on a CPU */
};

void budget_waste(struct budget *budget, uint64_t now_ns, uint64_t cpu_ns);
void budget_tell(struct budget *budget, uint64_t now_ns);
/* How long a worker must wait before it serves the channel's next request, in ns; 0: not at all. */
uint64_t budget_wait_ns(struct budget *budget, uint64_t now_ns, unsigned cpus);

#endif
