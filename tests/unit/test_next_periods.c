/* SPDX-License-Identifier: MIT */
/* Which tasks get new periods, or no more samples, in a round of the event loop: not more than it has calls for. */
#include "check.h"

#include "collector/next_periods.h"
#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "collector/tasks/tasks.h"

enum { TASKS = 300, ROUND = 256 };

static struct event_config config;
static struct settings settings;
static struct session session;
static struct tasks tasks;
static struct task list[TASKS];
static struct attached events[TASKS];
static unsigned renewed[TASKS], stopped[TASKS], each; /* calls that each task takes */

unsigned __wrap_attach_renew_periods(struct attached *attached, unsigned most);
unsigned __wrap_attach_renew_periods(struct attached *attached, unsigned most)
{
    assert_true(most > 0);
    renewed[attached - events]++;
    return each < most ? each : most;
}

unsigned __wrap_attach_stop_sampling(struct attached *attached);
unsigned __wrap_attach_stop_sampling(struct attached *attached)
{
    stopped[attached - events]++;
    return each;
}

static int set_up(void **state)
{
    (void)state;
    config = (struct event_config){.varies = true};
    settings = (struct settings){0};
    session = (struct session){.config = &config, .settings = &settings};
    memset(&tasks, 0, sizeof(tasks));
    memset(list, 0, sizeof(list));
    memset(events, 0, sizeof(events));
    memset(renewed, 0, sizeof(renewed));
    memset(stopped, 0, sizeof(stopped));
    each = 1;
    for (int i = 0; i < TASKS; i++) {
        list[i].state.life = TASK_RUNNING;
        list[i].events = &events[i];
        list[i].live_next = i + 1 < TASKS ? &list[i + 1] : NULL;
    }
    tasks.live = list;
    return 0;
}

static unsigned sum(const unsigned *counts)
{
    unsigned all = 0;
    for (int i = 0; i < TASKS; i++)
        all += counts[i];
    return all;
}

/* What a sweep has no calls for comes first in the next one. */
static void test_each_in_its_turn(void **state)
{
    struct next_periods periods;
    (void)state;
    next_periods_start(&periods, &session);
    for (unsigned sweep = 1; sweep <= 2; sweep++) {
        next_periods_begin_round(&periods);
        next_periods_swept(&periods, &tasks);
        assert_int_equal(sum(renewed), sweep == 1 ? ROUND : TASKS);
    }
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(renewed[i], 1);
    next_periods_begin_round(&periods);
    next_periods_swept(&periods, &tasks);
    assert_int_equal(sum(renewed), TASKS + ROUND);
    assert_int_equal(renewed[0], 2);
    assert_int_equal(renewed[TASKS - 1], 1);
    /* No task takes calls: all have their turn. */
    each = 0;
    for (int i = 0; i < 2; i++) {
        next_periods_begin_round(&periods);
        next_periods_swept(&periods, &tasks);
    }
    assert_int_equal(sum(renewed), 3 * TASKS);
}

/* Rings that woke the loop, and the sweep, share the calls of a round. */
static void test_calls_of_a_round(void **state)
{
    struct next_periods periods;
    (void)state;
    each = 100;
    next_periods_start(&periods, &session);
    next_periods_begin_round(&periods);
    for (int i = 0; i < 5; i++)
        next_periods_drained(&periods, &list[i]);
    assert_int_equal(sum(renewed), 3); /* 100, 100, and what is left */
    next_periods_swept(&periods, &tasks);
    assert_int_equal(sum(renewed), 3);
    next_periods_begin_round(&periods);
    next_periods_drained(&periods, &list[7]);
    assert_int_equal(renewed[7], 1);
}

static void test_who_has_none(void **state)
{
    struct next_periods periods;
    (void)state;
    next_periods_start(&periods, &session);
    next_periods_begin_round(&periods);
    list[0].events = NULL; /* covered by inheritance */
    events[1].timer = true;
    list[2].state.life = TASK_ENDED;
    for (int i = 0; i < 3; i++)
        next_periods_drained(&periods, &list[i]);
    assert_int_equal(sum(renewed), 0);
    next_periods_swept(&periods, &tasks);
    assert_int_equal(sum(renewed), ROUND);
    config.varies = false;
    next_periods_start(&periods, &session);
    next_periods_begin_round(&periods);
    next_periods_drained(&periods, &list[5]);
    next_periods_swept(&periods, &tasks);
    assert_int_equal(sum(renewed), ROUND);
}

static void test_saturated(void **state)
{
    struct next_periods periods;
    (void)state;
    config.varies = false;
    settings.saturate = 10;
    next_periods_start(&periods, &session);
    next_periods_begin_round(&periods);
    list[3].samples = 9;
    list[4].samples = 10;
    list[5].samples = 11;
    next_periods_drained(&periods, &list[3]);
    next_periods_drained(&periods, &list[4]);
    assert_int_equal(stopped[3], 0);
    assert_int_equal(stopped[4], 1);
    next_periods_swept(&periods, &tasks);
    assert_int_equal(stopped[5], 1);
    assert_int_equal(sum(stopped), 3);
    assert_int_equal(renewed[5], 0);
    each = 1000; /* more than are left */
    next_periods_begin_round(&periods);
    next_periods_drained(&periods, &list[5]);
    assert_int_equal(periods.left, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_in_its_turn, set_up),
        cmocka_unit_test_setup(test_calls_of_a_round, set_up),
        cmocka_unit_test_setup(test_who_has_none, set_up),
        cmocka_unit_test_setup(test_saturated, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
