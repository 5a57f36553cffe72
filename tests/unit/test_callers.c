/* SPDX-License-Identifier: MIT */
/* Who asks the listener waits behind his own user's connections alone. */
#include "check.h"

#include <fcntl.h>
#include <unistd.h>

#include "collector/service/callers.h"

enum { ALLOWED = 1000 };

static struct callers callers;

static int set_up(void **state)
{
    (void)state;
    callers_init(&callers);
    return 0;
}

static void add_use(struct caller *caller, uint64_t ns)
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
    add_use(one, ALLOWED);
    assert_false(callers_is_dear(&callers, one, ALLOWED)); /* nothing is short yet */
    add_use(two, 1);
    assert_true(callers_is_dear(&callers, one, ALLOWED));
    assert_false(callers_is_dear(&callers, two, ALLOWED));
    add_use(two, ALLOWED / 2 - 2);
    assert_false(callers_is_dear(&callers, two, ALLOWED));
    add_use(two, 1);
    assert_true(callers_is_dear(&callers, two, ALLOWED));
    callers_hold(&callers, two, 7, 0);
    callers_new_second(&callers);
    assert_int_equal(callers.count, 1);
    assert_int_equal(callers.used_ns, 0);
    two = callers_find(&callers, 2);
    assert_int_equal(two->used_ns, 0);
    assert_false(callers_is_dear(&callers, two, ALLOWED));
    assert_int_equal(callers_next(&callers, 0, &one), 7);
    assert_ptr_equal(one, two);
}

/* A descriptor that callers_hold() may close. */
static int new_peer(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* Each user's in order, and one user after the other. */
static void users_come_in_turn(void **state)
{
    (void)state;
    struct caller *caller, *many = callers_find(&callers, 1), *few = callers_find(&callers, 2);
    callers_find(&callers, 3);
    assert_int_equal(callers_next(&callers, 0, &caller), -1);
    for (int i = 0; i < 4; i++)
        callers_hold(&callers, many, 100 + i, 0);
    callers_hold(&callers, few, 200, 0);
    callers_hold(&callers, few, 201, 0);
    assert_int_equal(callers.held, 6);
    const int order[] = {100, 200, 101, 201, 102, 103};
    callers.turn = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        assert_int_equal(callers_next(&callers, 0, &caller), order[i]);
        assert_int_equal(caller->user, order[i] / 100);
    }
    assert_int_equal(callers_next(&callers, 0, &caller), -1);
    assert_int_equal(callers.held, 0);
}

/* The newest of a user are kept; nobody's is served after its preload object has given up. */
static void old_ones_are_closed(void **state)
{
    (void)state;
    struct caller *caller, *many = callers_find(&callers, 1);
    int peers[CALLERS_HELD + 2];
    for (int i = 0; i < CALLERS_HELD + 2; i++)
        peers[i] = new_peer(); /* before one is closed, and its number free */
    for (int i = 0; i < CALLERS_HELD + 2; i++)
        callers_hold(&callers, many, peers[i], (uint64_t)i);
    assert_int_equal(many->held, CALLERS_HELD);
    assert_false(is_open(peers[0]) || is_open(peers[1]));
    assert_int_equal(callers_next(&callers, 2 + CALLERS_LATE_NS - 1, &caller), peers[2]);
    assert_int_equal(callers_next(&callers, 3 + CALLERS_LATE_NS + 1, &caller), peers[5]);
    assert_false(is_open(peers[3]) || is_open(peers[4]));
    assert_int_equal(callers_next(&callers, 1000 + (uint64_t)CALLERS_LATE_NS, &caller), -1);
    for (int i = 6; i < CALLERS_HELD + 2; i++)
        assert_false(is_open(peers[i]));
    close(peers[2]);
    close(peers[5]);
}

/* All users together have no more than so many; one who has none of them gets none. */
static void all_are_limited(void **state)
{
    (void)state;
    int first = 0;
    for (int i = 0; i < CALLERS_ALL; i++) {
        int peer = new_peer();
        first = i ? first : peer;
        callers_hold(&callers, callers_find(&callers, (uid_t)i % 8), peer, 0);
    }
    assert_int_equal(callers.held, CALLERS_ALL);
    int refused = new_peer(), late = new_peer();
    callers_hold(&callers, callers_find(&callers, 9), refused, 0);
    assert_false(is_open(refused));
    callers_hold(&callers, callers_find(&callers, 0), late, 0); /* in the place of his oldest */
    assert_true(is_open(late));
    assert_false(is_open(first));
    assert_int_equal(callers.held, CALLERS_ALL);
    callers_release(&callers);
    assert_int_equal(callers.held, 0);
    assert_false(is_open(late));
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
    callers_hold(&callers, callers_find(&callers, 1), pipes[0], 0);
    callers_hold(&callers, callers_find(&callers, 2), pipes[1], 0);
    callers_release(&callers);
    assert_int_equal(fcntl(pipes[0], F_GETFD), -1);
    assert_int_equal(fcntl(pipes[1], F_GETFD), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(only_who_had_his_share_waits, set_up),
        cmocka_unit_test_setup(users_come_in_turn, set_up),
        cmocka_unit_test_setup(old_ones_are_closed, set_up),
        cmocka_unit_test_setup(all_are_limited, set_up),
        cmocka_unit_test_setup(users_are_limited, set_up),
        cmocka_unit_test_setup(what_is_held_is_closed, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
