/* SPDX-License-Identifier: MIT */
/*
 * threads-storm N M [US]: N threads in all, M at a time, each burns US microseconds (default 0); prints how many ran.
 * Each of M lanes starts its next thread when the one before has ended; with "batch" as last word, M threads are
 * started, then M are joined.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "burn.h"

static uint64_t total, burn_us;
static atomic_ullong taken, ran;

static void *once(void *argument)
{
    (void)argument;
    if (burn_us)
        spin_a(burn_cpu() + burn_us * 1000);
    ran++;
    return NULL;
}

/* Starts the next thread when the one before has ended. */
static void *lane(void *argument)
{
    (void)argument;
    while (taken++ < total) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, once, NULL) != 0)
            exit(1);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void batches(uint64_t size)
{
    pthread_t threads[64];
    for (uint64_t done = 0; done < total; done += size) {
        for (uint64_t i = 0; i < size; i++)
            if (pthread_create(&threads[i], NULL, once, NULL) != 0)
                exit(1);
        for (uint64_t i = 0; i < size; i++)
            pthread_join(threads[i], NULL);
    }
}

int main(int argc, char **argv)
{
    total = burn_number(argc > 1 ? argv[1] : NULL, "N");
    uint64_t lanes = burn_number(argc > 2 ? argv[2] : NULL, "M");
    bool batch = argc > 3 && !strcmp(argv[argc - 1], "batch");
    argc -= batch;
    burn_us = argc > 3 ? burn_number(argv[3], "US") : 0;
    pthread_t threads[64];
    if (lanes < 1 || lanes > 64)
        return 2;
    if (batch)
        batches(lanes);
    for (uint64_t i = 0; i < lanes && !batch; i++)
        if (pthread_create(&threads[i], NULL, lane, NULL) != 0)
            return 1;
    for (uint64_t i = 0; i < lanes && !batch; i++)
        pthread_join(threads[i], NULL);
    printf("threads %llu lanes %llu cpu_ns %llu\n", (unsigned long long)ran, (unsigned long long)lanes,
           (unsigned long long)burn_clock(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
