/* SPDX-License-Identifier: MIT */
/* Looks that may hang: who waits, for how long, and what becomes of those that come back late. */
#include "check.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collector/errand.h"

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

static struct hanging *new_hanging(int fd, unsigned *abandoned)
{
    struct hanging *hanging = calloc(1, sizeof(*hanging));
    assert_non_null(hanging);
    *hanging = (struct hanging){{run, abandon}, fd, false, abandoned};
    return hanging;
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
        assert_false(errands_do(&errands, &new_hanging(ends[0], &abandoned)->errand));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_hang_is_waited_for),
        cmocka_unit_test(who_hangs_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
