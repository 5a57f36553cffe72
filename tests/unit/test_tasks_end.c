/* SPDX-License-Identifier: MIT */
/* How tasks begin, and what is left of them: nothing. */
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/sources/deferred_munmap.h"
#include "collector/system/monotonic.h"
#include "collector/system/pidfd.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks_init.h"
#include "test_tasks_kit.h"

#define T 2000000000ull
#define S 1000000000ull

/* A new set of tasks belongs to its session; what its own user's preload objects dropped explains who never came. */
static void test_begun(void **state)
{
    (void)state;
    struct stage stage;
    const uint32_t dropped = 7;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    assert_null(stage.tasks->missed.dropped);
    tasks_release(stage.tasks);
    stage.kit.session.own_dropped = &dropped;
    uint64_t before = monotonic_ns();
    memset(stage.tasks, 0, sizeof(*stage.tasks));
    assert_int_equal(tasks_init(stage.tasks, &stage.kit.session, stage.kit.results, 77), 0);
    assert_ptr_equal(stage.tasks->missed.dropped, &dropped);
    assert_in_range(stage.tasks->now_ns, before, monotonic_ns());
    assert_ptr_equal(stage.tasks->session, &stage.kit.session);
    assert_ptr_equal(stage.tasks->config, &stage.kit.config);
    assert_ptr_equal(stage.tasks->results, stage.kit.results);
    assert_int_equal(stage.tasks->epoll, 77);
    assert_int_equal(stage.tasks->clock, 0);
    assert_int_equal(stage.tasks->share_ns, 20000000);
    assert_ptr_equal(stage.tasks->done_end, &stage.tasks->done);
    assert_null(stage.tasks->stacks); /* no event dumps any */
    assert_int_equal(stage.tasks->live_count + stage.tasks->seen + stage.tasks->active_max, 0);
    stage_free(&stage);
}

/* What a record of ours says of its task: it is told by the first event. */
static void test_stamps(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage_process(&stage, 100, 1, T, 1000);
    struct task *task = stage_thread(&stage, 100, 101, T + 1, 1000);
    const struct records_stamp stamp = tasks_stamp(stage.tasks, task, T + 5);
    assert_true(stamp.pid == 100 && stamp.tid == 101 && stamp.time_ns == T + 5 && stamp.event == 0);
    assert_int_equal(stamp.id, 101001); /* of the kit */
    stage_close(&stage);
    stage_free(&stage);
}

/* Many in one bucket of the tables: each is found, whoever went before. */
static void test_numbers_in_one_bucket(void **state)
{
    (void)state;
    struct stage stage;
    struct task *tasks[4];
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    for (int i = 0; i < 4; i++)
        tasks[i] = stage_process(&stage, 100 + i * TASKS_TABLE, 1, T + (unsigned)i, 1000);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(tasks[i]->pid, 100 + i * TASKS_TABLE);
        assert_ptr_equal(tasks_find_process(stage.tasks, tasks[i]->pid), tasks[i]->process);
    }
    tasks_rename(stage.tasks, tasks[0], 7);
    assert_null(tasks_find(stage.tasks, 100));
    assert_ptr_equal(tasks_find(stage.tasks, 7), tasks[0]);
    for (int i = 1; i < 4; i++)
        assert_ptr_equal(tasks_find(stage.tasks, 100 + i * TASKS_TABLE), tasks[i]);
    tasks_rename(stage.tasks, tasks[0], 100);
    tasks_task_ended(stage.tasks, tasks[1], true);
    assert_null(tasks_find(stage.tasks, 100 + TASKS_TABLE));
    assert_ptr_equal(tasks_find(stage.tasks, 100), tasks[0]);
    assert_ptr_equal(tasks_find(stage.tasks, 100 + 2 * TASKS_TABLE), tasks[2]);
    assert_int_equal(stage.tasks->live_count, 3);
    assert_int_equal(stage.tasks->active_max, 4);
    struct process *process = tasks[2]->process;
    stage.tasks->root_process = process;
    process->space.forgotten = 5;
    tasks_unlink(stage.tasks, tasks[2]);
    process->leader = NULL;
    tasks_discard(stage.tasks, tasks[2]);
    tasks_remove_process(stage.tasks, process);
    assert_null(stage.tasks->root_process);
    assert_int_equal(stage.tasks->mappings_forgotten, 5);
    assert_null(tasks_find_process(stage.tasks, 100 + 2 * TASKS_TABLE));
    assert_ptr_equal(tasks_find_process(stage.tasks, 100), tasks[0]->process);
    assert_ptr_equal(tasks_find_process(stage.tasks, 100 + 3 * TASKS_TABLE), tasks[3]->process);
    stage_close(&stage);
    stage_free(&stage);
}

/* The end of a session in the middle of everything: descriptors and rings of all tasks go, whatever became of them. */
static void test_released_unwritten(void **state)
{
    (void)state;
    struct stage stage;
    const void *rings[5];
    unsigned char pages[1 + STAGE_RING / 4096];
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    unsigned before = check_open_fds();
    rings[0] = stage_process(&stage, 100, 1, T, 1000)->events->ring;
    rings[1] = stage_thread(&stage, 100, 101, T + 1, 1000)->events->ring;
    struct notification *thread = stage_notification(PINJECT_THREAD, 500, 501, 1, T + 20);
    rings[2] = stage_events(&stage, thread, 1000)->ring;
    stage_notify(&stage, thread); /* its process is not known yet */
    assert_null(tasks_find(stage.tasks, 501));
    struct task *ended[] = {stage_thread(&stage, 100, 103, T + 2, 1000), stage_process(&stage, 200, 100, T + 3, 1000)};
    for (unsigned i = 0; i < 2; i++) {
        rings[3 + i] = ended[i]->events->ring;
        tasks_task_ended(stage.tasks, ended[i], true);
    }
    assert_int_equal(stage.tasks->live_count, 2);
    assert_non_null(stage.tasks->done);
    assert_non_null(stage.tasks->waiting);
    assert_int_equal(results_written(stage.kit.results), 0);
    assert_true(check_open_fds() > before);
    tasks_release(stage.tasks);
    deferred_munmap_run(&stage.kit.session);
    assert_int_equal(check_open_fds(), before + 1); /* to the helper that reads files, which is the results' */
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(mincore((void *)(uintptr_t)rings[i], 4096, pages), -1);
        assert_int_equal(errno, ENOMEM);
    }
    assert_null(stage.tasks->live);
    assert_null(stage.tasks->done);
    assert_null(stage.tasks->waiting);
    assert_null(stage.tasks->graveyard);
    free(stage.tasks);
    close(stage.epoll);
    kit_free(&stage.kit);
}

/* Thousands of threads one after another leave nothing behind. */
static void test_many_threads(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct task *leader = stage_process(&stage, 100, 1, T, 1000);
    for (int i = 0; i < 300; i++) {
        struct task *task = stage_thread(&stage, 100, 101 + i, T + 10, 10);
        stage_sample(task, 0x1000, T + 20);
        tasks_task_ended(stage.tasks, task, true);
        tasks_write(stage.tasks, 1);
        tasks_bury(stage.tasks);
    }
    assert_null(stage.tasks->done);
    assert_null(stage.tasks->graveyard);
    assert_int_equal(stage.tasks->live_count, 1);
    assert_int_equal(leader->process->live, 1);
    assert_int_equal(stage.tasks->active_max, 2);
    assert_int_equal(results_written(stage.kit.results), 300);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 1000 + 300 * 10);
    stage_free(&stage);
}

/* A process may go on to its next program while its first request waits for its unknown creator. */
static void test_next_program_does_not_overtake(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct notification *notification = stage_notification(PINJECT_FORK, 200, 200, 100, T + 1);
    stage_events(&stage, notification, 1000);
    stage_notify(&stage, notification);
    assert_null(stage_process(&stage, 200, 100, T + 5, 2000));
    assert_int_equal(stage.tasks->waiting_count, 2);
    assert_non_null(stage_process(&stage, 300, 100, T + 6, 2000)); /* another one */
    stage.tasks->now_ns += 15000000;
    tasks_notify(stage.tasks, NULL);
    assert_int_equal(stage.tasks->waiting_count, 0);
    const struct task *task = tasks_find(stage.tasks, 200);
    assert_non_null(task);
    assert_int_equal(task->start_ns, T + 5);
    assert_int_equal(stage.tasks->live_count, 2);
    stage_close(&stage);
    stage_free(&stage);
}

/* A process that lost its events in the exec of a setuid program, and lives on for seconds; then it is dead. */
static struct process *new_survivor(struct stage *stage)
{
    stage_new(stage, PINJECT_SESSION_ALL, false);
    const pid_t pid = fork();
    if (pid == 0)
        for (;;)
            pause();
    stage_process(stage, 100, 1, T, 1000);
    struct task *task = stage_process(stage, pid, 100, T + 1, 3000);
    struct process *process = task->process;
    process->pidfd = pidfd_open_of(pid);
    tasks_task_ended(stage->tasks, task, true);
    for (unsigned i = 0; i < 2; i++) {
        stage->tasks->now_ns += 3 * S;
        tasks_sweep(stage->tasks);
    }
    kill(pid, SIGKILL);
    const pid_t waited = waitpid(pid, NULL, 0);
    assert_int_equal(waited, pid);
    assert_ptr_equal(tasks_find_process(stage->tasks, pid), process);
    stage->tasks->now_ns += 3 * S;
    tasks_sweep(stage->tasks);
    return process;
}

/* The sweep that finds it dead holds it as long as others. */
static void test_survivors_are_held(void **state)
{
    (void)state;
    struct stage stage;
    struct process *process = new_survivor(&stage);
    const pid_t pid = process->pid;
    stage.tasks->now_ns += S / 10;
    tasks_sweep(stage.tasks); /* its parent has waited for it */
    stage.tasks->now_ns += S / 10 - 1;
    tasks_sweep(stage.tasks);
    assert_ptr_equal(tasks_find_process(stage.tasks, pid), process);
    stage.tasks->now_ns++;
    tasks_sweep(stage.tasks);
    assert_null(tasks_find_process(stage.tasks, pid));
    stage_close(&stage);
    stage_free(&stage);
}

/* Its next program sent a request before it died, and that comes after the sweep: it still goes on from the process. */
static void test_last_request(void **state)
{
    (void)state;
    struct stage stage;
    const struct process *process = new_survivor(&stage);
    const pid_t pid = process->pid;
    const bool known = pidfd_are_same(process->pidfd, process->pidfd); /* since Linux 6.9 */
    struct notification *notification = stage_notification(PINJECT_PROCESS, pid, pid, 100, T + 2 * S);
    stage_events(&stage, notification, 500);
    notification->startup_ns = 3200;
    notification->pidfd = pidfd_copy(process->pidfd);
    stage_notify(&stage, notification);
    assert_int_equal(tasks_find(stage.tasks, pid)->startup_ns, known ? 200 : 3200);
    stage_close(&stage);
    assert_int_equal(stage.tasks->attributed_ns, 1000 + 3000 + (known ? 200 : 3200) + 500);
    stage_free(&stage);
}

/*
 * It lost its events in the exec of a setuid program, and died while nobody looked, after its hold was over. The report
 * of its parent's wait and the request of its last program come late, one after the other: the request goes on from it.
 */
static void test_news_of_a_pause(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    stage_process(&stage, 100, 1, T, 1000);
    struct process *process = stage_process(&stage, pid, 100, T + 1, 3000)->process;
    process->pidfd = pidfd_open_of(pid);
    tasks_task_ended(tasks, tasks_find(tasks, pid), true);
    const pid_t waited = waitpid(pid, NULL, 0);
    assert_int_equal(waited, pid);
    const bool known = pidfd_are_same(process->pidfd, process->pidfd); /* since Linux 6.9 */
    tasks->now_ns += 3 * S; /* longer than any process is held for its number */
    tasks_sweep(tasks);
    assert_ptr_equal(tasks_find_process(tasks, pid), process);
    tasks->now_ns += S / 100;
    struct notification *notification = stage_notification(PINJECT_REAPED, pid, 100, 0, T + S);
    notification->utime_ns = 4000;
    stage_notify(&stage, notification);
    tasks->now_ns += S / 60; /* more than 20 ms after the pause, less than 20 ms after the report */
    tasks_sweep(tasks);
    assert_ptr_equal(tasks_find_process(tasks, pid), process);
    notification = stage_notification(PINJECT_PROCESS, pid, pid, 100, T + S / 2);
    stage_events(&stage, notification, 500);
    notification->startup_ns = 3200;
    notification->pidfd = pidfd_copy(process->pidfd);
    stage_notify(&stage, notification);
    assert_int_equal(tasks_find(tasks, pid)->startup_ns, known ? 200 : 3200);
    stage_close(&stage);
    stage_free(&stage);
}

static struct task *attach_late(struct stage *stage, int pidfd, uint64_t time_ns, uint64_t startup_ns)
{
    struct notification *notification = stage_notification(PINJECT_PROCESS, 300, 300, 100, time_ns);
    stage_events(stage, notification, 500);
    notification->attached_late = true;
    notification->startup_ns = startup_ns;
    notification->pidfd = pidfd_copy(pidfd);
    tasks_admit(stage->tasks, notification);
    return tasks_find(stage->tasks, 300);
}

/*
 * The first thread of a process is not known. Another thread called exec, got the number of the process, and lost its
 * events in the next exec. What is attached late then is that thread: its clock has what its file has, but not what a
 * third thread used.
 */
static void test_late_after_a_threads_exec(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, 100, 1, T, 1000);
    stage_thread(&stage, 300, 301, T + 1, 2000);
    stage_thread(&stage, 300, 302, T + 2, 7000);
    tasks->now_ns += S / 10;
    tasks_notify(tasks, NULL); /* they wait for their process no longer */
    struct task *thread = tasks_find(tasks, 301);
    struct process *process = thread->process;
    const int pidfd = pidfd_open_of(getpid());
    const bool known = pidfd_are_same(pidfd, pidfd); /* since Linux 6.9 */
    pidfd_close(process->pidfd);
    process->pidfd = pidfd_copy(pidfd);
    tasks_task_ended(tasks, tasks_find(tasks, 302), true);
    stage_comm(thread, 300, 300, "next", true, T + 10);
    tasks_drain(tasks, thread);
    assert_ptr_equal(process->main, thread);
    tasks_task_ended(tasks, thread, true);
    const struct task *task = attach_late(&stage, pidfd, T + S, 2150);
    assert_int_equal(task->startup_ns, known ? 150 : 2150);
    /* And once more: the same thread goes on. */
    tasks_task_ended(tasks, tasks_find(tasks, 300), true);
    task = attach_late(&stage, pidfd, T + 2 * S, 2700);
    assert_int_equal(task->startup_ns, known ? 50 : 2700);
    pidfd_close(pidfd);
    stage_close(&stage);
    if (known)
        assert_int_equal(tasks->attributed_ns, 1000 + 7000 + 2700 + 500);
    stage_free(&stage);
}

/*
 * A process lost its events in the exec of a setuid program. The request of the next program comes after that of a
 * thread which this program made: the thread lives, and is of the process as it goes on; older threads ended.
 */
static void test_threads_of_the_next_program(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, 100, 1, T, 1000);
    struct process *old = stage_process(&stage, 300, 100, T + 1, 2000)->process;
    struct task *older = stage_thread(&stage, 300, 301, T + 2, 4000);
    struct task *younger = stage_thread(&stage, 300, 302, T + 12, 7000);
    old->pidfd = pidfd_open_of(getpid());
    struct notification *notification = stage_notification(PINJECT_PROCESS, 300, 300, 100, T + 10);
    stage_events(&stage, notification, 500);
    notification->startup_ns = 2300;
    notification->pidfd = pidfd_copy(old->pidfd);
    tasks_admit(tasks, notification);
    struct process *process = tasks_find_process(tasks, 300);
    assert_non_null(process);
    assert_int_equal(tasks_find(tasks, 300)->startup_ns, 300);
    assert_null(tasks_find(tasks, 301));
    assert_false(task_is_live(older));
    assert_ptr_equal(tasks_find(tasks, 302), younger);
    assert_true(task_is_live(younger) && younger->process == process && process->live == 2);
    tasks_task_ended(tasks, younger, true);
    assert_int_equal(process->live, 1);
    assert_int_equal(tasks->live_count, 2);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 2000 + 4000 + 7000 + 300 + 500);
    stage_free(&stage);
}

static void end_task(struct stage *stage, pid_t pid, uint64_t time_ns)
{
    struct task *task = tasks_find(stage->tasks, pid);
    stage_exit(task, time_ns);
    tasks_task_ended(stage->tasks, task, true);
}

/* Sweeps for so long, every 10 ms: what a sweep finds after a longer pause may be held for news of that pause. */
static void sweep_later(struct stage *stage, uint64_t ns)
{
    const uint64_t until_ns = stage->tasks->now_ns + ns;
    while (stage->tasks->now_ns < until_ns) {
        const uint64_t left_ns = until_ns - stage->tasks->now_ns;
        stage->tasks->now_ns += left_ns < S / 100 ? left_ns : S / 100;
        tasks_sweep(stage->tasks);
    }
}

/*
 * 110 and its child 120 ended 150 ms before 130, a child of 120 that lost its events in the exec of a setuid program.
 * The hold of 110 is over, that of 130 is not: none of the three is accounted for, so the next request of 130 goes on
 * from it.
 */
static void test_parents_are_held(void **state)
{
    (void)state;
    struct stage stage;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    struct tasks *tasks = stage.tasks;
    stage_process(&stage, 100, 1, T, 1000);
    stage_process(&stage, 110, 100, T + 1, 7000);
    stage_process(&stage, 120, 110, T + 2, 9000);
    struct process *child = stage_process(&stage, 130, 120, T + 3, 3000)->process;
    stage_process(&stage, 140, 100, T + 4, 5000);
    child->secure = true;
    end_task(&stage, 110, T + 10);
    end_task(&stage, 120, T + 11);
    end_task(&stage, 140, T + 12);
    tasks->now_ns += 3 * S / 20;
    end_task(&stage, 130, T + 20);
    sweep_later(&stage, S / 10);
    assert_null(tasks_find_process(tasks, 140)); /* it has no children */
    assert_non_null(tasks_find_process(tasks, 110));
    assert_non_null(tasks_find_process(tasks, 120));
    assert_ptr_equal(tasks_find_process(tasks, 130), child);
    assert_false(child->accounted);
    struct notification *notification = stage_notification(PINJECT_PROCESS, 130, 130, 120, T + 30);
    stage_events(&stage, notification, 500);
    notification->startup_ns = 3200;
    stage_notify(&stage, notification);
    assert_int_equal(tasks_find(tasks, 130)->startup_ns, 200);
    stage_close(&stage);
    assert_int_equal(tasks->attributed_ns, 1000 + 7000 + 9000 + 5000 + 3000 + 200 + 500);
    stage_free(&stage);
}

/* The hold of a child ends in the end; a child that lives would not be accounted for with its parent. */
static void test_parents_are_let_go(void **state)
{
    (void)state;
    for (unsigned alive = 0; alive < 2; alive++) {
        struct stage stage;
        stage_new(&stage, PINJECT_SESSION_ALL, false);
        struct tasks *tasks = stage.tasks;
        stage_process(&stage, 100, 1, T, 1000);
        stage_process(&stage, 110, 100, T + 1, 7000);
        struct process *child = stage_process(&stage, 130, 110, T + 3, 3000)->process;
        child->pidfd = alive ? pidfd_open_of(getpid()) : -1;
        end_task(&stage, 110, T + 10);
        tasks->now_ns += S / 10;
        end_task(&stage, 130, T + 20);
        sweep_later(&stage, S / 10);
        assert_int_equal(tasks_find_process(tasks, 110) != NULL, !alive);
        assert_ptr_equal(tasks_find_process(tasks, 130), child);
        assert_false(child->accounted);
        sweep_later(&stage, S / 10 - 1);
        assert_int_equal(tasks_find_process(tasks, 110) != NULL, !alive);
        sweep_later(&stage, 1);
        assert_null(tasks_find_process(tasks, 110));
        assert_int_equal(tasks_find_process(tasks, 130) != NULL, alive);
        stage_close(&stage);
        assert_int_equal(tasks->attributed_ns, 1000 + 7000 + 3000);
        stage_free(&stage);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begun),
        cmocka_unit_test(test_numbers_in_one_bucket),
        cmocka_unit_test(test_stamps),
        cmocka_unit_test(test_released_unwritten),
        cmocka_unit_test(test_many_threads),
        cmocka_unit_test(test_next_program_does_not_overtake),
        cmocka_unit_test(test_last_request),
        cmocka_unit_test(test_news_of_a_pause),
        cmocka_unit_test(test_late_after_a_threads_exec),
        cmocka_unit_test(test_threads_of_the_next_program),
        cmocka_unit_test(test_survivors_are_held),
        cmocka_unit_test(test_parents_are_held),
        cmocka_unit_test(test_parents_are_let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
