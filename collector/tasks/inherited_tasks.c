/* SPDX-License-Identifier: MIT */
#include "collector/tasks/inherited_tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/notifications.h"
#include "collector/system/monotonic.h"
#include "collector/system/numbers.h"
#include "collector/system/pidfd.h"
#include "collector/system/procfs.h"
#include "collector/tasks/admit.h"
#include "collector/tasks/begin_process.h"
#include "collector/tasks/drain.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_counts.h"
#include "collector/tasks/programs.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

enum {
    BEHIND_NS = 1000 * 1000,            /* records of one moment reach the rings of several CPUs within this time */
    STATUS_MAX = 8192,                  /* bytes of /proc/PID/task/TID/status */
    READINGS_NS = 200 * 1000 * 1000,    /* an ended task waits so long for its counts */
    TWICE_NS = 10 * 1000 * 1000,        /* no number is reused that soon */
    WRITER_WAIT_NS = 100 * 1000 * 1000, /* for the notification of a task that writes */
};

/* Its last record is written: it is a zombie, or nobody has its number. */
static bool has_died(const struct task *task)
{
    char name[48];
    /* Not stat: reading that waits for the end of its exec (errand.h). */
    snprintf(name, sizeof(name), "task/%d/status", (int)task->key);
    char *text = procfs_read(task->pid, name, STATUS_MAX, NULL);
    static const char key[] = "\nState:\t";
    const char *state = text ? strstr(text, key) : NULL;
    bool dead = !state || state[strlen(key)] == 'Z' || state[strlen(key)] == 'X';
    free(text);
    return dead;
}

bool tasks_inherited_gone(const struct tasks *tasks, struct task *task)
{
    /* Another process may have its number by now: its pidfd shows that. */
    const int pidfd = task->key == task->pid ? task->process->pidfd : -1;
    if (task->state.life != TASK_EXITING && numbers_hold(pidfd, task->pid, task->key))
        return false;
    /* Between its EXIT record and its counts it may wait for a CPU, for a second if there is much other load. */
    if (task->state.life == TASK_EXITING && !task->gone_ns && !has_died(task))
        return false;
    /* What it wrote at its end may not be read yet. */
    if (!task->gone_ns)
        task->gone_ns = tasks->now_ns;
    if (tasks->now_ns <= task->gone_ns + READINGS_NS)
        return false;
    if (task->state.life != TASK_EXITING)
        inherited_forget(tasks->session->inherited_sets, task->key);
    return true;
}

static struct task *admit_writer(struct tasks *tasks, const struct inherited_record *kept, pid_t pid, pid_t tid,
                                 pid_t ppid, pid_t ptid, uint64_t time_ns)
{
    struct notification *notification = calloc(1, sizeof(*notification));
    if (!notification)
        return NULL;
    *notification = (struct notification){.kind = pid == ppid ? PINJECT_THREAD : PINJECT_FORK,
                                          .pid = pid,
                                          .tid = tid,
                                          .ppid = ppid,
                                          .parent_tid = ptid,
                                          .time_ns = time_ns,
                                          .inherited = true,
                                          .inherited_set = kept->inherited_set,
                                          .readings = kept->readings,
                                          .pidfd = pid == tid ? pidfd_open_of(pid) : -1};
    tasks_admit(tasks, notification); /* false: it was not attached late */
    return tasks_find(tasks, tid);
}

/*
 * An inherited set is opened CPU by CPU. A task that is made meanwhile has a part of it, and may get another set. Only
 * the first set that announces a task reports it.
 */
static bool is_told_twice(const struct tasks *tasks, const struct inherited_record *kept,
                          const struct records_task *made)
{
    const struct task *task = tasks_find(tasks, made->tid);
    return task && task_is_inherited(task) && task->state.life != TASK_EXITING &&
           task->inherited_set != kept->inherited_set && made->time_ns < task->start_ns + TWICE_NS;
}

/*
 * From a ring that had stopped: the task has written to other rings meanwhile, and was admitted; or it has requested
 * events of its own, which report it.
 */
static bool is_late(const struct tasks *tasks, const struct records_task *made)
{
    const struct task *task = tasks_find(tasks, made->tid);
    return task ? made->time_ns <= task->start_ns
                : made->time_ns < tasks->inherited_taken_ns && tids_has(&tasks->known, made->tid);
}

/* The task is attached late. If it has not come at the end, it is counted as missed. */
static void expect_task(struct tasks *tasks, pid_t tid)
{
    if (!tids_has(&tasks->known, tid) && !tids_has(&tasks->refused, tid))
        tids_add(&tasks->unannounced, tid);
}

/* The file of a task that has lost its events (relief.h) has the ids of those. */
static void give_ids(const struct tasks *tasks, const struct task *task, const struct inherited_record *kept,
                     struct perf_event_header *record)
{
    if (task->relieved_ns)
        records_set_id(&tasks->layout, task->ids[kept->event], record);
}

static void take_fork(struct tasks *tasks, const struct inherited_record *kept, struct perf_event_header *record)
{
    struct records_task made = records_parse_task(record);
    tids_remove(&tasks->refused, made.tid);
    if (is_told_twice(tasks, kept, &made))
        return;
    struct task *creator = tasks_find(tasks, made.ptid);
    if (creator && !task_is_inherited(creator)) {
        tasks_drain(tasks, creator); /* its name and its program, as of then */
        creator = tasks_find(tasks, made.ptid);
    }
    if (!tasks_follows(tasks, &made))
        tids_add(&tasks->known, made.tid);
    else if (kept->part)
        expect_task(tasks, made.tid);
    else if (!is_late(tasks, &made))
        admit_writer(tasks, kept, made.pid, made.tid, made.ppid, made.ptid, made.time_ns);
    if (creator && task_is_inherited(creator)) {
        give_ids(tasks, creator, kept, record);
        tasks_take_record(tasks, creator, record);
    }
}

static bool is_exec(const struct inherited_record *kept)
{
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    return kept->pid == kept->tid && record->type == PERF_RECORD_COMM && records_parse_comm(record).exec;
}

/*
 * The only thread that an exec left has the number of its process from then on. Threads of the next program, which are
 * younger, may be known already.
 */
static struct task *find_renamed(const struct tasks *tasks, const struct inherited_record *kept)
{
    struct process *process = is_exec(kept) ? tasks_find_process(tasks, kept->pid) : NULL;
    if (!process)
        return NULL;
    for (struct task *task = process->tasks; task; task = task->process_next)
        if (task_is_inherited(task) && task->state.life != TASK_EXITING && task->inherited_set == kept->inherited_set &&
            task->start_ns <= kept->time_ns)
            return task;
    return NULL;
}

/*
 * The end of TASK, which has events of its own, may be seen later than what another one writes under its number; and
 * its ring may have had no room for it.
 */
static bool has_ended(struct tasks *tasks, struct task *task, uint64_t time_ns)
{
    tasks_drain(tasks, task);
    if (!task_is_live(task))
        return true;
    return task->end_ns ? task->end_ns <= time_ns : tasks_lost_records(tasks, task);
}

static struct task *find_writer(struct tasks *tasks, const struct inherited_record *kept)
{
    struct task *task = tasks_find(tasks, kept->tid);
    if (task && kept->time_ns < tasks_renamed_ns(task)) { /* its own events reported that exec */
        struct task *before = tasks_find_before_exec(task->process, kept->tid, kept->time_ns);
        if (before)
            return task_is_live(before) ? before : NULL;
    }
    const bool exiting = task && task->state.life == TASK_EXITING; /* some of its counts are late */
    if (task && task_is_inherited(task) && !exiting)
        return task;
    struct task *renamed = find_renamed(tasks, kept);
    return renamed && (!task || exiting || has_ended(tasks, task, kept->time_ns)) ? renamed : task;
}

/* The notification of the writer of KEPT, if that waits; in its exec, a thread has the number of its process already. */
static struct waiting **find_waiting(struct tasks *tasks, const struct inherited_record *kept)
{
    return tasks_find_covered(tasks, kept->pid, is_exec(kept) ? 0 : kept->tid);
}

/*
 * The writer of KEPT was never announced. If its number was known, this may be a late record. A task that is attached
 * late can write to its set before its notification is taken, which has what the task used before: as long as no record
 * is known to be lost, the task is expected. The kernel can lose records without reporting it (inherited_ring.h), so a
 * task that has not come at the end is counted as missed.
 */
static struct task *admit_unannounced(struct tasks *tasks, const struct inherited_record *kept)
{
    if (kept->tid <= 0 || kept->pid <= 0 || tids_has(&tasks->known, kept->tid))
        return NULL;
    struct waiting **waiting = find_waiting(tasks, kept);
    if (waiting) {
        tasks_admit(tasks, tasks_take_waiting(tasks, waiting));
        return find_writer(tasks, kept);
    }
    if (!tasks->inherited_lost) {
        expect_task(tasks, kept->tid);
        return NULL;
    }
    pid_t parent = kept->pid == kept->tid ? 0 : kept->pid;
    return admit_writer(tasks, kept, kept->pid, kept->tid, parent, 0, kept->time_ns);
}

/*
 * What is clocked anew has all times of the task. The events of the CPUs are enabled at the same time. Where the EXIT
 * record of the first thread was lost, what comes later is of the thread that called exec, and got its number.
 */
static void add_reading(const struct tasks *tasks, const struct task *task, unsigned event,
                        const struct records_reading *reading)
{
    struct attach_value *value = &task->values[event];
    const bool anew = task->clocked_anew && task->readings_seen <= task->readings;
    if (anew)
        value->enabled_ns = value->running_ns = 0;
    if (anew && tasks->config->events[event].account == CONFIG_ACCOUNT_CLOCK)
        value->value = 0;
    value->value += reading->value;
    value->running_ns += reading->running_ns;
    value->lost += reading->lost;
    if (task->counted_before)
        value->enabled_ns += reading->enabled_ns;
    else if (reading->enabled_ns > value->enabled_ns)
        value->enabled_ns = reading->enabled_ns;
}

static void take_reading(struct tasks *tasks, struct task *task, const struct inherited_record *kept,
                         const struct perf_event_header *record)
{
    struct records_reading reading = records_parse_read(&tasks->layout, record);
    const size_t size = tasks->config->count * sizeof(*task->values);
    if (task->readings_seen++ == 0 && task->values && task->counted_before)
        memcpy(task->values, task->counted_before, size);
    else if (task->readings_seen == 1 && task->values)
        memset(task->values, 0, size); /* they were an estimate */
    if (task->values)
        add_reading(tasks, task, kept->event, &reading);
    if (task->state.life == TASK_EXITING && tasks_inherited_counted(task))
        tasks_task_ended(tasks, task, true);
}

/*
 * A timer's task that went on to a program without a timer: the inherited set samples it too, in user space, as a timer
 * would. Its counts come from accounting.
 */
static void take_of_root(struct tasks *tasks, const struct inherited_record *kept,
                         const struct perf_event_header *record)
{
    struct task *task = tasks_find(tasks, kept->tid);
    if (!task || !task->refusal || task->coverage != TASK_NOT_SAMPLED || record->type != PERF_RECORD_SAMPLE ||
        (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER ||
        (int)kept->event != attach_timer_event(tasks->config))
        return;
    struct perf_event_header *copy = (struct perf_event_header *)(void *)tasks->scratch;
    memcpy(copy, record, record->size);
    records_set_id(&tasks->layout, task->ids[kept->event], copy);
    tasks_take_sample(tasks, task, copy);
}

/*
 * Its own events, which it had until then, have told of RECORD (not of its end); or it does not count yet, as it still
 * runs the program of its creator.
 */
static bool was_told(const struct task *task, const struct inherited_record *kept,
                     const struct perf_event_header *record)
{
    const bool sample = record->type == PERF_RECORD_SAMPLE;
    return (sample && task_is_armed(task)) ||
           (kept->time_ns <= task->relieved_ns && (sample || record->type == PERF_RECORD_COMM));
}

static void take_inherited_record(struct tasks *tasks, struct inherited_record *kept)
{
    struct perf_event_header *record = (struct perf_event_header *)(void *)kept->bytes;
    if (record->type == PERF_RECORD_FORK) {
        take_fork(tasks, kept, record);
        return;
    }
    if (kept->root) {
        take_of_root(tasks, kept, record);
        return;
    }
    struct task *task = find_writer(tasks, kept);
    if (!task)
        task = admit_unannounced(tasks, kept);
    /* A task with events of its own is reported by these. */
    if (!task || !task_is_inherited(task) || task->inherited_set != kept->inherited_set || was_told(task, kept, record))
        return;
    give_ids(tasks, task, kept, record);
    if (record->type == PERF_RECORD_READ) {
        take_reading(tasks, task, kept, record);
        return;
    }
    if (record->type == PERF_RECORD_EXIT && task_is_armed(task)) { /* it has run no program: no counts are to come */
        tasks_task_ended(tasks, task, true);
        return;
    }
    if (record->type == PERF_RECORD_EXIT)
        tasks_step(tasks, task, TASK_EVENT_EXIT);
    if (!tasks_take_record(tasks, task, record)) {
        tasks_step(tasks, task, TASK_EVENT_LEAVE);
        tasks_task_ended(tasks, task, false);
        return;
    }
    if (record->type == PERF_RECORD_EXIT && task_is_live(task) && tasks_inherited_counted(task)) {
        tasks_task_ended(tasks, task, true); /* its counts came first */
        return;
    }
    if (record->type == PERF_RECORD_MMAP2 && task_is_live(task))
        tasks_look_for_programs(tasks, task);
}

/*
 * Is the writer of KEPT not known yet? A thread may have called exec before its notification came. A refused task has
 * no file, and one that is unannounced was waited for before.
 */
static bool is_unknown(const struct tasks *tasks, const struct inherited_record *kept)
{
    const struct task *task = tasks_find(tasks, kept->tid);
    if (is_exec(kept))
        return (!task || task->state.life == TASK_EXITING) && !find_renamed(tasks, kept);
    return !task && !tids_has(&tasks->known, kept->tid) && !tids_has(&tasks->refused, kept->tid) &&
           !tids_has(&tasks->unannounced, kept->tid);
}

/*
 * A creator with events of its own has requested them, and went on as soon as it was answered: its notification may be
 * on its way. What it makes gets its names.
 */
static bool is_early(struct tasks *tasks, const struct inherited_record *kept)
{
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
    const bool fork = record->type == PERF_RECORD_FORK;
    if (kept->time_ns + (fork ? UNKNOWN_WAIT_NS : WRITER_WAIT_NS) <= tasks->now_ns)
        return false;
    if (!fork) /* a task that came into the set by a request may write at once; sets have numbers from 1 on */
        return kept->inherited_set == session_system_wide(tasks->session) && is_unknown(tasks, kept);
    struct records_task made = records_parse_task(record);
    const struct process *creator = tasks_find_process(tasks, made.ppid);
    /* An exec may have ended the events of its earlier program. */
    return !tasks_find(tasks, made.ptid) && !(creator && creator->live);
}

/* Records from before BEFORE_NS. WAITS: for creators that are not known yet. */
static void take_inherited(struct tasks *tasks, uint64_t before_ns, bool waits)
{
    struct inherited_sets *sets = tasks->session->inherited_sets;
    if (!inherited_live(sets) && !tasks->inherited_tasks_live && !tasks->early)
        return;
    tasks->batch++;
    struct inherited_record **end = &tasks->early;
    while (*end)
        end = &(*end)->next;
    *end = inherited_take(sets, before_ns, &tasks->inherited_lost);
    tasks->at_once = true;
    while (tasks->early && (!waits || !is_early(tasks, tasks->early))) {
        struct inherited_record *kept = tasks->early;
        tasks->early = kept->next;
        take_inherited_record(tasks, kept);
        free(kept);
    }
    tasks->at_once = false;
    tasks->inherited_taken_ns = tasks->early ? tasks->early->time_ns : before_ns;
}

void tasks_take_inherited(struct tasks *tasks, bool all)
{
    /* Up to the moment at which the notifications were taken: see is_early(). */
    take_inherited(tasks, all ? UINT64_MAX : tasks->now_ns - BEHIND_NS, !all);
}

void tasks_take_inherited_until(struct tasks *tasks, uint64_t before_ns)
{
    take_inherited(tasks, before_ns, false);
}
