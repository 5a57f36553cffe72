/* SPDX-License-Identifier: MIT */
/*
 * exits ROUNDS THREADS: in each round two children run at once, each with THREADS threads that burn 1 ms and that
 * exit_group() ends while they run, so that tasks end on several CPUs at the same time. Prints "tasks N cpu_ns N".
 */
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "burn.h"

static void *burn_for_ever(void *argument)
{
    for (;;)
        spin_both(MS);
    return argument;
}

static void be_child(uint64_t threads)
{
    pthread_t thread;
    for (uint64_t i = 1; i < threads; i++)
        if (pthread_create(&thread, NULL, burn_for_ever, NULL) != 0)
            _exit(1);
    spin_both(MS);
    _exit(0);
}

int main(int argc, char **argv)
{
    uint64_t rounds = burn_number(argc > 1 ? argv[1] : NULL, "ROUNDS");
    uint64_t threads = burn_number(argc > 2 ? argv[2] : NULL, "THREADS");
    for (uint64_t i = 0; i < rounds; i++) {
        pid_t children[2];
        for (int k = 0; k < 2; k++) {
            children[k] = fork();
            if (children[k] == 0)
                be_child(threads);
        }
        for (int k = 0; k < 2; k++) {
            int status;
            if (children[k] < 0 || waitpid(children[k], &status, 0) != children[k] || status != 0)
                return 1;
        }
    }
    struct rusage all;
    getrusage(RUSAGE_CHILDREN, &all);
    printf("tasks %llu cpu_ns %llu\n", (unsigned long long)(1 + rounds * 2 * threads),
           (unsigned long long)((uint64_t)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) * 1000000000u +
                                (uint64_t)(all.ru_utime.tv_usec + all.ru_stime.tv_usec) * 1000u +
                                burn_clock(CLOCK_PROCESS_CPUTIME_ID)));
    return 0;
}
