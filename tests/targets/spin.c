/* SPDX-License-Identifier: MIT */
/*
 * spin MS [THREADS [count]]: each thread burns MS of CPU time, 2/3 of it in spin_a; prints "pid tid cpu_ns" of each
 * thread. "count": also what a task-clock event of its own has counted. On a virtual machine the latter has the time
 * that other guests took from it, and the CPU clock has not.
 */
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>

#include "burn.h"

static bool counts;

static void *spin_thread(void *argument)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1};
    const int fd = counts ? (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) : -1;
    uint64_t counted_ns = 0;
    spin_both(*(const uint64_t *)argument);
    const uint64_t cpu_ns = burn_cpu();
    if (counts && read(fd, &counted_ns, sizeof(counted_ns)) != sizeof(counted_ns))
        exit(1);
    char counted[40] = ""; /* with one call, threads do not mix in a line */
    if (counts)
        snprintf(counted, sizeof(counted), " counted_ns %llu", (unsigned long long)counted_ns);
    printf("thread pid %d tid %d cpu_ns %llu%s\n", (int)getpid(), burn_tid(), (unsigned long long)cpu_ns, counted);
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t ns = burn_number(argc > 1 ? argv[1] : NULL, "MS") * MS;
    uint64_t threads = argc > 2 ? burn_number(argv[2], "THREADS") : 1;
    pthread_t others[256];
    counts = argc > 3;
    if (threads < 1 || threads > 256)
        return 2;
    for (uint64_t i = 1; i < threads; i++)
        if (pthread_create(&others[i], NULL, spin_thread, &ns) != 0)
            return 1;
    spin_thread(&ns);
    for (uint64_t i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    printf("process pid %d cpu_ns %llu\n", (int)getpid(), (unsigned long long)burn_clock(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
