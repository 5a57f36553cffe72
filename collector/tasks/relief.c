/* SPDX-License-Identifier: MIT */
#include "collector/tasks/relief.h"

#include <stdlib.h>
#include <string.h>

#include "collector/sources/attach.h"
#include "collector/sources/covered.h"
#include "collector/sources/inherited.h"
#include "collector/sources/session.h"
#include "collector/system/watch.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks.h"

/*
 * What events of its own cost a task, on a virtual machine of 2026, where both are dear: a switch to it and away from
 * it, and its start. Elsewhere they cost less, and the tasks lose their events before they cost as much as is said here.
 */
enum {
    SWITCH_NS = 2500,
    START_NS = 100 * 1000,
    SHARE = 50, /* 2 % of one CPU is too much, on average over LOOK_NS */
    LOOK_NS = 100 * 1000 * 1000,
    STARTS = 32,    /* so many do not wait for that */
    SOON_SHARE = 5, /* nor do switches that cost 20 % since the last look, which was SOON_NS ago or more */
    SOON_NS = 20 * 1000 * 1000,
    BEGIN_NS = 300 * 1000 * 1000, /* of a session: somebody has to look, though nothing happens */
    SKEW_NS = 100 * 1000,         /* between the times of two events for the start of one task, at most */
    SETTLE_NS = 20 * 1000 * 1000, /* what tasks wrote before the relief has been read by then */
};

#define SETTLE_MAX_NS UINT64_C(1000000000)

static bool has_own_events(const struct task *task)
{
    return task->events && !task_is_by_timer(task);
}

/* Since the last look. */
static uint64_t count_switches(struct tasks *tasks)
{
    uint64_t switches = 0;
    for (struct task *task = tasks->live; task; task = task->live_next) {
        if (!has_own_events(task))
            continue;
        const uint32_t now = attach_switches(task->events);
        switches += (now - task->switches_seen) & INT32_MAX;
        task->switches_seen = now;
    }
    return switches;
}

/* Its ring was read to its end, and its counts are in VALUES, which it takes over. */
static void lose_events(struct tasks *tasks, struct task *task, struct attach_value *values, unsigned readings)
{
    const size_t size = tasks->config->count * sizeof(*values);
    task->values = values;
    task->counted_before = malloc(size);
    if (task->counted_before)
        memcpy(task->counted_before, values, size);
    tasks_forget_unread(tasks, task);
    watch_remove(tasks->epoll, task->ring_fd);
    task->ring_fd = -1;
    task->ring = (struct pinject_ring){0};
    attach_retire(tasks->session, task->events);
    attach_free(task->events);
    task->events = NULL;
    covered_mark(tasks->session, task->key, true); /* that was taken away with the events */
    task->coverage = TASK_BY_INHERITANCE;
    task->inherited_set = session_system_wide(tasks->session);
    task->readings = readings;
    tasks->inherited_tasks_live++;
    tasks->inherited_tasks++;
}

/* The set that covers it is about to be closed. What the system-wide set counts of it is all that it has done. */
static void change_set(struct tasks *tasks, struct task *task)
{
    if (task->state.life == TASK_EXITING) /* its counts are still to come */
        return;
    task->readings = inherited_adopt(tasks->session->inherited_sets, task->pid, task->key);
    task->readings_seen = 0;
    task->relieved_ns = tasks->inherited_taken_ns - 1; /* the system-wide set has what comes after that */
    task->inherited_set = session_system_wide(tasks->session);
    if (task->values)
        memset(task->values, 0, tasks->config->count * sizeof(*task->values));
}

/*
 * Is all CPU time of TASK counted anew? The scheduler's accounting is more exact where tasks switch often. But events that
 * waited for an exec counted nothing before that; and another entry of the table may have what the task did at first.
 */
static bool is_clocked_anew(const struct task *task)
{
    return task->kind != PINJECT_ARM && !task->process->divided;
}

void tasks_relieve(struct tasks *tasks, struct task *task)
{
    if (task_is_live(task) && task_is_inherited(task) && !task_is_by_cpus(tasks, task))
        change_set(tasks, task);
    struct inherited_sets *sets = tasks->session->inherited_sets;
    if (!task_is_live(task) || !has_own_events(task))
        return;
    struct attach_value *values = calloc(tasks->config->count, sizeof(*values));
    if (!values)
        return;
    const unsigned readings = inherited_adopt(sets, task->pid, task->key);
    const bool lives = attach_disable(task->events, &task->relieved_ns);
    tasks_drain(tasks, task);
    /* If it ends meanwhile, its events say so. */
    bool done = lives && task_is_live(task) && !task->end_ns;
    if (done) {
        attach_read(task->events, values);
        task->clocked_anew = is_clocked_anew(task);
        done = inherited_count_from_now(sets, task->key, task->clocked_anew ? task->startup_ns : INHERITED_FROM_NOW) ==
               0;
    }
    if (done) {
        lose_events(tasks, task, values, readings);
        return;
    }
    if (lives && task_is_live(task) && !task->end_ns && !task_is_armed(task)) /* there is no memory, or no accounting */
        attach_enable(task->events);
    task->relieved_ns = 0; /* its number may be that of a thread that called exec: it stays in the set */
    free(values);
}

static void begin_relief(struct tasks *tasks)
{
    uint64_t since_ns;
    tasks->relief_refused = inherited_open_system_wide(tasks->session->inherited_sets, &since_ns) < 0;
    if (tasks->relief_refused)
        return;
    tasks->session->system_wide_ns = since_ns;
    attach_adopt_all(tasks->session);
    tasks_take_inherited_until(tasks, since_ns);
    for (struct task *task = tasks->live, *next; task; task = next) {
        next = task->live_next;
        tasks_relieve(tasks, task);
    }
    inherited_close_others(tasks->session->inherited_sets);
    if (tasks->session->segment)
        __atomic_fetch_or(&tasks->session->segment->flags, PINJECT_SESSION_INHERITS | PINJECT_SESSION_SYSTEM_WIDE,
                          __ATOMIC_RELEASE);
}

/*
 * A child that was made before the set, and has executed no program yet, is not in it. As long as one is known, each new
 * program asks, and the answer brings it into the set. But a child that never asks must not keep all others waiting.
 */
static void settle(struct tasks *tasks)
{
    const struct session *session = tasks->session;
    struct untracked_task first;
    const struct missed_wanted before = {session->system_wide_ns + SKEW_NS, UINT64_MAX, 0, 1};
    if (!session->system_wide_ns || tasks->settled || !session->segment ||
        tasks->now_ns < session->system_wide_ns + SETTLE_NS)
        return;
    if (tasks->now_ns < session->system_wide_ns + SETTLE_MAX_NS &&
        missed_untracked(&tasks->missed, &before, &first, 1) > 0)
        return;
    tasks->settled = true;
    __atomic_fetch_or(&session->segment->flags, PINJECT_SESSION_SETTLED, __ATOMIC_RELEASE);
}

static bool may_relieve(const struct tasks *tasks)
{
    return tasks->config->system_wide_later && !session_system_wide(tasks->session) && !tasks->relief_refused &&
           !tasks->closing && !tasks->timer_live;
}

void tasks_watch_cost(struct tasks *tasks)
{
    settle(tasks);
    if (!may_relieve(tasks))
        return;
    const uint64_t starts = tasks->seen - tasks->seen_before, elapsed = tasks->now_ns - tasks->looked_ns;
    if (starts < STARTS && tasks->now_ns < tasks->look_ns)
        return;
    const uint64_t switches = count_switches(tasks), since_ns = tasks->look_ns - SOON_NS;
    const bool soon = tasks->look_ns && switches * SWITCH_NS > (tasks->now_ns - since_ns) / SOON_SHARE;
    tasks->look_ns = tasks->now_ns + SOON_NS;
    tasks->switches_before += switches;
    const uint64_t cost = tasks->switches_before * SWITCH_NS + starts * START_NS;
    const bool over = starts >= STARTS || elapsed >= LOOK_NS;
    if (soon || (over && cost > elapsed / SHARE))
        begin_relief(tasks);
    if (!over)
        return;
    tasks->seen_before = tasks->seen;
    tasks->switches_before = 0;
    tasks->looked_ns = tasks->now_ns;
}

int tasks_cost_wait(const struct tasks *tasks, uint64_t now_ns, int wait_ms)
{
    const bool begins = now_ns < tasks->session->start_ns + BEGIN_NS;
    return begins && may_relieve(tasks) && wait_ms > SOON_NS / 1000000 ? SOON_NS / 1000000 : wait_ms;
}
