/* SPDX-License-Identifier: MIT */
#include "collector/account.h"

#include <errno.h>

#include "collector/tasks.h"

static bool ended_before(const struct process *process, uint64_t time_ns)
{
    return process && !process->live && !process->left && process->leader && process->leader->end_ns < time_ns;
}

/* Of who is in a net this is told a moment late, so that times decide. */
bool account_is_orphan(const struct tasks *tasks, const struct process *process)
{
    const struct process *parent = tasks_find_process(tasks, process->ppid);
    if (process->leader && process->leader->netted)
        return ended_before(parent, process->leader->end_ns) ||
               ended_before(tasks->root_process, process->leader->end_ns);
    return tasks->root_ended || (parent && !parent->live && !parent->left);
}

/* Its ended children first: what is theirs cannot be its own. */
static void account_children(struct tasks *tasks, const struct process *process)
{
    if (!process->children)
        return;
    for (struct process *child = tasks->held; child; child = child->held_next)
        if (child->ppid == process->pid && !child->live && !child->accounted)
            account_process(tasks, child);
}

/* Whose wait was not seen may be in nobody's rusage; a parent whose rusage has room for them shows that they are. */
static void settle_unwaited(struct tasks *tasks, struct process *process, struct process *parent, uint64_t used)
{
    if (process_waited_unseen(process)) {
        tasks->unwaited_ns -= process->unwaited_ns;
        process->unwaited_ns = 0;
    }
    bool armed = process->leader && process->leader->armed;
    if (process->waited || process->orphan || armed)
        return;
    uint64_t own = used + process->children_ns;
    tasks->unwaited_ns += own;
    if (parent)
        parent->unwaited_ns += own + process->unwaited_ns;
}

/* Recursion: one level for each generation that ended at once. */
void account_process(struct tasks *tasks, struct process *process)
{
    if (process->accounted)
        return;
    process->accounted = true;
    account_children(tasks, process);
    if (process->net_owed) /* it ended before the next sweep */
        tasks_tell_no_net(tasks, process, -EACCES);
    if (process->revoked && process->leader) /* and it did not ask anew */
        unseen_add(&tasks->unseen, "setuid or unreadable program: the kernel ended its events (root may see it)",
                   process->leader->comm, 1, 0);
    process_ask_status(process);
    process_ask_clock(process);
    process->strangers = unseen_has_strangers(&tasks->unseen, process->pid);
    process->exit_known = process_exit_cost(process, &process->exit_ns);
    uint64_t used = process->clock_ns + (process->exit_known ? process->exit_ns : 0);
    struct process *parent = process->waited || process->orphan ? NULL : tasks_find_process(tasks, process->ppid);
    if (parent)
        parent->guessed_ns += used + process->children_ns + process->guessed_ns;
    settle_unwaited(tasks, process, parent, used);
    if (process->leader && process->leader->armed) { /* a child of vfork that only exited, or whose exec failed */
        uint64_t own = process->rusage_ns > used ? process->rusage_ns : used;
        if (own)
            unseen_add(&tasks->unseen, "child that ended before it ran a program", process->leader->comm, 1, own);
        return;
    }
    tasks->attributed_ns += used;
    tasks->exit_ns += process->exit_known ? process->exit_ns : 0;
    /* Whom it waited for is in its rusage, and with that in nobody's. */
    if (process->orphan && !process->waited)
        tasks->orphans_ns += used + process->children_ns;
}
