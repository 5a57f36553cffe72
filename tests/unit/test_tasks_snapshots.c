/* SPDX-License-Identifier: MIT */
/* What the counters said before an exec, told by the process itself: which exec generation it is of. */
#include "check.h"

#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

/* What the counters said at the INDEX-th exec generation's end; 0: nothing is known. */
static uint64_t at_end(const struct task *task, unsigned index)
{
    return task->generations[index].at_end ? task->generations[index].at_end[0].value : 0;
}

/* More snapshots than there is room for: execs that the ring tells of take theirs before any is given up. */
static void test_snapshots_wait_for_execs(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    for (unsigned i = 0; i < TASKS_SNAPSHOTS; i++)
        stage_snapshot(&stage, 100, T + 10 * (i + 1), 1000 * (i + 1));
    stage_comm(task, 100, 100, "a", true, T + 15);
    stage_comm(task, 100, 100, "b", true, T + 35);
    assert_int_equal(task->snapshot_count, TASKS_SNAPSHOTS);
    assert_int_equal(task->generation_count, 1);
    stage_snapshot(&stage, 100, T + 50, 5000);
    assert_int_equal(task->generation_count, 3);
    assert_int_equal(at_end(task, 0), 1000);
    assert_int_equal(at_end(task, 1), 3000);
    assert_int_equal(task->snapshot_count, TASKS_SNAPSHOTS - 3 + 1);
    assert_int_equal(task->snapshots[0].time_ns, T + 40);
    assert_int_equal(task->snapshots[1].time_ns, T + 50);
    /* Nothing takes them: the oldest go. */
    for (unsigned i = 0; i < TASKS_SNAPSHOTS; i++)
        stage_snapshot(&stage, 100, T + 60 + i, 6000 + i);
    assert_int_equal(task->snapshot_count, TASKS_SNAPSHOTS);
    for (unsigned i = 0; i < TASKS_SNAPSHOTS; i++) {
        assert_int_equal(task->snapshots[i].time_ns, T + 60 + i);
        assert_int_equal(task->snapshots[i].values[0].value, 6000 + i);
    }
    stage_close(&stage);
    stage_free(&stage);
}

/* The way with it ends at an exec that is read to make room. */
static void test_last_snapshot_of_one_not_followed(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_PTHREAD, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    for (unsigned i = 0; i < TASKS_SNAPSHOTS; i++)
        stage_snapshot(&stage, 100, T + 10 * (i + 1), 1000 * (i + 1));
    stage_comm(task, 100, 100, "a", true, T + 25);
    stage_snapshot(&stage, 100, T + 50, 5000);
    assert_null(tasks_find(stage.tasks, 100));
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 2000);
    stage_free(&stage);
}

/* The exec record was read before its snapshot came: it is of the exec generation that this one followed. */
static void test_late_snapshot(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 9000);
    stage_comm(task, 100, 100, "a", true, T + 20);
    tasks_drain(stage.tasks, task);
    stage_snapshot(&stage, 100, T - 1, 1000); /* from before all that is known */
    assert_int_equal(at_end(task, 0), 0);
    stage_snapshot(&stage, 100, T + 19, 2000);
    assert_int_equal(at_end(task, 0), 2000);
    stage_snapshot(&stage, 100, T + 18, 3000); /* it is known already */
    assert_int_equal(at_end(task, 0), 2000);
    stage_comm(task, 100, 100, "b", true, T + 30);
    tasks_drain(stage.tasks, task);
    stage_snapshot(&stage, 100, T + 18, 4000);
    assert_int_equal(at_end(task, 1), 0);
    assert_int_equal(task->snapshot_count, 0);
    stage_snapshot(&stage, 100, T + 20, 5000);
    assert_int_equal(at_end(task, 1), 5000);
    /* At the time of the last exec, and later: of the next one. */
    stage_snapshot(&stage, 100, T + 30, 6000);
    assert_int_equal(task->snapshot_count, 1);
    stage_comm(task, 100, 100, "c", true, T + 30);
    tasks_drain(stage.tasks, task);
    assert_int_equal(at_end(task, 2), 6000);
    stage_close(&stage);
    stage_free(&stage);
}

/* Two threads call exec one after the other, and the ring of the first one is read last. */
static void test_execs_of_two_threads(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *leader = stage_process(&stage, 100, 1, T, 1000);
    stage_comm(leader, 100, 100, "a", true, T + 3);
    tasks_drain(stage.tasks, leader);
    struct task *first = stage_thread(&stage, 100, 105, T + 5, 1000);
    struct task *last = stage_thread(&stage, 100, 106, T + 12, 1000);
    stage_comm(last, 100, 100, "c", true, T + 20);
    stage_comm(first, 100, 100, "b", true, T + 10);
    tasks_drain(stage.tasks, last);
    tasks_drain(stage.tasks, first);
    assert_int_equal(first->key, 100);
    assert_ptr_equal(leader->process->main, last);
    assert_ptr_equal(tasks_find(stage.tasks, 100), last);
    /* What the first thread sent comes after all that, and after its end. */
    stage_snapshot(&stage, 100, T + 2, 2000);
    assert_int_equal(at_end(leader, 0), 2000);
    stage_snapshot(&stage, 100, T + 25, 3000);
    assert_int_equal(last->snapshot_count, 1);
    tasks_task_ended(stage.tasks, leader, true);
    stage_snapshot(&stage, 100, T + 4, 4000);
    assert_int_equal(leader->snapshot_count, 1);
    stage_close(&stage);
    stage_free(&stage);
}

/*
 * A thread calls exec, and another thread does so later: what the first one told before each exec is its own, also if
 * it waited for the thread's request, and the rings were read to both execs meanwhile.
 */
static void test_snapshots_of_two_threads(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *leader = stage_process(&stage, 100, 1, T, 1000);
    struct task *first = stage_thread(&stage, 100, 105, T + 5, 1000);
    stage_comm(first, 100, 100, "b", true, T + 10);
    tasks_drain(stage.tasks, first);
    struct task *last = stage_thread(&stage, 100, 106, T + 12, 1000);
    stage_comm(last, 100, 100, "c", true, T + 20);
    tasks_drain(stage.tasks, last);
    assert_ptr_equal(leader->process->main, last);
    stage_snapshot_of(&stage, 100, 105, T + 9, 2000);
    assert_int_equal(at_end(first, 0), 2000);
    stage_snapshot(&stage, 100, T + 15, 3000); /* of an exec that failed */
    assert_int_equal(first->snapshot_count, 1);
    stage_snapshot(&stage, 100, T + 4, 4000);
    assert_int_equal(leader->snapshot_count, 1);
    stage_snapshot_of(&stage, 100, 106, T + 19, 5000);
    assert_int_equal(at_end(last, 0), 5000);
    stage_close(&stage);
    stage_free(&stage);
}

/* The number that a thread had before its exec is another thread's by then. */
static void test_snapshots_of_one_number(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage_process(&stage, 100, 1, T, 1000);
    struct task *first = stage_thread(&stage, 100, 105, T + 5, 1000);
    stage_comm(first, 100, 100, "b", true, T + 10);
    tasks_drain(stage.tasks, first);
    struct task *last = stage_thread(&stage, 100, 105, T + 12, 1000);
    stage_comm(last, 100, 100, "c", true, T + 20);
    tasks_drain(stage.tasks, last);
    stage_snapshot_of(&stage, 100, 105, T + 9, 2000);
    stage_snapshot_of(&stage, 100, 105, T + 19, 3000);
    assert_int_equal(at_end(first, 0), 2000);
    assert_int_equal(at_end(last, 0), 3000);
    stage_close(&stage);
    stage_free(&stage);
}

/* It counted for events that the process had before a setuid program. */
static void test_snapshot_before_its_events(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct notification *notification = stage_notification(PINJECT_PROCESS, 100, 100, 1, T);
    stage_events(&stage, notification, 9000);
    notification->attached_late = true;
    notification->answered_ns = T + 30;
    tasks_admit(stage.tasks, notification);
    tasks_forget_late_trees(stage.tasks);
    struct task *task = tasks_find(stage.tasks, 100);
    stage_snapshot(&stage, 100, T + 29, 4000);
    assert_int_equal(task->snapshot_count, 0);
    stage_snapshot(&stage, 100, T + 30, 5000);
    assert_int_equal(task->snapshot_count, 1);
    stage_close(&stage);
    stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots_wait_for_execs),
        cmocka_unit_test(test_last_snapshot_of_one_not_followed),
        cmocka_unit_test(test_late_snapshot),
        cmocka_unit_test(test_execs_of_two_threads),
        cmocka_unit_test(test_snapshots_of_two_threads),
        cmocka_unit_test(test_snapshots_of_one_number),
        cmocka_unit_test(test_snapshot_before_its_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
