/* SPDX-License-Identifier: MIT */
/*
 * Limits the time that the event loop reads unwind tables. A user chooses what is in a file, and a file that is touched
 * is a new one. So the files of each user have a share of the time: 0.2 s at once, then 5 % of the time. It is this
 * thread's CPU time, and the disk's time for what was not in memory: a loaded machine takes nothing of it.
 *
 * Context: one thread at a time.
 */
#ifndef COLLECTOR_STACKS_TABLE_TIME_H
#define COLLECTOR_STACKS_TABLE_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define TABLE_TIME_NS INT64_C(200000000)
enum { TABLE_TIME_SHARE = 20, TABLE_USERS = 32 };

struct table_user {
    uid_t user; /* -1: of processes that ended before their user was known */
    int64_t left_ns;
    uint64_t at_ns; /* time of left_ns; 0: nothing was read so far */
};

/* Zeroed: nothing was read. */
struct table_time {
    struct table_user users[TABLE_USERS]; /* further users share the last place */
    unsigned count;
    uint64_t put_off; /* files that were not read at once, for want of time */
    uint64_t began_ns;
};

struct table_user *table_time_of(struct table_time *time, uid_t user);
/* False: USER's files have used their share. Otherwise table_time_end() follows. */
bool table_time_begin(struct table_time *time, struct table_user *user, uint64_t now_ns);
void table_time_end(struct table_time *time, struct table_user *user);

#endif
