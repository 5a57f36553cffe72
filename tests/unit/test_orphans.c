/* SPDX-License-Identifier: MIT */
/* Who waited for an ended process, and what is guessed of processes whose wait was not seen. */
#include "check.h"

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/system/pidfd.h"
#include "collector/tasks/account.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T  2000000000ull
#define MS 1000000ull

static struct stage stage;
static struct tasks *tasks;

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    tasks = stage.tasks;
    tasks->now_ns = T;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_free(&stage);
    return 0;
}

static void orphans_are_known_by_times(void **state)
{
    (void)state;
    stage_process(&stage, 100, 1, T, 1000);
    struct task *child = stage_process(&stage, 200, 100, T, 1000);
    struct process *parent = tasks_find_process(tasks, 100);
    tasks->now_ns = T + 5 * MS;
    tasks_task_ended(tasks, parent->leader, true);
    tasks->now_ns = T + 6 * MS;
    tasks_task_ended(tasks, child, true);
    assert_true(tasks_find_process(tasks, 200)->orphan);
    assert_false(parent->orphan);
}

/* The guess of what unseen children used in their exits takes no more than the rusage of the whole tree has left. */
static void guesses_of_the_first_process_are_limited(void **state)
{
    (void)state;
    struct task *root = stage_process(&stage, 100, 1, T, 3 * MS);
    struct process *process = root->process;
    struct task *unseen = stage_process(&stage, 200, 100, T, 20 * MS);
    process->root = true;
    tasks->root = 100;
    tasks->root_process = process;
    tasks->now_ns = T + 5 * MS;
    tasks_task_ended(tasks, unseen, true);
    tasks_task_ended(tasks, root, true);
    process->own_ns = 4 * MS;
    process->rusage_ns = 60 * MS;
    tasks->attributed_ns = 22 * MS; /* of others, whose waits nobody saw, and whose parent is not known */
    account_process(tasks, process);
    assert_int_equal(process->guessed_ns, 20 * MS);
    /* 60 less 3, 20 and 22; without a limit: 1 of its own, and 60 less 4 and 20 */
    assert_int_equal(process->exit_ns, 15 * MS);
    assert_int_equal(tasks->attributed_ns, 60 * MS);
}

/* The first thread may have ended long before its process: a child that ended in between is no orphan. */
static void orphans_are_not_known_by_first_threads(void **state)
{
    (void)state;
    stage_thread(&stage, 200, 201, T + 1, 1000);
    struct task *parent = stage_process(&stage, 200, 1, T, 1000), *thread = tasks_find(tasks, 201);
    struct task *child = stage_process(&stage, 300, 200, T + 2, 1000);
    stage_exit(parent, T + 10);
    tasks_task_ended(tasks, parent, true);
    stage_exit(thread, T + 30);
    stage_exit(child, T + 20);
    tasks_task_ended(tasks, thread, true);
    tasks_task_ended(tasks, child, true);
    assert_false(child->process->orphan);
    child = stage_process(&stage, 301, 200, T + 2, 1000);
    stage_exit(child, T + 40);
    tasks_task_ended(tasks, child, true);
    assert_true(child->process->orphan);
}

/* A ring that was full had no room for the end, which is seen long after: no one can say who ended first. */
static void orphans_are_not_known_by_lost_ends(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        const pid_t pid = 200 + 10 * lost;
        struct task *parent = stage_process(&stage, pid, 1, T, 1000);
        struct task *child = stage_process(&stage, pid + 1, pid, T + 2, 1000);
        stage_exit(parent, T + 10);
        tasks_task_ended(tasks, parent, true);
        stage_sample(child, 0x1000, T + 5);
        child->lost_records = (uint64_t)lost;
        tasks->now_ns = T + 20;
        tasks_task_ended(tasks, child, true);
        assert_int_equal(child->end_ns, T + 20);
        assert_int_equal(child->process->end_ns, lost ? T + 5 : T + 20);
        assert_int_equal(child->process->orphan, !lost);
    }
    struct task *parent = stage_process(&stage, 300, 1, T, 1000), *child = stage_process(&stage, 301, 300, T, 1000);
    parent->lost_records = 1;
    tasks_task_ended(tasks, parent, true);
    stage_exit(child, T + 30);
    tasks_task_ended(tasks, child, true);
    assert_false(child->process->orphan);
}

/* The end of a task without a ring is seen some time after it: its parent may have ended in between, or before. */
static void orphans_are_not_known_by_seen_ends(void **state)
{
    (void)state;
    struct task *parent = stage_process(&stage, 200, 1, T, 1000), *child = stage_process(&stage, 201, 200, T, 1000);
    child->coverage = TASK_BY_COUNTERS;
    stage_exit(parent, T + 10);
    tasks_task_ended(tasks, parent, true);
    tasks->now_ns = T + 20;
    tasks_task_ended(tasks, child, true);
    assert_int_equal(child->process->end_ns, T + 20);
    assert_false(child->process->orphan);
    /* But what had ended when it was seen had ended before what ended later. */
    parent = child;
    child = stage_process(&stage, 202, 201, T, 1000);
    stage_exit(child, T + 30);
    tasks_task_ended(tasks, child, true);
    assert_true(child->process->orphan);
}

/*
 * The only task that is known of a process has ended, and the kernel says that the process lives: it has threads that
 * nobody knows, and children that end later are none's orphans.
 */
static void orphans_are_not_known_where_the_parent_lives(void **state)
{
    (void)state;
    for (int lives = 0; lives < 2; lives++) {
        const pid_t pid = 200 + 10 * lives;
        tasks->now_ns = T + 60 * MS;
        struct task *parent = stage_process(&stage, pid, 1, T, 1000);
        struct task *child = stage_process(&stage, pid + 1, pid, T + 2, 1000);
        parent->process->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
        stage_exit(parent, lives ? T + 10 * MS - 1 : T + 10 * MS); /* 50 ms before: it may be about to die */
        tasks_task_ended(tasks, parent, true);
        assert_int_equal(parent->process->end_lost, lives);
        stage_exit(child, T + 20 * MS);
        tasks_task_ended(tasks, child, true);
        pidfd_close(parent->process->pidfd); /* it is dead by then */
        parent->process->pidfd = -1;
        assert_int_equal(account_is_orphan(tasks, child->process), !lives);
    }
    /* A sweep may see that as well. */
    struct task *parent = stage_process(&stage, 300, 1, T, 1000);
    parent->process->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    stage_exit(parent, tasks->now_ns);
    tasks_task_ended(tasks, parent, true);
    assert_false(parent->process->end_lost);
    tasks->now_ns += 3000 * MS; /* it is held for as long as it has its number, but not for so long */
    tasks_sweep(tasks);
    assert_true(parent->process->held && parent->process->end_lost);
}

/* The first process lost its events, and requested new ones: its new entry is limited as the old one would be. */
static void guesses_of_a_first_process_that_goes_on_are_limited(void **state)
{
    (void)state;
    struct process *process = stage_process(&stage, 100, 1, T, 3 * MS)->process;
    struct task *unseen = stage_process(&stage, 200, 100, T, 20 * MS);
    tasks->root = 100;
    tasks->now_ns = T + 5 * MS;
    tasks_task_ended(tasks, unseen, true);
    tasks_task_ended(tasks, process->leader, true);
    process->own_ns = 4 * MS;
    process->rusage_ns = 60 * MS;
    tasks->attributed_ns = 22 * MS;
    account_process(tasks, process);
    assert_int_equal(process->exit_ns, 15 * MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(orphans_are_known_by_times),
        TEST(guesses_of_the_first_process_are_limited),
        TEST(orphans_are_not_known_by_first_threads),
        TEST(orphans_are_not_known_by_lost_ends),
        TEST(orphans_are_not_known_by_seen_ends),
        TEST(orphans_are_not_known_where_the_parent_lives),
        TEST(guesses_of_a_first_process_that_goes_on_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
