/* SPDX-License-Identifier: MIT */
/* The ids of inherited sets: which are found, and how long. */
#include "check.h"

#include "collector/sources/inherited_roots.h"

static struct inherited_roots roots;

/* A set with the ids FIRST and FIRST + 1. */
static struct root_ids *add(pid_t root, uint64_t first)
{
    struct root_ids *ids = inherited_roots_add(&roots, root, 2);
    assert_non_null(ids);
    for (unsigned i = 0; i < 2; i++)
        ids->ids[i] = first + i;
    return ids;
}

static void ids_of_live_and_ended_sets(void **state)
{
    (void)state;
    inherited_roots_init(&roots);
    assert_int_equal(inherited_roots_find(&roots, 100, 10), -1);
    struct root_ids *first = add(100, 10), *second = add(200, 20), *third = add(100, 30);
    for (unsigned ended = 0; ended < 4; ended++) {
        assert_int_equal(inherited_roots_find(&roots, 100, 10), 0);
        assert_int_equal(inherited_roots_find(&roots, 100, 11), 1);
        assert_int_equal(inherited_roots_find(&roots, 200, 21), 1);
        assert_int_equal(inherited_roots_find(&roots, 100, 30), 0);
        assert_int_equal(inherited_roots_find(&roots, 100, 20), -1); /* another root's */
        assert_int_equal(inherited_roots_find(&roots, 200, 22), -1);
        if (ended < 3)
            inherited_roots_end(&roots, ended == 0 ? second : ended == 1 ? first : third);
    }
    assert_null(roots.live);
    inherited_roots_release(&roots);
    assert_int_equal(inherited_roots_find(&roots, 100, 10), -1);
}

static void the_oldest_ended_sets_are_forgotten(void **state)
{
    (void)state;
    inherited_roots_init(&roots);
    struct root_ids *live = add(1, 5);
    for (uint64_t i = 0; i < 600; i++)
        inherited_roots_end(&roots, add(2, 1000 + 2 * i));
    assert_int_equal(roots.ended_count, 512);
    assert_int_equal(inherited_roots_find(&roots, 2, 1000 + 2 * 87), -1);
    assert_int_equal(inherited_roots_find(&roots, 2, 1000 + 2 * 88), 0);
    assert_int_equal(inherited_roots_find(&roots, 2, 1001 + 2 * 599), 1);
    assert_int_equal(inherited_roots_find(&roots, 1, 6), 1);
    inherited_roots_end(&roots, live);
    assert_int_equal(inherited_roots_find(&roots, 2, 1000 + 2 * 88), -1);
    inherited_roots_release(&roots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_live_and_ended_sets),
        cmocka_unit_test(the_oldest_ended_sets_are_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
