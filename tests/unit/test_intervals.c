/* SPDX-License-Identifier: MIT */
/* What tasks counted since the last round; in all rounds together exactly what they counted. */
#include "check.h"

#include <linux/perf_event.h>
#include <pinject/format.h>

#include "collector/output/result_task.h"
#include "collector/tasks/intervals.h"
#include "collector/tasks/tasks.h"

static struct event_config config = {
    .count = 2,
    .events = {{"task-clock", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK}, false, true},
               {"page-faults", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}, false, false}}};
static struct tasks tasks;
static uint64_t ids[] = {1, 2, 0};
static struct task task;
static struct attach_value values[CONFIG_EVENTS];
static uint64_t sums[2];

/* A task that has ended, and whose file is not written yet. */
static int set_up(void **state)
{
    (void)state;
    memset(&tasks, 0, sizeof(tasks));
    memset(values, 0, sizeof(values));
    memset(sums, 0, sizeof(sums));
    tasks.config = &config;
    tasks.done = &task;
    task = (struct task){.pid = 5, .tid = 6, .ids = ids, .startup_ns = 30, .values = values, .comm = "a"};
    task.state.life = TASK_ENDED;
    return counts_init(&tasks.interval, &config, COUNT_BY_THREAD);
}

static int tear_down(void **state)
{
    (void)state;
    free(task.told);
    counts_release(&tasks.interval);
    return 0;
}

static void set(uint64_t clock, uint64_t faults)
{
    values[0] = (struct attach_value){.value = clock, .enabled_ns = clock, .running_ns = clock};
    values[1] = (struct attach_value){.value = faults, .enabled_ns = clock, .running_ns = clock};
}

/* Takes what the round had: the number of rows, and their sums. */
static void expect(uint64_t rows, uint64_t clock, uint64_t faults)
{
    assert_int_equal(tasks.interval.store.task_count, rows);
    assert_int_equal(tasks.interval.store.total[0].value, clock);
    assert_int_equal(tasks.interval.store.total[1].value, faults);
    sums[0] += clock;
    sums[1] += faults;
    counts_release(&tasks.interval);
    assert_int_equal(counts_init(&tasks.interval, &config, COUNT_BY_THREAD), 0);
}

static void test_sum(void **state)
{
    const struct result_task view = {.ids = {1, 2}, .exit_ns = 11, .source = PINJECT_SOURCE_PERF};
    (void)state;
    set(100, 7);
    tasks_read_interval(&tasks, 1);
    expect(1, 130, 7); /* with its start-up, once */
    tasks_read_interval(&tasks, 2);
    expect(0, 0, 0);
    set(150, 7);
    tasks_read_interval(&tasks, 3);
    tasks_read_interval(&tasks, 3); /* found in two lists */
    expect(1, 50, 0);
    set(160, 9);
    tasks_end_intervals(&tasks, &task, &view);
    expect(1, 21, 2);
    assert_int_equal(sums[0], 30 + 160 + 11);
    assert_int_equal(sums[1], 9);
}

/* It began and ended between two rounds. */
static void test_short(void **state)
{
    const struct result_task view = {.ids = {1, 2}, .source = PINJECT_SOURCE_PERF};
    (void)state;
    set(40, 3);
    tasks_end_intervals(&tasks, &task, &view);
    expect(1, 70, 3);
}

static void test_armed_and_inherited(void **state)
{
    (void)state;
    set(40, 3);
    task.state.life = TASK_STILLBORN;
    tasks_read_interval(&tasks, 1);
    expect(0, 0, 0);
    task.state.life = TASK_ENDED;
    task.coverage = TASK_BY_INHERITANCE; /* its READ records have not come */
    task.readings = 2;
    tasks_read_interval(&tasks, 1);
    expect(0, 0, 0);
    task.readings_seen = 2;
    tasks_read_interval(&tasks, 1);
    expect(1, 70, 3);
}

static void test_not_asked_for(void **state)
{
    const struct result_task view = {.ids = {1, 2}};
    (void)state;
    counts_release(&tasks.interval);
    tasks_end_intervals(&tasks, &task, &view);
    assert_null(task.told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_sum, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_short, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_armed_and_inherited, set_up, tear_down),
                                       cmocka_unit_test_setup_teardown(test_not_asked_for, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
