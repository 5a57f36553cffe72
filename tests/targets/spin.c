/* SPDX-License-Identifier: MIT */
/* spin MS [THREADS]: each thread burns MS of CPU time, 2/3 of it in spin_a; prints "pid tid cpu_ns" of each thread. */
#include <pthread.h>

#include "burn.h"

static void *spin_thread(void *argument)
{
    spin_both(*(const uint64_t *)argument);
    printf("thread pid %d tid %d cpu_ns %llu\n", (int)getpid(), burn_tid(), (unsigned long long)burn_cpu());
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t ns = burn_number(argc > 1 ? argv[1] : NULL, "MS") * MS;
    uint64_t threads = argc > 2 ? burn_number(argv[2], "THREADS") : 1;
    pthread_t others[256];
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
