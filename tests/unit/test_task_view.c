/* SPDX-License-Identifier: MIT */
/* A task as its result file sees it: what each program counted, what is unknown, where a split file begins and ends. */
#include "check.h"

#include <pinject/format.h>

#include "collector/tasks/finish.h"
#include "collector/tasks/task_view.h"
#include "test_tasks_kit.h"

#define T       2000000000ull
#define UNKNOWN "the counts of this program are unknown: they could not be read at the moment of exec"

static struct stage stage;
static struct task *task;
static struct task_view view;
static bool shown;

static int begin(bool split)
{
    stage_new(&stage, PINJECT_SESSION_ALL, split);
    task = stage_process(&stage, 100, 1, T, 9000);
    stage.tasks->now_ns = T + 90;
    shown = false;
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    return begin(false);
}

static int set_up_split(void **state)
{
    (void)state;
    return begin(true);
}

static void hide(void)
{
    if (shown)
        task_view_release(&view);
    shown = false;
}

static int tear_down(void **state)
{
    (void)state;
    hide();
    stage_close(&stage);
    stage_free(&stage);
    return 0;
}

/* The task calls exec; what it has counted by then is VALUE, 0: nobody knows. */
static void execute(uint64_t time_ns, uint64_t value)
{
    unsigned before = task->generation_count;
    if (value)
        stage_snapshot(&stage, 100, time_ns - 1, value);
    stage_comm(task, 100, 100, "next", true, time_ns);
    tasks_drain(stage.tasks, task);
    assert_int_equal(task->generation_count, before + 1);
    assert_int_equal(task->generations[before - 1].at_end != NULL, value != 0);
}

/* Exec generations before END, where all of the counts are NOW; 0: they are unknown. */
static void show(unsigned end, uint64_t now)
{
    struct attach_value values[CONFIG_EVENTS];
    hide();
    for (unsigned i = 0; i < CONFIG_EVENTS; i++)
        values[i] = (struct attach_value){now, now, now, 0};
    task_view_init(stage.tasks, task, end, now ? values : NULL, &view);
    shown = true;
}

static void expect_counted(unsigned index, uint64_t value)
{
    const struct result_generation *generation = &view.task.generations[index];
    assert_true(index < view.task.generation_count);
    assert_true(generation->counted);
    for (unsigned i = 0; i < stage.kit.config.count; i++) {
        assert_int_equal(generation->values[i].value, value);
        assert_int_equal(generation->values[i].enabled_ns, value);
        assert_int_equal(generation->values[i].running_ns, value);
    }
}

static void expect_uncounted(unsigned index)
{
    assert_true(index < view.task.generation_count);
    assert_false(view.task.generations[index].counted);
}

static unsigned notes_of(const char *text)
{
    unsigned count = 0;
    for (unsigned i = 0; i < view.task.note_count; i++)
        count += strcmp(view.task.notes[i], text) == 0;
    return count;
}

/* ---- Programs of a task ---- */

static void test_counts_of_programs(void **state)
{
    (void)state;
    show(1, 9000);
    expect_uncounted(0); /* it is the task itself */
    assert_int_equal(view.task.values[0].value, 9000);
    execute(T + 10, 4000);
    execute(T + 20, 7500);
    show(3, 9000);
    assert_int_equal(view.task.generation_count, 3);
    expect_counted(0, 4000);
    expect_counted(1, 3500);
    expect_counted(2, 1500);
    assert_int_equal(view.task.values[1].value, 9000);
    show(3, 0);
    expect_counted(0, 4000);
    expect_counted(1, 3500);
    expect_uncounted(2);
    assert_int_equal(view.task.values[0].value, 0);
    assert_int_equal(notes_of(UNKNOWN), 0); /* of the task, not of a program */
}

#define JOINED \
    "the counts of a program include those of the program before it: counts could not be read at the moment of exec"

/* If a moment is unknown, the program after it gets the counts of the one before it: nothing is lost. */
static void test_unknown_moments(void **state)
{
    (void)state;
    execute(T + 10, 4000);
    execute(T + 20, 0);
    execute(T + 30, 7500);
    show(4, 9000);
    expect_counted(0, 4000);
    expect_uncounted(1);
    expect_counted(2, 3500);
    expect_counted(3, 1500);
    assert_int_equal(notes_of(JOINED), 1);
    /* Where programs are missing in the list nobody knows which of them is the last one. */
    task->generations_more = 1;
    show(4, 9000);
    for (unsigned i = 0; i < 4; i++)
        expect_uncounted(i);
    assert_int_equal(notes_of("1 more program that the task executed is not in this file"), 1);
}

/* Counters of other moments: what cannot be is 0, in each field by itself. */
static void test_counts_do_not_run_backwards(void **state)
{
    (void)state;
    execute(T + 10, 4000);
    for (int field = 0; field < 5; field++) {
        task->generations[0].at_end[0] = (struct attach_value){10, 20, 30, 40};
        struct attach_value values[CONFIG_EVENTS] = {{100, 200, 300, 400}, {5000, 5000, 5000, 0}};
        uint64_t expected[] = {90, 180, 270, 360};
        uint64_t *now[] = {&values[0].value, &values[0].enabled_ns, &values[0].running_ns, &values[0].lost};
        if (field < 4) {
            *now[field] = 5;
            expected[field] = 0;
        }
        hide();
        task_view_init(stage.tasks, task, 2, values, &view);
        shown = true;
        const struct attach_value *got = view.task.generations[1].values;
        assert_true(view.task.generations[1].counted);
        assert_int_equal(got[0].value, expected[0]);
        assert_int_equal(got[0].enabled_ns, expected[1]);
        assert_int_equal(got[0].running_ns, expected[2]);
        assert_int_equal(got[0].lost, expected[3]);
        assert_int_equal(got[1].value, 1000);
        assert_int_equal(got[2].value, 0);
    }
}

static void test_names_of_programs(void **state)
{
    (void)state;
    execute(T + 10, 4000);
    stage_generation(&stage, 100, T + 15, "/bin/next", "next");
    execute(T + 20, 0);
    show(3, 9000);
    assert_string_equal(view.task.generations[0].comm, "prog");
    assert_string_equal(view.task.generations[0].exec, "/bin/prog");
    assert_int_equal(view.task.generations[0].cmdline_size, 5);
    assert_int_equal(view.task.generations[0].start_ns, T);
    assert_string_equal(view.task.generations[1].comm, "next");
    assert_string_equal(view.task.generations[1].exec, "/bin/next");
    assert_string_equal(view.task.generations[1].cmdline, "next");
    assert_int_equal(view.task.generations[1].start_ns, T + 10);
    assert_string_equal(view.task.generations[2].exec, ""); /* nobody told */
    assert_string_equal(view.task.generations[2].cmdline, "");
    assert_int_equal(view.task.generations[2].cmdline_size, 0);
}

/* ---- A file for each program ---- */

static void test_split(void **state)
{
    (void)state;
    execute(T + 10, 4000);
    execute(T + 20, 0);
    const unsigned first = task->generation_first; /* what is before it is in its file already */
    task->generation_first = 0;
    show(1, 0);
    assert_int_equal(view.task.generation_count, 1);
    expect_counted(0, 4000);
    assert_int_equal(view.task.values[2].value, 4000);
    assert_int_equal(notes_of(UNKNOWN), 0);
    task->generation_first = 1;
    show(2, 9000);
    assert_int_equal(view.task.generation_count, 1);
    expect_uncounted(0);
    assert_int_equal(view.task.values[0].value, 0);
    assert_int_equal(notes_of(UNKNOWN), 1);
    task->generation_first = 2;
    show(3, 9000);
    expect_counted(0, 5000); /* when it began is unknown: of both programs */
    assert_int_equal(view.task.values[0].value, 5000);
    assert_int_equal(notes_of(UNKNOWN), 0);
    assert_int_equal(notes_of(JOINED), 1);
    task->generation_first = first;
}

/* The only program of a split task is counted: its file is that of the task. */
static void test_split_of_one(void **state)
{
    (void)state;
    show(1, 9000);
    expect_counted(0, 9000);
    assert_int_equal(view.task.values[0].value, 9000);
    assert_int_equal(notes_of(UNKNOWN), 0);
    show(1, 0);
    expect_uncounted(0);
    assert_int_equal(notes_of(UNKNOWN), 1);
}

/* What belongs to the end of the task is in the file of its last program, what belongs to its start in the first. */
static void test_start_and_end(void **state)
{
    const uint32_t ends = PINJECT_TASK_ENDED | PINJECT_TASK_STATUS | PINJECT_TASK_EXIT_COST;
    (void)state;
    execute(T + 10, 4000);
    const unsigned first = task->generation_first;
    task->startup_ns = 77;
    show(2, 9000);
    assert_int_equal(view.task.flags & ends, 0);
    assert_int_equal(view.task.end_ns, stage.tasks->now_ns);
    const struct task_state before = task->state;
    task->state = (struct task_state){TASK_ENDED, TASK_EXITED};
    task->status = 0x300;
    task->exit_ns = 55;
    task->end_ns = T + 50;
    task->generation_first = 0;
    show(1, 0);
    assert_int_equal(view.task.start_ns, T);
    assert_int_equal(view.task.end_ns, T + 10);
    assert_int_equal(view.task.startup_ns, 77);
    assert_int_equal(view.task.flags & ends, PINJECT_TASK_ENDED);
    assert_int_equal(view.task.status, 0);
    assert_int_equal(view.task.exit_ns, 0);
    task->generation_first = 1;
    show(2, 9000);
    assert_int_equal(view.task.start_ns, T + 10);
    assert_int_equal(view.task.end_ns, T + 50);
    assert_int_equal(view.task.startup_ns, 0);
    assert_int_equal(view.task.flags & ends, ends);
    assert_int_equal(view.task.status, 0x300);
    assert_int_equal(view.task.exit_ns, 55);
    task->generation_first = first;
    task->state = before;
    task->status = -1;
    task->exit_ns = UINT64_MAX;
    task->end_ns = 0;
}

/* ---- The rest ---- */

static void test_flags_and_source(void **state)
{
    const uint32_t flags = PINJECT_TASK_COUNTED_ONLY | PINJECT_TASK_SPLIT | PINJECT_TASK_ROOT;
    (void)state;
    bool root = task->root;
    for (int i = 0; i < 8; i++) {
        task->coverage = i & 1 ? TASK_BY_COUNTERS : TASK_BY_EVENTS;
        stage.kit.settings.split = i & 2;
        task->root = i & 4;
        show(1, 9000);
        assert_int_equal(view.task.flags & flags, (i & 1 ? PINJECT_TASK_COUNTED_ONLY : 0) |
                                                      (i & 2 ? PINJECT_TASK_SPLIT : 0) |
                                                      (i & 4 ? PINJECT_TASK_ROOT : 0));
    }
    task->root = root;
    stage.kit.settings.split = false;
    static const struct {
        enum task_coverage coverage;
        bool started, counts_only;
        enum pinject_task_source source;
    } cases[] = {{TASK_BY_EVENTS, false, false, PINJECT_SOURCE_PERF},
                 {TASK_BY_COUNTERS, false, true, PINJECT_SOURCE_PERF},
                 {TASK_BY_INHERITANCE, false, false, PINJECT_SOURCE_INHERITED},
                 {TASK_BY_TIMER, false, true, PINJECT_SOURCE_ACCOUNTING},
                 {TASK_BY_TIMER, true, false, PINJECT_SOURCE_TIMER},
                 {TASK_NOT_SAMPLED, false, true, PINJECT_SOURCE_ACCOUNTING},
                 {TASK_NOT_SAMPLED, true, false, PINJECT_SOURCE_TIMER}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        task->coverage = cases[i].coverage;
        task->timer_started = cases[i].started;
        show(1, 9000);
        assert_int_equal(view.task.source, cases[i].source);
        assert_int_equal(!!(view.task.flags & PINJECT_TASK_COUNTED_ONLY), cases[i].counts_only);
    }
    task->coverage = TASK_BY_EVENTS;
    task->timer_started = false;
}

/* The kernel counts what is lost, of events that sample; an older one does not, and records tell. */
static void test_lost(void **state)
{
    struct attach_value values[CONFIG_EVENTS] = {{.value = 9, .lost = 3}, {.lost = 100}, {.lost = 200}};
    (void)state;
    task->samples = 50;
    task->split_samples = 20;
    task->lost_records = 12;
    task->split_lost = 5;
    for (int known = 0; known < 2; known++) {
        stage.tasks->layout.lost_known = known;
        hide();
        task_view_init(stage.tasks, task, 1, values, &view);
        shown = true;
        assert_int_equal(view.task.samples, 30);
        assert_int_equal(view.task.lost, known ? 3 : 7);
    }
    stage.kit.config.events[2].samples = true;
    hide();
    task_view_init(stage.tasks, task, 1, values, &view);
    shown = true;
    assert_int_equal(view.task.lost, 203);
    stage.kit.config.events[2].samples = false;
    task->samples = task->split_samples = task->lost_records = task->split_lost = 0;
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SPLIT(name) cmocka_unit_test_setup_teardown(name, set_up_split, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_counts_of_programs), TEST(test_unknown_moments),  TEST(test_counts_do_not_run_backwards),
        TEST(test_names_of_programs),  SPLIT(test_split),           SPLIT(test_split_of_one),
        SPLIT(test_start_and_end),     TEST(test_flags_and_source), TEST(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
