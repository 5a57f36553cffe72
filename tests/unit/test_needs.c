/* SPDX-License-Identifier: MIT */
/* What programs of a name needed, and what those that come get by it. */
#include "check.h"

#include "collector/needs.h"
#include "collector/session.h"
#include "collector/stacks.h"

static struct needs *needs;

static void add_stacks(struct need *need, unsigned count, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        need_add_stack(need, bytes, false);
}

static void test_names(void **state)
{
    char name[NEEDS_NAME + 8];
    (void)state;
    struct need *cc1 = needs_find(needs, "cc1");
    assert_non_null(cc1);
    assert_ptr_not_equal(needs_find(needs, "cc"), cc1);
    assert_ptr_equal(needs_find(needs, "cc1"), cc1);
    assert_ptr_equal(needs_find(needs, "0123456789abcde"), needs_find(needs, "0123456789abcde"));
    for (unsigned i = 3; i < NEEDS_NAMES; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        assert_non_null(needs_find(needs, name));
    }
    assert_null(needs_find(needs, "one more"));
    assert_ptr_equal(needs_find(needs, "cc1"), cc1);
    assert_null(needs_find(NULL, "cc1"));
}

static void test_unknown(void **state)
{
    struct need *need = needs_find(needs, "new"), *rare = needs_find(needs, "rare");
    (void)state;
    add_stacks(need, 31, 100);
    assert_int_equal(need_stack(need), 0);
    assert_int_equal(need_stack(NULL), 0);
    need_add_stack(NULL, 100, false);
    need_add_task(NULL);
    add_stacks(need, 1, 100);
    assert_int_equal(need_stack(need), 8192);
    /* Programs that end before a sample is taken. */
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(need_stack(rare), 0);
        need_add_task(rare);
    }
    assert_int_equal(need_stack(rare), 8192);
    add_stacks(rare, 1, 10000);
    assert_int_equal(need_stack(rare), 16384);
}

/* 99 of 100. */
static void test_stacks(void **state)
{
    struct need *need = needs_find(needs, "cc1");
    (void)state;
    add_stacks(need, 990, 8192);
    add_stacks(need, 10, 8193);
    assert_int_equal(need_stack(need), 8192);
    add_stacks(need, 1, 16384);
    assert_int_equal(need_stack(need), 16384);
    for (unsigned i = 0; i < 20; i++)
        need_add_stack(need, 16384, true); /* more than these */
    assert_int_equal(need_stack(need), 32768);
    add_stacks(need, 1000, 1 << 20); /* more there is not */
    assert_int_equal(need_stack(need), 32768);
    assert_true(need->stacks_all < 4096);
}

/* What was long ago counts less: a name may come to mean another program. */
static void test_forgets(void **state)
{
    struct need *need = needs_find(needs, "sh");
    (void)state;
    add_stacks(need, 4000, 30000);
    assert_int_equal(need_stack(need), 32768);
    add_stacks(need, 40000, 100);
    assert_int_equal(need_stack(need), 8192);
    assert_true(need->stacks_all < 4096);
}

/* The counts of a class each, and how many there are in all. */
static void expect_counts(const struct need *need, uint32_t first, uint32_t second, uint32_t third, uint32_t last)
{
    assert_int_equal(need->stacks[0], first);
    assert_int_equal(need->stacks[1], second);
    assert_int_equal(need->stacks[2], third);
    assert_int_equal(need->stacks[3], last);
    assert_int_equal(need->stacks_all, first + second + third + last);
}

static void test_classes(void **state)
{
    struct need *need = needs_find(needs, "as");
    (void)state;
    add_stacks(need, 1, 0);
    add_stacks(need, 1, 8192);
    add_stacks(need, 3, 8193);
    add_stacks(need, 3, 16384);
    add_stacks(need, 10, 16385);
    add_stacks(need, 10, 32768);
    add_stacks(need, 50, 32769);
    add_stacks(need, 50, UINT64_MAX);
    expect_counts(need, 2, 6, 20, 100);
    need_add_stack(need, 1, true);
    need_add_stack(need, 32768, true);
    need_add_stack(need, 32769, true);
    expect_counts(need, 2, 7, 20, 102);
}

/* Each class is halved, and then it goes on from there. */
static void test_halves(void **state)
{
    struct need *need = needs_find(needs, "ld");
    (void)state;
    need_add_task(need);
    add_stacks(need, 2001, 1);
    add_stacks(need, 1000, 10000);
    add_stacks(need, 601, 20000);
    add_stacks(need, 493, 40000);
    expect_counts(need, 2001, 1000, 601, 493); /* 4095 */
    add_stacks(need, 1, 1);
    expect_counts(need, 1001, 500, 300, 246);
    assert_int_equal(need->tasks, 1);
    add_stacks(need, 2048, 1);
    expect_counts(need, 3049, 500, 300, 246); /* 4095 */
    add_stacks(need, 1, 40000);
    expect_counts(need, 1524, 250, 150, 123);
    assert_int_equal(need->tasks, 1);
}

/* ---- What they get ---- */

static struct session session;
static struct plan plan;
static uint32_t limit;

static size_t pages_of(const struct need *need)
{
    return stacks_pages(&session, limit, need, 128);
}

static void test_what_they_get(void **state)
{
    struct need *deep = needs_find(needs, "deep"), *small = needs_find(needs, "small");
    (void)state;
    add_stacks(deep, 100, 20000);
    add_stacks(small, 100, 2000);
    assert_int_equal(pages_of(NULL), 128);
    assert_int_equal(stacks_dump(&session, 0, NULL, 128 << 12), 16384);
    assert_int_equal(pages_of(deep), 256);
    assert_int_equal(stacks_dump(&session, 0, deep, 256 << 12), 32768);
    assert_int_equal(pages_of(small), 64);
    assert_int_equal(stacks_dump(&session, 0, small, 64 << 12), 8192);
    assert_int_equal(stacks_dump(&session, 0, small, 16 << 12), 4096); /* locked memory is short */
    /* All are deep: those that are not known get more. */
    session.dump = 32768;
    assert_int_equal(pages_of(NULL), 256);
    assert_int_equal(pages_of(small), 64);
    /* Behind: less for the deep ones, from the same ring. */
    session.dump = 16384;
    limit = 8192;
    assert_int_equal(pages_of(deep), 128);
    assert_int_equal(stacks_dump(&session, limit, deep, 128 << 12), 8192);
    assert_int_equal(stacks_dump(&session, 4096, small, 64 << 12), 4096);
    limit = 0;
    /* The user has chosen. */
    session.dump = 16384;
    plan.dump_fixed = true;
    assert_int_equal(pages_of(small), 128);
    assert_int_equal(stacks_dump(&session, 0, small, 128 << 12), 16384);
    assert_int_equal(pages_of(deep), 128);
    assert_int_equal(stacks_dump(&session, 0, deep, 128 << 12), 16384);
}

static int set_up(void **state)
{
    (void)state;
    needs = needs_new();
    memset(&session, 0, sizeof(session));
    memset(&plan, 0, sizeof(plan));
    plan.dump = session.dump = 16384;
    session.plan = &plan;
    return needs ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    needs_free(needs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stacks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forgets, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_classes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_halves, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_they_get, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
