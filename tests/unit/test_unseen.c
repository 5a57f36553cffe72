/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <pinject/wire.h>

#include "collector/unseen.h"
#include "common/clock.h"

static struct unseen unseen;

static int set_up(void **state)
{
    (void)state;
    return unseen_init(&unseen);
}

static int tear_down(void **state)
{
    (void)state;
    unseen_release(&unseen);
    return 0;
}

static void test_lines(void **state)
{
    (void)state;
    unseen_add(&unseen, "refused", "ls", 1, 5);
    unseen_add(&unseen, "refused", "ls", 2, 6);
    unseen_add(&unseen, "refused", "cp", 1, 0);
    unseen_add(&unseen, "never", "x", 0, 0);
    assert_int_equal(unseen.count, 2);
    assert_int_equal(unseen.lines[0].count, 3);
    assert_int_equal(unseen.lines[0].cpu_ns, 11);
    unsigned count;
    struct result_unseen *lines = unseen_take(&unseen, &count);
    assert_int_equal(count, 2);
    assert_int_equal(unseen.count, 0);
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
        unseen_add(&unseen, "reason", comm, 1, 0);
    }
    assert_int_equal(unseen.count, UNSEEN_NAMED + 1);
    for (unsigned i = 0; i < unseen.count; i++)
        sum += unseen.lines[i].count;
    assert_int_equal(sum, 1000);
    assert_int_equal(unseen.lines[UNSEEN_NAMED].count, 1000 - UNSEEN_NAMED);
    assert_string_equal(unseen.lines[UNSEEN_NAMED].reason, "reason");
    assert_string_equal(unseen.lines[UNSEEN_NAMED].comm, "");
    /* The collector's own lines are told all the same, and what has a name already goes on to count. */
    unseen_add(&unseen, "queue full", "", 7, 0);
    unseen_add(&unseen, "refused", "another name", 2, 0);
    unseen_add(&unseen, "reason", "c3", 1, 0);
    assert_int_equal(unseen.count, UNSEEN_NAMED + 3);
    assert_string_equal(unseen.lines[UNSEEN_NAMED + 1].reason, "queue full");
    assert_int_equal(unseen.lines[UNSEEN_NAMED + 1].count, 7);
    assert_string_equal(unseen.lines[UNSEEN_NAMED + 2].reason, "refused");
    assert_int_equal(unseen.lines[UNSEEN_NAMED + 2].count, 2);
    assert_int_equal(unseen.lines[3].count, 2);
    /* Of the next set names have as many lines again. */
    unsigned count;
    struct result_unseen *lines = unseen_take(&unseen, &count);
    for (unsigned i = 0; i < count; i++) {
        free((char *)lines[i].reason);
        free((char *)lines[i].comm);
    }
    free(lines);
    unseen_add(&unseen, "reason", "c1", 1, 0);
    assert_string_equal(unseen.lines[0].comm, "c1");
}

static void test_many_reasons(void **state)
{
    (void)state;
    uint64_t sum = 0;
    for (int i = 0; i < 1000; i++) {
        char reason[16];
        snprintf(reason, sizeof(reason), "r%d", i);
        unseen_add(&unseen, reason, "", 1, 0);
    }
    assert_int_equal(unseen.count, UNSEEN_LINES);
    for (unsigned i = 0; i < unseen.count; i++)
        sum += unseen.lines[i].count;
    assert_int_equal(sum, 1000);
    assert_string_equal(unseen.lines[UNSEEN_LINES - 1].reason, "further reasons");
}

/* A request and the kernel's record of the same task come in either order. */
static void test_matched(void **state)
{
    (void)state;
    unseen_arrived(&unseen, 10);
    unseen_announced(&unseen, 1, 10, 10, 5, true);
    unseen_announced(&unseen, 1, 11, 11, 5, true);
    assert_non_null(unseen_find(&unseen, 11));
    unseen_arrived(&unseen, 11);
    assert_null(unseen_find(&unseen, 11));
    unseen_settle(&unseen, UINT64_MAX);
    assert_int_equal(unseen.count, 0);
    /* The number again, for somebody who does not ask. */
    unseen_announced(&unseen, 1, 10, 10, 9, true);
    unseen_settle(&unseen, UINT64_MAX);
    assert_int_equal(unseen.count, 1);
    assert_int_equal(unseen.children, 0);
}

/* Told before its exec; the kernel's record, and its own request after the exec, come in any order. */
static void test_expected(void **state)
{
    (void)state;
    unseen_expected(&unseen, 1, 10, 5);
    unseen_announced(&unseen, 1, 10, 10, 4, true);
    unseen_arrived(&unseen, 10);
    unseen_announced(&unseen, 1, 11, 11, 4, true);
    unseen_expected(&unseen, 1, 11, 5);
    unseen_arrived(&unseen, 11);
    unseen_expected(&unseen, 1, 12, 5);
    unseen_arrived(&unseen, 12);
    unseen_announced(&unseen, 1, 12, 12, 4, true);
    assert_int_equal(unseen.children, 0);
    assert_int_equal(unseen.count, 0);
    unseen_expected(&unseen, 1, -1, 5);
    unseen_expected(&unseen, 1, 13, 5); /* never comes */
    unseen_expected(&unseen, 1, 13, 6);
    unseen_settle(&unseen, UINT64_MAX);
    assert_int_equal(unseen.count, 1);
    assert_int_equal(unseen.lines[0].count, 1);
}

static void test_never_came(void **state)
{
    (void)state;
    unseen_announced(&unseen, 1, 10, 10, 5, true);
    unseen_announced(&unseen, 1, 20, 20, 5, false);
    unseen_announced(&unseen, 1, 30, 31, 5, true);
    unseen_announced(&unseen, 1, 40, 40, 50, true);
    unseen_announced(&unseen, 1, 10, 10, 7, true); /* a second one with that number: the first never came */
    unseen_settle(&unseen, 50);
    assert_int_equal(unseen.count, 3);
    uint64_t sum = 0;
    for (unsigned i = 0; i < unseen.count; i++)
        sum += unseen.lines[i].count;
    assert_int_equal(sum, 4);
    assert_int_equal(unseen.children, 1);
}

static void test_strangers(void **state)
{
    (void)state;
    assert_false(unseen_has_strangers(&unseen, 5));
    unseen_announced(&unseen, 5, 5, 6, 1, true); /* a thread is no child */
    assert_false(unseen_has_strangers(&unseen, 5));
    unseen_announced(&unseen, 5, 10, 10, 1, true);
    assert_true(unseen_has_strangers(&unseen, 5));
    assert_false(unseen_has_strangers(&unseen, 6));
    unseen_find(&unseen, 10)->ended = true;
    assert_false(unseen_has_strangers(&unseen, 5));
}

static void test_names_of_the_living(void **state)
{
    (void)state;
    const uint64_t now = clock_ns(CLOCK_MONOTONIC);
    unseen_announced(&unseen, 1, getpid(), getpid(), now, true);
    unseen_look(&unseen, now);
    assert_string_equal(unseen_find(&unseen, getpid())->comm, "");
    unseen_look(&unseen, now + 1);
    assert_string_equal(unseen_find(&unseen, getpid())->comm, "test_unseen");
}

static void test_numbers_that_cannot_be(void **state)
{
    (void)state;
    unseen_announced(&unseen, 1, 0, 0, 5, true);
    unseen_announced(&unseen, 1, -1, -1, 5, true);
    unseen_announced(&unseen, 1, PINJECT_TASKS, PINJECT_TASKS, 5, true);
    unseen_arrived(&unseen, -5);
    unseen_arrived(&unseen, PINJECT_TASKS);
    unseen_arrived(&unseen, PINJECT_TASKS - 1);
    assert_int_equal(unseen.children, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_many_reasons),
        TEST(test_lines),      TEST(test_many_lines),          TEST(test_matched),
        TEST(test_never_came), TEST(test_names_of_the_living), TEST(test_numbers_that_cannot_be),
        TEST(test_strangers),  TEST(test_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
