/* SPDX-License-Identifier: MIT */
/* Random periods: their sequence, when they change, and what the samples of a task then stand for. Without a kernel. */
#include "check.h"

#include <errno.h>
#include <pinject/ring.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "collector/config/event_rate.h"
#include "collector/config/probe.h"
#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "collector/system/monotonic.h"

enum { FAULTS, CLOCK, COUNTED, EVENTS, FD = 1000 };

static struct {
    unsigned calls;
    uint64_t periods[EVENTS]; /* the last one of each event */
    uint64_t count;           /* of each event, when its period changes */
    uint64_t now_ns;
} kernel;

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    const uint64_t *period = va_arg(list, const uint64_t *);
    va_end(list);
    assert_int_equal(request, PERF_EVENT_IOC_PERIOD);
    assert_in_range(fd, FD, FD + EVENTS - 1);
    kernel.calls++;
    kernel.periods[fd - FD] = *period;
    return 0;
}

ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
    const uint64_t reading[5] = {kernel.count, 1, 1, 900, 0};
    assert_in_range(fd, FD, FD + EVENTS - 1);
    assert_true(size == sizeof(reading));
    memcpy(to, reading, size);
    return (ssize_t)size;
}

uint64_t __wrap_monotonic_ns(void);
uint64_t __wrap_monotonic_ns(void)
{
    return kernel.now_ns;
}

static struct event_config config;
static struct session session;
static struct records_layout layout;
static _Alignas(8) unsigned char scratch[PINJECT_RING_RECORD_MAX];

static void add(uint64_t number, uint64_t period, uint64_t mask, uint64_t seed)
{
    struct config_event *event = &config.events[config.count++];
    event->attr = probe_attr(PERF_TYPE_SOFTWARE, number);
    event->attr.sample_period = period;
    event->attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    event->samples = period;
    event->nanoseconds = number == PERF_COUNT_SW_TASK_CLOCK;
    event->random_mask = mask;
    event->random_seed = seed;
}

static int set_up(void **state)
{
    (void)state;
    memset(&config, 0, sizeof(config));
    memset(&kernel, 0, sizeof(kernel));
    session = (struct session){.config = &config};
    add(PERF_COUNT_SW_PAGE_FAULTS, 100, UINT64_MAX >> 2, 1234567);
    add(PERF_COUNT_SW_TASK_CLOCK, 50000, 0xff, 0);
    add(PERF_COUNT_SW_CONTEXT_SWITCHES, 0, 0, 0);
    config.varies = true;
    records_layout_init(&layout, &config);
    return 0;
}

static struct attached *new_task(void)
{
    struct attached *attached = attach_new(EVENTS);
    assert_non_null(attached);
    attached->session = &session;
    for (int i = 0; i < EVENTS; i++)
        attached->fds[i] = FD + i;
    assert_int_equal(attach_period_init(attached, NULL), 0);
    return attached;
}

static void free_task(struct attached *attached)
{
    free(attached->periods);
    free(attached);
}

/* Those of splitmix64 with the seed 1234567, as its authors give them. */
static void test_sequence(void **state)
{
    static const uint64_t drawn[] = {UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
                                     UINT64_C(9817491932198370423)};
    (void)state;
    struct attached *first = new_task(), *second = new_task();
    assert_true(attach_period_now(first, FAULTS) == 100 + (drawn[0] & UINT64_MAX >> 2));
    assert_in_range(attach_period_now(first, CLOCK), 50000, 50255);
    /* Of each task there is another one. */
    assert_true(attach_period_now(second, FAULTS) != attach_period_now(first, FAULTS));
    free_task(first);
    free_task(second);
    session.random_tasks = 0;
    first = new_task();
    assert_true(attach_period_now(first, FAULTS) == 100 + (drawn[0] & UINT64_MAX >> 2));
    free_task(first);
    config.varies = false;
    first = new_task();
    assert_null(first->periods);
    assert_int_equal(attach_renew_periods(first, 10), 0);
    free_task(first);
}

/* The weight of a sample of the event INDEX with the count VALUE, 0: it is left out; the other fields stay as they are. */
static uint64_t weigh(struct attached *attached, unsigned index, uint64_t value, uint64_t time_ns, bool in_scratch)
{
    enum { READ = 5, CHAIN = 3 };
    uint64_t words[5 + READ + CHAIN] = {0, 77, 0x1234, 100, time_ns};
    size_t at = 5;
    words[at++] = value;
    for (unsigned i = 1; i < READ; i++)
        words[at++] = 900 + i;
    if (!attached)
        at = 5;
    words[at++] = 2;
    words[at++] = 0xa;
    words[at++] = 0xb;
    const struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER,
                                             (uint16_t)(at * sizeof(*words))};
    memcpy(words, &header, sizeof(header));
    if (in_scratch)
        memcpy(scratch, words, sizeof(words));
    const struct perf_event_header *record = in_scratch ? (const void *)scratch : (const void *)words;
    const struct perf_event_header *before = record;
    const int taken = attach_weigh(attached, &config, &layout, index, &record, scratch);
    if (!taken) {
        assert_ptr_equal(record, before);
        return 0;
    }
    assert_int_equal(taken, 1);
    assert_ptr_equal(record, scratch);
    const uint64_t *made = (const uint64_t *)(const void *)scratch;
    assert_int_equal(record->size, 8 * (5 + 1 + CHAIN));
    assert_int_equal(record->misc, PERF_RECORD_MISC_USER);
    assert_true(made[1] == 77 && made[2] == 0x1234 && made[3] == 100 && made[4] == time_ns);
    assert_true(made[6] == 2 && made[7] == 0xa && made[8] == 0xb);
    assert_int_equal(records_period(&layout, index, record), made[5]);
    return made[5];
}

/* All weights together are the count of the last sample, however the periods changed. */
static void test_weights(void **state)
{
    (void)state;
    config.events[FAULTS].random_mask = 0x1f;
    struct attached *attached = new_task();
    static const uint64_t values[] = {100, 231, 400, 7000, 7400};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        sum += weigh(attached, FAULTS, values[i], 10 * i + 1, i % 2);
        assert_int_equal(sum, values[i]);
        kernel.now_ns = 10 * i + 2;
        kernel.count = values[i];
        assert_int_equal(attach_renew_periods(attached, 10), 1);
    }
    assert_int_equal(weigh(attached, CLOCK, 40000, 100, false), 40000); /* it has a count of its own */
    assert_int_equal(weigh(attached, CLOCK, 950000, 110, false), 910000);
    /* Inherited events have the same period always. */
    assert_int_equal(weigh(NULL, FAULTS, 0, 100, true), 100);
    assert_int_equal(weigh(NULL, CLOCK, 0, 100, false), 50000);
    /* Too short, and too long. */
    struct perf_event_header cut = {.type = PERF_RECORD_SAMPLE, .size = 8 * 9};
    uint64_t words[9] = {0};
    memcpy(words, &cut, sizeof(cut));
    const struct perf_event_header *record = (const void *)words;
    assert_int_equal(attach_weigh(attached, &config, &layout, FAULTS, &record, scratch), -EINVAL);
    static uint64_t large[8192];
    cut.size = 65528;
    memcpy(large, &cut, sizeof(cut));
    record = (const void *)large;
    assert_int_equal(attach_weigh(NULL, &config, &layout, FAULTS, &record, scratch), -EINVAL);
    free_task(attached);
}

/* A change of the period gives a sample at once; what it stands for is part of the next one. */
static void test_early(void **state)
{
    (void)state;
    config.events[FAULTS].random_mask = 0x1f;
    struct attached *attached = new_task();
    assert_int_equal(weigh(attached, FAULTS, 120, 10, false), 120);
    assert_int_equal(weigh(attached, FAULTS, 120, 10, false), 0); /* it counted more than 1: the kernel writes copies */
    kernel.now_ns = 20;
    kernel.count = 150;
    assert_int_equal(attach_renew_periods(attached, 10), 1);
    assert_int_equal(weigh(attached, FAULTS, 140, 19, false), 20); /* it was in the ring */
    assert_int_equal(weigh(attached, FAULTS, 170, 21, false), 0);  /* the kernel's extra one, and a copy of it */
    assert_int_equal(weigh(attached, FAULTS, 170, 21, true), 0);
    assert_int_equal(attach_renew_periods(attached, 10), 0); /* no sample has come with this period */
    assert_int_equal(weigh(attached, FAULTS, 281, 30, false), 141);
    /* It went on while the period was changed. */
    kernel.now_ns = 40;
    kernel.count = 400;
    assert_int_equal(attach_renew_periods(attached, 10), 1);
    assert_int_equal(weigh(attached, FAULTS, 390, 41, false), 0);
    assert_int_equal(weigh(attached, FAULTS, 401, 42, false), 0);
    assert_int_equal(weigh(attached, FAULTS, 490, 43, false), 209);
    /* A clock's period begins anew. */
    assert_int_equal(weigh(attached, CLOCK, 60000, 40, false), 60000);
    kernel.now_ns = 50;
    kernel.count = 70000;
    assert_int_equal(attach_renew_periods(attached, 10), 2);
    assert_int_equal(weigh(attached, CLOCK, 70001, 60, false), 10001);
    free_task(attached);
}

/* A clock that may not see the kernel leaves out ticks there: its samples stand for no more than the periods were. */
static void test_clocks(void **state)
{
    (void)state;
    config.events[CLOCK].attr.exclude_kernel = 1;
    struct attached *attached = new_task();
    const uint64_t first = attach_period_now(attached, CLOCK);
    assert_int_equal(weigh(attached, CLOCK, first, 10, false), first);
    assert_int_equal(weigh(attached, CLOCK, 10 * first, 20, false), first);
    kernel.now_ns = 30;
    assert_int_equal(attach_renew_periods(attached, 10), 1);
    const uint64_t second = kernel.periods[CLOCK];
    /* One that was in the ring already. */
    assert_int_equal(weigh(attached, CLOCK, 20 * first, 29, false), first);
    /* What was counted of the old period belongs to the first sample of the new one. */
    assert_int_equal(weigh(attached, CLOCK, 20 * first + second + 500, 40, false), second + 500);
    assert_int_equal(weigh(attached, CLOCK, 20 * first + 2 * second + 500, 50, false), second);
    assert_int_equal(weigh(attached, CLOCK, 90 * first, 60, false), second);
    kernel.now_ns = 70;
    assert_int_equal(attach_renew_periods(attached, 10), 1);
    assert_int_equal(weigh(attached, CLOCK, 190 * first, 80, false), second + kernel.periods[CLOCK]);
    free_task(attached);
}

/* A period begins anew when it changes: before a sample has come with it, it stays. */
static void test_renewed(void **state)
{
    (void)state;
    struct attached *attached = new_task();
    assert_int_equal(attach_renew_periods(attached, 10), 0);
    config.events[FAULTS].random_mask = 0xff;
    weigh(attached, FAULTS, 200, 10, false);
    weigh(attached, CLOCK, 60000, 11, false);
    kernel.now_ns = 20;
    assert_int_equal(attach_renew_periods(attached, 0), 0);
    assert_int_equal(attach_renew_periods(attached, 1), 1);
    assert_true(kernel.periods[FAULTS] == 100 + (UINT64_C(3203168211198807973) & 0xff));
    assert_int_equal(kernel.periods[CLOCK], 0);
    assert_int_equal(attach_renew_periods(attached, 10), 1);
    assert_in_range(kernel.periods[CLOCK], 50000, 50255);
    assert_int_equal(attach_renew_periods(attached, 10), 0);
    /* Samples that the ring had before are of the old period. */
    weigh(attached, FAULTS, 300, 19, false);
    assert_int_equal(attach_renew_periods(attached, 10), 0);
    weigh(attached, FAULTS, 700, 20, false);
    attached->fds[FAULTS] = -1;
    assert_int_equal(attach_renew_periods(attached, 10), 0);
    attached->fds[FAULTS] = FD + FAULTS;
    assert_int_equal(attach_renew_periods(attached, 10), 1);
    assert_int_equal(kernel.calls, 3);
    free_task(attached);
}

/* -F auto: the more often a task is switched to, the longer its period, and that of others with its name. */
static void test_by_cost(void **state)
{
    (void)state;
    enum { MS = 1000 * 1000, SHORT = 1001001, LONG = 10101010 };
    struct perf_event_mmap_page page = {.lock = 1000};
    config.events[CLOCK].random_mask = 0;
    config.events[CLOCK].by_cost = true;
    config.events[CLOCK].attr.sample_period = SHORT;
    config.events[FAULTS].random_mask = 0;
    session.cost = (struct sample_cost){.sample_ns = 10000, .program_ns = 9000, .tick_ns = 4000000};
    struct attached *attached = new_task();
    attached->ring = &page;
    assert_int_equal(attach_period_now(attached, CLOCK), SHORT);
    weigh(attached, CLOCK, 9 * MS, 10, false);
    page.lock += 2 * 900;
    assert_int_equal(attach_renew_periods(attached, 10), 0); /* it has not run for long enough */
    weigh(attached, CLOCK, 10 * MS, 20, false);
    page.lock += 2 * 100;
    assert_int_equal(attach_renew_periods(attached, 10), 1); /* 100,000 switches a second */
    assert_int_equal(kernel.periods[CLOCK], LONG);
    assert_int_equal(attach_period_now(attached, CLOCK), LONG);
    /* What the change took away from a period is part of the next sample. */
    kernel.now_ns = 30;
    assert_int_equal(weigh(attached, CLOCK, 35 * MS, 40, false), 25 * MS);
    page.lock += 2 * 2500;
    assert_int_equal(attach_renew_periods(attached, 10), 0);              /* as before */
    struct attached *next = new_task();                                   /* of the same name */
    assert_int_equal(attach_period_now(next, CLOCK), LONG / 1000 * 1000); /* in us */
    free_task(next);
    next = new_task();
    free(next->periods);
    assert_int_equal(attach_period_init(next, "another"), 0);
    assert_int_equal(attach_period_now(next, CLOCK), SHORT);
    free_task(next);
    weigh(attached, CLOCK, 95 * MS, 50, false); /* it computes */
    page.lock += 2 * 2;
    assert_int_equal(attach_renew_periods(attached, 0), 0);
    assert_int_equal(attach_renew_periods(attached, 10), 1);
    assert_int_equal(kernel.periods[CLOCK], SHORT);
    /* Without a ring nobody knows. */
    attached->ring = NULL;
    weigh(attached, CLOCK, 195 * MS, 60, false);
    assert_int_equal(attach_renew_periods(attached, 10), 0);
    free_task(attached);
}

static void test_stopped(void **state)
{
    (void)state;
    config.events[FAULTS].attr.freq = 1;
    struct attached *attached = new_task();
    assert_int_equal(attach_stop_sampling(attached), 2); /* what only counts stays as it is */
    assert_int_equal(kernel.periods[FAULTS], 1);
    assert_true(kernel.periods[CLOCK] > UINT64_C(1) << 60);
    assert_int_equal(attach_stop_sampling(attached), 0);
    assert_int_equal(kernel.calls, 2);
    free_task(attached);
}

/* What the events are opened with. */
static void test_attributes(void **state)
{
    (void)state;
    for (int inherited = 0; inherited < 2; inherited++) {
        struct perf_event_attr attr = config.events[FAULTS].attr;
        assert_true(attr.sample_type & PERF_SAMPLE_PERIOD);
        event_rate_attr(&config.events[FAULTS], inherited, &attr);
        assert_false(attr.sample_type & PERF_SAMPLE_PERIOD);
        assert_int_equal(!(attr.sample_type & PERF_SAMPLE_READ), inherited);
        attr = config.events[COUNTED].attr;
        event_rate_attr(&config.events[COUNTED], inherited, &attr);
        assert_memory_equal(&attr, &config.events[COUNTED].attr, sizeof(attr));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_sequence, set_up),   cmocka_unit_test_setup(test_weights, set_up),
        cmocka_unit_test_setup(test_clocks, set_up),     cmocka_unit_test_setup(test_renewed, set_up),
        cmocka_unit_test_setup(test_early, set_up),      cmocka_unit_test_setup(test_stopped, set_up),
        cmocka_unit_test_setup(test_attributes, set_up), cmocka_unit_test_setup(test_by_cost, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
