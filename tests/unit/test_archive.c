/* SPDX-License-Identifier: MIT */
/* analyze/view/archive.h: names, and files that are whole or not there; and which files of a DSO go into one. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/archive.h"
#include "common/buffer.h"
#include "common/report.h"
#include "test_view_fake.h"

static char directory[] = "/tmp/pinject-archive-XXXXXX", program[4096];

static const char *path_of(const char *name)
{
    static char paths[16][256];
    static unsigned turn;
    char *path = paths[turn++ % 16];
    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
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

/* Those that panalyze finds beside the results, and what is in the way of a hint. */
static void test_packed(void **state)
{
    (void)state;
    static const struct {
        const char *make, *found; /* by the names in the directory "packed"; NULL: none */
    } steps[] = {
        {"out.1.2", NULL},
        {"packed.tar.gz", NULL},
        {"symbols.tar.zst", NULL},
        {"no-symbols.tar", NULL},
        {"symbols.tgz", "symbols.tgz"},
        {"out.symbols.tar", "out.symbols.tar"},
        {"out.symbols/", "symbols.tgz"},
        {"symbols.symbols/", NULL},
        {"a.symbols.tar.gz", "a.symbols.tar.gz"},
    };
    assert_int_equal(mkdir(path_of("packed"), 0700), 0);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        char name[64];
        snprintf(name, sizeof(name), "packed/%s", steps[i].make);
        if (strchr(steps[i].make, '/'))
            assert_int_equal(mkdir(path_of(name), 0700), 0);
        else
            close(open(path_of(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        char *found = archive_find_packed(path_of("packed/out.1.2"));
        if (!found != !steps[i].found || (found && strcmp(strrchr(found, '/') + 1, steps[i].found) != 0))
            fail_msg("with %s: %s", steps[i].make, found ? found : "none");
        free(found);
    }
    assert_null(archive_find_packed("no-such-directory/out.1.2"));
    /* Both names of a directory are looked into, those of before too. */
    assert_true(archive_is_found("symbols") && archive_is_found("out.symbols") && archive_is_found("symbols.symbols"));
    assert_false(archive_is_found("symbol") || archive_is_found("mysymbols") || archive_is_found(".symbols"));
    assert_true(archive_is("a/symbols.tar.gz") && archive_is("a/out.symbols.tar") && archive_is("out.symbols.tgz"));
    assert_false(archive_is("a/mysymbols.tar.gz") || archive_is("symbols.tar.xz"));
}

static void test_files(void **state)
{
    (void)state;
    struct archive archive;
    const char *to = path_of("one");
    unsigned before = check_open_fds();
    assert_int_equal(archive_open(&archive, to, 0644), 0);
    assert_int_equal(archive_put(&archive, "a/b", "text", 4), 0);
    expect_file(path_of("one/a/b"), "text");
    /* One that ended in the middle has left its file behind. */
    int fd = open(path_of("one/a/b~"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(archive_put(&archive, "a/b", "other", 5), 0);
    expect_file(path_of("one/a/b"), "other");
    assert_int_equal(access(path_of("one/a/b~"), F_OK), -1);
    /* Signals and short writes. */
    static const int slow[] = {2, -EINTR, 1, 3, 0};
    answers = slow;
    assert_int_equal(archive_put(&archive, "c", "123456789", 9), 0);
    assert_int_equal(*answers, 0);
    expect_file(path_of("one/c"), "123456789");
    assert_int_equal(archive_put(&archive, "empty", "", 0), 0);
    expect_file(path_of("one/empty"), "");
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
    assert_int_equal(archive_open(&archive, path_of("two"), 0644), 0);
    assert_int_equal(archive_put(&archive, "a", "old", 3), 0);
    static const int full[] = {1, -ENOSPC, 0};
    answers = full;
    check_capture();
    int status = archive_put(&archive, "a", "newer", 5);
    const char *said = check_captured();
    assert_int_equal(status, -ENOSPC);
    assert_non_null(strstr(said, "could not be written: No space left on device"));
    expect_file(path_of("two/a"), "old");
    assert_int_equal(access(path_of("two/a~"), F_OK), -1);
    assert_int_equal(archive.files, 1);
    assert_int_equal(archive.bytes, 3);
    /* What is in the way of a file. */
    check_capture();
    status = archive_put(&archive, "a/b", "x", 1);
    said = check_captured();
    assert_int_equal(status, -ENOTDIR);
    assert_non_null(strstr(said, "could not be written: Not a directory"));
    assert_int_equal(mkdir(path_of("two/b"), 0700), 0);
    check_capture();
    status = archive_put(&archive, "b", "x", 1);
    check_captured();
    assert_true(status < 0);
    assert_int_equal(access(path_of("two/b~"), F_OK), -1);
    assert_int_equal(archive_close(&archive, status), status);
    assert_int_equal(check_open_fds(), before);
}

/* ---- files of a DSO */

const char *__wrap_symbols_debug_file(struct symbols_dso *dso);
const char *__wrap_symbols_lines_file(struct symbols_dso *dso);

static const char *debug_file, *lines_file;

const char *__wrap_symbols_debug_file(struct symbols_dso *dso)
{
    (void)dso;
    return debug_file;
}

const char *__wrap_symbols_lines_file(struct symbols_dso *dso)
{
    (void)dso;
    return lines_file;
}

/* What view_archive() says of the profile FAKE, which two result files have. */
static char *archive_of(struct fake *fake, int *ret_status)
{
    static const char *const paths[] = {"a/out.1.2", "a/out.1.3"};
    struct output output = {.to = NULL};
    char *text = NULL;
    size_t size = 0;
    output.to = open_memstream(&text, &size);
    fake->view = (struct view){
        .settings = &fake->settings, .profile = &fake->profile, .output = &output, .paths = paths, .path_count = 2};
    fake->view.names = names_new(&fake->profile, &fake->settings);
    fake->view.selection = select_new(&fake->profile, &fake->settings, fake->view.names, false);
    *ret_status = view_archive(&fake->view);
    fclose(output.to);
    select_free(fake->view.selection);
    names_free(fake->view.names);
    return text;
}

/* The index of an archive of this program. */
static void index_of_program(const char *to, struct buffer *ret)
{
    const struct profile_module own = {.path = program};
    const struct profile_module *const modules[] = {&own};
    const struct profile_frame frames[] = {{.module = &own, .offset = 0x1000, .ip = 0x401000}};
    char index[512];
    int status = -1;
    struct fake fake;
    fake_new(&fake);
    fake.profile.modules = modules;
    fake.profile.module_count = 1;
    fake.profile.frames = frames;
    fake.profile.frame_count = 1;
    fake.settings.archive = to;
    char *text = archive_of(&fake, &status);
    assert_int_equal(status, 0);
    has(text, "lines of 1 DSO");
    free(text);
    snprintf(index, sizeof(index), "%s/" ARCHIVE_INDEX, to);
    assert_int_equal(buffer_read_file(ret, index, 1 << 20), 0);
    buffer_append(ret, "", 1);
}

/* The DSO; the file with its lines, whether it is a separate debug file or came from a server. */
static void test_dsos(void **state)
{
    (void)state;
    static const struct {
        const char *debug, *lines;
        int files;
    } cases[] = {
        {NULL, NULL, 1}, {NULL, program, 1}, {NULL, "/bin/sh", 2}, {"/bin/sh", NULL, 2}, {"/bin/sh", program, 2}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct buffer index = BUFFER_INIT;
        char name[16];
        int lines = 0;
        debug_file = cases[i].debug;
        lines_file = cases[i].lines;
        snprintf(name, sizeof(name), "dso-%d", (int)i);
        index_of_program(path_of(name), &index);
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

/* A script has to notice what is missing, if that is more than 1 % of the samples. */
static void test_missing(void **state)
{
    static const char line[] = "Not saved: /opt/no-such/app (95.00 % of the samples): the file is gone\n";
    struct profile_entry entries[4];
    struct fake fake;
    int status = -1;
    (void)state;
    debug_file = lines_file = NULL;
    fake_new(&fake);
    fake.settings.archive = path_of("missing");
    check_capture();
    char *text = archive_of(&fake, &status);
    const char *said = check_captured();
    assert_int_equal(status, 1);
    has(said, "the call stacks of 95.00 % of the samples pass through files that could not be saved; run 'panalyze "
              "archive' before a program is rebuilt or deleted\n");
    has(text, line);
    has(text, "missing: symbols and lines of 0 DSOs, 0 bytes\n");
    free(text);
    for (uint64_t other = 98; other <= 100; other++) {
        memcpy(entries, fake.profile.entries, sizeof(entries));
        entries[0].weight = 1;
        entries[1].weight = entries[2].weight = 0;
        entries[3].weight = other;
        fake.profile.entries = entries;
        check_capture();
        text = archive_of(&fake, &status);
        said = check_captured();
        assert_int_equal(status, other < 100);
        assert_int_equal(*said == '\0', other == 100);
        has(text, other == 99 ? "(1.00 % of the samples): the file is gone\n" : "): the file is gone\n");
        free(text);
    }
}

#define OF_PERF(directory)                                                                                            \
    "  perf --buildid-dir " directory " report -i perf.data\n  perf --buildid-dir " directory " report -i perf.data " \
    "--no-children -s sym,srcline\nTo make perf.data, type: panalyze export perf -o perf.data out.*\n"

/* What whoever gets the archive is to type. */
static void test_commands(void **state)
{
    static const struct {
        const char *to, *commands;
    } cases[] = {
        {"made", "  panalyze --debug-path made out.*\n" OF_PERF("made")},
        {"made.symbols", "  panalyze out.*\n" OF_PERF("made.symbols")},
        {"it.tar", "  tar xf it.tar\n  panalyze out.*\n" OF_PERF("it.symbols")},
        {"symbols.tar.gz", "  tar xf symbols.tar.gz\n  panalyze out.*\n" OF_PERF("symbols")},
        {"i t.symbols.tgz", "  tar xf 'i t.symbols.tgz'\n  panalyze out.*\n" OF_PERF("'i t.symbols'")},
    };
    struct buffer bytes = BUFFER_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake fake;
        int status;
        fake_new(&fake);
        fake.settings.archive = path_of(cases[i].to);
        check_capture();
        char *text = archive_of(&fake, &status);
        check_captured();
        has(text,
            "To read the profile on another machine, copy the profile and the archive into one directory there, and "
            "type:\n");
        has(text, cases[i].commands);
        free(text);
    }
    /* The size is that of the file. */
    assert_int_equal(buffer_read_file(&bytes, path_of("it.tar"), 1 << 20), 0);
    assert_int_equal(bytes.size, 3 * 512);
    buffer_release(&bytes);
    struct archive archive;
    assert_int_equal(archive_open(&archive, path_of("size.tar"), 0600), 0);
    assert_int_equal(archive_put(&archive, "a", "text", 4), 0);
    assert_int_equal(archive_close(&archive, 0), 0);
    assert_int_equal(archive.bytes, 4 * 512);
}

static void expect_results(const char *path, size_t count, const char *name)
{
    char *found = archive_results(path, count);
    assert_string_equal(found, name);
    free(found);
}

static void test_results(void **state)
{
    (void)state;
    expect_results("out.1.2", 1, "out.1.2");
    expect_results("out.1.2", 2, "out.*");
    expect_results("a b/out.1.2.3", 2, "'a b/out'.*");
    expect_results("perf.data", 1, "perf.data");
    expect_results("my perf.data", 1, "'my perf.data'");
    expect_results("perf.data", 2, "perf.data");
}

static int make_directory(void **state)
{
    (void)state;
    umask(022);
    report_program("panalyze");
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    return length > 0 && mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", directory);
    return system(command); /* NOLINT(cert-env33-c): a name of mkdtemp() */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),     cmocka_unit_test(test_packed),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_full_disk), cmocka_unit_test(test_dsos),    cmocka_unit_test(test_missing),
        cmocka_unit_test(test_commands),  cmocka_unit_test(test_results),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
