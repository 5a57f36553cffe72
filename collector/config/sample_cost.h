/* SPDX-License-Identifier: MIT */
/*
 * What samples cost a task, and which rate that leaves (-F auto). A clock event has a timer: each sample is an interrupt,
 * and each switch to the task programs the timer anew if it expires before the next tick of the scheduler.
 */
#ifndef COLLECTOR_CONFIG_SAMPLE_COST_H
#define COLLECTOR_CONFIG_SAMPLE_COST_H

#include <stdbool.h>
#include <stdint.h>

struct perf_event_attr;

/* All in ns. If sample_ns is 0, nothing was measured. */
struct sample_cost {
    uint64_t sample_ns;  /* a sample, with its interrupt */
    uint64_t program_ns; /* a switch to a task and away from it, if its timer expires before the next tick */
    uint64_t tick_ns;    /* between two ticks */
    uint64_t unwind_ns;  /* how long pinject-run follows the stack of a sample, on average; 0: there are no stacks */
};

/* The first unwind_ns, where stacks are dumped: that of a virtual machine of 2026. */
enum { SAMPLE_COST_UNWIND_NS = 30000 };

/* Samples per second of CPU time. */
enum { SAMPLE_COST_LEAST_HZ = 99, SAMPLE_COST_MOST_HZ = 999 };

/*
 * Measures for two milliseconds with ATTR, of a clock event, on the calling thread. What cannot be measured is what a
 * virtual machine of 2026 has, where each is dear.
 */
void sample_cost_measure(const struct perf_event_attr *attr, struct sample_cost *ret);
/* The stack of one more sample took TOOK_NS: unwind_ns follows that slowly. */
void sample_cost_unwound(struct sample_cost *cost, uint64_t took_ns);
/*
 * The period, in ns of CPU time, at which samples (with what pinject-run does with them) and switches together cost 2 %
 * of the time of a task that was switched to SWITCHES times in CPU_NS of CPU time, within the limits of rates above.
 */
uint64_t sample_cost_period(const struct sample_cost *cost, uint64_t switches, uint64_t cpu_ns);

#endif
