/* SPDX-License-Identifier: MIT */
/*
 * Tasks that do the same all the time, so that a part of their time shows what they do in all of it. Most of it is
 * arithmetic: else a tracepoint, which makes each system call slower, would slow them down while its set has its turn.
 *
 *     steady MS THREADS [NAP]      each thread uses MS milliseconds of CPU time; with NAP, it sleeps NAP ms after each 1 ms
 *     steady MS CHILDREN children  one child after the other does
 *
 * Prints a line "TID FAULTS GETPPIDS GETUIDS NS" for each task: page faults, system calls, CPU time.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 16, GETPPIDS = 32, GETUIDS = 16, MOST = 64, NAP_EACH_NS = 1000000, STEPS = 100000 };

static uint64_t work_ns;
static long nap_ms;

static uint64_t used_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void compute(void)
{
    uint64_t word = 1;
    for (int i = 0; i < STEPS; i++)
        word = word * UINT64_C(0x9e3779b97f4a7c15) + 1; /* each step waits for the one before */
    __asm__ volatile("" : : "r"(word));
}

static void do_round(char *memory, size_t page)
{
    compute();
    for (size_t i = 0; i < PAGES; i++)
        ((volatile char *)memory)[i * page] = 1;
    madvise(memory, PAGES * page, MADV_DONTNEED);
    for (int i = 0; i < GETPPIDS; i++)
        syscall(SYS_getppid);
    for (int i = 0; i < GETUIDS; i++)
        syscall(SYS_getuid);
}

static void *work(void *unused)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(1);
    madvise(memory, PAGES * page, MADV_NOHUGEPAGE); /* fails where there are no huge pages */
    uint64_t rounds = 0, now, slept = used_ns();
    for (; (now = used_ns()) < work_ns; rounds++) {
        if (nap_ms && now - slept >= NAP_EACH_NS) {
            const struct timespec nap = {.tv_nsec = nap_ms * 1000000};
            nanosleep(&nap, NULL);
            slept = now;
        }
        do_round(memory, page);
    }
    char line[160];
    const int size = snprintf(line, sizeof(line), "%d %llu %llu %llu %llu\n", (int)gettid(),
                              (unsigned long long)rounds * PAGES, (unsigned long long)rounds * GETPPIDS,
                              (unsigned long long)rounds * GETUIDS, (unsigned long long)now);
    if (write(1, line, (size_t)size) != size)
        exit(1);
    return unused;
}

static void run_children(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const pid_t child = fork();
        if (child == 0) {
            work(NULL);
            exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];
    const unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    if (!count || (argc < 4 && count > MOST))
        return 1;
    work_ns = strtoul(argv[1], NULL, 10) * 1000000;
    if (argc > 3 && strcmp(argv[3], "children") == 0) {
        run_children(count);
        return 0;
    }
    nap_ms = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
