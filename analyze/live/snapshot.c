/* SPDX-License-Identifier: MIT */
#include "analyze/live/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"

static int make_file(const char *name)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int snapshots_init(struct snapshots *snapshots, snapshot_render *render, void *context)
{
    *snapshots = (struct snapshots){.render = render, .context = context, .past = BUFFER_INIT};
    snapshots->text = make_file("text");
    snapshots->errors = make_file("errors");
    snapshots->future = make_file("future");
    if (snapshots->text >= 0 && snapshots->errors >= 0 && snapshots->future >= 0)
        return 0;
    int error = snapshots->text < 0 ? snapshots->text : snapshots->errors < 0 ? snapshots->errors : snapshots->future;
    snapshots_release(snapshots);
    return error;
}

void snapshots_release(struct snapshots *snapshots)
{
    int *const fds[] = {&snapshots->text, &snapshots->errors, &snapshots->future};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    buffer_release(&snapshots->past);
}

/* A look with the past that the last good look wrote; without a past if its size is wrong. */
static struct top_look look_of(const struct snapshots *snapshots)
{
    struct top_look look = {.future = snapshots->future};
    const struct buffer *past = &snapshots->past;
    if (past->size < sizeof(look.head))
        return look;
    memcpy(&look.head, past->data, sizeof(look.head));
    if ((past->size - sizeof(look.head)) / sizeof(struct top_past) == look.head.count)
        look.past = (const void *)(past->data + sizeof(look.head));
    return look;
}

static _Noreturn void run_look(const struct snapshots *snapshots, pid_t parent, int columns, int rows)
{
    struct top_look look = look_of(snapshots);
    sigset_t none;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    look.columns = columns;
    look.rows = rows;
    /* The parent handles the terminal's keys. */
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (null < 0 || dup2(null, 0) < 0 || dup2(snapshots->text, 1) < 0 || dup2(snapshots->errors, 2) < 0)
        _exit(1);
    exit(snapshots->render(snapshots->context, &look));
}

int snapshots_begin(struct snapshots *snapshots, int columns, int rows)
{
    const int fds[] = {snapshots->text, snapshots->errors, snapshots->future};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (ftruncate(fds[i], 0) < 0 || lseek(fds[i], 0, SEEK_SET) < 0)
            return -errno;
    snapshots->started_ns = clock_ns(CLOCK_MONOTONIC);
    pid_t parent = getpid();
    snapshots->pid = fork();
    if (snapshots->pid == 0)
        run_look(snapshots, parent, columns, rows);
    if (snapshots->pid < 0) {
        snapshots->pid = 0;
        return -errno;
    }
    return 0;
}

static void read_all(int fd, struct buffer *ret)
{
    struct stat status;
    buffer_clear(ret);
    if (fstat(fd, &status) < 0 || status.st_size <= 0)
        return;
    void *to = buffer_extend(ret, (size_t)status.st_size);
    if (to && pread(fd, to, (size_t)status.st_size, 0) != status.st_size)
        buffer_clear(ret);
}

/* The first line of its stderr, without the program's name. */
static void read_error(int fd, int status, char *ret, size_t size)
{
    char line[512];
    ssize_t got = pread(fd, line, sizeof(line) - 1, 0);
    line[got > 0 ? got : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    const char *text = strstr(line, ": ");
    if (WIFSIGNALED(status))
        snprintf(ret, size, "the process that prepares the update was ended by signal %d", WTERMSIG(status));
    else
        snprintf(ret, size, "%s", *line ? (text ? text + 2 : line) : "the process that prepares the update failed");
}

bool snapshots_take(struct snapshots *snapshots, struct snapshot *ret)
{
    int status = 0;
    if (!snapshots->pid)
        return false;
    pid_t pid = waitpid(snapshots->pid, &status, WNOHANG);
    if (pid == 0 || (pid < 0 && errno == EINTR))
        return false;
    snapshots->pid = 0;
    snapshots->took_ns = clock_ns(CLOCK_MONOTONIC) - snapshots->started_ns;
    struct buffer text = BUFFER_INIT;
    read_all(snapshots->text, &text);
    ret->error[0] = '\0';
    /* With a bad file among good ones the rest is shown, with status 1. */
    ret->good = WIFEXITED(status) && text.size && !buffer_failed(&text);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        read_error(snapshots->errors, status, ret->error, sizeof(ret->error));
    if (!ret->good) {
        buffer_release(&text);
        return true;
    }
    buffer_release(&ret->text);
    ret->text = text;
    read_all(snapshots->future, &snapshots->past);
    ret->complete = look_of(snapshots).head.complete != 0;
    return true;
}

void snapshots_stop(struct snapshots *snapshots)
{
    if (!snapshots->pid)
        return;
    kill(snapshots->pid, SIGKILL);
    while (waitpid(snapshots->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    snapshots->pid = 0;
}
