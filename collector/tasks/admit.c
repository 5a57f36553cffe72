/* SPDX-License-Identifier: MIT */
#include "collector/tasks/admit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/attach.h"
#include "collector/sources/covered.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/tasks/begin_process.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/generations.h"
#include "collector/tasks/programs.h"
#include "collector/tasks/reaped.h"
#include "collector/tasks/relief.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"
#include "collector/tasks/timer_fallback.h"

static enum task_coverage find_coverage(const struct notification *notification)
{
    const struct attached *events = notification->events;
    return notification->inherited ? TASK_BY_INHERITANCE
           : events->timer         ? TASK_BY_TIMER
           : events->ring          ? TASK_BY_EVENTS
                                   : TASK_BY_COUNTERS;
}

static void open_ring(const struct attached *events, struct pinject_ring *ring)
{
    pinject_ring_init(ring, events->ring, (const char *)events->ring + sysconf(_SC_PAGESIZE), events->ring_size);
    ring->immutable = true;
}

static struct task *new_task(const struct tasks *tasks, struct notification *notification)
{
    const unsigned count = tasks->config->count;
    struct task *task = calloc(1, sizeof(*task) + count * sizeof(*task->ids));
    if (!task)
        return NULL;
    struct attached *events = notification->events;
    task->events = events;
    task->inherited_set = notification->inherited_set;
    task->readings = notification->readings;
    task->opened_ns = tasks_opened_ns(notification);
    task->attached_late_ns = notification->attached_late ? notification->answered_ns : 0;
    if (notification->inherited && !(task->values = calloc(count, sizeof(*task->values)))) {
        free(task);
        return NULL;
    }
    task->ring_fd = -1;
    task->pid = notification->pid;
    task->tid = notification->tid;
    task->ppid = notification->ppid;
    task->parent_tid = notification->parent_tid;
    task->kind = notification->kind;
    task->start_ns = notification->time_ns;
    task->flushed_ns = tasks->now_ns;
    task->startup_ns = notification->startup_ns;
    task->state.life = notification->kind == PINJECT_ARM ? TASK_ARMED : TASK_RUNNING;
    task->coverage = find_coverage(notification);
    task->status = -1;
    task->exit_ns = UINT64_MAX;
    task->ring_error = events ? __atomic_load_n(&events->ring_error, __ATOMIC_RELAXED) : 0;
    task->refusal = events ? events->refusal : 0;
    task->ids = (uint64_t *)(task + 1);
    memcpy(task->ids, events ? events->ids : inherited_ids(tasks->session->inherited_sets), count * sizeof(*task->ids));
    buffer_init(&task->backlog);
    if (task_is_by_timer(task))
        tasks_use_timer_ring(task);
    else if (events && events->ring)
        open_ring(events, &task->ring);
    notification->events = NULL;
    return task;
}

/* The name at the start: as reported, or that of the creator. */
static void set_comm(struct tasks *tasks, struct task *task, const struct notification *notification)
{
    const struct task *creator = notification->comm[0] ? NULL : tasks_find(tasks, notification->parent_tid);
    const struct process *parent = notification->kind == PINJECT_THREAD ? tasks_find_process(tasks, notification->pid)
                                                                        : tasks_find_parent(tasks, notification);
    if (!notification->comm[0] && !creator && parent)
        creator = parent->leader;
    snprintf(task->comm, sizeof(task->comm), "%.15s", creator ? creator->comm : notification->comm);
}

/* The task of NOTIFICATION, which already has events. */
static struct task *find_of_generation(struct tasks *tasks, const struct notification *notification)
{
    struct task *task = tasks_find(tasks, notification->tid);
    struct process *process = tasks_find_process(tasks, notification->pid);
    if (process && notification->tid == notification->pid) {
        if (task && process->live == 1)
            tasks_drain(tasks, task);
        else
            tasks_drain_process(tasks, process); /* a thread may have become the process */
        task = process->main ? process->main : process->leader;
    }
    if (task && task_is_live(task))
        tasks_drain(tasks, task);
    return task;
}

/* The task that sent NOTIFICATION, under the number that it had then. NULL: unknown. */
static struct task *find_sender(const struct tasks *tasks, const struct notification *notification)
{
    struct task *task = tasks_find(tasks, notification->tid);
    const struct process *process = tasks_find_process(tasks, notification->pid);
    const struct task *main = process ? process->main : NULL;
    struct task *before = main && notification->time_ns < tasks_renamed_ns(main)
                              ? tasks_find_before_exec(process, notification->tid, notification->time_ns)
                              : NULL;
    if (before)
        return before;
    return task && task->pid == notification->pid ? task : NULL;
}

static void count_refused(struct tasks *tasks, const struct notification *notification)
{
    char reason[160];
    const char *what = notification->kind == PINJECT_THREAD ? "thread" : "process";
    struct process *process = tasks_find_process(tasks, notification->pid);
    if (notification->result == -ESRCH && notification->kind == PINJECT_PROCESS && process && process->leader) {
        /* The first message of an exec generation that ended before it was read: its events were open all the time. */
        struct task *task = find_of_generation(tasks, notification);
        if (task)
            tasks_generation_notified(tasks, task, notification);
        return;
    }
    /* It was attached late while its request was not read, and has ended since: it has a file. */
    const struct late_task *late = &tasks->late_tasks[(uint32_t)notification->tid % LATE_TASKS];
    if (notification->result == -ESRCH && late->tid == notification->tid && notification->time_ns <= late->until_ns)
        return;
    if (notification->kind == PINJECT_ARM && (notification->result == -EACCES || notification->result == -EPERM)) {
        /*
         * Not dumpable: after its exec it sends a request itself, or is attached late. The time is by our clock: its
         * own may be another one.
         */
        uint64_t since = notification->answered_ns ? notification->answered_ns : notification->time_ns;
        missed_expected(&tasks->missed, notification->ppid, notification->pid, since);
        return;
    }
    if (notification->result == -ESRCH)
        snprintf(reason, sizeof(reason), "%s exited before its events were open", what);
    else
        snprintf(reason, sizeof(reason), "%s refused by the kernel: %s", what,
                 strerror(notification->result < 0 ? -notification->result : EIO));
    missed_add(&tasks->missed, reason, notification->comm, 1, 0);
    tids_add(&tasks->refused, notification->tid); /* what it writes to a system-wide set has no file */
    tids_remove(&tasks->unannounced, notification->tid);
    /* If it got events later, its start-up has the time before them. */
    const bool before = process && notification->tid == process->pid && notification->time_ns < process->start_ns;
    if (process && !before)
        process->thread_refused = true;
    const struct process *parent = notification->kind != PINJECT_THREAD ? tasks_find_parent(tasks, notification) : NULL;
    if (parent)
        missed_refused_child(&tasks->missed, parent->pid, notification->pid, notification->time_ns);
    else
        missed_requested(&tasks->missed, notification->tid);
}

static void give_back(struct tasks *tasks, struct notification *notification)
{
    missed_add(&tasks->missed, "task dropped: the collector is out of memory", notification->comm, 1, 0);
    if (notification->events)
        attach_retire(tasks->session, notification->events);
    attach_free(notification->events);
    notification->events = NULL;
}

/*
 * Its next program is non-injectable: stores which it is, and whether an inherited set will cover what comes from it.
 */
static void announce_program(struct tasks *tasks, struct process *process, const struct notification *notification)
{
    const struct task *task = tasks_find(tasks, notification->tid);
    if (notification->kind != PINJECT_INHERIT_EXEC && !(notification->flags & PINJECT_REQUEST_INHERIT_EXEC))
        return;
    if (task && task_is_by_timer(task)) /* only accounting covers it */
        process->uncounted = true;
    bool leaves = task && task_is_by_timer(task) && !(tasks->session->settings->follow & PINJECT_SESSION_EXEC);
    if (tasks->config->source == PINJECT_SOURCE_TIMER || leaves) /* there are no inherited sets */
        return;
    if (!notification->attached_late && !(task && task_is_by_timer(task)))
        tasks_program_announced(tasks, process, notification);
    process->secure = notification->flags & PINJECT_REQUEST_SECURE;
    /* Its events ended in that exec before this was taken. */
    struct task *leader = process->leader;
    if (process->secure && leader && leader->state.cause == TASK_EXITED && leader->end_ns >= notification->time_ns &&
        !process->program && !task_is_by_cpus(tasks, leader))
        tasks_set_revoked(tasks, process, leader);
    process->inherits |= !process->secure && notification->inherit_error == 0;
    if (notification->inherit_error == -EACCES || notification->inherit_error == -EPERM)
        tasks_owe_inherit(tasks, process);
    else if (notification->inherit_error)
        tasks_tell_no_inherit(tasks, process, notification->inherit_error);
}

/*
 * True if no FORK record announces the task: a task made by an inherited one is announced only in the set; no record
 * reports the threads that a task with a timer makes, nor anything that a task without a ring does. Then we do not wait
 * for one: the tid may be another task's when it comes.
 */
static bool is_announced_by_nobody(const struct tasks *tasks, const struct notification *notification)
{
    const struct task *creator = tasks_find(tasks, notification->parent_tid);
    if (!creator || task_is_by_timer(creator))
        return creator && notification->kind == PINJECT_THREAD;
    const bool expected = missed_find(&tasks->missed, notification->tid); /* by the creator's own events */
    const bool in_set = notification->inherited && task_is_inherited(creator);
    return (in_set || creator->coverage == TASK_BY_COUNTERS) && !expected;
}

/*
 * The program of the task that PROCESS gets by NOTIFICATION, with a reference; NULL: unknown. Where it was another one
 * than that which runs now, all that is known of it is what NOTIFICATION says, or the parent of a fork.
 */
static struct program *get_program(const struct tasks *tasks, const struct process *process,
                                   const struct notification *notification)
{
    const bool before = tasks_is_before_exec(process, notification);
    if (before && notification->kind == PINJECT_PROCESS)
        return program_new(notification->exec, notification->cmdline, notification->cmdline_size);
    if (before && notification->kind == PINJECT_FORK)
        process = tasks_find_parent(tasks, notification);
    return process ? program_get(tasks_find_program(process, notification)) : NULL;
}

static void begin_task(struct tasks *tasks, struct task *task, const struct process *process,
                       const struct notification *notification)
{
    struct program *program = get_program(tasks, process, notification);
    tasks_count(tasks, task);
    struct exec_generation *generation = tasks_add_generation(task, task->start_ns, task->comm, program);
    if (generation && program && program->cmdline)
        generation->named = true;
    program_put(program);
    tasks_begin_file(tasks, task);
    tasks_introduce(tasks, task, task->start_ns);
}

/*
 * Before there was a system-wide set, TASK had EVENTS of its own, and wrote RECORD. A task that it made then may never
 * have come: neither a notification nor a record of the set announces that one. (If its number was in use before, it is
 * not counted as missed.) The program that TASK has executed since is in its request.
 */
static void take_own_record(struct tasks *tasks, struct task *task, const struct attached *events,
                            const struct perf_event_header *record)
{
    struct perf_event_header *copy = (struct perf_event_header *)(void *)tasks->scratch;
    const int event = records_find_event(&tasks->layout, events->ids, records_id(&tasks->layout, record));
    if (record->type == PERF_RECORD_FORK) {
        const struct records_task made = records_parse_task(record);
        if (!tids_has(&tasks->known, made.tid) && !tids_has(&tasks->unannounced, made.tid))
            missed_announced(&tasks->missed, made.ppid, made.pid, made.tid, made.time_ns, tasks_follows(tasks, &made));
    } else if (record->type == PERF_RECORD_LOST || record->type == PERF_RECORD_LOST_SAMPLES) {
        task->lost_records += records_parse_lost(record);
    } else if (record->type == PERF_RECORD_SAMPLE && event < 0) {
        task->unsettled++;
    } else if (record->type == PERF_RECORD_SAMPLE || record->type == PERF_RECORD_MMAP2) {
        if (record != copy)
            memcpy(copy, record, record->size);
        records_set_id(&tasks->layout, task->ids[event < 0 ? 0 : event], copy);
        tasks_take_record(tasks, task, copy);
    }
}

static void read_own_ring(struct tasks *tasks, struct task *task, const struct attached *events)
{
    struct pinject_ring ring;
    const struct perf_event_header *record;
    if (events->timer || !events->ring)
        return;
    open_ring(events, &ring);
    if (!pinject_ring_begin(&ring))
        return;
    while ((record = pinject_ring_next(&ring, tasks->scratch)))
        if (!records_check(&tasks->layout, record))
            tasks->broken_rings++;
        else if (records_time(&tasks->layout, 0, record) < tasks->session->system_wide_ns)
            take_own_record(tasks, task, events, record);
    pinject_ring_end(&ring);
    tasks->broken_rings += ring.broken;
}

/*
 * A worker had begun to open events for it when there was no system-wide set yet, and by now a task that is in the set
 * has announced it. It does not need them.
 */
static bool is_covered_already(struct tasks *tasks, struct notification *notification)
{
    struct task *task = tasks_find(tasks, notification->tid);
    const bool requests = notification->events || (notification->inherited && notification->answered_ns);
    if (!requests || !task || !task_is_by_cpus(tasks, task) || task->pid != notification->pid ||
        (task->state.life == TASK_EXITING && task->end_ns < tasks_opened_ns(notification)) ||
        tasks_opened_ns(notification) < tasks_renamed_ns(task)) /* it is of the task that had the number before */
        return false;
    if (notification->events) {
        read_own_ring(tasks, task, notification->events);
        attach_retire(tasks->session, notification->events);
        attach_free(notification->events);
        notification->events = NULL;
        covered_mark(tasks->session, task->key, true);
    }
    if (notification->kind == PINJECT_PROCESS)
        tasks_generation_notified(tasks, task, notification);
    return true;
}

/* True: it was attached late, and has a tree to be looked at. */
static bool admit_task(struct tasks *tasks, struct notification *notification)
{
    if (!notification->events && !notification->inherited) {
        count_refused(tasks, notification);
        return false;
    }
    if (!is_announced_by_nobody(tasks, notification))
        missed_requested(&tasks->missed, notification->tid);
    if (is_covered_already(tasks, notification))
        return false;
    const bool first = notification->kind != PINJECT_THREAD;
    struct process *known = first ? tasks_find_process(tasks, notification->pid) : NULL;
    if (known) /* a thread of it may have got its number */
        tasks_drain_process(tasks, known);
    const struct process *own = first ? NULL : tasks_find_process(tasks, notification->pid);
    if (own && own->main) /* its process may have called exec before the thread began, and that is not read yet */
        tasks_drain(tasks, own->main);
    struct task *same = tasks_find(tasks, notification->tid);
    if (same) { /* if it called exec as a thread, it has another number since */
        tasks_drain(tasks, same);
        same = tasks_find(tasks, notification->tid);
    }
    struct task *younger = same && tasks_is_younger(same, notification) ? same : NULL;
    if (same && !younger) /* its end is about to be seen */
        tasks_task_ended(tasks, same, true);
    const bool requests = notification->events || (notification->inherited && notification->kind == PINJECT_PROCESS);
    struct process *later = first && requests ? tasks_find_gone_on(tasks, notification) : NULL;
    struct process *process = first && !later ? tasks_begin_process(tasks, notification, younger)
                                              : tasks_find_process(tasks, notification->pid);
    if (later)
        tasks_go_back(tasks, later, notification);
    if (!process && !first)
        process = tasks_begin_by_thread(tasks, notification);
    struct task *task = process ? new_task(tasks, notification) : NULL;
    if (!task) {
        if (process && first && !later && !process->tasks && !process->held)
            tasks_remove_process(tasks, process);
        give_back(tasks, notification);
        return false;
    }
    if (notification->inherited && !first) /* the kernel names the process itself as the thread's parent */
        task->ppid = process->ppid;
    set_comm(tasks, task, notification);
    tasks_link(tasks, task, process);
    if (notification->attached_late)
        tasks->late_tasks[(uint32_t)task->tid % LATE_TASKS] = (struct late_task){task->tid, UINT64_MAX};
    if (younger && task_is_live(younger)) { /* it has that number since */
        tasks_rename(tasks, younger, younger->key);
        tasks_put_first(tasks, younger->process);
    }
    if (first && !later) {
        process->leader = task;
        process->main = younger && younger->process == process ? younger : task;
        task->root = process->root;
        announce_program(tasks, process, notification);
        tasks->inherited_generations += notification->inherited;
    }
    const bool late = first && notification->attached_late && !task_is_armed(task);
    const uint64_t start_ns = task->start_ns;
    if (!task_is_armed(task))
        begin_task(tasks, task, process, notification);
    if (session_system_wide(tasks->session) && task->events)
        tasks_relieve(tasks, task);
    return late && tasks_add_tree(tasks, notification->pid, start_ns);
}

/* Is PROCESS in an inherited set, or its root? What announced the latter may be lost. */
static bool has_set(const struct tasks *tasks, const struct process *process)
{
    return process->inherits || (process->leader && task_is_inherited(process->leader)) ||
           inherited_is_root(tasks->session->inherited_sets, process->pid);
}

/*
 * Is that of an inherited set still to be read which its process, as a part of the set, did before? The kernel ends its
 * part in the exec of a setuid program, and the next program requests events. A parent that is not known may be of a
 * set, too, unless it is init, which adopts orphans.
 */
static bool may_have_been_covered(const struct tasks *tasks, const struct notification *notification)
{
    const struct process *parent = tasks_find_parent(tasks, notification);
    const struct process *process = tasks_find_process(tasks, notification->pid);
    if (process && !(process->leader && task_is_inherited(process->leader))) /* it had events of its own, and goes on */
        return false;
    const bool live = inherited_live(tasks->session->inherited_sets); /* the last set may have ended with that exec */
    return notification->events && (live || tasks->inherited_tasks_live) &&
           tasks->inherited_taken_ns <= notification->time_ns &&
           (parent ? has_set(tasks, parent) : notification->ppid > 1);
}

bool tasks_is_ready(const struct tasks *tasks, const struct notification *notification)
{
    const struct task *task;
    switch (notification->kind) {
    case PINJECT_PROCESS:
        if (may_have_been_covered(tasks, notification))
            return false;
        /* A process that has ended may have had events before: see count_refused(). */
        return notification->events || notification->result != -ESRCH || tasks_find_process(tasks, notification->pid);
    case PINJECT_FORK: return tasks_find_parent(tasks, notification);
    case PINJECT_GENERATION:
        task = tasks_find(tasks, notification->tid);
        /* Its exec must be known first; and if nobody has made sure that it is covered, whose the number is. */
        if ((task && task_is_inherited(task)) ||
            (notification->flags & PINJECT_REQUEST_ASYNCHRONOUS && inherited_live(tasks->session->inherited_sets)))
            return (task || tasks_find_process(tasks, notification->pid)) &&
                   tasks->inherited_taken_ns > notification->time_ns;
        return tasks_find_process(tasks, notification->pid) != NULL;
    case PINJECT_SNAPSHOT: return notification->result || find_sender(tasks, notification);
    case PINJECT_THREAD:
    case PINJECT_INHERIT_EXEC: return tasks_find_process(tasks, notification->pid);
    case PINJECT_REAPED: /* a tracer's wait reports threads too */
        task = tasks_find(tasks, notification->tid);
        if (notification->limited && task && !task->process->limited) /* what says whose it is may be on its way */
            return false;
        return tasks_find_process(tasks, notification->pid) || tasks_knows_thread(tasks, notification->pid);
    default: return true;
    }
}

/* A user with a channel of his own reports his processes himself, also when the kernel cannot be asked any more. */
static bool is_anothers(const struct tasks *tasks, const struct notification *notification)
{
    const struct process *process = tasks_find_process(tasks, notification->pid);
    const struct task *task = tasks_find(tasks, notification->tid);
    if (!notification->gone || notification->limited || notification->events)
        return false;
    return (process && process->limited) || (task && (task->pid != notification->pid || task->process->limited));
}

/* The kernel was asked whether the process is that user's (origin.h). */
static void note_user(struct tasks *tasks, const struct notification *notification)
{
    struct process *process = notification->limited && notification->kind != PINJECT_REAPED
                                  ? tasks_find_process(tasks, notification->pid)
                                  : NULL;
    if (process) {
        process->limited = true;
        process->user = notification->user;
        process_set_share(process, shares_of(&tasks->shares, notification->user));
    }
}

/*
 * A program that waited for no answer was wrong about its events: an exec had ended them, in its own task or in the one
 * that made it.
 */
static void note_uncovered(struct tasks *tasks, const struct notification *notification, bool known)
{
    if (known && tasks->uncovered_count < TASKS_UNCOVERED)
        tasks->uncovered[tasks->uncovered_count++] = (struct uncovered){notification->pid, notification->ppid,
                                                                        notification->time_ns};
    else
        missed_add(&tasks->missed, "process whose events had ended in an exec, or that was made by such a process",
                   notification->comm, 1, 0);
}

static void take_generation(struct tasks *tasks, struct notification *notification)
{
    struct task *task = find_of_generation(tasks, notification);
    const bool asynchronous = notification->flags & PINJECT_REQUEST_ASYNCHRONOUS;
    const bool over = asynchronous && task && task->end_ns && task->end_ns <= notification->time_ns;
    const bool unknown = asynchronous && !task && !tids_has(&tasks->known, notification->pid);
    if ((over || unknown) && !session_system_wide(tasks->session)) /* which has all of the tree */
        note_uncovered(tasks, notification, over);
    if (task && !over) /* else it is the program of another process, or is read when events are opened for it */
        tasks_generation_notified(tasks, task, notification);
}

bool tasks_admit(struct tasks *tasks, struct notification *notification)
{
    struct task *task;
    bool late = false;
    if (is_anothers(tasks, notification)) {
        __atomic_fetch_add(&tasks->session->denied, 1, __ATOMIC_RELAXED);
        notification_free(notification);
        return false;
    }
    switch (notification->kind) {
    case PINJECT_PROCESS:
    case PINJECT_FORK:
    case PINJECT_THREAD: late = admit_task(tasks, notification); break;
    case PINJECT_ARM:
        late = admit_task(tasks, notification);
        tasks_leave_timer(tasks, notification);
        break;
    case PINJECT_GENERATION: take_generation(tasks, notification); break;
    case PINJECT_SNAPSHOT:
        task = notification->result ? NULL : find_sender(tasks, notification);
        if (task)
            tasks_snapshot_notified(tasks, task, notification);
        break;
    case PINJECT_INHERIT_EXEC:
        if (tasks_find_process(tasks, notification->pid))
            announce_program(tasks, tasks_find_process(tasks, notification->pid), notification);
        tasks_leave_timer(tasks, notification);
        break;
    case PINJECT_REAPED: tasks_reaped(tasks, notification); break;
    default: break;
    }
    note_user(tasks, notification);
    attach_free(notification->events); /* NULL unless nobody took them */
    notification->events = NULL;
    notification_free(notification);
    return late;
}
