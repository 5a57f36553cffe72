/* SPDX-License-Identifier: MIT */
/* Where a document goes: all of it under its name, or nothing. */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <zlib.h>

#include "analyze/view/output.h"
#include "analyze/view/output_file.h"

enum { LARGE = 300000 };

static char directory[] = "/tmp/pinject-output-XXXXXX", data[LARGE + 1];
static bool no_proc; /* there is no way to a file without a name */
static int linking;  /* errno of the next linkat() */
static unsigned name_tries;

int __wrap_access(const char *path, int mode);
int __real_access(const char *path, int mode);
int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __real_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __wrap_isatty(int fd);

int __wrap_access(const char *path, int mode)
{
    return no_proc && strcmp(path, "/proc/self/fd") == 0 ? -1 : __real_access(path, mode);
}

int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    name_tries++;
    errno = linking;
    return linking ? -1 : __real_linkat(from_fd, from, to_fd, to, flags);
}

static int terminal;

int __wrap_isatty(int fd)
{
    assert_int_equal(fd, STDOUT_FILENO);
    return terminal;
}

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    umask(022);
    uint32_t seed = 1;
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (char)('a' + ((seed = seed * 1664525 + 1013904223) >> 24) % 26); /* does not pack well */
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

/* Nothing is left of any test but what it removes itself. */
static int tear_down(void **state)
{
    (void)state;
    return chdir("/") || rmdir(directory);
}

static void content_is(const char *path, const char *expected, size_t size)
{
    char *text = malloc(LARGE + 1);
    gzFile file = gzopen(path, "r"); /* reads what is not packed as it is */
    assert_true(text && file);
    assert_int_equal(gzread(file, text, LARGE + 1), size);
    assert_memory_equal(text, expected, size);
    gzclose(file);
    free(text);
}

/* No temporary file stays behind. */
static void nothing_is_left(void)
{
    DIR *all = opendir(".");
    assert_non_null(all);
    for (struct dirent *entry; (entry = readdir(all));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            fail_msg("'%s' is left", entry->d_name);
    closedir(all);
}

static mode_t rights_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void write_old(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("old", file);
    assert_int_equal(fclose(file), 0);
}

/* Written packed or not, over an old file or not, with and without a file that has no name meanwhile. */
static void test_whole(void **state)
{
    static const unsigned flags[] = {0, OUTPUT_FILE_GZIP, OUTPUT_FILE_BINARY};
    (void)state;
    for (unsigned way = 0; way < 12; way++) {
        struct output_file out;
        bool old = way & 1;
        no_proc = way & 2;
        size_t size = way % 3 ? LARGE : 5;
        if (old)
            write_old("file");
        assert_int_equal(output_file_open(&out, way & 1 ? "file" : "./file", flags[way / 4], 0664), 0);
        fwrite(data, 1, size, out.to);
        assert_int_equal(access("file", F_OK), old ? 0 : -1); /* not before its end */
        if (old)
            content_is("file", "old", 3);
        assert_false(output_file_is_over(&out));
        assert_int_equal(output_file_close(&out, true), 0);
        content_is("file", data, size);
        assert_int_equal(rights_of("file"), 0644); /* the umask counts */
        struct stat status;
        assert_int_equal(stat("file", &status), 0);
        assert_int_equal((size_t)status.st_size == size, flags[way / 4] != OUTPUT_FILE_GZIP);
        assert_true(out.bytes == (uint64_t)status.st_size);
        unlink("file");
    }
    no_proc = false;
}

static void test_given_up(void **state)
{
    (void)state;
    for (unsigned way = 0; way < 4; way++) {
        struct output_file out;
        no_proc = way & 1;
        if (way & 2)
            write_old("file");
        assert_int_equal(output_file_open(&out, "file", 0, 0600), 0);
        fwrite(data, 1, LARGE, out.to);
        assert_int_equal(output_file_close(&out, false), 0);
        if (way & 2)
            content_is("file", "old", 3);
        assert_int_equal(unlink("file"), way & 2 ? 0 : -1);
        nothing_is_left();
    }
    no_proc = false;
}

/* A link stays, and what it leads to is replaced. */
static void test_link(void **state)
{
    struct output_file out;
    struct stat status;
    (void)state;
    write_old("file");
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(output_file_open(&out, "link", 0, 0666), 0);
    fputs("new", out.to);
    assert_int_equal(output_file_close(&out, true), 0);
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    content_is("file", "new", 3);
    unlink("link");
    unlink("file");
}

static void failing(const char *path, int status, const char *part)
{
    struct output_file out;
    check_capture();
    int opened = output_file_open(&out, path, 0, 0666);
    const char *told = check_captured();
    assert_int_equal(opened, status);
    if (!strstr(told, part))
        fail_msg("%s: '%s'", path, told);
}

static void test_refused(void **state)
{
    struct output_file out;
    (void)state;
    failing(directory, -EISDIR, "the file cannot be written: Is a directory");
    failing("no/such/directory", -ENOENT, "no/such/directory: the file cannot be written: No such file or directory");
    no_proc = true;
    failing("no/such/directory", -ENOENT, "No such file or directory");
    no_proc = false;
    for (terminal = 0; terminal < 2; terminal++) {
        for (unsigned flags = 0; flags < 4; flags++) {
            for (int named = 0; named < 2; named++) {
                check_capture();
                int status = output_file_open(&out, named ? "-" : NULL, flags, 0666);
                const char *told = check_captured();
                assert_int_equal(status, terminal && flags ? -EINVAL : 0);
                assert_int_equal(strstr(told, "refusing to write a binary format to a terminal") != NULL, status != 0);
                if (status == 0) {
                    assert_int_equal(out.fd, STDOUT_FILENO);
                    out.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
                    assert_int_equal(output_file_close(&out, true), 0);
                }
            }
        }
    }
    assert_true(write(STDOUT_FILENO, "", 0) == 0); /* still open */
}

/* The end fails: it is said, and nothing is left. */
static void test_no_name(void **state)
{
    struct output_file out;
    int nameless = open(".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    (void)state;
    if (nameless < 0)
        skip(); /* this file system has none */
    close(nameless);
    for (int way = 0; way < 3; way++) {
        linking = way == 1 ? EEXIST : EIO;
        name_tries = 0;
        if (way == 2)
            write_old("file");
        assert_int_equal(output_file_open(&out, "file", 0, 0666), 0);
        fputs("new", out.to);
        check_capture();
        int status = output_file_close(&out, true);
        const char *told = check_captured();
        assert_int_equal(status, 1);
        assert_non_null(strstr(
            told, way == 1 ? "file could not be written: File exists; the incomplete output is discarded"
                           : "file could not be written: Input/output error; the incomplete output is discarded"));
        assert_int_equal(name_tries, way == 1 ? 101 : 1);
        assert_int_equal(unlink("file"), way == 2 ? 0 : -1);
    }
    linking = 0;
    /* It became a directory meanwhile. */
    no_proc = true;
    assert_int_equal(output_file_open(&out, "file", 0, 0666), 0);
    assert_int_equal(mkdir("file", 0700), 0);
    check_capture();
    int status = output_file_close(&out, true);
    assert_non_null(strstr(check_captured(), "Is a directory; the incomplete output is discarded"));
    assert_int_equal(status, 1);
    assert_int_equal(rmdir("file"), 0);
    no_proc = false;
}

/* Devices and pipes are written to as they are. */
static void test_devices(void **state)
{
    struct output_file out;
    char text[8] = "";
    (void)state;
    check_capture();
    int opened = output_file_open(&out, "/dev/full", OUTPUT_FILE_BINARY, 0666);
    fputs("text", out.to);
    fflush(out.to);
    bool over = output_file_is_over(&out);
    int closed = output_file_close(&out, true);
    const char *told = check_captured();
    assert_true(opened == 0 && over && closed == 1);
    assert_non_null(strstr(told, "/dev/full could not be written: No space left on device"));
    assert_null(strstr(told, "nothing was left"));
    assert_int_equal(mkfifo("pipe", 0600), 0);
    for (int read_it = 0; read_it < 2; read_it++) {
        int reader = open("pipe", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_int_equal(output_file_open(&out, "pipe", 0, 0666), 0);
        fputs("text", out.to);
        if (!read_it)
            close(reader);
        check_capture();
        closed = output_file_close(&out, true);
        assert_string_equal(check_captured(), "");
        assert_int_equal(closed, read_it ? 0 : OUTPUT_BROKEN_PIPE);
        if (read_it) {
            assert_int_equal(read(reader, text, sizeof(text)), 4);
            assert_string_equal(text, "text");
            close(reader);
        }
    }
    unlink("pipe");
}

static void put_start(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void test_recordings(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {{"PERFILE2", true},         {"PERFILE2 and more", true}, {"2ELIFREP", true},
                 {"PERFILE", false},         {"PERFILE1", false},         {"", false},
                 {"text of somebody", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_start("file", cases[i].text);
        assert_int_equal(output_file_holds_samples("file"), cases[i].holds);
    }
    unlink("file");
    assert_false(output_file_holds_samples("file"));
    assert_false(output_file_holds_samples("."));
    assert_false(output_file_holds_samples("/dev/zero"));
}

/* Nobody may read what one of the files kept from him. */
static void test_rights(void **state)
{
    static const char *const paths[] = {"one", "two", "three"};
    (void)state;
    assert_int_equal(output_file_rights(paths, 0), 0666);
    put_start("one", "");
    put_start("two", "");
    assert_int_equal(chmod("one", 0644), 0);
    assert_int_equal(chmod("two", 0640), 0);
    assert_int_equal(output_file_rights(paths, 1), 0644);
    assert_int_equal(output_file_rights(paths, 2), 0640);
    assert_int_equal(output_file_rights(paths, 3), 0600);
    assert_int_equal(chmod("one", 0446), 0);
    assert_int_equal(output_file_rights(paths, 1), 0646);
    assert_int_equal(output_file_rights(paths, 2), 0640);
    unlink("one");
    unlink("two");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),      cmocka_unit_test(test_given_up), cmocka_unit_test(test_link),
        cmocka_unit_test(test_refused),    cmocka_unit_test(test_no_name),  cmocka_unit_test(test_devices),
        cmocka_unit_test(test_recordings), cmocka_unit_test(test_rights),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
