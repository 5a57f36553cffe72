/* SPDX-License-Identifier: MIT */
/* What each kind of notification changes: the missed tasks, the process, whom it waits for. */
#include "check.h"

#include <errno.h>

#include "collector/tasks/admit.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

/* ---- In the place of memory that ends ---- */

static int denied_allocation; /* the how manieth from now fails, it alone; 0: none */
static bool was_denied;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    const bool denied = denied_allocation && --denied_allocation == 0;
    was_denied = was_denied || denied;
    return denied ? NULL : __real_calloc(count, size);
}

static struct stage stage;
static struct tasks *tasks;

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    tasks = stage.tasks;
    stage_process(&stage, 100, 1, T, 5000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_free(&stage);
    return 0;
}

static void expect_losses(const char *wanted)
{
    char text[4096] = "";
    for (unsigned i = 0; i < tasks->missed.count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d %s|%s\n", (int)tasks->missed.lines[i].count,
                 tasks->missed.lines[i].reason, tasks->missed.lines[i].comm);
    assert_string_equal(text, wanted);
}

static void notify(uint32_t kind, pid_t pid, pid_t tid, int result)
{
    struct notification *notification = stage_notification(kind, pid, tid, 1, T + 10);
    notification->result = result;
    strcpy(notification->comm, "name");
    tasks_admit(tasks, notification);
}

static void refusals(void **state)
{
    (void)state;
    struct process *process = tasks_find_process(tasks, 100);
    notify(PINJECT_PROCESS, 200, 200, -EACCES);
    assert_false(process->thread_refused);
    notify(PINJECT_THREAD, 100, 101, -ESRCH);
    assert_true(process->thread_refused);
    notify(PINJECT_FORK, 201, 201, -ESRCH);
    notify(PINJECT_PROCESS, 202, 202, 0);
    notify(PINJECT_ARM, 203, 203, -EMFILE);
    notify(PINJECT_THREAD, 100, 102, -ENOMEM);
    expect_losses("1 process refused by the kernel: Permission denied|name\n"
                  "1 thread exited before its events were open|name\n"
                  "1 process exited before its events were open|name\n"
                  "1 process refused by the kernel: Input/output error|name\n"
                  "1 process refused by the kernel: Too many open files|name\n"
                  "1 thread refused by the kernel: Cannot allocate memory|name\n");
    /* Its announcement is answered by that. */
    missed_announced(&tasks->missed, 1, 200, 200, T, true);
    assert_null(missed_find(&tasks->missed, 200));
    /* One that is not dumpable asks after its exec. */
    notify(PINJECT_ARM, 204, 204, -EACCES);
    notify(PINJECT_ARM, 205, 205, -EPERM);
    assert_true(missed_find(&tasks->missed, 204)->expected && missed_find(&tasks->missed, 205)->expected);
    assert_int_equal(missed_find(&tasks->missed, 204)->parent, 1);
    assert_int_equal(tasks->missed.count, 6);
    /* Since it was answered: in another time namespace its own clock is another, and it would have begun later. */
    struct notification *notification = stage_notification(PINJECT_ARM, 206, 206, 1, T);
    notification->result = -EACCES;
    notification->answered_ns = T + 1000;
    tasks_admit(tasks, notification);
    assert_int_equal(missed_find(&tasks->missed, 206)->time_ns, T + 1000);
    /* An exec generation that ended before it was read belongs to a process that is there. */
    notify(PINJECT_PROCESS, 100, 100, -ESRCH);
    assert_int_equal(tasks->missed.count, 6);
    assert_int_equal(tasks->seen, 1);
}

static void attach_late_and_end(pid_t pid, pid_t tid)
{
    const uint32_t kind = pid == tid ? PINJECT_PROCESS : PINJECT_THREAD;
    struct notification *notification = stage_notification(kind, pid, tid, 1, T + 5);
    notification->attached_late = true;
    stage_events(&stage, notification, 10);
    tasks_admit(tasks, notification);
    assert_non_null(tasks_find(tasks, tid));
    stage_exit(tasks_find(tasks, tid), T + 20);
    tasks_task_ended(tasks, tasks_find(tasks, tid), true);
}

static void notify_at(uint64_t time_ns, uint32_t kind, pid_t pid, pid_t tid, int result)
{
    struct notification *notification = stage_notification(kind, pid, tid, 1, time_ns);
    notification->result = result;
    strcpy(notification->comm, "name");
    tasks_admit(tasks, notification);
}

/* Its request was not read before it was attached late and ended: it has a file, and is missed by nobody. */
static void requests_of_tasks_that_were_attached_late(void **state)
{
    (void)state;
    attach_late_and_end(100, 101);
    attach_late_and_end(300, 300);
    /* Its creator's record of it may be read only now. */
    stage_fork(tasks_find(tasks, 100), 100, 101, T + 4);
    tasks_drain(tasks, tasks_find(tasks, 100));
    notify_at(T + 20, PINJECT_THREAD, 100, 101, -ESRCH);
    notify_at(T + 20, PINJECT_FORK, 300, 300, -ESRCH);
    expect_losses("");
    /* The number is another thread's by then, whether its own record of it was read or not. */
    notify_at(T + 21, PINJECT_THREAD, 100, 101, -ESRCH);
    expect_losses("1 thread exited before its events were open|name\n");
    stage_thread(&stage, 100, 101, T + 22, 10);
    tasks_task_ended(tasks, tasks_find(tasks, 101), true);
    notify_at(T + 23, PINJECT_THREAD, 100, 101, -ESRCH);
    expect_losses("2 thread exited before its events were open|name\n");
}

/* The name of the last program that TASK runs. */
static const char *last_name(const struct task *task)
{
    return task->generation_count ? task->generations[task->generation_count - 1].comm : "";
}

static void tell_generation_at(uint64_t time_ns, pid_t pid, pid_t tid, bool gone, bool limited)
{
    struct notification *notification = stage_notification(PINJECT_GENERATION, pid, tid, 1, time_ns);
    notification->gone = gone;
    notification->limited = limited;
    notification->exec = strdup("/bin/false");
    tasks_admit(tasks, notification);
}

static void tell_generation(pid_t pid, pid_t tid, bool gone, bool limited)
{
    tell_generation_at(T + 10, pid, tid, gone, limited);
}

/* Of who is gone the kernel cannot tell whose he was: the collector's user says nothing of another's. */
static void who_is_gone_is_named_by_his_own_user(void **state)
{
    (void)state;
    struct process *process = tasks_find_process(tasks, 100);
    struct task *task = process->leader;
    task->file = FILE_BEGUN;
    task->lost_records = 1;                /* so that a report alone names a program */
    tell_generation(99, 100, true, false); /* another process */
    assert_string_equal(last_name(task), "prog");
    assert_int_equal(tasks->session->denied, 1);
    process->limited = true;
    tell_generation(100, 100, true, false);
    tell_generation(99, 100, true, false);
    assert_string_equal(last_name(task), "prog");
    assert_int_equal(tasks->session->denied, 3);
    tell_generation(100, 100, true, true);
    assert_string_equal(last_name(task), "false");
    process->limited = false;
    task->generations[0].start_ns = T;
    tell_generation(100, 100, true, false);
    tell_generation(100, 100, false, false);
    assert_int_equal(tasks->session->denied, 3);
}

/* The report of a task that had the number before: a thread's exec takes over the number of its process. */
static void a_report_that_is_older_than_its_task_is_ignored(void **state)
{
    (void)state;
    struct task *task = tasks_find_process(tasks, 100)->leader;
    task->lost_records = 1; /* so that a report alone names a program */
    assert_int_equal(task->generation_count, 1);
    tell_generation_at(task->generations[0].start_ns - 1, 100, 100, false, false);
    assert_int_equal(task->generation_count, 1);
    assert_string_equal(last_name(task), "prog");
    tell_generation_at(task->generations[0].start_ns + 1, 100, 100, false, false);
    assert_int_equal(task->generation_count, 2);
    assert_string_equal(last_name(task), "false");
}

static struct notification *inherit_exec_of(pid_t pid, int error, uint32_t flags)
{
    struct notification *notification = stage_notification(PINJECT_INHERIT_EXEC, pid, pid, 1, T + 10);
    notification->inherit_error = error;
    notification->flags = flags;
    notification->exec = strdup("/bin/static");
    notification->cmdline = calloc(1, 10);
    memcpy(notification->cmdline, "static\0-x", 10);
    notification->cmdline_size = 10;
    return notification;
}

static void program_that_cannot_be_injected(void **state)
{
    (void)state;
    struct process *process = tasks_find_process(tasks, 100);
    tasks_admit(tasks, inherit_exec_of(100, 0, 0));
    assert_true(process->inherits);
    assert_false(process->secure || process->uncounted);
    assert_string_equal(process->announced->exec, "/bin/static");
    assert_int_equal(process->announced->cmdline_size, 10);
    assert_int_equal(process->inherit_owed, 0);
    process->inherits = false;
    /* setuid: what comes from it has no events of ours */
    tasks_admit(tasks, inherit_exec_of(100, 0, PINJECT_REQUEST_SECURE));
    assert_true(process->secure);
    assert_false(process->inherits);
    tasks_admit(tasks, inherit_exec_of(100, -EACCES, 0));
    assert_false(process->secure || process->inherits);
    assert_int_equal(process->inherit_owed, 8); /* tried again, in so many sweeps */
    process->inherit_owed = 0;
    tasks_admit(tasks, inherit_exec_of(100, -EPERM, 0));
    assert_int_equal(process->inherit_owed, 8);
    process->inherit_owed = 0;
    expect_losses("");
    tasks_admit(tasks, inherit_exec_of(100, -EMFILE, 0));
    assert_int_equal(process->inherit_owed, 0);
    expect_losses(
        "1 the kernel refused inherited events for this program (Too many open files), so its children and threads are not profiled"
        "|prog\n");
    tasks_admit(tasks, inherit_exec_of(999, 0, 0)); /* nobody */
    stage.kit.config.source = PINJECT_SOURCE_TIMER;
    process->announced->exec[1] = 'x';
    tasks_admit(tasks, inherit_exec_of(100, 0, 0));
    assert_false(process->inherits); /* there are none */
    assert_string_equal(process->announced->exec, "/xin/static");
    stage.kit.config.source = PINJECT_SOURCE_PERF;
}

/* 100 waited for PID. */
static void reap(pid_t pid, uint64_t user_ns, uint64_t system_ns, uint64_t time_ns)
{
    struct notification *reaped = stage_notification(PINJECT_REAPED, pid, 100, 1, time_ns);
    reaped->utime_ns = user_ns;
    reaped->stime_ns = system_ns;
    tasks_admit(tasks, reaped);
}

static void waits(void **state)
{
    (void)state;
    stage_process(&stage, 200, 100, T + 5, 1000);
    struct process *parent = tasks_find_process(tasks, 100), *child = tasks_find_process(tasks, 200);
    uint64_t before = parent->children_ns;
    stage_reaped(&stage, 100, 200, 0x300, 7000, T + 4); /* of an earlier one with its number */
    assert_false(child->waited);
    assert_int_equal(parent->children_ns, before + 7000);
    stage_reaped(&stage, 100, 200, 0x300, 9000, T + 50);
    assert_true(child->waited && child->status_known);
    assert_int_equal(child->status, 0x300);
    assert_int_equal(parent->children_ns, before + 16000);
    stage_reaped(&stage, 100, 200, 0x400, 1000, T + 60); /* the next one with its number */
    assert_int_equal(child->status, 0x300);
    /* One that did not ask. */
    missed_announced(&tasks->missed, 100, 300, 300, T + 10, true);
    reap(300, 4, 5, T + 9); /* before it was there */
    assert_false(missed_find(&tasks->missed, 300)->ended);
    reap(300, 4, 5, T + 10);
    assert_true(missed_find(&tasks->missed, 300)->ended);
    assert_int_equal(missed_find(&tasks->missed, 300)->cpu_ns, 9);
    expect_losses("");
    /* Where timers sample, that is all that is heard of it. */
    stage.kit.config.source = PINJECT_SOURCE_TIMER;
    reap(400, 1, 2, T + 70);
    missed_requested(&tasks->missed, 401);
    reap(401, 1, 2, T + 70); /* that one asked */
    reap(200, 1, 2, T + 70); /* is known */
    expect_losses(
        "1 child without events (not followed, setuid, or exited at once): its CPU time is known only from its "
        "parent's wait|\n");
    assert_int_equal(tasks->missed.lines[0].cpu_ns, 3);
    stage.kit.config.source = PINJECT_SOURCE_PERF;
}

/* Through the channel of another user: only of his own processes, by their parents. */
static bool is_told(pid_t waiter, pid_t child, uid_t user)
{
    struct process *process = tasks_find_process(tasks, child);
    struct notification *notification = stage_notification(PINJECT_REAPED, child, waiter, 1, T + 50);
    uint64_t denied = stage.kit.session.denied;
    if (process)
        process->waited = false;
    notification->limited = true;
    notification->user = user;
    tasks_admit(tasks, notification);
    bool told = process && process->waited;
    /* A tracer's wait says nothing, and is no lie. */
    bool traced = process && waiter != process->ppid && tasks_find(tasks, waiter);
    assert_int_equal(stage.kit.session.denied, denied + (!told && !traced));
    return told;
}

static void other_users_tell_of_their_own(void **state)
{
    (void)state;
    stage_process(&stage, 200, 100, T + 5, 1000);
    stage_process(&stage, 300, 200, T + 5, 1000);
    struct process *child = tasks_find_process(tasks, 200);
    assert_false(is_told(100, 200, 7));
    child->limited = true;
    child->user = 7;
    assert_true(is_told(100, 200, 7));
    assert_false(is_told(100, 200, 8));
    assert_false(is_told(300, 200, 7));
    assert_false(is_told(999, 200, 7));
    assert_false(is_told(100, 999, 7));
    /* A message of his says whose a process is; the wait for one does not. */
    struct notification *generation = stage_notification(PINJECT_GENERATION, 300, 300, 1, T + 60);
    generation->limited = true;
    generation->user = 9;
    tasks_admit(tasks, generation);
    assert_true(tasks_find_process(tasks, 300)->limited);
    assert_int_equal(tasks_find_process(tasks, 300)->user, 9);
    assert_false(tasks_find_process(tasks, 100)->limited);
}

/* Whether a parent is found. */
static bool has_parent(pid_t told, pid_t kernels, uid_t user)
{
    const struct notification notification = {.kind = PINJECT_FORK,
                                              .pid = 400,
                                              .tid = 400,
                                              .parent_tid = told,
                                              .ppid = kernels,
                                              .limited = user != 0,
                                              .user = user,
                                              .time_ns = T + 70};
    return tasks_is_ready(tasks, &notification);
}

/* What he then tells of the end of such a child would be in the CPU time of a process of another user. */
static void other_users_are_no_children_of_his(void **state)
{
    (void)state;
    stage_process(&stage, 200, 100, T + 5, 1000);
    stage_process(&stage, 300, 100, T + 5, 1000);
    struct process *own = tasks_find_process(tasks, 300);
    own->limited = true;
    own->user = 7;
    assert_true(has_parent(200, 1, 0)); /* the session's own user says so */
    assert_false(has_parent(200, 1, 7));
    assert_true(has_parent(200, 200, 7)); /* and so does the kernel */
    assert_true(has_parent(300, 1, 7));
    assert_false(has_parent(300, 1, 8));
}

static bool is_ready(uint32_t kind, pid_t pid, pid_t tid, pid_t ppid, int result)
{
    struct notification notification = {
        .kind = kind, .pid = pid, .tid = tid, .ppid = ppid, .result = result, .time_ns = T + 10};
    return tasks_is_ready(tasks, &notification);
}

static void who_waits_for_whom(void **state)
{
    (void)state;
    assert_true(is_ready(PINJECT_PROCESS, 200, 200, 1, 0));
    assert_true(is_ready(PINJECT_PROCESS, 200, 200, 1, -EACCES));
    assert_false(is_ready(PINJECT_PROCESS, 200, 200, 1, -ESRCH));
    assert_true(is_ready(PINJECT_PROCESS, 100, 100, 1, -ESRCH));
    assert_true(is_ready(PINJECT_FORK, 200, 200, 100, 0));
    assert_false(is_ready(PINJECT_FORK, 200, 200, 300, 0));
    static const uint32_t kinds[] = {PINJECT_THREAD, PINJECT_INHERIT_EXEC, PINJECT_REAPED, PINJECT_GENERATION};
    for (size_t i = 0; i < 4; i++) {
        assert_true(is_ready(kinds[i], 100, 101, 1, 0));
        assert_false(is_ready(kinds[i], 200, 201, 1, 0));
    }
    assert_true(is_ready(PINJECT_SNAPSHOT, 100, 100, 1, 0));
    assert_false(is_ready(PINJECT_SNAPSHOT, 100, 101, 1, 0));
    assert_true(is_ready(PINJECT_SNAPSHOT, 100, 101, 1, -ESRCH));
    assert_true(is_ready(PINJECT_ARM, 200, 200, 300, 0));
    /* What inherited events tell of an exec has to be known first. */
    tasks_find(tasks, 100)->coverage = TASK_BY_INHERITANCE;
    tasks->inherited_taken_ns = T + 10;
    assert_false(is_ready(PINJECT_GENERATION, 100, 100, 1, 0));
    tasks->inherited_taken_ns = T + 11;
    assert_true(is_ready(PINJECT_GENERATION, 100, 100, 1, 0));
    tasks_find(tasks, 100)->coverage = TASK_BY_EVENTS;
}

static struct task *fork_of(pid_t pid, pid_t parent_tid, pid_t ppid, const char *comm)
{
    struct notification *notification = stage_notification(PINJECT_FORK, pid, pid, ppid, T + 20);
    stage_events(&stage, notification, 10);
    notification->parent_tid = parent_tid;
    strcpy(notification->comm, comm);
    stage_notify(&stage, notification);
    return tasks_find(tasks, pid);
}

/* A fork that is notified after an exec of its parent has what the parent had mapped before. */
static void a_fork_before_an_exec(void **state)
{
    (void)state;
    struct task *task = tasks_find_process(tasks, 100)->leader;
    const char *program = tasks_find_process(tasks, 100)->program->exec;
    stage_comm(task, 100, 100, "next", true, T + 30);
    stage_mmap(task, "/bin/next", 0x5000, T + 31);
    struct process *forked = fork_of(200, 100, 100, "")->process; /* made at T + 20 */
    assert_int_equal(tasks_find_process(tasks, 100)->exec_ns, T + 30);
    assert_int_equal(space_count(&forked->space), 1);
    assert_string_equal(space_find(&forked->space, 0x1000, NULL, NULL)->path, "/bin/prog");
    assert_string_equal(forked->program->exec, program);
}

/* A task that does not say its name has that of who made it; and its parent is the process of that one. */
static void names_and_parents(void **state)
{
    (void)state;
    struct task *thread = stage_thread(&stage, 100, 101, T + 5, 10);
    assert_string_equal(thread->comm, "prog");
    strcpy(thread->comm, "thread");
    struct task *forked = fork_of(200, 101, 1, "");
    assert_string_equal(forked->comm, "thread");
    assert_int_equal(forked->process->ppid, 100); /* getppid() may say 1 already */
    assert_int_equal(space_count(&forked->process->space), 1);
    assert_ptr_equal(forked->process->program, tasks_find_process(tasks, 100)->program);
    assert_string_equal(fork_of(201, 0, 100, "")->comm, "prog");
    assert_string_equal(fork_of(202, 101, 100, "told")->comm, "told");
    struct notification *notification = stage_notification(PINJECT_THREAD, 100, 103, 1, T + 30);
    stage_events(&stage, notification, 10);
    notification->parent_tid = 999;
    stage_notify(&stage, notification);
    assert_string_equal(tasks_find(tasks, 103)->comm, "prog");
    assert_int_equal(tasks->processes, 4);
    assert_int_equal(tasks->threads, 2);
    assert_int_equal(tasks->active_max, 6);
}

/* Of whose process nothing was heard: its other threads are not known, so what its end cost is not either. */
static void thread_of_an_unknown_process(void **state)
{
    uint64_t cost;
    (void)state;
    struct notification *notification = stage_notification(PINJECT_THREAD, 300, 301, 1, T + 5);
    stage_events(&stage, notification, 10);
    tasks_admit(tasks, notification);
    struct process *process = tasks_find_process(tasks, 300), *known = tasks_find_process(tasks, 100);
    assert_non_null(process);
    assert_true(process->first == LEADER_MISSING && known->first == LEADER_ADMITTED);
    assert_null(process->leader);
    process_set_waited(process, 0, 1000000);
    process_set_waited(known, 0, 1000000);
    process->clock_ns = known->clock_ns = 10;
    assert_false(process_exit_cost(process, &cost));
    assert_true(process_exit_cost(known, &cost));
    tasks_task_ended(tasks, tasks_find(tasks, 301), true);
    assert_int_equal(tasks_find_process(tasks, 300)->ended_tasks, 1);
}

/* Whichever allocation fails: a task is there with its process and its events, or not at all, which is counted. */
/* It came first, and is not known by two entries when its process comes. */
static void process_of_a_known_thread(void **state)
{
    (void)state;
    struct task *thread = stage_thread(&stage, 300, 301, T + 20, 1000);
    tasks->now_ns += 100 * 1000 * 1000;
    tasks_notify(tasks, NULL); /* it waits for its process no longer */
    thread = tasks_find(tasks, 301);
    assert_non_null(thread);
    struct process *process = thread->process;
    const struct task *first = stage_process(&stage, 300, 100, T + 10, 2000);
    assert_ptr_equal(first->process, process);
    assert_true(process->ppid == 100 && process->leader == first && process->start_ns == T + 10);
    /* A later process has only its number. */
    thread = stage_thread(&stage, 400, 401, T + 20, 1000);
    tasks->now_ns += 100 * 1000 * 1000;
    tasks_notify(tasks, NULL);
    process = tasks_find(tasks, 401)->process;
    assert_ptr_not_equal(stage_process(&stage, 400, 100, T + 30, 2000)->process, process);
}

static void tasks_for_which_there_is_no_memory(void **state)
{
    unsigned dropped = 0;
    int number = 0;
    (void)state;
    do {
        const pid_t pid = 500 + 2 * number;
        struct notification *notification = stage_notification(PINJECT_PROCESS, pid, pid, 100, T + 10);
        stage_events(&stage, notification, 10);
        strcpy(notification->comm, "new");
        was_denied = false;
        denied_allocation = ++number;
        tasks_admit(tasks, notification);
        denied_allocation = 0;
        assert_int_equal(tasks_find(tasks, pid) == NULL, tasks_find_process(tasks, pid) == NULL);
        dropped += tasks_find(tasks, pid) == NULL;
        assert_int_equal(tasks->seen + dropped, 1 + number);
    } while (was_denied);
    assert_in_range(dropped, 1, number - 1);
    /* A thread leaves its process alone. */
    struct notification *thread = stage_notification(PINJECT_THREAD, 100, 101, 1, T + 10);
    stage_events(&stage, thread, 10);
    strcpy(thread->comm, "new");
    denied_allocation = 1;
    tasks_admit(tasks, thread);
    assert_int_equal(denied_allocation, 0);
    assert_null(tasks_find(tasks, 101));
    assert_non_null(tasks_find_process(tasks, 100));
    dropped++;
    char wanted[128];
    snprintf(wanted, sizeof(wanted), "%u task dropped: the collector is out of memory|new\n", dropped);
    expect_losses(wanted);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(refusals),
        TEST(requests_of_tasks_that_were_attached_late),
        TEST(who_is_gone_is_named_by_his_own_user),
        TEST(a_report_that_is_older_than_its_task_is_ignored),
        TEST(program_that_cannot_be_injected),
        TEST(waits),
        TEST(other_users_tell_of_their_own),
        TEST(other_users_are_no_children_of_his),
        TEST(who_waits_for_whom),
        TEST(a_fork_before_an_exec),
        TEST(names_and_parents),
        TEST(thread_of_an_unknown_process),
        TEST(process_of_a_known_thread),
        TEST(tasks_for_which_there_is_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
