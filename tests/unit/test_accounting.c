/* SPDX-License-Identifier: MIT */
/* The kernel's accounting of tasks that end, against what wait() says of them. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/system/accounting.h"

/* Only root of the first namespaces may listen. */
static void open_or_skip(struct accounting *accounting)
{
    const int status = accounting_open(accounting);
    if (status == 0)
        return;
    assert_int_equal(accounting->fd, -1);
    if (geteuid() == 0)
        assert_true(status == -EINVAL || status == -EPERM || status == -ENOENT || status == -ECONNREFUSED);
    else
        assert_int_equal(status, -EPERM);
    skip();
}

static void test_an_end(void **state)
{
    (void)state;
    struct accounting accounting;
    struct accounting_task task = {0};
    struct rusage usage;
    open_or_skip(&accounting);
    const pid_t pid = fork();
    if (pid == 0) {
        for (volatile long i = 0; i < 30000000; i++)
            ;
        for (int i = 0; i < 10; i++)
            usleep(100);
        _exit(0);
    }
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    while (task.tid != pid)
        assert_int_equal(accounting_next(&accounting, &task), 1);
    const uint64_t used_ns = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000000 +
                             (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
    assert_true(task.cpu_ns <= used_ns && task.cpu_ns > used_ns * 8 / 10);
    assert_true(task.alive_ns >= task.cpu_ns && task.ran_ns == task.cpu_ns);
    assert_true(task.switches >= 10 && task.switches <= (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw));
    assert_true(task.minor_faults > 0 && task.minor_faults <= (uint64_t)usage.ru_minflt);
    assert_true(task.major_faults <= (uint64_t)usage.ru_majflt);
    accounting_close(&accounting);
    accounting_close(&accounting);
    assert_int_equal(accounting.fd, -1);
}

static void test_nothing_yet(void **state)
{
    (void)state;
    struct accounting accounting;
    struct accounting_task task;
    open_or_skip(&accounting);
    int status;
    while ((status = accounting_next(&accounting, &task)) == 1) /* of the rest of the machine */
        ;
    assert_int_equal(status, 0);
    accounting_close(&accounting);
}

static void *end_at_once(void *argument)
{
    return argument;
}

/* The kernel tells a new socket what the last one of this process asked for, until it notices that that one is gone. */
static void test_opened_again(void **state)
{
    (void)state;
    struct accounting accounting;
    open_or_skip(&accounting);
    accounting_close(&accounting);
    const pid_t test = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (pid == 0 && getppid() == test) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
            pthread_join(thread, NULL);
    }
    if (pid == 0)
        _exit(0);
    int opened = 0;
    for (int i = 0; i < 500; i++)
        if (accounting_open(&accounting) == 0) {
            opened++;
            accounting_close(&accounting);
        }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(opened, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_end),
        cmocka_unit_test(test_nothing_yet),
        cmocka_unit_test(test_opened_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
