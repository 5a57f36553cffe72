/* SPDX-License-Identifier: MIT */
/*
 * Both engines against libgcc's unwinder, on each machine, without single steps: at points that the program comes to
 * (recursion, callbacks of libc, handlers of signals, threads), and wherever a timer finds it. Built a second time with
 * signed return addresses on AArch64.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/time.h>
#include <time.h>

#include "check.h"
#include "context_kit.h"
#include "unwind/engine.h"
#include "unwind/signature.h"
#include "unwind_kit.h"

enum { ENGINES = 2, TICKS = 400, TICK_US = 500, SECONDS_MAX = 60 };

static const int kinds[ENGINES] = {UNWIND_ENGINE_TABLES, UNWIND_ENGINE_LIBUNWIND};
static struct unwind_engine *engines[ENGINES];
static struct kit kit;
static int (*witness)(void **, int); /* libc's backtrace(): libunwind has one of its own */
static volatile int sink;

struct chain {
    uint64_t ips[KIT_FRAMES];
    unsigned count;
    struct unwind_outcome outcome;
};

static struct chain chains[ENGINES];
static void *frames[KIT_FRAMES];

/* The chains of both over CONTEXT. VERSION 7: by rows that libunwind remembers. */
static void unwind_both(const ucontext_t *context)
{
    struct unwind_regs regs;
    struct unwind_dump dump;
    kit_take(&kit, context, KIT_DUMP, &regs, &dump);
    for (unsigned i = 0; i < ENGINES; i++)
        chains[i].count = unwind_engine_stack(engines[i], 7, &kit.target, &regs, &dump, chains[i].ips, KIT_FRAMES,
                                              &chains[i].outcome);
}

/* ---- At points of the program ---- */

static unsigned points;

/* Its own frame is at another call for the witness. A sanitizer has a function of its own in front of that. */
__attribute__((noinline)) static void look(void)
{
    ucontext_t context;
    getcontext(&context);
    unwind_both(&context);
    int count = witness(frames, KIT_FRAMES), at = 0;
    assert_in_range(count, 3, KIT_FRAMES - 1);
    while (at < count && (uint64_t)frames[at] != chains[0].ips[1])
        at++;
    points++;
    for (unsigned i = 0; i < ENGINES; i++) {
        assert_int_equal(chains[i].outcome.end, UNWIND_BOTTOM);
        assert_int_equal(chains[i].count, count - at + 1);
        for (unsigned frame = 1; frame < chains[i].count; frame++)
            assert_int_equal(chains[i].ips[frame], (uint64_t)frames[at + (int)frame - 1]);
    }
}

/* A frame of variable size, registers that are saved. */
__attribute__((noinline)) static int recurse(int depth, int a, int b, void (*innermost)(void))
{
    volatile char *room = __builtin_alloca((size_t)depth * 8 + 8);
    room[0] = (char)a;
    if (depth == 0) {
        if (innermost)
            innermost();
        return a + b + room[0];
    }
    int inner = recurse(depth - 1, b, a, innermost);
    return inner + a * b + room[0];
}

static void test_recursion(void **state)
{
    (void)state;
    for (int depth = 0; depth < 40; depth++)
        sink = recurse(depth, 1, 2, look);
    assert_int_equal(points, 40);
}

static int ascend(const void *one, const void *other)
{
    look();
    return *(const int *)one - *(const int *)other;
}

static void test_callbacks(void **state)
{
    int numbers[8] = {5, 3, 7, 1, 8, 2, 9, 4};
    (void)state;
    points = 0;
    qsort(numbers, 8, sizeof(numbers[0]), ascend);
    assert_true(points > 8);
}

/* ---- In handlers of signals ---- */

static unsigned handled;

static void on_second(int number)
{
    (void)number;
    handled++;
    sink = recurse(3, 1, 2, look);
}

static void raise_second(void)
{
    raise(SIGUSR2);
}

static void on_first(int number)
{
    (void)number;
    handled++;
    look();
    sink = recurse(3, 1, 2, raise_second);
}

static void raise_first(void)
{
    raise(SIGUSR1);
}

static void test_handlers(void **state)
{
    (void)state;
    signal(SIGUSR1, on_first);
    signal(SIGUSR2, on_second);
    for (int depth = 0; depth < 10; depth++)
        sink = recurse(depth, 1, 2, raise_first);
    assert_int_equal(handled, 20);
}

static void *in_thread(void *argument)
{
    kit_release(&kit);
    kit_init(&kit);
    sink = recurse(7, 1, 2, look);
    sink = recurse(3, 1, 2, raise_first);
    return argument;
}

static void test_threads(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
        pthread_join(thread, NULL);
    }
    kit_release(&kit);
    kit_init(&kit);
}

/* ---- Wherever the timer comes ---- */

static struct {
    unsigned ticks, same[ENGINES], early[ENGINES], other[ENGINES];
    unsigned short_witness; /* it ends in code without a table (a PLT stub, AArch64's vdso); tables go on */
    unsigned shown;
} at_ticks;
static uint64_t bottom[KIT_FRAMES]; /* what each chain ends with: the callers of test_anywhere() */
static unsigned bottom_count;

static void show(unsigned engine, int at, int count)
{
    if (at_ticks.shown++ > 3)
        return;
    const struct chain *chain = &chains[engine];
    fprintf(stderr, "engine %u: chain of %u (%s), witness of %d\n", engine, chain->count,
            unwind_end_name(chain->outcome.end), count - at);
    for (unsigned i = 0; i < chain->count || (int)i < count - at; i++)
        fprintf(stderr, "  %#14lx %#14lx\n", i < chain->count ? chain->ips[i] : 0,
                (int)i < count - at ? (unsigned long)frames[at + (int)i] : 0);
}

static void judge(unsigned engine, int at, int count)
{
    const struct chain *chain = &chains[engine];
    const unsigned expected = (unsigned)(count - at), common = chain->count < expected ? chain->count : expected;
    const bool whole = chain->outcome.end == UNWIND_BOTTOM;
    bool alike = !whole || chain->count > bottom_count;
    for (unsigned i = 0; alike && i < common; i++)
        alike = chain->ips[i] == (uint64_t)frames[at + (int)i];
    if (alike && whole)
        alike = memcmp(&chain->ips[chain->count - bottom_count], bottom, bottom_count * sizeof(bottom[0])) == 0;
    if (alike && chain->count == expected && whole)
        at_ticks.same[engine]++;
    else if (alike && chain->count > expected && whole)
        at_ticks.short_witness += engine == 0;
    else if (alike && !whole)
        at_ticks.early[engine]++;
    else {
        at_ticks.other[engine]++;
        show(engine, at, count);
    }
}

static void on_tick(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info;
    const void *ip = (const void *)context_ip(context); /* NOLINT: an address by nature */
    int count = witness(frames, KIT_FRAMES), at = 0;
    while (at < count && frames[at] != ip)
        at++;
    at_ticks.ticks++;
    unwind_both(context);
    for (unsigned i = 0; i < ENGINES; i++)
        judge(i, at, count);
}

static int plainly(const void *one, const void *other)
{
    return *(const int *)one - *(const int *)other;
}

/* No memory is asked for here: the engines may be asking when a tick comes. */
__attribute__((noinline)) static int work(void)
{
    int numbers[8] = {5, 3, 7, 1, 8, 2, 9, 4};
    char text[64];
    struct timespec now;
    qsort(numbers, 8, sizeof(numbers[0]), plainly);
    snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 3.25);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return recurse(9, 1, 2, NULL) + (int)strlen(text);
}

static void test_anywhere(void **state)
{
    const struct sigaction action = {.sa_sigaction = on_tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    const struct itimerval each = {{0, TICK_US}, {0, TICK_US}}, never = {{0, 0}, {0, 0}};
    const time_t end = time(NULL) + SECONDS_MAX;
    ucontext_t context;
    (void)state;
    getcontext(&context);
    unwind_both(&context);
    bottom_count = chains[0].count - 1;
    memcpy(bottom, &chains[0].ips[1], bottom_count * sizeof(bottom[0]));
    sink = work(); /* everything is bound */
    kit_read_maps(&kit);
    assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &each, NULL), 0);
    while (at_ticks.ticks < TICKS && time(NULL) < end)
        sink = work();
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    for (unsigned i = 0; i < ENGINES; i++) {
        printf("engine %u: %u ticks, %u the same, %u ended early, %u others\n", i, at_ticks.ticks, at_ticks.same[i],
               at_ticks.early[i], at_ticks.other[i]);
        assert_int_equal(at_ticks.other[i], 0);
        assert_true(at_ticks.same[i] * 5 > at_ticks.ticks);
    }
    printf("the witness ended early: %u\n", at_ticks.short_witness);
    assert_true((at_ticks.ticks - at_ticks.same[0] - at_ticks.short_witness) * 50 <= at_ticks.ticks);
}

/* ---- Signatures ---- */

static uint64_t kept; /* the return address as it lies on the stack */

__attribute__((noinline)) static void keep_return_address(void)
{
    kept = ((const uint64_t *)__builtin_frame_address(0))[1];
    look();
    sink++; /* so that the call is not its last instruction */
}

/* Where this program signs, and the processor does: so that the chains above were signed ones. */
static void test_signed(void **state)
{
    (void)state;
    keep_return_address();
    assert_int_equal(signature_strip(kept), chains[0].ips[2]);
#if defined(__aarch64__) && defined(__ARM_FEATURE_PAC_DEFAULT)
    unsigned many = 0;
    for (unsigned i = 0; i < 64 && !many; i++) {
        keep_return_address(); /* a signature may be 0 */
        many += kept != signature_strip(kept);
    }
    assert_int_equal(many > 0, (getauxval(AT_HWCAP) & HWCAP_PACA) != 0);
#elif defined(__aarch64__)
    assert_int_equal(kept, signature_strip(kept));
#endif
}

static int set_up(void **state)
{
    (void)state;
    void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    witness = libc ? (int (*)(void **, int))dlsym(libc, "backtrace") : NULL; /* NOLINT */
    if (libc)
        dlclose(libc);
    if (!witness || witness(frames, KIT_FRAMES) <= 0) /* which loads libgcc */
        return -1;
    kit_init(&kit);
    for (unsigned i = 0; i < ENGINES; i++)
        if (!(engines[i] = unwind_engine_new(kinds[i])))
            return -1;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ENGINES; i++)
        unwind_engine_free(engines[i]);
    kit_release(&kit);
    return 0;
}

/* libunwind opens a pipe when it is used first, and keeps it: before open_files.c looks what is open. */
__attribute__((constructor(101))) static void use_libunwind(void)
{
    static uint64_t ip;
    const struct unwind_target target = {NULL, NULL};
    const struct unwind_regs regs = {.value = {[UNWIND_IP] = 1}};
    const struct unwind_dump dump = {.bytes = "", .start = 1, .size = 0};
    struct unwind_outcome outcome;
    struct unwind_engine *first = unwind_engine_new(UNWIND_ENGINE_LIBUNWIND);
    if (first)
        unwind_engine_stack(first, 0, &target, &regs, &dump, &ip, 1, &outcome);
    unwind_engine_free(first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recursion), cmocka_unit_test(test_callbacks), cmocka_unit_test(test_handlers),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_anywhere),  cmocka_unit_test(test_signed),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
