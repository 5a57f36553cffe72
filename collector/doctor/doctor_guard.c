/* SPDX-License-Identifier: MIT */
#include "collector/doctor/doctor_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/report.h"

enum { SAID = 64 << 10 };

struct child {
    pid_t pid;
    int limit_ms;
    int report; /* its stderr; -1 once it has ended */
    int out;    /* its stdout, or -1 */
    char *said; /* [SAID] */
    size_t said_size;
    char *ret_out;
    size_t out_size, out_limit;
};

static int64_t now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* Context: the child. */
static void set_output(int out, int report)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        dup2(null, 0);
    if (out >= 0 || null >= 0)
        dup2(out >= 0 ? out : null, 1);
    dup2(report, 2);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* What does not fit is read and dropped: the child must not wait for us. False at the end. */
static bool take_output(int fd, char *to, size_t *size, size_t limit)
{
    char rest[4096];
    bool full = *size + 1 >= limit;
    ssize_t got = read(fd, full ? rest : to + *size, full ? sizeof(rest) : limit - 1 - *size);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    if (!full)
        *size += (size_t)got;
    return got > 0;
}

/* True if it ended in time. */
static bool follow_child(struct child *child)
{
    int64_t end = now_ms() + child->limit_ms;
    while (child->report >= 0 || child->out >= 0) {
        struct pollfd fds[] = {{child->report, POLLIN, 0}, {child->out, POLLIN, 0}};
        int64_t left = end - now_ms();
        if (left <= 0)
            return false;
        if (poll(fds, 2, (int)left) <= 0)
            continue;
        if (fds[0].revents && !take_output(child->report, child->said, &child->said_size, SAID)) {
            close(child->report);
            child->report = -1;
        }
        if (fds[1].revents && !take_output(child->out, child->ret_out, &child->out_size, child->out_limit)) {
            close(child->out);
            child->out = -1;
        }
    }
    return true;
}

static void make_safe(struct doctor_guarded *ret, char *text, size_t size)
{
    char joined[sizeof(ret->said)];
    size_t used = 0;
    while (size > 0 && text[size - 1] == '\n')
        size--;
    static const char name[] = "pinject-run: ";
    for (size_t i = 0; i < size && used + 3 < sizeof(joined); i++) {
        if ((i == 0 || text[i - 1] == '\n') && size - i >= sizeof(name) - 1 &&
            memcmp(text + i, name, sizeof(name) - 1) == 0)
            i += sizeof(name) - 1;
        if (i < size && text[i] == '\n')
            joined[used++] = ';';
        joined[used++] = text[i] == '\n' ? ' ' : text[i];
    }
    report_safe(ret->said, sizeof(ret->said), joined, used);
}

static void finish(struct child *child, struct doctor_guarded *ret)
{
    int status = 0;
    ret->late = !follow_child(child);
    if (ret->late)
        kill(child->pid, SIGKILL);
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ret->tried = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    make_safe(ret, child->said, child->said_size);
    if (child->ret_out)
        child->ret_out[child->out_size] = '\0';
    if (child->report >= 0)
        close(child->report);
    if (child->out >= 0)
        close(child->out);
}

/* True in the child. */
static bool start_child(struct child *child, bool wants_out, struct doctor_guarded *ret)
{
    int report[2], out[2] = {-1, -1};
    *ret = (struct doctor_guarded){0};
    child->said = malloc(SAID);
    if (!child->said || pipe2(report, O_CLOEXEC) < 0) {
        ret->error = child->said ? -errno : -ENOMEM;
        return false;
    }
    if (wants_out && pipe2(out, O_CLOEXEC) < 0)
        ret->error = -errno;
    child->pid = ret->error ? -1 : fork();
    if (child->pid == 0) {
        set_output(out[1], report[1]);
        return true;
    }
    if (child->pid < 0 && !ret->error)
        ret->error = -errno;
    close(report[1]);
    if (out[1] >= 0)
        close(out[1]);
    child->report = report[0];
    child->out = out[0];
    if (ret->error) {
        close(report[0]);
        if (out[0] >= 0)
            close(out[0]);
    }
    return false;
}

void doctor_guard(void (*work)(void *state), void *state, int limit_ms, struct doctor_guarded *ret)
{
    struct child child = {.pid = -1, .limit_ms = limit_ms, .report = -1, .out = -1};
    if (start_child(&child, false, ret)) {
        work(state);
        _exit(0);
    }
    if (!ret->error)
        finish(&child, ret);
    free(child.said);
}

void doctor_guard_program(const char *const *argv, const char *preload, struct doctor_guarded *ret, char *ret_out,
                          unsigned long size)
{
    struct child child = {
        .pid = -1, .limit_ms = DOCTOR_PATIENCE_MS, .report = -1, .out = -1, .ret_out = ret_out, .out_limit = size};
    ret_out[0] = '\0';
    if (start_child(&child, true, ret)) {
        if (preload)
            setenv("LD_PRELOAD", preload, 1);
        execv(argv[0], (char *const *)argv); /* execv changes nothing in argv */
        report_error("%s", strerror(errno));
        _exit(127);
    }
    if (!ret->error)
        finish(&child, ret);
    free(child.said);
}
