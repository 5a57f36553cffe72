/* SPDX-License-Identifier: MIT */
/* When the tasks of --sampler=auto are to lose their events: what these have cost, in which time. */
#include "check.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pinject/format.h>

#include "collector/sources/inherited.h"
#include "collector/tasks/relief.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T  UINT64_C(2000000000)
#define MS UINT64_C(1000000)

static struct stage stage;
static unsigned opened;

int __wrap_inherited_open_system_wide(struct inherited_sets *sets, uint64_t *ret_since_ns);
int __wrap_inherited_open_system_wide(struct inherited_sets *sets, uint64_t *ret_since_ns)
{
    (void)sets, (void)ret_since_ns;
    opened++;
    return -EPERM;
}

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage.kit.config.system_wide_later = true;
    stage.kit.session.start_ns = T;
    opened = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_close(&stage);
    stage_free(&stage);
    return 0;
}

/* The kernel counts twice for each switch: to the task, and away from it. */
static void switch_to(struct task *task, unsigned times)
{
    struct perf_event_mmap_page *page = task->events->ring;
    page->lock += 2 * times;
}

static void look(uint64_t after_ns)
{
    stage.tasks->now_ns = T + after_ns;
    tasks_watch_cost(stage.tasks);
}

/* A switch costs 2.5 us: 800 are 2 ms. */
static void by_switches(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    look(0);
    for (unsigned i = 1; i <= 5; i++) { /* 2 % */
        switch_to(task, 800 / 5);
        look(20 * i * MS);
    }
    assert_int_equal(opened, 0);
    for (unsigned i = 1; i <= 5; i++) {
        assert_int_equal(opened, 0);
        switch_to(task, 805 / 5);
        look((100 + 20 * i) * MS);
    }
    assert_int_equal(opened, 1);
    switch_to(task, 100000); /* it is not possible, and not tried again */
    look(400 * MS);
    assert_int_equal(opened, 1);
}

static void by_many_switches(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    look(0);
    switch_to(task, 1600); /* 20 % of 20 ms */
    look(19 * MS);
    look(20 * MS);
    assert_int_equal(opened, 0);
    switch_to(task, 1700); /* and 20.6 % of 40 ms */
    look(40 * MS);
    assert_int_equal(opened, 1);
}

/* 32 starts cost 3.2 ms. */
static void by_starts(void **state)
{
    (void)state;
    stage_process(&stage, 100, 1, T, 1000);
    look(0);
    for (pid_t pid = 101; pid < 132; pid++)
        stage_process(&stage, pid, 100, T + 1, 1000);
    look(10 * MS);
    assert_int_equal(opened, 0);
    stage_process(&stage, 132, 100, T + 2, 1000);
    look(11 * MS);
    assert_int_equal(opened, 1);
}

static void as_many_starts_in_a_second(void **state)
{
    (void)state;
    stage_process(&stage, 100, 1, T, 1000);
    look(0);
    for (pid_t pid = 101; pid < 133; pid++)
        stage_process(&stage, pid, 100, T + 1, 1000);
    look(1000 * MS);
    assert_int_equal(opened, 0);
}

/* Is PINJECT_SESSION_SETTLED set AFTER_NS after a relief, of which CHILD was made BORN_NS later? */
static bool settles(uint64_t after_ns, pid_t child, int64_t born_ns)
{
    static struct pinject_segment segment;
    struct missed *missed = &stage.tasks->missed;
    segment.flags = 0;
    stage.kit.session.segment = &segment;
    stage.kit.session.system_wide_ns = T;
    stage.tasks->settled = false;
    if (child)
        missed_announced(missed, 100, child, child, T + (uint64_t)born_ns, true);
    look(after_ns);
    stage.kit.session.segment = NULL;
    stage.kit.session.system_wide_ns = 0;
    return segment.flags == PINJECT_SESSION_SETTLED;
}

/* New programs ask until all children from before the relief have done so. */
static void when_a_relief_has_settled(void **state)
{
    (void)state;
    stage_process(&stage, 100, 1, T, 1000);
    assert_false(settles(20 * MS - 1, 0, 0));
    assert_true(settles(20 * MS, 0, 0));
    assert_true(settles(20 * MS, 101, MS)); /* the set has this one */
    assert_false(settles(20 * MS, 102, -1));
    assert_false(settles(1000 * MS - 1, 0, 0));
    assert_true(settles(1000 * MS, 0, 0)); /* it need not ask */
    missed_requested(&stage.tasks->missed, 102);
    assert_true(settles(20 * MS, 0, 0));
    assert_false(settles(20 * MS, 103, -1));
    missed_refused(&stage.tasks->missed, 103, -EPERM);
    assert_true(settles(20 * MS, 0, 0));
}

static void never(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    stage.kit.config.system_wide_later = false;
    look(0);
    switch_to(task, 100000);
    look(100 * MS);
    assert_int_equal(opened, 0);
}

/* The loop is woken for it at the beginning of a session only. */
static void how_long_the_loop_sleeps(void **state)
{
    (void)state;
    const struct tasks *tasks = stage.tasks;
    assert_int_equal(tasks_cost_wait(tasks, T, 100), 20);
    assert_int_equal(tasks_cost_wait(tasks, T, 2), 2);
    assert_int_equal(tasks_cost_wait(tasks, T + 299 * MS, 100), 20);
    assert_int_equal(tasks_cost_wait(tasks, T + 300 * MS, 100), 100);
    stage.kit.config.system_wide_later = false;
    assert_int_equal(tasks_cost_wait(tasks, T, 100), 100);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(by_switches),
        TEST(by_many_switches),
        TEST(by_starts),
        TEST(as_many_starts_in_a_second),
        TEST(never),
        TEST(how_long_the_loop_sleeps),
        TEST(when_a_relief_has_settled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
