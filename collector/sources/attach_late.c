/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/sources/attach_late.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/sources/session.h"
#include "collector/system/known.h"
#include "collector/system/monotonic.h"
#include "collector/system/numbers.h"
#include "collector/system/procfs.h"

enum { LOOKS = 8, AGREED_NS = 100 * 1000, EXEC_NS = 250 * 1000 };

static uint64_t counted_ns(const struct session *session, const struct attached *events)
{
    struct attach_value values[CONFIG_EVENTS];
    attach_read(events, values);
    return event_config_clock(session->config, values);
}

/*
 * What the task had used when its events began to count: the scheduler's figure less what they counted. The task runs
 * meanwhile, and we may lose the CPU between two looks: takes looks that agree.
 */
uint64_t attach_late_used_before(const struct session *session, const struct notification *notification)
{
    uint64_t used = 0, before = counted_ns(session, notification->events);
    for (unsigned i = 0; i < LOOKS; i++) {
        uint64_t all = procfs_scheduled_ns(notification->pid, notification->tid);
        uint64_t after = counted_ns(session, notification->events);
        used = all > before ? all - before : 0;
        if (after - before < AGREED_NS)
            break;
        before = after;
    }
    return used;
}

static int open_thread(struct session *session, struct notification *notification)
{
    return attach_open(session, notification->pid, notification->tid, notification->comm, ATTACH_THREAD,
                       &notification->events);
}

/* posix_spawn() returns from the middle of the exec: the program is known then, its arguments a moment later. */
static void read_program(struct notification *notification)
{
    notification->exec = procfs_exec(notification->pid);
    for (unsigned i = 0; i < LOOKS && notification->exec && !notification->cmdline; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = EXEC_NS}, NULL);
        notification->cmdline = procfs_cmdline(notification->pid, &notification->cmdline_size);
    }
}

int attach_late_adopt(struct session *session, struct notification *notification)
{
    struct inherited_sets *sets = session->inherited_sets;
    if (attach_knows(session, notification->pid, notification->tid, NULL) || inherited_know(sets, notification->tid))
        return -EEXIST;
    notification->readings = inherited_adopt(sets, notification->pid, notification->tid);
    if (!notification->readings) /* it has ended, and was in the set */
        return -EEXIST;
    const int status = inherited_count_from_now(sets, notification->tid, notification->startup_ns);
    if (status < 0)
        return status;
    notification->inherited = true;
    notification->inherited_set = session_system_wide(session);
    return 0;
}

/* In a session with a system-wide set. */
static int adopt(struct session *session, struct notification *notification)
{
    notification->startup_ns = procfs_scheduled_ns(notification->pid, notification->tid);
    const int status = attach_late_adopt(session, notification);
    if (status == 0 && notification->pid == notification->tid) {
        notification->maps = procfs_maps(notification->pid);
        read_program(notification);
    }
    return status;
}

static int open_process(struct session *session, struct notification *notification)
{
    if (attach_knows(session, notification->pid, notification->pid, NULL) ||
        inherited_know(session->inherited_sets, notification->pid))
        return -EEXIST;
    /* First, so that what it makes from here on is in the set. */
    notification->inherit_error = inherited_open_of(session->inherited_sets, notification->pid, notification->pid,
                                                    notification->pidfd, INHERIT_RUNS);
    int status = attach_open(session, notification->pid, notification->pid, notification->comm, ATTACH_RUNNING,
                             &notification->events);
    if (status < 0)
        return status;
    notification->maps = procfs_maps(notification->pid);
    read_program(notification);
    return 0;
}

/* Has it ended? Then its children have another parent. */
static bool has_ended(pid_t pid)
{
    struct known_task task;
    return known_look(pid, pid, 0, &task) < 0 || task.state == 'Z' || task.state == 'X';
}

/* 0: the task that has the number now is the known one. -ESRCH: the number may have been reused. */
static int check_known(struct notification *notification)
{
    struct known_task task;
    if (!notification->known_ns)
        return 0;
    int status = known_look(notification->pid, notification->tid, notification->known_ns, &task);
    if (status == -ENOENT) /* it has ended, or /proc hides it (hidepid) */
        return numbers_hold(notification->pidfd, notification->pid, notification->tid) ? -EACCES : -ESRCH;
    if (status == 0 && notification->of_parent && task.parent != notification->ppid && !has_ended(notification->ppid))
        return -ESRCH;
    notification->waited_before = status == 0 && task.waited;
    return status;
}

/* First: a check by this descriptor at the end then holds for the whole time. */
static int hold_process(struct notification *notification)
{
    if (notification->pidfd < 0)
        notification->pidfd = (int)syscall(SYS_pidfd_open, notification->pid, 0);
    if (notification->pidfd < 0 && (errno == ESRCH || errno == EMFILE || errno == ENFILE))
        return -errno;
    return check_known(notification);
}

void attach_late_undo(struct notification *notification)
{
    attach_free(notification->events);
    free(notification->maps);
    free(notification->exec);
    free(notification->cmdline);
    notification->events = NULL;
    notification->maps = notification->exec = notification->cmdline = NULL;
    notification->cmdline_size = 0;
}

static int open_task(struct session *session, struct notification *notification)
{
    bool process = notification->pid == notification->tid;
    int status = hold_process(notification);
    if (status == 0 && session_system_wide(session))
        status = adopt(session, notification);
    else if (status == 0)
        status = process ? open_process(session, notification) : open_thread(session, notification);
    if (status < 0)
        return status;
    if (notification->events)
        notification->startup_ns = attach_late_used_before(session, notification);
    procfs_comm(notification->pid, notification->tid, notification->comm);
    if (numbers_hold(notification->pidfd, notification->pid, notification->tid))
        return 0;
    attach_late_undo(notification);
    if (notification->inherited)
        inherited_forget(session->inherited_sets, notification->tid);
    return -ESRCH;
}

int attach_late_open(struct session *session, struct notification *notification)
{
    bool process = notification->pid == notification->tid;
    notification->kind = process ? PINJECT_PROCESS : PINJECT_THREAD;
    notification->flags |= process ? PINJECT_REQUEST_INHERIT_EXEC : 0;
    notification->attached_late = true;
    int status = open_task(session, notification);
    if (notification->pidfd >= 0 && (status < 0 || !process)) {
        close(notification->pidfd);
        notification->pidfd = -1;
    }
    if (status < 0)
        return status;
    notification->answered_ns = monotonic_ns();
    if (notification->events)
        attach_complete(notification->events);
    return 0;
}
