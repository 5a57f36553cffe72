/* SPDX-License-Identifier: MIT */
#include "collector/tasks/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "collector/output/result_task.h"
#include "collector/sources/attach.h"
#include "collector/tasks/inherited_counts.h"
#include "collector/tasks/task_view.h"
#include "collector/tasks/tasks.h"

/* What the rounds so far have of a task. */
struct task_told {
    uint64_t startup_ns;
    struct attach_value values[];
};

static struct task_told *told_of(const struct tasks *tasks, struct task *task)
{
    if (!task->told)
        task->told = calloc(1, sizeof(*task->told) + tasks->config->count * sizeof(task->told->values[0]));
    return task->told;
}

static uint64_t advance(uint64_t *told, uint64_t now)
{
    const uint64_t more = now > *told ? now - *told : 0;
    *told += more;
    return more;
}

/* What VALUES have beyond TOLD; TOLD has it then, too. False: nothing. */
static bool take_more(const struct event_config *config, struct task_told *told, const struct attach_value *values,
                      struct attach_value *ret)
{
    bool any = false;
    struct attach_value settled[CONFIG_EVENTS];
    counts_settle(config, values, settled);
    for (unsigned i = 0; i < config->count; i++) {
        struct attach_value *before = &told->values[i];
        ret[i] = (struct attach_value){.value = advance(&before->value, settled[i].value),
                                       .enabled_ns = advance(&before->enabled_ns, settled[i].enabled_ns),
                                       .running_ns = advance(&before->running_ns, settled[i].running_ns)};
        any |= ret[i].value || ret[i].enabled_ns || ret[i].running_ns;
    }
    return any;
}

/* A program that has no name yet has no file. */
static void write_values(struct tasks *tasks, struct task *task, const struct attach_value *values, uint64_t time_ns)
{
    struct task_view view;
    if (!task->result)
        return;
    task_view_init(tasks, task, task->generation_count, values, &view);
    view.task.end_ns = time_ns;
    result_read(task->result, &view.task); /* a failure is the file's error */
    task_view_release(&view);
}

static void add_row(struct tasks *tasks, const struct task *task, const struct attach_value *more, uint64_t startup_ns)
{
    struct result_generation generation = {.comm = task->comm};
    struct result_task view = {.pid = task->pid,
                               .tid = task->tid,
                               .start_ns = task->start_ns,
                               .source = task_is_inherited(task) ? PINJECT_SOURCE_INHERITED : PINJECT_SOURCE_PERF,
                               .generations = &generation,
                               .generation_count = 1};
    memcpy(view.ids, task->ids, tasks->config->count * sizeof(view.ids[0]));
    counts_add(&tasks->interval, tasks->config, &view, more, startup_ns);
}

/* The counts of inherited events come at the end of their task. */
static bool read_values(const struct task *task, struct attach_value *ret, unsigned count)
{
    if (task_is_armed(task) || (task_is_inherited(task) && !tasks_inherited_counted(task)))
        return false;
    if (task->values)
        memcpy(ret, task->values, count * sizeof(*ret));
    else if (task->events)
        attach_read(task->events, ret);
    return task->values || task->events;
}

static void read_task(struct tasks *tasks, struct task *task, uint64_t time_ns)
{
    struct attach_value values[CONFIG_EVENTS] = {0}, more[CONFIG_EVENTS];
    struct task_told *told = read_values(task, values, tasks->config->count) ? told_of(tasks, task) : NULL;
    if (!told)
        return;
    const bool any = take_more(tasks->config, told, values, more);
    const uint64_t startup_ns = advance(&told->startup_ns, task->startup_ns);
    if (any || startup_ns || tasks->interval.store.by == COUNT_ALL) /* a total of 0 is a total */
        add_row(tasks, task, more, startup_ns);
    if (task_is_live(task) && (any || task->root))
        write_values(tasks, task, values, time_ns);
}

void tasks_read_interval(struct tasks *tasks, uint64_t time_ns)
{
    for (struct task *task = tasks->live; task; task = task->live_next) {
        struct task *leader = task->process->leader;
        read_task(tasks, task, time_ns);
        if (leader && !task_is_live(leader))
            read_task(tasks, leader, time_ns); /* again for each thread: then there is nothing more */
    }
    for (const struct process *process = tasks->held; process; process = process->held_next)
        if (process->leader && !task_is_live(process->leader))
            read_task(tasks, process->leader, time_ns);
    for (struct task *task = tasks->done; task; task = task->next)
        read_task(tasks, task, time_ns);
    struct process *root = tasks->root_process;
    if (root && root->leader && !task_is_live(root->leader))
        read_task(tasks, root->leader, time_ns);
}

void tasks_end_intervals(struct tasks *tasks, struct task *task, const struct result_task *view)
{
    static const struct attach_value none[CONFIG_EVENTS];
    struct attach_value more[CONFIG_EVENTS] = {0};
    struct task_told *told = tasks->interval.store.total ? told_of(tasks, task) : NULL;
    if (!told)
        return;
    const bool any = take_more(tasks->config, told, task->values ? task->values : none, more);
    const uint64_t startup_ns = advance(&told->startup_ns, task->startup_ns);
    if (any || startup_ns || view->exit_ns)
        counts_add(&tasks->interval, tasks->config, view, more, startup_ns);
}
