/* SPDX-License-Identifier: MIT */
/*
 * CPU time of the whole machine, from /proc/stat: what programs outside of the session use, and what the host of a
 * virtual machine takes away (steal). The kernel's task-clock counts the latter, its accounting (rusage) does not: then
 * the tasks of a tree have more CPU time than the tree.
 */
#ifndef COLLECTOR_SYSTEM_MACHINE_TIME_H
#define COLLECTOR_SYSTEM_MACHINE_TIME_H

#include <stdint.h>

/* Of all CPUs since boot, in steps of a clock tick (10 ms); 0: unknown. */
struct machine_time {
    uint64_t at_ns;     /* CLOCK_MONOTONIC, when it was read */
    uint64_t busy_ns;   /* user, nice, system, including kernel threads; without interrupts */
    uint64_t stolen_ns; /* steal */
    uint64_t own_ns;    /* CPU time of this process by then */
};

void machine_time_read(struct machine_time *ret);
/* Busy and stolen time from the text of /proc/stat; TICKS: in a second. */
void machine_time_parse(const char *text, uint64_t ticks, struct machine_time *ret);
/* What other programs used from BEFORE to AFTER, if the session and the collector used OWN_NS. */
uint64_t machine_time_others(const struct machine_time *before, const struct machine_time *after, uint64_t own_ns);
/* How much of MORE_NS, by which tasks have more CPU time than their tree, STOLEN_NS explains. The rest is an error. */
uint64_t machine_time_explains(uint64_t more_ns, uint64_t stolen_ns);

#endif
