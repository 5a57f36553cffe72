/* SPDX-License-Identifier: MIT */
/* Which bases of a directory are in use: a lock whose place the name chooses tells others. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pinject/wire.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "collector/output/files.h"
#include "common/report.h"

static char directory[64];

static int enter_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pinject-unit-XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int leave_directory(void **state)
{
    (void)state;
    return chdir("/") == 0 ? rmdir(directory) : -1;
}

/*
 * Each name is one of its own, wherever in the directory its lock lies: none is used before, or by another's session.
 */
static void each_base_is_known(void **state)
{
    enum { BASES = 64 };
    static struct files files[BASES];
    char base[96];
    (void)state;
    for (unsigned i = 0; i < BASES; i++) {
        snprintf(base, sizeof(base), "%u-base", i * 7919);
        assert_false(files_base_is_used(base));
        assert_int_equal(files_init(&files[i], base, 0600), 0);
        assert_true(files_base_is_used(base));
    }
    for (unsigned i = 0; i < BASES; i++) {
        snprintf(base, sizeof(base), "./%u-base", i * 7919); /* the directory is no part of it */
        assert_true(files_base_is_used(base));
        snprintf(base, sizeof(base), "%s/%u-base", directory, i * 7919);
        assert_true(files_base_is_used(base));
        snprintf(base, sizeof(base), "%u-bass", i * 7919);
        assert_false(files_base_is_used(base));
        files_release(&files[i]);
        snprintf(base, sizeof(base), "%u-base", i * 7919);
        assert_false(files_base_is_used(base));
    }
    assert_false(files_base_is_used("missing/base"));
    assert_false(files_base_is_used(""));
}

/* As many sessions as like may have the same one. */
static void sessions_share_a_base(void **state)
{
    struct files one, two;
    (void)state;
    assert_int_equal(files_init(&one, "same", 0600), 0);
    assert_int_equal(files_init(&two, "./same", 0600), 0);
    files_release(&one);
    assert_true(files_base_is_used("same"));
    files_release(&two);
    assert_false(files_base_is_used("same"));
}

/* Started without stdin: its number is one like the others. */
static void descriptor_of_stdin(void **state)
{
    struct files one, two;
    int saved = fcntl(0, F_DUPFD_CLOEXEC, 100), created = -1;
    (void)state;
    assert_int_equal(files_init(&one, "one", 0600), 0);
    close(0);
    const bool used = files_base_is_used("one"), other = files_base_is_used("two");
    const bool closed = fcntl(0, F_GETFD) < 0;
    const int status = files_create(&one, "one.1.1", &created);
    close(0);
    const int second = files_init(&two, "two", 0600), directory_fd = two.directory_fd;
    const bool second_used = files_base_is_used("two");
    files_release(&two);
    const bool second_closed = fcntl(0, F_GETFD) < 0;
    assert_true(saved < 0 || dup2(saved, 0) == 0);
    close(saved);
    files_remove(&one, "one.1.1");
    files_release(&one);
    assert_true(used && !other && closed);
    assert_int_equal(status, 0);
    assert_int_equal(created, 0);
    assert_int_equal(second, 0);
    assert_int_equal(directory_fd, 0);
    assert_true(second_used && second_closed);
}

static void expect_name(struct files *files, pid_t tid, const char *exec, const char *wanted)
{
    char *path;
    assert_int_equal(files_name(files, 1, tid, exec, &path), 0);
    assert_string_equal(path, wanted);
    free(path);
}

/* However often a name is given, each one is another. */
static void names_that_are_given_often(void **state)
{
    enum { PROGRAMS = 3000, SMALL = UINT16_MAX };
    struct files files;
    char exec[32], wanted[64];
    (void)state;
    assert_int_equal(files_init(&files, "out", 0600), 0);
    for (unsigned i = 0; i < SMALL + 3; i++) {
        snprintf(wanted, sizeof(wanted), i ? "out.1.5~%u" : "out.1.5", i);
        expect_name(&files, 5, NULL, wanted);
    }
    expect_name(&files, 6, NULL, "out.1.6");
    for (unsigned again = 0; again < 3; again++) {
        for (unsigned i = 0; i < PROGRAMS; i++) {
            snprintf(exec, sizeof(exec), "/bin/program-%u", i);
            snprintf(wanted, sizeof(wanted), again ? "out.1.5.program-%u~%u" : "out.1.5.program-%u", i, again);
            expect_name(&files, 5, exec, wanted);
        }
    }
    files_release(&files);
}

/* The last descriptor is lent for a look at a file that is there already, and taken back. */
static void the_reserve_comes_back(void **state)
{
    struct files files;
    struct rlimit limit, low;
    int created = -1;
    (void)state;
    FILE *file = fopen("mine", "we");
    assert_non_null(file);
    fputs("no result file", file);
    fclose(file);
    assert_int_equal(files_init(&files, "out", 0600), 0);
    assert_true(files.reserve >= 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = dup(0);
    close(next);
    low = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    const int status = files_create(&files, "mine", &created);
    const int reserve = files.reserve;
    int reopened = -1;
    const int stale = files_reopen(&files, "mine", 0, 0, &reopened); /* another file has its name */
    const int second = files.reserve;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(status, -EEXIST);
    assert_int_equal(created, -1);
    assert_true(reserve >= 0);
    assert_int_equal(stale, -ESTALE);
    assert_int_equal(reopened, -1);
    assert_true(second >= 0);
    files_release(&files);
    assert_int_equal(unlink("mine"), 0);
}

/* Where files may be made, but not be listed. */
static void a_directory_that_cannot_be_read(void **state)
{
    struct files files;
    int fd = -1;
    (void)state;
    if (geteuid() == 0)
        skip();
    assert_int_equal(mkdir("dark", 0300), 0);
    assert_int_equal(files_init(&files, "dark/out", 0600), 0);
    assert_int_equal(files_create(&files, "dark/out.1.1", &fd), 0);
    close(fd);
    files_remove(&files, "dark/out.1.1");
    files_release(&files);
    assert_int_equal(rmdir("dark"), 0);
}

static void a_directory_with_too_long_a_name(void **state)
{
    static char base[5000];
    struct files files;
    (void)state;
    memset(base, '/', sizeof(base) - 1);
    base[4095] = 'x';
    base[4096] = '\0';
    assert_false(files_base_is_used(base));
    base[4096] = 'x';
    assert_false(files_base_is_used(base));
    check_capture();
    assert_true(files_init(&files, base, 0600) < 0);
    assert_true(strlen(check_captured()) > 0);
}

static unsigned long pages(void)
{
    unsigned long count = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &count), 1);
    fclose(file);
    return count;
}

/* The table of names that were given, of two bytes for each task that there may be. */
static void memory_is_given_back(void **state)
{
    enum { TIMES = 16, TABLE = 2 * PINJECT_TASKS };
    struct files files;
    (void)state;
    const unsigned long before = pages(), page = (unsigned long)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < TIMES; i++) {
        assert_int_equal(files_init(&files, "base", 0600), 0);
        files_release(&files);
    }
    assert_true(pages() < before + TIMES / 2 * TABLE / page);
}

int main(void)
{
    report_program("pinject-run");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_given_back),
        cmocka_unit_test(each_base_is_known),
        cmocka_unit_test(sessions_share_a_base),
        cmocka_unit_test(descriptor_of_stdin),
        cmocka_unit_test(names_that_are_given_often),
        cmocka_unit_test(the_reserve_comes_back),
        cmocka_unit_test(a_directory_that_cannot_be_read),
        cmocka_unit_test(a_directory_with_too_long_a_name),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
