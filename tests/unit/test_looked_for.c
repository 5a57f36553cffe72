/* SPDX-License-Identifier: MIT */
/* Programs that did not tell themselves: when what /proc says is taken, and of whom it is asked. */
#define _GNU_SOURCE
#include "check.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/system/numbers.h"
#include "collector/tasks/programs.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

static struct stage stage;
static struct task *task;
static struct exec_generation *generation;
static const char *exec, *cmdline; /* what /proc says; NULL: nothing */
static unsigned asked;
static bool anothers; /* another process has the number now */
static bool gone;     /* nobody has it */

bool __real_numbers_are_anothers(int pidfd, pid_t pid);
bool __wrap_numbers_are_anothers(int pidfd, pid_t pid);
bool __wrap_numbers_are_anothers(int pidfd, pid_t pid)
{
    assert_int_equal(pidfd, task->process->pidfd);
    assert_int_equal(pid, 200);
    assert_true(asked > 0); /* afterwards */
    return anothers;
}

bool __wrap_numbers_process_is_gone(pid_t pid);
bool __wrap_numbers_process_is_gone(pid_t pid)
{
    assert_int_equal(pid, 200);
    return gone;
}

char *__wrap_errands_exec(struct errands *errands, pid_t pid);
char *__wrap_errands_exec(struct errands *errands, pid_t pid)
{
    assert_ptr_equal(errands, &stage.kit.session.errands);
    assert_int_equal(pid, 200);
    asked++;
    return exec ? strdup(exec) : NULL;
}

char *__wrap_errands_cmdline(struct errands *errands, pid_t pid, size_t *ret_size);
char *__wrap_errands_cmdline(struct errands *errands, pid_t pid, size_t *ret_size)
{
    assert_ptr_equal(errands, &stage.kit.session.errands);
    assert_int_equal(pid, 200);
    *ret_size = cmdline ? strlen(cmdline) + 1 : 0;
    return cmdline ? strdup(cmdline) : NULL;
}

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    task = stage_process(&stage, 200, 1, T, 1000);
    generation = &task->generations[0];
    asked = 0;
    anothers = gone = false;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    task->coverage = TASK_BY_EVENTS;
    stage_free(&stage);
    return 0;
}

/* Whether it is taken of a task whose records say TOLD, where /proc says EXEC and LINE. */
static bool is_taken(bool inherited, const char *told, const char *says, const char *line)
{
    exec = says;
    cmdline = line;
    task->coverage = inherited ? TASK_BY_INHERITANCE : TASK_BY_EVENTS;
    program_put(generation->program);
    generation->program = told ? program_new(told, "told", 5) : NULL;
    generation->named = generation->looked = generation->resolved = false;
    const unsigned before = asked;
    tasks_look_for_programs(stage.tasks, task);
    tasks_look_for_programs(stage.tasks, task); /* once is enough */
    assert_int_equal(asked, before + 1);
    assert_false(generation->named); /* the preload object did not speak */
    if (!generation->resolved) {
        assert_string_equal(generation->program ? generation->program->cmdline : "told", "told");
        return false;
    }
    assert_string_equal(generation->program->exec, says);
    assert_string_equal(generation->program->cmdline, line);
    assert_int_equal(generation->program->cmdline_size, strlen(line) + 1);
    assert_ptr_equal(task->process->program, generation->program);
    return true;
}

static void what_proc_says_is_taken(void **state)
{
    (void)state;
    assert_true(is_taken(false, NULL, "/bin/prog", "prog"));
    assert_true(is_taken(false, "/bin/other", "/bin/prog", "prog")); /* its records are read up to here */
    assert_false(is_taken(false, NULL, NULL, "prog"));
    assert_false(is_taken(false, NULL, "/bin/prog", NULL));
}

/* The number was given out again before /proc was asked. */
static void not_of_another_process(void **state)
{
    (void)state;
    anothers = true;
    assert_false(is_taken(false, NULL, "/bin/prog", "prog"));
    assert_false(is_taken(true, "/bin/prog", "/bin/prog", "prog"));
    anothers = false;
    assert_true(is_taken(false, NULL, "/bin/prog", "prog"));
}

/* Two threads would have to wait for each other for nothing. */
static void who_has_ended_is_not_asked(void **state)
{
    (void)state;
    gone = true;
    generation->named = generation->looked = false;
    tasks_look_for_programs(stage.tasks, task);
    assert_int_equal(asked, 0);
    gone = false;
    assert_true(is_taken(false, NULL, "/bin/prog", "prog"));
}

/* Who has ended keeps the number until he is waited for; afterwards it is free, or another's. */
static void whose_number_it_is(void **state)
{
    enum { NOBODY = 1 << 22 }; /* no process has such a number */
    siginfo_t end;
    (void)state;
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(pidfd >= 0);
    assert_false(__real_numbers_are_anothers(pidfd, getpid()));
    assert_int_equal(waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT), 0);
    assert_false(__real_numbers_are_anothers(pidfd, getpid()));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_false(__real_numbers_are_anothers(pidfd, NOBODY));
    assert_true(__real_numbers_are_anothers(pidfd, getpid()));
    assert_true(__real_numbers_are_anothers(pidfd, 1));
    assert_false(__real_numbers_are_anothers(-1, getpid()));
    close(pidfd);
}

/*
 * What an inherited set tells is older than /proc: both have to mean the same, seen from the task's root and from ours.
 */
static void records_of_a_set_are_older(void **state)
{
    (void)state;
    assert_true(is_taken(true, "/bin/prog", "/bin/prog", "prog"));
    assert_true(is_taken(true, "/bin/prog", "/its/root/bin/prog", "prog"));
    assert_false(is_taken(true, "/bin/prog", "/bin/other", "other"));
    assert_false(is_taken(true, "/bin/prog", "/prog", "prog"));
    assert_false(is_taken(true, "/bin/prog", "/bin/prog2", "prog"));
    assert_false(is_taken(true, "", "/bin/prog", "prog"));
    assert_false(is_taken(true, NULL, "/bin/prog", "prog"));
}

/* Who has told itself, and threads, which are what their process is. */
static void who_is_not_asked(void **state)
{
    (void)state;
    exec = cmdline = "x";
    generation->named = true;
    tasks_look_for_programs(stage.tasks, task);
    generation->named = false;
    task->kind = PINJECT_THREAD;
    tasks_look_for_programs(stage.tasks, task);
    assert_int_equal(asked, 0);
    assert_false(generation->looked);
    task->kind = PINJECT_PROCESS;
    tasks_look_for_programs(stage.tasks, task);
    assert_int_equal(asked, 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_proc_says_is_taken),    TEST(not_of_another_process), TEST(whose_number_it_is),
        TEST(records_of_a_set_are_older), TEST(who_is_not_asked),       TEST(who_has_ended_is_not_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
