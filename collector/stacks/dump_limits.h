/* SPDX-License-Identifier: MIT */
/*
 * Whose stack dumps are smaller than others', since the collector could not keep up with what his tasks wrote: one user
 * for himself, so that nobody makes the dumps of others smaller.
 */
#ifndef COLLECTOR_STACKS_DUMP_LIMITS_H
#define COLLECTOR_STACKS_DUMP_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

/* Users whose dumps are smaller at the same time; further ones keep theirs. */
enum { DUMP_LIMITS = 32 };

/* Written by the event loop's thread. */
struct dump_limits {
    uint32_t count;                   /* atomic: an entry behind it is free */
    uint64_t entries[DUMP_LIMITS];    /* atomic: the user in the upper half, bytes in the lower; 0: free */
    uint64_t changed_ns[DUMP_LIMITS]; /* private to the event loop: it went up or down then, or should have */
};

/* Bytes of stack at most for a task that comes, of process PID; 0: as many as others. Any thread. */
uint32_t dump_limits_find(const struct dump_limits *limits, pid_t pid);
/*
 * A task of process PID lost samples, NOW_NS: half as many bytes as up to now (DUMP, where its user has no limit),
 * twice a second at most. Returns the new limit; 0: nothing changed.
 */
uint32_t dump_limits_lower(struct dump_limits *limits, pid_t pid, uint32_t dump, uint64_t now_ns);
/* Twice as many for who lost nothing for half a minute, until it is DUMP again. */
void dump_limits_raise(struct dump_limits *limits, uint32_t dump, uint64_t now_ns);

#endif
