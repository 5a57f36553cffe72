/* SPDX-License-Identifier: MIT */
/* How long who makes threads waits for those that have not begun. Time does not pass here. */
#include "check.h"

#include "played_time.h"
#include "preload/thread_records.h"

#include <errno.h>

enum { MANY = 32, FEW = 16, VAIN = 12, PATIENCE_NS = 4000000, WAITS = 16 };

static uint64_t now_ns;
static bool real_time;
static struct pinject_thread_record *records[MANY];
static unsigned held;
static uint32_t stalled;

static struct {
    long results[WAITS];
    void (*meanwhile[WAITS])(void);
    unsigned count, wakes;
    const uint32_t *word;
    uint32_t expected[WAITS];
    struct timespec deadline[WAITS];
} waits;

uint64_t played_clock_ns(clockid_t id)
{
    assert_int_equal(id, CLOCK_MONOTONIC);
    return now_ns;
}

void played_sleep_ns(uint32_t ns)
{
    fail_msg("a pause of %u ns", ns);
}

long played_futex_wait_until(uint32_t *word, uint32_t expected, const struct timespec *deadline)
{
    unsigned i = waits.count++;
    assert_true(i < WAITS);
    waits.word = word;
    waits.expected[i] = expected;
    waits.deadline[i] = *deadline;
    if (waits.meanwhile[i])
        waits.meanwhile[i]();
    return waits.results[i];
}

long played_futex_wake(uint32_t *word, int count)
{
    assert_int_equal(count, INT32_MAX);
    assert_ptr_equal(word, waits.word);
    waits.wakes++;
    return 0;
}

bool played_is_real_time(void)
{
    return real_time;
}

int played_cpu(void)
{
    return 0;
}

static void hold(unsigned count)
{
    for (; held < count; held++)
        assert_non_null(records[held] = pinject_thread_record_take());
    while (held > count)
        pinject_thread_record_give(records[--held]);
}

static int set_up(void **state)
{
    (void)state;
    pinject_thread_records_reset();
    memset(&waits, 0, sizeof(waits));
    now_ns = 1000000000;
    real_time = false;
    held = stalled = 0;
    return 0;
}

/* How many waits there were. */
static unsigned wait_once(void)
{
    waits.count = 0;
    pinject_thread_throttle(&stalled);
    return waits.count;
}

static void test_deadline(void **state)
{
    static const struct {
        uint64_t now_ns;
        int64_t seconds, ns;
    } rows[] = {
        {0, 0, PATIENCE_NS},        {6995999999, 6, 999999999},     {6996000000, 7, 0},
        {35999996000000, 36000, 0}, {5999999996000001, 6000000, 1},
    };
    hold(MANY);
    waits.results[0] = -ETIMEDOUT;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        now_ns = rows[i].now_ns;
        assert_int_equal(wait_once(), 1);
        if (waits.deadline[0].tv_sec != rows[i].seconds || waits.deadline[0].tv_nsec != rows[i].ns)
            fail_msg("row %zu: %lld s and %ld ns", i, (long long)waits.deadline[0].tv_sec, waits.deadline[0].tv_nsec);
    }
    (void)state;
}

static void test_who_does_not_wait(void **state)
{
    (void)state;
    waits.results[0] = -ETIMEDOUT;
    hold(MANY - 1);
    assert_int_equal(wait_once(), 0);
    hold(MANY);
    assert_int_equal(wait_once(), 1);
    stalled = 1;
    assert_int_equal(wait_once(), 0);
    stalled = 0;
    real_time = true;
    assert_int_equal(wait_once(), 0);
    real_time = false;
    assert_int_equal(wait_once(), 1);
    /* So often in vain; a record that comes back starts it anew. */
    for (int i = 2; i < VAIN; i++)
        assert_int_equal(wait_once(), 1);
    assert_int_equal(wait_once(), 0);
    hold(MANY - 1);
    assert_int_equal(wait_once(), 0);
    hold(MANY);
    for (int i = 0; i < VAIN; i++)
        assert_int_equal(wait_once(), 1);
    assert_int_equal(wait_once(), 0);
}

static void one_comes_back(void)
{
    hold(held - 1);
}

static void few_are_left(void)
{
    hold(FEW + 1);
    assert_int_equal(waits.wakes, 0);
    hold(FEW);
    assert_int_equal(waits.wakes, 1);
    hold(FEW - 1);
    assert_int_equal(waits.wakes, 1);
}

static void is_stalled(void)
{
    stalled = 1;
}

/* A handler ran, somebody woke it for nothing: it goes on, until the same time, or until few are left. */
static void test_waits_on(void **state)
{
    (void)state;
    hold(MANY);
    waits.results[0] = -EINTR;
    waits.results[1] = 0;
    waits.meanwhile[1] = one_comes_back;
    waits.results[2] = -EAGAIN;
    waits.meanwhile[3] = few_are_left;
    assert_int_equal(wait_once(), 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(waits.expected[i], waits.expected[0]);
        assert_int_equal(waits.deadline[i].tv_sec, 1);
        assert_int_equal(waits.deadline[i].tv_nsec, PATIENCE_NS);
    }
    /* The next wait sees the turn. Nobody waits when few are left again: nobody is woken. */
    hold(MANY);
    waits.results[0] = -ETIMEDOUT;
    uint32_t before = waits.expected[0];
    assert_int_equal(wait_once(), 1);
    assert_int_equal(waits.expected[0], before + 1);
    waits.wakes = 0;
    hold(0);
    assert_int_equal(waits.wakes, 0);
}

static void test_ends_where_the_collector_stalls(void **state)
{
    (void)state;
    hold(MANY);
    waits.meanwhile[0] = is_stalled;
    assert_int_equal(wait_once(), 1);
    stalled = 0;
    waits.meanwhile[0] = NULL;
    waits.results[0] = -ENOSYS; /* whatever the error is, it ends */
    assert_int_equal(wait_once(), 1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_deadline),
        TEST(test_who_does_not_wait),
        TEST(test_waits_on),
        TEST(test_ends_where_the_collector_stalls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
