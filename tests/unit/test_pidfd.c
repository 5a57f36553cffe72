/* SPDX-License-Identifier: MIT */
/* Whether two pidfds are of one process, also where the kernel does not tell. */
#include "check.h"

#include <signal.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/system/pidfd.h"

int __real_fstatfs(int fd, struct statfs *ret);
int __wrap_fstatfs(int fd, struct statfs *ret);

static bool is_old;

/* Before Linux 6.9 all pidfds were of one file system for files without a name. */
int __wrap_fstatfs(int fd, struct statfs *ret)
{
    const int status = __real_fstatfs(fd, ret);
    if (is_old)
        ret->f_type = 0x09041934;
    return status;
}

static void check_same(bool old)
{
    is_old = old;
    const pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    const int one = pidfd_open_of(pid), other = pidfd_open_of(pid), copy = pidfd_copy(one);
    struct statfs type;
    const bool knows = !is_old && __real_fstatfs(one, &type) == 0 && type.f_type == 0x50494446;
    assert_true(pidfd_are_same(one, other) && pidfd_are_same(one, copy));
    assert_false(pidfd_are_same(one, -1) || pidfd_are_same(-1, one) || pidfd_are_same(-1, -1));
    kill(pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT), 0);
    assert_true(pidfd_are_same(one, other)); /* a zombie has its number */
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(pidfd_are_same(one, other), knows);
    const int self = pidfd_open_of(getpid());
    assert_false(pidfd_are_same(one, self) || pidfd_are_same(self, one));
    pidfd_close(one);
    pidfd_close(other);
    pidfd_close(copy);
    pidfd_close(self);
}

static void test_same(void **state)
{
    (void)state;
    check_same(false);
}

static void test_same_before_linux_6_9(void **state)
{
    (void)state;
    check_same(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_same_before_linux_6_9),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
