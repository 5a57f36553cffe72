/* SPDX-License-Identifier: MIT */
#include "collector/tasks/reaped.h"

#include "collector/sources/notifications.h"
#include "collector/tasks/account.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

/* The parent's wait for a process that is not, or not any more, in the table. */
static void waited_for_unknown(struct tasks *tasks, struct process *parent, const struct notification *notification)
{
    if (parent) {
        tasks_drain_process(tasks, parent);
        account_was_waited_for(tasks, parent, notification->pid, notification->time_ns);
    }
    struct untracked_task *child = missed_find(&tasks->missed, notification->pid);
    if (child && child->time_ns <= notification->time_ns) {
        child->ended = true;
        child->cpu_ns = notification->utime_ns + notification->stime_ns;
    }
}

static struct process *waiter_of(const struct tasks *tasks, const struct notification *notification)
{
    const struct task *waiter = tasks_find(tasks, notification->tid);
    return waiter ? waiter->process : tasks_find_process(tasks, notification->tid);
}

/* A child that inherits its events sends no request: it is of its parent's user, unless an exec has changed that. */
static bool is_of_user(const struct process *process, const struct process *parent, uint32_t user)
{
    if (process->limited)
        return process->user == user;
    return process->leader && task_is_inherited(process->leader) && !process->secure && parent->limited &&
           parent->user == user;
}

/*
 * The kernel cannot be asked who waited. Through the channel of another user, only his own processes are reported, and
 * only by their parent. Through the own channel, his processes are reported only by their parent, and none of them is a
 * waiter, whatever the child is: its CPU time would be added to his process.
 */
static bool may_tell(const struct tasks *tasks, const struct notification *notification)
{
    const struct process *process = tasks_find_process(tasks, notification->pid),
                         *waiting = waiter_of(tasks, notification);
    if (!notification->limited && waiting && waiting->limited)
        return false;
    if (!notification->limited && !(process && process->limited))
        return true;
    if (!process || !waiting || waiting->pid != process->ppid)
        return false;
    return !notification->limited || is_of_user(process, waiting, notification->user);
}

static bool was_alive(const struct process *process, uint64_t time_ns)
{
    for (const struct task *task = process->tasks; task; task = task->process_next)
        if (!task->end_ns || task->end_ns > time_ns)
            return true;
    return process->alive_ns > time_ns; /* tasks of inherited events have gone as soon as their ends are read */
}

/*
 * wait() reports tracees to a tracer that is not their parent, before it reports them to their parents, and each of
 * their threads. The kernel adds nothing of these to the tracer's rusage.
 */
static bool is_tracers_wait(struct tasks *tasks, const struct notification *notification)
{
    const struct process *process = tasks_find_process(tasks, notification->pid),
                         *waiter = waiter_of(tasks, notification);
    if (!process)
        return tasks_knows_thread(tasks, notification->pid);
    struct process *parent = tasks_find_process(tasks, process->ppid);
    if (!waiter || !parent || parent == waiter || process->told_ppid == waiter->pid || waiter == process)
        return false;
    tasks_drain_process(tasks, parent);
    /*
     * An orphan is waited for by the process that adopted it; once. A tracer that has to wait for a CPU may write its
     * message when the parent, whose wait came later, has ended.
     */
    return process->waited || was_alive(parent, notification->time_ns);
}

static void traced_ended(struct tasks *tasks, const struct notification *notification)
{
    struct process *process = tasks_find_process(tasks, notification->pid);
    if (!process || process->waited || notification->limited || process->limited) /* only his parent reports it */
        return;
    /* Not `waited`: its parent's wait is still to come, or is within libc and not reported. */
    process->status = notification->status;
    process->status_known = true;
    process->rusage_ns = notification->utime_ns + notification->stime_ns;
    process->rusage_switches = notification->switches;
}

static void keep_early_wait(struct tasks *tasks, pid_t waiter, const struct notification *notification)
{
    tasks->early_waits[tasks->early_wait] = (struct early_wait){.pid = waiter,
                                                                .time_ns = notification->time_ns,
                                                                .used_ns = notification->utime_ns +
                                                                           notification->stime_ns,
                                                                .switches = notification->switches};
    tasks->early_wait = (tasks->early_wait + 1) % TASKS_EARLY_WAITS;
}

void tasks_take_early_waits(struct tasks *tasks, struct process *process)
{
    for (unsigned i = 0; i < TASKS_EARLY_WAITS; i++) {
        struct early_wait *wait = &tasks->early_waits[i];
        if (wait->pid != process->pid || wait->time_ns < process->start_ns)
            continue;
        process->children_ns += wait->used_ns;
        process->children_switches += wait->switches;
        wait->pid = 0;
    }
}

/* The waiter is a thread of which nothing is known: the parent as the child, or its announcement, named it. */
static struct process *find_announced_parent(const struct tasks *tasks, const struct process *process,
                                             const struct notification *notification)
{
    const struct untracked_task *child = process ? NULL : missed_find(&tasks->missed, notification->pid);
    if (process)
        return tasks_find_process(tasks, process->ppid);
    return child && child->time_ns <= notification->time_ns ? tasks_find_process(tasks, child->parent) : NULL;
}

/* pid is the child, tid the thread that waited for it. */
static void note_wait(struct tasks *tasks, const struct notification *notification)
{
    struct process *process = tasks_find_process(tasks, notification->pid);
    struct process *parent = waiter_of(tasks, notification);
    uint64_t used = notification->utime_ns + notification->stime_ns;
    /* A task that timers sample announces no child. If the child sends no request, this is all that is known of it. */
    bool quiet = tasks->config->source == PINJECT_SOURCE_TIMER ||
                 (parent && parent->leader && task_is_by_timer(parent->leader));
    if (quiet && !missed_take_requested(&tasks->missed, notification->pid) && !process)
        missed_add(
            &tasks->missed,
            "child without events (not followed, setuid, or exited at once): its CPU time is known only from its "
            "parent's wait",
            "", 1, used);
    if (!parent)
        parent = find_announced_parent(tasks, process, notification);
    if (parent && parent != process) {
        parent->children_ns += used;
        parent->children_switches += notification->switches;
    } else if (!parent) {
        keep_early_wait(tasks, process && process->ppid ? process->ppid : notification->tid, notification);
    }
    if (!process || process->start_ns > notification->time_ns || process->waited) {
        waited_for_unknown(tasks, parent, notification);
        return;
    }
    process_set_waited(process, notification->status, used);
    process->rusage_switches = notification->switches;
    if (process->held) /* its deadline may be over, where nobody looked for a long time */
        process->deadline_ns = tasks->now_ns + TASKS_WAITED_HOLD_NS;
}

void tasks_reaped(struct tasks *tasks, const struct notification *notification)
{
    if (is_tracers_wait(tasks, notification))
        traced_ended(tasks, notification);
    else if (may_tell(tasks, notification))
        note_wait(tasks, notification);
    else
        __atomic_fetch_add(&tasks->session->denied, 1, __ATOMIC_RELAXED);
}
