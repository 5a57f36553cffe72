/* SPDX-License-Identifier: MIT */
/* Runs the real collector/tasks in rounds, as the event loop does, and checks what comes of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/config/probe.h"
#include "collector/output/result.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks_init.h"
#include "sim.h"

enum { SWEEP_NS = 100 * SIM_MS, EXIT_COSTS_NS = 100 * SIM_MS };

static struct tasks collector; /* large: cleared by tasks_init() */
static uint64_t next_ns, swept_ns;

static void configure(void)
{
    struct event_config *config = &sim.config;
    config->count = 2;
    config->sampling = 1;
    config->events[0].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    config->events[1].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
    for (unsigned i = 0; i < 2; i++)
        config->events[i].attr.read_format =
            PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_LOST;
    config->events[0].samples = config->events[0].nanoseconds = true;
    config->events[0].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                         PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
    config->events[0].attr.sample_id_all = 1;
}

void collector_begin(void)
{
    configure();
    sim.settings.follow = sim.follow;
    sim.settings.split = sim.split;
    sim.session.settings = &sim.settings;
    sim.session.config = &sim.config;
    sim.session.start_ns = sim.now_ns;
    sim.collector = &collector;
    next_ns = swept_ns = sim.now_ns;
    if (tasks_init(&collector, &sim.session, NULL, 0) < 0)
        sim_fail("tasks_init");
}

/* ---- Rounds ---- */

/* What epoll would report of TASK. */
static void take_event(struct task *task)
{
    const struct sim_events *events = (const struct sim_events *)task->events;
    const struct perf_event_mmap_page *page = events->attached.ring;
    if (events->hung_up)
        tasks_task_ended(&collector, task, true);
    else if (page->data_head != page->data_tail)
        tasks_drain_some(&collector, task);
}

static void take_events(void)
{
    struct task *ready[SIM_TASKS * 4];
    unsigned count = 0;
    for (struct task *task = collector.live; task && count < SIM_TASKS * 4; task = task->live_next)
        if (task->ring_fd >= 0)
            ready[count++] = task;
    for (unsigned i = 0; i < count; i++) { /* none is freed before the end of the round */
        struct task *task = ready[sim_chance(500) ? i : count - 1 - i];
        if (task_is_live(task))
            take_event(task);
    }
}

static void check_root(void)
{
    struct process *process = tasks_find_process(&collector, sim.root->pid);
    if (!sim.root->zombie || sim.root->gone)
        return;
    if (process) {
        process_ask_clock(process);
        process_set_waited(process, sim.root->status, kernel_rusage(sim.root));
        process->rusage_switches = sim.root->switches + sim.root->children_switches;
    }
    sim.root->gone = true;
}

/* A thread that calls exec has the number of its process' first one, whose end may not be known yet. */
static bool is_in_table(const struct task *task)
{
    const struct task *at = collector.by_tid[(uint32_t)task->key % TASKS_TABLE];
    while (at && at != task)
        at = at->next;
    return at;
}

static void check_lists(void)
{
    uint64_t live = 0;
    unsigned held = 0;
    for (const struct task *task = collector.live; task; task = task->live_next) {
        live++;
        if (!task_is_live(task) || !task->process || !is_in_table(task))
            sim_fail("%d is in the list of live tasks, and in no table", (int)task->tid);
    }
    for (const struct process *process = collector.held; process; process = process->held_next)
        held++;
    if (live != collector.live_count || held != collector.held_count)
        sim_fail("%" PRIu64 " live tasks and %u held processes are counted as %" PRIu64 " and %u", live, held,
                 collector.live_count, collector.held_count);
    if (collector.contradictions)
        sim_fail("contradictions: %" PRIu64, collector.contradictions);
}

static void run_round(bool all)
{
    collector.now_ns = sim.now_ns;
    collector.round++;
    struct notification *notifications = world_take(all);
    if (notifications || collector.waiting)
        tasks_notify(&collector, notifications);
    tasks_take_inherited(&collector, all);
    tasks_drain_rest(&collector);
    if (collector.owed_count)
        tasks_retry_inherit_soon(&collector);
    take_events();
    if (sim.now_ns - swept_ns >= SWEEP_NS) {
        swept_ns = sim.now_ns;
        tasks_sweep(&collector);
        check_root();
    }
    tasks_write(&collector, sim_below(8));
    tasks_bury(&collector);
    check_lists();
}

void collector_step(void)
{
    if (sim.now_ns < next_ns)
        return;
    next_ns = sim.now_ns + sim_below(sim_chance(300) ? 20 * SIM_MS : SIM_MS);
    if (sim_chance(sim.faults.stall))
        next_ns += sim_below(1000 * SIM_MS);
    run_round(false);
}

/* ---- Files ---- */

static struct sim_events *find_events(const struct result_task *task)
{
    struct sim_events *events = sim.events;
    while (events && events->attached.ids[0] != task->ids[0])
        events = events->next;
    return events;
}

void collector_check_file(const struct result_task *task, uint64_t samples)
{
    struct sim_events *events = find_events(task);
    if (!events) {
        sim_fail("a file of %d, which never had events", (int)task->tid);
        return;
    }
    events->files++;
    if (!sim.split && events->files > 1)
        sim_fail("%d has more than one file", (int)task->tid);
    if (sim.split)
        return;
    const uint64_t counted = events->left && sim.snapshots ? task->values[0].value : events->counted_ns;
    if (!events->left && task->values[0].value != counted)
        sim_fail("%d has counted %" PRIu64 " ns, its file %" PRIu64, (int)task->tid, counted, task->values[0].value);
    if (events->left && task->values[0].value > events->counted_ns)
        sim_fail("%d has more than it used", (int)task->tid);
    if (task->startup_ns > events->startup_ns)
        sim_fail("%d has used %" PRIu64 " ns before its events, its file says %" PRIu64, (int)task->tid,
                 events->startup_ns, task->startup_ns);
    if (!events->left && samples + events->lost < events->sampled)
        sim_fail("%d has %" PRIu64 " samples of %" PRIu64 ", %" PRIu64 " were lost", (int)task->tid, samples,
                 events->sampled, events->lost);
    if (samples > events->sampled)
        sim_fail("%d has more samples than were written", (int)task->tid);
    sim_say("file of %d: %" PRIu64 " + %" PRIu64 " ns, %" PRIu64 " samples", (int)task->tid, task->startup_ns, task->values[0].value,
            samples);
}

/* ---- The end ---- */

static void check_events(void)
{
    for (const struct sim_events *events = sim.events; events; events = events->next) {
        const struct attached *attached = &events->attached;
        if (!events->freed)
            sim_fail("the events of %d are not closed", (int)attached->tid);
        const bool stillborn = !events->enabled;
        if (events->delivered && !stillborn && !events->files)
            sim_fail("%d has had events, and has no file", (int)attached->tid);
        if (stillborn && events->files)
            sim_fail("%d has run no program, and has a file", (int)attached->tid);
    }
}

static uint64_t missed_ns(void)
{
    uint64_t missed = 0;
    for (unsigned i = 0; i < collector.missed.count; i++)
        missed += collector.missed.lines[i].cpu_ns;
    return missed;
}

/* CPU time that the events of all tasks counted, and what the tasks said of the time before. */
static uint64_t counted_ns(void)
{
    uint64_t counted = 0;
    for (const struct sim_events *events = sim.events; events; events = events->next)
        counted += events->delivered && events->files ? events->counted_ns : 0;
    return counted;
}

/*
 * All CPU time is in tasks, or known to be missing, to the nanosecond, in a session in which nothing goes wrong. Where
 * events are refused and waits are not told, the cost of an exit is a guess from the parent's rusage, within the limits
 * of process.c (none of them for setuid programs): such sessions are counted.
 */
static void check_time(void)
{
    const uint64_t found = collector.attributed_ns, missed = missed_ns();
    if (sim.clean && found + missed != sim.given_ns)
        sim_fail("%" PRIu64 " ns of CPU time in tasks and %" PRIu64 " ns missed, %" PRIu64 " ns were used", found,
                 missed, sim.given_ns);
    if (!sim.split && sim.follow & PINJECT_SESSION_EXEC && found < counted_ns())
        sim_fail("%" PRIu64 " ns of CPU time in tasks, their events counted %" PRIu64 " ns", found, counted_ns());
    if (found > sim.given_ns) {
        sim_over.sessions++;
        if (found - sim.given_ns > sim_over.most_ns)
            sim_over.most_ns = found - sim.given_ns;
        sim_say("%" PRIu64 " ns more in tasks than were used", found - sim.given_ns);
    }
    if (!sim.faults.odd_program && found > sim.given_ns + EXIT_COSTS_NS)
        sim_fail("%" PRIu64 " ns of CPU time in tasks, %" PRIu64 " ns were used", found, sim.given_ns);
}

static void check_rest(void)
{
    if (sim.files_open)
        sim_fail("%u files are not complete", sim.files_open);
    if (sim.notifications_alive)
        sim_fail("%u notifications are not freed", sim.notifications_alive);
    for (const struct sim_process *process = sim.processes; process; process = process->next)
        if (process->pidfds)
            sim_fail("%u pidfds of %d are open", process->pidfds, (int)process->pid);
}

void collector_end(void)
{
    for (unsigned i = 0; i < 3; i++) {
        run_round(false);
        sim.now_ns += sim_below(2 * SIM_MS);
    }
    check_root();
    collector.root_ended = true;
    collector.now_ns = sim.now_ns;
    collector.round++;
    tasks_notify(&collector, world_take(true));
    tasks_take_inherited(&collector, true);
    tasks_close(&collector);
    check_lists();
    tasks_finish_root(&collector, NULL);
    check_time();
    const unsigned missed = collector.missed.count;
    sim_say("%" PRIu64 " tasks, %u files, %u reasons, %" PRIu64 " of %" PRIu64 " us", collector.seen,
            sim.files_done, missed, collector.attributed_ns / 1000, sim.given_ns / 1000);
    if (sim.clean && missed)
        sim_fail("missed: %s %s", collector.missed.lines[0].reason, collector.missed.lines[0].comm);
    tasks_release(&collector);
    check_events();
    check_rest();
}
