/* SPDX-License-Identifier: MIT */
/*
 * Burns CPU time at the end of many kinds of call chains, without frame pointers. Prints for each the return addresses
 * above burn(), from libgcc (in code without tables: as they were created): "chain NAME ADDRESS...", and the range of
 * burn(): "burn START END".
 * Usage: stacks MILLISECONDS NAME...; the name "unlink" removes the program's own file. Environment PLUGIN: the path of
 * the library to load.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES = 512, DEPTH = 40, DEEP = 3000 };

static const char *name;
static long burn_ms;
static volatile unsigned long sink;
static void *above[FRAMES]; /* for code without tables: the return addresses above it */
static int above_count;
static uintptr_t made; /* return address in that code; 0: none */

extern char __start_burn_text[], __stop_burn_text[];

static long used_ms(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

__attribute__((noinline)) static void print_chain(void)
{
    void *frames[FRAMES];
    int count = backtrace(frames, FRAMES);
    if (made) { /* burn, code, above */
        printf("chain %s %#lx", name, (unsigned long)made);
        for (int i = 0; i < above_count; i++)
            printf(" %p", above[i]);
    } else {
        printf("chain %s", name);
        for (int i = 2; i < count; i++)
            printf(" %p", frames[i]);
    }
    printf("\n");
}

#ifndef __clang__
__attribute__((noclone))
#endif
__attribute__((noinline, section("burn_text"))) static void
burn(void)
{
    long end = used_ms() + burn_ms;
    print_chain();
    while (used_ms() < end)
        for (unsigned long i = 0; i < 200000; i++)
            sink += i * i;
}

/* ---- Kinds ---- */

__attribute__((noinline)) static int down(int depth);

static inline int inlined(int depth)
{
    return depth % 3 ? down(depth - 1) * 2 : down(depth - 1) + depth;
}

/* Its last call is a tail call, so it has no frame in the chain. */
__attribute__((noinline)) static int jumps(int depth)
{
    sink += (unsigned long)depth;
    return down(depth);
}

__attribute__((noinline)) static int down(int depth)
{
    volatile int kept[5] = {depth, depth + 1};
    if (depth <= 0) {
        burn();
        return kept[1];
    }
    return depth % 4 == 2 ? kept[0] + jumps(depth - 1) : kept[1] + inlined(depth);
}

static void recursion(void)
{
    sink += (unsigned long)down(DEPTH);
}

/* Far more than fits into a dump. */
static void deep(void)
{
    sink += (unsigned long)down(DEEP);
}

/* More than 16 KiB, less than 32. */
__attribute__((noinline)) static void tall(void)
{
    volatile char room[20 << 10];
    for (size_t i = 0; i < sizeof(room); i += 1024) /* a dump ends at the first untouched page */
        room[i] = 1;
    burn();
    sink += (unsigned long)room[0];
}

static int first;
static int compare(const void *one, const void *other)
{
    if (first) {
        first = 0;
        burn();
    }
    return *(const int *)one - *(const int *)other;
}

static void callback(void)
{
    int numbers[64];
    for (int i = 0; i < 64; i++)
        numbers[i] = i * 37 % 64;
    first = 1;
    qsort(numbers, 64, sizeof(numbers[0]), compare);
    sink += (unsigned long)numbers[0];
}

static void on_signal(int number)
{
    sink += (unsigned long)number;
    burn();
    sink++;
}

static void in_handler(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    sink++;
}

static void *run_thread(void *argument)
{
    sink += (unsigned long)down(3);
    return argument;
}

static void in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, run_thread, NULL);
    pthread_join(thread, NULL);
}

static void loaded(void)
{
    void *library = dlopen(getenv("PLUGIN"), RTLD_NOW);
    void (*call)(void (*)(void));
    void *symbol = library ? dlsym(library, "plugin_call") : NULL;
    if (!symbol) {
        fprintf(stderr, "cannot load PLUGIN\n");
        exit(1);
    }
    memcpy(&call, &symbol, sizeof(call));
    call(burn);
    sink++;
}

static void generated(void)
{
#if defined(__aarch64__)
    /* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
    static const uint32_t code[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
    enum { BEHIND_CALL = 12 };
#else
    /* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    enum { BEHIND_CALL = 6 };
#endif
    void (*call)(void (*)(void));
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(1);
    memcpy(at, code, sizeof(code));
    __builtin___clear_cache((char *)at, (char *)at + sizeof(code));
    memcpy(&call, &at, sizeof(call));
    made = (uintptr_t)at + BEHIND_CALL;
    above_count = backtrace(above, FRAMES);
    call(burn);
    made = 0;
    sink++;
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {
    {"recursion", recursion}, {"deep", deep},     {"callback", callback},   {"handler", in_handler},
    {"thread", in_thread},    {"loaded", loaded}, {"generated", generated}, {"tall", tall},
};

int main(int argc, char **argv)
{
    burn_ms = argc > 1 ? atol(argv[1]) : 50;
    printf("burn %p %p\n", (void *)__start_burn_text, (void *)__stop_burn_text);
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "unlink") == 0 && unlink(argv[0]) < 0)
            return 1;
        for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
            if (strcmp(argv[i], kinds[kind].name) == 0) {
                name = kinds[kind].name;
                kinds[kind].run();
            }
    }
    return 0;
}
