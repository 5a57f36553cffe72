/* SPDX-License-Identifier: MIT */
/*
 * What the host of a virtual machine takes away. The kernel's task-clock counts it, its accounting (rusage) does not:
 * the tasks of a tree then have more CPU time than the tree.
 */
#ifndef COLLECTOR_STEAL_H
#define COLLECTOR_STEAL_H

#include <stdint.h>

/* Taken from all CPUs since the start of the machine; 0: nothing, or not known. */
uint64_t steal_ns(void);
/* The same from the text of /proc/stat, where a second has TICKS. */
uint64_t steal_parse(const char *text, uint64_t ticks);
/* How much of MORE_NS, by which tasks have more CPU time than their tree, STOLEN_NS explains: the rest is an error. */
uint64_t steal_explains(uint64_t more_ns, uint64_t stolen_ns);

#endif
