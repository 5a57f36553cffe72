/* SPDX-License-Identifier: MIT */
/* How the detached collector leaves the program's cgroup, in hierarchies that the test makes up. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>

#include "collector/launch/place.h"

/* Linked instead of libc's (--wrap). */
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fclose(FILE *file);
int __wrap_open(const char *path, int flags, ...);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __wrap_close(int fd);
int __wrap_chdir(const char *path);
int __real_fclose(FILE *file);

enum { FD = 0 }; /* nothing else is open */

/* The machine: what its files say (NULL: there is none), which cgroup.procs can be opened and which takes a process. */
static struct {
    const char *cgroup, *mounts, *opens, *takes;
} machine;

/* What was done. */
static char said[4096];
static int files_open, fds_open;
static const char *opened;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list list;
    size_t used = strlen(said);
    va_start(list, format);
    vsnprintf(said + used, sizeof(said) - used, format, list);
    va_end(list);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    bool group = strcmp(path, "/proc/self/cgroup") == 0;
    const char *text = group ? machine.cgroup : machine.mounts;
    assert_true(group || strcmp(path, "/proc/self/mountinfo") == 0);
    assert_string_equal(mode, "re");
    if (!text)
        return NULL;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    files_open++;
    return file;
}

int __wrap_fclose(FILE *file)
{
    assert_non_null(file);
    files_open--;
    return __real_fclose(file);
}

static bool is_in(const char *path, const char *list)
{
    return list && strstr(list, path) && strstr(list, path)[strlen(path)] == '\n';
}

int __wrap_open(const char *path, int flags, ...)
{
    assert_int_equal(flags, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    say("%s\n", path);
    if (!is_in(path, machine.opens))
        return -1;
    opened = strstr(machine.opens, path);
    fds_open++;
    return FD;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    assert_int_equal(fd, FD);
    assert_int_equal(size, 1);
    assert_int_equal(*(const char *)bytes, '0');
    bool takes = machine.takes && strncmp(opened, machine.takes, strlen(machine.takes)) == 0;
    say(takes ? "joined\n" : "refused\n");
    return takes ? 1 : -1;
}

int __wrap_close(int fd)
{
    assert_int_equal(fd, FD);
    fds_open--;
    return 0;
}

int __wrap_chdir(const char *path)
{
    assert_int_equal(said[0], 0);
    say("cd %s\n", path);
    errno = EACCES;
    return -1; /* whatever it says */
}

#define MOUNTED(root, place, kind) "30 24 0:26 " root " " place " rw,nosuid - " kind " cgroup rw\n"
#define WHOLE                      MOUNTED("/", "/sys/fs/cgroup", "cgroup2")

#define expect_left(text)                         \
    do {                                          \
        said[0] = 0;                              \
        place_leave();                            \
        assert_string_equal(said, "cd /\n" text); \
        assert_int_equal(files_open, 0);          \
        assert_int_equal(fds_open, 0);            \
    } while (0)

static void test_nearest_that_takes_us(void **state)
{
    (void)state;
    machine.cgroup = "0::/a/b/c\n";
    machine.mounts = WHOLE;
    machine.opens = "/sys/fs/cgroup/a/b/cgroup.procs\n/sys/fs/cgroup/a/cgroup.procs\n/sys/fs/cgroup/cgroup.procs\n";
    machine.takes = "/sys/fs/cgroup/a/b/";
    expect_left("/sys/fs/cgroup/a/b/cgroup.procs\njoined\n");
    machine.takes = "/sys/fs/cgroup/a/c";
    expect_left("/sys/fs/cgroup/a/b/cgroup.procs\nrefused\n/sys/fs/cgroup/a/cgroup.procs\njoined\n");
    machine.takes = "/sys/fs/cgroup/c";
    expect_left("/sys/fs/cgroup/a/b/cgroup.procs\nrefused\n/sys/fs/cgroup/a/cgroup.procs\nrefused\n"
                "/sys/fs/cgroup/cgroup.procs\njoined\n");
    machine.takes = NULL;
    expect_left("/sys/fs/cgroup/a/b/cgroup.procs\nrefused\n/sys/fs/cgroup/a/cgroup.procs\nrefused\n"
                "/sys/fs/cgroup/cgroup.procs\nrefused\n");
    machine.opens = "/sys/fs/cgroup/cgroup.procs\n";
    machine.takes = "/sys/fs/cgroup/c";
    expect_left("/sys/fs/cgroup/a/b/cgroup.procs\n/sys/fs/cgroup/a/cgroup.procs\n"
                "/sys/fs/cgroup/cgroup.procs\njoined\n");
}

/* Only the unified hierarchy's line counts, wherever it stands; in its root there is nothing to leave. */
static void test_own_group(void **state)
{
    (void)state;
    machine.mounts = WHOLE;
    machine.opens = "/sys/fs/cgroup/cgroup.procs\n";
    machine.takes = "/";
    machine.cgroup = "12:cpu,cpuacct:/x/y\n1:name=systemd:/z\n0::/b\n";
    expect_left("/sys/fs/cgroup/cgroup.procs\njoined\n");
    machine.cgroup = "0::/b"; /* without a newline */
    expect_left("/sys/fs/cgroup/cgroup.procs\njoined\n");
    machine.cgroup = "12:cpu,cpuacct:/x/y\n10::/x\n0:name:/y\n0::x\n";
    expect_left("");
    machine.cgroup = "0::/\n";
    expect_left("");
    /* One whose name is as long as a path can be, and one longer than that. */
    static char name[PATH_MAX + 8] = "0::/";
    memset(name + 4, 'x', PATH_MAX - 2);
    machine.cgroup = name;
    expect_left("/sys/fs/cgroup/cgroup.procs\njoined\n");
    name[PATH_MAX + 2] = 'x';
    expect_left("");
    machine.cgroup = NULL;
    expect_left("");
}

/* A part of the hierarchy, the older kind, a place whose name is written with escapes: none of them is it. */
static void test_mounts(void **state)
{
    (void)state;
    machine.cgroup = "0::/b\n";
    machine.opens = "/c/cgroup.procs\n/d/cgroup.procs\n";
    machine.takes = "/";
    machine.mounts = MOUNTED("/", "/a", "cgroup") MOUNTED("/b", "/b", "cgroup2")
        MOUNTED("/", "/x\\040y", "cgroup2") "short - cgroup2 \n" MOUNTED("/", "/c", "cgroup2")
            MOUNTED("/", "/d", "cgroup2");
    expect_left("/c/cgroup.procs\njoined\n");
    machine.mounts = MOUNTED("/", "/a", "cgroup") MOUNTED("/b", "/b", "cgroup2") MOUNTED("/", "/x\\040y", "cgroup2");
    expect_left("");
    machine.mounts = NULL;
    expect_left("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest_that_takes_us),
        cmocka_unit_test(test_own_group),
        cmocka_unit_test(test_mounts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
