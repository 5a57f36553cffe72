/* SPDX-License-Identifier: MIT */
/*
 * What the processes of one user make the event loop do and hold, so that no user takes anything from another. Context:
 * the event loop's thread.
 */
#ifndef COLLECTOR_TASKS_SHARES_H
#define COLLECTOR_TASKS_SHARES_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/records/space.h"

/* The users of channels, and one share for all whose user is unknown. */
enum { SHARES = 33 };

struct share {
    uid_t user;
    struct space_quota quota;   /* of what they have mapped */
    uint64_t round, unwound_ns; /* in that round: how long stacks of such rings were unwound */
    uint64_t told_second, told; /* in that second: bytes of copies of mappings, and comparisons (task_file.c) */
};

/* Zeroed: nobody did anything. */
struct shares {
    struct share own;               /* of the collector's user, and of tasks whose user no channel shows */
    struct share users[SHARES - 1]; /* further users share the last place */
    unsigned count;
};

struct share *shares_of(struct shares *shares, uid_t user);
/* Mappings that exceeded their quotas, of all users. */
uint64_t shares_refused(const struct shares *shares);

#endif
