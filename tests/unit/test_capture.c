/* SPDX-License-Identifier: MIT */
/* pstack/capture.c: children of ours that end while they are traced. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_goes_on),
        cmocka_unit_test(a_childs_end_is_left_to_be_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
