/* SPDX-License-Identifier: MIT */
/* Whose children are those of whom wait() told: a tracer waits for the children of others, and for threads. */
#include "check.h"

#include <errno.h>

#include "collector/sources/notifications.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/reaped.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T  2000000000ull
#define MS 1000000ull

/* Process 101 traces its child 102, and that one's child 103. */
static void new_traced(struct stage *stage, struct task *tasks[4])
{
    stage_new(stage, PINJECT_SESSION_ALL, false);
    for (pid_t i = 0; i < 4; i++)
        tasks[i] = stage_process(stage, 100 + i, i ? 99 + i : 1, T + (uint64_t)i, 100 * MS);
}

/* Ends the process and has its parent's wait told, which has 10 ms more than its events. */
static void ends(struct stage *stage, struct task *task, pid_t waiter, uint64_t cpu_ns, uint64_t time_ns)
{
    pid_t pid = task->pid;
    stage_exit(task, time_ns);
    tasks_task_ended(stage->tasks, task, true);
    stage_reaped(stage, waiter, pid, 0, cpu_ns, time_ns);
}

static void test_tracer(void **state)
{
    (void)state;
    struct stage stage;
    struct task *tasks[4];
    new_traced(&stage, tasks);
    ends(&stage, tasks[3], 101, 110 * MS, T + 100); /* the tracer is told first */
    const struct process *process = tasks_find_process(stage.tasks, 103);
    assert_false(process->waited);
    assert_int_equal(process->rusage_ns, 110 * MS);
    assert_int_equal(tasks_find_process(stage.tasks, 101)->children_ns, 0);
    stage_reaped(&stage, 102, 103, 0, 110 * MS, T + 101);
    assert_true(process->waited);
    stage_reaped(&stage, 101, 103, 0, 110 * MS, T + 102); /* what the tracer says may come later */
    assert_int_equal(tasks_find_process(stage.tasks, 102)->children_ns, 110 * MS);
    assert_int_equal(tasks_find_process(stage.tasks, 101)->children_ns, 0);
    ends(&stage, tasks[2], 101, 220 * MS, T + 200);
    ends(&stage, tasks[1], 100, 330 * MS, T + 300);
    ends(&stage, tasks[0], 1, 440 * MS, T + 400);
    stage_close(&stage);
    assert_int_equal(stage.tasks->exit_ns, 40 * MS);
    assert_int_equal(stage.tasks->attributed_ns, 440 * MS);
    stage_free(&stage);
}

/* The loop slept, or the tracer had no CPU: the parent's end is read before the tracer's report of the child. */
static void test_tracer_after_the_parents_end(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct stage stage;
        struct task *tasks[4];
        new_traced(&stage, tasks);
        stage_exit(tasks[3], T + 100);
        tasks_task_ended(stage.tasks, tasks[3], true);
        stage_exit(tasks[2], T + 200);
        tasks_task_ended(stage.tasks, tasks[2], true);
        if (!late)
            stage_reaped(&stage, 101, 103, 0, 110 * MS, T + 101);
        stage_reaped(&stage, 102, 103, 0, 110 * MS, T + 102);
        if (late)
            stage_reaped(&stage, 101, 103, 0, 110 * MS, T + 201); /* it was written so late */
        stage_reaped(&stage, 101, 102, 0, 220 * MS, T + 202);
        assert_int_equal(tasks_find_process(stage.tasks, 101)->children_ns, 220 * MS);
        ends(&stage, tasks[1], 100, 330 * MS, T + 300);
        ends(&stage, tasks[0], 1, 440 * MS, T + 400);
        stage_close(&stage);
        assert_int_equal(stage.tasks->attributed_ns, 440 * MS);
        stage_free(&stage);
    }
}

/* One of whom nothing more is known may be in its parent's time: that does not pass for the cost of its end. */
static void test_untracked(void **state)
{
    (void)state;
    for (int untracked_children = 0; untracked_children < 2; untracked_children++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        struct task *task = stage_process(&stage, 100, 1, T, 100 * MS);
        if (untracked_children)
            stage_fork(task, 200, 200, T + 5);
        ends(&stage, task, 1, 110 * MS, T + 100);
        stage_close(&stage);
        assert_int_equal(stage.tasks->exit_ns, untracked_children ? 0 : 10 * MS);
        stage_free(&stage);
    }
}

/* The same of one that was refused; if its parent's wait is told, that time is known. */
static void test_refused(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        struct task *task = stage_process(&stage, 100, 1, T, 100 * MS);
        struct notification *notification = stage_notification(PINJECT_FORK, 200, 200, 100, T + 5);
        notification->result = -EMFILE;
        stage_notify(&stage, notification);
        if (told)
            stage_reaped(&stage, 100, 200, 0, 4 * MS, T + 50);
        stage.tasks->now_ns += 100 * MS; /* a wait for an unknown process does not wait for it any longer */
        tasks_notify(stage.tasks, NULL);
        ends(&stage, task, 1, 110 * MS, T + 100);
        stage_close(&stage);
        assert_int_equal(stage.tasks->exit_ns, told ? 6 * MS : 0);
        stage_free(&stage);
    }
}

/* A wait may be told before the notification of the process that waited is there. */
static void test_early_wait(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *child = stage_process(&stage, 200, 100, T + 10, 50 * MS);
    ends(&stage, child, 100, 60 * MS, T + 50);
    for (int i = 0; i < TASKS_EARLY_WAITS - 1; i++) /* of others, whom nobody will claim */
        stage_reaped(&stage, 300, 400 + i, 0, MS, T + 50);
    stage.tasks->now_ns += 100 * MS; /* a wait for an unknown process does not wait for it any longer */
    tasks_notify(stage.tasks, NULL);
    struct task *task = stage_process(&stage, 100, 1, T + 5, 100 * MS);
    assert_int_equal(task->process->children_ns, 60 * MS);
    ends(&stage, task, 1, 170 * MS, T + 100);
    stage_close(&stage);
    assert_int_equal(stage.tasks->exit_ns, 20 * MS);
    stage_free(&stage);
}

/* All that is known of the child is a thread, whose FORK record names the child itself as its parent. */
static void test_early_wait_of_a_thread(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct notification *notification = stage_notification(PINJECT_THREAD, 200, 201, 200, T + 10);
    stage_events(&stage, notification, 50 * MS);
    stage.tasks->now_ns += 100 * MS;
    stage_notify(&stage, notification);
    tasks_notify(stage.tasks, NULL);
    stage.tasks->now_ns += 100 * MS; /* its process does not come */
    tasks_notify(stage.tasks, NULL);
    assert_non_null(tasks_find(stage.tasks, 201));
    ends(&stage, tasks_find(stage.tasks, 201), 100, 60 * MS, T + 50);
    stage.tasks->now_ns += 100 * MS;
    tasks_notify(stage.tasks, NULL);
    struct task *task = stage_process(&stage, 100, 1, T + 5, 100 * MS);
    assert_int_equal(task->process->children_ns, 60 * MS);
    stage_close(&stage);
    stage_free(&stage);
}

/*
 * The request of 100 comes after the end of its child 200, whose wait nobody reports, and the first process, 99, is
 * accounted before them: what 200 used is not a cost of its parent's exit.
 */
static void test_parent_after_its_child(void **state)
{
    (void)state;
    for (int others_child = 0; others_child < 2; others_child++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        struct task *first = stage_process(&stage, 99, 1, T, 100 * MS);
        /* An earlier process had the number 100: its child is not this one's. */
        struct task *child = stage_process(&stage, 200, 100, others_child ? T + 3 : T + 10, 50 * MS);
        ends(&stage, first, 1, 280 * MS, T + 70);
        stage_exit(child, T + 50);
        tasks_task_ended(stage.tasks, child, true);
        struct task *parent = stage_process(&stage, 100, 99, T + 5, 100 * MS);
        assert_ptr_equal(child->process->parent, others_child ? NULL : parent->process);
        ends(&stage, parent, 99, 170 * MS, T + 60);
        stage_close(&stage);
        assert_int_equal(stage.tasks->exit_ns, others_child ? 80 * MS : 30 * MS);
        assert_int_equal(stage.tasks->attributed_ns, others_child ? 330 * MS : 280 * MS);
        stage_free(&stage);
    }
}

/* A child was accounted for, as one whose wait is not seen: a wait that is told after all has the same time again. */
static void test_wait_after_all(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 100 * MS);
    struct task *child = stage_process(&stage, 200, 100, T + 10, 50 * MS);
    stage_exit(child, T + 50);
    tasks_task_ended(stage.tasks, child, true);
    stage.tasks->now_ns = T + 300 * MS;
    tasks_finish_process(stage.tasks, tasks_find_process(stage.tasks, 200));
    assert_null(tasks_find_process(stage.tasks, 200));
    assert_int_equal(task->process->guessed_ns, 50 * MS);
    assert_int_equal(stage.tasks->unwaited_ns, 50 * MS);
    const uint64_t times[] = {T + 300 * MS + 1, T + 60}; /* the first one is about a later child with that number */
    for (int i = 0; i < 2; i++) {
        stage_reaped(&stage, 100, 200, 0, 60 * MS, times[i]);
        stage.tasks->now_ns += 100 * MS; /* a wait for an unknown process does not wait for it any longer */
        tasks_notify(stage.tasks, NULL);
        assert_int_equal(task->process->guessed_ns, i ? 0 : 50 * MS);
    }
    assert_int_equal(task->process->children_ns, 120 * MS);
    assert_int_equal(task->process->unwaited_ns, 0);
    assert_int_equal(stage.tasks->unwaited_ns, 0);
    stage_close(&stage);
    stage_free(&stage);
}

/* Where the parent's own wait is not seen (system()), the child is in its rusage, not in the tracer's. */
static void test_tracer_where_the_parents_wait_is_missed(void **state)
{
    (void)state;
    struct stage stage;
    struct task *tasks[4];
    new_traced(&stage, tasks);
    ends(&stage, tasks[3], 101, 110 * MS, T + 100);
    ends(&stage, tasks[2], 101, 220 * MS, T + 200);
    ends(&stage, tasks[1], 100, 330 * MS, T + 300);
    ends(&stage, tasks[0], 1, 440 * MS, T + 400);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 440 * MS);
    assert_int_equal(stage.tasks->unwaited_ns, 0);
    stage_free(&stage);
}

/* A tracer is told of each thread of a tracee, with the figures of the whole process. */
static void test_threads_of_a_tracee(void **state)
{
    (void)state;
    struct stage stage;
    struct task *tasks[4];
    new_traced(&stage, tasks);
    ends(&stage, tasks[3], 102, 110 * MS, T + 100);
    struct task *thread = stage_thread(&stage, 102, 110, T + 110, 0);
    stage_reaped(&stage, 101, 110, 0, 200 * MS, T + 120); /* before its end is seen */
    assert_null(stage.tasks->waiting);
    tasks_task_ended(stage.tasks, thread, true);
    stage_reaped(&stage, 101, 110, 0, 200 * MS, T + 121);
    assert_null(stage.tasks->waiting);
    assert_int_equal(tasks_find_process(stage.tasks, 101)->children_ns, 0);
    ends(&stage, tasks[2], 101, 220 * MS, T + 200);
    assert_int_equal(tasks_find_process(stage.tasks, 101)->children_ns, 220 * MS);
    stage_close(&stage);
    stage_free(&stage);
}

/* An orphan falls to a subreaper: its wait is a parent's. So is that for a child of clone(CLONE_PARENT). */
static void test_reaper(void **state)
{
    (void)state;
    struct stage stage;
    struct task *tasks[4];
    new_traced(&stage, tasks);
    ends(&stage, tasks[2], 101, 110 * MS, T + 100);
    ends(&stage, tasks[3], 101, 110 * MS, T + 200);
    assert_int_equal(tasks_find_process(stage.tasks, 101)->children_ns, 220 * MS);
    struct notification *sibling = stage_notification(PINJECT_FORK, 105, 105, 100, T + 300);
    sibling->parent_tid = 101;
    stage_events(&stage, sibling, 100 * MS);
    stage_notify(&stage, sibling);
    ends(&stage, tasks_find(stage.tasks, 105), 100, 110 * MS, T + 400);
    assert_true(tasks_find_process(stage.tasks, 105)->waited);
    assert_int_equal(tasks_find_process(stage.tasks, 100)->children_ns, 110 * MS);
    stage_close(&stage);
    stage_free(&stage);
}

/* The same as stage_reaped(), through the channel of another user than the collector's. */
static void user_says(struct stage *stage, pid_t waiter, pid_t child, uint64_t cpu_ns, uint64_t time_ns)
{
    struct notification *notification = stage_notification(PINJECT_REAPED, child, waiter, 1, time_ns);
    notification->limited = true;
    notification->user = 7;
    notification->utime_ns = cpu_ns;
    stage_notify(stage, notification);
}

static void wait_says(struct stage *stage, pid_t waiter, pid_t child, uint64_t cpu_ns, uint64_t time_ns)
{
    stage_reaped(stage, waiter, child, 0, cpu_ns, time_ns);
}

/*
 * Through the collector's own channel nothing is told of the processes of another user, who has one of his own: not
 * that they waited for somebody, and not, by a tracer, that they ended.
 */
static void test_others_speak_for_themselves(void **state)
{
    (void)state;
    struct stage stage;
    struct task *tasks[4];
    new_traced(&stage, tasks);
    for (int i = 2; i < 4; i++) {
        tasks[i]->process->limited = true;
        tasks[i]->process->user = 7;
    }
    const struct notification forged = {
        .kind = PINJECT_REAPED, .pid = 555, .tid = 102, .utime_ns = 500 * MS, .time_ns = T + 50};
    tasks_reaped(stage.tasks, &forged); /* as when it was waited for long enough that 555 is known */
    assert_int_equal(tasks[2]->process->children_ns, 0);
    assert_int_equal(stage.tasks->session->denied, 1);
    wait_says(&stage, 101, 103, 500 * MS, T + 52); /* as a tracer is told */
    assert_int_equal(tasks[3]->process->rusage_ns, 0);
    assert_false(tasks[3]->process->status_known);
    user_says(&stage, 102, 103, 110 * MS, T + 53);
    assert_int_equal(tasks[2]->process->children_ns, 110 * MS);
    assert_int_equal(tasks[3]->process->rusage_ns, 110 * MS);
    stage_close(&stage);
    stage_free(&stage);
}

static void end_one(struct stage *stage, struct task *task, uint64_t time_ns)
{
    stage_exit(task, time_ns);
    tasks_task_ended(stage->tasks, task, true);
}

/*
 * A child that inherits its events sends no request that says whose it is: it is of its parent's user, also when that
 * has ended. Who waited may be known before it is known whose he is.
 */
static void test_an_inherited_child_of_another_user(void **state)
{
    (void)state;
    struct stage stage;
    struct task *tasks[4];
    new_traced(&stage, tasks);
    tasks[3]->coverage = TASK_BY_INHERITANCE;
    struct notification *early = stage_notification(PINJECT_REAPED, 103, 102, 1, T + 50);
    early->limited = true;
    early->user = 7;
    assert_false(tasks_is_ready(stage.tasks, early));
    user_says(&stage, 102, 103, 100 * MS, T + 51); /* the time is over, and he is not known as that user */
    stage.tasks->now_ns += 1000 * MS;
    tasks_notify(stage.tasks, NULL);
    assert_false(tasks[3]->process->waited);
    assert_int_equal(stage.tasks->session->denied, 1);
    tasks[2]->process->limited = true;
    tasks[2]->process->user = 8;
    assert_true(tasks_is_ready(stage.tasks, early));
    user_says(&stage, 102, 103, 100 * MS, T + 52);
    assert_int_equal(stage.tasks->session->denied, 2);
    tasks[2]->process->user = 7;
    tasks[3]->process->secure = true;
    user_says(&stage, 102, 103, 100 * MS, T + 53);
    assert_int_equal(stage.tasks->session->denied, 3);
    tasks[3]->process->secure = false;
    end_one(&stage, tasks[2], T + 60);
    user_says(&stage, 102, 103, 110 * MS, T + 54);
    assert_int_equal(stage.tasks->session->denied, 3);
    assert_true(tasks[3]->process->waited);
    notification_free(early);
    tasks[3]->coverage = TASK_BY_EVENTS;
    stage_close(&stage);
    stage_free(&stage);
}

/* Process 101, whose parent ended before it, is in nobody's rusage: what its children used is told by itself. */
static uint64_t orphans_ns(bool limited, uint64_t told_ns, unsigned times)
{
    void (*says)(struct stage *, pid_t, pid_t, uint64_t, uint64_t) = limited ? user_says : wait_says;
    struct stage stage;
    struct task *tasks[4];
    new_traced(&stage, tasks);
    for (int i = 1; i < 4 && limited; i++) {
        tasks[i]->process->limited = true;
        tasks[i]->process->user = 7;
    }
    end_one(&stage, tasks[0], T + 50);
    stage_reaped(&stage, 1, 100, 0, 101 * MS, T + 50);
    for (unsigned i = 3; i > 1; i--) {
        end_one(&stage, tasks[i], T + 500 - i * 100);
        for (unsigned time = 0; time < times; time++)
            says(&stage, 99 + (pid_t)i, 100 + (pid_t)i, i == 3 ? 110 * MS : told_ns, T + 501 - i * 100);
    }
    end_one(&stage, tasks[1], T + 400);
    stage_close(&stage);
    assert_int_equal(stage.kit.session.denied, 0);
    const uint64_t all = stage.tasks->orphans_ns;
    stage_free(&stage);
    return all;
}

static void test_orphan_of_another_user(void **state)
{
    (void)state;
    assert_int_equal(orphans_ns(false, 220 * MS, 1), 320 * MS);
    assert_int_equal(orphans_ns(true, 220 * MS, 1), 320 * MS); /* ends of its children are plausible, and count */
    assert_in_range(orphans_ns(true, 220 * MS, 9), 300 * MS, 320 * MS); /* told again and again */
    assert_in_range(orphans_ns(true, 1000000 * MS, 1), 300 * MS, 320 * MS);
    assert_int_equal(orphans_ns(true, 0, 1), 100 * MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tracer),
        cmocka_unit_test(test_tracer_after_the_parents_end),
        cmocka_unit_test(test_untracked),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_early_wait),
        cmocka_unit_test(test_early_wait_of_a_thread),
        cmocka_unit_test(test_parent_after_its_child),
        cmocka_unit_test(test_wait_after_all),
        cmocka_unit_test(test_tracer_where_the_parents_wait_is_missed),
        cmocka_unit_test(test_threads_of_a_tracee),
        cmocka_unit_test(test_reaper),
        cmocka_unit_test(test_others_speak_for_themselves),
        cmocka_unit_test(test_an_inherited_child_of_another_user),
        cmocka_unit_test(test_orphan_of_another_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
