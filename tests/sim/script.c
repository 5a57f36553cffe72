/* SPDX-License-Identifier: MIT */
/* Programs that do something at random, and what the preload object in them tells. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/inherited.h"
#include "collector/tasks/notification_order.h"
#include "sim.h"

static const char maps[] = "1000-2000 r-xp 00000000 08:01 99 /opt/injectable\n";

/* ---- What the preload object tells ---- */

static struct notification *new_notification(uint32_t kind, const struct sim_task *task)
{
    struct notification *notification = calloc(1, sizeof(*notification));
    notification->kind = kind;
    notification->pid = task->process->pid;
    notification->tid = task->tid;
    notification->ppid = task->process->parent ? task->process->parent->pid : 1;
    notification->parent_tid = task->creator;
    notification->time_ns = notification->answered_ns = sim.now_ns;
    notification->pidfd = -1;
    strcpy(notification->comm, task->comm);
    sim.notifications_alive++;
    return notification;
}

static void give_text(struct notification *notification, const char *name)
{
    char path[32];
    snprintf(path, sizeof(path), "/opt/%s", name);
    notification->exec = strdup(path);
    notification->cmdline = strdup(name);
    notification->cmdline_size = strlen(name) + 1;
}

static void give_pidfd(struct notification *notification, struct sim_process *process)
{
    notification->pidfd = process->pidfd;
    process->pidfds++;
}

/* One that carries nothing which is its own: it may get lost, or come twice. */
static void tell(struct notification *notification)
{
    if (sim_chance(sim.faults.never)) {
        world_drop(notification);
        return;
    }
    if (sim_chance(sim.faults.twice) && !notification->values && notification->pidfd < 0) {
        struct notification *copy = malloc(sizeof(*copy));
        memcpy(copy, notification, sizeof(*copy));
        copy->exec = copy->exec ? strdup(copy->exec) : NULL;
        copy->cmdline = copy->cmdline ? strdup(copy->cmdline) : NULL;
        copy->maps = NULL;
        sim.notifications_alive++;
        world_notify(copy);
    }
    world_notify(notification);
}

/* Instead of events of its own. */
static void give_set(struct notification *notification)
{
    notification->inherited = true;
    notification->inherited_set = sim.wide->number;
    notification->readings = sim.config.count;
    sim.notifications_alive--; /* inherited ones are not counted */
}

/* The request of TASK for events, and what the worker opens for it. */
static void request(struct sim_task *task, uint32_t kind)
{
    struct sim_process *process = task->process;
    if (sim_chance(sim.faults.unasked) || (sim.wide && inherited_know(NULL, task->tid))) {
        return;
    }
    struct notification *notification = new_notification(kind, task);
    notification->startup_ns = task->cpu_ns;
    if (kind != PINJECT_THREAD)
        give_pidfd(notification, process);
    if (kind == PINJECT_PROCESS) {
        give_text(notification, task->comm);
        notification->maps = strdup(maps);
    }
    if (sim_chance(sim.faults.refused)) {
        notification->result = sim_chance(500) ? -EMFILE : -ENOMEM;
        sim_say("%d refused", (int)task->tid);
    } else if (sim.wide) {
        struct sim_events *cover = inherited_take_in(task);
        cover->delivered = true;
        cover->enabled = kind != PINJECT_ARM;
        cover->startup_ns = task->cpu_ns;
        give_set(notification);
    } else {
        struct sim_events *events = kernel_attach(task, kind == PINJECT_ARM);
        notification->events = &events->attached;
        events->startup_ns = task->cpu_ns;
    }
    world_notify(notification);
}

/* Where its program begins. */
static void ask(struct sim_task *task)
{
    const uint32_t kind = task->request;
    const bool covered = inherited_know(NULL, task->tid);
    task->wants_request = false;
    if (kind == PINJECT_PROCESS && (task->events || covered)) { /* they survived the exec */
        struct notification *notification = new_notification(PINJECT_GENERATION, task);
        give_text(notification, task->comm);
        if (task->events)
            task->events->reported = true;
        tell(notification);
        return;
    }
    if (!task->events && !covered)
        request(task, kind);
}

/*
 * A task that ends before its request is missed, and one that sends it late may be attached before: in a clean session
 * no task is. PROCESS NULL: all.
 */
static void let_ask(const struct sim_process *process)
{
    for (struct sim_task *task = sim.tasks; sim.clean && task; task = task->next)
        if (task->wants_request && (!process || task->process == process))
            ask(task);
}

static void want(struct sim_task *task, uint32_t kind)
{
    task->wants_request = true;
    task->request = kind;
}

static void tell_wait(const struct sim_task *waiter, struct sim_process *child)
{
    struct notification *notification = new_notification(PINJECT_REAPED, waiter);
    notification->pid = child->pid;
    notification->utime_ns = kernel_rusage(child);
    notification->status = child->status;
    notification->switches = child->switches + child->children_switches;
    tell(notification);
}

/* ---- Steps ---- */

static void run(struct sim_task *task)
{
    kernel_run(task, sim_chance(100) ? sim_below(20 * SIM_MS) : sim_below(500 * SIM_US));
}

static void fork_process(struct sim_task *task)
{
    const bool raw = !task->process->loaded || sim_chance(sim.faults.raw_clone);
    struct sim_task *child = kernel_fork(task);
    if (!child)
        return;
    sim_say("%d forks %d%s", (int)task->tid, (int)child->tid, raw ? ", raw" : "");
    child->process->loaded = !raw && sim.follow & PINJECT_SESSION_FORK;
    if (child->process->loaded)
        want(child, PINJECT_FORK);
}

static void make_thread(struct sim_task *task)
{
    const bool raw = !task->process->loaded || sim_chance(sim.faults.raw_clone);
    struct sim_task *thread = kernel_thread(task);
    if (!thread)
        return;
    thread->raw = raw;
    sim_say("%d makes thread %d%s", (int)task->tid, (int)thread->tid, raw ? ", raw" : "");
    if (!raw && (sim.follow & PINJECT_SESSION_PTHREAD || task->process == sim.root))
        want(thread, PINJECT_THREAD);
}

static enum sim_program choose_program(void)
{
    if (sim.clean)
        return sim_chance(sim.faults.static_program) ? SIM_STATIC : SIM_INJECTABLE;
    return sim_chance(sim.faults.odd_program) ? (enum sim_program)(1 + sim_below(SIM_PROGRAMS - 1)) : SIM_INJECTABLE;
}

/* A set under the task that calls exec. 0 or -errno. */
static int open_set(struct sim_task *task)
{
    if (task->cover || task->root_of)
        return 0;
    if (!task->events || !(sim.clean || sim_chance(500)))
        return sim_chance(300) ? -EPERM : -EMFILE;
    inherited_open_set(task, true);
    return 0;
}

/* What the exec hook tells before the exec of PROGRAM. ARMED: of a vfork child, in its request for events. */
static void announce_exec(struct sim_task *task, enum sim_program program, const char *name)
{
    const bool odd = program == SIM_STATIC || program == SIM_SETUID;
    sim.now_ns += SIM_US;
    if (task->events && task->events->enabled && sim.snapshots) {
        struct notification *notification = new_notification(PINJECT_SNAPSHOT, task);
        notification->values = calloc(sim.config.count, sizeof(*notification->values));
        attach_read(&task->events->attached, notification->values);
        task->events->snapshot = true;
        tell(notification);
    }
    if (!odd || !(sim.follow & PINJECT_SESSION_EXEC))
        return;
    struct notification *notification = new_notification(PINJECT_INHERIT_EXEC, task);
    notification->flags = PINJECT_REQUEST_INHERIT_EXEC | (program == SIM_SETUID ? PINJECT_REQUEST_SECURE : 0);
    notification->inherit_error = program == SIM_SETUID ? 0 : open_set(task);
    give_text(notification, name);
    tell(notification);
}

/* The exec itself, and what the new program begins with. */
static void exec(struct sim_task *task, enum sim_program program, const char *name)
{
    struct sim_process *process = task->process;
    const bool follows = process->loaded && sim.follow & PINJECT_SESSION_EXEC;
    struct sim_events *both[] = {task->cover, task->events};
    for (unsigned i = 0; i < 2; i++)
        if (both[i] && both[i]->enabled && !(sim.follow & PINJECT_SESSION_EXEC))
            both[i]->left = true;
    const bool first = task->tid == process->pid;
    kernel_exec(task, program, name);
    sim_say("%d executes %s", (int)task->tid, name);
    process->loaded = follows && program == SIM_INJECTABLE;
    /* A program that only passes our variables on. */
    process->loaded |= process->passes_on && first && sim.follow & PINJECT_SESSION_EXEC && program == SIM_INJECTABLE;
    process->passes_on = (program == SIM_SETUID && follows && sim_chance(500)) ||
                         (program == SIM_STATIC && first && sim_chance(200));
    task->wants_request = false;
    if (process->loaded)
        want(task, PINJECT_PROCESS);
}

static void new_name(char name[16])
{
    snprintf(name, 16, "prog%u", ++sim.programs);
}

/*
 * A thread that takes the number of a set's root over is taken for the root, and nothing says that the set covers that
 * number. The kernel lets a thread do so after the root's end, too: the number is the process'.
 */
static bool may_take_over(const struct sim_task *task)
{
    for (const struct sim_set *set = sim.sets; set; set = set->next)
        if (set->root ? set->root->process == task->process && set->root != task
                      : set->members && set->pid == task->process->pid)
            return false;
    return true;
}

static void exec_program(struct sim_task *task)
{
    /* what is asked for a task that was not known can come after all that was counted of it */
    if ((task->raw && !task->cover) || !may_take_over(task))
        return;
    const enum sim_program program = choose_program();
    char name[16];
    new_name(name);
    let_ask(task->process);
    if (task->process->loaded)
        announce_exec(task, program, name);
    sim.now_ns += SIM_US;
    if (!sim_chance(sim.faults.failing_exec))
        exec(task, program, name);
}

/* Leaves the program of its parent by exec, or by _exit. */
static void vfork_process(struct sim_task *task)
{
    const bool loaded = task->process->loaded, spawn = sim_chance(400);
    /* libc tells of a static program that it spawns when that runs already. */
    const enum sim_program program = spawn && sim.clean ? SIM_INJECTABLE : choose_program();
    char name[16];
    struct sim_task *child = kernel_fork(task);
    if (!child)
        return;
    new_name(name);
    sim_say("%d makes %d by %s", (int)task->tid, (int)child->tid, spawn ? "posix_spawn" : "vfork");
    child->process->loaded = loaded && sim.follow & PINJECT_SESSION_VFORK;
    if (!spawn && sim_chance(300)) {
        kernel_run(child, sim_below(50 * SIM_US));
    }
    if (!spawn && child->process->loaded && program != SIM_CLEANED && program != SIM_SETUID) {
        if (!child->cover)
            request(child, PINJECT_ARM);
        announce_exec(child, program, name);
    }
    if (sim_chance(sim.faults.failing_exec)) {
        kernel_exit(child->process, 127 << 8, sim_below(50 * SIM_US));
        return;
    }
    exec(child, program, name);
}

static bool has_children(const struct sim_process *process)
{
    for (const struct sim_process *child = sim.processes; child; child = child->next)
        if (child->parent == process && !child->gone)
            return true;
    return false;
}

static bool wait_for_one(struct sim_task *task)
{
    struct sim_process *process = task->process, *child = kernel_zombie_of(process);
    if (!child)
        return false;
    sim_say("%d waits for %d", (int)task->tid, (int)child->pid);
    if (process->loaded && !sim_chance(sim.faults.unreported_wait))
        tell_wait(task, child);
    else
        sim.unreported_ns += child->exit_ns;
    kernel_wait(process, child);
    return true;
}

/* In a clean session each child is waited for. */
static void exit_process(struct sim_task *task)
{
    struct sim_process *process = task->process;
    const bool leaves = sim_chance(sim.faults.no_wait);
    while (!leaves && wait_for_one(task))
        ;
    if (!leaves && has_children(process))
        return;
    let_ask(process);
    sim_say("process %d ends", (int)process->pid);
    kernel_exit(process, sim_chance(800) ? (int)sim_below(3) << 8 : 9, sim_below(80 * SIM_US));
}

static void exit_thread(struct sim_task *task)
{
    if (task->process->tasks == 1)
        return;
    sim_say("thread %d ends", (int)task->tid);
    kernel_exit_thread(task);
}

static struct sim_task *choose_task(void)
{
    uint64_t index = sim_below(sim.task_count);
    struct sim_task *task = sim.tasks;
    while (task && index--)
        task = task->next;
    return task;
}

static void choose_action(struct sim_task *task)
{
    const uint64_t what = sim_below(100);
    if (task->process->loaded && task->wants_request) {
        if (sim_chance(300))
            kernel_run(task, sim_below(100 * SIM_US));
        ask(task);
    } else if (what < 40) {
        run(task);
    } else if (what < 48) {
        fork_process(task);
    } else if (what < 56) {
        vfork_process(task);
    } else if (what < 66) {
        make_thread(task);
    } else if (what < 72) {
        exec_program(task);
    } else if (what < 80) {
        exit_thread(task);
    } else if (what < 92) {
        wait_for_one(task);
    } else if (task->process != sim.root) {
        exit_process(task);
    }
}

bool script_step(void)
{
    struct sim_task *task = choose_task();
    if (sim_chance(50)) {
        let_ask(NULL);
        sim.now_ns += sim_below(150 * SIM_MS);
    } else {
        sim.now_ns += sim_below(300 * SIM_US);
    }
    if (sim_chance(300))
        let_ask(NULL);
    if (task)
        choose_action(task);
    return sim.root->tasks > 0;
}

/* All end, those without children first; or the first process does, and leaves the rest behind. */
void script_wind_down(void)
{
    const bool leaves = sim_chance(sim.faults.no_wait);
    while (!leaves && sim.task_count > sim.root->tasks) {
        struct sim_task *task = choose_task();
        sim.now_ns += sim_below(300 * SIM_US);
        if (task->process->loaded && task->wants_request)
            ask(task);
        else if (task->process != sim.root)
            exit_process(task);
        else
            wait_for_one(task);
        collector_step();
    }
    struct sim_task *task = sim.tasks;
    while (task && task->process != sim.root)
        task = task->next;
    while (task && !leaves && wait_for_one(task))
        ;
    let_ask(sim.root);
    sim_say("the first process ends");
    kernel_exit(sim.root, 0, sim_below(50 * SIM_US));
}

/* The command: made by vfork, with events that wait for its exec. */
void script_begin(void)
{
    struct sim_task *task = kernel_fork(NULL);
    sim.root = task->process;
    sim.root->loaded = true;
    struct notification *notification = new_notification(PINJECT_ARM, task);
    struct sim_events *events = kernel_attach(task, true);
    notification->events = &events->attached;
    give_pidfd(notification, task->process);
    sim.collector->root = task->process->pid;
    events->delivered = true;
    tasks_notify(sim.collector, notification);
    exec(task, SIM_INJECTABLE, "root");
    sim.root->loaded = true;
    want(task, PINJECT_PROCESS);
}

/* ---- Attached late ---- */

/* What a thread of PROCESS requested has come, and waits for its process. */
static bool is_waited_for(const struct sim_process *process)
{
    const struct waiting *waiting = sim.collector->waiting;
    while (waiting && !(waiting->notification->events && waiting->notification->pid == process->pid))
        waiting = waiting->next;
    return waiting;
}

void script_attach_late(struct sim_task *task, pid_t parent, uint64_t time_ns)
{
    struct sim_process *process = task->process;
    const bool first = task->tid == process->pid;
    struct notification *notification = new_notification(first ? PINJECT_PROCESS : PINJECT_THREAD, task);
    notification->ppid = parent;
    notification->time_ns = time_ns;
    notification->flags = first ? PINJECT_REQUEST_INHERIT_EXEC : 0;
    notification->inherit_error = first && sim_chance(500) ? -EMFILE : 0;
    notification->attached_late = true;
    notification->waited_before = process->children_ns > 0;
    notification->startup_ns = task->cpu_ns;
    if (first) {
        give_pidfd(notification, process);
        give_text(notification, task->comm);
        notification->maps = strdup(maps);
    }
    struct sim_events *events = sim.wide ? inherited_take_in(task) : kernel_attach(task, false);
    if (!events) { /* its number is known */
        notification_free(notification);
        return;
    }
    events->startup_ns = task->cpu_ns;
    events->delivered = true;
    process->unsure |= is_waited_for(process);
    if (sim.wide)
        give_set(notification);
    else
        notification->events = &events->attached;
    if (first && !notification->inherit_error && !sim.wide)
        inherited_open_set(task, false);
    sim_say("%d is attached late", (int)task->tid);
    if (tasks_admit(sim.collector, notification))
        tasks_attach_trees(sim.collector);
}
