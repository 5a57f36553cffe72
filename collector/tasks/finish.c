/* SPDX-License-Identifier: MIT */
#include "collector/tasks/finish.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/sources/attach.h"
#include "collector/sources/deferred_munmap.h"
#include "collector/system/monotonic.h"
#include "collector/tasks/account.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/inherited_counts.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/programs.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/timer_fallback.h"
#include "collector/tasks/untracked.h"

enum {
    HOLD_NS = 200 * 1000 * 1000,        /* an ended process is held so long for its parent's wait */
    NUMBER_NS = 2000 * 1000 * 1000,     /* at most so long, while it has its number */
    NUMBER_LOOK_NS = 20 * 1000 * 1000,  /* between looks whether it still has one */
    NUMBERS = 1024,                     /* only while no more than these are held: each has descriptors */
    WAITED_NS = 20 * 1000 * 1000,       /* after the wait came it is held so long for other late notifications */
    FLUSH_NS = 1000 * 1000 * 1000,      /* growing files */
    PROGRAM_NS = 1000 * 1000 * 1000,    /* an ended process is held so long while its last program is unknown */
    LOOK_NS = 100 * 1000 * 1000,        /* a task that has sent no request by then will not */
};

/*
 * A worker of another CPU may still be handling the last notification of an ended process, with its last program. On a
 * machine with more work than CPUs that takes a while.
 */
static bool awaits_program(const struct tasks *tasks, const struct process *process)
{
    const struct task *leader = process->leader;
    if (!leader || leader->inherited || !leader->generation_count || process->left || tasks->closing)
        return false;
    return !leader->generations[leader->generation_count - 1].named && tasks->now_ns - process->ended_ns < PROGRAM_NS;
}

/* What is known of the process goes to its first thread's file. */
static void tell_leader(const struct process *process)
{
    struct task *leader = process->leader;
    leader->status_known = process->status_known;
    leader->status = process->status;
    leader->exit_known = process->exit_known;
    leader->exit_ns = process->exit_ns;
}

static void hold_process(struct tasks *tasks, struct process *process)
{
    if (process->held)
        return;
    tasks_hold_process(tasks, process);
    process->ended_ns = tasks->now_ns;
    process->deadline_ns = tasks->now_ns + (process->left ? 0 : process->waited ? WAITED_NS : HOLD_NS);
    if (!process->waited && !process->root)
        process->orphan |= account_is_orphan(tasks, process);
}

/*
 * An unprivileged user's events end in the exec of a setuid or unreadable program, before it is even mapped. The ring
 * says EXIT, but the task goes on.
 */
static void set_revoked(struct task *task)
{
    struct process *process = task->process;
    struct exec_generation *generation = task->generation_count ? &task->generations[task->generation_count - 1] : NULL;
    task->revoked = process->revoked = true;
    if (generation && !generation->program)
        generation->program = program_get(process->announced);
}

void tasks_task_ended(struct tasks *tasks, struct task *task, bool ended)
{
    struct process *process = task->process;
    tasks_drain(tasks, task);
    if (!task->live)
        return;
    if (task->inherited && tasks_inherited_estimate(tasks, task))
        tasks->estimated++;
    if (task->by_timer)
        tasks_end_timer(tasks, task);
    if (!task->values) {
        task->values = calloc(CONFIG_EVENTS, sizeof(*task->values));
        if (task->values && task->events)
            attach_read(task->events, task->values);
    }
    if (ended && task->events)
        stack_sizes_add_task(task->events->sizes);
    task->ended = ended;
    if (ended && process->secure && task == process->main && !process->program)
        set_revoked(task);
    task->covers = process->inherits;
    if (!task->end_ns)
        task->end_ns = tasks->now_ns;
    if (task->key != process->pid)
        tasks->ended_threads[(uint32_t)task->key % ENDED_THREADS] = task->key;
    tasks_unlink(tasks, task);
    process->ended_tasks++;
    process->clock_ns += task->startup_ns + (task->values ? tasks_clock(tasks, task->values) : 0);
    if (process->leader != task)
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
    if (drain(tasks, task, false) || task->unread)
        return;
    task->unread = true;
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
        if (next && !next->unread) /* it ended */
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
            tell_leader(process);
            tasks_flush(tasks, leader);
        }
        return;
    }
    account_process(tasks, process);
    if (leader) {
        tell_leader(process);
        process->leader = NULL;
        if (leader->armed)
            tasks_discard(tasks, leader);
        else
            tasks_put_done(tasks, leader);
    }
    tasks_remove_process(tasks, process);
}

static bool is_gone(const struct task *task)
{
    return task->ring_fd < 0 && syscall(SYS_tgkill, task->pid, task->key, 0) != 0 && errno == ESRCH;
}

static void sweep_task(struct tasks *tasks, struct task *task)
{
    tasks_drain_some(tasks, task);
    if (!task->live)
        return;
    if (task->by_timer)
        tasks_look_at_timer(tasks, task);
    if (task->inherited ? tasks_inherited_gone(tasks, task) : is_gone(task)) {
        tasks_task_ended(tasks, task, true);
        return;
    }
    struct process *process = task->process;
    if (process->inherit_owed && task == (process->main ? process->main : process->leader))
        tasks_retry_inherit(tasks, process);
    if (task->generation_count && !task->generations[task->generation_count - 1].named &&
        tasks->now_ns - task->generations[task->generation_count - 1].start_ns > LOOK_NS)
        tasks_look_for_programs(tasks, task);
    if (task->live)
        tasks_cover_unreported(tasks, task);
    if (task->live && task->result && tasks->now_ns - task->flushed_ns >= FLUSH_NS &&
        (!task->on_disk || result_pending(task->result)))
        tasks_flush(tasks, task);
}

/* Its events are gone but it lives: its parent's wait will report what it uses. */
static bool lives_on(const struct process *process)
{
    return process->revoked && process->pidfd >= 0 && !process_is_dead(process);
}

/*
 * With more work than CPUs its end, its parent's wait, and the report of that all come late. So it is held from its
 * parent's wait on, not from its last record on.
 */
static void await_parent(const struct tasks *tasks, struct process *process)
{
    bool seen = process->deadline_ns + NUMBER_LOOK_NS > tasks->now_ns + HOLD_NS;
    if (!seen && !process->waited && !process->left && tasks->held_count <= NUMBERS &&
        tasks->now_ns - process->ended_ns < NUMBER_NS && process_has_number(process))
        process->deadline_ns = tasks->now_ns + HOLD_NS;
}

void tasks_sweep(struct tasks *tasks)
{
    for (struct task *task = tasks->live, *next; task; task = next) {
        next = task->live_next;
        sweep_task(tasks, task);
    }
    for (struct process *process = tasks->held, *next; process; process = next) {
        next = process->held_next;
        await_parent(tasks, process);
        if (process->deadline_ns <= tasks->now_ns && !awaits_program(tasks, process) && !lives_on(process))
            tasks_finish_process(tasks, process);
    }
    tasks->batch++;
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
        if (!dead && !task->armed) {
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
        tell_leader(process);
        if (!leader->armed)
            tasks_write_task(tasks, leader, coverage);
        process->leader = NULL;
        tasks_discard(tasks, leader);
    }
    tasks_bury(tasks);
}
