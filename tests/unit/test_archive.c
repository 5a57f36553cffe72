/* SPDX-License-Identifier: MIT */
/* analyze/view/archive.h: names, and files that are whole or not there; and which files of an object go into one. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/archive.h"
#include "common/buffer.h"
#include "common/report.h"
#include "test_view_fake.h"

static char folder[] = "/tmp/pinject-archive-XXXXXX", program[4096];

static const char *in(const char *name)
{
    static char paths[16][256];
    static unsigned turn;
    char *path = paths[turn++ % 16];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

/* ---- a disk of our own */

ssize_t __real_write(int fd, const void *bytes, size_t size);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);

/* For each write in turn: an error, or the most bytes that it takes. 0 at their end: it is a usual disk. */
static const int *answers;

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
    if (fd > 2)
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    if (!answers || !*answers)
        return __real_write(fd, bytes, size);
    int answer = *answers++;
    if (answer < 0) {
        errno = -answer;
        return -1;
    }
    return __real_write(fd, bytes, size < (size_t)answer ? size : (size_t)answer);
}

static void expect_file(const char *path, const char *text)
{
    struct buffer bytes = BUFFER_INIT;
    assert_int_equal(buffer_read_file(&bytes, path, 1 << 20), 0);
    assert_int_equal(bytes.size, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.size);
    buffer_release(&bytes);
}

static void expect_name(const char *path, const char *name)
{
    char *found = archive_name(path);
    assert_string_equal(found, name);
    free(found);
}

/* BASE.PID.TID of our own; all others are a name as they are. */
static void test_names(void **state)
{
    (void)state;
    static const char text[] = "x.1.2";
    expect_name("out.12.34", "out.symbols");
    expect_name("a.b/out.12.34", "a.b/out.symbols");
    expect_name("1.2.3/out.1.2", "1.2.3/out.symbols");
    expect_name("out.12.34.5", "out.symbols");
    expect_name("perf.data", "perf.data.symbols");
    expect_name("v1.12", "v1.12.symbols");
    expect_name("v1.12.", "v1.12..symbols");
    expect_name("v.x.12", "v.x.12.symbols");
    expect_name("a.data.12.34", "a.data.symbols");
    expect_name("dir/.1.2", "dir/.1.2.symbols");
    expect_name(text + 1, ".1.2.symbols");
}

static void test_files(void **state)
{
    (void)state;
    struct archive archive;
    const char *to = in("one");
    unsigned before = check_open_fds();
    assert_int_equal(archive_open(&archive, to, 0644), 0);
    assert_int_equal(archive_put(&archive, "a/b", "text", 4), 0);
    expect_file(in("one/a/b"), "text");
    /* One that ended in the middle has left its file behind. */
    int fd = open(in("one/a/b~"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(archive_put(&archive, "a/b", "other", 5), 0);
    expect_file(in("one/a/b"), "other");
    assert_int_equal(access(in("one/a/b~"), F_OK), -1);
    /* Signals and short writes. */
    static const int slow[] = {2, -EINTR, 1, 3, 0};
    answers = slow;
    assert_int_equal(archive_put(&archive, "c", "123456789", 9), 0);
    assert_int_equal(*answers, 0);
    expect_file(in("one/c"), "123456789");
    assert_int_equal(archive_put(&archive, "empty", "", 0), 0);
    expect_file(in("one/empty"), "");
    assert_int_equal(archive.files, 4);
    assert_int_equal(archive.bytes, 18);
    assert_int_equal(archive_close(&archive, 0), 0);
    assert_int_equal(check_open_fds(), before);
}

/* A full disk: the file that was there stays, and nothing is left of the new one. */
static void test_full_disk(void **state)
{
    (void)state;
    struct archive archive;
    unsigned before = check_open_fds();
    assert_int_equal(archive_open(&archive, in("two"), 0644), 0);
    assert_int_equal(archive_put(&archive, "a", "old", 3), 0);
    static const int full[] = {1, -ENOSPC, 0};
    answers = full;
    check_capture();
    int status = archive_put(&archive, "a", "newer", 5);
    const char *said = check_captured();
    assert_int_equal(status, -ENOSPC);
    assert_non_null(strstr(said, "could not be written: No space left on device"));
    expect_file(in("two/a"), "old");
    assert_int_equal(access(in("two/a~"), F_OK), -1);
    assert_int_equal(archive.files, 1);
    assert_int_equal(archive.bytes, 3);
    /* What is in the way of a file. */
    check_capture();
    status = archive_put(&archive, "a/b", "x", 1);
    said = check_captured();
    assert_int_equal(status, -ENOTDIR);
    assert_non_null(strstr(said, "could not be written: Not a directory"));
    assert_int_equal(mkdir(in("two/b"), 0700), 0);
    check_capture();
    status = archive_put(&archive, "b", "x", 1);
    check_captured();
    assert_true(status < 0);
    assert_int_equal(access(in("two/b~"), F_OK), -1);
    assert_int_equal(archive_close(&archive, status), status);
    assert_int_equal(check_open_fds(), before);
}

/* ---- files of an object */

const char *__wrap_symbols_debug_file(struct symbols_object *object);
const char *__wrap_symbols_lines_file(struct symbols_object *object);

static const char *debug_file, *lines_file;

const char *__wrap_symbols_debug_file(struct symbols_object *object)
{
    (void)object;
    return debug_file;
}

const char *__wrap_symbols_lines_file(struct symbols_object *object)
{
    (void)object;
    return lines_file;
}

/* The index of an archive of this program. */
static void index_of_program(const char *to, struct buffer *ret)
{
    const struct profile_module own = {.path = program};
    const struct profile_module *const modules[] = {&own};
    const struct profile_frame frames[] = {{.module = &own, .offset = 0x1000, .ip = 0x401000}};
    const char *const paths[] = {"out.data"};
    char index[512];
    int status = -1;
    struct fake fake;
    fake_new(&fake);
    fake.profile.modules = modules;
    fake.profile.module_count = 1;
    fake.profile.frames = frames;
    fake.profile.frame_count = 1;
    fake.settings.archive = to;
    struct output output = {.to = stdout};
    char *text = NULL;
    size_t size = 0;
    output.to = open_memstream(&text, &size);
    fake.view = (struct view){.settings = &fake.settings, .profile = &fake.profile, .output = &output,
                              .paths = paths, .path_count = 1};
    fake.view.names = names_new(&fake.profile, &fake.settings);
    status = view_archive(&fake.view);
    fclose(output.to);
    names_free(fake.view.names);
    assert_int_equal(status, 0);
    has(text, "1 object");
    free(text);
    snprintf(index, sizeof(index), "%s/" ARCHIVE_INDEX, to);
    assert_int_equal(buffer_read_file(ret, index, 1 << 20), 0);
    buffer_append(ret, "", 1);
}

/* The object; the file with its lines, whether it is a separate debug file or came from a server. */
static void test_objects(void **state)
{
    (void)state;
    static const struct {
        const char *debug, *lines;
        int files;
    } cases[] = {{NULL, NULL, 1}, {NULL, program, 1}, {NULL, "/bin/sh", 2}, {"/bin/sh", NULL, 2},
                 {"/bin/sh", program, 2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer index = BUFFER_INIT;
        char name[16];
        int lines = 0;
        debug_file = cases[i].debug;
        lines_file = cases[i].lines;
        snprintf(name, sizeof(name), "object-%d", (int)i);
        index_of_program(in(name), &index);
        for (const char *at = (char *)index.data; (at = strchr(at, '\n')); at++)
            lines++;
        assert_int_equal(lines, cases[i].files);
        has((char *)index.data, program);
        has((char *)index.data, "/elf ");
        if (cases[i].files == 2) {
            has((char *)index.data, "/debug ");
            has((char *)index.data, "/bin/sh\n");
        }
        buffer_release(&index);
    }
}

static int make_folder(void **state)
{
    (void)state;
    umask(022);
    report_program("panalyze");
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    return length > 0 && mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", folder);
    return system(command); /* NOLINT(cert-env33-c): a name of mkdtemp() */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
