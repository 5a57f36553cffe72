/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/opener.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/process.h"
#include "collector/procfs.h"

#define PATIENCE_NS INT64_C(200000000)
#define LOOK_NS UINT64_C(10000000)      /* between two looks at a helper that does not answer */
#define SETTLE_NS UINT64_C(2000000000)  /* on a machine on which helpers wait for a CPU */
#define AGAIN_NS UINT64_C(100000000)    /* before another try to start one */
#define END_NS UINT64_C(50000000)       /* for helpers to go, once they are killed */
enum {
    USERS = 16,             /* the last one stands for all further ones */
    WINDOW = 16,            /* questions in the hands of a helper */
    HOLD = 64,              /* questions of one user, while he is slow */
    PATIENCE_SHARE = 50,
};

struct user {
    uid_t uid;
    unsigned slow;          /* helpers that are at a question of his for long */
    unsigned hung;          /* and those that were given up, and are still there */
    unsigned queued;
    int64_t patience_ns;
    uint64_t patience_at_ns;
};

struct job {
    struct job *next;
    uint64_t ticket;
    struct user *user;
    opener_done *done;
    void *context;
    int status;             /* of one that nobody answered */
    struct opener_wire wire; /* cut behind its path */
};

struct jobs {
    struct job *first, **end;
};

struct helper {
    pid_t pid;              /* 0: this entry is free */
    int fd;                 /* -1: given up */
    bool apart;             /* others go on with what it does not get to */
    struct user *user;      /* apart: whose question holds it */
    struct jobs flying;
    unsigned count;
    uint64_t since_ns;      /* it is at the first of them */
};

struct opener {
    struct helper helpers[OPENER_HELPERS];
    struct user users[USERS];
    unsigned user_count, queued;
    struct jobs queue;
    struct jobs over;       /* not answered by a helper, not handed over yet */
    uint64_t last_ticket;
    uint64_t again_ns;
    uint64_t cpu_ns;        /* of helpers that are gone */
    opener_open *open;
    struct opener_counts counts;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Lists ---- */

static void jobs_init(struct jobs *jobs)
{
    jobs->first = NULL;
    jobs->end = &jobs->first;
}

static void put(struct jobs *jobs, struct job *job)
{
    job->next = NULL;
    *jobs->end = job;
    jobs->end = &job->next;
}

static struct job *take_at(struct jobs *jobs, struct job **at)
{
    struct job *job = *at;
    *at = job->next;
    if (!*at)
        jobs->end = at;
    return job;
}

/* All of FROM, in front of what TO has. */
static void put_in_front(struct jobs *to, struct jobs *from)
{
    if (!from->first)
        return;
    *from->end = to->first;
    if (!to->first)
        to->end = from->end;
    to->first = from->first;
    jobs_init(from);
}

static bool has(const struct jobs *jobs, uint64_t ticket)
{
    const struct job *job = jobs->first;
    while (job && job->ticket != ticket)
        job = job->next;
    return job;
}

static void free_jobs(struct jobs *jobs)
{
    while (jobs->first)
        free(take_at(jobs, &jobs->first));
}

/* ---- Users ---- */

static struct user *find_user(struct opener *opener, pid_t pid)
{
    uid_t uid = pid > 0 ? procfs_uid(pid) : (uid_t)-1;
    for (unsigned i = 0; i < opener->user_count; i++)
        if (opener->users[i].uid == uid)
            return &opener->users[i];
    if (opener->user_count == USERS)
        return &opener->users[USERS - 1];
    struct user *user = &opener->users[opener->user_count++];
    *user = (struct user){.uid = uid, .patience_ns = PATIENCE_NS, .patience_at_ns = now_ns()};
    return user;
}

static bool has_patience(struct user *user, uint64_t now)
{
    user->patience_ns += (int64_t)((now - user->patience_at_ns) / PATIENCE_SHARE);
    user->patience_at_ns = now;
    if (user->patience_ns > PATIENCE_NS)
        user->patience_ns = PATIENCE_NS;
    return user->patience_ns > 0;
}

/* ---- Helpers ---- */

static void finish(struct opener *opener, struct job *job, int status)
{
    job->status = status;
    put(&opener->over, job);
}

static int start(struct opener *opener, struct helper *helper)
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

/* The entry of one that is gone can be used again. */
static bool reap(struct opener *opener, struct helper *helper)
{
    struct rusage used = {0};
    int status;
    pid_t got = wait4(helper->pid, &status, WNOHANG, &used);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    opener->cpu_ns += got > 0 ? process_rusage_ns(&used) : 0;
    if (helper->user)
        helper->user->hung--;
    helper->pid = 0;
    return true;
}

/* It is not needed any more, or cannot be: where it hangs it stays, and counts for USER. */
static void let_go(struct opener *opener, struct helper *helper, struct user *user)
{
    kill(helper->pid, SIGKILL);
    close(helper->fd);
    helper->fd = -1;
    helper->apart = true;
    helper->user = user;
    if (user)
        user->hung++;
    put_in_front(&opener->queue, &helper->flying);
    helper->count = 0;
    reap(opener, helper);
}

/* The one that takes new questions. NULL: there is none. */
static struct helper *find_helper(struct opener *opener)
{
    struct helper *unused = NULL;
    for (unsigned i = 0; i < OPENER_HELPERS; i++) {
        struct helper *helper = &opener->helpers[i];
        if (helper->pid && helper->fd < 0)
            reap(opener, helper);
        if (helper->pid && !helper->apart)
            return helper;
        if (!helper->pid && !unused)
            unused = helper;
    }
    uint64_t now = now_ns();
    if (!unused || now < opener->again_ns)
        return NULL;
    if (start(opener, unused) == 0)
        return unused;
    opener->again_ns = now + AGAIN_NS;
    return NULL;
}

/* Does it wait for a CPU? That is no file's fault. */
static bool is_runnable(const struct helper *helper)
{
    char *text = procfs_read(helper->pid, "stat", 1024, NULL);
    const char *end = text ? strrchr(text, ')') : NULL;
    bool runnable = end && end[1] == ' ' && end[2] == 'R';
    free(text);
    return runnable;
}

static bool send_job(struct helper *helper, const struct job *job)
{
    size_t size = offsetof(struct opener_wire, path) + strlen(job->wire.path) + 1;
    return send(helper->fd, &job->wire, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size;
}

/* Hands out what is queued, but for users who are slow. */
static void hand_out(struct opener *opener)
{
    struct helper *helper = NULL;
    for (struct job **at = &opener->queue.first; *at;) {
        struct job *job = *at;
        if (job->user->hung >= OPENER_SHARE) {
            opener->counts.refused++;
            finish(opener, take_at(&opener->queue, at), -ETIMEDOUT);
            continue;
        }
        if (job->user->slow) {
            at = &job->next;
            continue;
        }
        helper = helper ? helper : find_helper(opener);
        if (!helper) {
            opener->counts.failed++;
            finish(opener, take_at(&opener->queue, at), -EAGAIN);
            continue;
        }
        if (helper->count == WINDOW || !send_job(helper, job))
            return;
        if (!helper->count++)
            helper->since_ns = now_ns();
        put(&helper->flying, take_at(&opener->queue, at));
    }
}

/* ---- Answers ---- */

static void hand_over(struct opener *opener, struct job *job, const struct opener_answer *answer)
{
    opener->queued--;
    job->user->queued--;
    job->done(job->context, job->ticket, answer);
    if (answer->fd >= 0)
        close(answer->fd);
    free(job);
}

static void hand_over_rest(struct opener *opener)
{
    while (opener->over.first) {
        struct job *job = take_at(&opener->over, &opener->over.first);
        hand_over(opener, job, &(struct opener_answer){.status = job->status, .fd = -1});
    }
}

/* 1, 0: nothing yet; or -errno: it is gone, or talks nonsense. */
static int receive(struct helper *helper, struct opener_reply *reply)
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

/* The file that it was at did it. */
static void bury(struct opener *opener, struct helper *helper)
{
    struct job *job = helper->flying.first ? take_at(&helper->flying, &helper->flying.first) : NULL;
    if (helper->apart)
        helper->user->slow--;
    let_go(opener, helper, NULL);
    if (!job)
        return;
    opener->counts.failed++;
    finish(opener, job, -EIO);
}

static void take_replies(struct opener *opener, struct helper *helper)
{
    struct opener_reply reply;
    int status;
    while (helper->fd >= 0 && (status = receive(helper, &reply)) != 0) {
        if (status < 0) {
            bury(opener, helper);
            return;
        }
        struct job *job = take_at(&helper->flying, &helper->flying.first);
        helper->count--;
        helper->since_ns = now_ns();
        if (helper->apart) { /* what it goes on with is in other hands */
            helper->user->slow--;
            let_go(opener, helper, NULL);
        }
        hand_over(opener, job, &reply.answer);
    }
}

static void look_at_time(struct opener *opener, struct helper *helper)
{
    uint64_t now = now_ns();
    if (helper->fd < 0 || !helper->count || now - helper->since_ns < OPENER_SLOW_NS)
        return;
    struct job *first = helper->flying.first;
    if (!helper->apart && !is_runnable(helper)) {
        struct jobs rest = {first->next, first->next ? helper->flying.end : NULL};
        first->next = NULL;
        helper->flying.end = &first->next;
        helper->count = 1;
        put_in_front(&opener->queue, &rest);
        helper->apart = true;
        helper->user = first->user;
        helper->user->slow++;
    }
    if (helper->apart && now - helper->since_ns >= OPENER_HUNG_NS && !is_runnable(helper)) {
        struct user *user = first->user;
        finish(opener, take_at(&helper->flying, &helper->flying.first), -ETIMEDOUT);
        opener->counts.hung++;
        user->slow--;
        let_go(opener, helper, user);
    }
}

void opener_take(struct opener *opener)
{
    if (!opener->queued)
        return;
    for (unsigned i = 0; i < OPENER_HELPERS; i++) {
        struct helper *helper = &opener->helpers[i];
        if (!helper->pid)
            continue;
        if (helper->fd >= 0)
            take_replies(opener, helper);
        else
            reap(opener, helper);
        if (helper->pid)
            look_at_time(opener, helper);
    }
    hand_out(opener);
    hand_over_rest(opener);
}

/* ---- Questions ---- */

uint64_t opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file, opener_done *done,
                    void *context)
{
    size_t length = strlen(file->path);
    struct user *user = find_user(opener, file->pid);
    bool held = user->hung >= OPENER_SHARE || ((user->slow || user->hung) && user->queued >= HOLD);
    opener->counts.asked++;
    if (held || opener->queued >= OPENER_QUEUE || length >= sizeof(((struct opener_wire *)NULL)->path)) {
        opener->counts.refused++;
        return 0;
    }
    struct job *job = malloc(offsetof(struct job, wire.path) + length + 1);
    if (!job) {
        opener->counts.failed++;
        return 0;
    }
    memset(job, 0, offsetof(struct job, wire.path));
    job->ticket = job->wire.ticket = ++opener->last_ticket;
    job->user = user;
    job->done = done;
    job->context = context;
    job->wire.kind = kind;
    job->wire.pid = file->pid;
    job->wire.maj = file->maj;
    job->wire.min = file->min;
    job->wire.ino = file->ino;
    job->wire.start = file->start;
    job->wire.size = file->size;
    memcpy(job->wire.path, file->path, length + 1);
    put(&opener->queue, job);
    opener->queued++;
    user->queued++;
    hand_out(opener);
    return opener->last_ticket;
}

/* Whose it is; NULL: it was handed over. */
static struct user *find_ticket(const struct opener *opener, uint64_t ticket, const struct helper **ret_helper)
{
    const struct jobs *lists[OPENER_HELPERS + 2] = {&opener->queue, &opener->over};
    for (unsigned i = 0; i < OPENER_HELPERS; i++)
        lists[i + 2] = &opener->helpers[i].flying;
    for (unsigned i = 0; i < OPENER_HELPERS + 2; i++) {
        if ((i >= 2 && !opener->helpers[i - 2].pid) || !has(lists[i], ticket))
            continue;
        *ret_helper = i >= 2 ? &opener->helpers[i - 2] : NULL;
        const struct job *job = lists[i]->first;
        while (job->ticket != ticket)
            job = job->next;
        return job->user;
    }
    return NULL;
}

static void wait_for_answers(const struct opener *opener, uint64_t rest_ns)
{
    struct pollfd fds[OPENER_HELPERS];
    struct timespec rest = {.tv_nsec = (long)(rest_ns < LOOK_NS ? rest_ns : LOOK_NS)};
    for (unsigned i = 0; i < OPENER_HELPERS; i++)
        fds[i] = (struct pollfd){opener->helpers[i].pid ? opener->helpers[i].fd : -1, POLLIN, 0};
    ppoll(fds, OPENER_HELPERS, &rest, NULL);
}

bool opener_settle(struct opener *opener, uint64_t ticket)
{
    uint64_t start_ns = now_ns(), now = start_ns;
    const struct helper *helper;
    struct user *user;
    opener_take(opener);
    while ((user = find_ticket(opener, ticket, &helper)) != NULL) {
        if (user->slow || !has_patience(user, now) || now - start_ns > SETTLE_NS)
            return false;
        wait_for_answers(opener, (uint64_t)user->patience_ns);
        uint64_t after = now_ns();
        if (after - now < LOOK_NS || !helper || !is_runnable(helper))
            user->patience_ns -= (int64_t)(after - now);
        now = after;
        opener_take(opener);
    }
    return true;
}

/* ---- Life ---- */

struct opener *opener_new(void)
{
    struct opener *opener = calloc(1, sizeof(*opener));
    if (!opener)
        return NULL;
    opener->open = mapped_file_open;
    jobs_init(&opener->queue);
    jobs_init(&opener->over);
    return opener;
}

void opener_replace(struct opener *opener, opener_open *open)
{
    opener->open = open;
}

void opener_free(struct opener *opener)
{
    if (!opener)
        return;
    bool left = false;
    uint64_t end = now_ns() + END_NS;
    for (unsigned i = 0; i < OPENER_HELPERS; i++)
        if (opener->helpers[i].pid && opener->helpers[i].fd >= 0) {
            opener->helpers[i].user = NULL;
            let_go(opener, &opener->helpers[i], NULL);
        }
    do {
        left = false;
        for (unsigned i = 0; i < OPENER_HELPERS; i++) /* those that hang are not waited for */
            left |= opener->helpers[i].pid && !reap(opener, &opener->helpers[i]) && !opener->helpers[i].user;
        if (left)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    } while (left && now_ns() < end);
    free_jobs(&opener->queue);
    free_jobs(&opener->over);
    free(opener);
}

struct opener_counts opener_counts(const struct opener *opener)
{
    return opener->counts;
}

uint64_t opener_cpu_ns(const struct opener *opener)
{
    uint64_t used = opener->cpu_ns;
    for (unsigned i = 0; i < OPENER_HELPERS; i++) {
        struct timespec clock;
        if (opener->helpers[i].pid && clock_gettime((clockid_t)(~(unsigned)opener->helpers[i].pid << 3 | 2), &clock) == 0)
            used += (uint64_t)clock.tv_sec * 1000000000u + (uint64_t)clock.tv_nsec;
    }
    return used;
}
