/* SPDX-License-Identifier: MIT */
/* READ records of rounds: their times in order, each once; the last ones of a file are no round. */
#include "check.h"

#include "analyze/model/loader.h"

static void take(struct loader *loader, struct task *task, uint64_t time_ns, uint64_t value)
{
    const struct task_reading reading = {.event = 1, .value = value};
    assert_int_equal(rounds_take(loader, task, time_ns, &reading), 0);
}

static void test_rounds(void **state)
{
    struct loader loader = {.rounds_wanted = true};
    struct task one = {.shown.end_ns = 500}, other = {.shown.end_ns = 300};
    (void)state;
    take(&loader, &one, 100, 1);
    take(&loader, &one, 300, 3);
    take(&loader, &one, 300, 4);
    take(&loader, &one, 500, 9); /* its end */
    take(&loader, &one, 0, 9);   /* damaged */
    take(&loader, &other, 200, 5);
    take(&loader, &other, 300, 9);
    take(&loader, &other, 50, 6);
    assert_int_equal(one.round_count, 3);
    assert_int_equal(one.rounds[2].value, 4);
    assert_int_equal(one.rounds[2].event, 1);
    assert_int_equal(other.round_count, 2);
    static const uint64_t times[] = {50, 100, 200, 300};
    assert_int_equal(loader.round_time_count, 4);
    assert_memory_equal(loader.round_times, times, sizeof(times));
    free(one.rounds);
    free(other.rounds);
    free(loader.round_times);
}

static void test_not_wanted(void **state)
{
    struct loader loader = {.rounds_wanted = false};
    struct task task = {0};
    (void)state;
    take(&loader, &task, 100, 1);
    assert_int_equal(task.round_count, 0);
    assert_int_equal(loader.round_time_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds), cmocka_unit_test(test_not_wanted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
