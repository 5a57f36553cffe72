/* SPDX-License-Identifier: MIT */
/* pstack/capture.c: children of ours that are in a system call, or end, while they are traced. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pstack/capture.h"

static int at_interrupt; /* the signal that comes before the thread has stopped; 0: none */

long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data)
{
    siginfo_t info;
    if (request == PTRACE_INTERRUPT && at_interrupt) {
        kill(pid, at_interrupt);
        if (at_interrupt == SIGKILL)
            waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | __WALL);
    }
    return __real_ptrace(request, pid, address, data);
}

static struct capture capture;
static struct target target;
static bool done;

static void *look(void *argument)
{
    (void)argument;
    done = capture_stopped(&capture, &target, &target.threads[0], 4096);
    capture_settle(&capture);
    return NULL;
}

static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        for (volatile unsigned i = 0;; i++)
            ;
    assert_true(pid > 0);
    return pid;
}

/* In a thread of its own, as pstack_print() has it. */
static void look_at(pid_t pid)
{
    pthread_t thread;
    memset(&capture, 0, sizeof(capture));
    assert_int_equal(target_init(&target, pid), 0);
    assert_int_equal(target.ppid, getpid());
    assert_int_equal(target.thread_count, 1);
    assert_int_equal(pthread_create(&thread, NULL, look, NULL), 0);
    pthread_join(thread, NULL);
}

static void a_child_goes_on(void **state)
{
    int status;
    (void)state;
    at_interrupt = 0;
    pid_t pid = start_child();
    look_at(pid);
    if (target.threads[0].error == -EPERM) { /* no right to trace */
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        target_release(&target);
        skip();
    }
    assert_true(done);
    assert_int_equal(target.threads[0].look, LOOK_STOPPED);
    assert_true(target.threads[0].stack_size > 0);
    assert_int_equal(capture.pending_count, 0);
    assert_int_equal(waitpid(pid, &status, WNOHANG | WUNTRACED), 0); /* nothing of the stop is left */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, SIGKILL);
    target_release(&target);
}

/* Its end is for its parent, which is this process: not for the thread that traces. */
static void a_childs_end_is_left_to_be_waited_for(void **state)
{
    int status = 0;
    (void)state;
    at_interrupt = SIGKILL;
    pid_t pid = start_child();
    look_at(pid);
    assert_false(done);
    assert_true(target.threads[0].error == -ESRCH || target.threads[0].error == -EPERM);
    assert_int_equal(capture.pending_count, 0);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, SIGKILL);
    target_release(&target);
}

/* ---- In a system call ---- */

enum { WENT_ON = 3, INTERRUPTED, FAILED };

static int pipes[2], epoll;

static void on_signal(int number)
{
    (void)number;
}

/* Of those that fail with EINTR when they are stopped, and of those that the kernel begins anew. */
static int poll_events(void)
{
    struct epoll_event event;
    return (int)syscall(SYS_epoll_pwait, epoll, &event, 1, -1, NULL, 0);
}

static int read_byte(void)
{
    char byte;
    return (int)read(pipes[0], &byte, 1);
}

/* A child in CALL, of which the numbers of descriptors are known; it tells by its end what came of it. */
static pid_t start_call(int (*call)(void))
{
    assert_int_equal(pipe(pipes), 0);
    epoll = epoll_create1(0);
    assert_int_equal(epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &(struct epoll_event){.events = EPOLLIN}), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct sigaction action = {.sa_handler = on_signal};
        sigaction(SIGUSR1, &action, NULL);
        int result = call();
        _exit(result == 1 ? WENT_ON : result < 0 && errno == EINTR ? INTERRUPTED : FAILED);
    }
    assert_true(pid > 0);
    return pid;
}

/* Until it sleeps there. */
static void await_call(pid_t pid, long call, int first)
{
    char path[64], expected[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
    snprintf(expected, sizeof(expected), "%ld %#x ", call, (unsigned)first);
    while (strncmp(text, expected, strlen(expected)) != 0) {
        usleep(1000);
        FILE *file = fopen(path, "re");
        if (!file || !fgets(text, sizeof(text), file))
            text[0] = '\0';
        if (file)
            fclose(file);
    }
}

/* SIGNAL comes before the stop. STATUS: what the call comes to. */
static void check_call(int (*call)(void), long number, bool by_epoll, int signal, int status)
{
    int its;
    pid_t pid = start_call(call);
    const int first = by_epoll ? epoll : pipes[0];
    for (unsigned i = 0; i < 3; i++) {
        await_call(pid, number, first);
        at_interrupt = i == 2 ? signal : 0;
        look_at(pid);
        if (target.threads[0].error == -EPERM) { /* no right to trace */
            kill(pid, SIGKILL);
            waitpid(pid, &its, 0);
            target_release(&target);
            skip();
        }
        assert_true(done);
        if (at_interrupt == 0) {
            assert_true(target.threads[0].in_call);
            assert_int_equal(target.threads[0].call, number);
            assert_int_equal(target.threads[0].args[0], first);
        }
        target_release(&target);
    }
    at_interrupt = 0;
    if (status == WENT_ON)
        assert_int_equal(write(pipes[1], "x", 1), 1);
    assert_int_equal(waitpid(pid, &its, 0), pid);
    assert_true(WIFEXITED(its));
    assert_int_equal(WEXITSTATUS(its), status);
    close(pipes[0]);
    close(pipes[1]);
    close(epoll);
}

static void a_call_goes_on(void **state)
{
    (void)state;
    check_call(poll_events, SYS_epoll_pwait, true, 0, WENT_ON);
    check_call(read_byte, SYS_read, false, 0, WENT_ON);
    /* Nobody asks for this one. */
    check_call(poll_events, SYS_epoll_pwait, true, SIGURG, WENT_ON);
    check_call(read_byte, SYS_read, false, SIGURG, WENT_ON);
}

/* As it would have without us. */
static void a_handler_interrupts_it(void **state)
{
    (void)state;
    check_call(poll_events, SYS_epoll_pwait, true, SIGUSR1, INTERRUPTED);
    check_call(read_byte, SYS_read, false, SIGUSR1, INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_goes_on),
        cmocka_unit_test(a_childs_end_is_left_to_be_waited_for),
        cmocka_unit_test(a_call_goes_on),
        cmocka_unit_test(a_handler_interrupts_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
