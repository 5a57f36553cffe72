/* SPDX-License-Identifier: MIT */
/*
 * Users whose stack dumps are smaller, because the collector could not keep up with their tasks. By user, so that
 * nobody makes the dumps of others smaller.
 */
#ifndef COLLECTOR_STACKS_DUMP_LIMITS_H
#define COLLECTOR_STACKS_DUMP_LIMITS_H

#include <stdint.h>
#include <sys/types.h>

/* Users whose dumps are smaller at the same time; further ones keep theirs. */
enum { DUMP_LIMITS = 32 };

/* Written by the event loop's thread. */
struct dump_limits {
    uint32_t count;                   /* atomic: entries from there on are free */
    uint64_t entries[DUMP_LIMITS];    /* atomic: the user in the upper half, bytes in the lower; 0: free */
    uint64_t changed_ns[DUMP_LIMITS]; /* private to the event loop: when the limit changed, or should have changed */
};

/* At most so many bytes of stack for a new task of process PID; 0: no limit. Any thread. */
uint32_t dump_limits_find(const struct dump_limits *limits, pid_t pid);
/*
 * A task of process PID lost samples at NOW_NS: halves its user's limit (DUMP if there is none), twice a second at
 * most. Returns the new limit; 0: nothing changed.
 */
uint32_t dump_limits_lower(struct dump_limits *limits, pid_t pid, uint32_t dump, uint64_t now_ns);
/* Doubles the limit of users that lost nothing for half a minute, until it is DUMP again. */
void dump_limits_raise(struct dump_limits *limits, uint32_t dump, uint64_t now_ns);

#endif
