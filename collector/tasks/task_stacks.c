/* SPDX-License-Identifier: MIT */
/* Tasks as owners of the samples that are unwound. */
#include "collector/tasks/task_stacks.h"

#include "collector/tasks/mappings.h"
#include "collector/tasks/tasks.h"

static bool look_at_maps(void *context, void *process)
{
    return tasks_look_at_maps(context, process);
}

int tasks_begin_stacks(struct tasks *tasks)
{
    int error = stacks_new(tasks->config, &tasks->layout, &tasks->session->dumps, &tasks->stacks);
    if (tasks->stacks) {
        tasks->stacks->look_at_maps = look_at_maps;
        tasks->stacks->cost = &tasks->session->cost;
        tasks->stacks->context = tasks;
    }
    return error;
}

/* The time that the stacks of one user take; it restarts at 0 in each round of the loop. */
static uint64_t *at_once_ns(const struct tasks *tasks, struct share *share)
{
    if (!tasks->at_once)
        return NULL;
    if (share->round != tasks->round)
        share->unwound_ns = 0;
    share->round = tasks->round;
    return &share->unwound_ns;
}

struct stack_owner tasks_stack_owner(const struct tasks *tasks, struct task *task)
{
    struct process *process = task->process;
    const struct attached *events = task->events;
    return (struct stack_owner){
        .pid = task->pid,
        .user = process->limited ? process->user : (uid_t)-1,
        .space = &process->space,
        .process = process,
        .trust = &process->trust,
        .counts = &task->stacks,
        .fill = &task->fill,
        .sizes = events ? events->sizes : NULL,
        .dump_limit = events ? events->dump_limit : 0,
        .at_once_ns = at_once_ns(tasks, process->share),
        .now_ns = tasks->now_ns,
    };
}

const struct perf_event_header *tasks_unwind(struct tasks *tasks, struct task *task, unsigned event,
                                             const struct perf_event_header *record)
{
    if (!tasks->stacks)
        return record;
    const struct stack_owner owner = tasks_stack_owner(tasks, task);
    return stacks_take(tasks->stacks, &owner, event, record);
}

void tasks_begin_round(struct tasks *tasks, struct task *task, uint64_t filled, uint64_t size)
{
    if (!tasks->stacks)
        return;
    const struct stack_owner owner = tasks_stack_owner(tasks, task);
    stacks_round(tasks->stacks, &owner, task->lost_records, filled, size);
}
