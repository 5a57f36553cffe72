/* SPDX-License-Identifier: MIT */
/* Does a worker's wake-up reach the programs of other sessions? With autogroups only where it may leave its group. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>

#include "collector/system/priority.h"

/* ---- In the place of the kernel ---- */

static const char *autogroups; /* what the file has; NULL: there is none */
static int policy, real_time;  /* this thread's, and what comes of another one */
static unsigned opened, closed;
enum { FILE_FD = 1 << 20 };

int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    assert_string_equal(path, "/proc/sys/kernel/sched_autogroup_enabled");
    assert_true(flags & O_CLOEXEC);
    errno = ENOENT;
    opened += autogroups != NULL;
    return autogroups ? FILE_FD : -1;
}

ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size)
{
    assert_int_equal(fd, FILE_FD);
    const size_t got = strlen(autogroups) < size ? strlen(autogroups) : size;
    memcpy(to, autogroups, got);
    return (ssize_t)got;
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    if (fd != FILE_FD)
        return __real_close(fd);
    closed++;
    return 0;
}

int __wrap_sched_getscheduler(pid_t pid);
int __wrap_sched_getscheduler(pid_t pid)
{
    assert_int_equal(pid, 0);
    return policy;
}

int __wrap_sched_setscheduler(pid_t pid, int to, const struct sched_param *param);
int __wrap_sched_setscheduler(pid_t pid, int to, const struct sched_param *param)
{
    assert_int_equal(pid, 0);
    assert_int_equal(param->sched_priority, to == SCHED_OTHER ? 0 : 1);
    if (to != SCHED_OTHER && real_time < 0) {
        errno = EPERM;
        return -1;
    }
    policy = to;
    return 0;
}

static void test_reach(void **state)
{
    static const struct {
        const char *autogroups;
        int policy, real_time;
        bool reaches;
    } cases[] = {
        {NULL, SCHED_OTHER, -1, true}, {"", SCHED_OTHER, -1, true},     {"0\n", SCHED_OTHER, -1, true},
        {"1\n", SCHED_FIFO, -1, true}, {"1\n", SCHED_OTHER, -1, false}, {"1\n", SCHED_OTHER, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        autogroups = cases[i].autogroups;
        policy = cases[i].policy;
        real_time = cases[i].real_time;
        if (priority_outruns_other_sessions() != cases[i].reaches)
            fail_msg("case %zu", i);
        assert_int_equal(policy, cases[i].policy); /* it was only a trial */
        assert_int_equal(opened, closed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reach)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
