/* SPDX-License-Identifier: MIT */
/* How long unwind tables are read for each user. */
#include "check.h"

#include <sys/resource.h>

#include "collector/stacks/table_time.h"

static struct rusage usage;
static bool fails;

int __wrap_getrusage(int who, struct rusage *ret);
int __wrap_getrusage(int who, struct rusage *ret)
{
    assert_int_equal(who, 1); /* RUSAGE_THREAD */
    *ret = usage;
    return fails ? -1 : 0;
}

/* One file of USER, which takes so many us in user space, in the kernel, and blocks from a disk. */
static bool reads(struct table_time *time, uid_t user, uint64_t now_ns, long own_us, long kernel_us, long blocks)
{
    struct table_user *its = table_time_of(time, user);
    assert_int_equal(its->user, user);
    if (!table_time_begin(time, its, now_ns))
        return false;
    usage.ru_utime.tv_usec += own_us;
    usage.ru_stime.tv_usec += kernel_us;
    usage.ru_inblock += blocks;
    table_time_end(time, its);
    return true;
}

static void each_user_has_a_share(void **state)
{
    struct table_time time = {0};
    const uint64_t start = 1000000000000;
    (void)state;
    usage = (struct rusage){.ru_utime = {7, 1}, .ru_inblock = 99};
    assert_true(reads(&time, 1000, start, 100000, 99999, 0));
    assert_true(reads(&time, 1000, start, 1, 0, 0));
    assert_false(reads(&time, 1000, start, 0, 0, 0));
    /* Others have their own. */
    assert_true(reads(&time, 0, start, 0, 0, 80000));
    assert_false(reads(&time, 0, start, 0, 0, 0));
    assert_true(reads(&time, (uid_t)-1, start, 1, 0, 0));
    /* A twentieth of the time comes back. */
    assert_false(reads(&time, 1000, start + 19, 0, 0, 0));
    assert_true(reads(&time, 1000, start + 39, 0, 10000, 0));
    assert_false(reads(&time, 1000, start + 200000000, 0, 0, 0));
    assert_true(reads(&time, 1000, start + 200000100, 0, 0, 0));
    /* But no more than at first. */
    assert_true(reads(&time, 1000, start * 2, 200000, 0, 0));
    assert_false(reads(&time, 1000, start * 2, 0, 0, 0));
    fails = true; /* where nothing is told nothing is taken */
    assert_true(reads(&time, 5, start, 900000, 0, 0));
    assert_true(reads(&time, 5, start, 0, 0, 0));
    fails = false;
}

static void many_users(void **state)
{
    struct table_time time = {0};
    (void)state;
    for (uid_t user = 0; user < TABLE_USERS; user++)
        assert_int_equal(table_time_of(&time, user)->user, user);
    assert_int_equal(table_time_of(&time, TABLE_USERS)->user, TABLE_USERS - 1);
    assert_int_equal(table_time_of(&time, 3)->user, 3);
    assert_int_equal(time.count, TABLE_USERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_user_has_a_share), cmocka_unit_test(many_users)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
