/* SPDX-License-Identifier: MIT */
/*
 * If the events were opened on the child itself, the kernel could exchange them with those of a task that inherited them
 * (it does so instead of switching equal events off and on). The task that has them in the end would write no READ
 * records. So they are opened on an ancestor, which makes the child as its sibling (CLONE_PARENT), and ends.
 *
 * Until then, the kernel could exchange the events of the ancestor and of the child. So the ancestor has one more,
 * which the child does not inherit.
 */
#define _GNU_SOURCE
#include "collector/launch/fork_inherited.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "collector/sources/inherited.h"

/* In the ancestor, which has events once it has read a byte. Returns in its child alone, if the parent knows it. */
static void make_child(int line)
{
    char byte;
    if (read(line, &byte, 1) != 1)
        _exit(0);
    const pid_t child = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0 && read(line, &byte, 1) == 1)
        return;
    if (child != 0)
        (void)!write(line, &child, sizeof child); /* all at once, or not */
    _exit(0);
}

/* An event of PID that its children do not inherit, and that counts nothing; or -errno. */
static int open_own(pid_t pid)
{
    struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);
    attr.exclude_kernel = attr.exclude_hv = attr.disabled = 1;
    const int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void reap(pid_t pid)
{
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static pid_t fork_seen(struct inherited_sets *sets, uint64_t *ret_set, unsigned *ret_readings, int *ret_status)
{
    *ret_set = 0;
    uint64_t since_ns;
    *ret_status = inherited_open_system_wide(sets, &since_ns);
    const pid_t child = fork();
    if (child > 0 && *ret_status == 0)
        *ret_set = inherited_hand_over(sets, child, ret_readings);
    return child;
}

pid_t fork_inherited(struct inherited_sets *sets, bool system_wide, uint64_t *ret_set, unsigned *ret_readings,
                     int *ret_status)
{
    int line[2];
    pid_t child = -1;
    if (system_wide)
        return fork_seen(sets, ret_set, ret_readings, ret_status);
    *ret_set = 0;
    *ret_status = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line) < 0) {
        *ret_status = -errno;
        return fork();
    }
    const pid_t ancestor = fork();
    if (ancestor == 0) {
        close(line[0]);
        make_child(line[1]);
        close(line[1]);
        return 0;
    }
    close(line[1]);
    const int own = ancestor < 0 ? -errno : open_own(ancestor);
    int status = own < 0 ? own : inherited_open(sets, ancestor, ancestor, INHERIT_EXECS);
    if (status == 0 && (write(line[0], "", 1) != 1 || read(line[0], &child, sizeof child) != sizeof child ||
                        child < 0 || write(line[0], "", 1) != 1))
        status = -EAGAIN;
    close(line[0]);
    reap(ancestor);
    if (status < 0)
        reap(child); /* it has read nothing more, and ends */
    if (own >= 0)
        close(own);
    *ret_status = status;
    if (status < 0)
        return fork();
    *ret_set = inherited_hand_over(sets, child, ret_readings);
    return child;
}
