/* SPDX-License-Identifier: MIT */
#include "collector/tasks/begin_process.h"

#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/system/numbers.h"
#include "collector/system/pidfd.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/mappings.h"
#include "collector/tasks/reaped.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

enum { EXEC_NS = 10 * 1000 * 1000 }; /* an exec takes no longer after its record */

uint64_t tasks_renamed_ns(const struct task *task)
{
    return task->tid != task->pid && task->generation_count > 1 ? task->generations[1].start_ns : 0;
}

struct task *tasks_find_before_exec(const struct process *process, pid_t tid, uint64_t time_ns)
{
    struct task *found = tid == process->pid ? process->leader : NULL;
    uint64_t since_ns = 0;
    for (struct task *task = process->tasks; task; task = task->process_next) {
        const uint64_t renamed = tasks_renamed_ns(task);
        if (task->tid == tid && task->start_ns <= time_ns && time_ns < renamed)
            return task;
        if (tid == process->pid && renamed > since_ns && renamed <= time_ns) {
            since_ns = renamed;
            found = task;
        }
    }
    return found;
}

uint64_t tasks_opened_ns(const struct notification *notification)
{
    return notification->answered_ns ? notification->answered_ns : notification->time_ns;
}

bool tasks_is_younger(const struct task *task, const struct notification *notification)
{
    const uint64_t renamed = tasks_renamed_ns(task), since_ns = renamed ? renamed : task->opened_ns;
    return since_ns > tasks_opened_ns(notification);
}

static void set_root(struct tasks *tasks, struct process *process, const struct notification *notification)
{
    bool first = !tasks->root && tasks->session->settings->bare && notification->kind == PINJECT_PROCESS;
    if (first) {
        tasks->root = process->pid;
        tasks->tree_startup_ns = notification->startup_ns;
    }
    if (process->pid == tasks->root && !tasks->root_process && process->pid == notification->tid) {
        process->root = true;
        tasks->root_process = process;
    }
}

/* A user other than the session's may only name as parent a process of his own, or the one that the kernel reports. */
static bool may_say(const struct notification *notification, const struct process *parent)
{
    return !notification->limited || parent->pid == notification->ppid ||
           (parent->limited && parent->user == notification->user);
}

struct process *tasks_find_parent(const struct tasks *tasks, const struct notification *notification)
{
    const struct task *creator = notification->parent_tid ? tasks_find(tasks, notification->parent_tid) : NULL;
    struct process *parent = creator ? creator->process : NULL;
    if (!parent && notification->parent_tid)
        parent = tasks_find_process(tasks, notification->parent_tid);
    return parent && may_say(notification, parent) ? parent : tasks_find_process(tasks, notification->ppid);
}

struct program *tasks_find_program(const struct process *process, const struct notification *notification)
{
    const uint64_t time_ns = notification->time_ns;
    const struct task *task = process->main ? process->main : process->leader;
    struct program *program = NULL;
    if (time_ns >= process->exec_ns || notification->attached_late)
        return process->program;
    for (unsigned i = 0; task && i < task->generation_count && task->generations[i].start_ns <= time_ns; i++)
        program = task->generations[i].program;
    return program;
}

bool tasks_is_before_exec(const struct process *process, const struct notification *notification)
{
    return notification->time_ns < process->exec_ns && !notification->attached_late;
}

/* A fork runs on a copy of its parent at that moment. */
static int copy_parent(struct tasks *tasks, struct process *process, const struct notification *notification)
{
    struct process *parent = tasks_find_parent(tasks, notification);
    if (!parent)
        return 0;
    tasks_drain_process(tasks, parent);
    const struct space *from = process_space_at(parent, notification->time_ns);
    struct space *space = &process->space;
    if (tasks_is_before_exec(process, notification)) {
        space = process_space_at(process, notification->time_ns);
    } else {
        program_put(process->program);
        process->program = program_get(tasks_find_program(parent, notification));
    }
    if (!from || !space)
        return 0;
    space_release(space); /* of a process that a thread began */
    return space_fork(from, notification->time_ns, space);
}

/* The program of NOTIFICATION is that of PROCESS, unless a thread has called exec since. */
static int set_program(struct tasks *tasks, struct process *process, const struct notification *notification)
{
    const char *maps = notification->maps;
    if (tasks_is_before_exec(process, notification)) {
        struct space *space = process_space_at(process, notification->time_ns);
        return maps && space ? space_add_maps(space, maps, notification->time_ns) : 0;
    }
    program_put(process->program);
    process->program = program_new(notification->exec, notification->cmdline, notification->cmdline_size);
    const int error = maps ? space_add_maps(&process->space, maps, notification->time_ns) : 0;
    tasks_expect_files(tasks, process);
    return error;
}

/*
 * The kernel ends events in the exec of a setuid program, just after the record of the exec: no record tells of that
 * program. If nobody announced it, that is all that is known of it.
 */
static bool ended_in_exec(const struct process *process)
{
    return process->exec_ns && !process->program && process->end_ns >= process->exec_ns &&
           process->end_ns - process->exec_ns < EXEC_NS;
}

/* No pidfd tells whether the number is still that of OLD: no number is reused that soon after the exec. */
static bool may_go_on(const struct process *old, const struct notification *notification)
{
    const struct task *leader = old->leader;
    if (leader && (task_is_live(leader) || leader->end_ns > notification->time_ns))
        return false;
    return old->revoked || (!notification->attached_late && (old->secure || ended_in_exec(old)));
}

/*
 * Did it lose its events in an exec (of an unreadable program, or by a thread that had none), and request new ones, or
 * get them from outside? It may have ended since.
 */
static bool goes_on(const struct process *old, const struct notification *notification)
{
    if (notification->kind != PINJECT_PROCESS || old->accounted)
        return false;
    /* All that is known of it is a thread that called exec, or an inherited set reported it after it was dead. */
    if (old->pidfd < 0)
        return may_go_on(old, notification);
    /*
     * Where the first thread has ended, and there is one again, an exec has ended the others. If only another thread is
     * known, that has got the number of the process by an exec before.
     */
    const bool had_main = old->revoked || old->main_clock_ns;
    if (notification->attached_late)
        return (old->leader ? !task_is_live(old->leader) : had_main && !old->live) &&
               pidfd_are_same(old->pidfd, notification->pidfd);
    return !process_is_dead(old) || pidfd_are_same(old->pidfd, notification->pidfd);
}

/*
 * Takes over its earlier totals. The clock of the first thread, which the notification names as start-up, includes what
 * this thread has used before, also under another number.
 */
static void continue_process(struct process *process, const struct process *before, struct notification *notification)
{
    process->clock_ns = before->clock_ns;
    process->main_clock_ns = before->main_clock_ns;
    process->children_ns = before->children_ns;
    process->counted_ns = before->counted_ns;
    process->children_switches = before->children_switches;
    process->guessed_ns = before->guessed_ns;
    process->unwaited_ns = before->unwaited_ns;
    process->ended_tasks = before->ended_tasks;
    process->thread_refused = before->thread_refused;
    process->untracked_children = before->untracked_children;
    uint64_t *startup = &notification->startup_ns;
    *startup = *startup > before->main_clock_ns ? *startup - before->main_clock_ns : 0;
}

/*
 * A process that sends no request gets the share of its parent, which the kernel reports. A parent that only a request
 * names does not count.
 */
static struct share *find_share(struct tasks *tasks, const struct notification *notification,
                                const struct process *parent)
{
    if (notification->limited)
        return shares_of(&tasks->shares, notification->user);
    return parent && (notification->inherited || notification->attached_late) ? parent->share : &tasks->shares.own;
}

/* PROCESS was made for a thread whose notification came long before that of its first thread. */
static bool is_begun_by_thread(const struct process *process, const struct notification *notification)
{
    return process && process->first != LEADER_ADMITTED && !process->leader && !process->accounted &&
           (process->pidfd < 0 || pidfd_are_same(process->pidfd, notification->pidfd)) &&
           notification->time_ns <= process->start_ns;
}

/*
 * An exec before TIME_NS has ended the threads of PROCESS. Those that began later are of the next program, and live, as
 * does one that has called exec since. TIME_NS 0: it is not known when that was, and only the first thread has ended.
 */
static void end_before(struct tasks *tasks, struct process *process, uint64_t time_ns)
{
    for (struct task *task = process->tasks, *next; task; task = next) {
        const uint64_t renamed = tasks_renamed_ns(task);
        const uint64_t began_ns = task->attached_late_ns ? task->attached_late_ns : task->start_ns;
        next = task->process_next;
        if ((renamed ? renamed : began_ns) <= time_ns || task == process->leader)
            tasks_task_ended(tasks, task, true);
    }
}

/*
 * OLD lost its events in an exec, and PROCESS is the rest of it, from NOTIFICATION on. If a thread has called exec since,
 * the program of OLD runs on.
 */
static void go_on(struct process *process, struct process *old, const struct notification *notification)
{
    process->renamed_ns = old->renamed_ns;
    process->exec_ns = old->exec_ns;
    process_take_former(process, old);
    space_move(&old->space, &process->space);
    if (!tasks_is_before_exec(old, notification)) {
        process_end_space(process, notification->time_ns);
        process->space.forgotten = 0; /* counted with OLD */
        if (process->exec_ns < notification->time_ns)
            process->exec_ns = notification->time_ns;
        return;
    }
    process->program = old->program;
    process->announced = old->announced;
    process->announced_ns = old->announced_ns;
    old->program = old->announced = NULL;
    old->space.forgotten = 0; /* counted with PROCESS */
}

struct process *tasks_begin_process(struct tasks *tasks, struct notification *notification, const struct task *younger)
{
    struct process *old = tasks_find_process(tasks, notification->pid);
    const struct process *parent = tasks_find_parent(tasks, notification);
    struct share *share = find_share(tasks, notification, parent);
    const pid_t told_ppid = notification->ppid;
    if (parent && parent->pid != notification->pid)
        notification->ppid = parent->pid;
    struct process before = {.clock_ns = 0};
    const bool first = is_begun_by_thread(old, notification) && !notification->attached_late;
    /* The first task of OLD is younger: then this is another process. */
    const bool continues = old && !first && !(younger && younger == old->leader) && goes_on(old, notification);
    if (continues) { /* counted once in the totals, with the new one */
        end_before(tasks, old, notification->attached_late ? 0 : notification->time_ns);
        before = *old;
        old->accounted = old->continued = true;
        if (old->leader && old->leader->state.cause == TASK_REVOKED)
            tasks_step(tasks, old->leader, TASK_EVENT_CONTINUE);
    }
    const bool begun = is_begun_by_thread(old, notification);
    if (!continues && old && old->leader && !task_is_live(old->leader))
        tasks_finish_process(tasks, old); /* its pid is in use again */
    struct process *process = begun ? old
                                    : tasks_add_process(tasks, notification->pid, notification->ppid,
                                                        notification->time_ns);
    int error = 0;
    if (!process)
        return NULL;
    process->divided |= continues;
    if (continues) {
        while (old->tasks)
            tasks_move(tasks, old->tasks, process);
        tasks_move_children(old, process);
        go_on(process, old, notification);
        process->main = before.main;
        tasks_finish_process(tasks, old);
    }
    if (begun) {
        process->first = LEADER_ADMITTED;
        process->ppid = notification->ppid;
        process->start_ns = notification->time_ns;
    } else {
        continue_process(process, &before, notification);
    }
    tasks_take_early_waits(tasks, process);
    process->told_ppid = told_ppid;
    process->untracked_children |= notification->waited_before;
    pidfd_close(process->pidfd);
    process->pidfd = notification->pidfd;
    notification->pidfd = -1;
    set_root(tasks, process, notification);
    if (notification->kind == PINJECT_FORK)
        error = copy_parent(tasks, process, notification);
    process_set_share(process, share);
    if (notification->kind == PINJECT_PROCESS)
        error = set_program(tasks, process, notification);
    if (error)
        missed_add(&tasks->missed, "mappings were dropped: the collector is out of memory", notification->comm, 1, 0);
    return process;
}

struct process *tasks_find_gone_on(const struct tasks *tasks, const struct notification *notification)
{
    struct process *process = tasks_find_process(tasks, notification->pid);
    const struct task *leader = process ? process->leader : NULL;
    const bool later = leader && !process->accounted && leader->kind == PINJECT_PROCESS &&
                       tasks_is_younger(leader, notification);
    return later && pidfd_are_same(process->pidfd, notification->pidfd) ? process : NULL;
}

/*
 * What the leader of PROCESS had used when its events began, and which those of NOTIFICATION and its own startup_ns
 * have: it is counted there. Not so if NOTIFICATION is of another thread, which has ended in an exec since.
 */
static void divide_startup(const struct tasks *tasks, struct process *process, struct notification *notification)
{
    struct attach_value values[CONFIG_EVENTS] = {0};
    struct task *leader = process->leader;
    process->divided = true;
    const uint64_t of_leader = leader->startup_ns + (leader->values ? tasks_clock(tasks, leader->values) : 0);
    const uint64_t after = task_is_live(leader) ? 0 : of_leader;
    const uint64_t before = process->main_clock_ns > after ? process->main_clock_ns - after : 0;
    uint64_t *startup = &notification->startup_ns;
    *startup = *startup > before && notification->kind != PINJECT_ARM ? *startup - before : 0;
    if (notification->events) /* else a system-wide set counted it: what is known of that has been told */
        attach_read(notification->events, values);
    const uint64_t used = *startup + tasks_clock(tasks, values);
    const uint64_t part = used < leader->startup_ns ? used : leader->startup_ns;
    leader->startup_ns -= part;
    if (!task_is_live(leader)) {
        process->clock_ns -= part;
        process->main_clock_ns -= part < process->main_clock_ns ? part : process->main_clock_ns;
    }
}

void tasks_go_back(struct tasks *tasks, struct process *process, struct notification *notification)
{
    const struct task *leader = process->leader;
    if (tasks_opened_ns(notification) >= process->renamed_ns)
        divide_startup(tasks, process, notification);
    if (process->exec_ns < leader->opened_ns)
        process->exec_ns = leader->opened_ns;
    if (!notification->maps)
        return;
    struct space *space = process_space_at(process, notification->time_ns);
    if (!space || space == &process->space)
        return;
    space_release(space);
    if (space_add_maps(space, notification->maps, notification->time_ns) < 0)
        missed_add(&tasks->missed, "mappings were dropped: the collector is out of memory", notification->comm, 1, 0);
}

struct process *tasks_begin_by_thread(struct tasks *tasks, const struct notification *notification)
{
    /* For a thread, a FORK record names the process itself as the parent: that of the process is not known then. */
    const pid_t ppid = notification->ppid != notification->pid ? notification->ppid : 0;
    struct process *process = tasks_add_process(tasks, notification->pid, ppid, notification->time_ns);
    if (!process)
        return NULL;
    /* Tasks may have come into a system-wide set with events of their own, and the notification is on its way. */
    const bool all_told = notification->inherited && notification->inherited_set != session_system_wide(tasks->session);
    process->first = all_told ? LEADER_LOST : LEADER_MISSING;
    process->pidfd = pidfd_open_of(notification->pid);
    if (process->pidfd >= 0 && !numbers_hold(process->pidfd, notification->pid, notification->tid)) {
        pidfd_close(process->pidfd); /* the number may be another process' by now */
        process->pidfd = -1;
    }
    return process;
}
