/* SPDX-License-Identifier: MIT */
/* What wait() told of processes that have ended. */
#include "collector/sources/notifications.h"
#include "collector/tasks/tasks.h"

/* How long an ended process is held for further notifications once its parent has waited for it. */
enum { WAITED_HOLD_NS = 20 * 1000 * 1000 };

/* The parent's wait for a process that is not, or not any more, in the table. */
static void waited_for_unknown(struct tasks *tasks, struct process *parent, const struct notification *notification)
{
    if (parent)
        tasks_drain_process(tasks, parent);
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

/*
 * Nobody could ask the kernel who waited: through the channel of another user children are told only of his own
 * processes, by who is their parent; and through the own channel his processes are told only by their parent, if that
 * is not another user's, too. Of whatever child: it would be in the CPU time of his process.
 */
static bool may_tell(const struct tasks *tasks, const struct notification *notification)
{
    const struct process *process = tasks_find_process(tasks, notification->pid),
        *waiting = waiter_of(tasks, notification);
    if (!notification->limited && waiting && waiting->limited)
        return false;
    if (!notification->limited && !(process && process->limited))
        return true;
    const struct task *waiter = tasks_find(tasks, notification->tid);
    if (!process || !waiter || waiter->process->pid != process->ppid)
        return false;
    return !notification->limited || (process->limited && process->user == notification->user);
}

/*
 * wait() tells a tracer of tracees that are not its children, before it tells their parents, and of each of their
 * threads. The kernel adds nothing of these to the tracer's rusage.
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
    /* An orphan is waited for by whom it fell to. */
    const struct task *leader = parent->leader;
    return parent->live && !(leader && leader->end_ns && leader->end_ns <= notification->time_ns);
}

static void traced_ended(struct tasks *tasks, const struct notification *notification)
{
    struct process *process = tasks_find_process(tasks, notification->pid);
    if (!process || process->waited || notification->limited || process->limited) /* of whom his parent alone tells */
        return;
    /* Not `waited`: its parent is still to come, or waits within libc and says nothing. */
    process->status = notification->status;
    process->status_known = true;
    process->rusage_ns = notification->utime_ns + notification->stime_ns;
    process->rusage_switches = notification->switches;
}

/* pid is the child, tid the thread that waited for it. */
static void note_wait(struct tasks *tasks, const struct notification *notification)
{
    struct process *process = tasks_find_process(tasks, notification->pid);
    struct process *parent = waiter_of(tasks, notification);
    uint64_t used = notification->utime_ns + notification->stime_ns;
    /* Whom timers sample announces no child, and this is all that is heard of one that does not ask. */
    bool quiet = tasks->config->source == PINJECT_SOURCE_TIMER ||
        (parent && parent->leader && parent->leader->by_timer);
    if (quiet && !missed_take_requested(&tasks->missed, notification->pid) && !process)
        missed_add(&tasks->missed,
                   "child without events (not followed, setuid, or exited at once): known only from its parent's wait",
                   "", 1, used);
    if (!parent && process)
        parent = tasks_find_process(tasks, process->ppid);
    if (parent && parent != process) {
        parent->children_ns += used;
        parent->children_switches += notification->switches;
    }
    if (!process || process->start_ns > notification->time_ns || process->waited) {
        waited_for_unknown(tasks, parent, notification);
        return;
    }
    process_set_waited(process, notification->status, used);
    process->rusage_switches = notification->switches;
    if (process->held && process->deadline_ns > tasks->now_ns + WAITED_HOLD_NS)
        process->deadline_ns = tasks->now_ns + WAITED_HOLD_NS;
}

bool tasks_knows_thread(const struct tasks *tasks, pid_t tid)
{
    return tasks->ended_threads[(uint32_t)tid % ENDED_THREADS] == tid || tasks_find(tasks, tid);
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
