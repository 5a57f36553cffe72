/* SPDX-License-Identifier: MIT */
/* The pager, and what becomes of the output when there is none, or none any more. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "analyze/view/output.h"
#include "analyze/view/settings.h"

enum { LARGE = 1 << 20, PIPE_SIZE = 65536 };

static char directory[] = "/tmp/pinject-pager-XXXXXX", data[LARGE];

static int set_up(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (char)('a' + i % 25);
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink("shown");
    unlink("out");
    return chdir("/") || rmdir(directory);
}

/* What is in FILE; NULL: there is none. */
static const char *content(const char *file, size_t *ret_size)
{
    static char text[LARGE + 2];
    FILE *stream = fopen(file, "r");
    if (!stream)
        return NULL;
    size_t size = fread(text, 1, sizeof(text) - 1, stream);
    text[size] = '\0';
    if (ret_size)
        *ret_size = size;
    fclose(stream);
    return text;
}

static void shown_is(const char *text)
{
    const char *shown = content("shown", NULL);
    assert_non_null(shown);
    assert_string_equal(shown, text);
    unlink("shown");
}

static void released(struct pager *pager)
{
    pager_release(pager);
    assert_true(pager->read_end == -1 && pager->write_end == -1 && pager->pid_fd == -1);
}

/* ---- the pager alone */

/* Words, or a line for the shell. */
static void test_commands(void **state)
{
    static const char *const commands[] = {"cp /dev/stdin shown", " \tcp   /dev/stdin\tshown\n", "cat>shown",
                                           "cat |cat >'shown'", "dd status=none of=shown"};
    struct pager pager;
    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        assert_int_equal(pager_start(&pager, commands[i]), 0);
        assert_true(pager.pid > 0);
        assert_int_equal(pager_write(&pager, "some ", 5), PAGER_TOOK);
        assert_int_equal(pager_write(&pager, "text", 4), PAGER_TOOK);
        assert_int_equal(pager.written, 9);
        assert_int_equal(pager_finish(&pager), PAGER_QUIT);
        assert_int_equal(pager.pid, 0);
        assert_int_equal(pager_take_back(&pager, data, 1), 0);
        released(&pager);
        shown_is("some text");
    }
}

static void test_missing(void **state)
{
    static const struct {
        const char *command;
        int error;
    } cases[] = {{"/no/such/pager", -ENOENT}, {" \t", -ENOENT}, {"/", -EACCES}};
    struct pager pager;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        int next = dup(0);
        close(next);
        assert_int_equal(pager_start(&pager, cases[i].command), cases[i].error);
        assert_int_equal(pager.pid, 0);
        released(&pager);
        int now = dup(0);
        close(now);
        assert_int_equal(now, next); /* nothing stays open */
        assert_int_equal(pager_take_back(&pager, data, 1), 0);
    }
}

static void test_many_words(void **state)
{
    char command[200] = "test 1";
    struct pager pager;
    (void)state;
    for (int i = 0; i < 60; i++)
        strcat(command, " 1");
    assert_int_equal(pager_start(&pager, command), 0);
    assert_int_equal(pager_finish(&pager), PAGER_QUIT); /* it was given nothing */
    released(&pager);
}

/* One that ends without having read gives all of it back. */
static void test_unread(void **state)
{
    char part[100];
    struct pager pager;
    (void)state;
    assert_int_equal(pager_start(&pager, "false"), 0);
    assert_int_equal(pager_write(&pager, "some text", 9), PAGER_TOOK); /* it fits */
    assert_int_equal(pager_finish(&pager), PAGER_FAILED);
    assert_int_equal(pager_take_back(&pager, part, 4), 4);
    assert_memory_equal(part, "some", 4);
    assert_int_equal(pager_take_back(&pager, part, sizeof(part)), 5);
    assert_memory_equal(part, " text", 5);
    assert_int_equal(pager_take_back(&pager, part, sizeof(part)), 0);
    released(&pager);
}

/* As much as fits has been given before it ends. */
static void test_ended(void **state)
{
    static const struct {
        const char *command;
        enum pager_state state;
        size_t back;
    } cases[] = {
        {"true", PAGER_FAILED, PIPE_SIZE},
        {"dd bs=1 count=1 of=/dev/null status=none", PAGER_QUIT, 0},
        {"dd bs=1 count=1 of=/dev/null status=none; exit 2", PAGER_QUIT, 0},
        {"dd bs=1 count=1 of=/dev/null status=none; exit 126", PAGER_FAILED, PIPE_SIZE - 1},
        {"dd bs=1 count=1 of=/dev/null status=none; exit 127", PAGER_FAILED, PIPE_SIZE - 1},
        {"dd bs=1 count=1 of=/dev/null status=none; kill -9 $$", PAGER_QUIT, 0},
    };
    static char back[LARGE];
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct pager pager;
        size_t size = 0, part;
        assert_int_equal(pager_start(&pager, cases[i].command), 0);
        assert_int_equal(pager_write(&pager, data, LARGE), cases[i].state);
        assert_int_equal(pager.pid, 0);
        assert_true(pager.written < LARGE);
        if (cases[i].state == PAGER_FAILED) {
            while ((part = pager_take_back(&pager, back + size, 5000)) > 0)
                size += part;
            size_t lost = PIPE_SIZE - cases[i].back;
            assert_int_equal(size + lost, pager.written);
            assert_memory_equal(back, data + lost, size);
        }
        assert_int_equal(pager_finish(&pager), PAGER_QUIT);
        released(&pager);
    }
}

/* It is waited for, however much there is. */
static void test_large(void **state)
{
    struct pager pager;
    size_t size;
    (void)state;
    for (int without = 0; without < 2; without++) {
        assert_int_equal(pager_start(&pager, "cat > shown"), 0);
        if (without) { /* as on a kernel without pid fds */
            close(pager.pid_fd);
            pager.pid_fd = -1;
        }
        assert_int_equal(pager_write(&pager, data, LARGE), PAGER_TOOK);
        assert_int_equal(pager.written, LARGE);
        assert_int_equal(pager_finish(&pager), PAGER_QUIT);
        released(&pager);
        assert_memory_equal(content("shown", &size), data, LARGE);
        assert_int_equal(size, LARGE);
        unlink("shown");
    }
}

static void test_surroundings(void **state)
{
    struct pager pager;
    (void)state;
    setenv("PAGER_TEST", "kept", 1);
    for (int own = 0; own < 4; own++) {
        unsetenv("LESS");
        unsetenv("LV");
        if (own & 1)
            setenv("LESS", "own", 1);
        if (own & 2)
            setenv("LV", "own", 1);
        assert_int_equal(pager_start(&pager, "echo \"$LESS $LV $PAGER_TEST\" > shown; cat"), 0);
        assert_int_equal(pager_finish(&pager), PAGER_QUIT);
        released(&pager);
        char expected[40];
        sprintf(expected, "%s %s kept\n", own & 1 ? "own" : "FRX", own & 2 ? "own" : "-c");
        shown_is(expected);
    }
    /* It ends by SIGPIPE as it would without us. */
    assert_int_equal(pager_start(&pager, "kill -PIPE $$; echo alive > shown"), 0);
    assert_int_equal(pager_finish(&pager), PAGER_QUIT);
    released(&pager);
    assert_null(content("shown", NULL));
}

/* ---- the output */

static int terminal; /* what isatty() says of stdout; and how wide it is */
static unsigned short columns;

int __wrap_isatty(int fd);
int __wrap_ioctl(int fd, unsigned long request, void *ret);
int __real_ioctl(int fd, unsigned long request, void *ret);

int __wrap_isatty(int fd)
{
    assert_int_equal(fd, STDOUT_FILENO);
    return terminal;
}

int __wrap_ioctl(int fd, unsigned long request, void *ret)
{
    if (request != TIOCGWINSZ)
        return __real_ioctl(fd, request, ret);
    assert_int_equal(fd, STDOUT_FILENO);
    *(struct winsize *)ret = (struct winsize){.ws_col = columns};
    return columns ? 0 : -1;
}

static int saved_stdout;

/* From here on to restore() stdout is FD. */
static void redirect(int fd)
{
    assert_true(fd >= 0);
    fflush(stdout);
    saved_stdout = dup(STDOUT_FILENO);
    dup2(fd, STDOUT_FILENO);
    close(fd);
}

static void restore(void)
{
    dup2(saved_stdout, STDOUT_FILENO);
    close(saved_stdout);
}

static int out_file(void)
{
    return open("out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

static void set_pager(const char *pager)
{
    if (pager)
        setenv("PAGER", pager, 1);
    else
        unsetenv("PAGER");
}

static void test_width(void **state)
{
    static const struct {
        const char *columns;
        unsigned short of_terminal;
        int width;
    } cases[] = {{NULL, 132, 132}, {NULL, 0, 80},         {"50", 132, 50},       {"19", 132, 20}, {"20", 132, 20},
                 {"21", 132, 21},  {"10000", 132, 10000}, {"10001", 132, 10000}, {"0", 132, 132}, {"-5", 0, 80},
                 {"x", 90, 90},    {NULL, 5, 20},         {"1", 132, 20}};
    (void)state;
    set_pager("");
    for (terminal = 0; terminal < 2; terminal++) {
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            struct output output;
            columns = cases[i].of_terminal;
            unsetenv("COLUMNS");
            if (cases[i].columns)
                setenv("COLUMNS", cases[i].columns, 1);
            assert_int_equal(output_open(&output, COLOR_NEVER, true), 0);
            assert_int_equal(output.width, terminal ? cases[i].width : 0);
            assert_int_equal(output.terminal, terminal);
            assert_true(!output.color && !output.paged && !output_is_over(&output));
            assert_int_equal(output_close(&output), 0);
        }
    }
    unsetenv("COLUMNS");
}

static void test_colours(void **state)
{
    (void)state;
    for (int mask = 0; mask < 16; mask++) {
        unsetenv("NO_COLOR");
        unsetenv("TERM");
        if (mask & 1)
            setenv("NO_COLOR", mask & 2 ? "1" : "", 1);
        if (mask & 4)
            setenv("TERM", mask & 8 ? "dumb" : "xterm", 1);
        bool wanted = (mask & 3) != 3 && (mask & 12) == 4;
        assert_int_equal(output_wants_color(COLOR_AUTO, true), wanted);
        assert_false(output_wants_color(COLOR_AUTO, false));
        assert_true(output_wants_color(COLOR_ALWAYS, false));
        assert_false(output_wants_color(COLOR_NEVER, true));
    }
    assert_int_equal(output_heat(5), OUTPUT_HOT);
    assert_int_equal(output_heat(4.99), OUTPUT_WARM);
    assert_int_equal(output_heat(0.5), OUTPUT_WARM);
    assert_int_equal(output_heat(0.49), OUTPUT_PLAIN);
}

/* What of SIZE bytes that are printed on a terminal arrives in the pager ("shown") and on the terminal ("out"). */
static void paged(const char *pager, bool wanted, size_t size, bool in_pager, bool paging)
{
    struct output output;
    size_t got = 0;
    set_pager(pager);
    terminal = 1;
    columns = 80;
    signal(SIGINT, SIG_DFL);
    redirect(out_file());
    int opened = output_open(&output, COLOR_NEVER, wanted);
    bool was_paged = output.paged;
    fwrite(data, 1, size, output.to);
    int closed = output_close(&output);
    restore();
    assert_int_equal(opened, 0);
    assert_int_equal(closed, 0);
    assert_int_equal(was_paged, paging);
    /* Ctrl-C is the pager's. */
    assert_true(signal(SIGINT, SIG_DFL) == (paging ? SIG_IGN : SIG_DFL));
    const char *out = content(in_pager ? "shown" : "out", &got);
    assert_int_equal(got, size);
    assert_memory_equal(out, data, size);
    struct stat status;
    assert_int_equal(stat("out", &status), 0);
    assert_int_equal(status.st_size, in_pager ? 0 : size);
    unlink("shown");
}

static void test_paged_output(void **state)
{
    (void)state;
    for (size_t size = 100; size <= LARGE; size *= 100) {
        paged("cat > shown", true, size, true, true);
        paged("cat > shown", false, size, false, false);
        paged("", true, size, false, false);
        paged("cat", true, size, false, false);
        paged("false", true, size, false, true);
        paged("no-such-pager-anywhere | cat", true, size, false, true);
    }
    paged("true", true, LARGE, false, true);
    paged("cat > shown", true, LARGE, true, true);
    check_capture();
    paged("/no/such/pager", true, 1000, false, false);
    const char *told = check_captured();
    assert_non_null(strstr(told, "the pager '/no/such/pager' cannot be started (No such file or directory); set PAGER "
                                 "to another program, or use --no-pager"));
    /* Nobody asked for the usual one. */
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "/no/such/directory", 1);
    check_capture();
    paged(NULL, true, 1000, false, false);
    assert_string_equal(check_captured(), "");
    setenv("PATH", path, 1);
    free(path);
}

/* A pager that the user has left: the rest is dropped, and that is no failure. */
static void test_left_pager(void **state)
{
    struct output output;
    (void)state;
    set_pager("dd bs=1 count=9 of=shown status=none");
    terminal = 1;
    redirect(out_file());
    int opened = output_open(&output, COLOR_NEVER, true);
    fwrite(data, 1, LARGE, output.to);
    bool over = output_is_over(&output);
    fwrite(data, 1, LARGE, output.to);
    int closed = output_close(&output);
    restore();
    signal(SIGINT, SIG_DFL);
    assert_true(opened == 0 && closed == 0 && over);
    shown_is("abcdefghi");
    assert_string_equal(content("out", NULL), "");
}

/* A full disk is told; a reader that went is none of our business. */
static void test_failing_output(void **state)
{
    struct output output;
    int ends[2];
    (void)state;
    terminal = 0;
    check_capture();
    redirect(open("/dev/full", O_WRONLY | O_CLOEXEC));
    output_open(&output, COLOR_NEVER, true);
    fputs("text", output.to);
    fflush(output.to);
    bool over = output_is_over(&output);
    int error = output.error, closed = output_close(&output);
    restore();
    const char *told = check_captured();
    assert_non_null(strstr(told, "the output could not be written: No space left on device"));
    assert_true(over && error == ENOSPC && closed == 1);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    check_capture();
    redirect(ends[1]);
    output_open(&output, COLOR_NEVER, true);
    fputs("text", output.to);
    closed = output_close(&output);
    restore();
    assert_string_equal(check_captured(), "");
    assert_int_equal(closed, OUTPUT_BROKEN_PIPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands),     cmocka_unit_test(test_missing),    cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_unread),       cmocka_unit_test(test_ended),      cmocka_unit_test(test_large),
        cmocka_unit_test(test_surroundings), cmocka_unit_test(test_width),      cmocka_unit_test(test_colours),
        cmocka_unit_test(test_paged_output), cmocka_unit_test(test_left_pager), cmocka_unit_test(test_failing_output),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
