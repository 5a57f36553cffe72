/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "preload/spawn_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/pinject-spawn-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    return !mkdtemp(directory) || chdir(directory) || mkdir("a", 0755) || mkdir("a/b", 0755) || mkdir("c", 0755);
}

static int tear_down(void **state)
{
    (void)state;
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

static posix_spawn_file_actions_t actions;

static int begin(void **state)
{
    (void)state;
    return posix_spawn_file_actions_init(&actions);
}

static int end(void **state)
{
    (void)state;
    return posix_spawn_file_actions_destroy(&actions);
}

/* The child would stand in PATH; nothing stays open. */
static void expect_directory(const char *path)
{
    struct stat expected, found;
    struct pinject_spawn_directory at;
    int next = dup(0);
    close(next);
    assert_int_equal(pinject_spawn_directory_find(&actions, &at), 0);
    assert_int_equal(stat(path, &expected), 0);
    assert_int_equal(fstatat(at.fd, ".", &found, 0), 0);
    assert_int_equal(found.st_ino, expected.st_ino);
    pinject_spawn_directory_close(&at);
    int again = dup(0);
    close(again);
    assert_int_equal(again, next);
}

static void expect_unknown(void)
{
    struct pinject_spawn_directory at;
    int next = dup(0);
    close(next);
    assert_int_equal(pinject_spawn_directory_find(&actions, &at), -EINVAL);
    int again = dup(0);
    close(again);
    assert_int_equal(again, next);
}

static void test_none(void **state)
{
    struct pinject_spawn_directory at;
    (void)state;
    assert_int_equal(pinject_spawn_directory_find(NULL, &at), 0);
    assert_int_equal(at.fd, AT_FDCWD);
    expect_directory(".");
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    assert_int_equal(pinject_spawn_directory_find(&actions, &at), 0);
    assert_int_equal(at.fd, AT_FDCWD);
    assert_true(at.descriptors);
}

static void test_in_order(void **state)
{
    (void)state;
    posix_spawn_file_actions_addchdir_np(&actions, "a");
    expect_directory("a");
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addchdir_np(&actions, "b");
    expect_directory("a/b");
    posix_spawn_file_actions_addchdir_np(&actions, directory);
    posix_spawn_file_actions_addchdir_np(&actions, "c");
    expect_directory("c");
    posix_spawn_file_actions_addchdir_np(&actions, "nonexistent");
    expect_unknown();
}

static void test_descriptors(void **state)
{
    (void)state;
    int fd = open("a", O_RDONLY | O_CLOEXEC), other = open("c", O_RDONLY | O_CLOEXEC);
    posix_spawn_file_actions_addfchdir_np(&actions, fd);
    expect_directory("a");
    posix_spawn_file_actions_addchdir_np(&actions, "b");
    expect_directory("a/b");
    posix_spawn_file_actions_adddup2(&actions, fd, other);
    posix_spawn_file_actions_adddup2(&actions, other, 99);
    posix_spawn_file_actions_addclose(&actions, fd);
    posix_spawn_file_actions_addfchdir_np(&actions, 99);
    expect_directory("a");
    posix_spawn_file_actions_addopen(&actions, 99, "c", O_RDONLY, 0);
    posix_spawn_file_actions_addfchdir_np(&actions, 99);
    expect_unknown();
    close(fd);
    close(other);
}

static void test_closed(void **state)
{
    (void)state;
    int fd = open("a", O_RDONLY | O_CLOEXEC);
    posix_spawn_file_actions_addclosefrom_np(&actions, fd);
    posix_spawn_file_actions_addfchdir_np(&actions, fd);
    expect_unknown();
    close(fd);
}

static void test_names_of_descriptors(void **state)
{
    (void)state;
    assert_true(pinject_spawn_names_descriptor("/proc/self/fd/3"));
    assert_true(pinject_spawn_names_descriptor("/dev/fd/3"));
    assert_true(pinject_spawn_names_descriptor("/dev/stdin"));
    assert_false(pinject_spawn_names_descriptor("/bin/sh"));
    assert_false(pinject_spawn_names_descriptor(""));
    assert_false(pinject_spawn_names_descriptor((const char *)8));
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawn_file_actions_addchdir_np(&actions, "/proc/self/cwd");
    expect_unknown();
}

static void test_hostile(void **state)
{
    struct pinject_spawn_directory at;
    (void)state;
    assert_int_equal(pinject_spawn_directory_find((posix_spawn_file_actions_t *)8, &at), -EINVAL);
#ifdef __GLIBC__
    posix_spawn_file_actions_t kept = actions;
    actions.__used = -1;
    expect_unknown();
    actions.__allocated = actions.__used = 3;
    actions.__actions = (struct __spawn_action *)8;
    expect_unknown();
    int unheard_of[100] = {1000};
    actions.__actions = (struct __spawn_action *)(void *)unheard_of;
    expect_unknown();
    actions = kept;
    posix_spawn_file_actions_addchdir_np(&actions, "a");
    expect_directory("a");
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_none, begin, end),
        cmocka_unit_test_setup_teardown(test_in_order, begin, end),
        cmocka_unit_test_setup_teardown(test_descriptors, begin, end),
        cmocka_unit_test_setup_teardown(test_closed, begin, end),
        cmocka_unit_test_setup_teardown(test_names_of_descriptors, begin, end),
        cmocka_unit_test_setup_teardown(test_hostile, begin, end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
