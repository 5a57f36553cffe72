/* SPDX-License-Identifier: MIT */
/* Shared memory is allocated, its owner's, and gone where it cannot be had. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "collector/system/shared_file.h"

enum { SIZE = 100000 };

static char directory[64], path[80];
static int allocate_error, chown_error, chmod_error;
static unsigned chowns;
static uid_t chown_user;

/* ---- In the place of the kernel ---- */

int __real_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size)
{
    assert_true(from == 0 && size == SIZE);
    errno = allocate_error;
    return allocate_error ? -1 : __real_fallocate(fd, mode, from, size);
}

int __wrap_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group)
{
    assert_true(fd >= 0 && group == (gid_t)-1);
    chowns++;
    chown_user = user;
    errno = chown_error;
    return chown_error ? -1 : 0;
}

int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode)
{
    errno = chmod_error;
    return chmod_error ? -1 : __real_fchmod(fd, mode);
}

/* ---- Tests ---- */

static int set_up(void **state)
{
    (void)state;
    allocate_error = chown_error = chmod_error = 0;
    chowns = 0;
    strcpy(directory, "/tmp/pinject-unit-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/file", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory); /* no file is left in it */
}

/* Made and given; a file that cannot be given is ended by who made it. */
static int create(bool named, uid_t user, mode_t mode)
{
    struct stat stat;
    int fd = named ? shared_file_create(path, SIZE) : shared_file_nameless(SIZE);
    if (fd < 0)
        return fd;
    assert_int_equal(fstat(fd, &stat), 0);
    if (named) /* whatever the umask: nobody else may open it */
        assert_int_equal(stat.st_mode & 077, 0);
    int error = shared_file_give(fd, user, mode);
    if (error == 0)
        return fd;
    close(fd);
    if (named)
        assert_int_equal(unlink(path), 0);
    return error;
}

/* Whatever the umask: the one that is asked for. */
static void rights_and_room(void **state)
{
    struct stat stat;
    (void)state;
    mode_t mask = umask(0777);
    for (int named = 0; named < 2; named++) {
        int fd = create(named, geteuid(), 0640);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &stat), 0);
        assert_int_equal(stat.st_mode & 07777, 0640);
        assert_int_equal(stat.st_size, SIZE);
        assert_true(stat.st_blocks * 512 >= SIZE); /* no touch of a page can fail */
        assert_int_equal(stat.st_nlink, named);
        assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
        assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDWR);
        assert_int_equal(chowns, 0); /* it is ours */
        if (named) {
            assert_int_equal(create(true, geteuid(), 0600), -EEXIST);
            assert_int_equal(unlink(path), 0);
        }
        close(fd);
    }
    umask(mask);
    assert_int_equal(symlink("nothing", path), 0);
    assert_int_equal(create(true, geteuid(), 0600), -EEXIST);
    assert_int_equal(unlink(path), 0);
    strcat(path, "/x");
    assert_int_equal(create(true, geteuid(), 0600), -ENOENT);
}

static void for_another_user(void **state)
{
    (void)state;
    for (int named = 0; named < 2; named++) {
        int fd = create(named, geteuid() + 5, 0600);
        assert_true(fd >= 0);
        assert_int_equal(chowns, 1 + named);
        assert_int_equal(chown_user, geteuid() + 5);
        close(fd);
        assert_int_equal(unlink(path), named - 1);
    }
}

static void what_cannot_be_had_is_gone(void **state)
{
    static const struct {
        int allocate, chown, chmod, status;
    } cases[] = {{ENOSPC, 0, 0, -ENOSPC}, {EDQUOT, 0, 0, -EDQUOT}, {0, EPERM, 0, -EPERM},
                 {0, 0, EROFS, -EROFS},   {EOPNOTSUPP, 0, 0, 0},   {ENOSYS, 0, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int named = 0; named < 2; named++) {
            allocate_error = cases[i].allocate;
            chown_error = cases[i].chown;
            chmod_error = cases[i].chmod;
            int next = dup(0), status = create(named, geteuid() + 5, 0600);
            assert_int_equal(status < 0 ? status : 0, cases[i].status);
            if (status >= 0)
                close(status);
            assert_int_equal(access(path, F_OK), named && status >= 0 ? 0 : -1);
            unlink(path);
            int again = dup(0);
            assert_int_equal(again, next + 1); /* none is left open */
            close(again);
            close(next);
        }
}

static void larger_than_a_file_may_be(void **state)
{
    struct rlimit old, small;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){SIZE - 1, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int named = create(true, geteuid(), 0600), nameless = create(false, geteuid(), 0600);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(named, -EFBIG);
    assert_int_equal(nameless, -EFBIG);
    assert_int_equal(access(path, F_OK), -1);
    signal(SIGXFSZ, SIG_DFL);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rights_and_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(for_another_user, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_had_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(larger_than_a_file_may_be, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
