/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/system/opener.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/system/opener_helper.h"

#define LOOK_NS   UINT64_C(10000000)   /* between two looks at a helper that does not answer */
#define SETTLE_NS UINT64_C(2000000000) /* at most, if helpers wait for a CPU */
#define END_NS    UINT64_C(50000000)   /* for killed helpers to end */
enum {
    WINDOW = 16, /* questions that a helper has */
    HOLD = 64,   /* questions of one user, while he is slow */
};

static bool has_job(const struct jobs *jobs, uint64_t ticket)
{
    const struct job *job = jobs->first;
    while (job && job->ticket != ticket)
        job = job->next;
    return job;
}

static void free_jobs(struct jobs *jobs)
{
    while (jobs->first) {
        struct job *job = jobs_take(jobs, &jobs->first);
        if (job->answer.fd >= 0)
            close(job->answer.fd);
        free(job);
    }
}

static void finish(struct opener *opener, struct job *job, int status)
{
    job->answer = (struct opener_answer){.status = status, .fd = -1};
    jobs_put(&opener->over, job);
}

static void begin_question(struct helper *helper, uint64_t now)
{
    helper->since_ns = now;
    helper->since_cpu_ns = 0;
}

/* Hands out the queue, except questions of slow users. */
static void hand_out(struct opener *opener)
{
    struct helper *helper = NULL;
    for (struct job **at = &opener->queue.first; *at;) {
        struct job *job = *at;
        if (job->user->hung >= OPENER_SHARE) {
            opener->counts.refused++;
            finish(opener, jobs_take(&opener->queue, at), -ETIMEDOUT);
            continue;
        }
        if (job->user->slow) {
            at = &job->next;
            continue;
        }
        helper = helper ? helper : helper_find(opener);
        if (!helper) {
            opener->counts.failed++;
            finish(opener, jobs_take(&opener->queue, at), -EAGAIN);
            continue;
        }
        if (helper->count == WINDOW || !helper_send(helper, job))
            return;
        if (!helper->count++)
            begin_question(helper, opener_now_ns());
        jobs_put(&helper->flying, jobs_take(&opener->queue, at));
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
        struct job *job = jobs_take(&opener->over, &opener->over.first);
        const struct opener_answer answer = job->answer;
        hand_over(opener, job, &answer);
    }
}

/* The file that it was reading caused its end. */
static void bury_helper(struct opener *opener, struct helper *helper)
{
    struct job *job = helper->flying.first ? jobs_take(&helper->flying, &helper->flying.first) : NULL;
    if (helper->apart)
        helper->user->slow--;
    helper_let_go(opener, helper, NULL);
    if (!job)
        return;
    opener->counts.failed++;
    finish(opener, job, -EIO);
}

static void take_replies(struct opener *opener, struct helper *helper)
{
    struct opener_reply reply;
    int status;
    while (helper->fd >= 0 && (status = helper_receive(helper, &reply)) != 0) {
        if (status < 0) {
            bury_helper(opener, helper);
            return;
        }
        struct job *job = jobs_take(&helper->flying, &helper->flying.first);
        helper->count--;
        begin_question(helper, opener_now_ns());
        if (helper->apart) { /* another helper has the rest of its questions */
            helper->user->slow--;
            helper_let_go(opener, helper, NULL);
        }
        hand_over(opener, job, &reply.answer);
    }
}

static void look_at_time(struct opener *opener, struct helper *helper)
{
    uint64_t now = opener_now_ns();
    if (helper->fd < 0 || !helper->count || now - helper->since_ns < OPENER_SLOW_NS)
        return;
    struct job *first = helper->flying.first;
    if (!helper->apart && helper_is_slow(helper, OPENER_SLOW_NS)) {
        struct jobs rest = {first->next, first->next ? helper->flying.end : NULL};
        first->next = NULL;
        helper->flying.end = &first->next;
        helper->count = 1;
        jobs_put_in_front(&opener->queue, &rest);
        helper->apart = true;
        begin_question(helper, now); /* we may have been stopped, and the helper with us */
        helper->user = first->user;
        helper->user->slow++;
    }
    if (helper->apart && now - helper->since_ns >= OPENER_HUNG_NS && helper_is_slow(helper, OPENER_HUNG_NS)) {
        struct user *user = first->user;
        finish(opener, jobs_take(&helper->flying, &helper->flying.first), -ETIMEDOUT);
        opener->counts.hung++;
        user->slow--;
        helper_let_go(opener, helper, user);
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
            helper_reap(opener, helper);
        if (helper->pid)
            look_at_time(opener, helper);
    }
    hand_out(opener);
    hand_over_rest(opener);
}

/* ---- Questions ---- */

static struct job *new_job(struct opener *opener, enum opener_kind kind, const struct mapped_file *file,
                           opener_done *done, void *context)
{
    size_t length = strlen(file->path);
    bool room = length < sizeof(((struct opener_wire *)NULL)->path);
    struct job *job = room ? malloc(offsetof(struct job, wire.path) + length + 1) : NULL;
    opener->counts.asked++;
    if (!job) {
        *(room ? &opener->counts.failed : &opener->counts.refused) += 1;
        return NULL;
    }
    memset(job, 0, offsetof(struct job, wire.path));
    job->answer.fd = -1;
    job->ticket = job->wire.ticket = opener->last_ticket + 1;
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
    return job;
}

/* Answers at once if nothing can hang, whoever asks. */
static bool answer_local(struct opener *opener, struct job *job, const struct mapped_file *file)
{
    struct stat status;
    const bool room = opener->open == mapped_file_open && opener->nobody.queued < OPENER_LOCAL;
    int fd = room ? mapped_file_open_local(file, &status) : -1;
    if (fd < 0)
        return false;
    opener_answer_file(job->wire.kind, fd, &status, &job->answer);
    job->user = &opener->nobody;
    jobs_put(&opener->over, job);
    return true;
}

/* No user takes the places of others, and a slow one does not even get all of his own. */
static bool has_place(const struct opener *opener, const struct user *user)
{
    return opener->queued - opener->nobody.queued < OPENER_QUEUE && user->queued < OPENER_QUEUE_SHARE &&
           user->hung < OPENER_SHARE && ((!user->slow && !user->hung) || user->queued < HOLD);
}

uint64_t opener_ask(struct opener *opener, enum opener_kind kind, const struct mapped_file *file, opener_done *done,
                    void *context)
{
    struct job *job = new_job(opener, kind, file, done, context);
    if (!job)
        return 0;
    if (!answer_local(opener, job, file)) {
        job->user = user_find(opener, file->pid);
        if (!has_place(opener, job->user)) {
            opener->counts.refused++;
            free(job);
            return 0;
        }
        jobs_put(&opener->queue, job);
    }
    opener->queued++;
    job->user->queued++;
    uint64_t ticket = ++opener->last_ticket;
    hand_out(opener);
    return ticket;
}

/* The user of the question; NULL: it was handed over. */
static struct user *find_ticket(const struct opener *opener, uint64_t ticket, const struct helper **ret_helper)
{
    const struct jobs *lists[OPENER_HELPERS + 2] = {&opener->queue, &opener->over};
    for (unsigned i = 0; i < OPENER_HELPERS; i++)
        lists[i + 2] = &opener->helpers[i].flying;
    for (unsigned i = 0; i < OPENER_HELPERS + 2; i++) {
        if ((i >= 2 && !opener->helpers[i - 2].pid) || !has_job(lists[i], ticket))
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
    uint64_t start_ns = opener_now_ns(), now = start_ns;
    const struct helper *helper;
    struct user *user;
    opener_take(opener);
    while ((user = find_ticket(opener, ticket, &helper)) != NULL) {
        if (user->slow || !user_has_patience(user, now) || now - start_ns > SETTLE_NS)
            return false;
        const uint64_t cpu_ns = helper ? helper_cpu_ns(helper) : 0;
        wait_for_answers(opener, (uint64_t)user->patience_ns);
        uint64_t after = opener_now_ns(), waited = after - now;
        user->patience_ns -= (int64_t)(waited < LOOK_NS || !helper ? waited : helper_busy_ns(helper, waited, cpu_ns));
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
    uint64_t end = opener_now_ns() + END_NS;
    for (unsigned i = 0; i < OPENER_HELPERS; i++)
        if (opener->helpers[i].pid && opener->helpers[i].fd >= 0) {
            opener->helpers[i].user = NULL;
            helper_let_go(opener, &opener->helpers[i], NULL);
        }
    do {
        left = false;
        for (unsigned i = 0; i < OPENER_HELPERS; i++) /* those that hang are not waited for */
            left |= opener->helpers[i].pid && !helper_reap(opener, &opener->helpers[i]) && !opener->helpers[i].user;
        if (left)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    } while (left && opener_now_ns() < end);
    free_jobs(&opener->queue);
    free_jobs(&opener->over);
    free(opener);
}

void opener_forgot(struct opener *opener, uint64_t count)
{
    opener->counts.forgotten += count;
}

struct opener_counts opener_counts(const struct opener *opener)
{
    return opener->counts;
}

uint64_t opener_cpu_ns(const struct opener *opener)
{
    uint64_t used = opener->cpu_ns;
    for (unsigned i = 0; i < OPENER_HELPERS; i++)
        used += opener->helpers[i].pid ? helper_cpu_ns(&opener->helpers[i]) : 0;
    return used;
}
