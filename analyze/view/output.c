/* SPDX-License-Identifier: MIT */
#include "analyze/view/output.h"

#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/view/memory.h"
#include "analyze/view/settings.h"
#include "analyze/view/text.h"
#include "common/buffer.h"
#include "common/report.h"

/* ---- The pager ---- */

extern char **environ;

#define MOST_WORDS 32
/* How often to check whether the pager still runs, if the kernel has no pidfds. */
#define ASK_MS 20

/* Splits COMMAND into words, or passes it to the shell if it has special characters. WORDS point into COPY. */
static void split_words(const char *command, char *copy, char **words)
{
    static char shell[] = "sh", option[] = "-c";
    size_t count = 0;
    strcpy(copy, command);
    char *rest = NULL;
    if (!strpbrk(command, "|&;<>()$`\\\"'*?[]#~=%{}!")) {
        for (char *word = strtok_r(copy, " \t\n", &rest); word && count < MOST_WORDS - 1;
             word = strtok_r(NULL, " \t\n", &rest))
            words[count++] = word;
    } else {
        words[count++] = shell;
        words[count++] = option;
        words[count++] = copy;
    }
    words[count] = NULL;
}

/* The environment with usual options for less and lv, unless the user has set some. */
static char **make_environment(void)
{
    static char less[] = "LESS=FRX", lv[] = "LV=-c";
    size_t count = 0;
    while (environ[count])
        count++;
    char **list = memory_new(count + 3, sizeof(*list));
    memcpy(list, environ, count * sizeof(*list));
    if (!getenv("LESS"))
        list[count++] = less;
    if (!getenv("LV"))
        list[count++] = lv;
    return list;
}

static int spawn_pager(struct pager *pager, char **words)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t defaults;
    char **list = make_environment();
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pager->read_end, 0);
    posix_spawnattr_init(&attr);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    int status = posix_spawnp(&pager->pid, words[0], &actions, &attr, words, list);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
    free(list);
    if (status)
        pager->pid = 0;
    return -status;
}

int pager_start(struct pager *pager, const char *command)
{
    int ends[2];
    *pager = (struct pager){.read_end = -1, .write_end = -1, .pid_fd = -1};
    char *copy = memory_new(strlen(command) + 1, 1), *words[MOST_WORDS];
    split_words(command, copy, words);
    int status = words[0] ? 0 : -ENOENT;
    if (status == 0 && pipe2(ends, O_CLOEXEC) < 0)
        status = -errno;
    if (status == 0) {
        pager->read_end = ends[0];
        pager->write_end = ends[1];
        /* The read end is the pager's stdin and stays blocking: each end of a pipe has its own flags. */
        fcntl(pager->write_end, F_SETFL, fcntl(pager->write_end, F_GETFL) | O_NONBLOCK);
        status = spawn_pager(pager, words);
    }
    free(copy);
    if (status < 0) {
        pager_release(pager);
        return status;
    }
    pager->pid_fd = (int)syscall(SYS_pidfd_open, pager->pid, 0);
    return 0;
}

/* The state after the pager ended with STATUS of wait(2). */
static enum pager_state end_state(struct pager *pager, int status)
{
    int unread = 0;
    pager->pid = 0;
    if (ioctl(pager->read_end, FIONREAD, &unread) < 0)
        unread = 0;
    bool missing = WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127);
    if (pager->written && ((size_t)unread == pager->written || missing))
        return PAGER_FAILED;
    return PAGER_QUIT;
}

static bool has_ended(struct pager *pager, int *ret_status)
{
    pid_t pid = waitpid(pager->pid, ret_status, WNOHANG);
    if (pid < 0 && errno != EINTR)
        *ret_status = 0;
    return pid > 0 || (pid < 0 && errno != EINTR);
}

enum pager_state pager_write(struct pager *pager, const char *data, size_t size)
{
    int status = 0;
    while (size) {
        ssize_t wrote = write(pager->write_end, data, size);
        if (wrote > 0) {
            data += wrote;
            size -= (size_t)wrote;
            pager->written += (size_t)wrote;
            continue;
        }
        if (wrote < 0 && errno != EAGAIN && errno != EINTR)
            return PAGER_QUIT;
        struct pollfd wait[2] = {{.fd = pager->write_end, .events = POLLOUT}, {.fd = pager->pid_fd, .events = POLLIN}};
        poll(wait, 2, pager->pid_fd < 0 ? ASK_MS : -1);
        if (has_ended(pager, &status))
            return end_state(pager, status);
    }
    return PAGER_TOOK;
}

enum pager_state pager_finish(struct pager *pager)
{
    int status = 0;
    /* This ends the pager's input. */
    close(pager->write_end);
    pager->write_end = -1;
    if (!pager->pid)
        return PAGER_QUIT;
    while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return end_state(pager, status);
}

size_t pager_take_back(struct pager *pager, char *ret, size_t size)
{
    int unread = 0;
    if (pager->read_end < 0 || ioctl(pager->read_end, FIONREAD, &unread) < 0 || unread <= 0)
        return 0;
    ssize_t got = read(pager->read_end, ret, size < (size_t)unread ? size : (size_t)unread);
    return got > 0 ? (size_t)got : 0;
}

void pager_release(struct pager *pager)
{
    int *const fds[] = {&pager->read_end, &pager->write_end, &pager->pid_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* ---- The output ---- */

#define NARROWEST 20

static void write_direct(struct output *output, const char *data, size_t size)
{
    int status = buffer_write(STDOUT_FILENO, data, size);
    if (status < 0) {
        output->error = -status;
        output->ended = true;
    }
}

/* The pager showed nothing: writes everything to the terminal instead. */
static void fall_back(struct output *output)
{
    char part[4096];
    size_t size;
    output->paged = false;
    while (!output->ended && (size = pager_take_back(&output->pager, part, sizeof(part))) > 0)
        write_direct(output, part, size);
    pager_release(&output->pager);
}

static ssize_t write_output(void *cookie, const char *data, size_t size)
{
    struct output *output = cookie;
    if (output->paged && !output->ended) {
        size_t before = output->pager.written;
        enum pager_state state = pager_write(&output->pager, data, size);
        output->ended = state == PAGER_QUIT;
        if (state == PAGER_FAILED) {
            size_t given = output->pager.written - before;
            fall_back(output);
            write_direct(output, data + given, size - given);
        }
    } else if (!output->ended) {
        write_direct(output, data, size);
    }
    /* Reports success, so that stdio does not retry; output_close() reports the error. */
    return (ssize_t)size;
}

static int width_of_terminal(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width <= 0)
        width = 80;
    return width < NARROWEST ? NARROWEST : width > 10000 ? 10000 : (int)width;
}

bool output_wants_color(int color, bool terminal)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return terminal && !(none && *none) && kind && strcmp(kind, "dumb") != 0;
}

static void start_pager(struct output *output)
{
    const char *command = getenv("PAGER");
    if (!command)
        command = "less -FRX";
    if (!*command || strcmp(command, "cat") == 0)
        return;
    int status = pager_start(&output->pager, command);
    if (status == 0) {
        /* While a pager runs, Ctrl-C is for the pager. */
        signal(SIGINT, SIG_IGN);
        output->paged = true;
    } else if (getenv("PAGER")) {
        report_note("the pager '%s' cannot be started (%s); set PAGER to another program, or use --no-pager", command,
                    strerror(-status));
    }
}

int output_open(struct output *output, int color, bool pager)
{
    static const cookie_io_functions_t functions = {.write = write_output};
    *output = (struct output){.pager = {.read_end = -1, .write_end = -1, .pid_fd = -1}};
    output->to = fopencookie(output, "w", functions);
    if (!output->to)
        return -ENOMEM;
    setvbuf(output->to, NULL, _IOFBF, 1 << 16);
    output->terminal = isatty(STDOUT_FILENO) == 1;
    output->width = output->terminal ? width_of_terminal() : 0;
    output->color = output_wants_color(color, output->terminal);
    output->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (pager && output->terminal)
        start_pager(output);
    return 0;
}

bool output_is_over(const struct output *output)
{
    return output->ended;
}

int output_close(struct output *output)
{
    bool failed = fflush(output->to) != 0 || ferror(output->to);
    fclose(output->to);
    if (output->paged && pager_finish(&output->pager) == PAGER_FAILED)
        fall_back(output);
    pager_release(&output->pager);
    if (output->error == EPIPE)
        return OUTPUT_BROKEN_PIPE;
    if (output->error)
        report_error("the output could not be written: %s", strerror(output->error));
    else if (failed)
        report_error("the output could not be written");
    return output->error || failed ? 1 : 0;
}

void output_color(struct output *output, enum output_color color)
{
    static const char *const codes[] = {"0", "1", "2", "31", "32", "36"};
    if (output->color)
        fprintf(output->to, "\033[%sm", codes[color]);
}

enum output_color output_heat(double percent)
{
    return percent >= 5 ? OUTPUT_HOT : percent >= 0.5 ? OUTPUT_WARM : OUTPUT_PLAIN;
}

void output_text(struct output *output, const char *text)
{
    char *clean = text_clean(text, output->utf8);
    fputs(clean, output->to);
    free(clean);
}

void output_wrapped(struct output *output, int indent, const char *text)
{
    char *clean = text_clean(text, output->utf8);
    size_t at = 0;
    for (char *rest = NULL, *word = strtok_r(clean, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t wide = text_columns(word, output->utf8);
        if (at && output->width && at + 1 + wide > (size_t)output->width) {
            fprintf(output->to, "\n%*s", indent, "");
            at = (size_t)indent;
        } else if (at) {
            fputc(' ', output->to);
            at++;
        }
        fputs(word, output->to);
        at += wide;
    }
    fputc('\n', output->to);
    free(clean);
}
