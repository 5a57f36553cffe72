/* SPDX-License-Identifier: MIT */
#include "collector/tasks/finish.h"

#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/tasks/account.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/inherited_counts.h"
#include "collector/tasks/mappings.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/timer_fallback.h"

enum {
    DYING_NS = 50 * 1000 * 1000, /* from the last record of a process to its death */
    TICK_NS = 10 * 1000 * 1000,  /* of the scheduler, at most: so much of a task the accounting may not have */
};

void tasks_tell_leader(const struct process *process)
{
    struct task *leader = process->leader;
    leader->status = process->status_known ? process->status : -1;
    leader->exit_ns = process->exit_known ? process->exit_ns : UINT64_MAX;
}

/*
 * If the last task that is known of a process has ended some time ago, and the process lives, it has threads that nobody
 * knows: when it ends is not known.
 */
static void look_for_life(const struct tasks *tasks, struct process *process)
{
    if (process->end_ns && tasks->now_ns > process->end_ns + DYING_NS && process_is_alive(process))
        process->end_lost = true;
}

static void hold_process(struct tasks *tasks, struct process *process)
{
    if (process->held)
        return;
    tasks_hold_process(tasks, process);
    process->ended_ns = tasks->now_ns;
    look_for_life(tasks, process);
    process->number_gone = false;
    process->deadline_ns = tasks->now_ns + (process->left ? 0 : process->waited ? TASKS_WAITED_HOLD_NS : TASKS_HOLD_NS);
    if (!process->waited && !process->root)
        process->orphan |= account_is_orphan(tasks, process);
}

void tasks_set_revoked(struct tasks *tasks, struct process *process, struct task *task)
{
    struct exec_generation *generation = tasks_last_generation(task);
    process->revoked = true;
    tasks_step(tasks, task, TASK_EVENT_REVOKED);
    if (generation && !generation->program)
        generation->program = program_get(process->announced);
}

/*
 * A thread of a process that was accounted for already was reported late. Its CPU time passed for the cost of the exit,
 * if that is known.
 */
static void add_late(struct tasks *tasks, struct process *process, uint64_t used_ns)
{
    const uint64_t exit = process->exit_known ? process->exit_ns : 0, part = exit < used_ns ? exit : used_ns;
    process->exit_ns -= part;
    tasks->exit_ns -= part;
    tasks->attributed_ns += used_ns - part;
    if (process->orphan && !process->waited)
        tasks->orphans_ns += used_ns - part;
    else if (!process->waited)
        tasks->unwaited_ns += used_ns - part;
}

static void add_clock(struct tasks *tasks, struct process *process, uint64_t used_ns)
{
    process->clock_ns += used_ns;
    process->behind_ns += session_system_wide(tasks->session) ? TICK_NS : 0;
    const bool armed = process->leader && task_is_armed(process->leader);
    if (process->accounted && !process->continued && !armed)
        add_late(tasks, process, used_ns);
}

bool tasks_lost_records(const struct tasks *tasks, const struct task *task)
{
    struct attach_value values[CONFIG_EVENTS] = {0};
    bool lost = task->lost_records || task->broken;
    if (task->coverage != TASK_BY_EVENTS)
        return false;
    if (task->values)
        memcpy(values, task->values, tasks->config->count * sizeof(*values));
    else if (task->events)
        attach_read(task->events, values);
    for (unsigned i = 0; i < tasks->config->count; i++)
        lost |= values[i].lost > 0;
    return lost;
}

/* Sets when TASK, and its process as far as is known, ended. */
static void note_end(const struct tasks *tasks, struct task *task)
{
    struct process *process = task->process;
    /* Its EXIT record was lost, as others were: it ended some time before now. */
    const bool seen = !task->end_ns, lost = seen && (task->gone_ns || tasks_lost_records(tasks, task));
    if (seen)
        task->end_ns = tasks->now_ns;
    /* Without a ring, its end is seen at some time after it. */
    const bool late = lost || (seen && task->coverage != TASK_BY_EVENTS);
    const uint64_t alive = late ? task->last_sample_ns : task->end_ns, known = lost ? alive : task->end_ns;
    if (known > process->end_ns)
        process->end_ns = known;
    if (alive > process->alive_ns)
        process->alive_ns = alive;
    process->end_lost |= lost;
}

/* Another thread may have mapped what the last samples of TASK are in: its file is about to be written. */
static void find_data(struct tasks *tasks, const struct task *task)
{
    if (!tasks_lacks_data(task) || tasks->finds_data)
        return;
    tasks->finds_data = true;
    for (struct task *other = task->process->tasks, *next; other; other = next) {
        next = other->process_next;
        if (other != task)
            tasks_drain_some(tasks, other);
    }
    tasks->finds_data = false;
}

void tasks_task_ended(struct tasks *tasks, struct task *task, bool ended)
{
    struct process *process = task->process;
    tasks_drain(tasks, task);
    find_data(tasks, task);
    if (!task_is_live(task))
        return;
    if (task_is_inherited(task) && !tasks_inherited_counted(task)) {
        tasks_inherited_estimate(tasks, task);
        tasks->estimated += ended && !task_is_armed(task);
    }
    if (task_is_by_timer(task))
        tasks_end_timer(tasks, task);
    if (!task->values) {
        task->values = calloc(tasks->config->count, sizeof(*task->values));
        if (task->values && task->events)
            attach_read(task->events, task->values);
    }
    if (ended && task->events)
        stack_sizes_add_task(task->events->sizes);
    tasks->unplaced += attach_is_unplaced(task->events) && !task_is_armed(task);
    tasks_step(tasks, task, ended ? TASK_EVENT_END : TASK_EVENT_CLOSE);
    if (ended && process->secure && task == process->main && !process->program && !task_is_by_cpus(tasks, task))
        tasks_set_revoked(tasks, process, task);
    task->covers = process->inherits;
    note_end(tasks, task);
    struct late_task *late = &tasks->late_tasks[(uint32_t)task->tid % LATE_TASKS];
    if (late->tid == task->tid && late->until_ns == UINT64_MAX)
        late->until_ns = task->end_ns ? task->end_ns : tasks->now_ns;
    if (task->key != process->pid)
        tasks->ended_threads[(uint32_t)task->key % ENDED_THREADS] = task->key;
    const uint64_t used_ns = task->startup_ns + (task->values ? tasks_clock(tasks, task->values) : 0);
    if (task == process->main) /* the first thread goes on from an earlier entry of the table, others from nothing */
        process->main_clock_ns = used_ns + (task == process->leader ? process->main_clock_ns : 0);
    tasks_unlink(tasks, task);
    process->ended_tasks++;
    add_clock(tasks, process, used_ns);
    if (process->leader != task && task_is_armed(task))
        tasks_discard(tasks, task);
    else if (process->leader != task)
        tasks_put_done(tasks, task);
    if (!process->live)
        hold_process(tasks, process);
}

/* ---- Rings ---- */

/* False: there is more. */
static bool drain(struct tasks *tasks, struct task *task, bool all)
{
    const enum tasks_ring drained = tasks_drain_ring(tasks, task, all);
    if (drained == TASKS_RING_LEFT)
        tasks_task_ended(tasks, task, false);
    return drained != TASKS_RING_MORE;
}

void tasks_drain(struct tasks *tasks, struct task *task)
{
    drain(tasks, task, true);
}

void tasks_drain_some(struct tasks *tasks, struct task *task)
{
    if (drain(tasks, task, false) || tasks_is_unread(tasks, task))
        return;
    task->unread_prev = tasks->unread_last;
    task->unread_next = NULL;
    *(tasks->unread_last ? &tasks->unread_last->unread_next : &tasks->unread) = task;
    tasks->unread_last = task;
    tasks->unread_count++;
}

/*
 * A task that was read goes to the end of the list. One that finds no time, because another thread of its process had
 * it, keeps its place.
 */
void tasks_drain_rest(struct tasks *tasks)
{
    struct task *task = tasks->unread, *next;
    for (uint64_t count = tasks->unread_count; task && count; count--, task = next) {
        next = task->unread_next;
        if (!tasks_has_time(tasks, task->process))
            continue;
        tasks_forget_unread(tasks, task);
        tasks_drain_some(tasks, task);
        if (next && !tasks_is_unread(tasks, next)) /* it ended */
            next = tasks->unread;
    }
}

void tasks_drain_process(struct tasks *tasks, struct process *process)
{
    /* Newer tasks are at the head of the list. */
    for (struct task *task = process->tasks, *next; task && task->drained != tasks->batch; task = next) {
        next = task->process_next;
        task->drained = tasks->batch;
        tasks_drain(tasks, task);
    }
}

/* ---- Processes ---- */

void tasks_finish_process(struct tasks *tasks, struct process *process)
{
    struct task *leader = process->leader;
    tasks_let_go(tasks, process);
    if (process->live) /* a thread came late: held again when it ends */
        return;
    if (process->root && (leader || !tasks->closing)) {
        if (leader) {
            tasks_tell_leader(process);
            tasks_flush(tasks, leader);
        }
        return;
    }
    account_process(tasks, process);
    if (leader) {
        tasks_tell_leader(process);
        process->leader = NULL;
        if (task_is_armed(leader))
            tasks_discard(tasks, leader);
        else
            tasks_put_done(tasks, leader);
    }
    tasks_remove_process(tasks, process);
}
