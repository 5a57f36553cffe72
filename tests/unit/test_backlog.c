/* SPDX-License-Identifier: MIT */
/* --exec-split-results: records wait for the name of their program, and not for ever. */
#include "check.h"

#include "collector/tasks/admit.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

enum { RECORD = 1024, MOST = 1024 };

static struct stage stage;
static struct tasks *tasks;

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, true);
    tasks = stage.tasks;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_free(&stage);
    return 0;
}

static void put(struct task *task, unsigned count)
{
    char record[RECORD] = {0};
    const struct perf_event_header header = {.type = 200, .size = RECORD};
    memcpy(record, &header, sizeof(header));
    for (unsigned i = 0; i < count; i++)
        tasks_put_record(tasks, task, record, RECORD);
}

/* A thread of a process that never asked: nobody tells its program. */
static struct task *nameless(void)
{
    struct notification *notification = stage_notification(PINJECT_THREAD, 500, 501, 1, T);
    stage_events(&stage, notification, 10);
    strcpy(notification->comm, "worker");
    tasks_admit(tasks, notification);
    struct task *task = tasks_find(tasks, 501);
    assert_non_null(task);
    assert_int_equal(task->file, FILE_UNNAMED);
    return task;
}

static unsigned records_of(const char *path)
{
    struct kit_file file;
    assert_true(kit_read(path, &file));
    unsigned count = file.records[200];
    kit_file_free(&file);
    return count;
}

static void nobody_tells_the_program(void **state)
{
    (void)state;
    struct task *task = nameless();
    put(task, MOST - 1);
    assert_int_equal(task->file, FILE_UNNAMED);
    assert_true(task->backlog.size > 0);
    put(task, 2);
    assert_int_equal(task->file, FILE_BEGUN);
    assert_int_equal(task->backlog.size, 0);
    assert_string_equal(task->generations[0].program->exec, "worker");
    put(task, MOST);
    assert_int_equal(task->backlog.size, 0);
    stage_close(&stage);
    assert_int_equal(tasks->missed.uncounted, 0);
    assert_int_equal(records_of("out.500.501.0.worker"), 2 * MOST + 1);
}

/* A program that is told without a path is none: its file has the name of the task, and its arguments stay. */
static void an_empty_path_is_told(void **state)
{
    (void)state;
    struct task *task = nameless();
    task->generations[0].program = program_new("", "a\0b", 4);
    put(task, 5);
    stage_close(&stage);
    assert_int_equal(records_of("out.500.501.0.worker"), 5);
}

static void no_name_at_all(void **state)
{
    (void)state;
    struct task *task = nameless();
    task->generations[0].comm[0] = '\0';
    task->generations[0].program = program_new("", "a\0b", 4);
    tasks_name_file(tasks, task);
    assert_int_equal(task->file, FILE_BEGUN);
    assert_string_equal(task->generations[0].program->exec, "?");
    assert_int_equal(task->generations[0].program->cmdline_size, 4);
    stage_close(&stage);
}

/* No program runs yet: what does not fit is counted. */
static void before_the_first_exec(void **state)
{
    (void)state;
    struct notification *notification = stage_notification(PINJECT_ARM, 600, 600, 1, T);
    stage_events(&stage, notification, 10);
    tasks_admit(tasks, notification);
    struct task *task = tasks_find(tasks, 600);
    put(task, MOST + 3);
    assert_int_equal(task->file, FILE_UNNAMED);
    assert_int_equal(task->backlog.size, MOST * RECORD);
    assert_int_equal(tasks->missed.uncounted, 3);
    stage_close(&stage);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(nobody_tells_the_program), TEST(an_empty_path_is_told),
                                       TEST(no_name_at_all), TEST(before_the_first_exec)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
