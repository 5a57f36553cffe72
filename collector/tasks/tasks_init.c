/* SPDX-License-Identifier: MIT */
#include "collector/tasks/tasks_init.h"

#include <stdlib.h>

#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/system/monotonic.h"
#include "collector/tasks/task_stacks.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

/* For the rings of one process, in a round of the loop. */
enum { SHARE_NS = 20 * 1000 * 1000 };

int tasks_init(struct tasks *tasks, struct session *session, struct results *results, int epoll)
{
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
        error = tids_init(&tasks->refused);
    if (error == 0)
        error = tids_init(&tasks->left);
    if (error == 0)
        error = missed_init(&tasks->missed);
    if (error == 0)
        error = counts_init(&tasks->counts, session->config, session->settings->count_by);
    if (error == 0 && session->settings->interval_ns)
        error = counts_init(&tasks->interval, session->config, session->settings->count_by);
    if (error == 0)
        error = tasks_begin_stacks(tasks);
    if (tasks->stacks)
        tasks->stacks->opener = results_opener(results);
    tasks->missed.dropped = session->own_dropped;
    return error;
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
    counts_release(&tasks->counts);
    counts_release(&tasks->interval);
    tids_release(&tasks->known);
    tids_release(&tasks->unannounced);
    tids_release(&tasks->refused);
    tids_release(&tasks->left);
}
