/* SPDX-License-Identifier: MIT */
/*
 * storm forks N WIDTH THREADS: N children, WIDTH at a time, each starts THREADS threads one after another; "kill" as
 * last word kills every eighth child as soon as it exists, "waits" prints how often its children went to sleep. Prints
 * "begun", 16 lines "at K" meanwhile, and at the end what happened.
 * storm live N: N threads at the same time.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "burn.h"

enum { PARTS = 16, KILLED = 8, STACK = 65536 };

struct forks {
    uint64_t total, width, threads;
    bool kills, waits;
    uint64_t live, failed, killed;
};

static void *nothing(void *argument)
{
    return argument;
}

static int child(uint64_t threads)
{
    for (uint64_t i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}

static void reap(struct forks *forks)
{
    int status;
    if (wait(&status) < 0)
        exit(3);
    forks->live--;
    if (WIFSIGNALED(status))
        forks->killed += WTERMSIG(status) == SIGKILL;
    else
        forks->failed += status != 0;
}

static void start(struct forks *forks, uint64_t number)
{
    pid_t pid = fork();
    if (pid < 0)
        exit(4);
    if (pid == 0)
        _exit(child(forks->threads));
    forks->live++;
    if (forks->kills && number % KILLED == 0)
        kill(pid, SIGKILL);
}

static int run_forks(struct forks *forks)
{
    uint64_t begun = burn_clock(CLOCK_MONOTONIC);
    printf("begun\n");
    fflush(stdout);
    for (uint64_t i = 0; i < forks->total; i++) {
        if (i % (forks->total / PARTS + 1) == 0) {
            printf("at %llu\n", (unsigned long long)i);
            fflush(stdout);
        }
        if (forks->live == forks->width)
            reap(forks);
        start(forks, i);
    }
    while (forks->live > 0)
        reap(forks);
    printf("children %llu failed %llu killed %s\n", (unsigned long long)forks->total, (unsigned long long)forks->failed,
           forks->killed ? "some" : "none");
    printf("wall_ms %llu\n", (unsigned long long)((burn_clock(CLOCK_MONOTONIC) - begun) / MS));
    if (forks->waits) {
        struct rusage usage;
        getrusage(RUSAGE_CHILDREN, &usage);
        printf("waits %ld\n", usage.ru_nvcsw);
    }
    return forks->failed != 0;
}

static pthread_barrier_t all_there;

static void *be_there(void *argument)
{
    pthread_barrier_wait(&all_there);
    return argument;
}

static int run_live(uint64_t count)
{
    pthread_t *threads = calloc(count, sizeof(*threads));
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_barrier_init(&all_there, NULL, (unsigned)count + 1);
    for (uint64_t i = 0; threads && i < count; i++)
        if (pthread_create(&threads[i], &attr, be_there, NULL) != 0)
            return 1;
    pthread_barrier_wait(&all_there);
    for (uint64_t i = 0; threads && i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    printf("threads %llu\n", (unsigned long long)count);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "live"))
        return run_live(burn_number(argv[2], "N"));
    if (argc < 5 || strcmp(argv[1], "forks") != 0)
        return 64;
    struct forks forks = {.total = burn_number(argv[2], "N"),
                          .width = burn_number(argv[3], "WIDTH"),
                          .threads = burn_number(argv[4], "THREADS"),
                          .kills = argc > 5 && !strcmp(argv[5], "kill"),
                          .waits = argc > 5 && !strcmp(argv[5], "waits")};
    return run_forks(&forks);
}
