/* SPDX-License-Identifier: MIT */
#include "collector/launch/live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/report.h"

enum {
    UNTIL_FD = 3,        /* of the pipe, in panalyze */
    PATIENCE_MS = 3000,  /* for a screen to close */
    LAST_MS = 60 * 1000, /* for the last look, which is written to a file */
    KILL_MS = 1000,
    NICER = 5, /* the command comes first */
};

extern char **environ;

/* Leaves the screen if panalyze died on it. */
static const char leave_text[] = "\033[0m\033[?25h\033[?1049l";

/* Does output to FD appear on the terminal TO? */
static bool is_same_terminal(int fd, int to)
{
    unsigned mine = 0, other = 0;
    if (isatty(fd) != 1)
        return false;
    if (ioctl(fd, TIOCGDEV, &mine) < 0 || ioctl(to, TIOCGDEV, &other) < 0)
        return true;
    return mine == other;
}

static int refuse_mixing(const struct live *live, const struct settings *settings)
{
    bool out = is_same_terminal(STDOUT_FILENO, live->to), error = is_same_terminal(STDERR_FILENO, live->to);
    if (!out && !error)
        return 0;
    report_error("--live: the command's %s go%s to this terminal too, and would mix with the live view; type: "
                 "pinject-run --live ... %s, or watch from another terminal: panalyze top %s%s",
                 out && error ? "output and errors"
                 : out        ? "output"
                              : "errors",
                 out != error && out ? "es" : "",
                 out && error ? ">log 2>&1"
                 : out        ? ">log"
                              : "2>log",
                 settings->directory ? settings->directory : settings->outfile, settings->directory ? "" : ".*");
    return -EBUSY;
}

static int open_place(const struct settings *settings)
{
    if (!settings->live_to)
        return open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
    /* Opening a FIFO without a reader would block. */
    const int flags = O_WRONLY | O_TRUNC | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
    int fd = open(settings->live_to, flags | O_CREAT | O_EXCL, 0600);
    if (fd < 0)
        return errno == EEXIST ? open(settings->live_to, flags) : -1;
    (void)fchmod(fd, settings->mode);
    return fd;
}

/* FD, or a higher copy: if we were started with closed streams, it may have a number that panalyze's streams get. */
static int above_streams(int fd)
{
    int higher = fd >= 0 && fd <= UNTIL_FD ? fcntl(fd, F_DUPFD_CLOEXEC, UNTIL_FD + 1) : -1;
    if (higher < 0)
        return fd;
    close(fd);
    return higher;
}

static int find_panalyze(char *ret, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", ret, size);
    char *slash = length > 0 && (size_t)length < size ? memrchr(ret, '/', (size_t)length) : NULL;
    if (!slash || (size_t)(slash - ret) + sizeof("/panalyze") > size)
        return -ENOENT;
    strcpy(slash, "/panalyze");
    return access(ret, X_OK) ? -errno : 0;
}

int live_init(struct live *live, const struct settings *settings)
{
    char path[PATH_MAX];
    *live = (struct live){.to = -1, .until = -1, .pidfd = -1};
    if (!settings->live)
        return 0;
    int error = find_panalyze(path, sizeof(path));
    if (error) {
        report_error("--live needs panalyze in the same directory as pinject-run: %s; install pinject again",
                     strerror(-error));
        return error;
    }
    live->to = above_streams(open_place(settings));
    if (live->to < 0) {
        error = -errno;
        if (settings->live_to)
            report_error("--live: '%s' cannot be written: %s", settings->live_to, strerror(-error));
        else
            report_error("--live: no terminal (%s); --live=FILE writes the view to FILE", strerror(-error));
        return error;
    }
    fcntl(live->to, F_SETFL, fcntl(live->to, F_GETFL) & ~O_NONBLOCK);
    live->screen = isatty(live->to) == 1;
    error = live->screen ? refuse_mixing(live, settings) : 0;
    if (error)
        live_release(live);
    return error;
}

static int spawn_panalyze(struct live *live, char *const *words, const char *path, int until, const sigset_t *mask)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t defaults, blocked = *mask;
    /* Ctrl-C is for the command, from the first moment on. */
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGQUIT);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGPIPE);
    sigaddset(&defaults, SIGXFSZ);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigmask(&attr, &blocked);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&actions);
    /* The keyboard stays with the command. */
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, live->to, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, until, UNTIL_FD);
    int error = posix_spawn(&live->pid, path, &actions, &attr, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return -error;
}

/* The id selects the session's files: those of an older run may be there, and other runs may begin. */
static int start_live(struct live *live, const struct session *session, const sigset_t *mask)
{
    const unsigned char *id = (const unsigned char *)session->id;
    char path[PATH_MAX], base[PATH_MAX + 16], only[64], until[32], name[] = "panalyze", command[] = "top";
    int ends[2];
    size_t at = (size_t)snprintf(only, sizeof(only), "--session=");
    for (size_t i = 0; i < sizeof(session->id); i++)
        at += (size_t)snprintf(only + at, sizeof(only) - at, "%02x", id[i]);
    snprintf(base, sizeof(base), "--base=%s", session->settings->outfile);
    snprintf(until, sizeof(until), "--until=%d", UNTIL_FD);
    char *words[] = {name, command, base, only, until, NULL};
    int error = find_panalyze(path, sizeof(path));
    if (!error && pipe2(ends, O_CLOEXEC))
        error = -errno;
    if (error)
        return error;
    ends[0] = above_streams(ends[0]);
    error = spawn_panalyze(live, words, path, ends[0], mask);
    close(ends[0]);
    if (error) {
        live->pid = 0;
        close(ends[1]);
        return error;
    }
    live->until = ends[1];
    live->pidfd = (int)syscall(SYS_pidfd_open, live->pid, 0);
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, 0);
    if (!errno)
        setpriority(PRIO_PROCESS, (id_t)live->pid, nice + NICER);
    return 0;
}

void live_start(struct live *live, const struct session *session, const sigset_t *mask)
{
    if (live->to < 0)
        return;
    int error = start_live(live, session, mask);
    if (error)
        report_warning("--live: panalyze cannot be started: %s; the command runs without a live view",
                       strerror(-error));
}

static bool has_ended(struct live *live, int *ret_status, int signal_fd, int timeout_ms)
{
    struct pollfd fds[] = {{live->pidfd, POLLIN, 0}, {signal_fd, POLLIN, 0}};
    if (live->pidfd >= 0)
        (void)poll(fds, 2, timeout_ms);
    return waitpid(live->pid, ret_status, WNOHANG) > 0;
}

/* panalyze had no time to give the terminal back. If another job has it by now, it is left alone. */
static void leave_for(const struct live *live)
{
    pid_t group = tcgetpgrp(live->to);
    if (live->screen && (group < 0 || group == getpgrp()))
        (void)buffer_write(live->to, leave_text, sizeof(leave_text) - 1);
}

void live_end(struct live *live, int signal_fd)
{
    int status = 0;
    if (!live->pid)
        return;
    close(live->until);
    live->until = -1;
    bool ended = has_ended(live, &status, signal_fd, live->screen ? PATIENCE_MS : LAST_MS), asked = !ended;
    if (!ended) {
        kill(live->pid, SIGTERM);
        kill(live->pid, SIGCONT);
        ended = has_ended(live, &status, -1, KILL_MS);
    }
    if (!ended) {
        kill(live->pid, SIGKILL);
        while (waitpid(live->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    live->pid = 0;
    if (!WIFSIGNALED(status) || (asked && WTERMSIG(status) == SIGTERM))
        return;
    leave_for(live);
    report_warning("--live: signal %d ended panalyze, so the live view stopped", WTERMSIG(status));
}

void live_release(struct live *live)
{
    int *const fds[] = {&live->to, &live->until, &live->pidfd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}
