/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "common/cursor.h"

static const unsigned char bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 'h', 'i', 0, 'x', 'y'};

static void test_numbers(void **state)
{
    (void)state;
    struct cursor cursor = cursor_of(bytes, sizeof(bytes));
    assert_int_equal(cursor_u8(&cursor), 1);
    assert_int_equal(cursor_u16(&cursor), 0x0302);
    assert_int_equal(cursor_u32(&cursor), 0x07060504);
    assert_true(cursor_u64(&cursor) == UINT64_C(0x0f0e0d0c0b0a0908));
    assert_string_equal(cursor_string(&cursor), "hi");
    assert_int_equal(cursor_left(&cursor), 2);
    assert_false(cursor.failed);
}

static void test_swapped(void **state)
{
    (void)state;
    struct cursor cursor = cursor_of(bytes, sizeof(bytes));
    cursor.swap = true;
    assert_int_equal(cursor_u8(&cursor), 1);
    assert_int_equal(cursor_u16(&cursor), 0x0203);
    assert_int_equal(cursor_u32(&cursor), 0x04050607);
    struct cursor part = cursor_part(&cursor, 8);
    assert_true(cursor_u64(&part) == UINT64_C(0x08090a0b0c0d0e0f));
}

static void test_end_is_sticky(void **state)
{
    (void)state;
    struct cursor cursor = cursor_of(bytes, 5);
    cursor_skip(&cursor, 2);
    assert_int_equal(cursor_u32(&cursor), 0);
    assert_true(cursor.failed);
    assert_int_equal(cursor_left(&cursor), 0);
    assert_int_equal(cursor_u8(&cursor), 0);
    assert_int_equal(cursor_u16(&cursor), 0);
    assert_true(cursor_u64(&cursor) == 0);
    assert_null(cursor_bytes(&cursor, 0));
    assert_null(cursor_string(&cursor));
    assert_true(cursor_part(&cursor, 0).failed);
}

static void test_sizes(void **state)
{
    (void)state;
    struct cursor cursor = cursor_of(bytes, 5);
    assert_ptr_equal(cursor_bytes(&cursor, 5), bytes);
    assert_non_null(cursor_bytes(&cursor, 0));
    assert_null(cursor_bytes(&cursor, 1));
    cursor = cursor_of(bytes, 5);
    assert_null(cursor_bytes(&cursor, SIZE_MAX));
    cursor = cursor_of(bytes, 5);
    cursor_skip(&cursor, SIZE_MAX);
    assert_true(cursor.failed);
    cursor = cursor_of(NULL, 0);
    assert_false(cursor.failed);
    assert_int_equal(cursor_left(&cursor), 0);
    assert_true(cursor_of(NULL, 4).failed);
}

static void test_string_and_part(void **state)
{
    (void)state;
    struct cursor cursor = cursor_of("ab\0cd", 5);
    assert_string_equal(cursor_string(&cursor), "ab");
    assert_null(cursor_string(&cursor));
    assert_true(cursor.failed);
    cursor = cursor_of(bytes, 10);
    struct cursor part = cursor_part(&cursor, 4);
    assert_int_equal(cursor_left(&part), 4);
    assert_int_equal(cursor_left(&cursor), 6);
    cursor_skip(&part, 5);
    assert_true(part.failed);
    assert_false(cursor.failed);
    part = cursor_part(&cursor, 7);
    assert_true(part.failed);
    assert_int_equal(cursor_left(&part), 0);
    assert_true(cursor.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_swapped),         cmocka_unit_test(test_end_is_sticky),
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_string_and_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
