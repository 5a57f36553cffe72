/* SPDX-License-Identifier: MIT */
#include "collector/tasks/notification_order.h"

#include <stdlib.h>

#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/untracked.h"

enum {
    WAITING_MAX = 4096, /* so many wait at most */
    CHECKS = 16384,     /* of those that wait, in one round */
    OLDER = 64,         /* of the oldest, for each of the others */
    RUNS = 32,          /* sorted lists of 2^N notifications: more than there is memory for */
};

/* Both are sorted; of equal times those of OLDER come first. */
static struct notification *merge_lists(struct notification *older, struct notification *newer)
{
    struct notification *first = NULL, **end = &first;
    while (older && newer) {
        struct notification **from = older->time_ns <= newer->time_ns ? &older : &newer;
        *end = *from;
        end = &(*end)->next;
        *from = *end;
    }
    *end = older ? older : newer;
    return first;
}

/* By time; equal times keep their order. Runs of 1, 2, 4 ... notifications are merged as a binary counter counts. */
static struct notification *sort_notifications(struct notification *notifications)
{
    struct notification *runs[RUNS] = {NULL}, *sorted = NULL;
    while (notifications) {
        struct notification *run = notifications;
        unsigned i = 0;
        notifications = run->next;
        run->next = NULL;
        for (; i < RUNS - 1 && runs[i]; i++) {
            run = merge_lists(runs[i], run);
            runs[i] = NULL;
        }
        runs[i] = runs[i] ? merge_lists(runs[i], run) : run;
    }
    for (unsigned i = 0; i < RUNS; i++)
        sorted = merge_lists(runs[i], sorted);
    return sorted;
}

/*
 * If the process was attached late, its threads and children are attached, too; and a program that was wrong about its
 * events gets some.
 */
static void admit_in_order(struct tasks *tasks, struct notification *notification)
{
    if (tasks_admit(tasks, notification))
        tasks_attach_trees(tasks);
    tasks_attach_uncovered(tasks);
}

/* Does an older request for events of the same process wait? */
static bool has_older(const struct tasks *tasks, const struct notification *notification)
{
    const struct waiting *waiting = tasks->waiting;
    for (unsigned i = 0; i < OLDER && waiting && waiting->notification->time_ns < notification->time_ns; i++) {
        if (waiting->notification->pid == notification->pid && waiting->notification->events)
            return true;
        waiting = waiting->next;
    }
    return false;
}

/*
 * May records that the inherited sets wrote before it still come? They may name its task. After a pause of the event
 * loop, the loop handles notifications before it reads these records.
 */
static bool is_ahead_of_records(const struct tasks *tasks, const struct notification *notification)
{
    return inherited_live(tasks->session->inherited_sets) && tasks->inherited_taken_ns <= notification->time_ns;
}

/* Do inherited events cover a live task of the process? */
static bool has_inherited(const struct tasks *tasks, pid_t pid)
{
    const struct process *process = tasks_find_process(tasks, pid);
    const struct task *task = process ? process->tasks : NULL;
    while (task && !(task_is_live(task) && task_is_inherited(task)))
        task = task->process_next;
    return task != NULL;
}

/*
 * The request of a next program goes on from that of the process, whose events have ended by then, and whose threads
 * ended in its exec: those with inherited events wrote what they had counted.
 */
static bool is_ready(const struct tasks *tasks, const struct notification *notification)
{
    if (!tasks_is_ready(tasks, notification))
        return false;
    return notification->kind != PINJECT_PROCESS ||
           !(has_older(tasks, notification) ||
             (is_ahead_of_records(tasks, notification) && has_inherited(tasks, notification->pid)));
}

/* A notification that is not ready waits so long at most. */
static bool has_waited(const struct tasks *tasks, const struct waiting *waiting)
{
    return waiting->deadline_ns <= tasks->now_ns && !is_ahead_of_records(tasks, waiting->notification) &&
           !has_older(tasks, waiting->notification);
}

/* *AT: where the last one went; later ones do not go before it. */
static void let_wait(struct tasks *tasks, struct notification *notification, struct waiting ***at)
{
    bool room = !tasks->closing && tasks->waiting_count < WAITING_MAX &&
                tasks->waiting_bytes + notification_text(notification) <= NOTIFICATIONS_BYTES;
    struct waiting *waiting = room ? malloc(sizeof(*waiting)) : NULL;
    if (!waiting) {
        tasks->hurried += !tasks->closing;
        admit_in_order(tasks, notification);
        return;
    }
    *waiting = (struct waiting){.notification = notification, .deadline_ns = tasks->now_ns + UNKNOWN_WAIT_NS};
    while (**at && (**at)->notification->time_ns <= notification->time_ns)
        *at = &(**at)->next;
    waiting->next = **at;
    **at = waiting;
    *at = &waiting->next;
    tasks->waiting_count++;
    tasks->waiting_covered += notification->inherited;
    tasks->waiting_bytes += notification_text(notification);
}

/* Starts again after each one that was admitted: another one may have waited for it. The rest goes on waiting. */
static void retry_waiting(struct tasks *tasks)
{
    unsigned checks = 0;
    for (struct waiting **at = &tasks->waiting; *at && checks < CHECKS;) {
        struct waiting *waiting = *at;
        bool due = tasks->closing || has_waited(tasks, waiting);
        checks += !due;
        if (!due && !is_ready(tasks, waiting->notification)) {
            at = &waiting->next;
            continue;
        }
        admit_in_order(tasks, tasks_take_waiting(tasks, at));
        at = &tasks->waiting;
    }
}

void tasks_notify(struct tasks *tasks, struct notification *notifications)
{
    struct waiting **at = &tasks->waiting;
    tasks->batch++;
    notifications = sort_notifications(notifications);
    while (notifications) {
        struct notification *notification = notifications;
        notifications = notification->next;
        notification->next = NULL;
        tasks->notifications++;
        if (is_ready(tasks, notification))
            admit_in_order(tasks, notification);
        else
            let_wait(tasks, notification, &at);
    }
    retry_waiting(tasks);
}

/* Ancestors that are marked already end a chain, so chains of any length cost no more than there are processes. */
void tasks_mark_awaited(struct tasks *tasks)
{
    for (const struct waiting *waiting = tasks->waiting; waiting; waiting = waiting->next) {
        const struct notification *request = waiting->notification;
        const bool goes_on = request->kind == PINJECT_PROCESS && request->events;
        struct process *process = goes_on ? tasks_find_process(tasks, request->pid) : NULL;
        for (; process && process->awaited != tasks->batch; process = process->parent)
            process->awaited = tasks->batch;
    }
}
