/* SPDX-License-Identifier: MIT */
/* The sampler of the preload object: its records as the collector's reader finds them, stacks of all kinds. */
#include "check.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <pinject/ring.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "deny.h"
#include "preload/timer.h"

#if defined(__x86_64__) || defined(__aarch64__)

static _Alignas(4096) unsigned char memory[PINJECT_RING_STRIDE];
static _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];
static struct pinject_sampler sampler;
static struct pinject_ring ring;

enum { FIXED = 7 }; /* words in front of a chain's entries */

static int set_up(void **state)
{
    (void)state;
    memset(memory, 0, sizeof(memory));
    sampler = (struct pinject_sampler){
        .page = (void *)memory,
        .head = (void *)(memory + PINJECT_TIMER_HEAD),
        .data = memory + PINJECT_RING_DATA,
        .id = 4242,
        .interval_ns = 1000,
        .flags = PINJECT_TIMER_SAMPLES | PINJECT_TIMER_CHAINS,
        .pid = getpid(),
        .tid = getpid(),
    };
    pinject_ring_init(&ring, memory, memory + PINJECT_RING_DATA, PINJECT_RING_DATA);
    return 0;
}

static void take(uint64_t overrun, uintptr_t ip, const void *frame)
{
    ucontext_t context;
    memset(&context, 0, sizeof(context));
#if defined(__x86_64__)
    context.uc_mcontext.gregs[REG_RIP] = (greg_t)ip;
    context.uc_mcontext.gregs[REG_RBP] = (greg_t)(uintptr_t)frame;
#else
    context.uc_mcontext.pc = ip;
    context.uc_mcontext.regs[29] = (uintptr_t)frame;
#endif
    pinject_sampler_take(&sampler, overrun, &context);
}

/* The next record; its words. */
static const uint64_t *next(uint32_t type)
{
    if (ring.head == ring.tail)
        assert_true(pinject_ring_begin(&ring));
    const struct perf_event_header *header = pinject_ring_next(&ring, scratch);
    assert_non_null(header);
    assert_int_equal(header->type, type);
    return (const uint64_t *)(const void *)header;
}

static void test_sample(void **state)
{
    (void)state;
    uint64_t frames[4] = {0, 0x2222, 0, 0x3333};
    frames[0] = (uintptr_t)&frames[2];
    take(2, 0x1111, frames);
    const uint64_t *words = next(PERF_RECORD_SAMPLE);
    assert_int_equal(words[1], 4242);
    assert_int_equal(words[2], 0x1111);
    assert_int_equal((uint32_t)words[3], getpid());
    assert_true(words[4] > 0);
    assert_int_equal(words[5], 3000);
    assert_int_equal(words[6], 4);
    assert_int_equal(words[FIXED], (uint64_t)PERF_CONTEXT_USER);
    assert_int_equal(words[FIXED + 1], 0x1111);
    assert_int_equal(words[FIXED + 2], 0x2222);
    assert_int_equal(words[FIXED + 3], 0x3333);
    assert_true(sampler.head->cpu_ns > 0 && sampler.head->faults > 0);
}

static uint64_t switches_of(const struct rusage *usage)
{
    return (uint64_t)usage->ru_nvcsw + (uint64_t)usage->ru_nivcsw;
}

/* What the kernel says of the thread, as it was meanwhile. */
static void test_counts(void **state)
{
    struct rusage before, after;
    (void)state;
    uint64_t frames[4] = {0};
    usleep(1000); /* a switch at least */
    getrusage(RUSAGE_THREAD, &before);
    take(0, 0x1111, frames);
    getrusage(RUSAGE_THREAD, &after);
    assert_true(switches_of(&before) > 0);
    assert_in_range(sampler.head->switches, switches_of(&before), switches_of(&after));
    assert_in_range(sampler.head->faults, before.ru_minflt + before.ru_majflt, after.ru_minflt + after.ru_majflt);
}

/* Where nobody wants stacks a sample is its fixed part, in a session that counts there is none. */
static void test_without_chains(void **state)
{
    (void)state;
    uint64_t frames[4] = {0, 0x2222, 0, 0x3333};
    sampler.flags = PINJECT_TIMER_SAMPLES;
    take(0, 0x1111, frames);
    const struct perf_event_header *header = (const struct perf_event_header *)(const void *)next(PERF_RECORD_SAMPLE);
    assert_int_equal(header->size, 6 * 8);
    assert_int_equal(header->misc, PERF_RECORD_MISC_USER);
    assert_int_equal(sampler.page->data_head, 6 * 8);
}

/* Further samples of a thread weigh its user time; without that clock, and with another one, the expiries. */
static void test_weights(void **state)
{
    (void)state;
    uint64_t sum = 0, count = 0, weight;
    take(6, 1, NULL);
    assert_int_equal(next(PERF_RECORD_SAMPLE)[5], 7000);
    while (!sampler.user_ns) { /* the process is so young that the kernel has charged it nothing */
        take(6, 1, NULL);
        assert_int_equal(next(PERF_RECORD_SAMPLE)[5], 7000);
        pinject_ring_end(&ring);
    }
    uint64_t first = sampler.user_ns;
    while (sampler.user_ns < first + 1000000) {
        take(6, 1, NULL);
        weight = next(PERF_RECORD_SAMPLE)[5];
        assert_true(weight > 0); /* where its clock has not moved: 1 ns */
        sum += weight;
        count++;
        pinject_ring_end(&ring);
    }
    assert_true(sum >= 1000000 && sum <= sampler.user_ns - first + count);
    sampler.by_overrun = true;
    take(4, 1, NULL);
    assert_int_equal(next(PERF_RECORD_SAMPLE)[5], 5000);
}

/* What the kernel does not tell stays as it was, and the expiries are the weight. As of a process that sandboxes it. */
static int count_without_usage(void)
{
    sampler.pid = sampler.tid = getpid();
    *sampler.head = (struct pinject_timer_head){.faults = 7, .switches = 9, .lost = 3};
    deny_call(SYS_getrusage, NULL, EPERM);
    if (pinject_sampler_count(&sampler) != 0)
        return 1;
    if (sampler.head->cpu_ns == 0 || sampler.head->faults != 7 || sampler.head->switches != 9)
        return 2;
    for (int i = 0; i < 3; i++) {
        take(6, 1, NULL);
        if (next(PERF_RECORD_SAMPLE)[5] != 7000 || sampler.user_ns != 0)
            return 3;
    }
    sampler.user_ns = 5; /* it was known once */
    take(1, 1, NULL);
    return next(PERF_RECORD_SAMPLE)[5] == 2000 && sampler.user_ns == 5 ? 0 : 4;
}

static int take_without_reading(void)
{
    uint64_t frames[4] = {0, 0x2222, 0, 0x3333};
    frames[0] = (uintptr_t)&frames[2];
    sampler.pid = sampler.tid = getpid();
    deny_call(SYS_process_vm_readv, NULL, EPERM);
    take(0, 0x1111, frames);
    const uint64_t *words = next(PERF_RECORD_SAMPLE);
    return words[6] == 2 && words[FIXED + 1] == 0x1111 ? 0 : 1;
}

static void test_calls_that_are_denied(void **state)
{
    (void)state;
    assert_int_equal(deny_in_child(count_without_usage), 0);
    assert_int_equal(deny_in_child(take_without_reading), 0);
}

static void test_wild_frames(void **state)
{
    (void)state;
    long page = sysconf(_SC_PAGESIZE);
    unsigned char *map = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    munmap(map + page, (size_t)page);
    uint64_t *last = (uint64_t *)(void *)(map + page) - 1, loop[2] = {0, 5};
    loop[0] = (uintptr_t)loop;
    const void *frames[] = {(void *)1,  (void *)0x10,         (void *)UINTPTR_MAX,        (void *)(UINTPTR_MAX - 7),
                            map + page, (void *)(1ull << 47), (void *)0xdeadbeef00000000, last};
    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
        take(0, 7, frames[i]);
        assert_int_equal(next(PERF_RECORD_SAMPLE)[6], 2); /* the mark and the leaf */
    }
    take(0, 7, loop); /* up, or not at all */
    assert_int_equal(next(PERF_RECORD_SAMPLE)[6], 3);
    munmap(map, (size_t)page);
}

static void test_deep_stack(void **state)
{
    (void)state;
    static uint64_t frames[1000][2];
    for (unsigned i = 0; i < 999; i++) {
        frames[i][0] = (uintptr_t)frames[i + 1];
        frames[i][1] = i + 100;
    }
    take(0, 7, frames[0]);
    const uint64_t *words = next(PERF_RECORD_SAMPLE);
    assert_int_equal(words[6], 128);
    assert_int_equal(words[FIXED + 127], 100 + 125);
}

static void test_full_ring(void **state)
{
    (void)state;
    while (!sampler.lost)
        take(0, 1, NULL);
    take(0, 1, NULL);
    assert_int_equal(sampler.head->lost, 2);
    assert_true(pinject_ring_begin(&ring));
    while (ring.head != ring.tail)
        next(PERF_RECORD_SAMPLE);
    assert_false(ring.broken);
    pinject_ring_end(&ring);
    take(0, 9, NULL);
    const uint64_t *words = next(PERF_RECORD_LOST);
    assert_int_equal(words[2], 2);
    assert_int_equal(words[5], 4242);
    assert_int_equal(next(PERF_RECORD_SAMPLE)[2], 9);
    pinject_ring_end(&ring);
    /* The next one tells what was lost since, and nothing twice. */
    while (sampler.lost < 5)
        take(0, 1, NULL);
    assert_true(pinject_ring_begin(&ring));
    while (ring.head != ring.tail)
        next(PERF_RECORD_SAMPLE);
    pinject_ring_end(&ring);
    take(0, 10, NULL);
    assert_int_equal(next(PERF_RECORD_LOST)[2], 3);
    assert_int_equal(next(PERF_RECORD_SAMPLE)[2], 10);
    pinject_ring_end(&ring);
    take(0, 11, NULL);
    assert_int_equal(next(PERF_RECORD_SAMPLE)[2], 11);
    /* A tail that cannot be is no room. */
    sampler.page->data_tail = sampler.at + 8;
    take(0, 9, NULL);
    assert_int_equal(sampler.head->lost, 6);
}

/* Room for the largest sample with a LOST in front of it, and 8 bytes less than that. */
static void test_least_room(void **state)
{
    enum { LARGEST = 8 * (6 + 6 + 2 + 127) };
    (void)state;
    sampler.at = sampler.page->data_head = 8 * 1000 + PINJECT_RING_DATA - LARGEST;
    sampler.page->data_tail = 8 * 1000;
    take(0, 1, NULL);
    assert_int_equal(sampler.head->lost, 0);
    assert_true(sampler.page->data_head > 8 * 1000 + PINJECT_RING_DATA - LARGEST);
    sampler.at = sampler.page->data_head = 8 * 1000 + PINJECT_RING_DATA - LARGEST + 8;
    take(0, 1, NULL);
    assert_int_equal(sampler.head->lost, 1);
    assert_int_equal(sampler.page->data_head, 8 * 1000 + PINJECT_RING_DATA - LARGEST + 8);
}

static uint64_t user_ns_of(const struct rusage *usage)
{
    return (uint64_t)usage->ru_utime.tv_sec * 1000000000 + (uint64_t)usage->ru_utime.tv_usec * 1000;
}

/* User time as the kernel has it, in its seconds and in their parts. */
static void test_user_time(void **state)
{
    struct rusage before, after;
    (void)state;
    do {
        for (volatile int i = 0; i < 1000000; i++)
            continue;
        getrusage(RUSAGE_THREAD, &before);
        uint64_t user_ns = pinject_sampler_count(&sampler);
        getrusage(RUSAGE_THREAD, &after);
        assert_in_range(user_ns, user_ns_of(&before), user_ns_of(&after));
    } while (user_ns_of(&before) < 1100000000);
}

static void test_wrapping(void **state)
{
    (void)state;
    static uint64_t frames[60][2];
    for (unsigned i = 0; i < 59; i++)
        frames[i][0] = (uintptr_t)frames[i + 1], frames[i][1] = i;
    for (unsigned i = 0; i < 2000; i++) {
        take(0, i, frames[i % 59]);
        const uint64_t *words = next(PERF_RECORD_SAMPLE);
        assert_int_equal(words[2], i);
        assert_int_equal(words[6], 2 + 60 - i % 59);
        pinject_ring_end(&ring);
    }
    assert_true(sampler.at > 2 * PINJECT_RING_DATA);
}

static void test_counting_alone(void **state)
{
    (void)state;
    sampler.flags = 0;
    take(0, 1, NULL);
    assert_int_equal(sampler.page->data_head, 0);
    assert_true(sampler.head->cpu_ns > 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_counts, set_up),         cmocka_unit_test_setup(test_without_chains, set_up),
        cmocka_unit_test_setup(test_sample, set_up),         cmocka_unit_test_setup(test_weights, set_up),
        cmocka_unit_test_setup(test_wild_frames, set_up),    cmocka_unit_test_setup(test_deep_stack, set_up),
        cmocka_unit_test_setup(test_full_ring, set_up),      cmocka_unit_test_setup(test_wrapping, set_up),
        cmocka_unit_test_setup(test_counting_alone, set_up), cmocka_unit_test_setup(test_calls_that_are_denied, set_up),
        cmocka_unit_test_setup(test_least_room, set_up),     cmocka_unit_test_setup(test_user_time, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 77; /* no timers there */
}

#endif
