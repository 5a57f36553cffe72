/* SPDX-License-Identifier: MIT */
/* Names of result files, what may be replaced, and what -o may say. */
#include <setjmp.h>
#include <stdarg.h>

#include "test_result_kit.h"

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/output/files.h"

int __real_linkat(int from, const char *old, int to, const char *new, int flags);
int __wrap_linkat(int from, const char *old, int to, const char *new, int flags);

static bool no_links; /* as on a file system that cannot name a file later: NFS, FUSE */

int __wrap_linkat(int from, const char *old, int to, const char *new, int flags)
{
    if (!no_links)
        return __real_linkat(from, old, to, new, flags);
    errno = EOPNOTSUPP;
    return -1;
}

static int forbid_links(void **state)
{
    (void)state;
    no_links = true;
    return 0;
}

static void expect_name(struct files *files, const char *exec, const char *wanted)
{
    char *path;
    assert_int_equal(files_name(files, 12, 34, exec, &path), 0);
    assert_string_equal(path, wanted);
    free(path);
}

static void test_names(void **state)
{
    (void)state;
    struct kit kit;
    struct files files;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(files_init(&files, "./out", 0600), 0);
    expect_name(&files, NULL, "./out.12.34");
    expect_name(&files, NULL, "./out.12.34~1");
    expect_name(&files, NULL, "./out.12.34~2");
    expect_name(&files, "/usr/bin/cc1", "./out.12.34.cc1");
    expect_name(&files, "cc1", "./out.12.34.cc1~1");
    expect_name(&files, "/a\nb\033[2J\177", "./out.12.34.a_b_[2J_");
    expect_name(&files, "/ends/in/", "./out.12.34._ends_in_");
    expect_name(&files, "/bin/0123456789012345678901234567890123456789",
                "./out.12.34.01234567890123456789012345678901234");
    /* 34 letters and one of two bytes, which is left out whole. */
    expect_name(&files, "/bin/0123456789012345678901234567890123\xc3\xa9",
                "./out.12.34.0123456789012345678901234567890123");
    /* What a terminal obeys, also where it takes bytes for characters: CSI as U+009B and as a byte, right to left. */
    expect_name(&files, "/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "./out.12.34.\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    expect_name(&files,
                "/a\xc2\x9b"
                "2J",
                "./out.12.34.a__2J");
    expect_name(&files,
                "/a\x9b"
                "2J",
                "./out.12.34.a_2J");
    expect_name(&files,
                "/a\xe2\x80\xae"
                "b\xe2\x81\xa6"
                "c",
                "./out.12.34.a___b___c");
    expect_name(&files, "/\xe9t\xe9\xc3", "./out.12.34._t__"); /* Latin-1; cut in two */
    files_release(&files);
    kit_free(&kit);
}

static void test_many_names(void **state)
{
    (void)state;
    struct kit kit;
    struct files files;
    char *path, wanted[64];
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(files_init(&files, "out", 0600), 0);
    for (int round = 0; round < 2; round++) {
        for (pid_t tid = 1; tid <= 20000; tid++) {
            assert_int_equal(files_name(&files, 4194304, tid, NULL, &path), 0);
            snprintf(wanted, sizeof(wanted), "out.4194304.%d%s", (int)tid, round ? "~1" : "");
            assert_string_equal(path, wanted);
            free(path);
        }
    }
    files_release(&files);
    kit_free(&kit);
}

/* Nothing of it can be seen before it has its name; then all of it. */
static void test_named_last(void **state)
{
    (void)state;
    struct kit kit;
    struct files files;
    char text[8] = "";
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(files_init(&files, "out", 0640), 0);
    int able = no_links ? -1 : open(".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
    int fd = files_open_unnamed(&files);
    if (able < 0) {
        assert_int_equal(fd, -EOPNOTSUPP);
        assert_false(files.unnamed);
        fd = -1;
        assert_int_equal(files_create(&files, "out.1.1", &fd), 0);
        assert_true(fd >= 0);
        assert_int_equal(access("out.1.1", F_OK), 0);
    } else {
        assert_int_equal(write(fd, "whole", 6), 6);
        assert_int_equal(access("out.1.1", F_OK), -1);
        const int before = fd;
        assert_int_equal(files_create(&files, "out.1.1", &fd), 0);
        assert_int_equal(fd, before);
        int reader = open("out.1.1", O_RDONLY | O_CLOEXEC);
        assert_int_equal(read(reader, text, sizeof(text)), 6);
        assert_string_equal(text, "whole");
        close(reader);
    }
    close(fd);
    if (able >= 0)
        close(able);
    files_release(&files);
    kit_free(&kit);
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Writes the file of task 1.1 and gives its path. */
static void write_one(struct kit *kit, char *ret, size_t size)
{
    struct result *result;
    struct kit_file file;
    assert_int_equal(kit_start(kit, "out"), 0);
    struct result_task task = kit_task(kit, 1, 1);
    assert_int_equal(result_new(kit->results, 1, 1, NULL, &result), 0);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    snprintf(ret, size, "%s", result_path(result));
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_true(kit_read(ret, &file));
    kit_file_free(&file);
    results_free(kit->results);
    kit->results = NULL;
}

static void test_replaces_own(void **state)
{
    (void)state;
    struct kit kit;
    struct stat before, after;
    char path[64];
    kit_new(&kit, KIT_SAMPLING);
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1");
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(before.st_mode & 0777, 0600);
    int reader = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(reader >= 0);
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1");
    /* Who reads the old one keeps it. */
    assert_int_equal(fstat(reader, &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    assert_int_equal(after.st_size, before.st_size);
    /* It has another name now, until the next one gets that. */
    assert_int_equal(stat("out.1.1.old", &after), 0);
    assert_int_equal(after.st_ino, before.st_ino);
    write_one(&kit, path, sizeof(path));
    assert_int_equal(fstat(reader, &after), 0);
    assert_int_equal(after.st_nlink, 0);
    assert_int_equal(stat("out.1.1.old", &after), 0);
    assert_true(after.st_ino != before.st_ino);
    /* What is no file of ours keeps that name, too. */
    write_text("out.1.1.old", "my notes\n");
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1~1");
    assert_int_equal(stat("out.1.1.old", &after), 0);
    assert_int_equal(after.st_size, 9);
    close(reader);
    kit_free(&kit);
}

/* Whatever else has the name stays as it is. */
static void test_leaves_others(void **state)
{
    (void)state;
    struct kit kit;
    struct stat status;
    char path[64];
    kit_new(&kit, KIT_SAMPLING);
    write_text("precious", "PERFILE2 is what this begins with, too\n");
    assert_int_equal(symlink("precious", "out.1.1"), 0);
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1~1");
    assert_int_equal(lstat("out.1.1", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(stat("precious", &status), 0);
    assert_int_equal(status.st_size, 39);

    assert_int_equal(unlink("out.1.1"), 0);
    assert_int_equal(mkfifo("out.1.1", 0600), 0);
    assert_int_equal(unlink("out.1.1~1"), 0);
    write_text("out.1.1~1", "my notes\n");
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1~2");
    assert_int_equal(lstat("out.1.1", &status), 0);
    assert_true(S_ISFIFO(status.st_mode));
    assert_int_equal(lstat("out.1.1~1", &status), 0);
    assert_int_equal(status.st_size, 9);

    assert_int_equal(unlink("out.1.1"), 0);
    assert_int_equal(mkdir("out.1.1", 0700), 0);
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1~2");

    /* An empty file is one that was not finished. */
    assert_int_equal(rmdir("out.1.1"), 0);
    write_text("out.1.1", "");
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1");
    kit_free(&kit);
}

static void test_leaves_other_users(void **state)
{
    (void)state;
    struct kit kit;
    char path[64];
    if (geteuid() != 0)
        skip();
    kit_new(&kit, KIT_SAMPLING);
    write_one(&kit, path, sizeof(path));
    assert_int_equal(chown("out.1.1", 65534, 65534), 0);
    write_one(&kit, path, sizeof(path));
    assert_string_equal(path, "out.1.1~1");
    kit_free(&kit);
}

/* The program under test may use up all descriptors with its tasks' events: the files come all the same. */
static void test_no_descriptors(void **state)
{
    (void)state;
    struct kit kit;
    struct rlimit limit, low;
    struct result *results[3];
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = dup(0);
    assert_true(next >= 0);
    close(next);
    low = (struct rlimit){.rlim_cur = (rlim_t)next, .rlim_max = limit.rlim_max};
    for (pid_t i = 0; i < 3; i++) {
        struct result_task task = kit_task(&kit, 1, i + 1);
        assert_int_equal(result_new(kit.results, 1, i + 1, NULL, &results[i]), 0);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
        int status = result_flush(results[i], &task, NULL);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_int_equal(status, 0);
    }
    for (pid_t i = 0; i < 3; i++) {
        struct result_task task = kit_task(&kit, 1, i + 1);
        char path[64];
        snprintf(path, sizeof(path), "out.1.%d", (int)i + 1);
        assert_int_equal(result_finish(results[i], &task, NULL), 0);
        assert_true(kit_read(path, &file));
        kit_file_free(&file);
    }
    kit_free(&kit);
}

/* Flushes the file of task 1.1, lets DISTURB at it, and finishes it. What is said; *ret_status of result_finish(). */
struct disturbed {
    struct kit *kit;
    void (*disturb)(void);
    int status;
};

static void disturb_one(void *argument)
{
    struct disturbed *test = argument;
    struct kit *kit = test->kit;
    struct result *result;
    assert_int_equal(kit_start(kit, "out"), 0);
    struct result_task task = kit_task(kit, 1, 1);
    assert_int_equal(result_new(kit->results, 1, 1, NULL, &result), 0);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    test->disturb();
    kit_samples(kit, result, &task, 5);
    test->status = result_finish(result, &task, NULL);
}

static void delete_it(void)
{
    assert_int_equal(unlink("out.1.1"), 0);
}

static void replace_it(void)
{
    write_text("new", "mine");
    assert_int_equal(rename("new", "out.1.1"), 0);
}

/* A file that is not there in the end counts as missing, whether it was kept open or not. */
static void test_deleted(void **state)
{
    (void)state;
    void (*const ways[])(void) = {delete_it, replace_it};
    for (int i = 0; i < 4; i++) {
        struct kit kit;
        uint64_t failed = 0, unwritten = 0;
        kit_new(&kit, KIT_SAMPLING);
        if (i & 2)
            kit.session.fd_limit = 0; /* none is kept open */
        struct disturbed test = {.kit = &kit, .disturb = ways[i & 1]};
        char *errors = kit_stderr(disturb_one, &test);
        assert_int_equal(test.status, -ESTALE);
        assert_non_null(strstr(errors, "result file 'out.1.1' was deleted, moved or replaced while it was written"));
        free(errors);
        assert_int_equal(results_error(kit.results, &failed, &unwritten), -ESTALE);
        assert_int_equal(failed, 1);
        assert_int_equal(unwritten, 5);
        assert_non_null(strstr(results_reason(-ESTALE), "deleted"));
        kit_free(&kit);
    }
}

struct second {
    struct kit *kit;
    struct results *results;
    int status;
};

static void write_second(void *argument)
{
    struct second *second = argument;
    struct result *result;
    struct result_task task = kit_task(second->kit, 1, 1);
    assert_int_equal(result_new(second->results, 1, 1, NULL, &result), 0);
    second->status = result_finish(result, &task, NULL);
}

/* Two sessions that run at the same time and mean the same file: neither loses it. */
static void test_two_sessions(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 1, 1);
    assert_int_equal(result_new(kit.results, 1, 1, NULL, &result), 0);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    struct second second = {.kit = &kit};
    kit.settings.outfile = "./out";
    assert_int_equal(results_new(&kit.session, &second.results), 0);
    char *errors = kit_stderr(write_second, &second);
    assert_int_equal(second.status, 0);
    assert_non_null(strstr(errors,
                           "result file './out.1.1' may belong to another run that has not ended, so pinject-run "
                           "keeps it and writes './out.1.1~1' instead; use a different -o for each run"));
    free(errors);
    kit_samples(&kit, result, &task, 5);
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_true(kit_read("out.1.1", &file));
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 5);
    kit_file_free(&file);
    assert_true(kit_read("out.1.1~1", &file));
    kit_file_free(&file);
    /* One that has ended is in nobody's way, nor is one with another name. */
    results_free(second.results);
    struct files files;
    int fd = -1;
    assert_int_equal(files_init(&files, "other", 0600), 0);
    write_text("other.1.1", "");
    assert_int_equal(files_create(&files, "other.1.1", &fd), 0);
    close(fd);
    files_release(&files);
    kit_free(&kit);
}

static void test_mode(void **state)
{
    (void)state;
    static const mode_t modes[] = {0600, 0640, 0644, 0666}, masks[] = {0, 022, 0777};
    struct kit kit;
    struct stat status;
    kit_new(&kit, KIT_SAMPLING);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) * 3; i++) {
        char path[64];
        kit.settings.mode = modes[i / 3];
        mode_t mask = umask(masks[i % 3]);
        write_one(&kit, path, sizeof(path));
        umask(mask);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 07777, modes[i / 3]);
    }
    kit_free(&kit);
}

/* While a task runs its file may be moved away: another that took the name is not touched. */
static void test_moved_away(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 1, 1);
    assert_int_equal(result_new(kit.results, 1, 1, NULL, &result), 0);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    assert_int_equal(rename("out.1.1", "moved"), 0);
    write_text("out.1.1", "mine");
    kit_samples(&kit, result, &task, 5);
    assert_int_equal(result_finish(result, &task, NULL), -ESTALE);
    assert_true(kit_read("moved", &file));
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 5);
    kit_file_free(&file);
    assert_false(kit_read("out.1.1", &file));
    kit_free(&kit);
}

struct base_case {
    const char *base;
    int status;
    const char *message;
};

static void try_base(void *argument)
{
    struct base_case *test = argument;
    struct files files;
    test->status = files_init(&files, test->base, 0600);
    files_release(&files);
}

static void test_bases(void **state)
{
    (void)state;
    static char long_name[300], long_path[5000];
    memset(long_name, 'n', sizeof(long_name) - 1);
    for (size_t i = 0; i < sizeof(long_path) - 1; i++)
        long_path[i] = i % 100 ? 'p' : '/';
    static const struct base_case cases[] = {
        {"out", 0, ""},
        {"./-x y", 0, ""},
        {"directory/out", 0, ""},
        {"directory//out", 0, ""},
        {"", -EINVAL, "result files need a name, like '-o out'"},
        {"directory", 0, ""},
        {"directory/", -EISDIR,
         "'directory/' is a directory; add a name for the result files, like '-o directory/out'"},
        {"/", -EISDIR, "'-o /out'"},
        {"..", -EISDIR, "'-o ../out'"},
        {"nothing/out", -ENOENT,
         "'nothing/out.*': there is no directory 'nothing/'; create it, or choose another with -o"},
        {"file/out", -ENOTDIR, "Not a directory"},
        {long_name, -ENAMETOOLONG, "is too long as a name for result files; choose a shorter name with -o"},
        {long_path, -ENAMETOOLONG, "is too long"},
        {"loop/out", -ELOOP, "Too many levels of symbolic links"},
    };
    struct kit kit;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(mkdir("directory", 0700), 0);
    write_text("file", "");
    assert_int_equal(symlink("loop", "loop"), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct base_case test = cases[i];
        char *errors = kit_stderr(try_base, &test);
        if (test.status != cases[i].status || !strstr(errors, test.message))
            print_message("-o '%.100s': %d %s\n", test.base, test.status, errors);
        assert_int_equal(test.status, cases[i].status);
        assert_non_null(strstr(errors, test.message));
        free(errors);
    }
    /* Nothing is left behind by the check. */
    assert_int_equal(rmdir("directory"), 0);
    kit_free(&kit);
}

static void test_unwritable(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip();
    struct kit kit;
    struct base_case test = {"locked/out", 0, ""};
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(mkdir("locked", 0500), 0);
    char *errors = kit_stderr(try_base, &test);
    assert_int_equal(test.status, -EACCES);
    assert_non_null(strstr(
        errors,
        "cannot write result files 'locked/out.*' in 'locked/': Permission denied; choose another place with -o"));
    free(errors);
    kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),          cmocka_unit_test(test_many_names),
        cmocka_unit_test(test_named_last),     cmocka_unit_test(test_replaces_own),
        cmocka_unit_test(test_leaves_others),  cmocka_unit_test(test_leaves_other_users),
        cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_deleted),
        cmocka_unit_test(test_two_sessions),   cmocka_unit_test(test_mode),
        cmocka_unit_test(test_moved_away),     cmocka_unit_test(test_bases),
        cmocka_unit_test(test_unwritable),
    };
    int failed = cmocka_run_group_tests_name("files get their names with their first version", tests, NULL, NULL);
    failed += cmocka_run_group_tests_name("files have their names from the begin", tests, forbid_links, NULL);
    return failed;
}
