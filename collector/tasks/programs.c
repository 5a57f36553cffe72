/* SPDX-License-Identifier: MIT */
#include "collector/tasks/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/notifications.h"
#include "collector/system/numbers.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/generations.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/timer_fallback.h"

/* The exec generation that ran at TIME_NS; NULL: unknown. */
static struct exec_generation *find_at(struct task *task, uint64_t time_ns)
{
    struct exec_generation *generation = NULL;
    for (unsigned i = 0; i < task->generation_count; i++)
        if (task->generations[i].start_ns <= time_ns)
            generation = &task->generations[i];
    return generation;
}

void tasks_snapshot_notified(struct tasks *tasks, struct task *task, struct notification *notification)
{
    struct exec_generation *generation = tasks_last_generation(task);
    /* If the process was attached late since then, the snapshot has the counts of its earlier events. */
    if (!notification->values || notification->time_ns < task->attached_late_ns)
        return;
    if (generation && generation->start_ns > notification->time_ns) { /* its exec record was read before this */
        struct exec_generation *before = find_at(task, notification->time_ns);
        if (before && !before->at_end) {
            before->at_end = notification->values;
            notification->values = NULL;
        }
        return;
    }
    if (task->snapshot_count == TASKS_SNAPSHOTS) {
        tasks_drain(tasks, task);
        if (!task_is_live(task))
            return;
    }
    if (task->snapshot_count == TASKS_SNAPSHOTS && task->snapshots[0].time_ns > notification->time_ns)
        return;
    if (task->snapshot_count == TASKS_SNAPSHOTS) {
        free(task->snapshots[0].values);
        memmove(task->snapshots, task->snapshots + 1, --task->snapshot_count * sizeof(task->snapshots[0]));
    }
    unsigned at = task->snapshot_count++;
    for (; at && task->snapshots[at - 1].time_ns > notification->time_ns; at--)
        task->snapshots[at] = task->snapshots[at - 1];
    task->snapshots[at] = (struct snapshot){notification->time_ns, notification->values};
    notification->values = NULL;
}

/* An exec generation without an exec record: there is no ring, or the record was lost. */
static struct exec_generation *add_unannounced(struct tasks *tasks, struct task *task,
                                               const struct notification *notification)
{
    const char *slash = notification->exec ? strrchr(notification->exec, '/') : NULL;
    struct records_comm comm = {.pid = task->pid, .tid = task->key, .exec = true, .name = slash ? slash + 1 : "?"};
    char name[16];
    snprintf(name, sizeof(name), "%.15s",
             task_is_by_timer(task) && notification->comm[0] ? notification->comm : comm.name);
    comm.name = name;
    if (!task_is_live(task))
        return NULL;
    if (task_is_armed(task))
        task->startup_ns = notification->startup_ns;
    /* So that a file that ends here says what sampled it. */
    if (task_is_by_timer(task))
        tasks_look_at_timer(tasks, task);
    return tasks_exec(tasks, task, notification->time_ns, &comm) ? tasks_last_generation(task) : NULL;
}

void tasks_generation_notified(struct tasks *tasks, struct task *task, const struct notification *notification)
{
    struct exec_generation *generation = find_at(task, notification->time_ns);
    /* A late report of a task that had this number before. */
    if (!generation && task->generation_count)
        return;
    /* It was told already, or by a program before, whose exec record was lost. */
    if (generation && notification->time_ns <= generation->told_ns)
        return;
    bool records_missing = task->coverage == TASK_BY_COUNTERS || task->lost_records || task->broken;
    /* It was announced as not sampled, but it reports. */
    bool known = task->coverage == TASK_NOT_SAMPLED && generation && generation == tasks_last_generation(task) &&
                 !strcmp(generation->comm, notification->comm);
    bool new_one = task_is_by_timer(task) ? !known
                                          : generation && generation->named &&
                                                generation == tasks_last_generation(task) && records_missing;
    /* The number went on to a thread that called exec; the thread's own request is still to come. */
    if (new_one && task->end_ns && task->end_ns <= notification->time_ns)
        return;
    if (!generation || new_one)
        generation = add_unannounced(tasks, task, notification);
    if (!generation)
        return;
    generation->told_ns = notification->time_ns;
    if (task_is_by_timer(task))
        tasks_exec_timer(tasks, task, notification);
    /* The preload object knows the name that was given to exec: a link, or a relative path. */
    const char *exec = generation->resolved && generation->program ? generation->program->exec : notification->exec;
    tasks_set_program(tasks, task, generation, program_new(exec, notification->cmdline, notification->cmdline_size));
}

void tasks_leave_timer(struct tasks *tasks, struct notification *notification)
{
    struct task *task = tasks_find(tasks, notification->tid);
    bool announced = notification->kind == PINJECT_INHERIT_EXEC || notification->flags & PINJECT_REQUEST_INHERIT_EXEC;
    if (!task || !task_is_by_timer(task) || !announced || notification->result < 0)
        return;
    notification->comm[0] = '\0'; /* it names the program that calls exec */
    bool leaves = !task_is_armed(task) && !(tasks->session->settings->follow & PINJECT_SESSION_EXEC);
    tasks_generation_notified(tasks, task, notification);
    task->coverage = TASK_NOT_SAMPLED;
    if (leaves && task_is_live(task)) {
        tasks_step(tasks, task, TASK_EVENT_LEAVE);
        tasks_task_ended(tasks, task, false);
    }
}

/* The exec generation of the first exec after TIME_NS; NULL: unknown. */
static struct exec_generation *find_next(struct task *task, uint64_t time_ns)
{
    for (unsigned i = 0; i < task->generation_count; i++)
        if (task->generations[i].start_ns > time_ns)
            return &task->generations[i];
    return NULL;
}

void tasks_program_announced(struct tasks *tasks, struct process *process, const struct notification *notification)
{
    struct program *program = notification->cmdline
                                  ? program_new(notification->exec, notification->cmdline, notification->cmdline_size)
                                  : NULL;
    struct exec_generation *generation = process->main ? find_next(process->main, notification->time_ns) : NULL;
    if (generation && generation->program) { /* its exec record was read before the notification */
        if (program && !generation->named)
            tasks_set_program(tasks, process->main, generation,
                              program_new(generation->program->exec, program->cmdline, program->cmdline_size));
        program_put(program);
        return;
    }
    /* its first mapping was lost, and it has gone on */
    if (generation && generation != tasks_last_generation(process->main)) {
        program_put(program);
        return;
    }
    program_put(process->announced);
    process->announced = program;
    process->announced_ns = notification->time_ns;
}

/* The kernel names a file from the root of the task, /proc from ours. */
static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), length = strlen(end);
    return length > 0 && length <= size && strcmp(path + size - length, end) == 0;
}

void tasks_look_for_programs(struct tasks *tasks, struct task *task)
{
    struct exec_generation *generation = tasks_last_generation(task);
    if (!generation || generation->named || generation->looked || task->kind == PINJECT_THREAD)
        return;
    unsigned count = task->generation_count;
    generation->looked = true;
    if (task->process->pidfd < 0 ? numbers_process_is_gone(task->pid) : process_is_dead(task->process))
        return;
    char *exec = errands_exec(&tasks->session->errands, task->pid);
    size_t size = 0;
    char *cmdline = exec ? errands_cmdline(&tasks->session->errands, task->pid, &size) : NULL;
    const bool anothers = numbers_are_anothers(task->process->pidfd, task->pid);
    tasks_drain(tasks, task);
    /* It may have gone on to another program meanwhile. */
    generation = tasks_last_generation(task);
    /* The records of an inherited set are older than what /proc shows. */
    bool other = task_is_inherited(task) && exec &&
                 (!generation || !generation->program || !ends_with(exec, generation->program->exec));
    if (exec && cmdline && !anothers && !other && task_is_live(task) && count == task->generation_count &&
        !generation->named) {
        tasks_set_program(tasks, task, generation, program_new(exec, cmdline, size));
        generation->resolved = generation->program;
        generation->named = false; /* the preload object did not report: its children are not followed */
    }
    free(exec);
    free(cmdline);
}
