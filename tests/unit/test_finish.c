/* SPDX-License-Identifier: MIT */
/* From the end of a task to its file: who is held how long, what is written when, and what is added up. */
#include "check.h"

#include <errno.h>
#include <pinject/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/tasks/account.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T  2000000000ull
#define MS 1000000ull

static struct stage stage;
static struct tasks *tasks;

static unsigned retries; /* of inherited sets */
static unsigned looks;   /* for programs that have not told themselves */

void __wrap_tasks_look_for_programs(struct tasks *of, struct task *task);
void __wrap_tasks_look_for_programs(struct tasks *of, struct task *task)
{
    assert_ptr_equal(of, tasks);
    assert_int_equal(task->pid, 200);
    looks++;
}

void __wrap_tasks_retry_inherit(struct tasks *of, struct process *process);
void __wrap_tasks_retry_inherit(struct tasks *of, struct process *process)
{
    assert_ptr_equal(of, tasks);
    assert_true(process->inherit_owed > 0);
    retries++;
}

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    tasks = stage.tasks;
    tasks->now_ns = T;
    retries = looks = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_free(&stage);
    return 0;
}

/* Lives on: a sweep that finds no ring of the kernel's looks for the task itself, which is none. */
static struct task *lives(struct task *task)
{
    task->ring_fd = task->events->fds[0];
    return task;
}

static struct process *ended(pid_t pid, pid_t ppid, uint64_t clock_ns)
{
    struct task *task = stage_process(&stage, pid, ppid, T, clock_ns);
    struct process *process = task->process;
    tasks->now_ns = T + 10 * MS;
    tasks_task_ended(tasks, task, true);
    return process;
}

/* After how many milliseconds of sweeps PID is not held any more. */
static unsigned held_ms(pid_t pid)
{
    for (unsigned ms = 0; ms < 3000; ms++) {
        tasks->now_ns = T + (10 + ms) * MS;
        tasks_sweep(tasks);
        if (!tasks_find_process(tasks, pid))
            return ms;
        tasks->now_ns += MS - 1;
        tasks_sweep(tasks);
        if (!tasks_find_process(tasks, pid))
            fail_msg("it went between two milliseconds: after %u", ms);
    }
    return 3000;
}

static void ended_processes_are_held(void **state)
{
    (void)state;
    lives(stage_process(&stage, 100, 1, T, 1000));
    struct process *process = ended(200, 100, 1000);
    assert_true(process->held && !process->orphan);
    assert_int_equal(process->ended_ns, T + 10 * MS);
    assert_int_equal(tasks->done_count, 0);
    assert_int_equal(held_ms(200), 200);
    assert_int_equal(tasks->done_count, 1);
    /* A while less once its parent has waited for it. */
    ended(201, 100, 1000)->waited = true;
    tasks_find_process(tasks, 201)->deadline_ns = 0;
    assert_int_equal(held_ms(201), 0);
    struct task *task = stage_process(&stage, 202, 100, T, 1000);
    task->process->waited = true;
    tasks->now_ns = T + 10 * MS;
    tasks_task_ended(tasks, task, true);
    assert_int_equal(held_ms(202), 20);
    task = stage_process(&stage, 203, 100, T, 1000);
    task->process->left = true;
    tasks->now_ns = T + 10 * MS;
    tasks_task_ended(tasks, task, true);
    assert_int_equal(held_ms(203), 0);
    /* Longer while nobody has said what its last program was. */
    task = stage_process(&stage, 204, 100, T, 1000);
    task->generations[0].named = false;
    tasks->now_ns = T + 10 * MS;
    tasks_task_ended(tasks, task, true);
    assert_int_equal(held_ms(204), 1000);
    assert_int_equal(tasks->done_count, 5);
    tasks_write(tasks, 2);
    assert_int_equal(tasks->done_count, 3);
    assert_int_equal(results_written(stage.kit.results), 3); /* with the one of 100, which grows */
    tasks_write(tasks, SIZE_MAX);
    assert_int_equal(tasks->done_count, 0);
    assert_null(tasks->done);
    assert_ptr_equal(tasks->done_end, &tasks->done);
    assert_int_equal(results_written(stage.kit.results), 6);
}

static pid_t zombie(int *ret_pidfd)
{
    siginfo_t info;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    *ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(*ret_pidfd >= 0);
    return pid;
}

/* On a machine with more work than CPUs a parent waits late, and tells of it later still. */
static void held_while_they_have_numbers(void **state)
{
    int pidfd;
    (void)state;
    lives(stage_process(&stage, 100, 1, T, 1000));
    pid_t pid = zombie(&pidfd);
    struct process *process = ended(pid, 100, 1000);
    process->pidfd = pidfd;
    for (unsigned ms = 10; ms < 1000; ms++) {
        tasks->now_ns = T + ms * MS;
        tasks_sweep(tasks);
    }
    assert_ptr_equal(tasks_find_process(tasks, pid), process);
    /* Its parent waits, and no sweep looks until the hold is over: the report of that wait is on its way. */
    uint64_t deadline_ns = process->deadline_ns + 500 * MS;
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    tasks->now_ns = deadline_ns - 20 * MS;
    tasks_sweep(tasks);
    tasks->now_ns = deadline_ns - 1;
    tasks_sweep(tasks);
    assert_ptr_equal(tasks_find_process(tasks, pid), process);
    tasks->now_ns = deadline_ns;
    tasks_sweep(tasks);
    assert_null(tasks_find_process(tasks, pid));
    /* One whose parent does not care. */
    pid = zombie(&pidfd);
    ended(pid, 100, 1000)->pidfd = pidfd;
    assert_int_equal(held_ms(pid), 2180); /* what the last look found holds as long as ever */
    /* Its wait was told. */
    process = ended(pid, 100, 1000);
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    process->waited = true;
    assert_int_equal(held_ms(pid), 200);
    /* Too many. */
    process = ended(pid, 100, 1000);
    process->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_int_equal(tasks->held_count, 1);
    tasks->held_count = 1025;
    assert_int_equal(held_ms(pid), 200);
    tasks->held_count -= 1024;
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Those whose file is not written count, as long as they wait for it. */
static void expect_unwritten(unsigned count)
{
    assert_int_equal(tasks->done_count, count);
    assert_int_equal(stage.kit.session.pressure.unwritten, count);
}

static void unwritten_tasks_are_counted(void **state)
{
    (void)state;
    lives(stage_process(&stage, 100, 1, T, 1000));
    struct task *thread = stage_thread(&stage, 100, 101, T, 500);
    expect_unwritten(0);
    tasks_task_ended(tasks, thread, true); /* a thread: at once */
    expect_unwritten(1);
    struct process *process = ended(200, 100, 1000); /* a process: once it is not held any more */
    expect_unwritten(1);
    tasks_finish_process(tasks, process);
    expect_unwritten(2);
    tasks_finish_process(tasks, ended(201, 100, 1000));
    expect_unwritten(3);
    tasks_write(tasks, 0);
    expect_unwritten(3);
    tasks_write(tasks, 1);
    expect_unwritten(2);
    tasks_write(tasks, 1);
    expect_unwritten(1);
    tasks_task_ended(tasks, stage_thread(&stage, 100, 102, T, 500), true);
    expect_unwritten(2);
    stage_close(&stage);
    expect_unwritten(0);
}

/* Nothing tells the end of a task without a ring of the kernel's: a sweep asks for its number. */
static void who_is_gone_is_met_by_a_sweep(void **state)
{
    (void)state;
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    struct task *gone = stage_process(&stage, dead, 1, T, 1000), *here = stage_process(&stage, getpid(), 1, T, 1000);
    tasks->now_ns = T + 10 * MS;
    tasks_sweep(tasks);
    assert_true(!task_is_live(gone) && task_has_ended(gone) && gone->end_ns == T + 10 * MS);
    assert_true(tasks_find_process(tasks, dead)->held);
    assert_true(task_is_live(here));
    assert_ptr_equal(tasks_find(tasks, getpid()), here);
}

/* An inherited set that is owed is tried once in a sweep, for the process' first thread or who stands for it. */
static void owed_sets_are_tried(void **state)
{
    (void)state;
    struct task *task = lives(stage_process(&stage, 100, 1, T, 1000));
    lives(stage_thread(&stage, 100, 101, T, 1000));
    tasks_sweep(tasks);
    assert_int_equal(retries, 0);
    task->process->inherit_owed = 2;
    tasks_sweep(tasks);
    assert_int_equal(retries, 1);
    task->process->main = NULL;
    tasks_sweep(tasks);
    assert_int_equal(retries, 2);
    task->process->main = task;
}

/* Who has not told its program 100 ms after its begin is looked at, in each sweep. */
static void programs_are_looked_for(void **state)
{
    (void)state;
    lives(stage_process(&stage, 100, 1, T, 1000));
    struct task *task = lives(stage_process(&stage, 200, 1, T + 5 * MS, 1000));
    task->generations[0].named = false;
    tasks->now_ns = T + 105 * MS;
    tasks_sweep(tasks);
    assert_int_equal(looks, 0);
    tasks->now_ns++;
    tasks_sweep(tasks);
    assert_int_equal(looks, 1);
    tasks_sweep(tasks);
    assert_int_equal(looks, 2);
    task->generations[0].named = true;
    tasks_sweep(tasks);
    assert_int_equal(looks, 2);
}

/* A pidfd of a process that has ended. */
static int pidfd_of_the_dead(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(pid > 0 && fd >= 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return fd;
}

/* A parent with two children whose waits were not seen: 200, and the zombie 300. */
static struct process *parent_of_two(void)
{
    struct task *parent = stage_process(&stage, 100, 1, T, 3 * MS);
    struct task *waited = stage_process(&stage, 200, 100, T, 20 * MS);
    struct task *zombie = stage_process(&stage, 300, 100, T, 400 * MS);
    tasks->now_ns = T + 5 * MS;
    tasks_task_ended(tasks, waited, true);
    tasks_task_ended(tasks, zombie, true);
    zombie->process->own_ns = 401 * MS;
    tasks->now_ns = T + 6 * MS;
    tasks_task_ended(tasks, parent, true);
    return parent->process;
}

/* A zombie whose parent is dead is in nobody's rusage. The parent's has room for the other child. */
static void zombies_of_the_dead_are_orphans(void **state)
{
    (void)state;
    struct process *process = parent_of_two();
    process->pidfd = pidfd_of_the_dead();
    process_set_waited(process, 0, 25 * MS);
    account_process(tasks, process);
    assert_int_equal(process->guessed_ns, 20 * MS);
    assert_int_equal(process->exit_ns, 2 * MS);
    assert_false(tasks_find_process(tasks, 200)->orphan);
    assert_true(tasks_find_process(tasks, 300)->orphan);
    assert_int_equal(tasks->orphans_ns, 401 * MS);
    assert_int_equal(tasks->attributed_ns, 3 * MS + 2 * MS + 20 * MS + 401 * MS);
}

/* With --stat, the first task's clock is that of all tasks: its rusage has what else they used, however much it is. */
static void a_whole_tree_has_what_its_rusage_has(void **state)
{
    static const struct {
        uint64_t rusage_ns, exit_ns;
    } cases[] = {{3 * MS, 0}, {2 * MS, 0}, {5 * MS, 2 * MS}, {9000 * MS, 8997 * MS}};
    (void)state;
    stage.kit.config.whole_tree = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct task *root = stage_process(&stage, 100 + (pid_t)i, 1, T, 3 * MS);
        tasks->now_ns = T + 5 * MS;
        tasks_task_ended(tasks, root, true);
        process_set_waited(root->process, 0, cases[i].rusage_ns);
        tasks->attributed_ns = 0;
        account_process(tasks, root->process);
        assert_true(root->process->exit_known);
        assert_int_equal(root->process->exit_ns, cases[i].exit_ns);
        assert_int_equal(tasks->attributed_ns, 3 * MS + cases[i].exit_ns);
    }
}

/* The parent's events have ended, but it lives on (a setuid program) and may still wait. */
static void zombies_of_the_living_are_none(void **state)
{
    (void)state;
    struct process *process = parent_of_two();
    process->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert_true(process->pidfd >= 0);
    account_process(tasks, process);
    assert_false(tasks_find_process(tasks, 300)->orphan);
    assert_int_equal(process->guessed_ns, 421 * MS);
    assert_int_equal(tasks->orphans_ns, 0);
}

/* Files that grow: first after a second, then when there is something new. */
static void growing_files_are_flushed(void **state)
{
    struct kit_file file;
    (void)state;
    struct task *task = lives(stage_process(&stage, 100, 1, T, 1000));
    task->flushed_ns = T;
    tasks->now_ns = T + 1000 * MS - 1;
    tasks_sweep(tasks);
    assert_int_not_equal(task->file, FILE_ON_DISK);
    tasks->now_ns = T + 1000 * MS;
    tasks_sweep(tasks);
    assert_int_equal(task->file, FILE_ON_DISK);
    assert_int_equal(task->flushed_ns, T + 1000 * MS);
    assert_true(kit_read("out.100.100", &file));
    const struct pinject_item_task *item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->flags & PINJECT_TASK_ENDED, 0);
    assert_true(item->end_ns > T);
    assert_int_equal(item->samples, 0);
    const struct pinject_item_count *count = kit_item(&file, PINJECT_ITEM_COUNT, 0);
    assert_int_equal(count->value, 1000); /* what the counter says now */
    kit_file_free(&file);
    tasks->now_ns = T + 2500 * MS; /* nothing is new */
    tasks_sweep(tasks);
    assert_int_equal(task->flushed_ns, T + 1000 * MS);
    stage_sample(task, 0x1000, T + 2600 * MS);
    tasks->now_ns = T + 2700 * MS;
    tasks_sweep(tasks);
    assert_int_equal(task->flushed_ns, T + 2700 * MS);
    assert_true(kit_read("out.100.100", &file));
    item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->samples, 1);
    kit_file_free(&file);
}

static bool has_note(const struct kit_file *file, const char *text)
{
    const struct pinject_item_note *note;
    for (unsigned i = 0; (note = kit_item(file, PINJECT_ITEM_NOTE, i)) != NULL; i++)
        if (strstr((const char *)(note + 1), text))
            return true;
    return false;
}

static void the_root_is_last(void **state)
{
    struct kit_file file;
    const struct result_coverage coverage = {
        .cpu_ns = 9000, .attributed_ns = 8000, .tasks = 2, .files = 2, .collector_ns = 70, .complete = true};
    (void)state;
    tasks->root = 100;
    struct task *root = stage_process(&stage, 100, 1, T, 5000);
    lives(stage_process(&stage, 200, 100, T, 2000));
    tasks->now_ns = T + 10 * MS;
    tasks_task_ended(tasks, root, true);
    for (unsigned ms = 5000; ms <= 5020; ms += 20) { /* after a pause reports may be on their way for 20 ms */
        tasks->now_ns = T + ms * MS;
        tasks_sweep(tasks);
    }
    assert_non_null(tasks_find_process(tasks, 100)); /* kept, and its file is there already */
    assert_int_equal(root->file, FILE_ON_DISK);
    process_set_waited(tasks->root_process, 0x500, 5500);
    tasks->timer_fallbacks = 7;
    tasks->timer_fallbacks_counted = 4;
    tasks->refusal = -EACCES;
    tasks_close(tasks);
    assert_int_equal(tasks->alive, 1);
    assert_int_equal(tasks->done_count, 0);
    assert_null(tasks->live);
    assert_null(tasks->held);
    tasks_finish_root(tasks, &coverage);
    assert_true(kit_read("out.100.100", &file));
    const struct pinject_item_task *item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->flags & (PINJECT_TASK_ROOT | PINJECT_TASK_ENDED | PINJECT_TASK_STATUS),
                     PINJECT_TASK_ROOT | PINJECT_TASK_ENDED | PINJECT_TASK_STATUS);
    assert_int_equal(item->status, 0x500);
    assert_int_equal(item->end_ns, T + 10 * MS);
    const struct pinject_item_coverage *covered = kit_item(&file, PINJECT_ITEM_COVERAGE, 0);
    assert_true(covered->cpu_ns == 9000 && covered->attributed_ns == 8000 && covered->tasks == 2);
    assert_true(has_note(&file, "3 of 2 tasks were sampled by timers, user space only: the kernel refused their "
                                "events (Permission denied)"));
    assert_true(covered->files == 2 && covered->collector_ns == 70 && covered->complete == 1);
    kit_file_free(&file);
    assert_true(kit_read("out.200.200", &file));
    item = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(item->flags & (PINJECT_TASK_ROOT | PINJECT_TASK_ENDED | PINJECT_TASK_STATUS), 0);
    assert_null(kit_item(&file, PINJECT_ITEM_COVERAGE, 0));
    assert_false(has_note(&file, "sampled by timers")); /* it is the root that tells of all */
    kit_file_free(&file);
    assert_int_equal(tasks->attributed_ns, 7000 + tasks->exit_ns);
    assert_int_equal(tasks->orphans_ns, 2000); /* nobody will have waited for who is left */
}

static void figures_are_added_up(void **state)
{
    (void)state;
    struct task *one = stage_process(&stage, 100, 1, T, 1000), *two = stage_thread(&stage, 100, 101, T, 2000);
    for (unsigned i = 0; i < 3; i++)
        stage_sample(one, 0x1000, T + 10 + i);
    two->coverage = TASK_BY_COUNTERS;
    struct task *three = stage_thread(&stage, 100, 102, T, 4000);
    three->refusal = -EACCES;
    struct task *four = stage_thread(&stage, 100, 103, T, 8000);
    four->refusal = -EPERM;
    four->coverage = TASK_BY_COUNTERS;
    tasks_task_ended(tasks, two, true);
    tasks_task_ended(tasks, three, true);
    tasks_task_ended(tasks, four, true);
    tasks_task_ended(tasks, one, true);
    assert_int_equal(tasks_find_process(tasks, 100)->clock_ns, 15000);
    assert_int_equal(tasks_find_process(tasks, 100)->ended_tasks, 4);
    stage_close(&stage);
    assert_int_equal(tasks->samples, 3);
    assert_int_equal(tasks->counted_only, 2);
    assert_int_equal(tasks->without_sample, 1); /* three: the others are not sampled, or are */
    assert_int_equal(tasks->timer_fallbacks, 2);
    assert_int_equal(tasks->timer_fallbacks_counted, 1);
    assert_int_equal(tasks->refusal, -EACCES);
    assert_int_equal(tasks->attributed_ns, 15000);
    assert_int_equal(tasks->alive, 0);
}

/* Its events ended in the exec of a setuid program; what that was is known. */
static void expect_revoked_events(uid_t user, const char *reason)
{
    static struct pinject_segment segment;
    segment.user = user;
    stage.kit.session.segment = &segment;
    struct task *task = stage_process(&stage, 100, 1, T, 1000);
    struct process *process = task->process;
    stage_comm(task, 100, 100, "su", true, T + 5);
    tasks_drain(tasks, task);
    assert_null(process->program);
    process->secure = true;
    process->announced = program_new("/bin/su", "su", 3);
    tasks->now_ns = T + 10 * MS;
    tasks_task_ended(tasks, task, true);
    assert_true(task->state.cause == TASK_REVOKED && process->revoked);
    assert_string_equal(task->generations[task->generation_count - 1].program->exec, "/bin/su");
    stage_close(&stage);
    assert_int_equal(tasks->missed.count, 1);
    assert_string_equal(tasks->missed.lines[0].reason, reason);
    assert_string_equal(tasks->missed.lines[0].comm, "su");
    stage.kit.session.segment = NULL;
}

/* What the exec hook said of that program may be read after its events have ended. */
static void revoked_events_are_known_late(void **state)
{
    (void)state;
    for (int secure = 0; secure < 2; secure++) {
        const pid_t pid = 100 + secure;
        struct task *task = stage_process(&stage, pid, 1, T, 1000);
        struct process *process = task->process;
        stage_comm(task, pid, pid, "su", true, T + 5);
        stage_exit(task, T + 6);
        tasks_task_ended(tasks, task, true);
        assert_int_equal(task->state.cause, TASK_EXITED);
        struct notification *notification = stage_notification(PINJECT_INHERIT_EXEC, pid, pid, 1, T + 4);
        notification->flags = PINJECT_REQUEST_INHERIT_EXEC | (secure ? PINJECT_REQUEST_SECURE : 0);
        stage_notify(&stage, notification);
        assert_int_equal(task->state.cause, secure ? TASK_REVOKED : TASK_EXITED);
        assert_int_equal(process->revoked, secure);
    }
}

/* It is held again, for as long as others are, when that thread ends. */
static void threads_that_come_late_end_the_hold(void **state)
{
    (void)state;
    lives(stage_process(&stage, 100, 1, T, 1000));
    struct process *process = ended(200, 100, 1000);
    assert_true(process->held);
    struct task *thread = lives(stage_thread(&stage, 200, 201, T + 1, 1000));
    assert_false(process->held);
    assert_int_equal(tasks->held_count, 0);
    tasks->now_ns = T + 500 * MS;
    tasks_sweep(tasks);
    tasks_task_ended(tasks, thread, true);
    assert_true(process->held);
    assert_ptr_equal(process->parent, tasks_find_process(tasks, 100));
    assert_int_equal(process->deadline_ns, T + 700 * MS);
}

/* Its events have ended, but the kernel says that it lives: what comes then goes on from there. */
static void who_lives_is_held_and_goes_on(void **state)
{
    (void)state;
    struct process *parent = lives(stage_process(&stage, 100, 1, T, 1000))->process;
    struct process *process = ended(200, 100, 3 * MS);
    process->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert_true(process->pidfd >= 0);
    assert_int_equal(held_ms(200), 3000);
    account_process(tasks, parent);
    assert_false(process->accounted);
    struct notification *notification = stage_notification(PINJECT_PROCESS, 200, 200, 100, T + 5);
    stage_events(&stage, notification, 0);
    notification->attached_late = true;
    notification->startup_ns = 5 * MS;
    notification->pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    tasks_admit(tasks, notification); /* does not look for its children */
    tasks_forget_late_trees(tasks);
    assert_int_equal(tasks_find(tasks, 200)->startup_ns, 2 * MS);
    assert_int_equal(tasks_find_process(tasks, 200)->clock_ns, 3 * MS);
}

static void revoked_events(void **state)
{
    (void)state;
    expect_revoked_events(1000, "setuid or unreadable program: the kernel ended its events (root can profile it)");
}

static void revoked_events_of_root(void **state)
{
    (void)state;
    expect_revoked_events(0, "setuid, setgid or unreadable program: the kernel ended its events");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ended_processes_are_held),
        TEST(held_while_they_have_numbers),
        TEST(unwritten_tasks_are_counted),
        TEST(who_is_gone_is_met_by_a_sweep),
        TEST(owed_sets_are_tried),
        TEST(programs_are_looked_for),
        TEST(zombies_of_the_dead_are_orphans),
        TEST(a_whole_tree_has_what_its_rusage_has),
        TEST(zombies_of_the_living_are_none),
        TEST(growing_files_are_flushed),
        TEST(the_root_is_last),
        TEST(figures_are_added_up),
        TEST(revoked_events),
        TEST(revoked_events_are_known_late),
        TEST(threads_that_come_late_end_the_hold),
        TEST(who_lives_is_held_and_goes_on),
        TEST(revoked_events_of_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
