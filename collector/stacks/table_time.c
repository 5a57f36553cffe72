/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/stacks/table_time.h"

#include <sys/resource.h>

enum { BLOCK_NS = 2500 }; /* a block of 512 bytes, from a disk of 200 MB/s */

static uint64_t of_time(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

/* What this thread has used so far. */
static uint64_t used_ns(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) < 0)
        return 0;
    return of_time(&usage.ru_utime) + of_time(&usage.ru_stime) + (uint64_t)usage.ru_inblock * BLOCK_NS;
}

struct table_user *table_time_of(struct table_time *time, uid_t user)
{
    for (unsigned i = 0; i < time->count; i++)
        if (time->users[i].user == user)
            return &time->users[i];
    if (time->count == TABLE_USERS)
        return &time->users[TABLE_USERS - 1];
    struct table_user *ret = &time->users[time->count++];
    *ret = (struct table_user){.user = user, .left_ns = TABLE_TIME_NS};
    return ret;
}

bool table_time_begin(struct table_time *time, struct table_user *user, uint64_t now_ns)
{
    if (user->at_ns)
        user->left_ns += (int64_t)((now_ns - user->at_ns) / TABLE_TIME_SHARE);
    user->at_ns = now_ns;
    if (user->left_ns > TABLE_TIME_NS)
        user->left_ns = TABLE_TIME_NS;
    const bool has_time = user->left_ns > 0;
    time->began_ns = has_time ? used_ns() : 0;
    return has_time;
}

void table_time_end(struct table_time *time, struct table_user *user)
{
    user->left_ns -= (int64_t)(used_ns() - time->began_ns);
}
