/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/known.h"
#include "collector/net.h"
#include "collector/numbers.h"
#include "collector/procfs.h"
#include "collector/session.h"
#include "collector/tasks.h"

enum { LOOKS = 8, AGREED_NS = 100 * 1000, EXEC_NS = 250 * 1000 };

static uint64_t counted_ns(const struct session *session, const struct attached *events)
{
    struct attach_value values[PLAN_EVENTS];
    attach_read(events, values);
    return plan_clock(session->plan, values);
}

/*
 * What the task had used when its events began to count: what the scheduler says less what they counted. It runs
 * meanwhile, and we may lose the CPU between two looks: those that agree are taken.
 */
uint64_t found_used_before(const struct session *session, const struct arrival *arrival)
{
    uint64_t used = 0, before = counted_ns(session, arrival->events);
    for (unsigned i = 0; i < LOOKS; i++) {
        uint64_t all = procfs_scheduled_ns(arrival->pid, arrival->tid);
        uint64_t after = counted_ns(session, arrival->events);
        used = all > before ? all - before : 0;
        if (after - before < AGREED_NS)
            break;
        before = after;
    }
    return used;
}

static int open_thread(struct session *session, struct arrival *arrival)
{
    return attach_open(session, arrival->pid, arrival->tid, arrival->comm, ATTACH_THREAD, &arrival->events);
}

/* posix_spawn() returns from the middle of the exec: the program is known then, its arguments a moment later. */
static void read_program(struct arrival *arrival)
{
    arrival->exec = procfs_exec(arrival->pid);
    for (unsigned i = 0; i < LOOKS && arrival->exec && !arrival->cmdline; i++) {
        if (i > 0)
            nanosleep(&(struct timespec){.tv_nsec = EXEC_NS}, NULL);
        arrival->cmdline = procfs_cmdline(arrival->pid, &arrival->cmdline_size);
    }
}

static int open_process(struct session *session, struct arrival *arrival)
{
    if (attach_knows(session, arrival->pid, arrival->pid, NULL) || nets_know(session->nets, arrival->pid))
        return -EEXIST;
    /* First: what it makes from here on is in it. */
    arrival->net_error = nets_open_of(session->nets, arrival->pid, arrival->pid, arrival->pidfd, NETS_RUNS);
    int status = attach_open(session, arrival->pid, arrival->pid, arrival->comm, ATTACH_RUNNING, &arrival->events);
    if (status < 0)
        return status;
    arrival->maps = procfs_maps(arrival->pid);
    read_program(arrival);
    return 0;
}

/* Its children are another's by then. */
static bool has_ended(pid_t pid)
{
    struct known_task task;
    return known_look(pid, pid, 0, &task) < 0 || task.state == 'Z' || task.state == 'X';
}

/* 0: what has the number now is the task that was known. -ESRCH: the number may have been given out again since. */
static int check_known(const struct arrival *arrival)
{
    struct known_task task;
    if (!arrival->known_ns)
        return 0;
    int status = known_look(arrival->pid, arrival->tid, arrival->known_ns, &task);
    if (status == -ENOENT) /* it has ended, or hides: /proc with hidepid */
        return numbers_hold(arrival->pidfd, arrival->pid, arrival->tid) ? -EACCES : -ESRCH;
    if (status == 0 && arrival->of_parent && task.parent != arrival->ppid && !has_ended(arrival->ppid))
        return -ESRCH;
    return status;
}

/* First: what holds at the end, by this descriptor, held all the time. */
static int hold_process(struct arrival *arrival)
{
    if (arrival->pidfd < 0)
        arrival->pidfd = (int)syscall(SYS_pidfd_open, arrival->pid, 0);
    if (arrival->pidfd < 0 && (errno == ESRCH || errno == EMFILE || errno == ENFILE))
        return -errno;
    return check_known(arrival);
}

void found_give_back(struct arrival *arrival)
{
    attach_free(arrival->events);
    free(arrival->maps);
    free(arrival->exec);
    free(arrival->cmdline);
    arrival->events = NULL;
    arrival->maps = arrival->exec = arrival->cmdline = NULL;
    arrival->cmdline_size = 0;
}

static int open_task(struct session *session, struct arrival *arrival)
{
    bool process = arrival->pid == arrival->tid;
    int status = hold_process(arrival);
    if (status == 0)
        status = process ? open_process(session, arrival) : open_thread(session, arrival);
    if (status < 0)
        return status;
    arrival->startup_ns = found_used_before(session, arrival);
    procfs_comm(arrival->pid, arrival->tid, arrival->comm);
    if (numbers_hold(arrival->pidfd, arrival->pid, arrival->tid))
        return 0;
    found_give_back(arrival);
    return -ESRCH;
}

int found_open(struct session *session, struct arrival *arrival)
{
    bool process = arrival->pid == arrival->tid;
    arrival->kind = process ? PINJECT_PROCESS : PINJECT_THREAD;
    arrival->flags |= process ? PINJECT_REQUEST_NET : 0;
    arrival->found = true;
    int status = open_task(session, arrival);
    if (arrival->pidfd >= 0 && (status < 0 || !process)) {
        close(arrival->pidfd);
        arrival->pidfd = -1;
    }
    if (status < 0)
        return status;
    arrival->answered_ns = tasks_now_ns();
    attach_complete(arrival->events);
    return 0;
}
