/* SPDX-License-Identifier: MIT */
/* Which signals are taken, which go on to the command and how, and how the collector stops with it. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "collector/launch/signals.h"
#include "common/report.h"

enum { ROOT = 4000, SENDER = 5000 };

static struct signals signals;

/* What was done, in words. */
static char said[1024];

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list list;
    size_t used = strlen(said);
    va_start(list, format);
    vsnprintf(said + used, sizeof(said) - used, format, list);
    va_end(list);
}

static void expect_said(const char *wanted)
{
    assert_string_equal(said, wanted);
    said[0] = '\0';
}

/* ---- In the place of others ---- */

static unsigned signalfds, signalfd_fails; /* the call that fails, from 1 */
static sigset_t taken[2];

int __real_signalfd(int fd, const sigset_t *set, int flags);
int __wrap_signalfd(int fd, const sigset_t *set, int flags);
int __wrap_signalfd(int fd, const sigset_t *set, int flags)
{
    assert_int_equal(fd, -1);
    assert_int_equal(flags, SFD_CLOEXEC | SFD_NONBLOCK);
    assert_true(signalfds < 2);
    taken[signalfds++] = *set;
    if (signalfds == signalfd_fails) {
        errno = EMFILE;
        return -1;
    }
    return __real_signalfd(fd, set, flags);
}

static bool leads;

pid_t __wrap_getsid(pid_t pid);
pid_t __wrap_getsid(pid_t pid)
{
    assert_int_equal(pid, 0);
    return leads ? getpid() : 1;
}

static struct sigaction at_kill;

int __wrap_kill(pid_t pid, int number);
int __wrap_kill(pid_t pid, int number)
{
    if (pid == getpid())
        sigaction(number, NULL, &at_kill);
    say("kill %s %d\n", pid == getpid() ? "us" : pid == ROOT ? "root" : pid == -ROOT ? "group" : "?", number);
    return 0;
}

int __wrap_raise(int number);
int __wrap_raise(int number)
{
    say("raise %d\n", number);
    return 0;
}

/* The command has as many threads as this test, one; or none can be seen. */
static bool threads_are_seen;

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_opendir(const char *path)
{
    assert_string_equal(path, "/proc/4000/task");
    return threads_are_seen ? __real_opendir("/proc/self/task") : NULL;
}

/* Its status, and its system call; NULL: it has none, or has ended. */
static const char *proc_status, *proc_syscall;

char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *ret_size);
char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *ret_size)
{
    char status[48], call[48];
    snprintf(status, sizeof(status), "task/%d/status", getpid());
    snprintf(call, sizeof(call), "task/%d/syscall", getpid());
    assert_int_equal(pid, ROOT);
    assert_true(limit > 1000 && !ret_size);
    assert_true(!strcmp(name, status) || !strcmp(name, call));
    const char *text = !strcmp(name, status) ? proc_status : proc_syscall;
    return text ? strdup(text) : NULL;
}

static bool queue_fails;

long __wrap_syscall(long number, long pid, long signal, const siginfo_t *info);
long __wrap_syscall(long number, long pid, long signal, const siginfo_t *info)
{
    assert_int_equal(number, SYS_rt_sigqueueinfo);
    assert_int_equal(info->si_signo, signal);
    assert_int_equal(info->si_code, SI_QUEUE);
    say("queue %s %d from %d of %u: %p\n", pid == ROOT ? "root" : "?", (int)signal, (int)info->si_pid, info->si_uid,
        info->si_value.sival_ptr);
    errno = EPERM;
    return queue_fails ? -1 : 0;
}

/* What the command has stopped by, 0: it runs. */
static int stopped, waitid_status;

int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options);
int __wrap_waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    assert_int_equal(type, P_PID);
    assert_int_equal(id, ROOT);
    assert_int_equal(options, WSTOPPED | WNOHANG);
    if (stopped)
        info->si_pid = ROOT;
    info->si_status = stopped;
    return waitid_status;
}

int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    if (how == SIG_UNBLOCK)
        for (int i = 1; i <= 64; i++)
            if (sigismember(set, i) > 0)
                say("unblock %d\n", i);
    return __real_pthread_sigmask(how, set, old);
}

static bool group;
static unsigned asked;

bool __wrap_witness_has(struct witness *witness, const struct signalfd_siginfo *info);
bool __wrap_witness_has(struct witness *witness, const struct signalfd_siginfo *info)
{
    assert_ptr_equal(witness, &signals.witness);
    assert_non_null(info);
    asked++;
    return group;
}

void __wrap_witness_start(struct witness *witness);
void __wrap_witness_start(struct witness *witness)
{
    assert_ptr_equal(witness, &signals.witness);
    say("witness\n");
}

void __wrap_witness_end(struct witness *witness);
void __wrap_witness_end(struct witness *witness)
{
    assert_ptr_equal(witness, &signals.witness);
    say("no witness\n");
}

/* ---- Tests ---- */

static sigset_t before;

static int set_up(void **state)
{
    (void)state;
    sigprocmask(SIG_SETMASK, NULL, &before);
    signalfds = signalfd_fails = asked = 0;
    leads = group = queue_fails = false;
    stopped = waitid_status = 0;
    said[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return sigprocmask(SIG_SETMASK, &before, NULL);
}

static bool is_closed(int fd)
{
    return fcntl(fd, F_GETFD) < 0;
}

static void all_signals_but_faults_are_taken(void **state)
{
    sigset_t now;
    (void)state;
    sigset_t some = before;
    sigaddset(&some, SIGUSR2);
    sigprocmask(SIG_SETMASK, &some, NULL);
    for (int i = 0; i < 2; i++) {
        leads = i;
        signalfds = 0;
        sigprocmask(SIG_SETMASK, &some, NULL);
        assert_int_equal(signals_init(&signals), 0);
        assert_int_equal(signals.leads, i);
        assert_true(signals.ends >= 0 && signals.others >= 0 && signals.ends != signals.others);
        assert_int_equal(signals.root, 0);
        assert_true(sigismember(&signals.old_mask, SIGUSR2) && !sigismember(&signals.old_mask, SIGINT));
        sigprocmask(SIG_SETMASK, NULL, &now);
        for (int number = 1; number < 32; number++) {
            bool fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
                         number == SIGTRAP || number == SIGSYS;
            bool end = number == SIGINT || number == SIGQUIT || number == SIGTERM || number == SIGHUP;
            assert_int_equal(sigismember(&taken[0], number), end);
            assert_int_equal(sigismember(&taken[1], number), !end && !fault);
            if (number != SIGKILL && number != SIGSTOP)
                assert_int_equal(sigismember(&now, number), !fault);
        }
        int ends = signals.ends, others = signals.others;
        signals_release(&signals);
        expect_said("no witness\n");
        assert_true(is_closed(ends) && is_closed(others));
        assert_true(signals.ends == -1 && signals.others == -1);
        signals_release(&signals); /* nothing is there to close */
        expect_said("no witness\n");
    }
}

static void no_descriptors(void **state)
{
    (void)state;
    for (signalfd_fails = 1; signalfd_fails <= 2; signalfd_fails++) {
        signalfds = 0;
        int next = dup(0);
        close(next);
        check_capture();
        int status = signals_init(&signals);
        const char *text = check_captured();
        assert_int_equal(status, -EMFILE);
        assert_string_equal(text, "pinject-run: cannot receive signals: Too many open files\n");
        assert_int_equal(signalfds, signalfd_fails);
        assert_true(signals.ends == -1 && signals.others == -1);
        int again = dup(0);
        assert_int_equal(again, next); /* the first one is not left open */
        close(again);
        expect_said("no witness\n");
    }
}

static void pass(int number, int code, bool from_tree)
{
    struct signalfd_siginfo info = {
        .ssi_signo = (uint32_t)number, .ssi_code = code, .ssi_pid = SENDER, .ssi_uid = 77, .ssi_ptr = 0x1234};
    unsigned asked_before = asked;
    signals_pass(&signals, &info, from_tree);
    assert_int_equal(asked, asked_before + 1); /* whatever becomes of it: the witness forgets it */
}

static void begin(bool apart)
{
    signals = (struct signals){.ends = -1, .others = -1, .leads = leads};
    signals_set_root(&signals, ROOT, apart);
    expect_said("witness\n");
    assert_int_equal(signals.root, ROOT);
    assert_int_equal(signals.apart, apart);
}

static void sent_to_us_goes_to_the_command(void **state)
{
    (void)state;
    begin(false);
    pass(SIGTERM, SI_USER, false);
    expect_said("kill root 15\n");
    pass(SIGUSR1, SI_TKILL, false);
    expect_said("kill root 10\n");
    pass(SIGTERM, SI_USER, true); /* of somebody whom the command started */
    expect_said("");
    struct signalfd_siginfo own = {.ssi_signo = SIGTERM, .ssi_code = SI_USER, .ssi_pid = (uint32_t)getpid()};
    signals_pass(&signals, &own, false);
    expect_said("");
    /* Its group got it already, where it is in ours. */
    group = true;
    pass(SIGTERM, SI_USER, false);
    expect_said("");
    begin(true);
    pass(SIGTERM, SI_USER, false);
    expect_said("kill group 15\n");
}

/* Where it would only die of it, and only what comes to us alone. */
static void quit_asks_for_stacks(void **state)
{
    static const char dies[] = "Name:\tx\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000004\n"
                               "SigCgt:\tfffffffffffffffb\n";
    static const char *const taken_by[] = {"Name:\tx\nSigBlk:\t0000000000000000\nSigCgt:\t0000000000000004\nx",
                                           "Name:\tx\nSigBlk:\t0000000000000004\nSigCgt:\t0000000000000000\nx",
                                           "SigBlk:\t0\nSigCgt:\t0", ""};
    char in_sigwait[32];
    struct signalfd_siginfo info = {.ssi_signo = SIGQUIT, .ssi_code = SI_USER, .ssi_pid = SENDER};
    (void)state;
    begin(false);
    threads_are_seen = true;
    proc_status = dies;
    assert_false(signals_pass(&signals, &info, false));
    expect_said("kill root 3\n"); /* they cannot be shown here */
    signals.stacks = true;
    assert_true(signals_pass(&signals, &info, false));
    proc_syscall = "running\n";
    assert_true(signals_pass(&signals, &info, false));
    assert_false(signals_pass(&signals, &info, true));
    group = true;
    assert_false(signals_pass(&signals, &info, false));
    expect_said("");
    group = false;
    info.ssi_signo = SIGTERM;
    assert_false(signals_pass(&signals, &info, false));
    expect_said("kill root 15\n");
    info.ssi_signo = SIGQUIT;
    for (size_t i = 0; i < sizeof(taken_by) / sizeof(taken_by[0]); i++) {
        proc_status = taken_by[i];
        assert_false(signals_pass(&signals, &info, false));
        expect_said("kill root 3\n");
    }
    proc_status = dies;
    snprintf(in_sigwait, sizeof(in_sigwait), "%d 0x7ffc 0x7ffd\n", SYS_rt_sigtimedwait);
    proc_syscall = in_sigwait;
    assert_false(signals_pass(&signals, &info, false));
    expect_said("kill root 3\n");
    proc_syscall = NULL;
    threads_are_seen = false;
    assert_false(signals_pass(&signals, &info, false));
    expect_said("kill root 3\n");
}

static void what_the_sender_put_in_goes_along(void **state)
{
    (void)state;
    begin(false);
    pass(SIGUSR1, SI_QUEUE, false);
    expect_said("queue root 10 from 5000 of 77: 0x1234\n");
    queue_fails = true;
    pass(SIGUSR1, SI_QUEUE, false);
    expect_said("queue root 10 from 5000 of 77: 0x1234\nkill root 10\n");
    begin(true);
    group = true;
    pass(SIGUSR1, SI_QUEUE, false); /* to all of a group none can be queued */
    expect_said("kill group 10\n");
}

/* The kernel's own: the terminal's reach the command by themselves, but a hangup is told to the leader alone. */
static void signals_of_the_kernel(void **state)
{
    (void)state;
    begin(false);
    pass(SIGINT, SI_KERNEL, false);
    pass(SIGHUP, SI_KERNEL, false);
    expect_said("");
    leads = true;
    begin(false);
    pass(SIGINT, SI_KERNEL, false);
    expect_said("");
    pass(SIGHUP, SI_KERNEL, false);
    expect_said("kill root 1\n");
    pass(SIGCONT, SI_KERNEL, false);
    expect_said("kill root 18\n");
    group = true;
    pass(SIGHUP, SI_KERNEL, false);
    expect_said("");
    begin(true);
    pass(SIGHUP, SI_KERNEL, false);
    group = false;
    pass(SIGHUP, SI_KERNEL, false);
    expect_said("");
}

/* The group got the other kind after it: the command has both, and the witness has forgotten the first one. */
static void what_is_taken_back_does_not_go_on(void **state)
{
    static const int stops[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    sigset_t all, old, one;
    (void)state;
    begin(false);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    for (int i = 0; i < 3; i++) {
        int pair[] = {SIGCONT, stops[i]};
        for (int later = 0; later < 2; later++) {
            char wanted[64];
            sigemptyset(&one);
            sigaddset(&one, pair[later]);
            pthread_kill(pthread_self(), pair[later]);
            pass(pair[!later], SI_USER, false);
            expect_said("");
            pass(SIGTERM, SI_USER, false);
            expect_said("kill root 15\n");
            assert_int_equal(sigwaitinfo(&one, NULL), pair[later]);
            pass(pair[later], SI_USER, false);
            snprintf(wanted, sizeof(wanted), "kill root %d\n", pair[later]);
            expect_said(wanted);
        }
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
}

static void stops_as_the_command_did(void **state)
{
    static const int terminals[] = {SIGTSTP, SIGTTIN, SIGTTOU};
    struct sigaction ignored = {.sa_handler = SIG_IGN}, now;
    sigset_t all, pending, mask;
    (void)state;
    signals = (struct signals){.ends = -1, .others = -1};
    stopped = SIGTSTP;
    signals_stop_with_root(&signals); /* there is no command */
    expect_said("");
    begin(false);
    stopped = 0;
    signals_stop_with_root(&signals); /* it runs */
    stopped = SIGTSTP;
    waitid_status = -1;
    signals_stop_with_root(&signals); /* it is gone */
    expect_said("");
    waitid_status = 0;
    stopped = SIGSTOP;
    signals_stop_with_root(&signals);
    expect_said("raise 19\n");
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int i = 0; i < 3; i++) {
        char wanted[64];
        stopped = terminals[i];
        struct sigaction old;
        sigaction(stopped, NULL, &old);
        assert_int_equal(pthread_kill(pthread_self(), stopped), 0); /* the terminal's, to us too */
        signals_stop_with_root(&signals);
        snprintf(wanted, sizeof(wanted), "kill us %d\nunblock %d\n", stopped, stopped);
        expect_said(wanted);
        assert_ptr_equal(at_kill.sa_handler, SIG_DFL); /* it stops us */
        sigpending(&pending);
        assert_false(sigismember(&pending, stopped)); /* once */
        sigprocmask(SIG_SETMASK, NULL, &mask);
        assert_true(sigismember(&mask, stopped));
        /* How it was handled before is how it is handled then. */
        sigaction(stopped, &ignored, NULL);
        signals_stop_with_root(&signals);
        assert_ptr_equal(at_kill.sa_handler, SIG_DFL);
        sigaction(stopped, &old, &now);
        assert_ptr_equal(now.sa_handler, SIG_IGN);
        said[0] = '\0';
    }
}

int main(void)
{
    report_program("pinject-run");
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_signals_but_faults_are_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_descriptors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sent_to_us_goes_to_the_command, set_up, tear_down),
        cmocka_unit_test_setup_teardown(quit_asks_for_stacks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_the_sender_put_in_goes_along, set_up, tear_down),
        cmocka_unit_test_setup_teardown(signals_of_the_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_taken_back_does_not_go_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stops_as_the_command_did, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
