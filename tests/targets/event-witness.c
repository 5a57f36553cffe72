/* SPDX-License-Identifier: MIT */
/*
 * event-witness COUNT PAGES THREADS CHILDREN EXECS [MOVES]: each of its tasks writes COUNT times (the first one; a further one
 * has 1 more, and so on) to a variable of each length and reads each half as often, calls called() COUNT times, calls
 * sched_get_priority_max() COUNT times, touches PAGES pages, and goes MOVES times to another CPU if it may, and sleeps
 * there for a moment. Prints "TID COUNT" of each task and program. Events are set on its symbols. Without
 * arguments: do breakpoints fire here?
 */
#define _GNU_SOURCE
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Each in eight bytes of its own. */
_Alignas(8) volatile uint8_t byte;
_Alignas(8) volatile uint16_t word;
_Alignas(8) volatile uint32_t half;
_Alignas(8) volatile uint64_t whole;
_Alignas(8) static volatile uint64_t sink;

static long pages, moves;

void called(void);
__attribute__((noinline, noclone)) void called(void)
{
    __asm__ volatile("");
}

static void touch_pages(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)pages * page;
    char *memory = size ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
    if (!memory || memory == MAP_FAILED)
        return;
    madvise(memory, size, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++)
        *(volatile char *)(memory + (size_t)i * page) = 1;
    munmap(memory, size);
}

static void move(void)
{
    cpu_set_t allowed, one;
    if (!moves || sched_getaffinity(0, sizeof(allowed), &allowed))
        return;
    for (long i = 0, cpu = 0; i < moves; i++) {
        do
            cpu = (cpu + 1) % CPU_SETSIZE;
        while (!CPU_ISSET((size_t)cpu, &allowed));
        CPU_ZERO(&one);
        CPU_SET((size_t)cpu, &one);
        sched_setaffinity(0, sizeof(one), &one);
        nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
    }
    sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void work(long count)
{
    for (long i = 0; i < count; i++) {
        byte = (uint8_t)i;
        word = (uint16_t)i;
        half = (uint32_t)i;
        whole = (uint64_t)i;
        called();
        syscall(SYS_sched_get_priority_max, 0);
    }
    for (long i = 0; i < count / 2; i++)
        sink = (uint64_t)byte + word + half + whole;
    touch_pages();
    move();
    char line[64];
    const int size = snprintf(line, sizeof(line), "%ld %ld\n", (long)syscall(SYS_gettid), count);
    if (write(1, line, (size_t)size) != size)
        _exit(1);
}

static void *thread(void *count)
{
    work((long)(intptr_t)count);
    return NULL;
}

/* Prints how often a breakpoint fires that is hit 100 times. */
static int try_breakpoint(void)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .exclude_kernel = 1, .exclude_hv = 1};
    attr.bp_type = HW_BREAKPOINT_W;
    attr.bp_addr = (uint64_t)(uintptr_t)&half;
    attr.bp_len = sizeof(half);
    const int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    for (unsigned i = 0; i < 100; i++)
        half = i;
    uint64_t fired = 0;
    if (fd < 0 || read(fd, &fired, sizeof(fired)) != sizeof(fired))
        return 1;
    printf("%llu\n", (unsigned long long)fired);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return try_breakpoint();
    if (argc != 6 && argc != 7)
        return 2;
    long count = atol(argv[1]), threads = atol(argv[3]), children = atol(argv[4]), execs = atol(argv[5]);
    pages = atol(argv[2]);
    moves = argc > 6 ? atol(argv[6]) : 0;
    work(count);
    for (long i = 0; i < threads; i++) {
        pthread_t id;
        if (pthread_create(&id, NULL, thread, (void *)(intptr_t)++count) || pthread_join(id, NULL))
            return 1;
    }
    for (long i = 0; i < children; i++) {
        count++;
        const pid_t child = fork();
        if (child == 0) {
            work(count);
            _exit(0);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status)
            return 1;
    }
    if (execs > 0) {
        char text[2][32];
        snprintf(text[0], sizeof(text[0]), "%ld", count + 1);
        snprintf(text[1], sizeof(text[1]), "%ld", execs - 1);
        execl("/proc/self/exe", argv[0], text[0], argv[2], "0", "0", text[1], argv[6], NULL);
        return 1;
    }
    return 0;
}
