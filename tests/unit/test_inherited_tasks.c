/* SPDX-License-Identifier: MIT */
/* Tasks that nobody told of: what inherited events record of them. */
#include "inherited_kit.h"

#include <errno.h>
#include <pinject/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/system/pidfd.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_counts.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_table.h"

static void tasks_come_and_go(void **state)
{
    struct kit_file file;
    (void)state;
    put_fork(root, 200, 200, T + 10);
    put_comm(child, "busybox", true, T + 20);
    put_sample(child, PERF_RECORD_MISC_USER, T + 30);
    put_fork(child, 200, 201, T + 40);
    put_sample(thread, PERF_RECORD_MISC_USER, T + 50);
    put_sample(thread, PERF_RECORD_MISC_USER, T + 60);
    take();
    struct task *first = tasks_find(stage.tasks, 200), *second = tasks_find(stage.tasks, 201);
    assert_true(first && second);
    assert_true(task_is_inherited(first) && first->inherited_set == SET && first->readings == READINGS &&
                task_is_live(first));
    assert_int_equal(first->kind, PINJECT_FORK);
    assert_int_equal(first->process->ppid, 100);
    assert_int_equal(first->start_ns, T + 10);
    assert_string_equal(first->comm, "busybox");
    assert_int_equal(first->samples, 1);
    assert_int_equal(first->generation_count, 2);
    assert_int_equal(second->kind, PINJECT_THREAD);
    assert_ptr_equal(second->process, first->process);
    assert_int_equal(second->parent_tid, 200);
    assert_int_equal(second->samples, 2);
    assert_int_equal(stage.tasks->inherited_generations, 2); /* a start, and an exec; threads are none */
    assert_true(at_once == 3 && !stage.tasks->at_once);
    assert_null(missed_find(&stage.tasks->missed, 200));
    /* Each of three CPUs has a part of the counts; the time it was enabled is the same for all. */
    put_exit(thread, T + 70);
    put_reading(thread, 100, 900, 80, 1);
    put_reading(thread, 200, 950, 90, 2);
    take();
    assert_true(task_is_live(second) && second->state.life == TASK_EXITING);
    assert_int_equal(second->readings_seen, 2);
    struct writer other = thread;
    other.event = 1;
    put_reading(other, 4, 5, 6, 0);
    take();
    assert_null(tasks_find(stage.tasks, 201));
    put_exit(child, T + 80);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(child, 1000, 1000, 1000, 0);
    take();
    assert_null(tasks_find(stage.tasks, 200));
    stage_close(&stage);
    assert_int_equal(stage.tasks->timer_fallbacks, 0);
    assert_true(kit_read("out.200.201", &file));
    const struct pinject_item_task *task = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(task->source, PINJECT_SOURCE_INHERITED);
    assert_int_equal(task->samples, 2);
    assert_int_equal(task->end_ns, T + 70);
    assert_int_equal(task->flags & PINJECT_TASK_ENDED, PINJECT_TASK_ENDED);
    const struct pinject_item_count *counts[3];
    for (unsigned i = 0; i < 3; i++)
        assert_non_null(counts[i] = kit_item(&file, PINJECT_ITEM_COUNT, i));
    assert_true(counts[0]->value == 300 && counts[0]->enabled_ns == 950 && counts[0]->running_ns == 170);
    assert_true(counts[0]->lost == 3);
    assert_true(counts[1]->value == 4 && counts[1]->enabled_ns == 5 && counts[1]->running_ns == 6);
    assert_true(counts[2]->value == 0 && counts[2]->enabled_ns == 0);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 2);
    kit_file_free(&file);
    assert_true(kit_read("out.200.200", &file));
    counts[0] = kit_item(&file, PINJECT_ITEM_COUNT, 0);
    assert_int_equal(counts[0]->value, 3000);
    kit_file_free(&file);
}

/* Who is made while an inherited set is laid has parts of two. */
static void first_announcement_counts(void **state)
{
    struct writer again = root, twin = child;
    (void)state;
    again.inherited_set = twin.inherited_set = SET + 1;
    put_fork(root, 200, 200, T + 10);
    put_fork(again, 200, 200, T + 11);
    put_sample(twin, PERF_RECORD_MISC_USER, T + 20); /* as the other inherited set told already */
    put_sample(child, PERF_RECORD_MISC_USER, T + 20);
    take();
    assert_int_equal(tasks_find(stage.tasks, 200)->inherited_set, SET);
    assert_int_equal(tasks_find(stage.tasks, 200)->samples, 1);
    assert_int_equal(stage.tasks->seen, 2);
    assert_int_equal(tasks_find(stage.tasks, 200)->refusal, 0); /* nobody refused it events */
    /* Later the number is another task's. */
    put_fork(again, 200, 200, T + 10 + 10000000);
    take();
    assert_int_equal(tasks_find(stage.tasks, 200)->inherited_set, SET + 1);
    assert_int_equal(tasks_find(stage.tasks, 200)->samples, 0);
}

/* What a task with events of its own does is told by these. */
static void records_of_others_are_left_out(void **state)
{
    const struct writer own = {100, 100, SET, 0, false};
    (void)state;
    put_sample(own, PERF_RECORD_MISC_USER, T + 20);
    put_sample(root, PERF_RECORD_MISC_USER, T + 20);
    take();
    assert_int_equal(tasks_find(stage.tasks, 100)->samples, 0);
    assert_int_equal(stage.tasks->seen, 1);
}

/* A request was faster than the record of the fork, from a ring that had stopped: its events report the task. */
static void a_request_before_the_announcement(void **state)
{
    (void)state;
    struct task *task = stage_process(&stage, 200, 100, T + 20, 1000);
    put_fork(root, 200, 200, T + 10);
    put_sample(child, PERF_RECORD_MISC_USER, T + 15);
    put_exit(child, T + 80);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(child, 1000, 1000, 1000, 0);
    take();
    assert_ptr_equal(tasks_find(stage.tasks, 200), task);
    assert_true(task_is_live(task) && !task_is_inherited(task));
    assert_int_equal(stage.tasks->seen, 2);
    /* Later the number is another task's. */
    put_fork(root, 200, 200, T + 90);
    take();
    assert_true(task_is_inherited(tasks_find(stage.tasks, 200)));
}

/* When announcements were lost who writes is there, by whatever it wrote first. */
static void who_was_not_announced(void **state)
{
    const struct writer lost = {300, 300, SET, 0, false}, other = {300, 301, SET, 0, false};
    const struct writer short_one = {300, 302, SET, 0, false};
    (void)state;
    put_comm(lost, "absent\0", false, T + 40);
    take();
    assert_null(tasks_find(stage.tasks, 300)); /* it may be found, and its notification be on its way */
    put_exit((struct writer){300, 399, SET, 0, false}, T + 45);
    take();
    assert_int_equal(stage.tasks->unannounced.count, 2);
    lost_of_sets = 1;
    put_comm(lost, "absent\0", false, T + 50);
    put_sample(other, PERF_RECORD_MISC_USER, T + 60);
    put_sample((struct writer){0, 303, SET, 0, false}, PERF_RECORD_MISC_USER, T + 60);
    put_sample((struct writer){300, 0, SET, 0, false}, PERF_RECORD_MISC_USER, T + 60);
    put_exit(short_one, T + 70);
    take();
    assert_int_equal(tasks_find(stage.tasks, 300)->kind, PINJECT_FORK);
    assert_int_equal(tasks_find(stage.tasks, 301)->kind, PINJECT_THREAD);
    assert_int_equal(tasks_find(stage.tasks, 301)->parent_tid, 0); /* nobody knows */
    assert_int_equal(stage.tasks->seen, 4);
    assert_int_equal(stage.tasks->unannounced.count, 1); /* who was made known is expected no more */
    /* Its counts come after its end, and what comes then is late. */
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(short_one, 1, 1, 1, 0);
    take();
    assert_null(tasks_find(stage.tasks, 302));
    put_reading(short_one, 1, 1, 1, 0);
    put_sample(short_one, PERF_RECORD_MISC_USER, T + 80);
    take();
    assert_null(tasks_find(stage.tasks, 302));
    /* So are announcements that were found in a ring that had stopped, of who is there and who has ended. */
    stage.tasks->inherited_taken_ns = T + 100;
    put_fork(lost, 300, 301, T + 55);
    put_fork(lost, 300, 302, T + 65);
    take();
    assert_int_equal(stage.tasks->seen, 4);
    /* A number is given out again. */
    put_fork(lost, 300, 302, T + 1000000000);
    stage.tasks->now_ns = T + 2000000000;
    stage.tasks->inherited_taken_ns = T + 100;
    take();
    assert_non_null(tasks_find(stage.tasks, 302));
    assert_int_equal(stage.tasks->seen, 5);
}

/* A thread that calls exec goes on with the number of its process. */
static void exec_of_a_thread(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    put_fork(child, 200, 201, T + 20);
    take();
    tasks_find(stage.tasks, 201)->gone_ns = T + 35; /* a sweep looked for it before its exec was known */
    put_exit(child, T + 30);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(child, 1, 1, 1, 0);
    put_comm(child, "static\0", true, T + 40);
    take();
    assert_null(tasks_find(stage.tasks, 201));
    struct task *task = tasks_find(stage.tasks, 200);
    assert_non_null(task);
    assert_int_equal(task->start_ns, T + 20);
    assert_int_equal(task->gone_ns, 0);
    assert_string_equal(task->comm, "static");
}

/* So it does while its first thread has ended, and the last counts of that are late. */
static void exec_of_a_thread_before_counts(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    put_fork(child, 200, 201, T + 20);
    put_exit(child, T + 30);
    put_comm(child, "static\0", true, T + 40);
    take();
    assert_null(tasks_find(stage.tasks, 201));
    assert_int_equal(tasks_find(stage.tasks, 200)->start_ns, T + 20);
}

/* A timer's task that went on to where none is. */
static void samples_for_a_timer(void **state)
{
    (void)state;
    struct task *task = tasks_find(stage.tasks, 100);
    put_sample(root, PERF_RECORD_MISC_USER, T + 20);
    take();
    assert_int_equal(task->samples, 0);
    task->refusal = -EACCES;
    task->coverage = TASK_NOT_SAMPLED;
    put_sample(root, PERF_RECORD_MISC_USER, T + 30);
    put_sample(root, PERF_RECORD_MISC_USER, T + 35);
    put_sample(root, PERF_RECORD_MISC_KERNEL, T + 40);
    struct writer counter = root;
    counter.event = 1;
    put_sample(counter, PERF_RECORD_MISC_USER, T + 50);
    put_exit(root, T + 60);
    take();
    assert_int_equal(task->samples, 2);
    assert_true(task_is_live(task));
}

static void estimates_and_ends(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    put_fork(root, 200, 200, T + 10);
    take();
    struct task *task = tasks_find(tasks, 200);
    tasks_inherited_estimate(tasks, task);
    assert_int_equal(tasks_clock(tasks, task->values), 0);
    scheduled_ns = 70;
    tasks_inherited_estimate(tasks, task);
    scheduled_ns = 60;
    tasks_inherited_estimate(tasks, task);
    assert_int_equal(tasks_clock(tasks, task->values), 70);
    assert_int_equal(task->values[tasks->clock].enabled_ns, 70);
    assert_int_equal(task->values[tasks->clock].running_ns, 70);
    put_exit(child, T + 20);
    put_reading(child, 50, 50, 50, 0); /* is what counts */
    take();
    assert_int_equal(tasks_clock(tasks, task->values), 50);
    scheduled_ns = 80;
    task->sampled_ns = 60;
    const unsigned readings = task->readings;
    task->readings = 1;
    tasks_inherited_estimate(tasks, task);
    assert_int_equal(tasks_clock(tasks, task->values), 50);
    /* One CPU's counts are missing: at least what was sampled, once; the scheduler tells of the dead no more. */
    task->readings = 2;
    tasks_inherited_estimate(tasks, task);
    tasks_inherited_estimate(tasks, task);
    assert_int_equal(tasks_clock(tasks, task->values), 60);
    task->readings = readings;
    task->values[tasks->clock].value = 50;
    /* Its last counts are waited for as long as it lives, and 200 ms more. */
    stat_text = "Name:\ta\nState:\tR (running)\n";
    assert_false(tasks_inherited_gone(tasks, task));
    assert_int_equal(task->gone_ns, 0);
    const char *const texts[] = {"Name:\ta\nState:\tZ (zombie)\n", "Name:\ta\nState:\tX (dead)\n", "Name:\ta\n", NULL};
    for (const char *const *text = texts;; text++) {
        uint64_t now = tasks->now_ns;
        stat_text = *text;
        task->gone_ns = 0;
        assert_false(tasks_inherited_gone(tasks, task));
        assert_int_equal(task->gone_ns, now);
        tasks->now_ns += 200000000;
        assert_false(tasks_inherited_gone(tasks, task));
        tasks->now_ns++;
        assert_true(tasks_inherited_gone(tasks, task));
        if (!*text)
            break;
    }
    /* It is told of those that have ended, not of those that run on. */
    put_fork(root, 220, 220, T + 30);
    take();
    task->readings_seen = 0;
    tasks_task_ended(tasks, task, true);
    assert_int_equal(tasks->estimated, 1);
    tasks_task_ended(tasks, tasks_find(tasks, 220), false);
    assert_int_equal(tasks->estimated, 1);
}

/* One whose EXIT record never came is there as long as the kernel has such a task. */
static void ends_that_nobody_recorded(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    put_fork(root, 200, 200, T + 10);
    take();
    struct task *task = tasks_find(tasks, 200);
    task->pid = task->key = getpid();
    assert_false(tasks_inherited_gone(tasks, task));
    assert_int_equal(task->gone_ns, 0);
    task->pid = task->key = 3999777; /* nobody */
    assert_false(tasks_inherited_gone(tasks, task));
    assert_int_equal(task->gone_ns, tasks->now_ns);
    tasks->now_ns += 200000001;
    assert_int_equal(forgotten, 0);
    assert_true(tasks_inherited_gone(tasks, task));
    assert_int_equal(forgotten, 3999777); /* the inherited set has to be told */
    /* Its number is another's: ours. */
    pid_t gone = fork();
    if (gone == 0)
        _exit(0);
    struct process *process = task->process;
    if (process->pidfd >= 0)
        close(process->pidfd);
    process->pidfd = (int)syscall(SYS_pidfd_open, gone, 0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    if (process->pidfd >= 0) {
        task->pid = task->key = getpid();
        assert_true(tasks_inherited_gone(tasks, task));
        assert_int_equal(forgotten, getpid());
    }
    task->pid = task->key = 200;
}

/*
 * The inherited sets learn of whom a task with events of its own makes: a number that was in an inherited set may be
 * that one's.
 */
static void inherited_are_told_of_others(void **state)
{
    (void)state;
    struct task *task = tasks_find(stage.tasks, 100);
    stage_fork(task, 300, 301, T + 10);
    tasks_drain(stage.tasks, task);
    assert_int_equal(made_by, 100);
    assert_int_equal(made_one, 301);
    put_fork(root, 200, 200, T + 20);
    take();
    made_one = 0;
    put_fork(child, 202, 202, T + 30); /* by one in an inherited set */
    take();
    assert_int_equal(made_one, 0);
}

/* Who began while the inherited set was laid is not in all of it: it is attached late, or counted as missed. */
static void who_has_a_part_is_expected(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    part_alone = true;
    put_fork(root, 210, 210, T + 20);
    put_fork(child, 220, 220, T + 30);
    part_alone = false;
    put_exit((struct writer){220, 220, SET, 0, false}, T + 40);
    take();
    assert_true(tasks_find(stage.tasks, 200) && !tasks_find(stage.tasks, 210) && !tasks_find(stage.tasks, 220));
    assert_int_equal(stage.tasks->unannounced.count, 2);
    stage_process(&stage, 210, 100, T + 50, 1000); /* found */
    assert_int_equal(stage.tasks->unannounced.count, 1);
    part_alone = true;
    put_fork(root, 210, 210, T + 20);
    take();
    assert_int_equal(stage.tasks->unannounced.count, 1);
}

/* Its next program is not followed: it goes on by itself. */
static void programs_that_are_not_followed(void **state)
{
    (void)state;
    put_fork(root, 200, 200, T + 10);
    take();
    const struct task *task = tasks_find(stage.tasks, 200);
    stage.kit.settings.follow = PINJECT_SESSION_ALL & ~PINJECT_SESSION_EXEC;
    put_comm(child, "another", true, T + 20);
    put_sample(child, PERF_RECORD_MISC_USER, T + 30);
    take();
    assert_int_equal(stage.tasks->unannounced.count, 0);
    assert_null(tasks_find(stage.tasks, 200));
    assert_true(task_has_left(task) && !task_has_ended(task));
    assert_int_equal(task->samples, 0);
    /* Nor is its child: nobody waits for it. */
    stage.kit.settings.follow = PINJECT_SESSION_ALL & ~PINJECT_SESSION_FORK;
    put_fork(root, 210, 210, T + 40);
    put_exit((struct writer){210, 210, SET, 0, false}, T + 50);
    take();
    assert_null(tasks_find(stage.tasks, 210));
    assert_int_equal(stage.tasks->unannounced.count, 0);
}

/* Who asked for events is known as soon as its notification is taken; what it made meanwhile waits for that. */
static void whom_an_unknown_task_made_waits(void **state)
{
    struct tasks *tasks = stage.tasks;
    const struct writer late = {300, 300, SET, 0, true}, made = {400, 400, SET, 0, false};
    const uint64_t now = tasks->now_ns, wait = 15000000;
    (void)state;
    clock_step = 50000000; /* the loop is kept from its work after it took the notifications */
    put_fork(root, 200, 200, now - 3000000);
    put_fork(late, 400, 400, now - 2000000);
    put_comm(made, "busybox", true, now - 1000000);
    put_fork(root, 500, 500, now - 1000000);
    tasks_take_inherited(tasks, false);
    assert_int_equal(taken_before, now - 1000000);
    assert_non_null(tasks_find(tasks, 200));
    assert_null(tasks_find(tasks, 400));
    assert_null(tasks_find(tasks, 500)); /* all in their order */
    assert_int_equal(tasks->inherited_taken_ns, now - 2000000);
    stage_process(&stage, 300, 100, T, 5000);
    tasks_take_inherited(tasks, false);
    assert_true(tasks_find(tasks, 400) && tasks_find(tasks, 500));
    assert_int_equal(tasks_find(tasks, 400)->process->ppid, 300);
    assert_int_equal(tasks->inherited_taken_ns, now - 1000000);
    /* A thread, of whose process another one is known, does not wait. */
    put_fork((struct writer){300, 301, SET, 0, true}, 300, 302, now - 1000000);
    tasks_take_inherited(tasks, false);
    assert_non_null(tasks_find(tasks, 302));
    /* All that is known of its process has ended, as events do in an exec: the next program requests new ones. */
    tasks_task_ended(tasks, stage_process(&stage, 600, 100, T, 5000), true);
    put_fork((struct writer){600, 600, SET, 0, true}, 601, 601, now - 1000000);
    tasks_take_inherited(tasks, false);
    assert_null(tasks_find(tasks, 601));
    /* Nobody told of it in time, or ever will. */
    put_fork((struct writer){700, 700, SET, 0, false}, 701, 701, now);
    tasks->now_ns = now + wait - 1;
    tasks_take_inherited(tasks, false);
    assert_null(tasks_find(tasks, 701));
    assert_non_null(tasks_find(tasks, 601));
    tasks->now_ns = now + wait;
    tasks_take_inherited(tasks, false);
    assert_non_null(tasks_find(tasks, 701));
    put_fork((struct writer){800, 800, SET, 0, false}, 801, 801, now + wait);
    tasks_take_inherited(tasks, false);
    assert_null(tasks_find(tasks, 801));
    take(); /* at the end nobody comes */
    assert_non_null(tasks_find(tasks, 801));
    put_fork((struct writer){900, 900, SET, 0, false}, 901, 901, now + wait);
    tasks_take_inherited(tasks, false); /* given back with the tasks */
}

/* A covered task that ran a setuid program requests events later: what it did before is known first. */
static void requests_wait_for_sets(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct process *parent = tasks_find_process(tasks, 100);
    struct notification *notification = stage_notification(PINJECT_PROCESS, 200, 200, 100, T + 10);
    stage_events(&stage, notification, 0);
    for (int inherits = 0; inherits < 2; inherits++) { /* what a process without a set makes is in none */
        parent->inherits = inherits;
        tasks->inherited_taken_ns = T + 10;
        assert_int_equal(tasks_is_ready(tasks, notification), !inherits);
        tasks->inherited_taken_ns = T + 11;
        assert_true(tasks_is_ready(tasks, notification));
    }
    parent->inherits = false;
    root_of_set = 100; /* what said so was lost */
    tasks->inherited_taken_ns = T + 10;
    assert_false(tasks_is_ready(tasks, notification));
    root_of_set = 0;
    tasks_admit(tasks, notification);
    /* A parent of which nothing is known may be in one, but for init. */
    for (pid_t parent_pid = 1; parent_pid <= 999; parent_pid += 998) {
        notification = stage_notification(PINJECT_PROCESS, 300 + parent_pid, 300 + parent_pid, parent_pid, T + 20);
        stage_events(&stage, notification, 0);
        tasks->inherited_taken_ns = T + 20;
        assert_int_equal(tasks_is_ready(tasks, notification), parent_pid == 1);
        tasks->inherited_taken_ns = T + 21;
        assert_true(tasks_is_ready(tasks, notification));
        tasks_admit(tasks, notification);
    }
}

static void ends(pid_t pid, uint64_t time_ns)
{
    struct task *task = tasks_find(stage.tasks, pid);
    stage_exit(task, time_ns);
    tasks_task_ended(stage.tasks, task, true);
}

/*
 * A child was made and waited for, while the loop slept: the report waits for the child's FORK record for as long as the
 * records before the report have not been read.
 */
static void reports_wait_for_records(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    struct notification *report = stage_notification(PINJECT_REAPED, 200, 100, 1, T + 30);
    report->utime_ns = 7000;
    tasks->inherited_taken_ns = T + 29;
    stage_notify(&stage, report);
    assert_int_equal(tasks->waiting_count, 1);
    tasks->now_ns += 1000000000;
    tasks_notify(tasks, NULL);
    assert_int_equal(tasks->waiting_count, 1);
    put_fork(root, 200, 200, T + 10);
    put_exit(child, T + 20);
    take();
    tasks_notify(tasks, NULL);
    assert_int_equal(tasks->waiting_count, 0);
    assert_true(tasks_find_process(tasks, 200)->waited);
    /* Of a child that no record names, the report waits no longer than for the records. */
    tasks->inherited_taken_ns = T + 40;
    stage_notify(&stage, stage_notification(PINJECT_REAPED, 300, 100, 1, T + 40));
    assert_int_equal(tasks->waiting_count, 1);
    tasks->now_ns += 1000000000;
    tasks->inherited_taken_ns = T + 41;
    tasks_notify(tasks, NULL);
    assert_int_equal(tasks->waiting_count, 0);
}

static struct notification *new_program(pid_t pid, uint64_t time_ns)
{
    struct notification *notification = stage_notification(PINJECT_GENERATION, pid, pid, 100, time_ns);
    notification->flags = PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_NO_WAIT | PINJECT_REQUEST_ASYNCHRONOUS;
    notification->exec = strdup("/bin/next");
    notification->gone = true;
    return notification;
}

/*
 * A program did not wait for an answer. If its task has ended since, its records have all there is; if an exec had ended
 * its events before, it gets others, as long as it is still that process.
 */
static void programs_that_waited_for_nothing(void **state)
{
    const struct writer self = {getpid(), getpid(), SET, 0, false};
    (void)state;
    struct tasks *tasks = stage.tasks;
    put_fork(root, getpid(), getpid(), T + 10);
    put_comm(self, "busybox", true, T + 20);
    take();
    tasks->inherited_taken_ns = T + 30;
    stage_notify(&stage, new_program(getpid(), T + 30)); /* older records may still come */
    assert_int_equal(tasks->waiting_count, 1);
    put_exit(self, T + 40);
    take();
    tasks->inherited_taken_ns = T + 100;
    tasks_notify(tasks, NULL);
    assert_int_equal(tasks->waiting_count, 0);
    struct task *task = tasks_find(tasks, getpid());
    assert_string_equal(tasks_last_generation(task)->program->exec, "/bin/next");
    assert_int_equal(opened, 0);
    number_given_away = getpid(); /* the message is of another process, which is not of the tree */
    stage_notify(&stage, new_program(getpid(), T + 50));
    assert_int_equal(opened, 0);
    number_given_away = 0;
    open_status = -EEXIST;
    stage_notify(&stage, new_program(getpid(), T + 50));
    assert_int_equal(opened, 1);
    open_status = 0;
    stage_notify(&stage, new_program(getpid(), T + 60));
    assert_int_equal(opened, 2);
    assert_true(last_wanted.pid == getpid() && last_wanted.tid == getpid() && last_wanted.known_ns == T + 60);
    assert_true(tasks_find(tasks, getpid())->events);
    /* No record names it: it is nobody, and is counted. */
    stage_notify(&stage, new_program(300, T + 70));
    tasks->now_ns += 1000000000;
    tasks_notify(tasks, NULL);
    assert_true(opened == 2 && !tasks_find(tasks, 300) && tasks->missed.count == 1 && tasks->waiting_count == 0);
    assert_int_equal(tasks->missed.lines[0].count, 1);
}

/* A program that has ended, with all its counts, before its message is taken: it waits for no more records. */
static void programs_that_have_ended(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    put_fork(root, 200, 200, T + 10);
    put_comm(child, "busybox", true, T + 20);
    put_exit(child, T + 40);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(child, 100, 900, 80, 0);
    take();
    assert_null(tasks_find(tasks, 200));
    tasks->inherited_taken_ns = T + 100;
    stage_notify(&stage, new_program(200, T + 30));
    assert_int_equal(tasks->waiting_count, 0);
    const struct task *task = tasks_find_process(tasks, 200)->leader;
    assert_string_equal(tasks_last_generation(task)->program->exec, "/bin/next");
    assert_true(opened == 0 && tasks->missed.count == 0);
}

/*
 * Process 100 has thread 201, which inherited events cover, when its next program sends a request. The thread ended in
 * that exec: the request waits for what it had counted.
 */
static void requests_wait_for_counts_of_threads(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    const struct writer made = {100, 201, SET, 0, false};
    struct kit_file file;
    put_fork(root, 100, 201, T + 10);
    take();
    assert_true(task_is_inherited(tasks_find(tasks, 201)));
    struct notification *request = stage_notification(PINJECT_PROCESS, 100, 100, 1, T + 30);
    stage_events(&stage, request, 0);
    tasks->inherited_taken_ns = T + 30;
    stage_notify(&stage, request);
    assert_int_equal(tasks->waiting_count, 1);
    put_exit(made, T + 20);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(made, 1000, 1000, 1000, 0);
    take();
    tasks->inherited_taken_ns = T + 31;
    tasks_notify(tasks, NULL);
    assert_int_equal(tasks->waiting_count, 0);
    stage_close(&stage);
    assert_true(kit_read("out.100.201", &file));
    const struct pinject_item_count *count = kit_item(&file, PINJECT_ITEM_COUNT, 0);
    assert_int_equal(count->value, 3000);
    kit_file_free(&file);
}

/* The request of the process that PIDFD holds, for its next program. It used 3200 ns before. */
static struct notification *next_request(pid_t pid, int pidfd, uint64_t time_ns)
{
    struct notification *notification = stage_notification(PINJECT_PROCESS, pid, pid, 150, time_ns);
    stage_events(&stage, notification, 500);
    notification->startup_ns = 3200;
    notification->pidfd = pidfd_copy(pidfd);
    return notification;
}

/* The first sweep after a pause holds what has ended for reports that are on the way; the second one does not. */
static void sweep_twice(void)
{
    tasks_sweep(stage.tasks);
    stage.tasks->now_ns += TASKS_WAITED_HOLD_NS;
    tasks_sweep(stage.tasks);
}

/*
 * A covered process lost its part of the set in the exec of a setuid program. While the loop sleeps, its next program
 * requests events and ends, and so does its parent. The request waits for records of the set; until then neither of the
 * two is accounted for, or the time before the request would be in two files.
 */
static void processes_wait_for_requests(void **state)
{
    (void)state;
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, 150, 100, T + 1, 7000)->process->inherits = true;
    stage_process(&stage, 160, 100, T + 2, 9000);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    const struct writer maker = {150, 150, SET, 0, true}, made = {pid, pid, SET, 0, false};
    put_fork(maker, pid, pid, T + 10);
    put_exit(made, T + 20);
    for (unsigned i = 0; i < READINGS; i++)
        put_reading(made, 1000, 1000, 1000, 0);
    take(); /* the zombie has its number */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    struct process *process = tasks_find_process(tasks, pid);
    assert_true(process && process->held && process->parent == tasks_find_process(tasks, 150));
    if (!pidfd_are_same(process->pidfd, process->pidfd)) /* before Linux 6.9 */
        skip();
    ends(150, T + 40);
    ends(160, T + 41);
    tasks->now_ns += 1000000000;
    tasks->inherited_taken_ns = T + 30;
    stage_notify(&stage, next_request(pid, process->pidfd, T + 30));
    assert_int_equal(tasks->waiting_count, 1);
    sweep_twice();
    assert_null(tasks_find_process(tasks, 160)); /* no request goes on from it */
    assert_non_null(tasks_find_process(tasks, 150));
    assert_ptr_equal(tasks_find_process(tasks, pid), process);
    assert_false(process->accounted);
    tasks->inherited_taken_ns = T + 31;
    tasks_notify(tasks, NULL);
    assert_int_equal(tasks->waiting_count, 0);
    assert_int_equal(tasks_find(tasks, pid)->startup_ns, 200);
    ends(pid, T + 35);
    tasks->now_ns += 1000000000;
    sweep_twice(); /* nothing waits any more */
    assert_null(tasks_find_process(tasks, pid));
    assert_null(tasks_find_process(tasks, 150));
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 5000 + 7000 + 9000 + 3000 + 200 + 500);
}

/*
 * The loop reads the records of a covered process when that is gone, so it has no pidfd. If its hook announced a setuid
 * program, or its events ended in an exec, the request of the program after that goes on from it, unless the request is
 * older than its end.
 */
static void requests_go_on_without_a_pidfd(void **state)
{
    static const struct {
        bool secure, goes_on;
        uint64_t exec_ns, end_ns, time_ns; /* exec_ns 0: it called none */
    } cases[] = {{false, false, 0, T + 20, T + 30},      {true, true, 0, T + 20, T + 20},
                 {true, false, 0, T + 20, T + 19},       {false, true, T + 20, T + 21, T + 30},
                 {false, false, T + 20, T + 21, T + 20}, {false, false, T + 20, T + 10000020, T + 10000030}};
    struct tasks *tasks = stage.tasks;
    (void)state;
    ends(100, T + 5);
    tasks->now_ns += 2000000000;
    sweep_twice(); /* 100 does not count below */
    for (int i = 0; i < 6; i++) {
        const pid_t pid = 3999777 + i; /* nobody's */
        const struct writer made = {pid, pid, SET, 0, false};
        const uint64_t counted = tasks->attributed_ns;
        put_fork(root, pid, pid, T + 10);
        if (cases[i].exec_ns)
            put_comm(made, "mount\0\0", true, cases[i].exec_ns);
        put_exit(made, cases[i].end_ns);
        for (unsigned j = 0; j < READINGS; j++)
            put_reading(made, 1000, 1000, 1000, 0);
        take();
        struct process *process = tasks_find_process(tasks, pid);
        assert_true(process->pidfd < 0 && process->held && process->leader);
        process->secure = cases[i].secure;
        stage_notify(&stage, next_request(pid, -1, cases[i].time_ns));
        assert_int_equal(tasks_find(tasks, pid)->startup_ns, cases[i].goes_on ? 200 : 3200);
        ends(pid, T + 20000000);
        tasks->now_ns += 2000000000;
        sweep_twice();
        assert_null(tasks_find_process(tasks, pid));
        assert_int_equal(tasks->attributed_ns - counted, 3000 + (cases[i].goes_on ? 200 : 3200) + 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tasks_come_and_go),
        TEST(first_announcement_counts),
        TEST(records_of_others_are_left_out),
        TEST(a_request_before_the_announcement),
        TEST(who_was_not_announced),
        TEST(exec_of_a_thread),
        TEST(exec_of_a_thread_before_counts),
        TEST(samples_for_a_timer),
        TEST(estimates_and_ends),
        TEST(ends_that_nobody_recorded),
        TEST(inherited_are_told_of_others),
        TEST(who_has_a_part_is_expected),
        TEST(programs_that_are_not_followed),
        TEST(whom_an_unknown_task_made_waits),
        TEST(requests_wait_for_sets),
        TEST(reports_wait_for_records),
        TEST(programs_that_waited_for_nothing),
        TEST(programs_that_have_ended),
        TEST(requests_wait_for_counts_of_threads),
        TEST(processes_wait_for_requests),
        TEST(requests_go_on_without_a_pidfd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
