/* SPDX-License-Identifier: MIT */
/* Where the preload object is looked for, seen from the program, and what is said where it is not. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "collector/launch/launch.h"
#include "common/report.h"

static char directory[64];     /* as realpath() says it */
static char self[PATH_MAX];    /* what /proc/self/exe leads to; "": it cannot be read */
static const char *unreadable; /* the path that ends with it cannot be read */
static char found[PINJECT_PATH], reason[2 * PATH_MAX + 256];

ssize_t __wrap_readlink(const char *path, char *ret, size_t size);
ssize_t __wrap_readlink(const char *path, char *ret, size_t size)
{
    assert_string_equal(path, "/proc/self/exe");
    assert_true(strlen(self) <= size);
    memcpy(ret, self, strlen(self)); /* no NUL, as of the kernel */
    errno = EACCES;
    return *self ? (ssize_t)strlen(self) : -1;
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    const size_t length = strlen(path), end = unreadable ? strlen(unreadable) : 0;
    errno = EACCES;
    if (end && length >= end && strcmp(path + length - end, unreadable) == 0)
        return -1;
    return __real_access(path, mode);
}

static void run(const char *command)
{
    assert_int_equal(system(command), 0);
}

static int set_up(void **state)
{
    (void)state;
    char made[] = "/tmp/pinject-unit-XXXXXX";
    report_program("pinject-run");
    if (!mkdtemp(made) || !realpath(made, directory) || chdir(directory))
        return -1;
    run("mkdir bin lib lib64");
    snprintf(self, sizeof(self), "%s/bin/pinject-run", directory);
    unreadable = NULL;
    memset(found, 0, sizeof(found));
    strcpy(reason, "nothing");
    return 0;
}

static int tear_down(void **state)
{
    char command[100];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

/* Below the directory. */
static void expect_found(const char *place)
{
    char wanted[PATH_MAX];
    snprintf(wanted, sizeof(wanted), "%s/%s", directory, place);
    assert_int_equal(launch_look_for_preload(found, reason, sizeof(reason)), 0);
    assert_string_equal(found, wanted);
    assert_string_equal(reason, "nothing");
}

static void expect_reason(int error, const char *text)
{
    assert_int_equal(launch_look_for_preload(found, reason, sizeof(reason)), error);
    assert_string_equal(reason, text);
}

static void the_nearest_one_counts(void **state)
{
    (void)state;
    run(">bin/libpinject.so");
    expect_found("bin/libpinject.so"); /* of an archive that was unpacked */
    run(">lib64/libpinject.so");
    expect_found("lib64/libpinject.so");
    run(">lib/libpinject.so.1; ln -s libpinject.so.1 lib/libpinject.so");
    expect_found("lib/libpinject.so.1"); /* where it leads */
    assert_int_equal(launch_find_preload(found), 0);
}

static void one_that_cannot_be_read_is_passed_over(void **state)
{
    (void)state;
    char wanted[256];
    run(">lib/libpinject.so; >bin/libpinject.so");
    unreadable = "lib/libpinject.so";
    expect_found("bin/libpinject.so");
    unreadable = "libpinject.so";
    snprintf(wanted, sizeof(wanted), "'%s/bin/libpinject.so' cannot be read; type: chmod a+r '%s/bin/libpinject.so'",
             directory, directory);
    expect_reason(-EACCES, wanted);
    snprintf(wanted, sizeof(wanted), "%s/bin/libpinject.so", directory);
    assert_string_equal(found, wanted); /* for whom it is enough to name it */
}

static void there_is_none(void **state)
{
    (void)state;
    char wanted[512], message[600];
    snprintf(
        wanted, sizeof(wanted),
        "cannot find libpinject.so (looked in %s/bin, and in ../lib and ../lib64 from there); install pinject again",
        directory);
    expect_reason(-ENOENT, wanted);
    check_capture();
    assert_int_equal(launch_find_preload(found), -ENOENT);
    snprintf(message, sizeof(message), "pinject-run: %s\n", wanted);
    assert_string_equal(check_captured(), message);
    self[0] = '\0';
    expect_reason(-ENOENT, "cannot read /proc/self/exe: Permission denied; is /proc mounted?");
}

/* Characters at which the loader divides its list. */
static void paths_that_the_variable_cannot_hold(void **state)
{
    (void)state;
    static const char *const names[] = {"a b", "a:b", "a\tb", "a\nb"};
    for (size_t i = 0; i < 4; i++) {
        char wanted[256], command[128];
        snprintf(command, sizeof(command), "mkdir '%s' && >'%s/libpinject.so'", names[i], names[i]);
        run(command);
        snprintf(self, sizeof(self), "%s/%s/pinject-run", directory, names[i]);
        snprintf(wanted, sizeof(wanted),
                 "LD_PRELOAD cannot contain the path '%s/%s/libpinject.so', which has a blank or a "
                 "colon; install pinject elsewhere",
                 directory, names[i]);
        expect_reason(-EINVAL, wanted);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_nearest_one_counts),
        TEST(one_that_cannot_be_read_is_passed_over),
        TEST(there_is_none),
        TEST(paths_that_the_variable_cannot_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
