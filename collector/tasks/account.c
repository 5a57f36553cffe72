/* SPDX-License-Identifier: MIT */
#include "collector/tasks/account.h"

#include <errno.h>

#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

/*
 * What is not followed any more, or lost its events in an exec, lives on; and so may a process with threads of which
 * nothing is known.
 */
static bool has_ended(const struct process *process)
{
    if (!process || process->live || process->left || process->revoked || process->continued)
        return false;
    return process->pidfd < 0 || process_is_dead(process);
}

/* False where that is not known: threads that sent no request may have ended later, and records of ends get lost. */
static bool ended_before(const struct tasks *tasks, const struct process *process, uint64_t time_ns)
{
    return has_ended(process) && process->end_ns && process->end_ns <= time_ns && !process->end_lost &&
           process->first == LEADER_ADMITTED && !process->thread_refused &&
           !missed_has_thread(&tasks->missed, process->pid);
}

/* Ends are seen in any order, those of an inherited set a moment late: their times decide. */
bool account_is_orphan(const struct tasks *tasks, const struct process *process)
{
    const struct process *parent = tasks_find_process(tasks, process->ppid);
    return ended_before(tasks, parent, process->alive_ns) ||
           ended_before(tasks, tasks_find_process(tasks, tasks->root), process->alive_ns) ||
           (tasks->root_ended && !tasks->root_process);
}

/*
 * What another user's processes report of their children counts only as far as the kernel counted it: it adds to the
 * tree's CPU time.
 */
static uint64_t children_of(const struct process *process)
{
    return process->limited && process->counted_ns < process->children_ns ? process->counted_ns : process->children_ns;
}

/* A parent whose tasks have all ended for us may still live (a setuid program): asks the kernel. */
static bool has_dead_parent(const struct tasks *tasks, const struct process *process)
{
    const struct process *parent = process->waited ? NULL : tasks_find_process(tasks, process->ppid);
    return parent && !parent->live && process_is_dead(parent);
}

/*
 * Adds USED to what the kernel counted of the parent's children, without an exit that only the parent reports, after a
 * setuid exec.
 */
static void count_for_parent(struct tasks *tasks, const struct process *process, uint64_t used)
{
    struct process *parent = process->limited && process->waited ? tasks_find_process(tasks, process->ppid) : NULL;
    bool told = process->revoked || process->uncounted;
    if (parent)
        parent->counted_ns += (told ? process->clock_ns : used) + children_of(process);
}

/* A child of vfork, which only exited, or whose exec failed. */
static bool is_armed(const struct process *process)
{
    return process->leader && task_is_armed(process->leader);
}

/* A process whose wait was not seen may be in no rusage. If its parent's rusage has room for it, it is in that one. */
static void settle_unwaited(struct tasks *tasks, struct process *process, struct process *parent, uint64_t used)
{
    if (process_wait_was_missed(process)) {
        tasks->unwaited_ns -= process->unwaited_ns;
        process->unwaited_ns = 0;
    }
    if (process->waited || process->orphan || is_armed(process))
        return;
    uint64_t own = used + children_of(process);
    tasks->unwaited_ns += own;
    if (parent)
        parent->unwaited_ns += own + process->unwaited_ns;
}

/*
 * May it have used much more CPU time than is known? Below a program that reports no waits, the cost of exits is in one
 * figure with that of its ancestors anyway: a first thread whose record was lost is a small part of it.
 */
static bool hides_time(const struct process *process)
{
    return process->revoked || process->thread_refused || process->first == LEADER_MISSING;
}

/*
 * A zombie is not held for as long as it is one, and the report of a wait may be late: then the parent's children_ns
 * has what was a guess. Each guess is small enough to be kept for a while.
 */
static void guess_for_parent(struct tasks *tasks, const struct process *process, struct process *parent, uint64_t used)
{
    struct unwaited *unwaited = &tasks->unwaited[tasks->next_unwaited];
    tasks->next_unwaited = (tasks->next_unwaited + 1) % TASKS_UNWAITED;
    *unwaited = (struct unwaited){.pid = process->pid,
                                  .parent = parent->pid,
                                  .zombie = process->own_ns > 0,
                                  .time_ns = tasks->now_ns,
                                  .used_ns = is_armed(process) ? 0 : used + children_of(process),
                                  .guessed_ns = used + children_of(process) + process->guessed_ns};
    parent->guessed_ns += unwaited->guessed_ns;
    parent->untracked_children |= process->untracked_children || hides_time(process);
}

void account_was_waited_for(struct tasks *tasks, struct process *parent, pid_t pid, uint64_t time_ns)
{
    for (unsigned i = 0; !parent->accounted && i < TASKS_UNWAITED; i++) {
        struct unwaited *unwaited = &tasks->unwaited[i];
        const bool later = time_ns > unwaited->time_ns; /* else it was another one's with that number */
        if (unwaited->pid != pid || unwaited->parent != parent->pid || unwaited->zombie != later ||
            unwaited->time_ns < parent->start_ns)
            continue;
        parent->guessed_ns -= unwaited->guessed_ns;
        parent->unwaited_ns -= unwaited->used_ns;
        tasks->unwaited_ns -= unwaited->used_ns;
        unwaited->pid = 0;
    }
}

/* Root's events end too, if the program's user or group differs from that of the task that executes it. */
static const char *reason_revoked(const struct tasks *tasks)
{
    const struct pinject_segment *segment = tasks->session->segment;
    return segment && segment->user == 0
               ? "setuid, setgid or unreadable program: the kernel ended its events"
               : "setuid or unreadable program: the kernel ended its events (root can profile it)";
}

/*
 * The exits of children whose waits were not seen are guessed from the rusage. That of the first process, which is
 * accounted for last, has all of the tree but orphans: no more than what is left of it may be guessed.
 */
static void limit_exit(const struct tasks *tasks, struct process *process)
{
    const uint64_t all = process->rusage_ns + tasks->orphans_ns;
    const uint64_t known = tasks->attributed_ns + process->clock_ns, left = all > known ? all - known : 0;
    const uint64_t own = process->own_ns > process->clock_ns ? process->own_ns - process->clock_ns : 0;
    const uint64_t most = left > own ? left : own;
    const bool root = process->root || process->pid == tasks->root; /* the latter also if it goes on in a new entry */
    if (root && process->own_ns && process->rusage_ns && process->exit_ns > most)
        process->exit_ns = most;
}

/* All tasks of the tree are counted with the root: what their events lack of its rusage. */
static bool find_tree_exit(struct process *process)
{
    process->exit_ns = process->rusage_ns > process->clock_ns ? process->rusage_ns - process->clock_ns : 0;
    return process->waited;
}

static void account_one(struct tasks *tasks, struct process *process)
{
    if (process->inherit_owed) /* it ended before the next sweep */
        tasks_tell_no_inherit(tasks, process, -EACCES);
    if (process->revoked && process->leader) /* and it sent no new request */
        missed_add(&tasks->missed, reason_revoked(tasks), process->leader->comm, 1, 0);
    process_ask_status(process);
    /* In this order: if a zombie is found after its parent's death, that parent did not wait for it. */
    const bool parent_dead = has_dead_parent(tasks, process);
    process_ask_clock(process);
    process->orphan |= parent_dead && process->own_ns;
    process->untracked_children |= missed_has_untracked(&tasks->missed, process->pid);
    process->exit_known = tasks->config->whole_tree ? find_tree_exit(process)
                                                    : process_exit_cost(process, &process->exit_ns);
    if (process->exit_known)
        limit_exit(tasks, process);
    uint64_t used = process->clock_ns + (process->exit_known ? process->exit_ns : 0);
    struct process *parent = process->waited || process->orphan ? NULL : tasks_find_process(tasks, process->ppid);
    if (parent)
        guess_for_parent(tasks, process, parent, used);
    settle_unwaited(tasks, process, parent, used);
    count_for_parent(tasks, process, used);
    if (is_armed(process)) {
        uint64_t own = process->rusage_ns > used ? process->rusage_ns : used;
        if (own)
            missed_add(&tasks->missed, "child exited before it ran a program", process->leader->comm, 1, own);
        return;
    }
    tasks->attributed_ns += used;
    tasks->exit_ns += process->exit_known ? process->exit_ns : 0;
    /* Processes that it waited for are in its rusage, which is in nobody's. */
    if (process->orphan && !process->waited)
        tasks->orphans_ns += used + children_of(process);
}

static struct process *begin_account(struct process *process, struct process *parent)
{
    process->accounted = true;
    process->accounts_for = parent;
    process->to_account = process->ended;
    return process;
}

/*
 * Its ended children first, and theirs before them: what is theirs cannot be its own. No recursion: a target chooses
 * how long a chain of processes is.
 */
void account_process(struct tasks *tasks, struct process *process)
{
    struct process *at = process->accounted ? NULL : begin_account(process, NULL);
    while (at) {
        struct process *child = at->to_account;
        if (child) {
            at->to_account = child->ended_next;
            /* One that lives (a setuid program) may have events again: it is not in its parent's rusage. */
            if (!child->live && !child->accounted && !process_is_alive(child))
                at = begin_account(child, at);
            continue;
        }
        struct process *parent = at->accounts_for;
        account_one(tasks, at);
        at = parent;
    }
}
