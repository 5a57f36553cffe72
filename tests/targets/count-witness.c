/* SPDX-License-Identifier: MIT */
/*
 * What counters are compared with: a known number of page faults or context switches.
 *
 *     count-witness pages N [threads|children|exec M]    touches N new pages; with M: thread or child i touches i * N
 *     count-witness rounds N                             two threads pass a byte to and fro N times, on one CPU
 *
 * Prints a line "TID COUNT" for each task.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 64 };

static size_t number, page;
static int ways[2][2];

static void tell(size_t count)
{
    char line[64];
    int size = snprintf(line, sizeof(line), "%d %zu\n", (int)gettid(), count);
    if (write(1, line, (size_t)size) != size)
        exit(1);
}

static void touch(size_t pages)
{
    char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, pages * page, MADV_NOHUGEPAGE); /* fails where there are no huge pages */
    for (size_t i = 0; i < pages; i++)
        ((volatile char *)memory)[i * page] = 1;
    tell(pages);
}

static void *touch_in_thread(void *index)
{
    touch((uintptr_t)index * number);
    return NULL;
}

static void run_threads(uintptr_t count)
{
    pthread_t threads[MOST];
    for (uintptr_t i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, touch_in_thread, (void *)(i + 1)))
            exit(1);
    for (uintptr_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void run_children(size_t count)
{
    for (size_t i = 1; i <= count; i++)
        if (fork() == 0) {
            touch(i * number);
            exit(0);
        }
    while (wait(NULL) > 0)
        ;
}

/* Programs of one process: each touches N pages. */
static void run_programs(char **argv)
{
    char left[24];
    size_t count = strtoul(argv[4], NULL, 10);
    touch(number);
    if (count <= 1)
        return;
    snprintf(left, sizeof(left), "%zu", count - 1);
    execl("/proc/self/exe", argv[0], argv[1], argv[2], argv[3], left, (char *)NULL);
    exit(1);
}

static void *play(void *side)
{
    const int mine = side != NULL;
    char byte = 0;
    for (size_t i = 0; i < number; i++)
        if ((mine && read(ways[0][0], &byte, 1) != 1) || write(ways[mine][1], &byte, 1) != 1 ||
            (!mine && read(ways[1][0], &byte, 1) != 1))
            exit(1);
    tell(number);
    return NULL;
}

static void run_rounds(void)
{
    pthread_t other;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    sched_setaffinity(0, sizeof(cpus), &cpus);
    if (pipe(ways[0]) || pipe(ways[1]) || pthread_create(&other, NULL, play, &number))
        exit(1);
    play(NULL);
    pthread_join(other, NULL);
}

int main(int argc, char **argv)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    number = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    size_t count = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    if (!number || count > MOST)
        return 1;
    if (strcmp(argv[1], "rounds") == 0)
        run_rounds();
    else if (argc < 5)
        touch(number);
    else if (strcmp(argv[3], "threads") == 0)
        run_threads(count);
    else if (strcmp(argv[3], "children") == 0)
        run_children(count);
    else
        run_programs(argv);
    return 0;
}
