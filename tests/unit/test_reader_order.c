/* SPDX-License-Identifier: MIT */
/* analyze/read/order.h: records in the order of their times, as far as they can be held. */
#include "check.h"

#include <errno.h>

#include "analyze/read/order.h"

struct given {
    uint64_t times[64];
    unsigned count, stop_at;
};

static int give(void *context, const unsigned char *record, size_t size)
{
    struct given *given = context;
    uint64_t time;
    assert_true(size >= sizeof(time) && size == 8 + *record % 5u);
    memcpy(&time, record, sizeof(time));
    given->times[given->count++] = time;
    return given->count == given->stop_at ? -EIO : 0;
}

/* TIME in a record whose size follows from it. */
static int push(struct order *order, uint64_t time, struct given *given)
{
    unsigned char record[16];
    memcpy(record, &time, sizeof(time));
    int status = order_push(order, time, record, 8 + record[0] % 5u, false, give, given);
    memset(record, 0xff, sizeof(record)); /* it was copied */
    return status;
}

static void expect_given(struct given *given, const uint64_t *times, unsigned count)
{
    assert_int_equal(given->count, count);
    assert_memory_equal(given->times, times, count * sizeof(*times));
    given->count = 0;
}

/* A round lets go of what is not later than the newest of the round before. */
static void test_rounds(void **state)
{
    (void)state;
    struct order order;
    struct given given = {0};
    order_init(&order, SIZE_MAX);
    const uint64_t first[] = {7, 3, 5, 5}, second[] = {4, 7, 9, 8};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(push(&order, first[i], &given), 0);
    assert_int_equal(order_round(&order, give, &given), 0);
    expect_given(&given, NULL, 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(push(&order, second[i], &given), 0);
    assert_int_equal(order_round(&order, give, &given), 0);
    expect_given(&given, (const uint64_t[]){3, 4, 5, 5, 7, 7}, 6);
    assert_int_equal(push(&order, 6, &given), 0); /* late, but not lost */
    assert_int_equal(order_round(&order, give, &given), 0);
    expect_given(&given, (const uint64_t[]){6, 8, 9}, 3);
    assert_int_equal(push(&order, 2, &given), 0);
    assert_int_equal(push(&order, 1, &given), 0);
    assert_int_equal(order_finish(&order, give, &given), 0);
    expect_given(&given, (const uint64_t[]){1, 2}, 2);
    assert_int_equal(order_finish(&order, give, &given), 0);
    expect_given(&given, NULL, 0);
    order_release(&order);
}

/* More than it may hold: the earlier half goes. */
static void test_held(void **state)
{
    (void)state;
    struct order order;
    struct given given = {0};
    const size_t each = sizeof(struct order_entry);
    order_init(&order, 4 * each + 4 * 12);
    for (uint64_t time = 9; time > 4; time--)
        assert_int_equal(push(&order, time, &given), 0);
    expect_given(&given, NULL, 0);
    assert_int_equal(push(&order, 20, &given), 0);
    expect_given(&given, (const uint64_t[]){5, 6, 7}, 3);
    assert_int_equal(push(&order, 8, &given), 0);
    assert_int_equal(order_finish(&order, give, &given), 0);
    expect_given(&given, (const uint64_t[]){8, 8, 9, 20}, 4);
    order_release(&order);
    /* Who takes them may end it there, too. */
    order_init(&order, 0);
    given.stop_at = 1;
    assert_int_equal(push(&order, 1, &given), 0);
    assert_int_equal(push(&order, 2, &given), -EIO);
    assert_int_equal(given.count, 1);
    order_release(&order);
}

/* What was given leaves no bytes behind. */
static void test_memory_is_used_again(void **state)
{
    (void)state;
    struct order order;
    struct given given = {0};
    order_init(&order, SIZE_MAX);
    for (uint64_t time = 10; time < 60; time++) {
        assert_int_equal(push(&order, time, &given), 0);
        assert_int_equal(order_round(&order, give, &given), 0);
        given.count = 0;
        assert_true(order.bytes.size <= 2 * 12);
    }
    assert_int_equal(order_finish(&order, give, &given), 0);
    expect_given(&given, (const uint64_t[]){59}, 1);
    assert_int_equal(order.bytes.size, 0);
    assert_int_equal(order.held, 0);
    order_release(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_memory_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
