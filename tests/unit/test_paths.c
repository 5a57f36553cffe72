/* SPDX-License-Identifier: MIT */
/* Paths as the collector keeps them, and where sessions lie. */
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#include "collector/system/paths.h"

static char dir[64];

static int set_up(void **state)
{
    char made[64] = "/tmp/pinject-paths-XXXXXX";
    (void)state;
    if (!mkdtemp(made) || !realpath(made, dir) || chdir(dir) < 0)
        return -1;
    return mkdir("real", 0700) || symlink("real", "link") || symlink("nowhere", "dangling");
}

static int tear_down(void **state)
{
    (void)state;
    return unlink("link") || unlink("dangling") || rmdir("real") || chdir("/") || rmdir(dir);
}

static void expect(const char *base, const char *below)
{
    char path[PATH_MAX], wanted[PATH_MAX];
    snprintf(wanted, sizeof(wanted), "%s/%s", dir, below);
    memset(path, 'x', sizeof(path));
    assert_int_equal(paths_absolute(base, path, sizeof(path)), 0);
    assert_string_equal(path, wanted);
}

static void test_absolute(void **state)
{
    char path[PATH_MAX];
    (void)state;
    expect("out", "out");
    expect("./out", "out");
    expect("real/out", "real/out");
    expect("link/out", "real/out");
    expect("real/../link/./out.d", "real/out.d");
    expect("..out", "..out");
    expect(".out", ".out");
    expect("link", "link"); /* the name itself is not followed */
    assert_int_equal(paths_absolute("/name", path, sizeof(path)), 0);
    assert_string_equal(path, "/name");
    assert_int_equal(paths_absolute("//name", path, sizeof(path)), 0);
    assert_string_equal(path, "/name");
    snprintf(path, sizeof(path), "%s/link/x", dir);
    char base[PATH_MAX];
    memcpy(base, path, sizeof(base));
    expect(base, "real/x");
}

static void expect_outfile(const char *base, const char *outfile, const char *directory)
{
    char path[PATH_MAX], name[PATH_MAX];
    assert_int_equal(paths_outfile(base, path, name, sizeof(path)), 0);
    assert_string_equal(path, outfile);
    assert_string_equal(name, directory);
}

static void test_directories(void **state)
{
    (void)state;
    expect_outfile("out", "out", "");
    expect_outfile("", "", "");
    expect_outfile("missing/out", "missing/out", "");
    expect_outfile("dangling", "dangling", "");
    expect_outfile("missing/", "missing/out", "missing");
    expect_outfile("a/b///", "a/b/out", "a/b");
    expect_outfile("real", "real/out", "real");
    expect_outfile("link", "link/out", "link");
    expect_outfile("..", "../out", "..");
    expect_outfile(".", "./out", ".");
    expect_outfile("/", "/out", "/");
    expect_outfile("///", "/out", "/");
    char path[9], name[9];
    assert_int_equal(paths_outfile("12345678", path, name, sizeof(path)), 0);
    assert_string_equal(path, "12345678");
    assert_int_equal(paths_outfile("123456789", path, name, sizeof(path)), -ENAMETOOLONG);
    assert_int_equal(paths_outfile("1234/", path, name, sizeof(path)), 0);
    assert_string_equal(path, "1234/out");
    assert_int_equal(paths_outfile("12345/", path, name, sizeof(path)), -ENAMETOOLONG);
}

static void test_no_names(void **state)
{
    static const char *const bases[] = {"", ".", "..", "/", "real/", "real/.", "real/..", "nowhere/", "/."};
    char path[PATH_MAX] = "as before";
    (void)state;
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++)
        assert_int_equal(paths_absolute(bases[i], path, sizeof(path)), -EINVAL);
    assert_int_equal(paths_absolute("nowhere/out", path, sizeof(path)), -ENOENT);
    assert_int_equal(paths_absolute("dangling/out", path, sizeof(path)), -ENOENT);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(paths_absolute("loop/out", path, sizeof(path)), -ELOOP);
    assert_int_equal(unlink("loop"), 0);
    assert_string_equal(path, "as before");
}

static void test_room(void **state)
{
    char path[PATH_MAX];
    (void)state;
    size_t size = strlen(dir) + strlen("/out") + 1;
    assert_int_equal(paths_absolute("out", path, size), 0);
    assert_int_equal(strlen(path), size - 1);
    assert_int_equal(paths_absolute("out", path, size - 1), -ENAMETOOLONG);
    assert_int_equal(paths_absolute("/out", path, 5), 0);
    assert_int_equal(paths_absolute("/out", path, 4), -ENAMETOOLONG);
}

/* What leads to the name has room for PATH_MAX - 1 bytes: more is not cut off, as that would be another place. */
static void test_long_way(void **state)
{
    char base[PATH_MAX + 16], path[PATH_MAX];
    (void)state;
    memset(base, '/', PATH_MAX);
    strcpy(base + PATH_MAX - 1, "out");
    assert_int_equal(paths_absolute(base, path, sizeof(path)), 0);
    assert_string_equal(path, "/out");
    memset(base, '/', PATH_MAX);
    strcpy(base + PATH_MAX, "out");
    assert_int_equal(paths_absolute(base, path, sizeof(path)), -ENAMETOOLONG);
    /* A long name alone is the matter of whoever opens it. */
    memset(base, 'o', PATH_MAX);
    base[300] = 0;
    assert_int_equal(paths_absolute(base, path, sizeof(path)), 0);
}

static void test_working_directory_that_is_gone(void **state)
{
    char path[PATH_MAX];
    (void)state;
    assert_int_equal(mkdir("gone", 0700), 0);
    assert_int_equal(chdir("gone"), 0);
    assert_int_equal(rmdir("../gone"), 0);
    assert_int_equal(paths_absolute("out", path, sizeof(path)), -ENOENT);
    assert_int_equal(paths_absolute("/out", path, sizeof(path)), 0);
    assert_int_equal(chdir(dir), 0);
}

static void test_places(void **state)
{
    (void)state;
    setenv("TMPDIR", "/var/tmp", 1);
    assert_string_equal(paths_segment_place(0), "/dev/shm");
    assert_string_equal(paths_segment_place(1), "/var/tmp");
    assert_string_equal(paths_segment_place(2), "/tmp");
    assert_null(paths_segment_place(PATHS_SEGMENT_PLACES));
    assert_null(paths_segment_place(UINT_MAX));
    static const char *const none[] = {"", "tmp", "./tmp"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        setenv("TMPDIR", none[i], 1);
        assert_null(paths_segment_place(1));
    }
    unsetenv("TMPDIR");
    assert_null(paths_segment_place(1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absolute), cmocka_unit_test(test_directories),
        cmocka_unit_test(test_no_names), cmocka_unit_test(test_room),
        cmocka_unit_test(test_long_way), cmocka_unit_test(test_working_directory_that_is_gone),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
