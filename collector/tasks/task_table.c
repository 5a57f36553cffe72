/* SPDX-License-Identifier: MIT */
#include "collector/tasks/task_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/system/watch.h"
#include "collector/tasks/tasks.h"

enum {
    LATE_CHILDREN = 256, /* ended ones that are looked at for a new parent */
    INHERIT_TRIES = 8,   /* sweeps that retry an inherited set that was refused before an exec */
    SOON_TRIES = 12,     /* before the sweeps: what a program starts at once, without us, may be short-lived */
};

static void free_task(struct task *task)
{
    for (unsigned i = 0; i < task->generation_count; i++) {
        program_put(task->generations[i].program);
        free(task->generations[i].at_end);
    }
    free(task->generations);
    for (unsigned i = 0; i < task->snapshot_count; i++)
        free(task->snapshots[i].values);
    free(task->values);
    free(task->counted_before);
    free(task->told);
    free(task->next_periods);
    free(task->data);
    buffer_release(&task->backlog);
    free(task);
}

/* A file that was begun ends with the task's current state. */
static void drop_task(struct task *task)
{
    if (task->result) {
        struct result_task nothing = {.pid = task->pid, .tid = task->tid};
        result_finish(task->result, &nothing, NULL);
    }
    free_task(task);
}

struct task *tasks_find(const struct tasks *tasks, pid_t tid)
{
    struct task *task = tasks->by_tid[(uint32_t)tid % TASKS_TABLE];
    while (task && task->key != tid)
        task = task->next;
    return task;
}

struct process *tasks_find_process(const struct tasks *tasks, pid_t pid)
{
    struct process *process = tasks->by_pid[(uint32_t)pid % TASKS_TABLE];
    while (process && process->pid != pid)
        process = process->next;
    return process;
}

static void join_parent(struct process *process, struct process *parent)
{
    process->parent = parent;
    process->ended_prev = NULL;
    process->ended_next = parent->ended;
    if (parent->ended)
        parent->ended->ended_prev = process;
    parent->ended = process;
}

/*
 * PROCESS is new, but its request may have come after the ends of children that it had made. Such a request is not late
 * by much, so they are among the last ones that are held.
 */
static void find_ended_children(struct tasks *tasks, struct process *process)
{
    struct process *child = process->start_ns <= tasks->held_start_ns ? tasks->held_last : NULL;
    for (unsigned i = 0; child && i < LATE_CHILDREN; i++, child = child->held_prev)
        if (!child->parent && child->ppid == process->pid && child->start_ns >= process->start_ns)
            join_parent(child, process);
}

static void put_process(struct tasks *tasks, struct process *process)
{
    struct process **bucket = &tasks->by_pid[(uint32_t)process->pid % TASKS_TABLE];
    process->next = *bucket;
    *bucket = process;
}

static void take_process(struct tasks *tasks, const struct process *process)
{
    struct process **at = &tasks->by_pid[(uint32_t)process->pid % TASKS_TABLE];
    while (*at && *at != process)
        at = &(*at)->next;
    if (*at)
        *at = process->next;
}

void tasks_put_first(struct tasks *tasks, struct process *process)
{
    take_process(tasks, process);
    put_process(tasks, process);
}

struct process *tasks_add_process(struct tasks *tasks, pid_t pid, pid_t ppid, uint64_t start_ns)
{
    struct process *process = process_new(pid, ppid, start_ns);
    if (!process)
        return NULL;
    process_set_share(process, &tasks->shares.own);
    if (tasks->config->data)
        process_take_data(process);
    put_process(tasks, process);
    find_ended_children(tasks, process);
    return process;
}

/* ---- Ended processes that are held ---- */

void tasks_hold_process(struct tasks *tasks, struct process *process)
{
    struct process *parent = tasks_find_process(tasks, process->ppid);
    process->held = true;
    process->held_next = NULL;
    process->held_prev = tasks->held_last;
    *(tasks->held_last ? &tasks->held_last->held_next : &tasks->held) = process;
    tasks->held_last = process;
    tasks->held_count++;
    tasks->held_start_ns = process->start_ns > tasks->held_start_ns ? process->start_ns : tasks->held_start_ns;
    if (parent && parent != process)
        join_parent(process, parent);
}

static void leave_parent(struct process *process)
{
    if (!process->parent)
        return;
    *(process->ended_prev ? &process->ended_prev->ended_next : &process->parent->ended) = process->ended_next;
    if (process->ended_next)
        process->ended_next->ended_prev = process->ended_prev;
    process->parent = NULL;
}

void tasks_move_children(struct process *process, struct process *to)
{
    while (process->ended) {
        struct process *child = process->ended;
        leave_parent(child);
        join_parent(child, to);
    }
}

void tasks_let_go(struct tasks *tasks, struct process *process)
{
    if (!process->held)
        return;
    *(process->held_prev ? &process->held_prev->held_next : &tasks->held) = process->held_next;
    *(process->held_next ? &process->held_next->held_prev : &tasks->held_last) = process->held_prev;
    process->held = false;
    tasks->held_count--;
    leave_parent(process);
}

/* PROCESS leaves the table: its children no longer refer to it. */
static void forget_children(struct process *process)
{
    leave_parent(process);
    for (struct process *child = process->ended; child; child = child->ended_next)
        child->parent = NULL;
    process->ended = NULL;
}

void tasks_remove_process(struct tasks *tasks, struct process *process)
{
    take_process(tasks, process);
    if (tasks->root_process == process)
        tasks->root_process = NULL;
    forget_children(process);
    tasks->mappings_forgotten += process->space.forgotten;
    process_free(process);
}

/* ---- Live tasks ---- */

static void watch_task(struct tasks *tasks, struct task *task)
{
    if (task_is_inherited(task)) {
        tasks->inherited_tasks++;
        tasks->inherited_tasks_live++;
        return;
    }
    int fd = !task->events->timer && task->events->ring ? task->events->fds[0] : task->events->end_fd;
    task->ring_fd = watch_add(tasks->epoll, fd, task) == 0 ? fd : -1;
}

static void put_in_table(struct tasks *tasks, struct task *task, pid_t tid)
{
    struct task **bucket = &tasks->by_tid[(uint32_t)tid % TASKS_TABLE];
    task->key = tid;
    task->next = *bucket;
    *bucket = task;
    tids_add(&tasks->known, tid);
    tids_remove(&tasks->unannounced, tid);
    tids_remove(&tasks->refused, tid);
    tids_remove(&tasks->left, tid);
}

static void take_from_table(struct tasks *tasks, struct task *task)
{
    struct task **at = &tasks->by_tid[(uint32_t)task->key % TASKS_TABLE];
    while (*at && *at != task)
        at = &(*at)->next;
    if (*at)
        *at = task->next;
    task->next = NULL;
}

void tasks_rename(struct tasks *tasks, struct task *task, pid_t tid)
{
    take_from_table(tasks, task);
    put_in_table(tasks, task, tid);
    task->gone_ns = 0; /* a sweep may have missed the number that it had */
}

static void join_process(struct tasks *tasks, struct process *process, struct task *task)
{
    tasks_let_go(tasks, process); /* a thread came late: held again when it ends */
    process->ended_ns = 0;
    task->process = process;
    task->process_prev = NULL;
    task->process_next = process->tasks;
    if (process->tasks)
        process->tasks->process_prev = task;
    process->tasks = task;
    process->live++;
}

void tasks_link(struct tasks *tasks, struct task *task, struct process *process)
{
    join_process(tasks, process, task);
    put_in_table(tasks, task, task->tid);
    task->live_prev = NULL;
    task->live_next = tasks->live;
    if (tasks->live)
        tasks->live->live_prev = task;
    tasks->live = task;
    tasks->timer_live += task_is_by_timer(task);
    if (++tasks->live_count > tasks->active_max)
        tasks->active_max = tasks->live_count;
    watch_task(tasks, task);
}

static void leave_process(struct process *process, struct task *task)
{
    *(task->process_prev ? &task->process_prev->process_next : &process->tasks) = task->process_next;
    if (task->process_next)
        task->process_next->process_prev = task->process_prev;
    task->process_prev = task->process_next = NULL;
    process->live--;
    if (process->main == task)
        process->main = NULL;
}

void tasks_move(struct tasks *tasks, struct task *task, struct process *process)
{
    leave_process(task->process, task);
    join_process(tasks, process, task);
}

bool tasks_is_unread(const struct tasks *tasks, const struct task *task)
{
    return task->unread_prev || tasks->unread == task;
}

void tasks_forget_unread(struct tasks *tasks, struct task *task)
{
    if (!tasks_is_unread(tasks, task))
        return;
    *(task->unread_prev ? &task->unread_prev->unread_next : &tasks->unread) = task->unread_next;
    *(task->unread_next ? &task->unread_next->unread_prev : &tasks->unread_last) = task->unread_prev;
    task->unread_prev = task->unread_next = NULL;
    tasks->unread_count--;
}

void tasks_unlink(struct tasks *tasks, struct task *task)
{
    take_from_table(tasks, task);
    tasks_forget_unread(tasks, task);
    *(task->live_prev ? &task->live_prev->live_next : &tasks->live) = task->live_next;
    if (task->live_next)
        task->live_next->live_prev = task->live_prev;
    task->live_prev = task->live_next = NULL;
    tasks->live_count--;
    leave_process(task->process, task);
    watch_remove(tasks->epoll, task->ring_fd);
    task->ring_fd = -1;
    tasks->inherited_tasks_live -= task_is_inherited(task);
    tasks->timer_live -= task_is_by_timer(task);
    if (task->events)
        attach_retire(tasks->session, task->events);
    attach_free(task->events);
    task->events = NULL;
}

void tasks_discard(struct tasks *tasks, struct task *task)
{
    task->next = tasks->graveyard;
    tasks->graveyard = task;
}

void tasks_bury(struct tasks *tasks)
{
    while (tasks->graveyard) {
        struct task *task = tasks->graveyard;
        tasks->graveyard = task->next;
        drop_task(task);
    }
}

void tasks_step(struct tasks *tasks, struct task *task, enum task_event event)
{
    tasks->contradictions += !task_step(&task->state, event);
}

void tasks_count(struct tasks *tasks, struct task *task)
{
    tasks->seen++;
    if (task->kind == PINJECT_THREAD)
        tasks->threads++;
    else
        tasks->processes++;
}

bool tasks_knows_thread(const struct tasks *tasks, pid_t tid)
{
    return tasks->ended_threads[(uint32_t)tid % ENDED_THREADS] == tid || tasks_find(tasks, tid);
}

struct records_stamp tasks_stamp(const struct tasks *tasks, const struct task *task, uint64_t time_ns)
{
    (void)tasks;
    return (struct records_stamp){
        .pid = task->pid, .tid = task->tid, .time_ns = time_ns, .id = task->ids[0], .event = 0};
}

uint64_t tasks_clock(const struct tasks *tasks, const struct attach_value *values)
{
    return event_config_clock(tasks->config, values);
}

/* ---- What is to be attached late ---- */

void tasks_put_tree(struct tasks *tasks, struct late_tree *tree)
{
    tree->next = NULL;
    *(tasks->late_trees ? &tasks->late_trees_last->next : &tasks->late_trees) = tree;
    tasks->late_trees_last = tree;
}

bool tasks_add_tree(struct tasks *tasks, pid_t pid, uint64_t time_ns)
{
    struct late_tree *tree = calloc(1, sizeof(*tree));
    if (!tree) {
        tasks->missed.uncounted++;
        return false;
    }
    tree->pid = pid;
    tree->time_ns = time_ns;
    tasks_put_tree(tasks, tree);
    return true;
}

void tasks_forget_late_trees(struct tasks *tasks)
{
    while (tasks->late_trees) {
        struct late_tree *tree = tasks->late_trees;
        tasks->late_trees = tree->next;
        free(tree);
    }
}

void tasks_tell_no_inherit(struct tasks *tasks, const struct process *process, int error)
{
    char reason[160];
    snprintf(reason, sizeof(reason),
             "the kernel refused inherited events for this program (%s), so its children and threads are not profiled",
             strerror(-error));
    missed_add(&tasks->missed, reason, process->leader ? process->leader->comm : "", 1, 0);
}

void tasks_owe_inherit(struct tasks *tasks, struct process *process)
{
    process->inherit_owed = INHERIT_TRIES;
    if (tasks->owed_count >= TASKS_OWED)
        return;
    if (!tasks->owed_count)
        tasks->owed_ns = tasks->now_ns + TASKS_SOON_NS;
    tasks->owed[tasks->owed_count++] = (struct owed_inherit){process->pid, SOON_TRIES};
}

/* ---- Notifications that wait ---- */

struct notification *tasks_take_waiting(struct tasks *tasks, struct waiting **at)
{
    struct waiting *waiting = *at;
    struct notification *notification = waiting->notification;
    *at = waiting->next;
    tasks->waiting_count--;
    tasks->waiting_covered -= notification->inherited;
    tasks->waiting_bytes -= notification_text(notification);
    free(waiting);
    return notification;
}

struct waiting **tasks_find_covered(struct tasks *tasks, pid_t pid, pid_t tid)
{
    for (struct waiting **at = &tasks->waiting; tasks->waiting_covered && *at; at = &(*at)->next) {
        const struct notification *notification = (*at)->notification;
        if (notification->pid == pid && (!tid || notification->tid == tid) && notification->inherited &&
            !notification->attached_late)
            return at;
    }
    return NULL;
}
