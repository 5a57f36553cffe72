/* SPDX-License-Identifier: MIT */
/* Looks that may hang: who waits, for how long, and what becomes of those that come back late. */
#include "check.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collector/system/errand.h"

/* A user for each process. */
uid_t __wrap_procfs_uid(pid_t pid);
uid_t __wrap_procfs_uid(pid_t pid)
{
    return (uid_t)pid;
}

/* Reads a byte, which the test writes or not. */
struct hanging {
    struct errand errand;
    int fd;
    bool ran;
    unsigned *abandoned;
};

static void run(struct errand *errand)
{
    struct hanging *hanging = (struct hanging *)errand;
    char byte;
    hanging->ran = hanging->fd < 0 || read(hanging->fd, &byte, 1) == 1;
}

static void abandon(struct errand *errand)
{
    struct hanging *hanging = (struct hanging *)errand;
    __atomic_fetch_add(hanging->abandoned, 1, __ATOMIC_SEQ_CST);
    free(hanging);
}

static struct hanging *new_hanging_of(pid_t pid, int fd, unsigned *abandoned)
{
    struct hanging *hanging = calloc(1, sizeof(*hanging));
    assert_non_null(hanging);
    *hanging = (struct hanging){{run, abandon, pid}, fd, false, abandoned};
    return hanging;
}

static struct hanging *new_hanging(int fd, unsigned *abandoned)
{
    return new_hanging_of(1, fd, abandoned);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void what_does_not_hang_is_waited_for(void **state)
{
    (void)state;
    struct errands errands = {0};
    unsigned abandoned = 0;
    for (unsigned i = 0; i < 1000; i++) {
        struct hanging *hanging = new_hanging(-1, &abandoned);
        if (errands_do(&errands, &hanging->errand)) { /* a busy machine may be slower than our patience */
            assert_true(hanging->ran);
            free(hanging);
        }
    }
    assert_true(errands.given_up < 1000);
    size_t size = 0;
    char *text = errands_cmdline(&errands, getpid(), &size);
    assert_true(!text || size > 0);
    free(text);
    while (!errands_end(&errands))
        usleep(1000);
    assert_int_equal(abandoned, errands.given_up - (text ? 0 : 1));
}

static void who_hangs_is_left(void **state)
{
    (void)state;
    struct errands errands = {0};
    unsigned abandoned = 0;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    int64_t began = now_ms();
    for (unsigned i = 0; i < ERRANDS_HUNG; i++)
        assert_false(errands_do(&errands, &new_hanging_of((pid_t)i / 2, ends[0], &abandoned)->errand));
    assert_int_equal(errands.hung, ERRANDS_HUNG);
    assert_int_equal(abandoned, 0);
    /* 0.1 s for the first one, and no such time for each further one: patience is used up. */
    print_message("%d that hang: %d ms\n", ERRANDS_HUNG, (int)(now_ms() - began));
    assert_true(errands.patience_ns < 50 * 1000 * 1000);
    /* One more is not even begun. */
    assert_false(errands_do(&errands, &new_hanging(-1, &abandoned)->errand));
    assert_int_equal(abandoned, 1);
    assert_int_equal(errands.given_up, ERRANDS_HUNG + 1);
    assert_false(errands_end(&errands));
    for (unsigned i = 0; i < ERRANDS_HUNG; i++)
        assert_int_equal(write(ends[1], "", 1), 1);
    while (!errands_end(&errands))
        usleep(1000);
    assert_int_equal(abandoned, ERRANDS_HUNG + 1);
    close(ends[0]);
    close(ends[1]);
}

/* Two of a user hang: nothing of his is looked at until one comes back. Others' processes are. */
static void one_user_has_his_share(void **state)
{
    (void)state;
    struct errands errands = {0};
    unsigned abandoned = 0;
    int ends[2];
    bool looked = false;
    assert_int_equal(pipe(ends), 0);
    for (unsigned i = 0; i < 5; i++)
        assert_false(errands_do(&errands, &new_hanging_of(7, ends[0], &abandoned)->errand));
    assert_int_equal(errands.hung, 2);
    assert_int_equal(errands.given_up, 5);
    assert_int_equal(abandoned, 3);
    for (unsigned i = 0; i < 1000 && !looked; i++) { /* a busy machine may be slower than our patience */
        struct hanging *other = new_hanging_of(8 + (pid_t)i, -1, &abandoned);
        looked = errands_do(&errands, &other->errand);
        if (looked)
            free(other);
    }
    assert_true(looked);
    assert_int_equal(write(ends[1], "ab", 2), 2);
    while (__atomic_load_n(&errands.hung, __ATOMIC_SEQ_CST))
        usleep(1000);
    struct hanging *his = new_hanging_of(7, -1, &abandoned);
    const uint64_t given_up = errands.given_up;
    looked = errands_do(&errands, &his->errand);
    assert_true(looked || errands.hung || errands.given_up > given_up);
    if (looked)
        free(his);
    for (unsigned i = 0; i < ERRANDS_HUNG; i++)
        assert_true(!errands.taken[i] || !looked);
    while (!errands_end(&errands))
        usleep(1000);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_hang_is_waited_for),
        cmocka_unit_test(who_hangs_is_left),
        cmocka_unit_test(one_user_has_his_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
