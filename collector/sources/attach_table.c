/* SPDX-License-Identifier: MIT */
/* Static functions expect the table's lock; the others take it. */
#include "collector/sources/attach_table.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/sources/attach.h"
#include "collector/sources/covered.h"
#include "collector/sources/inherited.h"
#include "collector/sources/rings.h"
#include "collector/sources/session.h"

void attach_table_init(struct attach_table *table)
{
    memset(table, 0, sizeof(*table));
    pthread_mutex_init(&table->lock, NULL);
}

void attach_table_release(struct attach_table *table)
{
    pthread_mutex_destroy(&table->lock);
}

static struct attached **bucket_of(struct session *session, pid_t tid)
{
    return &session->table.by_tid[(uint32_t)tid % ATTACH_TABLE];
}

static struct attached **thread_bucket(struct session *session, pid_t pid)
{
    return &session->table.threads[(uint32_t)pid % ATTACH_TABLE];
}

/*
 * In a session with events the bit means that there are events; if all tasks are to inherit them, that what the task
 * makes inherits them.
 */
static bool is_marked(const struct attached *attached)
{
    const struct event_config *config = attached->session->config;
    return !config->inherits && !session_system_wide(attached->session) &&
           (!attached->timer || config->source == PINJECT_SOURCE_TIMER);
}

static void list_entry(struct session *session, struct attached *attached, pid_t key)
{
    attached->key = key;
    attached->at = bucket_of(session, key);
    attached->next = *attached->at;
    if (attached->next)
        attached->next->at = &attached->next;
    *attached->at = attached;
    attached->thread_at = NULL;
    if (key != attached->pid) {
        attached->thread_at = thread_bucket(session, attached->pid);
        attached->next_thread = *attached->thread_at;
        if (attached->next_thread)
            attached->next_thread->thread_at = &attached->next_thread;
        *attached->thread_at = attached;
    }
    attached->listed = true;
    if (is_marked(attached))
        covered_mark(session, key, true);
}

/* The first thread of THREAD's process, if timers sample both. */
static struct attached *find_first(struct session *session, const struct attached *thread)
{
    struct attached *first = thread->timer && thread->key != thread->pid ? *bucket_of(session, thread->pid) : NULL;
    while (first && (first->key != thread->pid || !first->timer))
        first = first->next;
    return first;
}

static void unlist_entry(struct session *session, struct attached *attached)
{
    if (!attached->listed)
        return;
    struct attached *first = find_first(session, attached);
    if (first)
        attach_timer_tell_exec(attached, first);
    *attached->at = attached->next;
    if (attached->next)
        attached->next->at = attached->at;
    if (attached->thread_at) {
        *attached->thread_at = attached->next_thread;
        if (attached->next_thread)
            attached->next_thread->thread_at = attached->thread_at;
    }
    attached->listed = false;
    if (is_marked(attached))
        covered_mark(session, attached->key, false);
}

static bool has_ended(const struct attached *attached)
{
    bool event = attached->ring && !attached->timer;
    if (!event && attached->end_fd < 0)
        return false;
    struct pollfd end = {.fd = event ? attached->fds[0] : attached->end_fd, .events = POLLIN};
    if (poll(&end, 1, 0) < 0)
        return false;
    return end.revents & (event ? POLLHUP | POLLERR : POLLIN | POLLHUP);
}

/* The entry of the live task TID, or NULL. An entry whose task has ended (its tid is in use again) leaves the table. */
struct attached *attach_table_find(struct session *session, pid_t tid)
{
    for (struct attached *at = *bucket_of(session, tid); at; at = at->next) {
        if (at->key != tid)
            continue;
        if (!has_ended(at))
            return at;
        unlist_entry(session, at);
        return NULL;
    }
    return NULL;
}

/*
 * A thread other than the first that calls exec becomes the process' only task: its tid changes to PID, its events stay
 * with it. So it has a tid that is gone while its events run.
 */
static struct attached *find_renamed(struct session *session, pid_t pid)
{
    for (struct attached *at = *thread_bucket(session, pid); at; at = at->next_thread) {
        /* After such an exec a task sampled by timers has the first thread's ring: numbers do not show it. */
        if (at->pid != pid || !is_marked(at) || has_ended(at) || syscall(SYS_tgkill, pid, at->key, 0) == 0 ||
            errno != ESRCH)
            continue;
        /* Checked again: it may have ended between the two checks. */
        if (has_ended(at))
            continue;
        unlist_entry(session, at);
        list_entry(session, at, pid);
        return at;
    }
    return NULL;
}

bool attach_knows(struct session *session, pid_t pid, pid_t tid, bool *ret_ring)
{
    pthread_mutex_lock(&session->table.lock);
    struct attached *attached = attach_table_find(session, tid);
    struct attached *renamed = tid == pid && (!attached || !is_marked(attached)) ? find_renamed(session, pid) : NULL;
    if (attached && renamed) /* a timer's entry, which that exec ended */
        unlist_entry(session, attached);
    if (renamed)
        attached = renamed;
    if (ret_ring)
        *ret_ring = attached && attached->ring;
    pthread_mutex_unlock(&session->table.lock);
    return attached;
}

static bool has_thread(struct session *session, pid_t pid)
{
    for (const struct attached *at = *thread_bucket(session, pid); at; at = at->next_thread)
        if (at->pid == pid && !has_ended(at))
            return true;
    return false;
}

bool attach_has_process(struct session *session, pid_t pid)
{
    pthread_mutex_lock(&session->table.lock);
    const struct attached *first = attach_table_find(session, pid);
    bool has = (first && first->pid == pid) || has_thread(session, pid);
    pthread_mutex_unlock(&session->table.lock);
    return has;
}

int attach_table_enter(struct session *session, struct attached *attached)
{
    pthread_mutex_lock(&session->table.lock);
    /* Two requests for one task at the same time come only from a confused preload object: the first one stays. */
    int status = attach_table_find(session, attached->tid) ? -EEXIST : 0;
    if (status == 0)
        list_entry(session, attached, attached->tid);
    pthread_mutex_unlock(&session->table.lock);
    return status;
}

bool attach_has_timer(struct session *session, pid_t tid)
{
    if (session->config->source != PINJECT_SOURCE_TIMER && !rings_are_needed(session))
        return false;
    pthread_mutex_lock(&session->table.lock);
    const struct attached *attached = attach_table_find(session, tid);
    bool by_timer = attached && attached->timer;
    pthread_mutex_unlock(&session->table.lock);
    return by_timer;
}

/* The thread that asks again after an exec may not be the one that its process began with. */
static void follow_exec(struct session *session, struct attached *first)
{
    for (struct attached *at = *thread_bucket(session, first->pid), *next; at; at = next) {
        next = at->next_thread;
        if (at->pid == first->pid && at != first && has_ended(at))
            unlist_entry(session, at);
    }
    attach_timer_rebase(first);
}

void attach_adopt_all(struct session *session)
{
    pthread_mutex_lock(&session->table.lock);
    for (unsigned i = 0; i < ATTACH_TABLE; i++)
        for (const struct attached *at = session->table.by_tid[i]; at; at = at->next)
            if (!at->timer)
                (void)inherited_adopt(session->inherited_sets, at->pid, at->key);
    pthread_mutex_unlock(&session->table.lock);
}

int attach_answer(struct session *session, pid_t tid, uint64_t startup_ns)
{
    pthread_mutex_lock(&session->table.lock);
    struct attached *attached = attach_table_find(session, tid);
    if (attached && attached->timer && !attached->armed && tid == attached->pid)
        follow_exec(session, attached);
    if (attached && attached->armed) {
        __atomic_store_n(&attached->base_ns, (int64_t)startup_ns, __ATOMIC_RELAXED);
        attached->armed = false;
        attach_timer_open(attached);
    }
    int answer = attached && attached->timer ? attached->number + 1 : 0;
    pthread_mutex_unlock(&session->table.lock);
    return answer;
}

int attach_snapshot(struct session *session, pid_t tid, struct attach_value *values)
{
    /* Under the lock, so that the descriptors stay open. */
    pthread_mutex_lock(&session->table.lock);
    const struct attached *attached = attach_table_find(session, tid);
    if (attached)
        attach_read(attached, values);
    pthread_mutex_unlock(&session->table.lock);
    return attached ? 0 : -ESRCH;
}

void attach_retire(struct session *session, struct attached *attached)
{
    pthread_mutex_lock(&session->table.lock);
    unlist_entry(session, attached);
    pthread_mutex_unlock(&session->table.lock);
}
