/* SPDX-License-Identifier: MIT */
/*
 * behind WAY COUNT MS [COMMAND ...]: creates threads and processes that no hook of pthread_create or fork sees; each
 * computes for MS. Prints its own CPU time with that of threads and of children that it waited for: "NANOSECONDS". WAY:
 * timer (SIGEV_THREAD), aio, lookup (getaddrinfo_a), uring (kernel workers), system, popen, or newpid: a raw clone()
 * into a new pid namespace, in which COMMAND runs COUNT times, by fork() and exec.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <netdb.h>
#include <sched.h>
#include <semaphore.h>
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

enum { ENTRIES = 8, PIECE = 1 << 20 };

static sem_t done;
static unsigned ms;

static uint64_t usage_ns(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    uint64_t us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u;
    return (us + (uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000u;
}

static void burn(void)
{
    struct timespec used;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    while ((uint64_t)used.tv_sec * 1000u + (uint64_t)used.tv_nsec / 1000000u < ms);
}

static void called(union sigval value)
{
    (void)value;
    burn();
    sem_post(&done);
}

static struct sigevent call_back(void)
{
    struct sigevent event;
    memset(&event, 0, sizeof(event));
    event.sigev_notify = SIGEV_THREAD;
    event.sigev_notify_function = called;
    return event;
}

static void by_timer(unsigned count)
{
    struct sigevent event = call_back();
    struct itimerspec at = {{0, 0}, {0, 1000000}};
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer))
        exit(99);
    for (unsigned i = 0; i < count; i++) {
        timer_settime(timer, 0, &at, NULL);
        sem_wait(&done);
    }
}

static void by_aio(unsigned count)
{
    static char bytes[4096];
    int file = open("/proc/self/exe", O_RDONLY);
    for (unsigned i = 0; i < count; i++) {
        struct aiocb block = {
            .aio_fildes = file, .aio_buf = bytes, .aio_nbytes = sizeof(bytes), .aio_sigevent = call_back()};
        if (aio_read(&block))
            exit(99);
        sem_wait(&done);
    }
}

static void by_lookup(unsigned count)
{
    struct sigevent event = call_back();
    for (unsigned i = 0; i < count; i++) {
        struct gaicb request = {.ar_name = "127.0.0.1"}, *list[] = {&request};
        if (getaddrinfo_a(GAI_NOWAIT, list, 1, &event))
            exit(99);
        sem_wait(&done);
        freeaddrinfo(request.ar_result);
    }
}

/* Reads /dev/zero by a worker of the kernel (IOSQE_ASYNC) until the time is used; exit status 77: no io_uring. */
static void by_uring(unsigned count)
{
    struct io_uring_params setup;
    memset(&setup, 0, sizeof(setup));
    int ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &setup), zero = open("/dev/zero", O_RDONLY);
    if (ring < 0)
        exit(77);
    char *queue = mmap(NULL, setup.sq_off.array + ENTRIES * sizeof(uint32_t), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                       IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries = mmap(NULL, ENTRIES * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                                        IORING_OFF_SQES);
    char *piece = mmap(NULL, PIECE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (queue == MAP_FAILED || entries == MAP_FAILED || piece == MAP_FAILED)
        exit(99);
    uint32_t *tail = (uint32_t *)(void *)(queue + setup.sq_off.tail);
    uint32_t *array = (uint32_t *)(void *)(queue + setup.sq_off.array);
    while (usage_ns(RUSAGE_SELF) < count * ms * UINT64_C(1000000)) {
        entries[0] = (struct io_uring_sqe){
            .opcode = IORING_OP_READ, .flags = IOSQE_ASYNC, .fd = zero, .addr = (uintptr_t)piece, .len = PIECE};
        array[*tail % ENTRIES] = 0;
        __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
            exit(99);
    }
}

static void by_shell(unsigned count, int pipes)
{
    for (unsigned i = 0; i < count; i++) {
        FILE *pipe = pipes ? popen("/bin/true", "r") : NULL;
        if (pipes ? !pipe || pclose(pipe) : system("/bin/true"))
            exit(99);
    }
}

static void by_namespace(unsigned count, char **command)
{
    int flags = SIGCHLD | CLONE_NEWPID | (geteuid() ? CLONE_NEWUSER : 0), status = 0;
    pid_t child = (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (child < 0)
        exit(77);
    if (child == 0) {
        burn();
        for (unsigned i = 0; i < count; i++) {
            if (fork() == 0) {
                if (i % 2)
                    system(":");
                execvp(command[0], command);
                _exit(99);
            }
            wait(NULL);
        }
        _exit(0);
    }
    waitpid(child, &status, 0);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 99;
    unsigned count = (unsigned)atoi(argv[2]);
    const char *way = argv[1];
    ms = (unsigned)atoi(argv[3]);
    sem_init(&done, 0, 0);
    if (!strcmp(way, "timer"))
        by_timer(count);
    else if (!strcmp(way, "aio"))
        by_aio(count);
    else if (!strcmp(way, "lookup"))
        by_lookup(count);
    else if (!strcmp(way, "uring"))
        by_uring(count);
    else if (!strcmp(way, "newpid"))
        by_namespace(count, argv + 4);
    else
        by_shell(count, !strcmp(way, "popen"));
    printf("%llu\n", (unsigned long long)(usage_ns(RUSAGE_SELF) + usage_ns(RUSAGE_CHILDREN)));
    return 0;
}
