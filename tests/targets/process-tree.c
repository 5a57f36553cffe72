/* SPDX-License-Identifier: MIT */
/*
 * process-tree [MS] [raw]: threads and children that compute. Each prints a line "PID TID NANOSECONDS SWITCHES", the
 * CPU time and context switches of the thread, just before it ends. Built in several ways: static, for another libc, as
 * 32-bit.
 * raw: uses clone() instead of libc's functions, and a child with an empty environment.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 1 << 16 };

static uint64_t own_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

__attribute__((noinline)) static void burn(unsigned ms)
{
    volatile unsigned sink = 0;
    while (own_ns() < ms * UINT64_C(1000000))
        for (unsigned i = 0; i < 20000; i++)
            sink += i;
    (void)sink;
}

static void say(void)
{
    char line[96];
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    int size = snprintf(line, sizeof(line), "%d %d %llu %ld\n", (int)getpid(), (int)syscall(SYS_gettid),
                        (unsigned long long)own_ns(), usage.ru_nvcsw + usage.ru_nivcsw);
    if (write(1, line, (size_t)size) != size)
        _exit(99);
}

static void *thread_main(void *argument)
{
    burn((unsigned)(uintptr_t)argument);
    say();
    return NULL;
}

static int raw_main(void *argument)
{
    burn((unsigned)(uintptr_t)argument);
    say();
    syscall(SYS_exit, 0);
    return 0;
}

static void start_raw_thread(unsigned ms, int *alive)
{
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *alive = 1;
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID;
    if (stack == MAP_FAILED || clone(raw_main, stack + STACK, flags, (void *)(uintptr_t)ms, NULL, NULL, alive) < 0)
        _exit(99);
}

static int raw_tree(unsigned ms, char **argv)
{
    static char text[24];
    char *arguments[] = {argv[0], text, NULL}, *nothing[] = {NULL};
    volatile int alive;
    start_raw_thread(ms, (int *)&alive);
    if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
        burn(2 * ms);
        say();
        _exit(0);
    }
    snprintf(text, sizeof(text), "%u", ms);
    if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
        syscall(SYS_execve, "/proc/self/exe", arguments, nothing);
        _exit(99);
    }
    burn(ms);
    while (wait(NULL) > 0)
        continue;
    while (alive)
        sched_yield();
    say();
    return 0;
}

int main(int argc, char **argv)
{
    unsigned ms = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    pthread_t threads[2];
    if (argc > 2 && strcmp(argv[2], "raw") == 0)
        return raw_tree(ms, argv);
    for (unsigned i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, thread_main, (void *)(uintptr_t)((i + 1) * ms)))
            return 99;
    if (fork() == 0) {
        burn(2 * ms);
        say();
        _exit(3);
    }
    if (vfork() == 0) {
        execl("/bin/sh", "sh", "-c", ":; exec /bin/true process-tree", (char *)NULL);
        _exit(99);
    }
    burn(ms);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    while (wait(NULL) > 0)
        continue;
    say();
    return 0;
}
