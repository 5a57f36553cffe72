/* SPDX-License-Identifier: MIT */
#include "collector/system/known.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/system/procfs.h"
#include "common/clock.h"

enum { STAT_MAX = 4096, CLOCK_NS = 1000 * 1000 };

/* KNOWN_NS in the kernel's ticks since boot, the unit of a task's start. */
static uint64_t last_tick(uint64_t known_ns)
{
    uint64_t second = 1000000000, now = clock_ns(CLOCK_MONOTONIC), boot = clock_ns(CLOCK_BOOTTIME);
    return (known_ns + (boot - now) + CLOCK_NS) / (second / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Parses what is after its name, which may have anything in it. */
static bool parse_stat(const char *text, struct known_task *ret, unsigned long long *ret_start)
{
    const char *rest = strrchr(text, ')');
    unsigned long long faults;
    if (!rest || sscanf(rest, ") %c %d %*d %*d %*d %*d %*u %*u %llu %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                        &ret->state, &ret->parent, &faults, ret_start) != 4)
        return false;
    ret->waited = faults > 0;
    return true;
}

int known_look(pid_t pid, pid_t tid, uint64_t known_ns, struct known_task *ret)
{
    char name[48];
    unsigned long long start;
    struct known_task task = {0};
    snprintf(name, sizeof(name), "task/%d/stat", (int)tid);
    char *text = procfs_read(pid, name, STAT_MAX, NULL);
    bool seen = text && parse_stat(text, &task, &start);
    free(text);
    if (!seen)
        return -ENOENT;
    if (known_ns && start > last_tick(known_ns))
        return -ESRCH;
    *ret = task;
    return 0;
}
