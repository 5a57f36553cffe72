/* SPDX-License-Identifier: MIT */
/* What one target can make expensive: each has a bound, in time and in memory. */
#include "check.h"

#include <time.h>

#include "collector/tasks/account.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The times of requests are the targets' words: old and new in turn, each old one a bit younger than the last. */
static void test_times_in_turn(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    struct stage stage;
    struct notification *first = NULL, **end = &first;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage_process(&stage, 100, 1, T, 1000);
    for (unsigned i = 0; i < COUNT; i++) {
        *end = stage_notification(PINJECT_REAPED, 100, 100, 1, i % 2 ? 2 * T : T + i);
        end = &(*end)->next;
    }
    double start = cpu_seconds();
    stage_notify(&stage, first);
    assert_true(cpu_seconds() - start < 5); /* 0.05; where each walked over the others, minutes */
    assert_int_equal(stage.tasks->notifications, COUNT + 1);
    stage_close(&stage);
    stage_free(&stage);
}

/* What refers to nobody: no more of it waits than there is room for, the rest is taken as it comes, and counted. */
static void test_waiting_is_bounded(void **state)
{
    (void)state;
    enum { COUNT = 100000, ROUNDS = 20 };
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    double start = cpu_seconds();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct notification *first = NULL, **end = &first;
        for (unsigned i = 0; i < COUNT / ROUNDS; i++) {
            *end = stage_notification(PINJECT_REAPED, 100, 100, 1, i % 2 ? 2 * T : T + i);
            end = &(*end)->next;
        }
        stage_notify(&stage, first);
        assert_in_range(stage.tasks->waiting_count, 1, 4096);
    }
    assert_true(cpu_seconds() - start < 5);
    assert_int_equal(stage.tasks->hurried, COUNT - stage.tasks->waiting_count);
    stage.tasks->now_ns += 1000000000;
    tasks_notify(stage.tasks, NULL);
    assert_int_equal(stage.tasks->waiting_count, 0);
    assert_int_equal(stage.tasks->waiting_bytes, 0);
    assert_null(stage.tasks->waiting);
    stage_close(&stage);
    stage_free(&stage);
}

/* Those that wait hold texts, of megabytes where a target wants it. */
static void test_waiting_texts_are_bounded(void **state)
{
    (void)state;
    enum { TEXT = 1 << 20, COUNT = 100 };
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    for (unsigned i = 0; i < COUNT; i++) {
        struct notification *notification = stage_notification(PINJECT_GENERATION, 100, 100, 1, T + i);
        notification->cmdline = calloc(1, TEXT);
        notification->cmdline_size = TEXT;
        stage_notify(&stage, notification);
    }
    assert_int_equal(stage.tasks->waiting_count, NOTIFICATIONS_BYTES / TEXT);
    assert_int_equal(stage.tasks->hurried, COUNT - NOTIFICATIONS_BYTES / TEXT);
    stage_close(&stage);
    assert_int_equal(stage.tasks->waiting_count, 0);
    stage_free(&stage);
}

/* Each the child of the one before, all ended and not waited for: the first is accounted for, or the last. */
static void test_chain_of_processes(void **state)
{
    (void)state;
    enum { COUNT = 200000, FIRST = 1000 };
    for (unsigned last = 0; last < 2; last++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        for (pid_t pid = FIRST; pid < FIRST + COUNT; pid++) {
            struct process *process = tasks_add_process(stage.tasks, pid, pid == FIRST ? 1 : pid - 1, T);
            assert_non_null(process);
            process->clock_ns = 10;
            tasks_hold_process(stage.tasks, process);
        }
        double start = cpu_seconds();
        account_process(stage.tasks, tasks_find_process(stage.tasks, last ? FIRST + COUNT - 1 : FIRST));
        assert_int_equal(stage.tasks->attributed_ns, last ? 10 : 10ull * COUNT);
        if (last) {
            account_process(stage.tasks, tasks_find_process(stage.tasks, FIRST));
            assert_int_equal(stage.tasks->attributed_ns, 10ull * COUNT);
        }
        stage_close(&stage);
        assert_true(cpu_seconds() - start < 10);
        assert_null(stage.tasks->held);
        stage_free(&stage);
    }
}

static struct process *add(struct stage *stage, pid_t pid, pid_t ppid, uint64_t clock_ns)
{
    struct process *process = tasks_add_process(stage->tasks, pid, ppid, T);
    assert_non_null(process);
    process->clock_ns = clock_ns;
    tasks_hold_process(stage->tasks, process);
    return process;
}

/* What its descendants had is known before its own end is: else their time would pass for what its end cost. */
static void test_children_before_parents(void **state)
{
    (void)state;
    const uint64_t ms = 1000000;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct process *parent = add(&stage, 100, 1, 100 * ms);
    add(&stage, 200, 100, 20 * ms);
    add(&stage, 300, 200, 30 * ms);
    add(&stage, 400, 300, 40 * ms);
    add(&stage, 201, 100, 10 * ms);
    struct process *alive = add(&stage, 202, 100, 50 * ms); /* the first that is met: a thread of it came late */
    alive->live = 1;
    process_set_waited(parent, 0, 205 * ms); /* 5 more than it and they have: nobody saw their waits */
    account_process(stage.tasks, parent);
    assert_false(alive->accounted);
    for (pid_t pid = 200; pid <= 400; pid += 100)
        assert_true(tasks_find_process(stage.tasks, pid)->accounted);
    assert_true(tasks_find_process(stage.tasks, 201)->accounted);
    assert_int_equal(parent->guessed_ns, 100 * ms);
    assert_true(parent->exit_known);
    assert_int_equal(parent->exit_ns, 5 * ms);
    assert_int_equal(stage.tasks->attributed_ns, 205 * ms);
    account_process(stage.tasks, parent); /* once */
    assert_int_equal(stage.tasks->attributed_ns, 205 * ms);
    alive->live = 0;
    account_process(stage.tasks, alive);
    assert_int_equal(stage.tasks->attributed_ns, 255 * ms);
    stage_close(&stage);
    stage_free(&stage);
}

/* Parents that claim each other as theirs. */
static void test_parents_in_a_ring(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    for (unsigned turn = 0; turn < 2; turn++)
        for (pid_t pid = 10; pid < 13; pid++) {
            if (!turn)
                tasks_add_process(stage.tasks, pid, pid == 12 ? 10 : pid + 1, T);
            else
                tasks_hold_process(stage.tasks, tasks_find_process(stage.tasks, pid));
        }
    account_process(stage.tasks, tasks_find_process(stage.tasks, 11));
    for (pid_t pid = 10; pid < 13; pid++)
        assert_true(tasks_find_process(stage.tasks, pid)->accounted);
    stage_close(&stage);
    stage_free(&stage);
}

static void next_round(struct stage *stage)
{
    stage->tasks->round++;
    tasks_drain_rest(stage->tasks);
}

/* A process whose records take longer than its share is read on in the next round, its threads in turn. */
static void test_share_of_a_round(void **state)
{
    (void)state;
    enum { RECORDS = 100 };
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *task = stage_process(&stage, 100, 1, T, 1000), *other = stage_process(&stage, 200, 1, T, 1000);
    struct task *thread = stage_thread(&stage, 100, 101, T, 1000), *all[] = {task, thread, other};
    stage.tasks->share_ns = 1;
    for (unsigned i = 0; i < 3 * RECORDS; i++)
        stage_sample(all[i % 3], 0x1234, T + 100 + i);
    next_round(&stage);
    for (unsigned i = 0; i < 6; i++)
        tasks_drain_some(stage.tasks, all[i % 3]);
    uint64_t part = task->samples;
    assert_in_range(part, 1, RECORDS / 2);
    assert_int_equal(thread->samples, 0);
    assert_int_equal(other->samples, part); /* others have theirs */
    next_round(&stage);                     /* the same one's turn: it was there first */
    assert_int_equal(task->samples, 2 * part);
    assert_int_equal(thread->samples, 0);
    next_round(&stage);
    assert_true(thread->samples > 0);
    for (unsigned i = 0; i < 3 * RECORDS && stage.tasks->unread; i++)
        next_round(&stage);
    assert_null(stage.tasks->unread);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(all[i]->samples, RECORDS);
    /* Whoever ends leaves the list, and nothing in his ring. */
    for (unsigned i = 0; i < 3 * RECORDS; i++)
        stage_sample(all[i % 3], 0x1234, T + 1000 + i);
    next_round(&stage);
    for (unsigned i = 0; i < 3; i++)
        tasks_drain_some(stage.tasks, all[i]);
    tasks_task_ended(stage.tasks, thread, true);
    next_round(&stage);
    stage_close(&stage);
    assert_null(stage.tasks->unread);
    assert_int_equal(stage.tasks->samples, 6 * RECORDS);
    stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_in_turn),
        cmocka_unit_test(test_waiting_is_bounded),
        cmocka_unit_test(test_waiting_texts_are_bounded),
        cmocka_unit_test(test_chain_of_processes),
        cmocka_unit_test(test_children_before_parents),
        cmocka_unit_test(test_parents_in_a_ring),
        cmocka_unit_test(test_share_of_a_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
