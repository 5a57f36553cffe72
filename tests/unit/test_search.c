/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "common/bound.h"

struct thing {
    unsigned char before;
    int value;
};

static void bounds(void **state)
{
    (void)state;
    static const struct thing things[] = {{9, -3}, {8, 1}, {7, 1}, {6, 1}, {5, 4}};
    static const struct {
        int value;
        size_t lower, upper;
    } wanted[] = {{-4, 0, 0}, {-3, 0, 1}, {0, 1, 1}, {1, 1, 4}, {2, 4, 4}, {4, 4, 5}, {5, 5, 5}};
    const struct thing *pointers[5];
    for (size_t i = 0; i < 5; i++)
        pointers[i] = &things[i];
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        assert_int_equal(LOWER_BOUND(things, 5, .value, wanted[i].value), wanted[i].lower);
        assert_int_equal(UPPER_BOUND(things, 5, .value, wanted[i].value), wanted[i].upper);
        assert_int_equal(UPPER_BOUND(pointers, 5, ->value, wanted[i].value), wanted[i].upper);
    }
    const struct thing *none = NULL;
    assert_int_equal(LOWER_BOUND(none, 0, .value, 1), 0);
    assert_int_equal(UPPER_BOUND(none, 0, .value, 1), 0);
    size_t asked = 0;
    assert_int_equal(LOWER_BOUND(things, (asked++, 1), .value, 7), 1);
    assert_int_equal(asked, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
