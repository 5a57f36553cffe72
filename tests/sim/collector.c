/* SPDX-License-Identifier: MIT */
/* Runs the real collector/tasks in rounds, as the event loop does, and checks what comes of it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/config/probe.h"
#include "collector/output/result.h"
#include "collector/sources/inherited.h"
#include "collector/tasks/finish.h"
#include "collector/tasks/inherited_tasks.h"
#include "collector/tasks/notification_order.h"
#include "collector/tasks/relief.h"
#include "collector/tasks/sweep.h"
#include "collector/tasks/task_file.h"
#include "collector/tasks/task_table.h"
#include "collector/tasks/tasks_init.h"
#include "sim.h"

enum { SWEEP_NS = 100 * SIM_MS, EXIT_COSTS_NS = 100 * SIM_MS, LATE_NS = 30 * SIM_MS, GUESS_NS = 5 * SIM_MS };

static struct tasks collector;
static uint64_t next_ns, swept_ns;

static void configure(void)
{
    struct event_config *config = &sim.config;
    config->count = 2;
    config->sampling = 1;
    config->events[0].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    config->events[1].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
    for (unsigned i = 0; i < 2; i++)
        config->events[i].attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                                             PERF_FORMAT_LOST;
    config->events[0].samples = config->events[0].nanoseconds = true;
    config->events[0].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IP |
                                         PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
    config->events[0].attr.sample_id_all = 1;
    config->system_wide_later = sim.relief;
    config->events[0].account = CONFIG_ACCOUNT_CLOCK;
    config->events[1].account = CONFIG_ACCOUNT_SWITCHES;
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
    memset(&collector, 0, sizeof(collector));
    if (tasks_init(&collector, &sim.session, NULL, 0) < 0)
        sim_fail("tasks_init");
    if (sim.faults.slow)
        collector.share_ns = sim_below(3 * SIM_US);
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

/* What is known of a task whose ring was read to its end. */
static void check_known(const struct task *task)
{
    const struct sim_events *events = (const struct sim_events *)task->events;
    const struct perf_event_mmap_page *page = events ? events->attached.ring : NULL;
    if (!page || page->data_head != page->data_tail || events->hung_up || events->lost || !events->task)
        return;
    if (task->key != events->task->tid)
        sim_fail("%d is known as %d", (int)events->task->tid, (int)task->key);
    if (task_is_armed(task) == events->enabled)
        sim_fail("%d is%s armed", (int)task->key, events->enabled ? " no more" : "");
    if (sim.clean && task->key == task->pid && task->process->main != task)
        sim_fail("%d runs a program, and is not the main task of its process", (int)task->key);
    if (strcmp(task->comm, events->task->comm))
        sim_fail("%d is '%s', and has the name '%s'", (int)task->key, events->task->comm, task->comm);
}

static void check_unread(void)
{
    uint64_t unread = 0;
    for (const struct task *task = collector.unread; task; task = task->unread_next) {
        unread++;
        if (!task_is_live(task) || !task->events)
            sim_fail("%d is to be read, and has ended", (int)task->tid);
    }
    if (unread != collector.unread_count)
        sim_fail("%" PRIu64 " unread tasks are counted as %" PRIu64, unread, collector.unread_count);
}

static void check_lists(void)
{
    uint64_t live = 0;
    unsigned held = 0;
    for (const struct task *task = collector.live; task; task = task->live_next) {
        live++;
        if (!task_is_live(task) || !task->process || !is_in_table(task))
            sim_fail("%d is in the list of live tasks, and in no table", (int)task->tid);
        check_known(task);
    }
    for (const struct process *process = collector.held; process; process = process->held_next)
        held++;
    if (live != collector.live_count || held != collector.held_count)
        sim_fail("%" PRIu64 " live tasks and %u held processes are counted as %" PRIu64 " and %u", live, held,
                 collector.live_count, collector.held_count);
    if (collector.contradictions)
        sim_fail("contradictions: %" PRIu64, collector.contradictions);
    check_unread();
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
    tasks_watch_cost(&collector);
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

/* What an inherited set covers has no events of its own: its start says which task it is. */
static struct sim_events *find_cover(const struct result_task *task)
{
    struct sim_events *events = sim.events;
    while (events && !(events->set && events->attached.tid == task->tid && events->start_ns <= task->start_ns))
        events = events->next;
    for (struct sim_events *any = events ? NULL : sim.events; any && !events; any = any->next)
        if (any->set && any->set == sim.wide && any->attached.tid == task->tid) /* it came into the set late */
            events = any;
    return events;
}

static struct sim_events *find_events(const struct result_task *task)
{
    struct sim_events *events = sim.events;
    const bool covered = task->source == PINJECT_SOURCE_INHERITED || task->source == PINJECT_SOURCE_CPU;
    if (covered && task->ids[0] == inherited_ids(NULL)[0])
        return find_cover(task);
    while (events && events->attached.ids[0] != task->ids[0])
        events = events->next;
    return events;
}

/*
 * Records of inherited sets are lost, or come late. A task that comes into a system-wide set by its request is known
 * once that is handled, and what it does meanwhile waits for some milliseconds at most.
 */
static bool is_doubtful(void)
{
    return sim.has_lost || (sim.wide && (sim.faults.stall || sim.faults.unasked)) || (sim.faults.late && !sim.clean);
}

/*
 * What generation INDEX of a task counted, by the execs before and after it; false: unknown. In the first generation
 * the events began.
 */
static bool generation_ns(const struct sim_events *events, unsigned index, uint64_t *ret_ns)
{
    if (index >= events->exec_count)
        return false;
    *ret_ns = events->execs[index].counted_ns - (index ? events->execs[index - 1].counted_ns : 0);
    return true;
}

/*
 * Late enough before its end for what was told to arrive, in a session in which nothing goes wrong. The file of a
 * program may be complete before that. What a thread tells after an exec has the number of a task that has ended.
 */
static bool surely_told(const struct sim_events *events, unsigned index)
{
    const struct sim_exec *exec = &events->execs[index];
    const bool thread = events->attached.tid != events->attached.pid;
    const bool known = exec->told && !(thread && index) && (!index || events->execs[index - 1].told);
    return sim.clean && !sim.split && !sim.faults.stall && known && exec->time_ns + LATE_NS < events->hung_up_ns;
}

/* VALUE is what program NUMBER counted, or what it and some programs before it counted: their ends were not told. */
static bool is_joined(const struct sim_events *events, unsigned number, uint64_t value)
{
    uint64_t sum = 0, counted;
    for (unsigned i = number + 1; i > 0 && generation_ns(events, i - 1, &counted); i--) {
        sum += counted;
        if (sum == value)
            return true;
    }
    return false;
}

/* The counts of each exec generation but the last one are those that were told before its exec. */
static void check_generations(const struct sim_events *events, const struct result_task *task)
{
    const bool doubtful = (events->set && (is_doubtful() || events->set == sim.wide)) || sim.faults.never ||
                          sim.faults.failing_exec || events->left || events->lost || events->exec_count > SIM_EXECS;
    for (unsigned i = 0; !doubtful && i < task->generation_count; i++) {
        const struct result_generation *generation = &task->generations[i];
        uint64_t counted;
        if (!generation_ns(events, events->generations + i, &counted))
            continue;
        if (generation->counted && !is_joined(events, events->generations + i, generation->values[0].value))
            sim_fail("program %u of %d has counted %" PRIu64 " ns, its file %" PRIu64, events->generations + i,
                     (int)task->tid, counted, generation->values[0].value);
        if (!generation->counted && surely_told(events, events->generations + i))
            sim_fail("program %u of %d has no counts", events->generations + i, (int)task->tid);
    }
}

/* The program that a process ran last has told its arguments. */
static void check_program(const struct sim_events *events, const struct result_task *task)
{
    const struct result_generation *last = task->generations + task->generation_count - 1;
    const bool to_the_end = events->hung_up_ns && events->hung_up_ns == events->process->end_ns;
    if (sim.clean && !sim.split && events->reported && to_the_end && task->kind != PINJECT_THREAD && !last->cmdline[0])
        sim_fail("the last program of %d has no arguments", (int)task->tid);
}

static void add_totals(const struct result_task *task, uint64_t samples)
{
    sim.samples += samples;
    sim.counted_ns += task->startup_ns + task->values[0].value + task->exit_ns;
    sim.without_sample += !samples;
}

void collector_check_file(const struct result_task *task, uint64_t samples)
{
    struct sim_events *events = find_events(task);
    add_totals(task, samples);
    if (!events && is_doubtful())
        return;
    if (!events) {
        sim_fail("a file of %d, which never had events", (int)task->tid);
        return;
    }
    if (events->set && !events->delivered && !is_doubtful())
        sim_fail("%d is not followed, and has a file", (int)task->tid);
    events->files++;
    check_generations(events, task);
    check_program(events, task);
    events->generations += task->generation_count;
    events->process->told_ns += task->startup_ns + task->values[0].value;
    if (task->flags & PINJECT_TASK_EXIT_COST)
        events->exit_ns = task->exit_ns;
    const bool doubtful = (events->set || events->after) && is_doubtful();
    if (!sim.split && events->files > 1 && !doubtful)
        sim_fail("%d has more than one file", (int)task->tid);
    if (sim.split || doubtful)
        return;
    const struct sim_events none = {0}, *after = events->after ? events->after : &none;
    const uint64_t all = events->counted_ns + after->counted_ns;
    const uint64_t counted = events->left && sim.snapshots ? task->values[0].value : all;
    /* The accounting also has what its events missed, between its request and their beginning. */
    const bool more = events->after && task->values[0].value > counted;
    if (!events->left && !more && task->values[0].value != counted)
        sim_fail("%d has counted %" PRIu64 " ns, its file %" PRIu64, (int)task->tid, counted, task->values[0].value);
    if (events->left && task->values[0].value > events->counted_ns)
        sim_fail("%d has more than it used", (int)task->tid);
    if (task->startup_ns > events->startup_ns)
        sim_fail("%d has used %" PRIu64 " ns before its events, its file says %" PRIu64, (int)task->tid,
                 events->startup_ns, task->startup_ns);
    /* What a task wrote before its request was handled waits for that, but not for ever. */
    const bool early = events->set && events->set == sim.wide && !sim.clean;
    if (!events->left && !early && samples + events->lost < events->sampled + after->sampled)
        sim_fail("%d has %" PRIu64 " samples of %" PRIu64 " and %" PRIu64 ", %" PRIu64 " were lost", (int)task->tid,
                 samples, events->sampled, after->sampled, events->lost);
    if (samples > events->sampled + after->sampled)
        sim_fail("%d has more samples than were written", (int)task->tid);
    sim_say("file of %d: %" PRIu64 " + %" PRIu64 " ns, exit %" PRIu64 " ns, %" PRIu64 " samples", (int)task->tid,
            task->startup_ns, task->values[0].value, task->exit_ns, samples);
}

/* ---- The end ---- */

/* Then it may be told under its former number: the exec that gave it another one is not known. */
static bool lost_records(const struct sim_process *process)
{
    const struct sim_events *events = sim.events;
    while (events && !(events->process == process && events->lost))
        events = events->next;
    return events;
}

static void check_events(void)
{
    for (const struct sim_events *events = sim.events; events; events = events->next) {
        const struct attached *attached = &events->attached;
        if (!events->freed)
            sim_fail("the events of %d are not closed", (int)attached->tid);
        const bool stillborn = !events->enabled;
        const bool doubtful = events->set && (is_doubtful() || lost_records(events->process));
        if (events->delivered && !stillborn && !events->files && !doubtful)
            sim_fail("%d has had events, and has no file", (int)attached->tid);
        if (stillborn && events->files && !(events->set && sim.has_lost)) /* what armed it may be told late */
            sim_fail("%d has run no program, and has a file", (int)attached->tid);
    }
}

/* In a session in which nothing goes wrong, the cost of each exit is known. */
static void check_exits(void)
{
    const bool known = sim.clean && !sim.unreported_ns;
    for (const struct sim_events *events = sim.events; known && events; events = events->next)
        if (events->exit_ns != UINT64_MAX && events->exit_ns != events->process->exit_ns)
            sim_fail("the exit of %d took %" PRIu64 " ns, its file says %" PRIu64, (int)events->process->pid,
                     events->process->exit_ns, events->exit_ns);
}

/*
 * No CPU time of a process is in two places, unless it is told of long after what came next. So is a thread that called
 * exec of a setuid program, of a process whose first thread sent no request: if its own request comes after that, the
 * collector cannot tell later whether the number is still the same process'; and if the process was attached late while
 * the request waited for one, the thread was not known to be what was attached.
 */
static void check_processes(void)
{
    const bool doubtful = sim.faults.late || sim.faults.small_rings || sim.has_lost;
    for (const struct sim_process *process = doubtful ? NULL : sim.processes; process; process = process->next)
        if (process->told_ns > process->cpu_ns && !process->unsure)
            sim_fail("%d used %" PRIu64 " ns, in its files are %" PRIu64, (int)process->pid, process->cpu_ns,
                     process->told_ns);
}

/* Each task that was announced is in a file, or counted as missed; so is each that left for another program. */
static void check_missed(void)
{
    uint64_t missed = 0, not_followed = 0, left = 0;
    for (unsigned i = 0; i < collector.missed.count; i++) {
        const struct result_missed *line = &collector.missed.lines[i];
        missed += line->count;
        not_followed += strstr(line->reason, "not followed after exec") ? line->count : 0;
    }
    for (const struct sim_events *events = sim.events; events; events = events->next)
        left += events->left && events->delivered && !events->lost && !events->set;
    if (collector.missed.count < MISSED_LINES - 1 && not_followed < left)
        sim_fail("%" PRIu64 " of %" PRIu64 " tasks that left are counted", not_followed, left);
    if (sim.pids == SIM_PIDS && !sim.faults.never && !sim.faults.unasked && missed < sim.unknown)
        sim_fail("%" PRIu64 " of %u missed tasks are counted", missed, sim.unknown);
}

static void check_totals(void)
{
    if (collector.samples != sim.samples)
        sim_fail("%" PRIu64 " samples in files are counted as %" PRIu64, sim.samples, collector.samples);
    if (!sim.split && collector.without_sample != sim.without_sample)
        sim_fail("%u tasks without samples are counted as %" PRIu64, sim.without_sample, collector.without_sample);
    /* Where a READ record is missing, the collector scales what the others say. */
    if (!sim.split && !is_doubtful() && collector.counts.store.total[0].value != sim.counted_ns)
        sim_fail("%" PRIu64 " ns in files are counted as %" PRIu64, sim.counted_ns,
                 collector.counts.store.total[0].value);
    if (sim.clean && !sim.split && sim.counted_ns != collector.attributed_ns)
        sim_fail("%" PRIu64 " ns in files are attributed as %" PRIu64, sim.counted_ns, collector.attributed_ns);
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
        counted += events->delivered && events->files && !events->set ? events->counted_ns : 0; /* less than all */
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
    if (sim.clean && (found + missed > sim.given_ns || found + missed + sim.unreported_ns < sim.given_ns))
        sim_fail("%" PRIu64 " ns of CPU time in tasks and %" PRIu64 " ns missed, %" PRIu64 " ns were used", found,
                 missed, sim.given_ns);
    if (!sim.split && sim.follow & PINJECT_SESSION_EXEC && found < counted_ns())
        sim_fail("%" PRIu64 " ns of CPU time in tasks, their events counted %" PRIu64 " ns", found, counted_ns());
    if (sim.only_waits && !sim.faults.stall && found + missed > sim.given_ns + GUESS_NS)
        sim_fail("%" PRIu64 " ns of CPU time in tasks and %" PRIu64 " ns missed, only %" PRIu64 " ns were used", found,
                 missed, sim.given_ns);
    if (found > sim.given_ns) {
        sim_over.sessions++;
        if (found - sim.given_ns > sim_over.most_ns)
            sim_over.most_ns = found - sim.given_ns;
        sim_say("%" PRIu64 " ns more in tasks than were used", found - sim.given_ns);
    }
    /* Where records of inherited sets were lost, a child that nobody knows is in the guess of its parent's exit. */
    if (!sim.faults.odd_program && !sim.has_lost && found > sim.given_ns + EXIT_COSTS_NS)
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
    check_exits();
    check_processes();
    check_missed();
    check_totals();
    const unsigned missed = collector.missed.count;
    sim_say("%" PRIu64 " tasks, %u files, %u reasons, %" PRIu64 " of %" PRIu64 " us", collector.seen, sim.files_done,
            missed, collector.attributed_ns / 1000, sim.given_ns / 1000);
    if (!is_doubtful() && collector.unannounced.count)
        sim_fail("%" PRIu64 " tasks were not announced", (uint64_t)collector.unannounced.count);
    if (sim.clean && missed)
        sim_fail("missed: %s %s", collector.missed.lines[0].reason, collector.missed.lines[0].comm);
    tasks_release(&collector);
    check_events();
    check_rest();
}
