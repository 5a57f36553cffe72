/* SPDX-License-Identifier: MIT */
/* What programs of a name needed, and what those that come get by it. */
#include "check.h"

#include "collector/sources/session.h"
#include "collector/stacks/stack_predictor.h"
#include "collector/stacks/stacks.h"

static struct stack_predictor *predictor;

static void add_stacks(struct stack_sizes *sizes, unsigned count, uint64_t bytes)
{
    for (unsigned i = 0; i < count; i++)
        stack_sizes_add_stack(sizes, bytes, false);
}

static void test_names(void **state)
{
    char name[PREDICTOR_NAME + 8];
    (void)state;
    struct stack_sizes *cc1 = stack_predictor_find(predictor, "cc1");
    assert_non_null(cc1);
    assert_ptr_not_equal(stack_predictor_find(predictor, "cc"), cc1);
    assert_ptr_equal(stack_predictor_find(predictor, "cc1"), cc1);
    assert_ptr_equal(stack_predictor_find(predictor, "0123456789abcde"),
                     stack_predictor_find(predictor, "0123456789abcde"));
    for (unsigned i = 3; i < PREDICTOR_NAMES; i++) {
        snprintf(name, sizeof(name), "n%u", i);
        assert_non_null(stack_predictor_find(predictor, name));
    }
    assert_null(stack_predictor_find(predictor, "one more"));
    assert_ptr_equal(stack_predictor_find(predictor, "cc1"), cc1);
    assert_null(stack_predictor_find(NULL, "cc1"));
}

static void test_unknown(void **state)
{
    struct stack_sizes *sizes = stack_predictor_find(predictor, "new"), *rare = stack_predictor_find(predictor, "rare");
    (void)state;
    add_stacks(sizes, 31, 100);
    assert_int_equal(stack_sizes_predict(sizes), 0);
    assert_int_equal(stack_sizes_predict(NULL), 0);
    stack_sizes_add_stack(NULL, 100, false);
    stack_sizes_add_task(NULL);
    add_stacks(sizes, 1, 100);
    assert_int_equal(stack_sizes_predict(sizes), 8192);
    /* Programs that end before a sample is taken. */
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(stack_sizes_predict(rare), 0);
        stack_sizes_add_task(rare);
    }
    assert_int_equal(stack_sizes_predict(rare), 8192);
    add_stacks(rare, 1, 10000);
    assert_int_equal(stack_sizes_predict(rare), 16384);
}

/* 99 of 100. */
static void test_stacks(void **state)
{
    struct stack_sizes *sizes = stack_predictor_find(predictor, "cc1");
    (void)state;
    add_stacks(sizes, 990, 8192);
    add_stacks(sizes, 10, 8193);
    assert_int_equal(stack_sizes_predict(sizes), 8192);
    add_stacks(sizes, 1, 16384);
    assert_int_equal(stack_sizes_predict(sizes), 16384);
    for (unsigned i = 0; i < 20; i++)
        stack_sizes_add_stack(sizes, 16384, true); /* more than these */
    assert_int_equal(stack_sizes_predict(sizes), 32768);
    add_stacks(sizes, 1000, 1 << 20); /* more there is not */
    assert_int_equal(stack_sizes_predict(sizes), 32768);
    assert_true(sizes->stacks_all < 4096);
}

/* What was long ago counts less: a name may come to mean another program. */
static void test_forgets(void **state)
{
    struct stack_sizes *sizes = stack_predictor_find(predictor, "sh");
    (void)state;
    add_stacks(sizes, 4000, 30000);
    assert_int_equal(stack_sizes_predict(sizes), 32768);
    add_stacks(sizes, 40000, 100);
    assert_int_equal(stack_sizes_predict(sizes), 8192);
    assert_true(sizes->stacks_all < 4096);
}

/* The counts of a class each, and how many there are in all. */
static void expect_counts(const struct stack_sizes *sizes, uint32_t first, uint32_t second, uint32_t third,
                          uint32_t last)
{
    assert_int_equal(sizes->stacks[0], first);
    assert_int_equal(sizes->stacks[1], second);
    assert_int_equal(sizes->stacks[2], third);
    assert_int_equal(sizes->stacks[3], last);
    assert_int_equal(sizes->stacks_all, first + second + third + last);
}

static void test_classes(void **state)
{
    struct stack_sizes *sizes = stack_predictor_find(predictor, "as");
    (void)state;
    add_stacks(sizes, 1, 0);
    add_stacks(sizes, 1, 8192);
    add_stacks(sizes, 3, 8193);
    add_stacks(sizes, 3, 16384);
    add_stacks(sizes, 10, 16385);
    add_stacks(sizes, 10, 32768);
    add_stacks(sizes, 50, 32769);
    add_stacks(sizes, 50, UINT64_MAX);
    expect_counts(sizes, 2, 6, 20, 100);
    stack_sizes_add_stack(sizes, 1, true);
    stack_sizes_add_stack(sizes, 32768, true);
    stack_sizes_add_stack(sizes, 32769, true);
    expect_counts(sizes, 2, 7, 20, 102);
}

/* Each class is halved, and then it goes on from there. */
static void test_halves(void **state)
{
    struct stack_sizes *sizes = stack_predictor_find(predictor, "ld");
    (void)state;
    stack_sizes_add_task(sizes);
    add_stacks(sizes, 2001, 1);
    add_stacks(sizes, 1000, 10000);
    add_stacks(sizes, 601, 20000);
    add_stacks(sizes, 493, 40000);
    expect_counts(sizes, 2001, 1000, 601, 493); /* 4095 */
    add_stacks(sizes, 1, 1);
    expect_counts(sizes, 1001, 500, 300, 246);
    assert_int_equal(sizes->tasks, 1);
    add_stacks(sizes, 2048, 1);
    expect_counts(sizes, 3049, 500, 300, 246); /* 4095 */
    add_stacks(sizes, 1, 40000);
    expect_counts(sizes, 1524, 250, 150, 123);
    assert_int_equal(sizes->tasks, 1);
}

/* ---- What they get ---- */

static struct session session;
static struct event_config config;
static uint32_t limit;

static size_t pages_of(const struct stack_sizes *sizes)
{
    return dump_size_pages(&config, &session.dumps, limit, sizes, 128);
}

static void test_what_they_get(void **state)
{
    struct stack_sizes *deep = stack_predictor_find(predictor, "deep"),
                       *small = stack_predictor_find(predictor, "small");
    (void)state;
    add_stacks(deep, 100, 20000);
    add_stacks(small, 100, 2000);
    assert_int_equal(pages_of(NULL), 128);
    assert_int_equal(dump_size(&config, &session.dumps, 0, NULL, 128 << 12), 16384);
    assert_int_equal(pages_of(deep), 256);
    assert_int_equal(dump_size(&config, &session.dumps, 0, deep, 256 << 12), 32768);
    assert_int_equal(pages_of(small), 64);
    assert_int_equal(dump_size(&config, &session.dumps, 0, small, 64 << 12), 8192);
    assert_int_equal(dump_size(&config, &session.dumps, 0, small, 16 << 12), 4096); /* locked memory is short */
    /* All are deep: those that are not known get more. */
    session.dumps.now = 32768;
    assert_int_equal(pages_of(NULL), 256);
    assert_int_equal(pages_of(small), 64);
    /* Behind: less for the deep ones, from the same ring. */
    session.dumps.now = 16384;
    limit = 8192;
    assert_int_equal(pages_of(deep), 128);
    assert_int_equal(dump_size(&config, &session.dumps, limit, deep, 128 << 12), 8192);
    assert_int_equal(dump_size(&config, &session.dumps, 4096, small, 64 << 12), 4096);
    limit = 0;
    /* The user has chosen. */
    session.dumps.now = 16384;
    config.dump_fixed = true;
    assert_int_equal(pages_of(small), 128);
    assert_int_equal(dump_size(&config, &session.dumps, 0, small, 128 << 12), 16384);
    assert_int_equal(pages_of(deep), 128);
    assert_int_equal(dump_size(&config, &session.dumps, 0, deep, 128 << 12), 16384);
}

static void test_all_get_the_same(void **state)
{
    (void)state;
    assert_int_equal(dump_sizes_unite(&config, &session.dumps), 16384);
    assert_int_equal(dump_size(&config, &session.dumps, 0, NULL, 256 << 12), 32768);
    dump_sizes_restore(&session.dumps, 16384);
    assert_int_equal(dump_size(&config, &session.dumps, 0, NULL, 256 << 12), 16384);
    session.dumps.now = 65528;
    dump_sizes_unite(&config, &session.dumps);
    assert_int_equal(session.dumps.now, 65528);
    session.dumps.now = 0; /* none come */
    dump_sizes_unite(&config, &session.dumps);
    assert_int_equal(session.dumps.now, 0);
    session.dumps.now = 8192;
    config.dump_fixed = true;
    dump_sizes_unite(&config, &session.dumps);
    assert_int_equal(session.dumps.now, 8192);
}

static int set_up(void **state)
{
    (void)state;
    predictor = stack_predictor_new();
    memset(&session, 0, sizeof(session));
    memset(&config, 0, sizeof(config));
    config.dump = session.dumps.now = 16384;
    session.config = &config;
    return predictor ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    stack_predictor_free(predictor);
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
        cmocka_unit_test_setup_teardown(test_all_get_the_same, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
