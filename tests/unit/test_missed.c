/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <pinject/wire.h>

#include "collector/tasks/missed.h"
#include "common/clock.h"

static struct missed missed;

static int set_up(void **state)
{
    (void)state;
    return missed_init(&missed);
}

static int tear_down(void **state)
{
    (void)state;
    missed_release(&missed);
    return 0;
}

static void test_lines(void **state)
{
    (void)state;
    missed_add(&missed, "refused", "ls", 1, 5);
    missed_add(&missed, "refused", "ls", 2, 6);
    missed_add(&missed, "refused", "cp", 1, 0);
    missed_add(&missed, "never", "x", 0, 0);
    assert_int_equal(missed.count, 2);
    assert_int_equal(missed.lines[0].count, 3);
    assert_int_equal(missed.lines[0].cpu_ns, 11);
    unsigned count;
    struct result_missed *lines = missed_take(&missed, &count);
    assert_int_equal(count, 2);
    assert_int_equal(missed.count, 0);
    for (unsigned i = 0; i < count; i++) {
        free((char *)lines[i].reason);
        free((char *)lines[i].comm);
    }
    free(lines);
}

static void test_many_lines(void **state)
{
    (void)state;
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) {
        char comm[16];
        snprintf(comm, sizeof(comm), "c%d", i);
        missed_add(&missed, "reason", comm, 1, 0);
    }
    assert_int_equal(missed.count, MISSED_NAMED + 1);
    for (unsigned i = 0; i < missed.count; i++)
        sum += missed.lines[i].count;
    assert_int_equal(sum, 1000);
    assert_int_equal(missed.lines[MISSED_NAMED].count, 1000 - MISSED_NAMED);
    assert_string_equal(missed.lines[MISSED_NAMED].reason, "reason");
    assert_string_equal(missed.lines[MISSED_NAMED].comm, "");
    /* The collector's own lines are told all the same, and what has a name already goes on to count. */
    missed_add(&missed, "queue full", "", 7, 0);
    missed_add(&missed, "refused", "another name", 2, 0);
    missed_add(&missed, "reason", "c3", 1, 0);
    assert_int_equal(missed.count, MISSED_NAMED + 3);
    assert_string_equal(missed.lines[MISSED_NAMED + 1].reason, "queue full");
    assert_int_equal(missed.lines[MISSED_NAMED + 1].count, 7);
    assert_string_equal(missed.lines[MISSED_NAMED + 2].reason, "refused");
    assert_int_equal(missed.lines[MISSED_NAMED + 2].count, 2);
    assert_int_equal(missed.lines[3].count, 2);
    /* Of the next set names have as many lines again. */
    unsigned count;
    struct result_missed *lines = missed_take(&missed, &count);
    for (unsigned i = 0; i < count; i++) {
        free((char *)lines[i].reason);
        free((char *)lines[i].comm);
    }
    free(lines);
    missed_add(&missed, "reason", "c1", 1, 0);
    assert_string_equal(missed.lines[0].comm, "c1");
}

static void test_many_reasons(void **state)
{
    (void)state;
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) {
        char reason[16];
        snprintf(reason, sizeof(reason), "r%d", i);
        missed_add(&missed, reason, "", 1, 0);
    }
    assert_int_equal(missed.count, MISSED_LINES);
    for (unsigned i = 0; i < missed.count; i++)
        sum += missed.lines[i].count;
    assert_int_equal(sum, 1000);
    assert_string_equal(missed.lines[MISSED_LINES - 1].reason, "other reasons");
}

/* A request and the kernel's record of the same task come in either order. */
static void test_matched(void **state)
{
    (void)state;
    missed_requested(&missed, 10);
    missed_announced(&missed, 1, 10, 10, 5, true);
    missed_announced(&missed, 1, 11, 11, 5, true);
    assert_non_null(missed_find(&missed, 11));
    missed_requested(&missed, 11);
    assert_null(missed_find(&missed, 11));
    missed_settle(&missed, UINT64_MAX);
    assert_int_equal(missed.count, 0);
    /* The number again, for somebody who does not ask. */
    missed_announced(&missed, 1, 10, 10, 9, true);
    missed_settle(&missed, UINT64_MAX);
    assert_int_equal(missed.count, 1);
    assert_int_equal(missed.children, 0);
}

/* Told before its exec; the kernel's record, and its own request after the exec, come in any order. */
static void test_expected(void **state)
{
    (void)state;
    missed_expected(&missed, 1, 10, 5);
    missed_announced(&missed, 1, 10, 10, 4, true);
    missed_requested(&missed, 10);
    missed_announced(&missed, 1, 11, 11, 4, true);
    missed_expected(&missed, 1, 11, 5);
    missed_requested(&missed, 11);
    missed_expected(&missed, 1, 12, 5);
    missed_requested(&missed, 12);
    missed_announced(&missed, 1, 12, 12, 4, true);
    assert_int_equal(missed.children, 0);
    assert_int_equal(missed.count, 0);
    missed_expected(&missed, 1, -1, 5);
    missed_expected(&missed, 1, 13, 5); /* never comes */
    missed_expected(&missed, 1, 13, 6);
    missed_settle(&missed, UINT64_MAX);
    assert_int_equal(missed.count, 1);
    assert_int_equal(missed.lines[0].count, 1);
}

static void test_never_came(void **state)
{
    (void)state;
    missed_announced(&missed, 1, 10, 10, 5, true);
    missed_announced(&missed, 1, 20, 20, 5, false);
    missed_announced(&missed, 1, 30, 31, 5, true);
    missed_announced(&missed, 1, 40, 40, 50, true);
    missed_announced(&missed, 1, 10, 10, 7, true); /* a second one with that number: the first never came */
    missed_settle(&missed, 50);
    assert_int_equal(missed.count, 3);
    uint64_t sum = 0;
    for (unsigned i = 0; i < missed.count; i++)
        sum += missed.lines[i].count;
    assert_int_equal(sum, 4);
    assert_int_equal(missed.children, 1);
}

static void test_untracked(void **state)
{
    (void)state;
    assert_false(missed_has_untracked(&missed, 5));
    missed_announced(&missed, 5, 5, 6, 1, true); /* a thread is no child */
    assert_false(missed_has_untracked(&missed, 5));
    missed_announced(&missed, 5, 10, 10, 1, true);
    assert_true(missed_has_untracked(&missed, 5));
    assert_false(missed_has_untracked(&missed, 6));
    missed_find(&missed, 10)->ended = true;
    assert_false(missed_has_untracked(&missed, 5));
}

static void test_names_of_the_living(void **state)
{
    (void)state;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    missed_announced(&missed, 1, getpid(), getpid(), now, true);
    missed_look(&missed, now);
    assert_string_equal(missed_find(&missed, getpid())->comm, "");
    missed_look(&missed, now + 1);
    assert_string_equal(missed_find(&missed, getpid())->comm, "test_missed");
}

static void test_numbers_that_cannot_be(void **state)
{
    (void)state;
    missed_announced(&missed, 1, 0, 0, 5, true);
    missed_announced(&missed, 1, -1, -1, 5, true);
    missed_announced(&missed, 1, PINJECT_TASKS, PINJECT_TASKS, 5, true);
    missed_requested(&missed, -5);
    missed_requested(&missed, PINJECT_TASKS);
    missed_requested(&missed, PINJECT_TASKS - 1);
    assert_int_equal(missed.children, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_many_reasons),
        TEST(test_lines),
        TEST(test_many_lines),
        TEST(test_matched),
        TEST(test_never_came),
        TEST(test_names_of_the_living),
        TEST(test_numbers_that_cannot_be),
        TEST(test_untracked),
        TEST(test_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
