/* SPDX-License-Identifier: MIT */
/* Which task a record of an inherited set is of, where numbers and notifications changed meanwhile; and its counts. */
#include "inherited_kit.h"

#include <errno.h>
#include <pinject/format.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/system/pidfd.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_counts.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/task_table.h"

/* Its parent is not known, so the notification waits; but the set has what the task wrote. */
static void a_record_ends_the_wait_of_a_notification(void **state)
{
    (void)state;
    const struct writer writer = {300, 300, SET, 0, false}, other = {300, 301, SET, 0, false};
    struct notification *notification = stage_notification(PINJECT_FORK, 300, 300, 999, T + 10);
    notification->inherited = true;
    notification->inherited_set = SET;
    notification->readings = 1;
    stage_notify(&stage, notification);
    assert_int_equal(stage.tasks->waiting_count, 1);
    put_sample(other, PERF_RECORD_MISC_USER, T + 20);
    take();
    assert_int_equal(stage.tasks->waiting_count, 1);
    put_sample(writer, PERF_RECORD_MISC_USER, T + 30);
    take();
    assert_int_equal(stage.tasks->waiting_count, 0);
    const struct task *task = tasks_find(stage.tasks, 300);
    assert_non_null(task);
    assert_int_equal(task->samples, 1);
    put_exit(writer, T + 40);
    put_reading(writer, 70, 70, 70, 0);
    take();
    assert_null(tasks_find(stage.tasks, 300));
    assert_int_equal(task->values[0].value, 70);
}

/* A thread has called exec before its notification, which waits for its process, was handled. */
static void an_exec_ends_the_wait_of_a_notification(void **state)
{
    (void)state;
    const struct writer writer = {300, 300, SET, 0, false};
    struct notification *notification = stage_notification(PINJECT_THREAD, 300, 301, 100, T + 10);
    notification->inherited = true;
    notification->inherited_set = SET;
    notification->readings = 1;
    stage_notify(&stage, notification);
    assert_int_equal(stage.tasks->waiting_count, 1);
    put_comm(writer, "next\0\0\0", true, T + 20);
    put_sample(writer, PERF_RECORD_MISC_USER, T + 30);
    take();
    assert_int_equal(stage.tasks->waiting_count, 0);
    const struct task *task = tasks_find(stage.tasks, 300);
    assert_non_null(task);
    assert_true(task->tid == 301 && task->samples == 1);
}

/* A thread with events of its own has called exec, which its ring reported first, and has the number of its process. */
static void records_from_before_an_exec(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    put_fork(root, 200, 200, T + 10);
    take();
    struct task *first = tasks_find(tasks, 200), *caller = stage_thread(&stage, 200, 201, T + 20, 5000);
    stage_comm(caller, 200, 200, "next", true, T + 40);
    tasks_drain(tasks, caller);
    assert_ptr_equal(tasks_find(tasks, 200), caller);
    put_sample(child, PERF_RECORD_MISC_USER, T + 25);
    put_exit(child, T + 30);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(child, 100, 100, 100, 0);
    take();
    assert_int_equal(first->samples, 1);
    assert_false(task_is_live(first));
    assert_int_equal(first->values[0].value, 300);
    assert_true(task_is_live(caller) && caller->samples == 0);
    put_sample(child, PERF_RECORD_MISC_USER, T + 50); /* its own events report that */
    take();
    assert_true(first->samples == 1 && caller->samples == 0);
}

/* A refused task is counted as missed once, though it writes to a system-wide set. */
static void records_of_a_refused_task(void **state)
{
    (void)state;
    const struct writer writer = {300, 300, SET, 0, false};
    struct notification *notification = stage_notification(PINJECT_FORK, 300, 300, 100, T + 10);
    put_sample(writer, PERF_RECORD_MISC_USER, T + 5);
    take();
    assert_int_equal(stage.tasks->unannounced.count, 1);
    notification->result = -EMFILE;
    stage_notify(&stage, notification);
    assert_int_equal(stage.tasks->missed.count, 1);
    put_sample(writer, PERF_RECORD_MISC_USER, T + 20);
    take();
    assert_null(tasks_find(stage.tasks, 300));
    assert_int_equal(stage.tasks->unannounced.count, 0);
}

/* A task that lost its own events, which had counted 40: the readings go on from these, or have all of its life. */
static void readings_after_own_events(void **state)
{
    (void)state;
    const size_t size = stage.tasks->config->count * sizeof(struct attach_value);
    stage.kit.config.events[0].account = CONFIG_ACCOUNT_CLOCK;
    stage.kit.config.events[1].account = CONFIG_ACCOUNT_SWITCHES;
    for (int anew = 0; anew < 2; anew++) {
        const struct writer writer = {300 + anew, 300 + anew, SET, 0, false};
        struct writer switches = writer;
        switches.event = 1;
        put_fork(root, writer.pid, writer.tid, T + 10);
        take();
        struct task *task = tasks_find(stage.tasks, writer.tid);
        task->readings = 2;
        task->clocked_anew = anew;
        task->counted_before = malloc(size);
        for (unsigned i = 0; i < stage.tasks->config->count; i++)
            task->counted_before[i] = (struct attach_value){.value = 40, .enabled_ns = 50, .running_ns = 30};
        put_exit(writer, T + 20);
        put_reading(writer, 100, 100, 100, 0);
        put_reading(switches, 7, 100, 100, 0);
        take();
        assert_false(task_is_live(task));
        assert_int_equal(task->values[0].value, anew ? 100 : 140);
        assert_int_equal(task->values[1].value, 47);
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(task->values[i].enabled_ns, anew ? 100 : 150);
            assert_int_equal(task->values[i].running_ns, anew ? 100 : 130);
        }
    }
}

/* The scheduler's clock of a task has also what an earlier entry of the table has counted. */
static void an_estimate_without_an_earlier_entry(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    put_fork(child, 200, 201, T + 20);
    take();
    struct task *first = tasks_find(stage.tasks, 200), *second = tasks_find(stage.tasks, 201);
    first->process->main_clock_ns = 300;
    first->startup_ns = 50;
    scheduled_ns = 1000;
    tasks_inherited_estimate(stage.tasks, first);
    tasks_inherited_estimate(stage.tasks, second);
    assert_int_equal(tasks_clock(stage.tasks, first->values), 650);
    assert_int_equal(tasks_clock(stage.tasks, second->values), 1000);
}

static struct notification *covered_request(pid_t pid, int pidfd, uint64_t time_ns, uint64_t startup_ns)
{
    struct notification *notification = stage_notification(PINJECT_PROCESS, pid, pid, 100, time_ns);
    notification->inherited = true;
    notification->inherited_set = SET;
    notification->readings = 1;
    notification->pidfd = pidfd_copy(pidfd);
    notification->startup_ns = startup_ns;
    return notification;
}

/* It has no events of its own, and what it used is in the start-up of the later program. */
static void a_late_request_of_an_earlier_program(void **state)
{
    (void)state;
    const pid_t pid = getpid();
    const int pidfd = pidfd_open_of(pid);
    stage.tasks->inherited_taken_ns = T + 100; /* no record is on its way */
    stage_notify(&stage, covered_request(pid, pidfd, T + 50, 900));
    const struct task *task = tasks_find(stage.tasks, pid);
    assert_non_null(task);
    stage_notify(&stage, covered_request(pid, pidfd, T + 10, 200));
    assert_int_equal(task->startup_ns, 700);
    assert_int_equal(tasks_find_process(stage.tasks, pid)->live, 2);
    pidfd_close(pidfd);
}

/* A thread of the next program is known before the exec is read, whose COMM record has the number of the process. */
static void an_exec_before_a_younger_thread(void **state)
{
    (void)state;
    const struct writer caller = {200, 201, SET, 0, false};
    put_fork(root, 200, 200, T + 10);
    put_fork(child, 200, 201, T + 20);
    put_sample(caller, PERF_RECORD_MISC_USER, T + 25);
    take();
    const struct task *before = tasks_find(stage.tasks, 201);
    struct notification *notification = stage_notification(PINJECT_THREAD, 200, 202, 100, T + 60);
    notification->inherited = true;
    notification->inherited_set = SET;
    notification->readings = 1;
    stage_notify(&stage, notification);
    assert_non_null(tasks_find(stage.tasks, 202));
    put_exit(child, T + 30);
    put_comm(child, "next\0\0\0", true, T + 40);
    put_sample(child, PERF_RECORD_MISC_USER, T + 50);
    take();
    assert_ptr_equal(tasks_find(stage.tasks, 200), before);
    assert_true(before->samples == 2 && tasks_find(stage.tasks, 202)->samples == 0);
}

/* A task has its own events before there is a system-wide set, whose records announce it first. */
static void own_events_told_late(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    take();
    stage.kit.session.system_wide_set = SET;
    stage.kit.session.system_wide_ns = T + 50;
    struct notification *notification = stage_notification(PINJECT_FORK, 200, 200, 100, T + 10);
    struct attached *events = stage_events(&stage, notification, 70);
    struct task own = {.events = events, .ids = events->ids, .pid = 200, .tid = 200};
    stage_mmap(&own, "/lib/plugin.so", 0x7000, T + 15);
    stage_sample(&own, 0x1000, T + 20);
    stage_fork(&own, 201, 201, T + 30);
    stage_sample(&own, 0x1000, T + 60); /* the set has that, too */
    stage_fork(&own, 202, 202, T + 70);
    stage_notify(&stage, notification);
    const struct task *task = tasks_find(stage.tasks, 200);
    assert_true(task_is_inherited(task) && !task->events);
    assert_int_equal(task->samples, 1);
    assert_int_equal(space_count(&task->process->space), 2); /* its parent's program, and the library */
    assert_non_null(missed_find(&stage.tasks->missed, 201)); /* nothing else announces it */
    assert_null(missed_find(&stage.tasks->missed, 202));
}

/* Its first record holds back those of others until its notification must have come; its later ones do not. */
static void an_unknown_writer_is_waited_for_once(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    const struct writer unknown = {300, 300, SET, 0, false};
    const uint64_t ms = 1000000;
    stage.kit.session.system_wide_set = SET;
    put_sample(unknown, PERF_RECORD_MISC_USER, T);
    put_fork(root, 200, 200, T + 1);
    tasks->now_ns = T + 99 * ms;
    tasks_take_inherited(tasks, false);
    assert_null(tasks_find(tasks, 200));
    tasks->now_ns = T + 100 * ms;
    tasks_take_inherited(tasks, false);
    assert_non_null(tasks_find(tasks, 200));
    put_sample(unknown, PERF_RECORD_MISC_USER, tasks->now_ns);
    put_fork(root, 201, 201, tasks->now_ns + 1);
    tasks->now_ns += 2 * ms;
    tasks_take_inherited(tasks, false);
    assert_non_null(tasks_find(tasks, 201));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_record_ends_the_wait_of_a_notification),
        TEST(an_exec_ends_the_wait_of_a_notification),
        TEST(records_from_before_an_exec),
        TEST(records_of_a_refused_task),
        TEST(readings_after_own_events),
        TEST(an_estimate_without_an_earlier_entry),
        TEST(a_late_request_of_an_earlier_program),
        TEST(an_exec_before_a_younger_thread),
        TEST(own_events_told_late),
        TEST(an_unknown_writer_is_waited_for_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
