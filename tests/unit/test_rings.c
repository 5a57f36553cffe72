/* SPDX-License-Identifier: MIT */
/* The file of rings that timers fill. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/sources/rings.h"

static struct rings rings;
static char directory[] = "/tmp/pinject-rings-XXXXXX", path[128], file[160];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/segment", directory);
    snprintf(file, sizeof(file), "%s.rings.7000000000000000000", path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(directory);
}

/* The name that is drawn; 0: no random numbers. */
static uint64_t drawn = UINT64_C(7000000000000000000);

ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags)
{
    assert_int_equal(size, sizeof(drawn));
    assert_int_equal(flags, 0);
    memcpy(buffer, &drawn, size);
    return drawn ? (ssize_t)size : -1;
}

/* So many more calls of fallocate() get what they ask for; -1: all do. */
static int room_for = -1;

int __real_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size);
int __wrap_fallocate(int fd, int mode, off_t from, off_t size)
{
    if (mode != 0 || room_for < 0)
        return __real_fallocate(fd, mode, from, size);
    errno = ENOSPC;
    return room_for-- > 0 ? __real_fallocate(fd, mode, from, size) : -1;
}

static uint64_t blocks(void)
{
    struct stat status;
    assert_int_equal(stat(file, &status), 0);
    return (uint64_t)status.st_blocks;
}

static void test_take_and_give(void **state)
{
    (void)state;
    struct stat status;
    mode_t mask = umask(0777);
    assert_int_equal(rings_init(&rings, path), 0);
    umask(mask);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(status.st_size, (off_t)PINJECT_RINGS_MAX * PINJECT_RING_STRIDE);
    uint64_t before = blocks();
    int one = rings_take(&rings, 1000, PINJECT_TIMER_CHAINS), other = rings_take(&rings, 2000, 0);
    assert_true(one >= 0 && other >= 0 && one != other);
    /* All of it is there before anybody touches it. */
    assert_true((blocks() - before) * 512 >= 2 * PINJECT_RING_DATA);
    assert_int_equal(rings_head(&rings, one)->interval_ns, 1000);
    assert_int_equal(rings_head(&rings, one)->flags, PINJECT_TIMER_CHAINS);
    assert_int_equal(rings_page(&rings, other)->data_size, PINJECT_RING_DATA);
    memset(rings_page(&rings, one), 0xff, PINJECT_RING_STRIDE / 2);
    rings_give(&rings, one);
    rings_give(&rings, other);
    assert_true(blocks() <= before + 8);
    int again = rings_take(&rings, 3, 0);
    assert_int_equal(again, one);
    assert_int_equal(rings_page(&rings, again)->data_head, 0);
    assert_int_equal(rings_head(&rings, again)->lost, 0);
    assert_true(rings_next_id(&rings) != rings_next_id(&rings));
    rings_release(&rings);
    assert_int_equal(access(file, F_OK), -1);
}

static void test_as_many_as_there_are(void **state)
{
    (void)state;
    assert_int_equal(rings_init(&rings, path), 0);
    rings.count = 70; /* more than a word's bits */
    for (int i = 0; i < 70; i++)
        assert_int_equal(rings_take(&rings, 1, 0), i);
    assert_int_equal(rings_take(&rings, 1, 0), -ENOSPC);
    rings_give(&rings, 66);
    assert_int_equal(rings_take(&rings, 1, 0), 66);
    rings.count = PINJECT_RINGS_MAX;
    rings_release(&rings);
    assert_int_equal(rings_take(&rings, 1, 0), -ENOSPC);
}

static void test_somebody_elses_file(void **state)
{
    (void)state;
    int fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(rings_init(&rings, path), -EEXIST);
    rings_release(&rings);
    assert_int_equal(access(file, F_OK), 0);
    close(fd);
    unlink(file);
}

/* Who knows where the segment is cannot take the place before: the number is not known until the file is there. */
static void test_another_name_each_time(void **state)
{
    char other[160];
    (void)state;
    int fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    drawn--;
    assert_int_equal(rings_init(&rings, path), 0);
    assert_int_equal(rings.name, drawn);
    snprintf(other, sizeof(other), "%s.rings.6999999999999999999", path);
    assert_string_equal(rings.path, other);
    assert_int_equal(access(other, F_OK), 0);
    rings_release(&rings);
    assert_int_equal(access(other, F_OK), -1);
    const uint64_t name = drawn;
    drawn = 0;
    assert_int_equal(rings_open(&rings, path, 32), -EAGAIN);
    drawn = name + 1;
    rings_release(&rings);
    unlink(file);
}

static void test_limit_of_files(void **state)
{
    (void)state;
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 100 * PINJECT_RING_STRIDE;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(rings_init(&rings, path), 0);
    assert_true(rings.count < 100 && rings.count >= 50);
    int number = rings_take(&rings, 1, 0);
    assert_int_equal(number, 0);
    rings_release(&rings);
    small.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(rings_init(&rings, path), -EFBIG);
    assert_int_equal(access(file, F_OK), -1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

/* A ring that there is no room for, all of it or a part, is nobody's: the next one gets it. */
static void test_no_room_for_one(void **state)
{
    (void)state;
    assert_int_equal(rings_init(&rings, path), 0);
    assert_int_equal(rings_take(&rings, 1, 0), 0);
    const uint64_t before = blocks();
    for (int granted = 0; granted < 2; granted++) {
        room_for = granted;
        int number = rings_take(&rings, 1, 0);
        room_for = -1;
        assert_int_equal(number, -ENOSPC);
        assert_true(blocks() <= before);
    }
    assert_int_equal(rings_take(&rings, 1, 0), 1);
    rings_release(&rings);
}

static void test_fewer(void **state)
{
    (void)state;
    struct stat status;
    assert_int_equal(rings_open(&rings, path, 32), 0);
    assert_int_equal(stat(file, &status), 0);
    assert_int_equal(status.st_size, 32 * PINJECT_RING_STRIDE);
    for (int i = 0; i < 32; i++)
        assert_int_equal(rings_take(&rings, 1000, 0), i);
    assert_int_equal(rings_take(&rings, 1000, 0), -ENOSPC);
    struct rings other;
    assert_int_equal(rings_open(&other, path, 32), -EEXIST);
    rings_release(&other);
    assert_int_equal(access(file, F_OK), 0);
    rings_release(&rings);
    assert_int_equal(rings_open(&other, "/nowhere/segment", 32), -ENOENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_and_give),       cmocka_unit_test(test_as_many_as_there_are),
        cmocka_unit_test(test_somebody_elses_file), cmocka_unit_test(test_another_name_each_time),
        cmocka_unit_test(test_limit_of_files),      cmocka_unit_test(test_fewer),
        cmocka_unit_test(test_no_room_for_one),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
