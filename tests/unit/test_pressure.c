/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <pthread.h>
#include <time.h>

#include "collector/sources/pressure.h"
#include "collector/sources/session.h"

static struct session *calm_session(void)
{
    static struct session session; /* large */
    memset(&session, 0, sizeof(session));
    session.fd_limit = 1000;
    session.ring_budget = UINT64_MAX;
    return &session;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void what_is_high(void **state)
{
    (void)state;
    struct session *session = calm_session();
    assert_false(pressure_is_high(session));
    pressure_taken(session, 500);
    assert_false(pressure_is_high(session));
    pressure_taken(session, 1);
    assert_true(pressure_is_high(session) && pressure_needs_room(session));
    pressure_freed(session, 1);
    assert_false(pressure_is_high(session));
    session->ring_budget = 800;
    session->ring_bytes = 701;
    assert_true(pressure_is_high(session) && pressure_needs_room(session));
    session->ring_bytes = 700;
    assert_false(pressure_is_high(session));
    for (int i = 0; i < 16385; i++)
        pressure_queued(session);
    assert_true(pressure_is_high(session));
    assert_false(pressure_needs_room(session));
    pressure_written(session);
    assert_false(pressure_is_high(session));
}

/* Ten thousand of them take less than waits of 3 ms would. */
static void nothing_to_wait_for(void **state)
{
    (void)state;
    struct session *session = calm_session();
    uint64_t start = now_ns();
    for (int i = 0; i < 5000; i++)
        pressure_wait(session);
    pressure_taken(session, 600);
    pressure_idle(session, true);
    for (int i = 0; i < 5000; i++)
        pressure_wait(session);
    assert_true(now_ns() - start < UINT64_C(10000) * 3000000);
}

static void the_wait_is_bounded(void **state)
{
    (void)state;
    struct session *session = calm_session();
    pressure_taken(session, 600);
    uint64_t start = now_ns();
    pressure_wait(session);
    assert_true(now_ns() - start >= 3000000);
    assert_true(pressure_is_high(session));
    assert_int_equal(session->pressure.waiting, 0);
}

/* Who waits looks again when something was given back, a file was written, or nothing more is to come. */
static void what_may_end_a_wait(void **state)
{
    (void)state;
    struct session *session = calm_session();
    const uint32_t *progress = &session->pressure.progress;
    pressure_taken(session, 5);
    pressure_queued(session);
    assert_int_equal(*progress, 0);
    pressure_freed(session, 5);
    assert_int_equal(*progress, 1);
    pressure_written(session);
    assert_int_equal(*progress, 2);
    pressure_idle(session, true);
    assert_int_equal(*progress, 3);
    assert_true(session->pressure.idle);
    pressure_idle(session, false);
    assert_int_equal(*progress, 3);
    assert_false(session->pressure.idle);
    assert_int_equal(session->pressure.descriptors + session->pressure.unwritten, 0);
}

static void *give_back(void *argument)
{
    struct session *session = argument;
    for (int i = 0; i < 600; i++)
        pressure_freed(session, 1);
    return NULL;
}

static void *wait_until_low(void *argument)
{
    struct session *session = argument;
    while (pressure_is_high(session))
        pressure_wait(session);
    return NULL;
}

static void who_waits_is_woken(void **state)
{
    (void)state;
    struct session *session = calm_session();
    pthread_t waiters[4], giver;
    pressure_taken(session, 1000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&waiters[i], NULL, wait_until_low, session), 0);
    assert_int_equal(pthread_create(&giver, NULL, give_back, session), 0);
    pthread_join(giver, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(waiters[i], NULL);
    assert_int_equal(session->pressure.descriptors, 400);
    assert_int_equal(session->pressure.waiting, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_high),        cmocka_unit_test(nothing_to_wait_for),
        cmocka_unit_test(the_wait_is_bounded), cmocka_unit_test(what_may_end_a_wait),
        cmocka_unit_test(who_waits_is_woken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
