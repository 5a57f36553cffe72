/* SPDX-License-Identifier: MIT */
/* Arrivals: new tasks, new images, news of all of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/net.h"
#include "collector/tasks.h"

static struct task *new_task(const struct tasks *tasks, struct arrival *arrival)
{
    struct task *task = calloc(1, sizeof(*task));
    if (!task)
        return NULL;
    struct attached *events = arrival->events;
    task->events = events;
    task->netted = arrival->netted;
    task->net = arrival->net;
    task->readings = arrival->readings;
    task->found_ns = arrival->found ? arrival->answered_ns : 0;
    if (task->netted && !(task->values = calloc(PLAN_EVENTS, sizeof(*task->values)))) {
        free(task);
        return NULL;
    }
    task->ring_fd = -1;
    task->pid = arrival->pid;
    task->tid = arrival->tid;
    task->ppid = arrival->ppid;
    task->parent_tid = arrival->parent_tid;
    task->kind = arrival->kind;
    task->start_ns = arrival->time_ns;
    task->flushed_ns = tasks->now_ns;
    task->startup_ns = arrival->startup_ns;
    task->armed = arrival->kind == PINJECT_ARM;
    task->timed = events && events->timer;
    task->counted_only = events && !events->timer && !events->ring;
    task->ring_error = events ? __atomic_load_n(&events->ring_error, __ATOMIC_RELAXED) : 0;
    task->refusal = events ? events->refusal : 0;
    task->name_known = !task->armed; /* what comes before the exec's record waits for it */
    memcpy(task->ids, events ? events->ids : nets_ids(tasks->session->nets), sizeof(task->ids));
    buffer_init(&task->backlog);
    if (task->timed)
        tasks_ring_timed(task);
    else if (events && events->ring) {
        pinject_ring_init(&task->ring, events->ring, (const char *)events->ring + sysconf(_SC_PAGESIZE),
                          events->ring_size);
        task->ring.sealed = true;
    }
    arrival->events = NULL;
    return task;
}

static void set_root(struct tasks *tasks, struct process *process, const struct arrival *arrival)
{
    bool first = !tasks->root && tasks->session->settings->bare && arrival->kind == PINJECT_PROCESS;
    if (first) {
        tasks->root = process->pid;
        tasks->tree_startup_ns = arrival->startup_ns;
    }
    if (process->pid == tasks->root && !tasks->root_process && process->pid == arrival->tid) {
        process->root = true;
        tasks->root_process = process;
    }
}

/* Another user than the session's may say that it was made by a process of his own, or by whom the kernel says. */
static bool may_say(const struct arrival *arrival, const struct process *parent)
{
    return !arrival->limited || parent->pid == arrival->ppid || (parent->limited && parent->user == arrival->user);
}

/* Who made it: by the thread that did, since getppid() is 1 once the parent has ended. */
static struct process *find_parent(const struct tasks *tasks, const struct arrival *arrival)
{
    const struct task *creator = arrival->parent_tid ? tasks_find(tasks, arrival->parent_tid) : NULL;
    struct process *parent = creator ? creator->process : NULL;
    if (!parent && arrival->parent_tid)
        parent = tasks_find_process(tasks, arrival->parent_tid);
    return parent && may_say(arrival, parent) ? parent : tasks_find_process(tasks, arrival->ppid);
}

/* A fork runs on a copy of what its parent was at that moment. */
static int copy_parent(struct tasks *tasks, struct process *process, const struct arrival *arrival)
{
    struct process *parent = find_parent(tasks, arrival);
    if (!parent)
        return 0;
    tasks_drain_process(tasks, parent);
    process->program = program_get(parent->program);
    return space_fork(&parent->space, arrival->time_ns, &process->space);
}

/* It lost its events in an exec (of what its user may not read, or by a thread that had none), and asks anew. */
static bool goes_on(const struct process *old, const struct arrival *arrival)
{
    return arrival->kind == PINJECT_PROCESS && !arrival->found && !old->accounted && old->pidfd >= 0 &&
           !process_is_dead(old);
}

/* Its CPU time from before is in the new one's accounting, and in its first thread's clock. */
static void continue_process(struct process *process, const struct process *before, struct arrival *arrival)
{
    process->clock_ns = before->clock_ns;
    process->children_ns = before->children_ns;
    process->counted_ns = before->counted_ns;
    process->children_switches = before->children_switches;
    process->guessed_ns = before->guessed_ns;
    process->unwaited_ns = before->unwaited_ns;
    process->ended_tasks = before->ended_tasks;
    uint64_t *startup = &arrival->startup_ns;
    *startup = *startup > before->clock_ns ? *startup - before->clock_ns : 0;
}

/* Who says nothing himself has his parent's, as the kernel tells that; what a request says of a parent is not asked. */
static struct share *find_share(struct tasks *tasks, const struct arrival *arrival, const struct process *parent)
{
    if (arrival->limited)
        return shares_of(&tasks->shares, arrival->user);
    return parent && (arrival->netted || arrival->found) ? parent->share : &tasks->shares.own;
}

/* The process of a first thread. */
static struct process *new_process(struct tasks *tasks, struct arrival *arrival)
{
    struct process *old = tasks_find_process(tasks, arrival->pid);
    const struct process *parent = find_parent(tasks, arrival);
    struct share *share = find_share(tasks, arrival, parent);
    const pid_t told_ppid = arrival->ppid;
    if (parent && parent->pid != arrival->pid)
        arrival->ppid = parent->pid;
    struct process before = {.clock_ns = 0};
    if (old && goes_on(old, arrival)) { /* in the totals once, with what comes */
        before = *old;
        old->accounted = true;
        if (old->leader)
            old->leader->goes_on = old->leader->revoked;
    }
    if (old && old->leader && !old->leader->live)
        tasks_finish_process(tasks, old); /* the number is used again */
    struct process *process = tasks_add_process(tasks, arrival->pid, arrival->ppid, arrival->time_ns);
    int error = 0;
    if (!process)
        return NULL;
    process->told_ppid = told_ppid;
    continue_process(process, &before, arrival);
    process->pidfd = arrival->pidfd;
    arrival->pidfd = -1;
    set_root(tasks, process, arrival);
    if (arrival->kind == PINJECT_FORK)
        error = copy_parent(tasks, process, arrival);
    process_set_share(process, share);
    if (arrival->kind == PINJECT_PROCESS) {
        process->program = program_new(arrival->exec, arrival->cmdline, arrival->cmdline_size);
        error = arrival->maps ? space_add_maps(&process->space, arrival->maps, arrival->time_ns) : 0;
        tasks_expect_files(tasks, process);
    }
    if (error)
        unseen_add(&tasks->unseen, "mappings were dropped: the collector is out of memory", arrival->comm, 1, 0);
    return process;
}

/* The name at the start: told, or that of the creator. */
static void set_comm(struct tasks *tasks, struct task *task, const struct arrival *arrival)
{
    const struct task *creator = arrival->comm[0] ? NULL : tasks_find(tasks, arrival->parent_tid);
    const struct process *parent = arrival->kind == PINJECT_THREAD ? tasks_find_process(tasks, arrival->pid)
                                                                   : find_parent(tasks, arrival);
    if (!arrival->comm[0] && !creator && parent)
        creator = parent->leader;
    snprintf(task->comm, sizeof(task->comm), "%.15s", creator ? creator->comm : arrival->comm);
}

/* The task that ARRIVAL, of a task that has events, is about. */
static struct task *find_of_image(struct tasks *tasks, const struct arrival *arrival)
{
    struct task *task = tasks_find(tasks, arrival->tid);
    struct process *process = tasks_find_process(tasks, arrival->pid);
    if (process && arrival->tid == arrival->pid) {
        if (task)
            tasks_drain(tasks, task);
        else
            tasks_drain_process(tasks, process); /* a thread may have become the process */
        task = process->main ? process->main : process->leader;
    }
    if (task && task->live)
        tasks_drain(tasks, task);
    return task;
}

static void refused(struct tasks *tasks, const struct arrival *arrival)
{
    char reason[160];
    const char *what = arrival->kind == PINJECT_THREAD ? "thread" : "process";
    struct process *process = tasks_find_process(tasks, arrival->pid);
    if (arrival->result == -ESRCH && arrival->kind == PINJECT_PROCESS && process && process->leader) {
        /* The first message of an image that ended before it was read: its events were there all the time. */
        struct task *task = find_of_image(tasks, arrival);
        if (task)
            tasks_image_arrived(tasks, task, arrival);
        return;
    }
    if (arrival->kind == PINJECT_ARM && (arrival->result == -EACCES || arrival->result == -EPERM)) {
        /* Not dumpable: after its exec it asks for itself, or is found. By our clock: its own may be another one. */
        uint64_t since = arrival->answered_ns ? arrival->answered_ns : arrival->time_ns;
        unseen_expected(&tasks->unseen, arrival->ppid, arrival->pid, since);
        return;
    }
    unseen_arrived(&tasks->unseen, arrival->tid);
    if (arrival->result == -ESRCH)
        snprintf(reason, sizeof(reason), "%s exited before its events were open", what);
    else
        snprintf(reason, sizeof(reason), "%s refused by the kernel: %s", what,
                 strerror(arrival->result < 0 ? -arrival->result : EIO));
    unseen_add(&tasks->unseen, reason, arrival->comm, 1, 0);
    if (process)
        process->incomplete = true;
}

static void give_back(struct tasks *tasks, struct arrival *arrival)
{
    unseen_add(&tasks->unseen, "dropped: the collector is out of memory", arrival->comm, 1, 0);
    if (arrival->events)
        attach_retire(tasks->session, arrival->events);
    attach_free(arrival->events);
    arrival->events = NULL;
}

/* Its next program cannot be injected: what it is, and whether a net will take what comes from it. */
static void cover(struct tasks *tasks, struct process *process, const struct arrival *arrival)
{
    const struct task *task = tasks_find(tasks, arrival->tid);
    if (arrival->kind != PINJECT_NET && !(arrival->flags & PINJECT_REQUEST_NET))
        return;
    if (task && task->timed) /* accounting tells of it */
        process->uncounted = true;
    bool leaves = task && task->timed && !(tasks->session->settings->follow & PINJECT_SESSION_EXEC);
    if (tasks->plan->source == PINJECT_SOURCE_TIMER || leaves) /* there are no nets */
        return;
    if (!arrival->found && !(task && task->timed))
        tasks_program_announced(tasks, process, arrival);
    process->secure = arrival->flags & PINJECT_REQUEST_SECURE;
    process->net |= !process->secure && arrival->net_error == 0;
    if (arrival->net_error == -EACCES || arrival->net_error == -EPERM)
        tasks_owe_net(tasks, process);
    else if (arrival->net_error)
        tasks_tell_no_net(tasks, process, arrival->net_error);
}

/*
 * What makes a netted task announces it to nobody else; no record tells of the threads that a timed one makes, nor of
 * anything that one without a ring does. It is not waited for: its number may be another's then.
 */
static bool is_announced_by_nobody(const struct tasks *tasks, const struct arrival *arrival)
{
    const struct task *creator = tasks_find(tasks, arrival->parent_tid);
    if (!creator || creator->timed)
        return creator && arrival->kind == PINJECT_THREAD;
    bool expected = unseen_find(&tasks->unseen, arrival->tid);
    return (arrival->netted && creator->netted) || (creator->counted_only && !expected);
}

static void admit(struct tasks *tasks, struct arrival *arrival)
{
    if (!arrival->events && !arrival->netted) {
        refused(tasks, arrival);
        return;
    }
    if (!is_announced_by_nobody(tasks, arrival))
        unseen_arrived(&tasks->unseen, arrival->tid);
    struct task *same = tasks_find(tasks, arrival->tid);
    if (same) /* its end is about to be seen */
        tasks_task_ended(tasks, same, true);
    bool first = arrival->kind != PINJECT_THREAD;
    struct process *process = first ? new_process(tasks, arrival) : tasks_find_process(tasks, arrival->pid);
    if (!process) {
        process = tasks_add_process(tasks, arrival->pid, arrival->ppid, arrival->time_ns);
        if (process)
            process->incomplete = true;
    }
    struct task *task = process ? new_task(tasks, arrival) : NULL;
    if (!task) {
        if (process && first)
            tasks_remove_process(tasks, process);
        give_back(tasks, arrival);
        return;
    }
    set_comm(tasks, task, arrival);
    tasks_link(tasks, task, process);
    if (first) {
        process->leader = process->main = task;
        task->root = process->root;
        cover(tasks, process, arrival);
        tasks->netted_images += arrival->netted;
    }
    if (task->armed)
        return;
    tasks_count(tasks, task);
    struct image *image = tasks_add_image(task, task->start_ns, task->comm, process->program);
    if (image && process->program && process->program->cmdline)
        image->named = true;
    tasks_begin_file(tasks, task);
    tasks_introduce(tasks, task, task->start_ns);
    if (first && arrival->found)
        tasks_adopt_family(tasks, task->pid, task->start_ns);
}

bool tasks_is_ready(const struct tasks *tasks, const struct arrival *arrival)
{
    const struct task *task;
    switch (arrival->kind) {
    case PINJECT_PROCESS:
        /* One that has ended may have had events before: refused(). */
        return arrival->events || arrival->result != -ESRCH || tasks_find_process(tasks, arrival->pid);
    case PINJECT_FORK:
        return find_parent(tasks, arrival);
    case PINJECT_IMAGE:
        task = tasks_find(tasks, arrival->tid);
        /* Its exec has to be known first. */
        return task && task->netted ? tasks->nets_taken_ns > arrival->time_ns
                                    : tasks_find_process(tasks, arrival->pid) != NULL;
    case PINJECT_THREAD:
    case PINJECT_SNAPSHOT:
    case PINJECT_NET:
        return tasks_find_process(tasks, arrival->pid);
    case PINJECT_REAPED: /* a tracer is told of threads, too */
        return tasks_find_process(tasks, arrival->pid) || tasks_knows_thread(tasks, arrival->pid);
    default:
        return true;
    }
}

/* Who has a channel of his own speaks for himself, also when nobody can ask the kernel any more. */
static bool is_anothers(const struct tasks *tasks, const struct arrival *arrival)
{
    const struct process *process = tasks_find_process(tasks, arrival->pid);
    const struct task *task = tasks_find(tasks, arrival->tid);
    if (!arrival->gone || arrival->limited || arrival->events)
        return false;
    return (process && process->limited) || (task && (task->pid != arrival->pid || task->process->limited));
}

/* The kernel was asked whether the process is that user's (origin.h). */
static void note_user(struct tasks *tasks, const struct arrival *arrival)
{
    struct process *process = arrival->limited && arrival->kind != PINJECT_REAPED
                                  ? tasks_find_process(tasks, arrival->pid)
                                  : NULL;
    if (process) {
        process->limited = true;
        process->user = arrival->user;
        process_set_share(process, shares_of(&tasks->shares, arrival->user));
    }
}

void tasks_admit(struct tasks *tasks, struct arrival *arrival)
{
    struct task *task;
    if (is_anothers(tasks, arrival)) {
        __atomic_fetch_add(&tasks->session->denied, 1, __ATOMIC_RELAXED);
        arrival_free(arrival);
        return;
    }
    switch (arrival->kind) {
    case PINJECT_PROCESS:
    case PINJECT_FORK:
    case PINJECT_THREAD:
        admit(tasks, arrival);
        break;
    case PINJECT_ARM:
        admit(tasks, arrival);
        tasks_silent_timed(tasks, arrival);
        break;
    case PINJECT_IMAGE:
        task = find_of_image(tasks, arrival);
        if (task)
            tasks_image_arrived(tasks, task, arrival);
        break;
    case PINJECT_SNAPSHOT:
        task = arrival->result ? NULL : tasks_find(tasks, arrival->tid);
        if (task)
            tasks_snapshot_arrived(tasks, task, arrival);
        break;
    case PINJECT_NET:
        if (tasks_find_process(tasks, arrival->pid))
            cover(tasks, tasks_find_process(tasks, arrival->pid), arrival);
        tasks_silent_timed(tasks, arrival);
        break;
    case PINJECT_REAPED:
        tasks_reaped(tasks, arrival);
        break;
    default:
        break;
    }
    note_user(tasks, arrival);
    attach_free(arrival->events); /* NULL unless nobody wanted them */
    arrival->events = NULL;
    arrival_free(arrival);
}
