/* SPDX-License-Identifier: MIT */
/*
 * Tasks that nobody told of, found in /proc; inherited sets that are laid late. Untracked tasks have numbers that
 * nobody has, since their threads are looked for in /proc.
 */
#define _GNU_SOURCE
#include "inherited_kit.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/sources/attach_late.h"
#include "collector/system/procfs.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/untracked.h"

static void announced_children_are_attached_late(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    const uint64_t old = tasks->now_ns - 500000000;
    missed_announced(&tasks->missed, 100, 3999500, 3999500, old, true);
    missed_announced(&tasks->missed, 100, 3999501, 3999501, tasks->now_ns - 400000000, true); /* waits for a CPU */
    missed_announced(&tasks->missed, 100, 3999502, 3999502, tasks->now_ns - 20000000, true);  /* is young */
    missed_announced(&tasks->missed, 100, 3999503, 3999503, old, false);                      /* is not followed */
    missed_announced(&tasks->missed, 100, 100, 3999504, tasks->now_ns - 30000000, true);      /* a thread */
    scheduled_ns = 4999999;
    tasks_attach_untracked(tasks);
    assert_int_equal(opened, 2);
    assert_true(tasks_find(tasks, 3999500) && tasks_find(tasks, 3999504));
    assert_int_equal(tasks_find(tasks, 3999500)->kind, PINJECT_PROCESS);
    assert_int_equal(tasks_find(tasks, 3999500)->process->ppid, 100);
    assert_int_equal(tasks_find(tasks, 3999500)->start_ns, old);
    assert_int_equal(tasks_find(tasks, 3999504)->kind, PINJECT_THREAD);
    scheduled_ns = 5000000; /* it runs, and has not asked */
    tasks_attach_untracked(tasks);
    assert_non_null(tasks_find(tasks, 3999501));
    assert_null(tasks_find(tasks, 3999502));
    assert_null(tasks_find(tasks, 3999503));
}

/* It was there when it was announced: of one that began later attach_late_open() keeps its hands off. */
static void untracked_have_a_time(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    const uint64_t old = tasks->now_ns - 600000000;
    open_status = -ESRCH;
    missed_announced(&tasks->missed, 100, 3999500, 3999500, old, true);
    tasks_attach_untracked(tasks);
    assert_int_equal(opened, 1);
    assert_int_equal(last_wanted.pid, 3999500);
    assert_int_equal(last_wanted.known_ns, old);
    assert_false(last_wanted.of_parent); /* it may have been given to another parent */
}

/* The process has ended, and its number is another's: that one's threads and children are not ours. */
static void tree_of_another(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    children = "3999601 3999602";
    tasks_attach_tree(tasks, getpid(), T + 5); /* nobody knows of it any more */
    assert_int_equal(opened, 0);
    assert_null(tasks->late_trees);
    stage_process(&stage, getpid(), 1, T, 1000);
    number_given_away = getpid();
    children = "3999601 3999602";
    tasks_attach_tree(tasks, getpid(), T + 5);
    assert_int_equal(opened, 0);
    number_given_away = 0;
    children = "3999601 3999602";
    tasks_attach_tree(tasks, getpid(), T + 5);
    assert_int_equal(opened, 2);
}

static void refused_untracked_are_tried_three_times(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    missed_announced(&tasks->missed, 100, 3999500, 3999500, tasks->now_ns - 600000000, true);
    open_status = -EACCES;
    for (unsigned i = 0; i < 5; i++)
        tasks_attach_untracked(tasks);
    assert_int_equal(opened, 3);
    assert_int_equal(missed_find(&tasks->missed, 3999500)->error, -EACCES);
    assert_null(tasks_find(tasks, 3999500));
}

/* One that hangs holds a thread: it does not get another one. */
static void looks_that_hang_are_not_tried_again(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct process *process = tasks_find_process(tasks, 100);
    missed_announced(&tasks->missed, 100, 3999500, 3999500, tasks->now_ns - 600000000, true);
    looks_hang = true;
    for (unsigned i = 0; i < 5; i++)
        tasks_attach_untracked(tasks);
    assert_int_equal(errands_begun, 1);
    assert_int_equal(missed_find(&tasks->missed, 3999500)->error, -EBUSY);
    process->inherit_owed = 3;
    tasks_retry_inherit(tasks, process);
    assert_int_equal(errands_begun, 2);
    assert_int_equal(process->inherit_owed, 0);
    assert_int_equal(tasks->missed.count, 1); /* told */
}

/* The children of each of its threads; those that are known, or told of by an inherited set, are left alone. */
static void tree_of_a_process(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    known_by_set = 3999602;
    stage_process(&stage, getpid(), 1, T, 1000);
    tids_add(&tasks->left, 3999607);
    children = "3999607 3999601 3999602 100 3999603 junk 3999604";
    tasks_attach_tree(tasks, getpid(), T + 5);
    assert_int_equal(opened, 2);
    /* Whoever has its number later is left alone. */
    assert_true(last_wanted.of_parent && last_wanted.ppid == getpid() && last_wanted.known_ns > T + 5);
    assert_true(tasks_find(tasks, 3999601) && tasks_find(tasks, 3999603));
    assert_null(tasks_find(tasks, 3999602));
    assert_null(tasks_find(tasks, 3999604));
    assert_null(tasks_find(tasks, 3999607)); /* it has left */
    assert_int_equal(tasks_find(tasks, 3999601)->start_ns, T + 5);
    assert_int_equal(tasks_find(tasks, 3999601)->parent_tid, getpid());
    assert_null(tasks->late_trees);
    assert_false(tasks->attaching);
    /* While trees are looked at, a further one waits for its turn; at the end none is left. */
    tasks->attaching = true;
    tasks_attach_tree(tasks, 3999605, T + 6);
    tasks_attach_tree(tasks, 3999606, T + 7);
    assert_int_equal(tasks->late_trees->pid, 3999605);
    assert_int_equal(tasks->late_trees_last->pid, 3999606);
    tasks_forget_late_trees(tasks);
    assert_null(tasks->late_trees);
}

/* A sweep has 20 ms for it: what is left is done in the next one. */
static void much_is_done_in_pieces(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    for (pid_t i = 0; i < 4; i++)
        missed_announced(&tasks->missed, 100, 3999500 + i, 3999500 + i, tasks->now_ns - 600000000, true);
    clock_step = 7000000; /* it is looked at before each child, and for the tree of each */
    tasks_attach_untracked(tasks);
    assert_int_equal(opened, 1);
    tasks_attach_untracked(tasks);
    assert_int_equal(opened, 2);
    clock_step = 0;
    tasks_attach_untracked(tasks);
    assert_int_equal(opened, 4);
    /* A tree whose time is over waits at the end of the row, and is looked at from there on. */
    stage_process(&stage, getpid(), 1, T, 1000);
    clock_step = 20000000;
    children = "3999601 3999602";
    tasks_attach_tree(tasks, getpid(), T + 5);
    assert_int_equal(opened, 4);
    assert_int_equal(tasks->late_trees->pid, getpid());
    clock_step = 11000000;
    children = "3999601 3999602";
    tasks_attach_untracked(tasks);
    assert_int_equal(opened, 5);
    assert_int_equal(tasks->late_trees_last->child, 3999601);
    clock_step = 0;
    children = "3999601 3999602";
    tasks_attach_untracked(tasks);
    assert_int_equal(opened, 6);
    assert_null(tasks->late_trees);
}

/* Nor has one with very many children more than its time: the next sweep goes on where that one stopped. */
static void many_children_of_one(void **state)
{
    static const pid_t last[] = {3999602, 3999604, 3999605};
    (void)state;
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, getpid(), 1, T, 1000);
    tasks->attaching = true;
    tasks_attach_tree(tasks, getpid(), T + 5);
    tasks->attaching = false;
    open_status = -EACCES; /* they stay untracked */
    clock_step = 9000000;  /* of 20 ms */
    for (unsigned i = 0; i < 3; i++) {
        children = "3999601 3999602 3999603 3999604 3999605";
        tasks_attach_untracked(tasks);
        assert_int_equal(opened, i < 2 ? 2 * (i + 1) : 5);
        assert_int_equal(last_wanted.pid, last[i]);
        assert_int_equal(tasks->late_trees ? tasks->late_trees->child : 0, i < 2 ? last[i] : 0);
    }
    /* The last one has ended meanwhile: from the beginning. */
    tasks_forget_late_trees(tasks);
    tasks->attaching = true;
    tasks_attach_tree(tasks, getpid(), T + 5);
    tasks->attaching = false;
    tasks->late_trees->child = 3999699;
    children = "3999601 3999602 3999603";
    tasks_attach_untracked(tasks);
    assert_int_equal(last_wanted.pid, 3999602);
    tasks_forget_late_trees(tasks);
}

struct waiter {
    pthread_t thread;
    pid_t tid;
    sem_t begun, end;
};

static void *wait_for_end(void *argument)
{
    struct waiter *waiter = argument;
    waiter->tid = gettid();
    sem_post(&waiter->begun);
    while (sem_wait(&waiter->end) != 0)
        continue;
    return NULL;
}

static void end(struct waiter *waiter)
{
    sem_post(&waiter->end);
    assert_int_equal(pthread_join(waiter->thread, NULL), 0);
}

/* A thread that ends between two sweeps moves up those behind it: none of them is passed over. */
static void threads_that_end_meanwhile(void **state)
{
    enum { THREADS = 3 };
    (void)state;
    struct waiter waiters[THREADS];
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, getpid(), 1, T, 1000);
    for (unsigned i = 0; i < THREADS; i++) {
        assert_true(sem_init(&waiters[i].begun, 0, 0) == 0 && sem_init(&waiters[i].end, 0, 0) == 0);
        assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_for_end, &waiters[i]), 0);
        while (sem_wait(&waiters[i].begun) != 0)
            continue;
    }
    tasks->attaching = true;
    tasks_attach_tree(tasks, getpid(), T + 5);
    tasks->attaching = false;
    clock_step = 11000000; /* one in a sweep of 20 ms */
    tasks_attach_untracked(tasks);
    assert_int_equal(tasks->late_trees->thread, getpid());
    tasks_attach_untracked(tasks);
    assert_int_equal(tasks->late_trees->thread, waiters[0].tid);
    end(&waiters[0]);
    clock_step = 0;
    tasks_attach_untracked(tasks);
    assert_null(tasks->late_trees);
    assert_int_equal(opened, THREADS);
    for (unsigned i = 0; i < THREADS; i++)
        assert_non_null(tasks_find(tasks, waiters[i].tid));
    for (unsigned i = 1; i < THREADS; i++)
        end(&waiters[i]);
}

/*
 * The exec that makes it visible is a matter of milliseconds: it is tried soon, for a while, and no try of the sweeps
 * is used up by that.
 */
static void inherited_that_are_owed_are_tried_soon(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct process *process = tasks_find_process(tasks, 100);
    inherit_status = -EACCES;
    tasks_owe_inherit(tasks, process);
    assert_int_equal(tasks->owed_count, 1);
    unsigned before = errands_begun, owed = process->inherit_owed;
    tasks_retry_inherit_soon(tasks);
    assert_int_equal(errands_begun, before); /* not at once */
    for (unsigned i = 1; tasks->owed_count; i++) {
        assert_true(i < 100);
        tasks->now_ns += 2000000;
        tasks_retry_inherit_soon(tasks);
        tasks_retry_inherit_soon(tasks);
        assert_int_equal(errands_begun, before + i);
    }
    assert_true(errands_begun - before >= 10);
    assert_int_equal(process->inherit_owed, owed);
    assert_int_equal(tasks->missed.count, 0);
    tasks_owe_inherit(tasks, process);
    tasks->now_ns += 2000000;
    inherit_status = 0;
    tasks_retry_inherit_soon(tasks);
    assert_true(process->inherits);
    assert_int_equal(process->inherit_owed, 0);
    assert_int_equal(tasks->owed_count, 0);
    /* One that hangs holds a thread, one that has ended has nothing to be seen, and there is room for a few. */
    tasks_owe_inherit(tasks, process);
    tasks->now_ns += 2000000;
    looks_hang = true;
    tasks_retry_inherit_soon(tasks);
    assert_int_equal(process->inherit_owed, 0);
    assert_int_equal(tasks->owed_count, 0);
    assert_int_equal(tasks->missed.count, 1);
    before = errands_begun;
    process->ended_ns = 1;
    for (unsigned i = 0; i < TASKS_OWED + 1; i++)
        tasks_owe_inherit(tasks, process);
    assert_int_equal(tasks->owed_count, TASKS_OWED);
    tasks->now_ns += 2000000;
    tasks_retry_inherit_soon(tasks);
    assert_int_equal(tasks->owed_count, 0);
    assert_int_equal(errands_begun, before);
    process->ended_ns = 0;
}

static void inherited_that_are_owed(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct process *process = tasks_find_process(tasks, 100);
    process->inherit_owed = 3;
    inherit_status = -EACCES;
    tasks_retry_inherit(tasks, process);
    tasks_retry_inherit(tasks, process);
    assert_int_equal(process->inherit_owed, 1);
    assert_int_equal(tasks->missed.count, 0);
    tasks_retry_inherit(tasks, process);
    assert_int_equal(process->inherit_owed, 0);
    assert_false(process->inherits);
    assert_int_equal(tasks->missed.count, 1);
    assert_string_equal(
        tasks->missed.lines[0].reason,
        "the kernel refused inherited events for this program (Permission denied), so its children and threads are not profiled");
    assert_string_equal(tasks->missed.lines[0].comm, "prog");
    assert_false(laid_by_pidfd);
    process->inherit_owed = 2;
    process->pidfd = dup(2);
    inherit_status = 0;
    tasks_retry_inherit(tasks, process);
    assert_true(laid_by_pidfd);
    assert_int_equal(process->inherit_owed, 0);
    assert_true(process->inherits);
}

/* A program that goes on without a word has an inherited set laid under it, once. */
static void unreported_programs_are_covered(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct task *task = tasks_find(tasks, 100);
    stage_comm(task, 100, 100, "quiet", true, T + 10);
    stage_mmap(task, "/bin/quiet", 0x5000, T + 11);
    tasks_drain(tasks, task);
    struct exec_generation *generation = &task->generations[task->generation_count - 1];
    generation->looked = true;
    generation->looked_ns = 1;
    assert_false(generation->named);
    tasks_cover_unreported(tasks, task);
    assert_int_equal(inherited_laid, 0); /* its clock says 5 us: it has only begun */
    missed_announced(&tasks->missed, 100, 3999700, 3999700, T + 20, true);
    inherit_status = -EMFILE;
    tasks_cover_unreported(tasks, task);
    assert_int_equal(inherited_laid, 1);
    assert_true(task->process->inherit_refused);
    assert_int_equal(tasks->missed.count, 1);
    tasks_cover_unreported(tasks, task);
    assert_int_equal(inherited_laid, 1);
    task->process->inherit_refused = false;
    inherit_status = 0;
    generation->named = true; /* it has spoken */
    tasks_cover_unreported(tasks, task);
    assert_int_equal(inherited_laid, 1);
    generation->named = false;
    task->process->secure = true;
    tasks_cover_unreported(tasks, task);
    assert_int_equal(inherited_laid, 1);
    task->process->secure = false;
    tasks_cover_unreported(tasks, task);
    assert_int_equal(inherited_laid, 2);
    assert_true(task->process->inherits);
    tasks_cover_unreported(tasks, task);
    assert_int_equal(inherited_laid, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(announced_children_are_attached_late),
        TEST(refused_untracked_are_tried_three_times),
        TEST(looks_that_hang_are_not_tried_again),
        TEST(tree_of_a_process),
        TEST(tree_of_another),
        TEST(untracked_have_a_time),
        TEST(much_is_done_in_pieces),
        TEST(many_children_of_one),
        TEST(threads_that_end_meanwhile),
        TEST(inherited_that_are_owed),
        TEST(inherited_that_are_owed_are_tried_soon),
        TEST(unreported_programs_are_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
