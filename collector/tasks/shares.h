/* SPDX-License-Identifier: MIT */
/*
 * What the processes of one user make the event loop do and hold, so that one user takes nothing from another.
 * Context: the event loop's thread.
 */
#ifndef COLLECTOR_TASKS_SHARES_H
#define COLLECTOR_TASKS_SHARES_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/records/space.h"

/* The users of channels, and one for all whose user is not known. */
enum { SHARES = 33 };

struct share {
    uid_t user;
    struct space_room room;     /* of what they have mapped */
    uint64_t round, unwound_ns; /* in that round: how long stacks of such rings were unwound */
    uint64_t told_second, told; /* in that second: bytes of copies of mappings, and comparisons (drain.c) */
};

/* Zeroed: nobody did anything. */
struct shares {
    struct share own;           /* of the collector's user, and of whom no channel tells */
    struct share users[SHARES - 1]; /* those beyond share the last place */
    unsigned count;
};

struct share *shares_of(struct shares *shares, uid_t user);
/* Mappings of all that found no room. */
uint64_t shares_refused(const struct shares *shares);

#endif
