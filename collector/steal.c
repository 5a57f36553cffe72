/* SPDX-License-Identifier: MIT */
#include "collector/steal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, COLUMNS, /* of /proc/stat */
    ROUNDING_NS = 10 * 1000, /* wait(2) tells microseconds, and user and system time apart */
};

uint64_t steal_parse(const char *text, uint64_t ticks)
{
    unsigned long long columns[COLUMNS];
    if (sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &columns[USER], &columns[NICE], &columns[SYSTEM],
               &columns[IDLE], &columns[IOWAIT], &columns[IRQ], &columns[SOFTIRQ], &columns[STEAL]) != COLUMNS)
        return 0;
    return ticks ? columns[STEAL] * (UINT64_C(1000000000) / ticks) : 0;
}

uint64_t steal_ns(void)
{
    char text[512];
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    long ticks = sysconf(_SC_CLK_TCK);
    if (fd >= 0)
        close(fd);
    if (size <= 0 || ticks <= 0)
        return 0;
    text[size] = '\0';
    return steal_parse(text, (uint64_t)ticks);
}

uint64_t steal_explains(uint64_t more_ns, uint64_t stolen_ns)
{
    uint64_t most = stolen_ns + ROUNDING_NS;
    return more_ns < most ? more_ns : most;
}
