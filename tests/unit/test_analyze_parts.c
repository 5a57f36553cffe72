/* SPDX-License-Identifier: MIT */
/* Which source files may be shown, how far the reading is, and what a debuginfod server answers. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "analyze/progress.h"
#include "analyze/sym/debuginfod.h"
#include "analyze/view/source_text.h"

/* ---- a clock of our own, which begins at 100 s */

static uint64_t clock_ns = UINT64_C(100000000000);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret);

int __wrap_clock_gettime(clockid_t id, struct timespec *ret)
{
    (void)id;
    *ret = (struct timespec){.tv_sec = (time_t)(clock_ns / 1000000000), .tv_nsec = (long)(clock_ns % 1000000000)};
    return 0;
}

/* ---- source files */

static char directory[] = "/tmp/pinject-parts-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][256];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
    return path;
}

static void make(const char *name, mode_t mode)
{
    char path[256];
    snprintf(path, sizeof(path), "%s", path_of(name));
    for (char *at = path + strlen(directory) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        *at = '/';
    }
    if (!mode)
        return;
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    assert_true(fputs("text", to) >= 0 && fclose(to) == 0);
    assert_int_equal(chmod(path, mode), 0);
}

static const char outside[] = "the file is outside of the compiled project; --symfs=/ shows the file";
static const char private[] = "the file has stricter read permissions than the program; --symfs=/ shows the file";
static const char out_of_symfs[] = "the path leads out of the --symfs directory";

/* WHY: NULL where it is shown, "" where it is not there. */
static void expect(const char *file, const char *dir, const char *dso, const char *symfs, const char *why)
{
    const struct source_place place = {file, dir, dso};
    const char *said = "unset";
    uint64_t size = 0;
    int fd = source_rights_open(&place, symfs, &size, &said);
    bool right = why ? fd < 0 && (*why ? said && strcmp(said, why) == 0 : !said) : fd >= 0 && !said && size == 4;
    if (!right)
        fail_msg("%s, compiled in %s: %d, %s, %d bytes", file, dir ? dir : "nowhere", fd, said ? said : "-", (int)size);
    if (fd >= 0)
        close(fd);
}

static void test_sources_of_a_project(void **state)
{
    static const char *const marks[] = {".git", ".hg", ".svn", ".bzr", ".jj"};
    (void)state;
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        char mark[64];
        snprintf(mark, sizeof(mark), "home/versioned/%s/x", marks[i]);
        make(mark, 0644);
        expect(path_of("home/versioned/src/a.c"), path_of("home/versioned/out/deep/er"), path_of("home/app"), "", NULL);
        expect(path_of("home/versioned/src/a.c"), path_of("home/versioned"), path_of("home/app"), "", NULL);
        assert_int_equal(unlink(path_of(mark)), 0);
        *strrchr(mark, '/') = '\0';
        assert_int_equal(rmdir(path_of(mark)), 0);
    }
    /* Not under version control: the directory above the one of the compiler. */
    expect(path_of("home/versioned/src/a.c"), path_of("home/versioned/out/deep/er"), path_of("home/app"), "", outside);
    expect(path_of("home/versioned/out/b.c"), path_of("home/versioned/out/deep"), path_of("home/app"), "", NULL);
    expect(path_of("home/versioned/src/a.c"), path_of("home/versioned/out"), path_of("home/app"), "", NULL);
    expect(path_of("home/versioned-2/c.c"), path_of("home/versioned/out"), path_of("home/app"), "", outside);
    /* Never the home, unless it was compiled there, nor what is around it. */
    expect(path_of("home/d.c"), path_of("home/versioned"), path_of("home/app"), "", outside);
    expect(path_of("home/d.c"), path_of("home"), path_of("home/app"), "", NULL);
    expect(path_of("e.c"), path_of("home"), path_of("home/app"), "", outside);
    make("home/.git/x", 0644);
    expect(path_of("home/d.c"), path_of("home/versioned"), path_of("home/app"), "", outside);
    /* Hidden files hold keys. */
    make("home/versioned/.git/x", 0644);
    expect(path_of("home/versioned/.git/x"), path_of("home/versioned"), path_of("home/app"), "", outside);
    /* Where nobody knows, or all would be the project. */
    expect(path_of("home/versioned/src/a.c"), NULL, path_of("home/app"), "", outside);
    expect(path_of("home/versioned/src/a.c"), "/", path_of("home/app"), "", outside);
    expect(path_of("home/versioned/src/a.c"), "home", path_of("home/app"), "", outside);
    expect(path_of("home/versioned/src/a.c"), path_of("gone"), path_of("home/app"), "", outside);
    expect("home/versioned/src/a.c", path_of("home/versioned"), path_of("home/app"), "", "");
    expect(path_of("home/versioned/src/gone.c"), path_of("home/versioned"), path_of("home/app"), "", "");
    expect("/etc/passwd", "/etc", path_of("home/app"), "", outside);
    /* A link leads where it leads. */
    assert_int_equal(symlink(path_of("e.c"), path_of("home/versioned/src/link.c")), 0);
    expect(path_of("home/versioned/src/link.c"), path_of("home/versioned"), path_of("home/app"), "", outside);
}

static void test_private_sources(void **state)
{
    (void)state;
    expect(path_of("home/versioned/src/private.c"), path_of("home/versioned"), path_of("home/app"), "", private);
    expect(path_of("home/versioned/src/group.c"), path_of("home/versioned"), path_of("home/app"), "", private);
    expect(path_of("home/versioned/src/private.c"), path_of("home/versioned"), path_of("home/private-app"), "", NULL);
    expect(path_of("home/versioned/src/a.c"), path_of("home/versioned"), path_of("home/private-app"), "", NULL);
    expect(path_of("home/versioned/src/a.c"), path_of("home/versioned"), path_of("home/gone"), "", private);
    expect(path_of("home/versioned/src/a.c"), path_of("home/versioned"), NULL, "", private);
}

static void test_sources_below_symfs(void **state)
{
    (void)state;
    expect("/src/s.c", NULL, NULL, path_of("sym"), NULL);
    expect("src/s.c", NULL, NULL, path_of("sym"), NULL);
    expect("/src/../../e.c", NULL, NULL, path_of("sym"), out_of_symfs);
    expect("/src/gone.c", NULL, NULL, path_of("sym"), "");
    expect("/src/s.c", NULL, NULL, path_of("gone"), "");
    /* All of the machine. */
    expect(path_of("home/versioned/src/a.c"), NULL, NULL, "/", NULL);
    /* What is not there is looked for as without it. */
    expect(path_of("home/versioned/src/a.c"), path_of("home/versioned"), path_of("home/app"), path_of("sym"), NULL);
}

/* ---- progress */

static void tell(struct progress *progress, uint64_t done, uint64_t total, const char *text)
{
    check_capture();
    progress_tell(progress, done, total);
    assert_string_equal(check_captured(), text);
}

static void test_progress(void **state)
{
    struct progress progress;
    (void)state;
    check_capture();
    progress_init(&progress);
    check_captured();
    assert_false(progress.terminal || progress.shown);
    assert_true(progress.start_ns == clock_ns && progress.last_ns == clock_ns);
    clock_ns += 5000000000;
    tell(&progress, 1, 2, ""); /* no terminal */
    progress = (struct progress){.terminal = true, .start_ns = clock_ns, .last_ns = clock_ns};
    clock_ns += 999999999;
    tell(&progress, 1000000, 3000000, "");
    clock_ns += 1;
    tell(&progress, 1, 0, "");
    assert_false(progress.shown);
    tell(&progress, 1000000, 3000000, "panalyze: reading, 33 % of 3 MB\033[K\r");
    assert_true(progress.shown);
    clock_ns += 199999999;
    tell(&progress, 2000000, 3000000, "");
    clock_ns += 1;
    tell(&progress, 3000000, 3000000, "panalyze: reading, 100 % of 3 MB\033[K\r");
    clock_ns += 200000000;
    tell(&progress, 4000000, 3999999, "panalyze: reading, 100 % of 3 MB\033[K\r");
    check_capture();
    progress_end(&progress);
    assert_string_equal(check_captured(), "\033[K");
    check_capture();
    progress_end(&progress);
    assert_string_equal(check_captured(), "");
}

/* ---- debuginfod */

static bool no_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

extern int fake_answer, fake_asked, fake_watched;
extern void *fake_client;
extern char *fake_path;
extern void (*fake_wait)(void);

static uint64_t waits_ns;

static void wait_there(void)
{
    clock_ns += waits_ns;
}

static void ask(struct debuginfod *debuginfod, int answer, uint64_t waits, int status, const char *why)
{
    static const unsigned char id[2] = {0x12, 0x34};
    const char *said = NULL;
    char *path = NULL;
    fake_asked = 0;
    fake_answer = answer;
    waits_ns = waits;
    assert_int_equal(debuginfod_find(debuginfod, id, 2, &path, &said), status);
    if (why)
        assert_string_equal(said, why);
    else
        assert_true(!said && path == fake_path && fcntl(answer, F_GETFD) < 0);
}

static void test_debuginfod(void **state)
{
    static char path[] = "/cache/file";
    static const char slow[] = "the debuginfod servers were too slow";
    struct debuginfod *debuginfod = NULL;
    (void)state;
    fake_path = path;
    fake_wait = wait_there;
    unsetenv("DEBUGINFOD_URLS");
    assert_int_equal(debuginfod_new(10, &debuginfod), -EDESTADDRREQ);
    setenv("DEBUGINFOD_URLS", " \t\n", 1);
    assert_int_equal(debuginfod_new(10, &debuginfod), -EDESTADDRREQ);
    setenv("DEBUGINFOD_URLS", " http://server.example", 1);
    no_memory = true;
    assert_int_equal(debuginfod_new(10, &debuginfod), -ENOMEM);
    no_memory = false;
    void *client = fake_client;
    fake_client = NULL;
    assert_int_equal(debuginfod_new(10, &debuginfod), -ENOMEM);
    fake_client = client;
    assert_int_equal(debuginfod_new(10, &debuginfod), 0);
    ask(debuginfod, open("/dev/null", O_RDONLY), 0, 0, NULL);
    assert_int_equal(fake_asked, 0x1234);
    assert_int_equal(fake_watched, 0);
    ask(debuginfod, -ENOENT, 6000000000, -ENOENT, "no debuginfod server has the debug information of this file");
    assert_int_equal(fake_watched, 0);
    ask(debuginfod, -EIO, 3000000000, -EIO, "the request to the debuginfod servers failed");
    assert_int_equal(fake_watched, 0);
    /* One second is left, of ten for all. */
    ask(debuginfod, -ETIME, 1000000001, -ETIME, slow);
    assert_int_equal(fake_watched, 1);
    ask(debuginfod, 0, 0, -ETIME, slow);
    assert_int_equal(fake_asked, 0);
    debuginfod_free(debuginfod);
    assert_int_equal(fake_asked, -1);
    debuginfod_free(NULL);
}

static int set_up(void **state)
{
    (void)state;
    umask(022);
    if (!mkdtemp(directory))
        return -1;
    static const struct {
        const char *name;
        mode_t mode;
    } files[] = {{"home/versioned/src/a.c", 0644},
                 {"home/versioned/src/private.c", 0600},
                 {"home/versioned/src/group.c", 0640},
                 {"home/versioned/out/b.c", 0644},
                 {"home/versioned/out/deep/er/", 0},
                 {"home/versioned-2/c.c", 0644},
                 {"home/d.c", 0644},
                 {"home/app", 0755},
                 {"home/private-app", 0700},
                 {"e.c", 0644},
                 {"sym/src/s.c", 0600}};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        make(files[i].name, files[i].mode);
    setenv("HOME", path_of("home"), 1);
    return 0;
}

static int tear_down(void **state)
{
    char command[64];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sources_of_a_project), cmocka_unit_test(test_private_sources),
        cmocka_unit_test(test_sources_below_symfs),  cmocka_unit_test(test_progress),
        cmocka_unit_test(test_debuginfod),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
