/* SPDX-License-Identifier: MIT */
/* Who asks the listener waits behind his own user's connections alone. */
#include "check.h"

#include <fcntl.h>
#include <unistd.h>

#include "collector/callers.h"

enum { ALLOWED = 1000 };

static struct callers callers;

static int set_up(void **state)
{
    (void)state;
    callers_init(&callers);
    return 0;
}

static void use(struct caller *caller, uint64_t ns)
{
    caller->used_ns += ns;
    callers.used_ns += ns;
}

/* Users 1 and 2 have half of what is allowed each; above it waits who had that, until the next second. */
static void only_who_had_his_share_waits(void **state)
{
    (void)state;
    struct caller *one = callers_find(&callers, 1), *two = callers_find(&callers, 2);
    assert_ptr_equal(callers_find(&callers, 1), one);
    use(one, ALLOWED);
    assert_false(callers_is_dear(&callers, one, ALLOWED)); /* nothing is short yet */
    use(two, 1);
    assert_true(callers_is_dear(&callers, one, ALLOWED));
    assert_false(callers_is_dear(&callers, two, ALLOWED));
    use(two, ALLOWED / 2 - 2);
    assert_false(callers_is_dear(&callers, two, ALLOWED));
    use(two, 1);
    assert_true(callers_is_dear(&callers, two, ALLOWED));
    assert_true(callers_hold(two, 7));
    callers_new_second(&callers);
    assert_int_equal(callers.count, 1);
    assert_int_equal(callers.used_ns, 0);
    two = callers_find(&callers, 2);
    assert_int_equal(two->used_ns, 0);
    assert_false(callers_is_dear(&callers, two, ALLOWED));
    assert_int_equal(callers_next(&callers, &one), 7);
    assert_ptr_equal(one, two);
}

/* Each user's in order, and one user after the other. */
static void users_come_in_turn(void **state)
{
    (void)state;
    struct caller *caller, *many = callers_find(&callers, 1), *few = callers_find(&callers, 2);
    callers_find(&callers, 3);
    assert_int_equal(callers_next(&callers, &caller), -1);
    for (int i = 0; i < CALLERS_HELD; i++)
        assert_true(callers_hold(many, 100 + i));
    assert_false(callers_hold(many, 999));
    assert_true(callers_hold(few, 200));
    assert_true(callers_hold(few, 201));
    const int order[] = {100, 200, 101, 201, 102, 103};
    callers.turn = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        assert_int_equal(callers_next(&callers, &caller), order[i]);
        assert_int_equal(caller->user, order[i] / 100);
    }
    /* Its room goes round. */
    for (int i = 0; i < 4; i++)
        assert_true(callers_hold(many, 300 + i));
    assert_false(callers_hold(many, 999));
    for (int i = 104; i < 100 + CALLERS_HELD; i++)
        assert_int_equal(callers_next(&callers, &caller), i);
    for (int i = 0; i < 4; i++)
        assert_int_equal(callers_next(&callers, &caller), 300 + i);
    assert_int_equal(callers_next(&callers, &caller), -1);
}

static void users_are_limited(void **state)
{
    (void)state;
    struct caller *last = NULL;
    for (uid_t user = 0; user < CALLERS_USERS; user++)
        last = callers_find(&callers, user);
    assert_ptr_equal(callers_find(&callers, 5000), last);
    assert_ptr_equal(callers_find(&callers, 5001), last);
    assert_ptr_equal(callers_find(&callers, 0), &callers.list[0]);
    assert_int_equal(callers.count, CALLERS_USERS);
}

static void what_is_held_is_closed(void **state)
{
    (void)state;
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_true(callers_hold(callers_find(&callers, 1), pipes[0]));
    assert_true(callers_hold(callers_find(&callers, 2), pipes[1]));
    callers_release(&callers);
    assert_int_equal(fcntl(pipes[0], F_GETFD), -1);
    assert_int_equal(fcntl(pipes[1], F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_who_had_his_share_waits, set_up),
        cmocka_unit_test_setup(users_come_in_turn, set_up),
        cmocka_unit_test_setup(users_are_limited, set_up),
        cmocka_unit_test_setup(what_is_held_is_closed, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
