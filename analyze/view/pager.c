/* SPDX-License-Identifier: MIT */
#include "analyze/view/pager.h"

#include <errno.h>
#include <fcntl.h>
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
static enum pager_state ended(struct pager *pager, int status)
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
            return ended(pager, status);
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
    return ended(pager, status);
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
