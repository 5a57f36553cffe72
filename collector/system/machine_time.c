/* SPDX-License-Identifier: MIT */
#include "collector/system/machine_time.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"

enum {
    USER,
    NICE,
    SYSTEM,
    IDLE,
    IOWAIT,
    IRQ,
    SOFTIRQ,
    STEAL,
    COLUMNS,                 /* of /proc/stat */
    ROUNDING_NS = 10 * 1000, /* wait(2) gives microseconds, separately for user and system time */
};

void machine_time_parse(const char *text, uint64_t ticks, struct machine_time *ret)
{
    unsigned long long columns[COLUMNS];
    ret->busy_ns = ret->stolen_ns = 0;
    if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &columns[USER], &columns[NICE], &columns[SYSTEM],
               &columns[IDLE], &columns[IOWAIT], &columns[IRQ], &columns[SOFTIRQ], &columns[STEAL]) != COLUMNS ||
        !ticks)
        return;
    const uint64_t tick_ns = UINT64_C(1000000000) / ticks;
    ret->busy_ns = (columns[USER] + columns[NICE] + columns[SYSTEM]) * tick_ns;
    ret->stolen_ns = columns[STEAL] * tick_ns;
}

void machine_time_read(struct machine_time *ret)
{
    char text[512];
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    long ticks = sysconf(_SC_CLK_TCK);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    machine_time_parse(text, ticks > 0 ? (uint64_t)ticks : 0, ret);
    ret->at_ns = clock_ns(CLOCK_MONOTONIC);
    ret->own_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t machine_time_others(const struct machine_time *before, const struct machine_time *after, uint64_t own_ns)
{
    const uint64_t used = after->busy_ns > before->busy_ns ? after->busy_ns - before->busy_ns : 0;
    return used > own_ns ? used - own_ns : 0;
}

uint64_t machine_time_explains(uint64_t more_ns, uint64_t stolen_ns)
{
    uint64_t most = stolen_ns + ROUNDING_NS;
    return more_ns < most ? more_ns : most;
}
