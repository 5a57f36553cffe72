/* SPDX-License-Identifier: MIT */
/* Whether a signal came to this process alone or to its group: with real signals, in a group of the test's own. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "collector/launch/witness.h"

/* The witness has half a second for an answer, which a loaded machine may not give it. */
enum { TRIES = 40 };

static const int signals[] = {SIGINT, SIGTERM, SIGUSR1};

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

static struct witness witness;

/* A child of ours, which blocks what we block, sends NUMBER to TO. */
static pid_t send_by_another(pid_t to, int number)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(kill(to, number) == 0 ? 0 : 1);
    MUST(waitpid(pid, &status, 0) == pid && status == 0);
    return pid;
}

/* What has come to us, as a signalfd tells it. */
static struct signalfd_siginfo receive(int number)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, number);
    MUST(sigwaitinfo(&set, &info) == number);
    return (struct signalfd_siginfo){.ssi_signo = (uint32_t)number, .ssi_pid = (uint32_t)info.si_pid};
}

/* Did the group have the signal that another process sends to TO? */
static bool was_sent_to_group(pid_t to, int number)
{
    pid_t sender = send_by_another(to, number);
    struct signalfd_siginfo info = receive(number);
    MUST((pid_t)info.ssi_pid == sender);
    return witness_has(&witness, &info);
}

static bool group_is_seen(int number)
{
    for (int i = 0; i < TRIES; i++)
        if (was_sent_to_group(0, number))
            return true;
    return false;
}

static void alone_or_group(void)
{
    for (unsigned i = 0; i < 3; i++) {
        MUST(!was_sent_to_group(getpid(), signals[i]));
        MUST(group_is_seen(signals[i]));
        MUST(!was_sent_to_group(getpid(), signals[i])); /* the one before is forgotten */
    }
    /* One question is one signal. */
    for (int i = 0;; i++) {
        MUST(i < TRIES);
        pid_t sender = send_by_another(0, SIGUSR1);
        struct signalfd_siginfo info = receive(SIGUSR1);
        MUST((pid_t)info.ssi_pid == sender);
        if (!witness_has(&witness, &info))
            continue;
        MUST(!witness_has(&witness, &info));
        break;
    }
}

/* The group got one of somebody else: ours was ours alone. And what it got is known by its number. */
static void signals_of_others(void)
{
    send_by_another(witness.pid, SIGTERM);
    MUST(!was_sent_to_group(getpid(), SIGTERM));
    pid_t sender = send_by_another(witness.pid, SIGINT);
    struct signalfd_siginfo info = {.ssi_signo = SIGTERM, .ssi_pid = (uint32_t)sender};
    MUST(!witness_has(&witness, &info));
    info.ssi_signo = SIGINT;
    for (int i = 0; !witness_has(&witness, &info); i++) {
        MUST(i < TRIES);
        info.ssi_pid = (uint32_t)send_by_another(witness.pid, SIGINT);
    }
}

/* Who does not answer is no witness; when it goes on, so do its answers. */
static void a_stopped_witness(void)
{
    int status;
    MUST(kill(witness.pid, SIGSTOP) == 0);
    MUST(waitpid(witness.pid, &status, WUNTRACED) == witness.pid && WIFSTOPPED(status));
    MUST(!was_sent_to_group(0, SIGUSR1));
    MUST(kill(witness.pid, SIGCONT) == 0);
    MUST(group_is_seen(SIGUSR1));
    MUST(kill(witness.pid, SIGKILL) == 0);
    MUST(!was_sent_to_group(0, SIGUSR1));
}

static void the_end(void)
{
    pid_t pid = witness.pid;
    MUST(pid > 0 && kill(pid, 0) == 0);
    witness_end(&witness);
    MUST(kill(pid, 0) < 0 && errno == ESRCH);
    MUST(witness.pid == 0 && !witness.page);
    MUST(!was_sent_to_group(0, SIGUSR1));
    witness_end(&witness);
    witness_start(&witness);
    MUST(group_is_seen(SIGUSR1));
}

/* No file of the command's stays open because of it: the end of a pipe that it had is seen. */
static void nothing_is_open(void)
{
    int ends[2];
    char byte;
    witness_end(&witness);
    MUST(pipe(ends) == 0);
    witness_start(&witness);
    close(ends[1]);
    MUST(witness.pid > 0 && read(ends[0], &byte, 1) == 0);
    MUST(kill(witness.pid, 0) == 0);
}

/* A process with a witness in a group of its own. Returns the witness' number. */
static pid_t in_group(void (*test)(void))
{
    int ends[2], status;
    pid_t number = 0;
    fflush(NULL);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        sigset_t set;
        sigemptyset(&set);
        for (unsigned i = 0; i < 3; i++)
            sigaddset(&set, signals[i]);
        alarm(120);
        MUST(setpgid(0, 0) == 0 && sigprocmask(SIG_BLOCK, &set, NULL) == 0);
        witness_start(&witness);
        test();
        MUST(write(ends[1], &witness.pid, sizeof(witness.pid)) == sizeof(witness.pid));
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], &number, sizeof(number)), sizeof(number));
    close(ends[0]);
    return number;
}

/* The witness ends with its parent, whoever inherits it then: that is this process. */
static void expect_end_of(pid_t pid)
{
    int status;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : status == 0);
}

static void test_alone_or_group(void **state)
{
    (void)state;
    expect_end_of(in_group(alone_or_group));
}

static void test_signals_of_others(void **state)
{
    (void)state;
    expect_end_of(in_group(signals_of_others));
}

static void test_stopped_witness(void **state)
{
    (void)state;
    expect_end_of(in_group(a_stopped_witness));
}

static void test_end(void **state)
{
    (void)state;
    expect_end_of(in_group(the_end));
}

static void test_nothing_is_open(void **state)
{
    (void)state;
    expect_end_of(in_group(nothing_is_open));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone_or_group),  cmocka_unit_test(test_signals_of_others),
        cmocka_unit_test(test_stopped_witness), cmocka_unit_test(test_end),
        cmocka_unit_test(test_nothing_is_open),
    };
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
