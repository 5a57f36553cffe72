/* SPDX-License-Identifier: MIT */
/* The event loop from its begin to its end: bare sessions, whose tasks ask, and commands that are not profiled. */
#include "worker_fake.h"

#include <fcntl.h>
#include <pinject/format.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "collector/collect.h"
#include "collector/tasks/process.h"
#include "common/clock.h"
#include "common/report.h"
#include "test_result_kit.h"

static struct fake fake;
static struct signals signals;
static struct collect_args args;
static struct outcome outcome;
static char directory[] = "/tmp/pinject-unit-XXXXXX";
static int ends; /* here signals that end us are told */

/* ---- In the place of memory and descriptors that end ---- */

static size_t denied_size; /* of which nothing is given */
static bool denies_next, has_epoll = true;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    const bool denied = denies_next || size == denied_size;
    denies_next = false;
    return denied ? NULL : __real_calloc(count, size);
}

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_create1(int flags)
{
    errno = EMFILE;
    return has_epoll ? __real_epoll_create1(flags) : -1;
}

/* Of its CPU time, which nobody tells any more once it was waited for. */
static unsigned asked_dead;

void __real_process_ask_clock(struct process *process);
void __wrap_process_ask_clock(struct process *process);
void __wrap_process_ask_clock(struct process *process)
{
    asked_dead += process_is_dead(process) && kill(process->pid, 0) == 0;
    __real_process_ask_clock(process);
}

/* ---- The stage ---- */

static int set_up(void **state)
{
    int told[2];
    (void)state;
    fake_open(&fake);
    fake.settings.outfile = "out";
    fake.settings.mode = 0600;
    if (pipe2(told, O_CLOEXEC | O_NONBLOCK))
        return -1;
    ends = told[1];
    signals = (struct signals){.ends = told[0], .others = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    args = (struct collect_args){.session = &fake.session, .root_pidfd = -1, .signals = &signals};
    return results_new(&fake.session, &args.results);
}

static int tear_down(void **state)
{
    (void)state;
    outcome_release(&outcome);
    results_free(args.results);
    close(signals.ends);
    close(signals.others);
    close(ends);
    fake_close(&fake);
    return system("rm -f out.*");
}

static bool has_events(void)
{
    return fake.config.source == PINJECT_SOURCE_PERF;
}

/* As the preload object: asks for events, works, and does what AFTER says. */
static pid_t start_task(void (*after)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, 0, PINJECT_PROCESS);
        fake_post(fake.session.own->requests, 0);
        int answer = fake_answer(slot);
        fake_work();
        after();
        _exit(answer < 0 ? 1 : 0);
    }
    return pid;
}

static void end_at_once(void)
{
}

static void tell_signal(void)
{
    const struct signalfd_siginfo info = {.ssi_signo = SIGTERM};
    (void)!write(ends, &info, sizeof(info));
    pause();
}

static void bare_session_ends_with_its_last_task(void **state)
{
    struct kit_file file;
    char path[64];
    int status;
    (void)state;
    if (!has_events())
        skip();
    fake.settings.bare = true;
    assert_int_equal(service_start_workers(&fake.session), 0);
    pid_t pid = start_task(end_at_once);
    assert_int_equal(collect_run(&args, &outcome), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(outcome.tasks == 1 && outcome.processes == 1 && outcome.threads == 0 && outcome.active_max == 1);
    assert_true(outcome.alive == 0 && outcome.lost == 0 && outcome.uncounted == 0);
    assert_false(outcome.root_ended); /* nobody waited for it */
    /* Of the 5 ms of fake_work(): the scheduler's clock has the switches too. */
    assert_in_range(outcome.attributed_ns, 4000000, 5000000000);
    assert_true(outcome.collector_ns > 0 && outcome.wall_ns >= outcome.attributed_ns);
    assert_int_equal(fake.session.segment->closed, 1);
    snprintf(path, sizeof(path), "out.%d.%d", pid, pid);
    assert_true(kit_read(path, &file));
    const struct pinject_item_task *task = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(task->flags & (PINJECT_TASK_ENDED | PINJECT_TASK_ROOT), PINJECT_TASK_ENDED | PINJECT_TASK_ROOT);
    assert_int_equal(task->ppid, getpid());
    assert_int_equal(task->samples, outcome.samples);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], outcome.samples);
    const struct pinject_item_coverage *coverage = kit_item(&file, PINJECT_ITEM_COVERAGE, 0);
    assert_true(coverage->tasks == 1 && coverage->files == 1 && coverage->complete == 1);
    assert_int_equal(coverage->attributed_ns, outcome.attributed_ns);
    assert_int_equal(coverage->cpu_ns, outcome.cpu_ns);
    kit_file_free(&file);
}

static void bare_session_ends_by_a_signal(void **state)
{
    (void)state;
    if (!has_events())
        skip();
    fake.settings.bare = true;
    assert_int_equal(service_start_workers(&fake.session), 0);
    pid_t pid = start_task(tell_signal);
    assert_int_equal(collect_run(&args, &outcome), 0);
    assert_true(outcome.tasks == 1 && outcome.alive == 1);
    assert_int_equal(results_written(args.results), 1);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Ten seconds, which are over. */
static void bare_session_to_which_nobody_comes(void **state)
{
    (void)state;
    fake.session.start_ns -= 10000000000;
    assert_int_equal(collect_run(&args, &outcome), 0);
    assert_int_equal(outcome.tasks, 0);
    assert_int_equal(results_written(args.results), 0);
    assert_int_equal(fake.session.segment->closed, 1);
}

static pid_t start_command(int gate[2], const char *script)
{
    char byte;
    assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (read(gate[0], &byte, 1) == 1)
            execl("/bin/sh", "sh", "-c", script, NULL);
        _exit(99);
    }
    args.root = pid;
    args.root_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    args.root_start_ns = fake.session.start_ns;
    return pid;
}

static void let_go(int gate[2])
{
    assert_int_equal(write(gate[1], "x", 1), 1);
    close(gate[0]);
    close(gate[1]);
}

static void command_whose_events_are_refused(void **state)
{
    int gate[2];
    (void)state;
    start_command(gate, "exit 5");
    let_go(gate);
    assert_int_equal(collect_run(&args, &outcome), 0);
    assert_true(outcome.root_ended);
    assert_int_equal(outcome.root_status, 5 << 8);
    assert_int_equal(outcome.tasks, 0);
    assert_int_equal(outcome.missed_count, 1);
    assert_string_equal(outcome.missed[0].reason, "the command was not profiled: the kernel refused its events");
    assert_int_equal(outcome.missed[0].count, 1);
    assert_true(clock_ns_of_usage(&outcome.tree) > 0);
    close(args.root_pidfd);
}

static unsigned looks;
static uint64_t look_ends_ns;
static int left_to_wait_for; /* the command's end was still there when the look was over */

/* The command ends meanwhile, and some sweeps pass. */
static int begin_a_look(pid_t *pids, size_t count, int unwinder)
{
    looks++;
    assert_int_equal(count, 1);
    assert_int_equal(pids[0], args.root);
    assert_int_equal(unwinder, 2);
    free(pids);
    kill(args.root, SIGTERM);
    look_ends_ns = clock_ns(CLOCK_MONOTONIC) + 350000000;
    return 0;
}

static bool look_is_over(void)
{
    siginfo_t info = {.si_pid = 0};
    if (clock_ns(CLOCK_MONOTONIC) < look_ends_ns)
        return false;
    left_to_wait_for = waitid(P_PID, (id_t)args.root, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid;
    return true;
}

/* Nobody else waits for the command: what its tracer is to be told would be taken away. */
static void stacks_are_shown_once(void **state)
{
    int gate[2];
    (void)state;
    start_command(gate, "while :; do :; done");
    fake.settings.stacks_after_ns = 1000000;
    fake.settings.unwinder = 2;
    static const struct collect_stacks stacks = {begin_a_look, look_is_over};
    args.stacks = &stacks;
    let_go(gate);
    assert_int_equal(collect_run(&args, &outcome), 0);
    assert_int_equal(looks, 1);
    assert_true(left_to_wait_for);
    assert_int_equal(outcome.root_status, SIGTERM);
    close(args.root_pidfd);
    args.stacks = NULL;
    fake.settings.stacks_after_ns = 0;
    fake.settings.unwinder = 0;
}

/* Started without stdin, the loop gets its number: a descriptor like the others, and closed at the end. */
static void descriptor_of_stdin(void **state)
{
    int gate[2];
    (void)state;
    start_command(gate, "exit 5");
    let_go(gate);
    const int saved = fcntl(0, F_DUPFD_CLOEXEC, 100);
    close(0);
    const unsigned before = check_open_fds();
    int status = collect_run(&args, &outcome);
    const unsigned after = check_open_fds();
    assert_true(saved < 0 || dup2(saved, 0) == 0);
    close(saved);
    assert_int_equal(status, 0);
    assert_int_equal(outcome.root_status, 5 << 8);
    assert_int_equal(after, before);
    close(args.root_pidfd);
}

/* What it is told by its launcher, since no preload object in it does. */
static void command_that_cannot_be_injected(void **state)
{
    static char name[] = "/opt/name", option[] = "-c", script[] = "exit 6";
    static char *const closed[] = {name, option, script, NULL};
    int gate[2];
    char path[64];
    struct kit_file file;
    (void)state;
    if (!has_events())
        skip();
    pid_t pid = start_command(gate, script);
    assert_int_equal(attach_task(&fake.session, pid, ATTACH_ON_EXEC, &args.root_events), 0);
    args.root_non_injectable = closed;
    args.root_startup_ns = 12345;
    let_go(gate);
    asked_dead = 0;
    assert_int_equal(collect_run(&args, &outcome), 0);
    assert_int_equal(outcome.root_status, 6 << 8);
    assert_int_equal(outcome.tasks, 1);
    assert_true(asked_dead > 0);
    snprintf(path, sizeof(path), "out.%d.%d", pid, pid);
    assert_true(kit_read(path, &file));
    const struct pinject_item_task *task = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(task->kind, PINJECT_ARM);
    assert_int_equal(task->startup_ns, 12345);
    assert_int_equal(task->ppid, getpid());
    assert_int_equal(task->status, 6 << 8);
    const struct pinject_item_generation *generation = kit_item(&file, PINJECT_ITEM_GENERATION, 0);
    assert_int_equal(generation->arguments, 3);
    const char *text = (const char *)(generation + 1);
    static const char wanted[] = "/opt/name\0-c\0exit 6";
    assert_string_equal(text, "sh");
    text += strlen(text) + 1;
    text += strlen(text) + 1; /* what the kernel says was mapped: a shell of any name */
    assert_memory_equal(text, wanted, sizeof(wanted));
    kit_file_free(&file);
    close(args.root_pidfd);
}

/* The command runs on, and its end is met. */
static void session_that_cannot_collect(void **state)
{
    int gate[2];
    (void)state;
    start_command(gate, "exit 7");
    let_go(gate);
    struct signals none = {.ends = 1 << 20, .others = -1};
    args.signals = &none;
    check_capture();
    int status = collect_run(&args, &outcome);
    assert_string_equal(check_captured(),
                        "pinject-run: cannot collect: Bad file descriptor; the command continues without a profile\n");
    assert_int_equal(status, -EBADF);
    assert_true(outcome.root_ended);
    assert_int_equal(outcome.root_status, 7 << 8);
    assert_int_equal(fake.session.segment->closed, 1);
    close(args.root_pidfd);
}

static void expect_no_session(int error, const char *message)
{
    int gate[2];
    pid_t pid = start_command(gate, "exit 7");
    assert_int_equal(attach_task(&fake.session, pid, ATTACH_ON_EXEC, &args.root_events), has_events() ? 0 : -ENOENT);
    let_go(gate);
    denies_next = error == -ENOMEM;
    has_epoll = error != -EMFILE;
    check_capture();
    int status = collect_run(&args, &outcome);
    has_epoll = true;
    assert_string_equal(check_captured(), message);
    assert_int_equal(status, error);
    assert_true(outcome.root_ended);
    assert_int_equal(outcome.root_status, 7 << 8);
    assert_true(clock_ns_of_usage(&outcome.tree) > 0);
    assert_int_equal(fake.session.segment->closed, 1);
    assert_int_equal(outcome.tasks, 0);
    close(args.root_pidfd);
}

static void session_without_descriptors(void **state)
{
    (void)state;
    if (!has_events())
        skip();
    expect_no_session(-EMFILE, "pinject-run: cannot collect: Too many open files; the command continues without a "
                               "profile\n");
}

static void session_without_memory(void **state)
{
    (void)state;
    if (!has_events())
        skip();
    expect_no_session(-ENOMEM, "pinject-run: cannot collect: Cannot allocate memory; the command continues without a "
                               "profile\n");
}

/* There is no memory for the command's task alone. */
static void command_for_which_there_is_no_memory(void **state)
{
    int gate[2];
    (void)state;
    if (!has_events())
        skip();
    pid_t pid = start_command(gate, "exit 8");
    assert_int_equal(attach_task(&fake.session, pid, ATTACH_ON_EXEC, &args.root_events), 0);
    let_go(gate);
    denied_size = sizeof(struct notification);
    int status = collect_run(&args, &outcome);
    denied_size = 0;
    assert_int_equal(status, 0);
    assert_int_equal(outcome.root_status, 8 << 8);
    assert_int_equal(outcome.tasks, 0);
    assert_int_equal(outcome.missed_count, 1);
    assert_string_equal(outcome.missed[0].reason, "the command was not profiled: the collector was out of memory");
    close(args.root_pidfd);
}

/* Somebody ignores SIGCHLD for us: nobody can be waited for. The session ends all the same. */
static void command_that_nobody_can_wait_for(void **state)
{
    int gate[2];
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    start_command(gate, "exit 0");
    let_go(gate);
    int status = collect_run(&args, &outcome);
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(status, 0);
    assert_true(outcome.root_ended);
    assert_int_equal(outcome.root_status, 0);
    assert_int_equal(clock_ns_of_usage(&outcome.tree), 0);
    close(args.root_pidfd);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    report_program("pinject-run");
    if (!mkdtemp(directory) || chdir(directory))
        return 1;
    const struct CMUnitTest tests[] = {
        TEST(bare_session_ends_with_its_last_task),
        TEST(bare_session_ends_by_a_signal),
        TEST(bare_session_to_which_nobody_comes),
        TEST(command_whose_events_are_refused),
        TEST(descriptor_of_stdin),
        TEST(stacks_are_shown_once),
        TEST(command_that_cannot_be_injected),
        TEST(session_that_cannot_collect),
        TEST(session_without_descriptors),
        TEST(session_without_memory),
        TEST(command_for_which_there_is_no_memory),
        TEST(command_that_nobody_can_wait_for),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return chdir("/") || rmdir(directory) ? 1 : failed;
}
