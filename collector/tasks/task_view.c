/* SPDX-License-Identifier: MIT */
#include "collector/tasks/task_view.h"

#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"

static void subtract(struct attach_value *values, const struct attach_value *base, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        values[i].value -= base[i].value < values[i].value ? base[i].value : values[i].value;
        values[i].enabled_ns -= base[i].enabled_ns < values[i].enabled_ns ? base[i].enabled_ns : values[i].enabled_ns;
        values[i].running_ns -= base[i].running_ns < values[i].running_ns ? base[i].running_ns : values[i].running_ns;
        values[i].lost -= base[i].lost < values[i].lost ? base[i].lost : values[i].lost;
    }
}

/*
 * The counts of exec generation INDEX. NOW: the counts at the end of the last one; NULL: unknown. False: unknown. If its
 * start is unknown, it has the counts of those before it, too: all of them together are the task's counts.
 */
static bool generation_values(const struct tasks *tasks, const struct task *task, unsigned index,
                              const struct attach_value *now, struct attach_value *ret)
{
    const struct exec_generation *generation = &task->generations[index];
    const struct attach_value *end = index + 1 == task->generation_count ? now : generation->at_end;
    const struct attach_value *start = NULL;
    for (unsigned i = index; i > 0 && !start; i--)
        start = task->generations[i - 1].at_end;
    if (!end || task->generations_more)
        return false;
    memcpy(ret, end, tasks->config->count * sizeof(*ret));
    if (start)
        subtract(ret, start, tasks->config->count);
    return true;
}

static bool is_joined(const struct task *task, unsigned index)
{
    return index && !task->generations[index - 1].at_end && !task->generations_more;
}

static void view_generations(const struct tasks *tasks, const struct task *task, struct task_view *view,
                             const struct attach_value *now, unsigned end)
{
    unsigned first = task->generation_first;
    bool split = tasks->session->settings->split, joined = false;
    view->generations = end > first ? calloc(end - first, sizeof(*view->generations)) : NULL;
    for (unsigned i = first; view->generations && i < end; i++) {
        const struct exec_generation *from = &task->generations[i];
        struct result_generation *to = &view->generations[i - first];
        to->start_ns = from->start_ns;
        to->comm = from->comm;
        to->exec = from->program ? from->program->exec : "";
        to->cmdline = from->program && from->program->cmdline ? from->program->cmdline : "";
        to->cmdline_size = from->program ? from->program->cmdline_size : 0;
        to->counted = (split || task->generation_count > 1) && generation_values(tasks, task, i, now, to->values);
        joined |= to->counted && is_joined(task, i);
    }
    if (joined)
        notes_add(
            &view->notes,
            "the counts of a program include those of the program before it: counts could not be read at the moment "
            "of exec");
    view->task.generations = view->generations;
    view->task.generation_count = view->generations ? end - first : 0;
}

static uint64_t count_lost(const struct tasks *tasks, const struct attach_value *values, uint64_t records)
{
    uint64_t lost = 0;
    if (!tasks->layout.lost_known)
        return records;
    for (unsigned i = 0; i < tasks->config->count; i++)
        lost += tasks->config->events[i].samples ? values[i].lost : 0;
    return lost;
}

/* The counts of the file: of the task, or (--exec-split-results) of its exec generation before exec generation END. */
static void view_values(const struct tasks *tasks, const struct task *task, struct task_view *view,
                        const struct attach_value *now, unsigned end)
{
    bool known = true;
    if (tasks->session->settings->split && task->generation_count)
        known = generation_values(tasks, task, end - 1, now, view->task.values);
    else if (now)
        memcpy(view->task.values, now, tasks->config->count * sizeof(*now));
    if (!known)
        notes_add(&view->notes, "the counts of this program are unknown: they could not be read at the moment of exec");
    view->task.samples = task->samples - task->split_samples;
    /* Samples that were lost after its last one were not wanted. */
    view->task.lost = task_is_saturated(task, tasks->session->settings)
                          ? (task->limit_lost > task->split_lost ? task->limit_lost - task->split_lost : 0)
                          : count_lost(tasks, view->task.values, task->lost_records - task->split_lost);
    view->task.lost += task->unsettled - task->split_unsettled;
}

bool tasks_has_no_sampler(const struct tasks *tasks, const struct task *task)
{
    if (task_is_by_timer(task))
        return !task->timer_started || attach_timer_event(tasks->config) < 0;
    return task->coverage == TASK_BY_COUNTERS;
}

static enum pinject_task_source source_of(const struct tasks *tasks, const struct task *task)
{
    if (task_is_inherited(task))
        return task_is_by_cpus(tasks, task) ? PINJECT_SOURCE_CPU : PINJECT_SOURCE_INHERITED;
    if (!task_is_by_timer(task))
        return PINJECT_SOURCE_PERF;
    return task->timer_started ? PINJECT_SOURCE_TIMER : PINJECT_SOURCE_ACCOUNTING;
}

void task_view_show_notes(struct task_view *view)
{
    view->task.notes = view->notes.list;
    view->task.note_count = view->notes.count;
}

void task_view_init(const struct tasks *tasks, const struct task *task, unsigned end, const struct attach_value *now,
                    struct task_view *view)
{
    bool last = end == task->generation_count;
    *view = (struct task_view){.task = {.pid = task->pid,
                                        .tid = task->tid,
                                        .ppid = task->ppid,
                                        .parent_tid = task->parent_tid,
                                        .source = source_of(tasks, task),
                                        .kind = task->kind,
                                        .start_ns = task->generation_first
                                                        ? task->generations[task->generation_first].start_ns
                                                        : task->start_ns,
                                        .end_ns = last && task->end_ns ? task->end_ns : tasks->now_ns,
                                        .startup_ns = task->generation_first ? 0 : task->startup_ns,
                                        .first_sample_ns = task->first_sample_ns,
                                        .last_sample_ns = task->last_sample_ns,
                                        .stacks = task->stacks}};
    memcpy(view->task.ids, task->ids, tasks->config->count * sizeof(task->ids[0]));
    view->task.later = task->generation_first;
    view->task.before = task->generation_first ? task->generations[task->generation_first - 1].at_end : NULL;
    if (!last)
        view->task.end_ns = task->generations[end].start_ns;
    if (!last || task_has_ended(task))
        view->task.flags |= PINJECT_TASK_ENDED;
    if (last && task->status != -1) {
        view->task.flags |= PINJECT_TASK_STATUS;
        view->task.status = task->status;
    }
    if (last && task->exit_ns != UINT64_MAX) {
        view->task.flags |= PINJECT_TASK_EXIT_COST;
        view->task.exit_ns = task->exit_ns;
    }
    view->task.flags |= tasks_has_no_sampler(tasks, task) ? PINJECT_TASK_COUNTED_ONLY : 0;
    view->task.flags |= tasks->session->settings->split ? PINJECT_TASK_SPLIT : 0;
    view->task.flags |= task->root ? PINJECT_TASK_ROOT : 0;
    view->task.flags |= tasks->config->whole_tree ? PINJECT_TASK_TREE : 0;
    view_values(tasks, task, view, now, end);
    view_generations(tasks, task, view, now, end);
    notes_make(&view->notes, tasks, task);
    task_view_show_notes(view);
}

void task_view_release(struct task_view *view)
{
    free(view->generations);
}
