/* SPDX-License-Identifier: MIT */
/* The helpers that answer questions about files, and the users who ask. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/system/opener_helper.h"
#include "collector/system/procfs.h"
#include "common/clock.h"

#define AGAIN_NS UINT64_C(100000000) /* before another attempt to start one */
enum { PATIENCE_SHARE = 50 };

uint64_t opener_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

/* ---- Lists ---- */

void jobs_init(struct jobs *jobs)
{
    jobs->first = NULL;
    jobs->end = &jobs->first;
}

void jobs_put(struct jobs *jobs, struct job *job)
{
    job->next = NULL;
    *jobs->end = job;
    jobs->end = &job->next;
}

struct job *jobs_take(struct jobs *jobs, struct job **at)
{
    struct job *job = *at;
    *at = job->next;
    if (!*at)
        jobs->end = at;
    return job;
}

void jobs_put_in_front(struct jobs *to, struct jobs *from)
{
    if (!from->first)
        return;
    *from->end = to->first;
    if (!to->first)
        to->end = from->end;
    to->first = from->first;
    jobs_init(from);
}

/* ---- Users ---- */

/* An unused entry: a free one, or that of the user who asked longest ago. NULL: all are busy. */
static struct user *find_idle(struct opener *opener)
{
    struct user *oldest = NULL;
    if (opener->user_count < OPENER_USERS)
        return &opener->users[opener->user_count++];
    for (unsigned i = 0; i < OPENER_USERS; i++) {
        struct user *user = &opener->users[i];
        if (!user->slow && !user->hung && !user->queued && (!oldest || user->asked_ns < oldest->asked_ns))
            oldest = user;
    }
    return oldest;
}

struct user *user_find(struct opener *opener, pid_t pid)
{
    uid_t uid = pid > 0 ? procfs_uid(pid) : (uid_t)-1;
    uint64_t now = opener_now_ns();
    struct user *user = NULL;
    for (unsigned i = 0; i < opener->user_count && !user; i++)
        if (opener->users[i].uid == uid)
            user = &opener->users[i];
    if (!user && (user = find_idle(opener)))
        *user = (struct user){.uid = uid, .patience_ns = OPENER_PATIENCE_NS, .patience_at_ns = now};
    if (!user)
        user = &opener->users[OPENER_USERS - 1];
    user->asked_ns = now;
    return user;
}

bool user_has_patience(struct user *user, uint64_t now)
{
    user->patience_ns += (int64_t)((now - user->patience_at_ns) / PATIENCE_SHARE);
    user->patience_at_ns = now;
    if (user->patience_ns > OPENER_PATIENCE_NS)
        user->patience_ns = OPENER_PATIENCE_NS;
    return user->patience_ns > 0;
}

/* ---- Helpers ---- */

static int start_helper(struct opener *opener, struct helper *helper)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0)
        opener_serve(pair[1], opener->open);
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return -error;
    }
    *helper = (struct helper){.pid = pid, .fd = pair[0]};
    jobs_init(&helper->flying);
    return 0;
}

bool helper_reap(struct opener *opener, struct helper *helper)
{
    struct rusage used = {0};
    int status;
    pid_t got = wait4(helper->pid, &status, WNOHANG, &used);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    opener->cpu_ns += got > 0 ? clock_ns_of_usage(&used) : 0;
    if (helper->user)
        helper->user->hung--;
    helper->pid = 0;
    return true;
}

void helper_let_go(struct opener *opener, struct helper *helper, struct user *user)
{
    kill(helper->pid, SIGKILL);
    close(helper->fd);
    helper->fd = -1;
    helper->apart = true;
    helper->user = user;
    if (user)
        user->hung++;
    jobs_put_in_front(&opener->queue, &helper->flying);
    helper->count = 0;
    helper_reap(opener, helper);
}

struct helper *helper_find(struct opener *opener)
{
    struct helper *unused = NULL;
    for (unsigned i = 0; i < OPENER_HELPERS; i++) {
        struct helper *helper = &opener->helpers[i];
        if (helper->pid && helper->fd < 0)
            helper_reap(opener, helper);
        if (helper->pid && !helper->apart)
            return helper;
        if (!helper->pid && !unused)
            unused = helper;
    }
    uint64_t now = opener_now_ns();
    if (!unused || now < opener->again_ns)
        return NULL;
    if (start_helper(opener, unused) == 0)
        return unused;
    opener->again_ns = now + AGAIN_NS;
    return NULL;
}

uint64_t helper_cpu_ns(const struct helper *helper)
{
    struct timespec clock;
    if (clock_gettime((clockid_t)(~(unsigned)helper->pid << 3 | 2), &clock) < 0) /* clock_getcpuclockid(3) */
        return 0;
    return (uint64_t)clock.tv_sec * 1000000000u + (uint64_t)clock.tv_nsec;
}

/* It computes, or waits for a CPU. */
static bool is_runnable(const struct helper *helper)
{
    char *text = procfs_read(helper->pid, "stat", 1024, NULL);
    const char *end = text ? strrchr(text, ')') : NULL;
    bool runnable = end && end[1] == ' ' && end[2] == 'R';
    free(text);
    return runnable;
}

bool helper_is_slow(struct helper *helper, uint64_t limit_ns)
{
    if (!is_runnable(helper))
        return true;
    const uint64_t cpu = helper_cpu_ns(helper);
    if (!helper->since_cpu_ns)
        helper->since_cpu_ns = cpu;
    return cpu - helper->since_cpu_ns >= limit_ns;
}

uint64_t helper_busy_ns(const struct helper *helper, uint64_t elapsed_ns, uint64_t cpu_ns)
{
    if (!is_runnable(helper))
        return elapsed_ns;
    const uint64_t used = helper_cpu_ns(helper) - cpu_ns;
    return used < elapsed_ns ? used : elapsed_ns;
}

bool helper_send(struct helper *helper, const struct job *job)
{
    size_t size = offsetof(struct opener_wire, path) + strlen(job->wire.path) + 1;
    return send(helper->fd, &job->wire, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

int helper_receive(struct helper *helper, struct opener_reply *reply)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {reply, sizeof(*reply)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t got = recvmsg(helper->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0)
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    const struct cmsghdr *header = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    reply->answer.fd = -1;
    if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(&reply->answer.fd, CMSG_DATA(header), sizeof(int));
    if (got == (ssize_t)sizeof(*reply) && helper->flying.first && reply->ticket == helper->flying.first->ticket)
        return 1;
    if (reply->answer.fd >= 0)
        close(reply->answer.fd);
    return -EPIPE;
}
