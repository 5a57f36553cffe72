/* SPDX-License-Identifier: MIT */
/* Rounds of --print-interval: when they are due, late ones, and none. */
#include "check.h"

#include "collector/interval_timer.h"

#define MS UINT64_C(1000000)

static void test_rounds(void **state)
{
    struct interval_timer timer;
    uint64_t length = 7;
    (void)state;
    interval_timer_start(&timer, 100 * MS, 1000 * MS);
    assert_false(interval_timer_take(&timer, 1099 * MS, &length));
    assert_int_equal(length, 7);
    assert_int_equal(interval_timer_wait(&timer, 1099 * MS + 1, 50), 1); /* never too early */
    assert_int_equal(interval_timer_wait(&timer, 1000 * MS, 50), 50);
    assert_int_equal(interval_timer_wait(&timer, 1000 * MS, -1), 100);
    assert_int_equal(interval_timer_wait(&timer, 1200 * MS, 50), 0);
    assert_true(interval_timer_take(&timer, 1103 * MS, &length));
    assert_int_equal(length, 103 * MS);
    assert_false(interval_timer_take(&timer, 1199 * MS, &length));
    /* The times stay multiples; what is missed is in the next one. */
    assert_true(interval_timer_take(&timer, 1450 * MS, &length));
    assert_int_equal(length, 347 * MS);
    assert_false(interval_timer_take(&timer, 1499 * MS, &length));
    assert_true(interval_timer_take(&timer, 1500 * MS, &length));
    assert_int_equal(length, 50 * MS);
}

static void test_never(void **state)
{
    struct interval_timer timer;
    uint64_t length;
    (void)state;
    interval_timer_start(&timer, 0, 1000 * MS);
    assert_false(interval_timer_take(&timer, UINT64_MAX, &length));
    assert_int_equal(interval_timer_wait(&timer, 1200 * MS, 50), 50);
    assert_int_equal(interval_timer_wait(&timer, 1200 * MS, -1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds), cmocka_unit_test(test_never)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
