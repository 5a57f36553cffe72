/* SPDX-License-Identifier: MIT */
/* Requests for events that are read after what came next in the same process. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/system/pidfd.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull
#define S 1000000000ull

/* Process 300, with events whose clock is 500. PIDFD stays the caller's. */
static struct notification *new_request(struct stage *stage, uint32_t kind, int pidfd, uint64_t time_ns,
                                        uint64_t startup_ns)
{
    struct notification *notification = stage_notification(kind, 300, 300, 100, time_ns);
    stage_events(stage, notification, 500);
    notification->startup_ns = startup_ns;
    notification->pidfd = pidfd_copy(pidfd);
    notification->exec = strdup("/bin/first");
    notification->cmdline = strdup("first");
    notification->cmdline_size = sizeof("first");
    return notification;
}

/* The name of the program that TASK began with. */
static const char *first_program(const struct task *task)
{
    return task->generations[0].program ? task->generations[0].program->exec : "";
}

/*
 * The request of a process' first thread comes after another thread has called exec and has the number of the process:
 * that one lives on, and has its program.
 */
static void check_after_exec(uint32_t kind)
{
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    struct process *parent = stage_process(&stage, 100, 1, T, 1000)->process;
    stage_thread(&stage, 300, 302, T + 5, 7000);
    tasks->now_ns += S / 10;
    tasks_notify(tasks, NULL); /* it waits for its process no longer */
    struct task *thread = tasks_find(tasks, 302);
    struct process *process = thread->process;
    stage_comm(thread, 300, 300, "next", true, T + 10);
    stage_mmap(thread, "/bin/next", 0x4000, T + 11); /* is read with the request */
    tasks_admit(tasks, new_request(&stage, kind, -1, T + 1, 300));
    assert_ptr_equal(tasks_find(tasks, 300), thread);
    assert_ptr_equal(tasks_find_process(tasks, 300), process);
    assert_true(task_is_live(thread) && process->main == thread && process->live == 2);
    struct task *first = process->leader;
    assert_non_null(first);
    assert_true(first != thread && first->tid == 300 && first->startup_ns == 300);
    assert_string_equal(first_program(first), kind == PINJECT_PROCESS ? "/bin/first" : "/bin/prog");
    assert_non_null(process->program);
    assert_string_equal(process->program->exec, "/bin/next");
    assert_int_equal(process->exec_ns, T + 10);
    tasks_task_ended(tasks, first, true);
    assert_ptr_equal(tasks_find(tasks, 300), thread);
    assert_ptr_equal(process->main, thread);
    assert_true(parent->live == 1 && process->live == 1);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 7000 + 300 + 500);
    stage_free(&stage);
}

static void test_process_after_exec(void **state)
{
    (void)state;
    check_after_exec(PINJECT_PROCESS);
}

static void test_fork_after_exec(void **state)
{
    (void)state;
    check_after_exec(PINJECT_FORK);
}

/*
 * Process 300 lost its events in the exec of a setuid program. Of the next program a thread is known before the first
 * one's request, and has called exec: it lives, and goes on under the number of the process.
 */
static void test_next_program_after_exec(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const int pidfd = pidfd_open_of(getpid());
    stage_process(&stage, 100, 1, T, 1000);
    struct process *old = stage_process(&stage, 300, 100, T + 1, 2000)->process;
    old->pidfd = pidfd_copy(pidfd);
    struct task *thread = stage_thread(&stage, 300, 302, T + 12, 7000);
    tasks_task_ended(tasks, tasks_find(tasks, 300), true);
    stage_comm(thread, 300, 300, "next", true, T + 20);
    stage_mmap(thread, "/bin/next", 0x4000, T + 21);
    tasks_admit(tasks, new_request(&stage, PINJECT_PROCESS, pidfd, T + 10, 2300));
    struct process *process = tasks_find_process(tasks, 300);
    assert_non_null(process);
    assert_true(task_is_live(thread) && thread->process == process && process->main == thread);
    assert_ptr_equal(tasks_find(tasks, 300), thread);
    assert_int_equal(process->leader->startup_ns, 300);
    assert_string_equal(first_program(process->leader), "/bin/first");
    assert_string_equal(process->program->exec, "/bin/next");
    assert_int_equal(process->exec_ns, T + 20);
    assert_int_equal(space_count(&process->space), 1);
    tasks_task_ended(tasks, process->leader, true);
    assert_ptr_equal(process->main, thread);
    pidfd_close(pidfd);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 2000 + 7000 + 300 + 500);
    stage_free(&stage);
}

/*
 * The requests of two programs of a process are read in the wrong order. The second one's start-up has what the first
 * one used, which is counted once, in the file of the first one. ENDED: the second one has ended by then.
 */
static void check_reversed(bool ended)
{
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const int pidfd = pidfd_open_of(getpid());
    if (!pidfd_are_same(pidfd, pidfd)) { /* since Linux 6.9 */
        pidfd_close(pidfd);
        stage_free(&stage);
        skip();
    }
    stage_process(&stage, 100, 1, T, 1000);
    stage_notify(&stage, new_request(&stage, PINJECT_PROCESS, pidfd, T + 10, 2800));
    struct task *second = tasks_find(tasks, 300);
    struct process *process = second->process;
    if (ended)
        tasks_task_ended(tasks, second, true);
    tasks_admit(tasks, new_request(&stage, PINJECT_PROCESS, pidfd, T + 5, 2000));
    assert_ptr_equal(tasks_find_process(tasks, 300), process);
    assert_ptr_equal(process->leader, second);
    assert_int_equal(second->startup_ns, 2800 - 2000 - 500);
    assert_int_equal(process->live, ended ? 1 : 2);
    assert_true(ended || (process->main == second && tasks_find(tasks, 300) == second));
    pidfd_close(pidfd);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 2000 + 500 + 300 + 500);
    stage_free(&stage);
}

static void test_reversed(void **state)
{
    (void)state;
    check_reversed(false);
}

static void test_reversed_after_the_end(void **state)
{
    (void)state;
    check_reversed(true);
}

/*
 * Process 300 was attached late: it may have lost its events in the exec of a setuid program. Its first request is read
 * after that. It is of the program before, unless its events were opened after those from outside.
 */
static void check_attached_late(bool before)
{
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const int pidfd = pidfd_open_of(getpid());
    if (!pidfd_are_same(pidfd, pidfd)) { /* since Linux 6.9 */
        pidfd_close(pidfd);
        stage_free(&stage);
        skip();
    }
    stage_process(&stage, 100, 1, T, 1000);
    struct notification *notification = new_request(&stage, PINJECT_PROCESS, pidfd, T + 1, 3000);
    notification->attached_late = true;
    notification->answered_ns = T + 50;
    tasks_admit(tasks, notification);
    struct task *late = tasks_find(tasks, 300);
    notification = new_request(&stage, PINJECT_FORK, pidfd, T + 10, 2000);
    notification->answered_ns = T + (before ? 11 : 60);
    tasks_admit(tasks, notification);
    assert_int_equal(task_is_live(late), before);
    assert_int_equal(tasks_find(tasks, 300) == late, before);
    assert_int_equal(tasks_find_process(tasks, 300)->live, before ? 2 : 1);
    pidfd_close(pidfd);
    stage_close(&stage);
    if (before)
        assert_int_equal(tasks->attributed_ns, 1000 + 3000 + 500);
    stage_free(&stage);
}

static void test_attached_after_the_request(void **state)
{
    (void)state;
    check_attached_late(true);
}

static void test_attached_before_the_request(void **state)
{
    (void)state;
    check_attached_late(false);
}

/* A thread called exec of a setuid program between both requests: what it used is not the first thread's. */
static void test_reversed_around_a_threads_exec(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const int pidfd = pidfd_open_of(getpid());
    if (!pidfd_are_same(pidfd, pidfd)) { /* since Linux 6.9 */
        pidfd_close(pidfd);
        stage_free(&stage);
        skip();
    }
    stage_process(&stage, 100, 1, T, 1000);
    stage_thread(&stage, 300, 302, T + 5, 7000);
    tasks->now_ns += S / 10;
    tasks_notify(tasks, NULL);
    struct task *thread = tasks_find(tasks, 302);
    thread->process->pidfd = pidfd_copy(pidfd);
    stage_comm(thread, 300, 300, "unreadable", true, T + 10);
    stage_exit(thread, T + 10);
    tasks_task_ended(tasks, thread, true);
    stage_notify(&stage, new_request(&stage, PINJECT_PROCESS, pidfd, T + 20, 7900));
    const struct task *second = tasks_find(tasks, 300);
    assert_int_equal(second->startup_ns, 900);
    tasks_admit(tasks, new_request(&stage, PINJECT_PROCESS, pidfd, T + 1, 300));
    assert_int_equal(second->startup_ns, 900);
    pidfd_close(pidfd);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 7000 + 900 + 500 + 300 + 500);
    stage_free(&stage);
}

/* Of a process that has ended. */
static int new_pidfd_of_dead(void)
{
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    const int pidfd = pidfd_open_of(pid);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pidfd;
}

/* The number was another process' before: that one's request changes nothing of this one. */
static void check_other_process(uint32_t kind)
{
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const int pidfd = pidfd_open_of(getpid()), other = new_pidfd_of_dead();
    stage_process(&stage, 100, 1, T, 1000);
    stage_notify(&stage, new_request(&stage, kind, pidfd, T + 10, 2800));
    struct task *younger = tasks_find(tasks, 300);
    struct process *process = younger->process;
    tasks_admit(tasks, new_request(&stage, kind, other, T + 5, 2000));
    assert_true(task_is_live(younger) && process->leader == younger && process->main == younger && process->live == 1);
    assert_ptr_equal(tasks_find(tasks, 300), younger);
    assert_ptr_equal(tasks_find_process(tasks, 300), process);
    assert_int_equal(younger->startup_ns, 2800);
    assert_int_equal(tasks->live_count, 3);
    pidfd_close(pidfd);
    pidfd_close(other);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 2800 + 500 + 2000 + 500);
    stage_free(&stage);
}

static void test_other_process(void **state)
{
    (void)state;
    check_other_process(PINJECT_PROCESS);
}

static void test_other_fork(void **state)
{
    (void)state;
    check_other_process(PINJECT_FORK);
}

/* A thread of another process gave its number up in an exec, which nobody has read of yet: it lives. */
static void test_number_of_an_exec(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, 100, 1, T, 1000);
    struct task *thread = stage_thread(&stage, 100, 300, T + 1, 7000);
    stage_comm(thread, 100, 100, "next", true, T + 5);
    tasks_admit(tasks, new_request(&stage, PINJECT_FORK, -1, T + 10, 300));
    assert_true(task_is_live(thread) && thread->process->main == thread);
    assert_ptr_equal(tasks_find(tasks, 100), thread);
    assert_int_equal(tasks_find(tasks, 300)->pid, 300);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 7000 + 300 + 500);
    stage_free(&stage);
}

/* It is not known when the process lost its events: of its threads, those that have not ended live. */
static void test_attached_beside_a_thread(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const int pidfd = pidfd_open_of(getpid());
    if (!pidfd_are_same(pidfd, pidfd)) { /* since Linux 6.9 */
        pidfd_close(pidfd);
        stage_free(&stage);
        skip();
    }
    stage_process(&stage, 100, 1, T, 1000);
    struct task *first = stage_process(&stage, 300, 100, T + 1, 2000);
    first->process->pidfd = pidfd_copy(pidfd);
    tasks_task_ended(tasks, first, true);
    const struct task *thread = stage_thread(&stage, 300, 302, T + 12, 7000);
    struct notification *notification = new_request(&stage, PINJECT_PROCESS, pidfd, T + 1, 2300);
    notification->attached_late = true;
    notification->answered_ns = T + 30;
    tasks_admit(tasks, notification);
    const struct process *process = tasks_find_process(tasks, 300);
    assert_true(task_is_live(thread) && thread->process == process && process->live == 2);
    assert_int_equal(process->leader->startup_ns, 300);
    pidfd_close(pidfd);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 2000 + 7000 + 300 + 500);
    stage_free(&stage);
}

static bool file_has(const char *path, const char *text)
{
    struct kit_file file;
    assert_true(kit_read(path, &file));
    const bool has = memmem(file.bytes, file.size, text, strlen(text));
    kit_file_free(&file);
    return has;
}

/* What a late request maps is of its program, in its file alone, and counts for its user. */
static void test_mappings_before(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    stage_thread(&stage, 300, 302, T + 5, 7000);
    tasks->now_ns += S / 10;
    tasks_notify(tasks, NULL);
    struct task *thread = tasks_find(tasks, 302);
    struct process *process = thread->process;
    stage_comm(thread, 300, 300, "next", true, T + 10);
    stage_mmap(thread, "/bin/next", 0x7000, T + 11);
    struct notification *notification = new_request(&stage, PINJECT_PROCESS, -1, T + 1, 300);
    notification->maps = strdup("7000-8000 r-xp 00000000 08:01 5 /lib/first.so\n");
    notification->limited = true;
    notification->user = 1234;
    tasks_admit(tasks, notification);
    assert_int_equal(space_count(&process->space), 1);
    assert_int_equal(space_count(&process->former[0].space), 1);
    assert_string_equal(space_at(&process->former[0].space, 0)->path, "/lib/first.so");
    assert_ptr_equal(space_at(&process->former[0].space, 0)->quota, &process->share->quota);
    assert_ptr_not_equal(process->share, &tasks->shares.own);
    assert_string_equal(space_at(&process->space, 0)->path, "/bin/next");
    stage_mmap(process->leader, "/lib/plugin.so", 0x9000, T + 3); /* names neither program */
    tasks_drain(tasks, process->leader);
    assert_string_equal(first_program(process->leader), "/bin/first");
    assert_string_equal(process->program->exec, "/bin/next");
    stage_close(&stage);
    assert_true(file_has("out.300.300", "/lib/first.so") && !file_has("out.300.300", "/bin/next"));
    assert_true(file_has("out.300.302", "/bin/next") && !file_has("out.300.302", "/lib/first.so"));
    stage_free(&stage);
}

/* Where a process goes on, its ended children are still its own; and what it maps from then on is of the next program. */
static void test_children_go_on(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const int pidfd = pidfd_open_of(getpid());
    stage_process(&stage, 100, 1, T, 1000);
    struct task *first = stage_process(&stage, 300, 100, T + 1, 2000);
    first->process->pidfd = pidfd_copy(pidfd);
    stage_mmap(first, "/lib/first.so", 0x4000, T + 2);
    struct process *child = stage_process(&stage, 310, 300, T + 3, 4000)->process;
    struct process *other = stage_process(&stage, 311, 300, T + 4, 6000)->process;
    tasks_task_ended(tasks, tasks_find(tasks, 310), true);
    tasks_task_ended(tasks, tasks_find(tasks, 311), true);
    assert_ptr_equal(child->parent, first->process);
    tasks_admit(tasks, new_request(&stage, PINJECT_PROCESS, pidfd, T + 10, 2300));
    struct process *process = tasks_find_process(tasks, 300);
    assert_ptr_equal(child->parent, process);
    assert_ptr_equal(other->parent, process);
    assert_int_equal(process->exec_ns, T + 10);
    assert_int_equal(space_count(&process->space), 0);
    assert_int_equal(space_count(&process->former[0].space), 2); /* with one of the kit */
    tasks_finish_process(tasks, other);
    assert_ptr_equal(process->ended, child);
    assert_null(child->ended_next);
    pidfd_close(pidfd);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 2000 + 4000 + 6000 + 300 + 500);
    stage_free(&stage);
}

/* A refusal is about threads without events, unless the process got events after it: then its start-up has that time. */
static void test_refused_before(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct process *process = stage_process(&stage, 300, 1, T + 10, 2000)->process;
    for (unsigned late = 0; late < 2; late++) {
        struct notification *notification = stage_notification(PINJECT_PROCESS, 300, 300, 1, T + (late ? 5 : 15));
        notification->result = -EMFILE;
        stage_notify(&stage, notification);
        assert_int_equal(process->thread_refused, !late);
        process->thread_refused = false;
    }
    stage_close(&stage);
    stage_free(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process_after_exec),
        cmocka_unit_test(test_fork_after_exec),
        cmocka_unit_test(test_next_program_after_exec),
        cmocka_unit_test(test_reversed),
        cmocka_unit_test(test_reversed_after_the_end),
        cmocka_unit_test(test_children_go_on),
        cmocka_unit_test(test_refused_before),
        cmocka_unit_test(test_attached_after_the_request),
        cmocka_unit_test(test_attached_before_the_request),
        cmocka_unit_test(test_reversed_around_a_threads_exec),
        cmocka_unit_test(test_other_process),
        cmocka_unit_test(test_other_fork),
        cmocka_unit_test(test_number_of_an_exec),
        cmocka_unit_test(test_attached_beside_a_thread),
        cmocka_unit_test(test_mappings_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
