/* SPDX-License-Identifier: MIT */
#include "collector/tasks/sweep.h"

#include "collector/sources/deferred_munmap.h"
#include "collector/system/numbers.h"
#include "collector/tasks/account.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/programs.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/timer_fallback.h"
#include "collector/tasks/untracked.h"

enum {
    NUMBER_NS = 2000 * 1000 * 1000,    /* an ended process is held at most so long, while it has its number */
    NUMBER_LOOK_NS = 20 * 1000 * 1000, /* between looks whether it still has one */
    NUMBERS = 1024,                    /* only while no more than these are held: each has descriptors */
    FLUSH_NS = 1000 * 1000 * 1000,     /* growing files */
    PROGRAM_NS = 1000 * 1000 * 1000,   /* an ended process is held so long while its last program is unknown */
    LOOK_NS = 100 * 1000 * 1000,       /* a task that has sent no request by then will not */
};

static const uint64_t LIVES_ON = UINT64_MAX; /* the deadline of a held process that the last sweep found alive */

static bool is_gone(const struct task *task)
{
    return task->ring_fd < 0 && numbers_task_is_gone(task->pid, task->key);
}

/* Its ring says so, and its counts are final: a parent that is written now must know it. */
static bool has_exited(const struct task *task)
{
    return task->coverage == TASK_BY_EVENTS && task->end_ns;
}

static void sweep_task(struct tasks *tasks, struct task *task)
{
    tasks_drain_some(tasks, task);
    if (!task_is_live(task))
        return;
    if (task_is_by_timer(task))
        tasks_look_at_timer(tasks, task);
    if (has_exited(task) || (task_is_inherited(task) ? tasks_inherited_gone(tasks, task) : is_gone(task))) {
        tasks_task_ended(tasks, task, true);
        return;
    }
    struct process *process = task->process;
    if (process->inherit_owed && task == (process->main ? process->main : process->leader))
        tasks_retry_inherit(tasks, process);
    if (task->generation_count && !task->generations[task->generation_count - 1].named &&
        tasks->now_ns - task->generations[task->generation_count - 1].start_ns > LOOK_NS)
        tasks_look_for_programs(tasks, task);
    if (task_is_live(task))
        tasks_cover_unreported(tasks, task);
    if (task_is_live(task) && task->result && tasks->now_ns - task->flushed_ns >= FLUSH_NS &&
        (task->file != FILE_ON_DISK || result_pending(task->result)))
        tasks_flush(tasks, task);
}

/*
 * A worker of another CPU may still be handling the last notification of an ended process, with its last program. On a
 * machine with more work than CPUs that takes a while.
 */
static bool awaits_program(const struct tasks *tasks, const struct process *process)
{
    const struct task *leader = process->leader;
    if (!leader || task_is_inherited(leader) || !leader->generation_count || process->left || tasks->closing)
        return false;
    return !leader->generations[leader->generation_count - 1].named && tasks->now_ns - process->ended_ns < PROGRAM_NS;
}

/*
 * A request for events of its next program came, and waits for older records. If it were accounted for before that, its
 * CPU time would be in two files: the request names as start-up time all that its first thread has used. Or it has an
 * ended child from which a request may go on: see hold_parent().
 */
static bool is_awaited(const struct tasks *tasks, const struct process *process)
{
    return process->awaited == tasks->batch;
}

/*
 * Its events are gone but it lives: its parent's wait will report what it uses. If nobody said that it runs a setuid
 * program, it may do so all the same, or have threads that nobody knows.
 */
static bool lives_on(const struct tasks *tasks, const struct process *process)
{
    const bool room = process->revoked || tasks->held_count <= NUMBERS;
    return room && !process->left && process_is_alive(process);
}

/*
 * With more work than CPUs its end, its parent's wait, and the report of that all come late. So it is held from its
 * parent's wait on, not from its last record on. The first sweep that finds that its parent has waited holds it for the
 * report of that, which is on its way, also where no sweep looked for a long time.
 */
static void await_parent(const struct tasks *tasks, struct process *process)
{
    const bool seen = process->deadline_ns + NUMBER_LOOK_NS > tasks->now_ns + TASKS_HOLD_NS;
    const uint64_t report_ns = tasks->now_ns + TASKS_WAITED_HOLD_NS;
    if (process->deadline_ns == LIVES_ON || seen || process->waited || process->left || process->number_gone ||
        tasks->held_count > NUMBERS)
        return;
    if (process_has_number(process)) {
        if (tasks->now_ns - process->ended_ns < NUMBER_NS)
            process->deadline_ns = tasks->now_ns + TASKS_HOLD_NS;
        return;
    }
    process->number_gone = true;
    if (process->deadline_ns < report_ns)
        process->deadline_ns = report_ns;
}

/*
 * An ended child that is still held would be accounted for with its parent, and a request that goes on from it may be
 * on its way: so its parent is held as long as it is, and the parent's parents are.
 */
static void hold_parent(const struct tasks *tasks, const struct process *process)
{
    struct process *parent = process->parent;
    if (!parent || !parent->held || process->deadline_ns <= tasks->now_ns || process_is_alive(process))
        return;
    for (; parent && parent->awaited != tasks->batch; parent = parent->parent)
        parent->awaited = tasks->batch;
}

/*
 * A process that lived on is held as long as others once it is dead: what it and its parent reported just before is on
 * its way, perhaps a request that goes on from it.
 */
static bool is_due(const struct tasks *tasks, struct process *process)
{
    const bool lived = process->deadline_ns == LIVES_ON;
    if (!lived && process->deadline_ns > tasks->now_ns)
        return false;
    if (is_awaited(tasks, process) || awaits_program(tasks, process))
        return false;
    const bool lives = lives_on(tasks, process);
    process->end_lost |= lives; /* it has threads that nobody knows, or its events were taken from it */
    if (lives)
        process->deadline_ns = LIVES_ON;
    else if (lived)
        process->deadline_ns = tasks->now_ns + TASKS_HOLD_NS;
    return process->deadline_ns <= tasks->now_ns;
}

void tasks_sweep(struct tasks *tasks)
{
    for (struct task *task = tasks->live, *next; task; task = next) {
        next = task->live_next;
        sweep_task(tasks, task);
    }
    tasks->batch++;
    tasks_mark_awaited(tasks);
    for (struct process *process = tasks->held; process; process = process->held_next) {
        await_parent(tasks, process);
        hold_parent(tasks, process);
    }
    for (struct process *process = tasks->held, *next; process; process = next) {
        next = process->held_next;
        if (is_due(tasks, process))
            tasks_finish_process(tasks, process);
    }
    tasks_attach_untracked(tasks);
    missed_look(&tasks->missed, tasks->now_ns - LOOK_NS);
    deferred_munmap_run(tasks->session);
}

void tasks_close(struct tasks *tasks)
{
    tasks->closing = true;
    tasks_notify(tasks, NULL);
    while (tasks->live) {
        struct task *task = tasks->live;
        bool dead = process_is_dead(task->process);
        if (!dead && !task_is_armed(task)) {
            tasks->alive++;
            task->process->orphan = true;
        }
        tasks_task_ended(tasks, task, dead);
        tasks_bury(tasks);
    }
    while (tasks->held)
        tasks_finish_process(tasks, tasks->held);
    if (tasks->root_process)
        account_process(tasks, tasks->root_process);
    missed_settle(&tasks->missed, UINT64_MAX);
    tasks_write(tasks, SIZE_MAX);
    tasks_bury(tasks);
}

void tasks_finish_root(struct tasks *tasks, const struct result_coverage *coverage)
{
    struct process *process = tasks->root_process;
    if (process && process->leader) {
        struct task *leader = process->leader;
        tasks_tell_leader(process);
        if (!task_is_armed(leader))
            tasks_write_task(tasks, leader, coverage);
        process->leader = NULL;
        tasks_discard(tasks, leader);
    }
    tasks_bury(tasks);
}
