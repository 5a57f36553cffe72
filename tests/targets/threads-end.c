/* SPDX-License-Identifier: MIT */
/*
 * threads-end [MS]: eight threads burn MS, 2 MS ... 8 MS (default 30) and end one after the other, in different ways:
 * return, pthread_exit, cancelled. Prints "thread tid N cpu_ns N ms N how" for each.
 */
#include <pthread.h>

#include "burn.h"

#define THREADS 8

struct task {
    pthread_t thread;
    uint64_t ms;
    int number;
};

static const char *const ways[] = {"return", "exit", "cancel"};

static void *work(void *argument)
{
    const struct task *task = argument;
    const char *way = ways[task->number % 3];
    spin_both(task->ms * MS);
    printf("thread tid %d cpu_ns %llu ms %llu %s\n", burn_tid(), (unsigned long long)burn_cpu(),
           (unsigned long long)task->ms, way);
    if (*way == 'e')
        pthread_exit(NULL);
    while (*way == 'c')
        pause();
    return NULL;
}

int main(int argc, char **argv)
{
    uint64_t ms = argc > 1 ? burn_number(argv[1], "MS") : 30;
    struct task tasks[THREADS];
    for (int i = 0; i < THREADS; i++) {
        tasks[i] = (struct task){.ms = ms * (uint64_t)(i + 1), .number = i};
        if (pthread_create(&tasks[i].thread, NULL, work, &tasks[i]) != 0)
            return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        if (*ways[i % 3] == 'c')
            pthread_cancel(tasks[i].thread);
        pthread_join(tasks[i].thread, NULL);
    }
    printf("process pid %d cpu_ns %llu\n", (int)getpid(), (unsigned long long)burn_clock(CLOCK_PROCESS_CPUTIME_ID));
    return 0;
}
