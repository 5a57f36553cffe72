/* SPDX-License-Identifier: MIT */
/* Command lines of the programs of one task: the last one's is whole, those before it have room for so much. */
#include "check.h"

#include "collector/tasks/finish.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

enum { KEPT = 64 << 10, LEAST = 64, LINE = 30000 };

static struct stage stage;
static struct task *task;

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    task = stage_process(&stage, 100, 1, T, 1000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_close(&stage);
    stage_free(&stage);
    return 0;
}

/* SIZE bytes with the NUL. */
static void tell(uint64_t time_ns, size_t size)
{
    char *line = malloc(size);
    memset(line, 'a', size - 1);
    line[size - 1] = '\0';
    stage_generation(&stage, 100, time_ns, "/bin/long", line);
    free(line);
}

static void execute(uint64_t time_ns)
{
    stage_comm(task, 100, 100, "long", true, time_ns);
    tasks_drain(stage.tasks, task);
}

static size_t size_of(unsigned index)
{
    return task->generations[index].program->cmdline_size;
}

static void expect_mark(unsigned index)
{
    const struct program *program = task->generations[index].program;
    assert_string_equal(program->cmdline + program->cmdline_size - 5, "a...");
    assert_string_equal(program->exec, "/bin/long");
}

static void earlier_ones_are_cut(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 5; i++) {
        execute(T + 1000 * i);
        tell(T + 1000 * i + 1, LINE);
        assert_int_equal(size_of(i), LINE); /* the last one's */
    }
    const size_t first = size_of(0);
    assert_true(size_of(1) == LINE && size_of(2) == LINE);
    assert_int_equal(size_of(3), KEPT - 2 * LINE - first);
    assert_int_equal(size_of(4), LEAST);
    expect_mark(3);
    expect_mark(4);
    assert_int_equal(task->arguments, KEPT + LEAST);
    assert_int_equal(task->arguments_cut, 2);
    assert_ptr_equal(task->process->program, task->generations[5].program);
}

/* Its arguments are told after its next exec was read. */
static void late_ones_are_cut(void **state)
{
    (void)state;
    execute(T + 1000);
    execute(T + 2000);
    tell(T + 1500, 10 * LINE);
    const size_t first = size_of(0);
    assert_int_equal(size_of(1), KEPT - first);
    expect_mark(1);
    tell(T + 1501, 10 * LINE); /* again: what was kept is not counted twice */
    assert_int_equal(size_of(1), KEPT - first);
    assert_int_equal(task->arguments, KEPT);
    assert_int_equal(task->arguments_cut, 1);
    tell(T + 1502, 100);
    assert_int_equal(size_of(1), 100);
    assert_int_equal(task->arguments, first + 100);
    assert_int_equal(task->arguments_cut, 0);
}

static void all_fit(void **state)
{
    (void)state;
    for (unsigned i = 1; i < 20; i++) {
        execute(T + 1000 * i);
        tell(T + 1000 * i + 1, 3000);
    }
    for (unsigned i = 1; i < 20; i++)
        assert_int_equal(size_of(i), 3000);
    assert_int_equal(task->arguments_cut, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(earlier_ones_are_cut), TEST(late_ones_are_cut), TEST(all_fit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
