/* SPDX-License-Identifier: MIT */
/*
 * Whole command lines of panalyze, as main() gets them: what they print, what they say, how they end. Each file
 * tests/data/commands/NAME.txt has lines "$ ARGUMENTS", each followed by what comes of it: stdout, then stderr with
 * "! " in front of each line, then "= STATUS" unless it is 0. To test another command line, add its "$" line, run
 * PINJECT_GOLDEN=write test_commands, and look at what it made of it (git diff).
 *
 * They run in a directory with the files that commands_inputs() makes. Words are separated by blanks, '...' is one
 * word; NAME=VALUE in front of a line is set for it. Lines for the test itself begin with "$ @": see
 * test_commands_steps.c.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <sys/ioctl.h>

#include "common/buffer.h"
#include "test_commands.h"

static char directory[256];
static bool writes;
/* A mutant or a mistake may end the program by exit(0) in the middle of main(). */
static bool inside;
static pid_t own;

static void split(struct line *line, char *text)
{
    *line = (struct line){0};
    for (char *at = text; *at;) {
        char *to = at;
        while (*at == ' ')
            at++;
        if (!*at)
            break;
        assert_true(line->count < COMMANDS_WORDS);
        line->words[line->count++] = to = at;
        for (bool quoted = false; *at && (quoted || *at != ' '); at++) {
            if (*at == '\'')
                quoted = !quoted;
            else
                *to++ = *at;
        }
        if (*at)
            at++;
        *to = '\0';
    }
}

/* ---- running */

static void at_exit(void)
{
    /* What top forks ends so. */
    if (!inside || getpid() != own)
        return;
    fflush(stdout);
    _exit(99);
}

/* main() with WORDS, its output in files OUT and ERR. */
static int run_main(char **words, int count)
{
    static char name[] = "panalyze";
    char *argv[COMMANDS_WORDS + 2] = {name};
    memcpy(argv + 1, words, (size_t)count * sizeof(*words));
    inside = true;
    int status = panalyze_main(count + 1, argv);
    inside = false;
    fflush(stdout);
    fflush(stderr);
    return status;
}

int commands_open(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    return fd;
}

/* In this process, so that what it forgets to free is found at the end. */
static int run_here(char **words, int count)
{
    int saved[2] = {dup(1), dup(2)}, fds[2] = {commands_open("../stdout"), commands_open("../stderr")};
    sigset_t signals;
    sigprocmask(SIG_SETMASK, NULL, &signals);
    fflush(stdout);
    for (int i = 0; i < 2; i++)
        dup2(fds[i], i + 1);
    int status = run_main(words, count);
    for (int i = 0; i < 2; i++) {
        dup2(saved[i], i + 1);
        close(saved[i]);
        close(fds[i]);
    }
    sigprocmask(SIG_SETMASK, &signals, NULL);
    setlocale(LC_ALL, "C.UTF-8");
    return status;
}

/* In a child with a terminal of COLUMNS for stdout; KEYS are typed at once where it is stdin too. */
static int run_on_terminal(char **words, int count, const char *columns, const char *keys)
{
    char part[4096];
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    int out = commands_open("../stdout"), err = commands_open("../stderr");
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip();
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct winsize size = {.ws_row = 24, .ws_col = (unsigned short)atoi(columns)};
    struct termios mode;
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    assert_int_equal(tcgetattr(slave, &mode), 0);
    mode.c_oflag &= ~(tcflag_t)OPOST;
    mode.c_lflag &= ~(tcflag_t)ECHO;
    assert_int_equal(tcsetattr(slave, TCSANOW, &mode), 0);
    if (*keys)
        assert_int_equal(write(master, keys, strlen(keys)), strlen(keys));
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (*keys)
            dup2(slave, 0);
        dup2(slave, 1);
        dup2(err, 2);
        _exit(run_main(words, count));
    }
    close(slave);
    for (ssize_t got; (got = read(master, part, sizeof(part))) > 0;)
        assert_int_equal(write(out, part, (size_t)got), got);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(master);
    close(out);
    close(err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* In a child without the descriptors DIGITS of 0, 1 and 2. */
static int run_closed(char **words, int count, const char *digits)
{
    int fds[2] = {commands_open("../stdout"), commands_open("../stderr")}, status = 0;
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (int i = 0; i < 2; i++)
            dup2(fds[i], i + 1);
        for (; *digits; digits++)
            close(*digits - '0');
        _exit(run_main(words, count));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fds[0]);
    close(fds[1]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- one line, one file */

static void append_file(struct buffer *to, const char *name, const char *before)
{
    struct buffer bytes = BUFFER_INIT;
    assert_int_equal(buffer_read_file(&bytes, name, COMMANDS_BYTES), 0);
    for (size_t at = 0; at < bytes.size;) {
        const char *line = (const char *)bytes.data + at, *end = memchr(line, '\n', bytes.size - at);
        size_t size = end ? (size_t)(end - line) : bytes.size - at;
        /* No line of an output is taken for one of ours. */
        const char *escape = !*before && size > 1 && strchr("$!=\\", line[0]) && line[1] == ' ' ? "\\ " : "";
        buffer_printf(to, "%s%s%.*s%s\n", before, escape, (int)size, line, end ? "" : "\n\\ no newline");
        at += size + 1;
    }
    buffer_release(&bytes);
}

static void run_line(char *text, struct buffer *to)
{
    struct line line;
    const char *variables[COMMANDS_WORDS];
    int first = 0, status;
    split(&line, text);
    for (; first < line.count && line.words[first][0] >= 'A' && line.words[first][0] <= 'Z'; first++) {
        char *value = strchr(line.words[first], '=');
        if (!value)
            break;
        *value = '\0';
        setenv(line.words[first], value + 1, 1);
        variables[first] = line.words[first];
    }
    char **words = line.words + first;
    int count = line.count - first;
    if (commands_step(&line, to))
        return;
    /* @terminal COLUMNS KEYS ARGUMENTS; without keys "-", stdin is not the terminal. */
    if (count >= 3 && strcmp(words[0], "@terminal") == 0)
        status = run_on_terminal(words + 3, count - 3, words[1], strcmp(words[2], "-") == 0 ? "" : words[2]);
    else if (count >= 2 && strcmp(words[0], "@closed") == 0) /* @closed DIGITS ARGUMENTS */
        status = run_closed(words + 2, count - 2, words[1]);
    else
        status = run_here(words, count);
    append_file(to, "../stdout", "");
    append_file(to, "../stderr", "! ");
    if (status)
        buffer_printf(to, "= %d\n", status);
    for (int i = 0; i < first; i++)
        unsetenv(variables[i]);
    commands_environment();
}

static const char *end_of_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end ? end + 1 : at + strlen(at);
}

/* Shows what differs of one command line. */
static void compare(const char *file, const char *command, const char *ours, const char *golden)
{
    const char *begin = ours, *wanted = golden;
    while (*begin && *wanted) {
        const char *end = end_of_line(begin), *other = end_of_line(wanted);
        if (end - begin != other - wanted || memcmp(begin, wanted, (size_t)(end - begin)) != 0)
            break;
        begin = end;
        wanted = other;
    }
    if (*begin || *wanted)
        fail_msg("%s:\n$ %s\n%.*sinstead of\n%.*sIf that is right: PINJECT_GOLDEN=write, then git diff.", file, command,
                 (int)(end_of_line(begin) - begin), begin, (int)(end_of_line(wanted) - wanted), wanted);
}

static void run_file(const char *name)
{
    struct buffer golden = BUFFER_INIT, all = BUFFER_INIT;
    char path[512];
    snprintf(path, sizeof(path), "%s/commands/%s.txt", TEST_DATA, name);
    assert_int_equal(buffer_read_file(&golden, path, COMMANDS_BYTES), 0);
    buffer_append(&golden, "", 1);
    for (char *at = (char *)golden.data; *at;) {
        char *end = (char *)(uintptr_t)end_of_line(at), command[2048];
        struct buffer ours = BUFFER_INIT;
        if (strncmp(at, "$ ", 2) != 0) {
            buffer_append(&all, at, (size_t)(end - at));
            at = end;
            continue;
        }
        snprintf(command, sizeof(command), "%.*s", (int)(end - at) - 3, at + 2);
        buffer_append(&all, at, (size_t)(end - at));
        char *words = strdup(command);
        run_line(words, &ours);
        free(words);
        for (at = end; *at && strncmp(at, "$ ", 2) != 0 && strncmp(at, "# ", 2) != 0;)
            at = (char *)(uintptr_t)end_of_line(at);
        buffer_append(&all, ours.data, ours.size);
        buffer_append(&ours, "", 1);
        char *wanted = strndup(end, (size_t)(at - end));
        if (!writes)
            compare(path, command, (const char *)ours.data, wanted);
        free(wanted);
        buffer_release(&ours);
    }
    if (writes) {
        int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_true(fd >= 0);
        assert_int_equal(buffer_write(fd, all.data, all.size), 0);
        close(fd);
    }
    buffer_release(&golden);
    buffer_release(&all);
}

#define TEST_OF(name)                     \
    static void test_##name(void **state) \
    {                                     \
        (void)state;                      \
        run_file(#name);                  \
    }

TEST_OF(usage)
TEST_OF(views)
TEST_OF(names)
TEST_OF(exports)
TEST_OF(diffs)
TEST_OF(files)
TEST_OF(code)
TEST_OF(found)
TEST_OF(large)
TEST_OF(terminal)
#ifdef PINJECT_JANSSON
TEST_OF(reports)
#endif

static int in_inputs(void **state)
{
    (void)state;
    return chdir(directory) < 0 || chdir("inputs") < 0 ? -1 : 0;
}

void commands_environment(void)
{
    static const char *const unset[] = {"NO_COLOR",
                                        "COLUMNS",
                                        "LINES",
                                        "PAGER",
                                        "LESS",
                                        "DEBUGINFOD_URLS",
                                        "LANG",
                                        "LC_CTYPE",
                                        "XDG_CACHE_HOME",
                                        "DEBUGINFOD_CACHE_PATH",
                                        "PATH"};
    for (size_t i = 0; i < sizeof(unset) / sizeof(unset[0]); i++)
        unsetenv(unset[i]);
    setenv("PATH", "bin:/usr/bin:/bin", 1);
    setenv("TZ", "UTC", 1);
    setenv("TERM", "xterm", 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("HOME", "/nonexistent", 1);
}

static int set_up(void **state)
{
    (void)state;
    const char *wish = getenv("PINJECT_GOLDEN");
    writes = wish && strcmp(wish, "write") == 0;
    const char *place = getenv("TMPDIR");
    snprintf(directory, sizeof(directory), "%s/pinject-commands-XXXXXX", place ? place : "/tmp");
    unsetenv("TMPDIR");
    umask(022);
    commands_environment();
    own = getpid();
    atexit(at_exit);
    if (!mkdtemp(directory) || chdir(directory) < 0 || mkdir("inputs", 0777) < 0)
        return -1;
    return in_inputs(NULL) < 0 || commands_inputs() < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    char command[300];
    (void)state;
    snprintf(command, sizeof(command), "rm -rf '%s'", directory);
    return chdir("/") < 0 || system(command) != 0 ? -1 : 0;
}

#define FILE_TEST(name) cmocka_unit_test_setup(test_##name, in_inputs)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(usage),   FILE_TEST(views), FILE_TEST(names), FILE_TEST(exports), FILE_TEST(diffs),
        FILE_TEST(files),   FILE_TEST(code),  FILE_TEST(found), FILE_TEST(large),   FILE_TEST(terminal),
#ifdef PINJECT_JANSSON
        FILE_TEST(reports),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
