/* SPDX-License-Identifier: MIT */
#include "collector/tasks/untracked.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/attach_late.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/system/monotonic.h"
#include "collector/system/numbers.h"
#include "collector/system/pidfd.h"
#include "collector/system/procfs.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "common/clock.h"

enum {
    WAIT_NS = 20 * 1000 * 1000, /* a request has come by then, except on a machine with more work than CPUs */
    BATCH = 64,                 /* in one sweep */
    TRIES = 3,
    BUSY_NS = 5 * 1000 * 1000,      /* on such a machine a task has not used so much before its request... */
    PATIENT_NS = 500 * 1000 * 1000, /* ... and sends it by then */
    UNREPORTED_NS = 20 * 1000 * 1000,
    CHILDREN_MAX = 1 << 20,      /* bytes of a list */
    SLICE_NS = 20 * 1000 * 1000, /* in one sweep: the rest is handled in the next one */
};

struct late_attach {
    struct errand errand;
    struct session *session;
    struct notification *notification;
    int status;
};

static void run_late_attach(struct errand *errand)
{
    struct late_attach *late_attach = (struct late_attach *)errand;
    late_attach->status = attach_late_open(late_attach->session, late_attach->notification);
}

/* If it ends late, its result is handled like others. */
static void abandon_late_attach(struct errand *errand)
{
    struct late_attach *late_attach = (struct late_attach *)errand;
    if (late_attach->status == 0)
        notifications_put(&late_attach->session->notifications, late_attach->notification);
    else
        notification_free(late_attach->notification);
    free(late_attach);
}

/* 0, or -errno of opening its events; -EBUSY: it took too long. Only with 0 the notification stays the caller's. */
static int open_late(struct session *session, struct notification *notification)
{
    struct late_attach *late_attach = calloc(1, sizeof(*late_attach));
    int status = -ENOMEM;
    if (late_attach) {
        *late_attach = (struct late_attach){
            {run_late_attach, abandon_late_attach, notification->pid}, session, notification, -EBUSY};
        if (!errands_do(&session->errands, &late_attach->errand))
            return -EBUSY;
        status = late_attach->status;
        free(late_attach);
    }
    if (status < 0)
        notification_free(notification);
    return status;
}

struct inheriting {
    struct errand errand;
    struct inherited_sets *sets;
    pid_t pid, tid;
    int pidfd; /* owned; -1: unknown */
    int status;
};

static void run_inheriting(struct errand *errand)
{
    struct inheriting *inheriting = (struct inheriting *)errand;
    inheriting->status = inherited_open_of(inheriting->sets, inheriting->pid, inheriting->tid, inheriting->pidfd,
                                           INHERIT_RUNS);
}

static void abandon_inheriting(struct errand *errand)
{
    struct inheriting *inheriting = (struct inheriting *)errand;
    pidfd_close(inheriting->pidfd);
    free(inheriting);
}

static int open_inherited(struct session *session, const struct process *process, pid_t tid)
{
    struct inheriting *inheriting = calloc(1, sizeof(*inheriting));
    if (!inheriting)
        return -ENOMEM;
    *inheriting = (struct inheriting){{run_inheriting, abandon_inheriting, process->pid},
                                      session->inherited_sets,
                                      process->pid,
                                      tid,
                                      pidfd_copy(process->pidfd),
                                      -EBUSY};
    if (!errands_do(&session->errands, &inheriting->errand))
        return -EBUSY;
    int status = inheriting->status;
    abandon_inheriting(&inheriting->errand);
    return status;
}

/* 0, or -errno of opening the events of the task in WANTED. Takes over its pidfd. */
static int attach_late(struct tasks *tasks, struct notification wanted)
{
    struct notification *notification = calloc(1, sizeof(*notification));
    if (!notification) {
        pidfd_close(wanted.pidfd);
        return -ENOMEM;
    }
    *notification = wanted;
    int status = open_late(tasks->session, notification);
    if (status < 0)
        return status;
    if (tasks_admit(tasks, notification))
        tasks_attach_trees(tasks);
    return 0;
}

/*
 * A thread in an inherited set has been announced there. But /proc may show it a moment before that: asking a few times
 * bridges that moment.
 */
static bool is_in_set(struct tasks *tasks, pid_t tid)
{
    for (unsigned i = 0; i < 4; i++)
        if (inherited_know(tasks->session->inherited_sets, tid))
            return true;
    return false;
}

/* What left is not followed, whoever made it. */
static bool is_untracked(struct tasks *tasks, pid_t tid)
{
    return tid > 0 && !tasks_find(tasks, tid) && !tids_has(&tasks->left, tid) && !is_in_set(tasks, tid);
}

/* NULL: it has ended, and /proc may show another process with its number. */
static const struct process *find_there(const struct tasks *tasks, pid_t pid)
{
    const struct process *process = tasks_find_process(tasks, pid);
    return process && numbers_hold(process->pidfd, pid, pid) ? process : NULL;
}

/* The next number of the list *AT; 0: none. */
static pid_t next_child(char **at)
{
    char *end;
    const pid_t child = *at ? (pid_t)strtol(*at, &end, 10) : 0;
    *at = *at && end != *at ? end : NULL;
    return *at ? child : 0;
}

/* The list after the child LAST, or all of it if LAST is not there any more. */
static char *find_rest(char *list, pid_t last)
{
    char *at = list;
    for (pid_t child = last; at && child;)
        if ((child = next_child(&at)) == last)
            return at;
    return list;
}

/*
 * Each child becomes a tree of its own: tasks_admit(). If the kernel does not list children, there are none. False:
 * there was no time for all.
 */
static bool attach_children(struct tasks *tasks, struct late_tree *tree, pid_t tid, uint64_t end_ns)
{
    char name[48];
    pid_t pid = tree->pid, child;
    bool done = true;
    snprintf(name, sizeof(name), "task/%d/children", (int)tid);
    char *text = procfs_read(pid, name, CHILDREN_MAX, NULL);
    uint64_t known_ns = clock_ns(CLOCK_MONOTONIC);
    char *at = find_there(tasks, pid) ? find_rest(text, tree->child) : NULL;
    while (done && (child = next_child(&at))) {
        if (tasks_find(tasks, child))
            continue;
        if (is_untracked(tasks, child))
            attach_late(tasks, (struct notification){.pid = child,
                                                     .tid = child,
                                                     .ppid = pid,
                                                     .parent_tid = tid,
                                                     .pidfd = -1,
                                                     .time_ns = tree->time_ns,
                                                     .known_ns = known_ns,
                                                     .of_parent = true});
        tree->child = child;
        done = monotonic_ns() < end_ns;
    }
    if (done)
        tree->child = 0;
    free(text);
    return done;
}

/* False: there was no time for all. Begins anew if the last thread has ended: those after it have moved up. */
static bool attach_threads(struct tasks *tasks, struct late_tree *tree, uint64_t end_ns)
{
    char path[64];
    pid_t pid = tree->pid;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    const struct process *process;
    DIR *directory = opendir(path);
    const struct dirent *entry;
    bool done = true, behind = !tree->thread || !numbers_hold(-1, pid, tree->thread);
    while (directory && done && (entry = readdir(directory)) && (process = find_there(tasks, pid))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid <= 0 || !behind) {
            behind |= tid > 0 && tid == tree->thread;
            continue;
        }
        if (tid != pid && is_untracked(tasks, tid))
            attach_late(tasks, (struct notification){.pid = pid,
                                                     .tid = tid,
                                                     .ppid = pid,
                                                     .time_ns = tree->time_ns,
                                                     .pidfd = pidfd_copy(process->pidfd)});
        done = attach_children(tasks, tree, tid, end_ns);
        if (!done)
            break;
        tree->thread = tid;
        done = monotonic_ns() < end_ns;
    }
    if (directory)
        closedir(directory);
    if (!behind) /* it ended just now */
        tree->thread = 0;
    return done && (behind || !find_there(tasks, pid));
}

/* One after the other, whichever was found by which: a target can make a chain of any length. */
static void attach_trees(struct tasks *tasks)
{
    uint64_t end = monotonic_ns() + SLICE_NS;
    tasks->attaching = true;
    while (tasks->late_trees && monotonic_ns() < end) {
        struct late_tree *tree = tasks->late_trees;
        tasks->late_trees = tree->next;
        if (attach_threads(tasks, tree, end))
            free(tree);
        else
            tasks_put_tree(tasks, tree);
    }
    tasks->attaching = false;
}

void tasks_attach_trees(struct tasks *tasks)
{
    if (!tasks->attaching)
        attach_trees(tasks);
}

void tasks_attach_tree(struct tasks *tasks, pid_t pid, uint64_t time_ns)
{
    if (tasks_add_tree(tasks, pid, time_ns))
        tasks_attach_trees(tasks);
}

/* TRIES: that are left if this one is refused. */
static void try_inherit(struct tasks *tasks, struct process *process, unsigned tries)
{
    int status = open_inherited(tasks->session, process, process->pid);
    process->inherit_owed = status == 0 || status == -EBUSY ? 0 : tries; /* a thread hangs: one is enough */
    if (status == 0) {
        process->inherits = true;
        tasks_attach_tree(tasks, process->pid, tasks->now_ns);
    } else if (!process->inherit_owed) {
        tasks_tell_no_inherit(tasks, process, status);
    }
}

void tasks_retry_inherit(struct tasks *tasks, struct process *process)
{
    try_inherit(tasks, process, process->inherit_owed - 1);
}

void tasks_retry_inherit_soon(struct tasks *tasks)
{
    unsigned left = 0;
    if (tasks->now_ns < tasks->owed_ns)
        return;
    tasks->owed_ns = tasks->now_ns + TASKS_SOON_NS;
    for (unsigned i = 0; i < tasks->owed_count; i++) {
        struct owed_inherit owed = tasks->owed[i];
        struct process *process = tasks_find_process(tasks, owed.pid);
        if (!process || !process->inherit_owed || process->ended_ns)
            continue;
        try_inherit(tasks, process, process->inherit_owed);
        if (process->inherit_owed && --owed.tries)
            tasks->owed[left++] = owed;
    }
    tasks->owed_count = left;
}

/* It has run past the point at which it would have sent its request. */
static bool is_past_start(const struct tasks *tasks, const struct task *task, struct exec_generation *generation)
{
    struct attach_value values[CONFIG_EVENTS] = {0};
    attach_read(task->events, values);
    uint64_t clock = tasks_clock(tasks, values);
    if (!generation->looked_ns)
        generation->looked_ns = clock + 1;
    return clock >= generation->looked_ns + UNREPORTED_NS || missed_has_untracked(&tasks->missed, task->pid);
}

/* Its children and threads cannot send requests either. */
static bool is_unreported(const struct tasks *tasks, const struct task *task)
{
    const struct process *process = task->process;
    struct exec_generation *generation = task->generation_count ? &task->generations[task->generation_count - 1] : NULL;
    /* It asked for events itself in its first one, unless these waited for its exec. */
    const bool first = generation == task->generations && task->kind != PINJECT_ARM;
    if (!generation || first || generation->named || !generation->looked || generation->start_ns != process->exec_ns ||
        !tasks->session->inherited_sets)
        return false;
    if (!task->events || task != process->main || task_is_by_timer(task) || process->inherits ||
        process->inherit_refused || process->secure || tasks->config->source == PINJECT_SOURCE_TIMER)
        return false;
    return is_past_start(tasks, task, generation);
}

void tasks_cover_unreported(struct tasks *tasks, struct task *task)
{
    struct process *process = task->process;
    if (!is_unreported(tasks, task))
        return;
    int status = open_inherited(tasks->session, process, task->key);
    process->inherits = status == 0;
    process->inherit_refused = status < 0;
    if (status == 0)
        tasks_attach_tree(tasks, process->pid, tasks->now_ns);
    else if (status != -ESRCH)
        tasks_tell_no_inherit(tasks, process, status);
}

/* Any process of the user could have named them: each has to be a process of the tree, still the same. */
void tasks_attach_uncovered(struct tasks *tasks)
{
    while (tasks->uncovered_attached < tasks->uncovered_count) {
        const struct uncovered *found = &tasks->uncovered[tasks->uncovered_attached++];
        const struct process *process = find_there(tasks, found->pid);
        if (!process || process->pidfd < 0)
            continue;
        session_unsettle(tasks->session); /* before it makes others */
        const int status = attach_late(tasks, (struct notification){.pid = found->pid,
                                                                    .tid = found->pid,
                                                                    .ppid = found->ppid,
                                                                    .time_ns = found->time_ns,
                                                                    .known_ns = found->time_ns,
                                                                    .pidfd = pidfd_copy(process->pidfd)});
        if (status < 0 && status != -EEXIST && status != -ESRCH)
            missed_add(&tasks->missed, "process whose events had ended in an exec, and for which none could be opened",
                       "", 1, 0);
    }
}

void tasks_attach_untracked(struct tasks *tasks)
{
    struct untracked_task found[BATCH];
    uint64_t end = monotonic_ns() + SLICE_NS;
    attach_trees(tasks);
    tasks->uncovered_count = tasks->uncovered_attached = 0;
    const struct missed_wanted wanted = {tasks->now_ns - WAIT_NS, tasks->now_ns - PATIENT_NS, BUSY_NS, TRIES};
    size_t count = missed_untracked(&tasks->missed, &wanted, found, BATCH);
    for (size_t i = 0; i < count && monotonic_ns() < end; i++) {
        const struct untracked_task *child = &found[i];
        missed_tried(&tasks->missed, child->tid);
        int status = attach_late(tasks, (struct notification){.pid = child->pid,
                                                              .tid = child->tid,
                                                              .ppid = child->parent,
                                                              .time_ns = child->time_ns,
                                                              .known_ns = child->time_ns,
                                                              .pidfd = -1});
        /* A thread hangs, or there is none: this task must not cost another one. */
        for (unsigned tries = status == -EBUSY ? TRIES : status < 0; tries; tries--)
            missed_refused(&tasks->missed, child->tid, status);
    }
}
