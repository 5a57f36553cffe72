/* SPDX-License-Identifier: MIT */
#include "collector/tasks/task_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/system/monotonic.h"
#include "collector/tasks/account.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/task_stacks.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/untracked.h"

/* For the rings of one process, in a round of the loop. */
enum { SHARE_NS = 20 * 1000 * 1000 };

int tasks_init(struct tasks *tasks, struct session *session, struct results *results, int epoll)
{
    memset(tasks, 0, sizeof(*tasks));
    tasks->session = session;
    tasks->config = session->config;
    tasks->results = results;
    tasks->epoll = epoll;
    tasks->done_end = &tasks->done;
    tasks->clock = event_config_find_clock(session->config);
    tasks->now_ns = monotonic_ns();
    tasks->share_ns = SHARE_NS;
    machine_time_read(&tasks->machine);
    records_layout_init(&tasks->layout, session->config);
    int error = tids_init(&tasks->known);
    if (error == 0)
        error = tids_init(&tasks->unannounced);
    if (error == 0)
        error = missed_init(&tasks->missed);
    if (error == 0)
        error = tasks_begin_stacks(tasks);
    if (tasks->stacks)
        tasks->stacks->opener = results_opener(results);
    tasks->missed.dropped = session->own_dropped;
    return error;
}

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

void tasks_release(struct tasks *tasks)
{
    while (tasks->live) {
        struct task *task = tasks->live;
        struct process *process = task->process;
        tasks_unlink(tasks, task);
        if (process->leader == task)
            process->leader = NULL;
        tasks_discard(tasks, task);
    }
    for (size_t i = 0; i < TASKS_TABLE; i++)
        while (tasks->by_pid[i]) {
            struct process *process = tasks->by_pid[i];
            tasks->by_pid[i] = process->next;
            if (process->leader)
                tasks_discard(tasks, process->leader);
            process_free(process);
        }
    while (tasks->waiting) {
        struct waiting *waiting = tasks->waiting;
        tasks->waiting = waiting->next;
        attach_free(waiting->notification->events);
        notification_free(waiting->notification);
        free(waiting);
    }
    while (tasks->early) {
        struct inherited_record *kept = tasks->early;
        tasks->early = kept->next;
        free(kept);
    }
    tasks_forget_late_trees(tasks);
    *tasks->done_end = tasks->graveyard;
    tasks->graveyard = tasks->done;
    tasks->done = NULL;
    tasks->done_end = &tasks->done;
    tasks_bury(tasks);
    stacks_free(tasks->stacks);
    kernelmap_release(&tasks->kernel);
    missed_release(&tasks->missed);
    tids_release(&tasks->known);
    tids_release(&tasks->unannounced);
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

struct process *tasks_add_process(struct tasks *tasks, pid_t pid, pid_t ppid, uint64_t start_ns)
{
    struct process *process = process_new(pid, ppid, start_ns);
    if (!process)
        return NULL;
    process_set_share(process, &tasks->shares.own);
    struct process **bucket = &tasks->by_pid[(uint32_t)pid % TASKS_TABLE];
    process->next = *bucket;
    *bucket = process;
    return process;
}

void tasks_remove_process(struct tasks *tasks, struct process *process)
{
    struct process **at = &tasks->by_pid[(uint32_t)process->pid % TASKS_TABLE];
    while (*at && *at != process)
        at = &(*at)->next;
    if (*at)
        *at = process->next;
    if (tasks->root_process == process)
        tasks->root_process = NULL;
    account_forget(process);
    tasks->mappings_forgotten += process->space.forgotten;
    process_free(process);
}

static void watch_task(struct tasks *tasks, struct task *task)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = task};
    if (task->inherited) {
        tasks->inherited_tasks_live++;
        return;
    }
    int fd = !task->events->timer && task->events->ring ? task->events->fds[0] : task->events->end_fd;
    task->ring_fd = fd >= 0 && epoll_ctl(tasks->epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? fd : -1;
}

static void put_in_table(struct tasks *tasks, struct task *task, pid_t tid)
{
    struct task **bucket = &tasks->by_tid[(uint32_t)tid % TASKS_TABLE];
    task->key = tid;
    task->next = *bucket;
    *bucket = task;
    tids_add(&tasks->known, tid);
    tids_remove(&tasks->unannounced, tid);
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
}

void tasks_link(struct tasks *tasks, struct task *task, struct process *process)
{
    put_in_table(tasks, task, task->tid);
    task->live_prev = NULL;
    task->live_next = tasks->live;
    if (tasks->live)
        tasks->live->live_prev = task;
    tasks->live = task;
    task->live = true;
    task->process = process;
    task->process_prev = NULL;
    task->process_next = process->tasks;
    if (process->tasks)
        process->tasks->process_prev = task;
    process->tasks = task;
    process->live++;
    tasks->timer_live += task->by_timer;
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

void tasks_unlink(struct tasks *tasks, struct task *task)
{
    take_from_table(tasks, task);
    tasks_forget_unread(tasks, task);
    *(task->live_prev ? &task->live_prev->live_next : &tasks->live) = task->live_next;
    if (task->live_next)
        task->live_next->live_prev = task->live_prev;
    task->live_prev = task->live_next = NULL;
    tasks->live_count--;
    task->live = false;
    leave_process(task->process, task);
    if (task->ring_fd >= 0)
        epoll_ctl(tasks->epoll, EPOLL_CTL_DEL, task->ring_fd, NULL);
    task->ring_fd = -1;
    tasks->inherited_tasks_live -= task->inherited;
    tasks->timer_live -= task->by_timer;
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

void tasks_count(struct tasks *tasks, struct task *task)
{
    task->counted = true;
    tasks->seen++;
    if (task->kind == PINJECT_THREAD)
        tasks->threads++;
    else
        tasks->processes++;
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
