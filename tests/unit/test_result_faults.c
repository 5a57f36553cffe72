/* SPDX-License-Identifier: MIT */
/* Whatever happens between two writes: a file on disk is readable, with the records of its last complete update. */
#include <setjmp.h>
#include <stdarg.h>

#include "test_result_kit.h"

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pinject/format.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum fault { NONE, ONE_ERROR, ALL_ERRORS, HALF_WRITTEN, DEAD };

/* What the replaced calls do after LEFT more of them: the test's own state. */
static struct {
    enum fault fault;
    int left;
    bool no_fallocate;
    bool no_links; /* the file system cannot name a file later */
    int no_room;   /* what the file system says to who asks for room; 0: there is some */
} config;

ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset);
int __real_fallocate(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t size);
int __real_linkat(int from, const char *old, int to, const char *new, int flags);
int __wrap_linkat(int from, const char *old, int to, const char *new, int flags);

static bool is_due(void)
{
    return config.fault != NONE && config.left-- <= 0;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    if (!is_due())
        return __real_pwrite(fd, bytes, size, offset);
    switch (config.fault) {
    case ONE_ERROR:
        config.fault = NONE;
        errno = EIO;
        return -1;
    case HALF_WRITTEN:
        config.fault = ALL_ERRORS;
        /* A header lies in one page: the kernel writes all of it or nothing. */
        if (size == sizeof(struct perfdata_header)) {
            errno = ENOSPC;
            return -1;
        }
        return __real_pwrite(fd, bytes, size / 2, offset);
    case DEAD: return (ssize_t)size;
    default: errno = ENOSPC; return -1;
    }
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t size)
{
    if (config.no_fallocate || config.no_room) {
        errno = config.no_room ? config.no_room : EOPNOTSUPP;
        return -1;
    }
    if (!is_due())
        return __real_fallocate(fd, mode, offset, size);
    if (config.fault == DEAD)
        return 0;
    if (config.fault == ONE_ERROR)
        config.fault = NONE;
    errno = ENOSPC;
    return -1;
}

int __wrap_linkat(int from, const char *old, int to, const char *new, int flags)
{
    const bool due = is_due();
    if (!config.no_links && !due)
        return __real_linkat(from, old, to, new, flags);
    if (due && config.fault == DEAD)
        return 0;
    if (due && config.fault == ONE_ERROR)
        config.fault = NONE;
    errno = config.no_links ? EOPNOTSUPP : ENOSPC;
    return -1;
}

static void arm(enum fault fault, int left, bool no_fallocate)
{
    config.fault = fault;
    config.left = left;
    config.no_fallocate = no_fallocate;
}

static void flush_quietly(void *argument)
{
    void **arguments = argument;
    int *status = arguments[2];
    *status = result_flush(arguments[0], arguments[1], NULL);
}

static void finish_quietly(void *argument)
{
    void **arguments = argument;
    int *status = arguments[2];
    *status = result_finish(arguments[0], arguments[1], NULL);
}

static char *run(void (*call)(void *), struct result *result, struct result_task *task, int *ret_status)
{
    void *arguments[] = {result, task, ret_status};
    return kit_stderr(call, arguments);
}

/* An update that is cut off after LEFT steps. Returns whether the fault struck. */
static bool update_with(enum fault fault, int left, bool no_fallocate, bool with_perf)
{
    struct kit kit;
    struct result *result;
    struct kit_file file;
    int status;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    kit_comm(&kit, result, &task, "hot");
    kit_samples(&kit, result, &task, 100);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    kit_samples(&kit, result, &task, 100);
    arm(fault, left, no_fallocate);
    char *errors = run(flush_quietly, result, &task, &status);
    const bool struck = config.fault != fault || config.left < 0;
    const bool failed = status < 0;
    if (fault != DEAD)
        arm(NONE, 0, false);

    assert_true(kit_read("out.77.77", &file));
    const bool updated = file.records[PERF_RECORD_SAMPLE] == 200;
    assert_true(updated || file.records[PERF_RECORD_SAMPLE] == 100);
    if (!struck || (!failed && fault != DEAD))
        assert_true(updated);
    if (failed) {
        uint64_t count, unwritten;
        assert_false(updated);
        assert_int_equal(results_error(kit.results, &count, &unwritten), status);
        assert_int_equal(count, 1);
        assert_int_equal(unwritten, 100);
        assert_non_null(strstr(errors, "cannot write result file 'out.77.77'"));
        /* One line. */
        assert_ptr_equal(strchr(errors, '\n'), errors + strlen(errors) - 1);
    } else {
        assert_string_equal(errors, "");
    }
    kit_file_free(&file);
    if (with_perf && kit_has_perf()) {
        char *output = kit_perf("script -i out.77.77 -F comm,time");
        unsigned lines = 0;
        for (char *at = output; (at = strstr(at, "hot")); at++)
            lines++;
        assert_int_equal(lines, updated ? 200 : 100);
        free(output);
    }
    free(errors);
    errors = run(finish_quietly, result, &task, &status);
    assert_string_equal(errors, "");
    free(errors);
    /* The end of the task is told even where records were lost. */
    if (fault != DEAD) {
        assert_true(kit_read("out.77.77", &file));
        assert_int_equal(file.records[PERF_RECORD_SAMPLE], updated ? 200 : 100);
        assert_non_null(kit_item(&file, PINJECT_ITEM_TASK, 0));
        const struct pinject_item_note *note = kit_item(&file, PINJECT_ITEM_NOTE, 0);
        assert_true(failed == (note && strstr((const char *)(note + 1), "records are missing")));
        kit_file_free(&file);
    }
    arm(NONE, 0, false);
    kit_free(&kit);
    return struck;
}

static void test_update(void **state)
{
    (void)state;
    for (enum fault fault = ONE_ERROR; fault <= DEAD; fault++) {
        for (int room = 0; room < 2; room++) {
            int left = 0;
            while (update_with(fault, left, room, fault == DEAD))
                left++;
            /* Header, body, header; and the room for them where it can be had. */
            assert_int_equal(left, room ? 3 : 4);
        }
    }
}

/* No file, or without LINKS no header, or all: of a first version with SAMPLES. */
static bool first_with(enum fault fault, int left, unsigned samples, bool links)
{
    struct kit kit;
    struct result *result;
    struct kit_file file;
    int status;
    config.no_links = !links;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    kit_comm(&kit, result, &task, "hot");
    kit_samples(&kit, result, &task, samples);
    arm(fault, left, false);
    char *errors = run(finish_quietly, result, &task, &status);
    const bool struck = config.fault != fault || config.left < 0;
    arm(NONE, 0, false);
    if (status < 0)
        assert_non_null(strstr(errors, "out.77.77"));
    if (fault == DEAD && struck && links) {
        assert_int_equal(access("out.77.77", F_OK), -1);
    } else if (fault == DEAD && struck) {
        char magic[8] = "";
        int fd = open("out.77.77", O_RDONLY | O_CLOEXEC);
        assert_true(fd >= 0);
        (void)!read(fd, magic, sizeof(magic));
        close(fd);
        assert_memory_not_equal(magic, "PERFILE2", 8);
    } else if (access("out.77.77", F_OK) == 0) {
        assert_true(kit_read("out.77.77", &file));
        assert_int_equal(file.records[PERF_RECORD_SAMPLE], status < 0 ? 0 : samples);
        kit_file_free(&file);
        assert_int_equal(results_written(kit.results), 1);
    } else {
        assert_true(status < 0);
        assert_int_equal(results_written(kit.results), 0);
        assert_int_equal(results_bytes(kit.results), 0);
    }
    free(errors);
    config.no_links = false;
    kit_free(&kit);
    return struck;
}

static void test_first(void **state)
{
    (void)state;
    for (enum fault fault = ONE_ERROR; fault <= DEAD; fault++) {
        for (int links = 0; links < 2; links++) {
            int left = 0;
            while (first_with(fault, left, 1000, links))
                left++;
            /* Body, header; and the name, where it comes last. */
            assert_int_equal(left, 2 + links);
            for (left = 0; fault != HALF_WRITTEN && first_with(fault, left, 1, links);)
                left++;
            assert_int_equal(left, fault == HALF_WRITTEN ? 0 : 1 + links);
        }
    }
}

static void limit_file_size(rlim_t size)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = size < limit.rlim_max ? size : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void test_file_size_limit(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result, *other;
    struct kit_file file;
    int status;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct result_task task = kit_task(&kit, 77, 77), small = kit_task(&kit, 77, 78);
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    assert_int_equal(result_new(kit.results, 77, 78, NULL, &other), 0);
    kit_samples(&kit, result, &task, 100);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    kit_samples(&kit, result, &task, 300);
    limit_file_size(results_bytes(kit.results) + 1000);
    char *errors = run(flush_quietly, result, &task, &status);
    assert_int_equal(status, -EFBIG);
    assert_non_null(strstr(errors, "File too large; raise the limit of file sizes (ulimit -f)"));
    free(errors);
    assert_true(kit_read("out.77.77", &file));
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 100);
    assert_non_null(kit_item(&file, PINJECT_ITEM_TASK, 0));
    kit_file_free(&file);
    /* Others are not concerned. */
    errors = run(finish_quietly, other, &small, &status);
    assert_int_equal(status, 0);
    free(errors);
    assert_true(kit_read("out.77.78", &file));
    kit_file_free(&file);
    errors = run(finish_quietly, result, &task, &status);
    assert_int_equal(status, -EFBIG);
    assert_string_equal(errors, "");
    free(errors);
    limit_file_size(RLIM_INFINITY);
    signal(SIGXFSZ, SIG_DFL);
    kit_free(&kit);
}

/* In a child with a file system of 64 KiB for itself: 0, 77 where that is not to be had, else 1. */
/* Where there is no room for an update nothing of it is written; where room cannot be had before, all of it is. */
static void test_no_room(void **state)
{
    static const struct {
        int error;
        const char *hint;
    } cases[] = {
        {ENOSPC, "No space left on device; make room, or choose another place with -o"},
        {EDQUOT, "Disk quota exceeded; the quota is used up: choose another place with -o"},
        {EFBIG, "File too large; raise the limit of file sizes (ulimit -f)"},
        {EIO, "Input/output error; choose another place with -o"},
        {EOPNOTSUPP, NULL},
        {ENOSYS, NULL},
        {EINVAL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct kit kit;
        struct result *result;
        struct kit_file file;
        int status;
        kit_new(&kit, KIT_SAMPLING);
        assert_int_equal(kit_start(&kit, "out"), 0);
        struct result_task task = kit_task(&kit, 77, 77);
        assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
        kit_samples(&kit, result, &task, 100);
        assert_int_equal(result_flush(result, &task, NULL), 0);
        kit_samples(&kit, result, &task, 300);
        config.no_room = cases[i].error;
        char *errors = run(flush_quietly, result, &task, &status);
        config.no_room = 0;
        assert_int_equal(status, cases[i].hint ? -cases[i].error : 0);
        if (cases[i].hint)
            assert_non_null(strstr(errors, cases[i].hint));
        else
            assert_string_equal(errors, "");
        free(errors);
        assert_true(kit_read("out.77.77", &file));
        assert_int_equal(file.records[PERF_RECORD_SAMPLE], cases[i].hint ? 100 : 400);
        kit_file_free(&file);
        free(run(finish_quietly, result, &task, &status));
        kit_free(&kit);
    }
}

/* Whoever closed the standard input: the file may get its number, and stays open as others do. */
static void test_first_descriptor(void **state)
{
    (void)state;
    struct kit kit;
    struct kit_file file;
    struct result *result;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    int saved = dup(0), free_one = dup(0);
    close(free_one);
    close(0);
    kit_samples(&kit, result, &task, 10);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    assert_true(fcntl(0, F_GETFD) & FD_CLOEXEC); /* it is ours */
    kit_samples(&kit, result, &task, 10);
    assert_int_equal(result_flush(result, &task, NULL), 0);
    assert_int_equal(fcntl(free_one, F_GETFD), -1); /* it was not opened once more */
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_int_equal(fcntl(0, F_GETFD), -1);
    assert_true(kit_read("out.77.77", &file));
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 20);
    kit_file_free(&file);
    kit_free(&kit);
    if (saved >= 0)
        dup2(saved, 0);
    close(saved);
}

static int fill_disk(struct kit *kit)
{
    struct result *result;
    struct kit_file file;
    int status;
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return 77;
    if (mkdir("disk", 0755) < 0 || mount("tmpfs", "disk", "tmpfs", 0, "size=64k") < 0)
        return 77;
    if (kit_start(kit, "disk/out") < 0)
        return 1;
    struct result_task task = kit_task(kit, 77, 77);
    if (result_new(kit->results, 77, 77, NULL, &result) < 0)
        return 1;
    unsigned complete = 0;
    for (status = 0; status == 0;) {
        kit_samples(kit, result, &task, 100);
        complete += 100;
        free(run(flush_quietly, result, &task, &status));
    }
    complete -= 100;
    bool good = status == -ENOSPC && complete > 0 && kit_read("disk/out.77.77", &file) &&
                file.records[PERF_RECORD_SAMPLE] == complete && kit_item(&file, PINJECT_ITEM_TASK, 0);
    kit_file_free(&file);
    free(run(finish_quietly, result, &task, &status));
    good = good && kit_read("disk/out.77.77", &file) && file.records[PERF_RECORD_SAMPLE] == complete;
    kit_file_free(&file);
    results_free(kit->results);
    return good ? 0 : 1;
}

static void test_disk_full(void **state)
{
    (void)state;
    struct kit kit;
    int status;
    kit_new(&kit, KIT_SAMPLING);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(fill_disk(&kit));
    assert_int_equal(waitpid(child, &status, 0), child);
    kit_free(&kit);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_update),    cmocka_unit_test(test_first),   cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_disk_full), cmocka_unit_test(test_no_room), cmocka_unit_test(test_first_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
