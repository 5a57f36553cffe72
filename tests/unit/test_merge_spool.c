/* SPDX-License-Identifier: MIT */
/* export perf: where it puts records aside until it writes them in their order. */
#define _GNU_SOURCE
#include "merge_kit.h"

#include <sys/stat.h>

#include "common/report.h"

/* "": as it is; else what open(O_TMPFILE) opens instead, NULL: nothing. */
static const char *spool_at = "";

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    if ((flags & O_TMPFILE) == O_TMPFILE && (!spool_at || *spool_at)) {
        errno = EOPNOTSUPP;
        return spool_at ? __real_open(spool_at, O_RDWR | O_CLOEXEC) : -1;
    }
    return __real_open(path, flags, 0600);
}

/* The records are put aside where the result will lie; what is wrong there is said with its name. */
static void expect_place(struct job *job, const char *file, const char *temporary, const char *message)
{
    struct output_file out = {.to = tmpfile()};
    job->settings.file = file;
    setenv("TMPDIR", temporary, 1);
    check_capture();
    int status = merge_write(&job->view, &out);
    const char *said = check_captured();
    unsetenv("TMPDIR");
    fclose(out.to);
    if (status != (*message ? 1 : 0) || !strstr(said, message))
        fail_msg("%s: status %d, \"%s\" instead of \"%s\"", file ? file : "-", status, said, message);
}

static void test_place_of_spool(void **state)
{
    (void)state;
    struct writer writer;
    struct job job;
    remove_files();
    assert_int_equal(mkdir(directory, 0700), 0);
    begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
    writer_sample(&writer, 0, USER, 0x1000, 1, NULL, 0);
    const char *path = save(&writer, "a.data");
    load(&job, &path, 1, NULL);
    expect_place(&job, "/nowhere/at/all", directory,
                 "cannot write a temporary file in the directory '/nowhere/at': No such file");
    expect_place(&job, "/dev/nowhere/x", directory, "");
    bool root = geteuid() == 0 && seteuid(65534) == 0;
    if (geteuid() != 0)
        expect_place(&job, "/nowhere", "/nonexistent",
                     "cannot write a temporary file in the directory '/': Permission denied");
    assert_true(!root || seteuid(0) == 0);
    expect_place(&job, NULL, "/nonexistent",
                 "cannot write a temporary file in the directory '/nonexistent': No such file");
    expect_place(&job, "-", "/nonexistent", "a temporary file in the directory '/nonexistent'");
    expect_place(&job, "/dev/stdout", "/nonexistent", "a temporary file in the directory '/nonexistent'");
    expect_place(&job, NULL, "", "");
    expect_place(&job, NULL, directory, "");
    assert_int_equal(chdir(directory), 0);
    expect_place(&job, "name", "/nonexistent", "");
    /* Where files without a name cannot be: one whose name is removed at once. */
    spool_at = NULL;
    expect_place(&job, "name", "/nonexistent", "");
    expect_place(&job, "/nowhere/x", directory, "a temporary file in the directory '/nowhere': No such file");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(directory), 0); /* nothing is left there */
    assert_int_equal(mkdir(directory, 0700), 0);
    spool_at = "";
    expect_place(&job, NULL, directory, "none of the input files could be read a second time");
    unload(&job);
}

/* A full disk. */
static void test_full(void **state)
{
    (void)state;
    struct job job;
    const char *paths[2];
    for (unsigned large = 0; large < 2; large++) { /* less, and more, than what is held in memory */
        for (unsigned i = 0; i < 2; i++) {
            struct writer writer;
            begin_event(&writer, PERF_COUNT_SW_CPU_CLOCK, "clock");
            for (unsigned j = 0; j < (large ? 4900 : 1); j++)
                writer_sample(&writer, 0, USER, 0x1000, 1, NULL, 0);
            paths[i] = save(&writer, i ? "b.data" : "a.data");
        }
        load(&job, paths, 2, NULL);
        spool_at = "/dev/full";
        expect_place(&job, NULL, directory, "': No space left on device");
        spool_at = "";
        unload(&job);
    }
}

static int make_directory(void **state)
{
    (void)state;
    report_program("panalyze");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    remove_files();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_place_of_spool),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
