/* SPDX-License-Identifier: MIT */
#include "collector/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collector/service/channels.h"
#include "collector/system/machine_time.h"
#include "collector/system/monotonic.h"
#include "collector/system/opener.h"
#include "collector/tasks/tasks.h"
#include "common/clock.h"

enum { STOLEN_SAID_NS = 1000 * 1000 };
/* The two accounts of a tree never agree to the last millisecond. */
enum { CONTRADICTS_NS = 20 * 1000 * 1000, CONTRADICTS_PART = 10 };

/* Files of targets that could not be read. */
static void add_files(struct tasks *tasks)
{
    const struct opener_counts counts = opener_counts(results_opener(tasks->results));
    missed_add(&tasks->missed, "mapped file not read: the read took too long", "", counts.hung, 0);
    missed_add(
        &tasks->missed,
        "mapped file not read: reads of other files of the same user took too long, or too many files were waiting", "",
        counts.refused, 0);
    missed_add(&tasks->missed,
               "mapped file not read: the helper process that reads such files exited, or could not be started", "",
               counts.failed, 0);
    missed_add(
        &tasks->missed,
        "build id of a mapped file dropped: too many files (pinject-run reads it again if the file still exists)", "",
        counts.forgotten, 0);
}

/* Records of rings that were left out. */
static void add_records(struct tasks *tasks)
{
    struct missed *missed = &tasks->missed;
    missed_add(missed, "executable mapping dropped: too many mappings in one process", "",
               tasks->mappings_forgotten + (tasks->root_process ? tasks->root_process->space.forgotten : 0), 0);
    missed_add(missed, "executable mapping dropped: too many mappings in all processes of one user together", "",
               shares_refused(&tasks->shares), 0);
    missed_add(missed,
               "executable mapping missing in the result files of some threads: too many mappings in one process", "",
               tasks->mappings_untold, 0);
    missed_add(missed, "data mapping not in the result files: its process has too many mappings", "",
               tasks->data_untold, 0);
    missed_add(missed, "damaged ring buffer or record", "", tasks->broken_rings, 0);
    missed_add(missed,
               "event on a symbol (mem:) not counted in a task: the preload object did not start in its program", "",
               tasks->unplaced, 0);
    missed_add(missed,
               "event on a symbol (mem:) stopped in a program: the event could not be moved to the symbol's address",
               "", __atomic_load_n(&tasks->session->unplaced, __ATOMIC_RELAXED), 0);
}

static void add_counted(struct missed *missed, const struct session *session, enum channel_count which,
                        const char *reason)
{
    char word[64];
    uint64_t count;
    for (uint32_t i = 0; channels_counted(session, i, which, &count, word, sizeof(word)); i++)
        missed_add(missed, reason, word, count, 0);
}

/*
 * In another pid namespace no task sends requests; preload objects count starts and exec generations there. Mostly the
 * process that makes the namespace is covered by inheritance, and so is all that is in it: but no more than the starts
 * and exec generations that inherited sets reported. Those beyond that are missing, whatever else was covered.
 */
static void add_foreign(const struct tasks *tasks, struct missed *missed)
{
    const struct session *session = tasks->session;
    const bool all = session->config->source == PINJECT_SOURCE_TIMER ||
                     __atomic_load_n(&session->uninherited, __ATOMIC_RELAXED);
    uint64_t covered = all ? 0 : tasks->inherited_generations, count;
    char word[64];
    for (uint32_t i = 0; channels_counted(session, i, CHANNEL_FOREIGN, &count, word, sizeof(word)); i++) {
        const uint64_t less = count < covered ? count : covered;
        covered -= less;
        missed_add(missed, "process start or exec not profiled (in another pid namespace)", word, count - less, 0);
    }
}

static void add_losses(struct tasks *tasks)
{
    const struct session *session = tasks->session;
    struct missed *missed = &tasks->missed;
    add_counted(missed, session, CHANNEL_UNANSWERED,
                "task started before the collector answered: for its start-up, only the CPU time is known");
    add_counted(missed, session, CHANNEL_DROPPED,
                "request queue full: a task got no events, or an exited child was not reported");
    add_counted(missed, session, CHANNEL_BLOCKED, "request not sent: blocked by the program's own seccomp filter");
    add_foreign(tasks, missed);
    missed_add(missed, "a report about a task was dropped, because the queue of reports was full", "",
               __atomic_load_n(&session->notifications.refused, __ATOMIC_RELAXED), 0);
    missed_add(missed, "the mappings and arguments of a program were dropped, because the queue of reports was full",
               "", __atomic_load_n(&session->notifications.cut, __ATOMIC_RELAXED), 0);
    missed_add(missed, "request processed out of order: too many requests were waiting", "", tasks->hurried, 0);
    missed_add(missed, "contradictory report about a task: ignored (a defect of pinject)", "", tasks->contradictions,
               0);
    missed_add(missed, "malformed request", "", __atomic_load_n(&session->malformed, __ATOMIC_RELAXED), 0);
    missed_add(missed, "request for a task that had already exited", "",
               __atomic_load_n(&session->ended, __ATOMIC_RELAXED), 0);
    missed_add(missed, "request refused: the task is not part of this run, or belongs to another user", "",
               __atomic_load_n(&session->denied, __ATOMIC_RELAXED), 0);
    missed_add(
        missed,
        "requests of one user were answered up to 0.1 s late, because too many of them had no use (for example, they were for tasks that had already ended)",
        "", channels_held(session), 0);
    missed_add(
        missed,
        "process not profiled: the collector accepts no requests from the user of this process (too many users, or no memory)",
        "", __atomic_load_n(&session->users_refused, __ATOMIC_RELAXED), 0);
    const bool wide = session_system_wide(session);
    missed_add(
        missed,
        wide ? "a record of a CPU was lost (ring buffer full or damaged); it was about this command, or another program"
             : "a record about a task with inherited events was lost: ring buffer full or damaged",
        "", tasks->inherited_lost, 0);
    missed_add(
        missed,
        "task not profiled: it started while the collector opened the inherited events, or its FORK record was lost",
        "", tasks->unannounced.count, 0);
    missed_add(missed,
               wide ? "counts of a task were lost, and its CPU time is estimated from samples"
                    : "task with inherited events: its counts were lost, and its CPU time is estimated from samples",
               "", tasks->estimated, 0);
    missed_add(missed, "look-up in /proc given up: the look-up took too long, or no thread was free for it", "",
               session->errands.given_up, 0);
    missed_add(missed, "request dropped: the collector has no memory or no descriptors left", "",
               __atomic_load_n(&session->no_memory, __ATOMIC_RELAXED), 0);
    add_records(tasks);
    add_files(tasks);
}

/*
 * The kernel's accounting of the tree: the root's rusage, or the inherited clock of a bare session. A rusage includes
 * only what was waited for, and a clock lacks the exits of processes: we add what we know.
 */
static uint64_t tree_cpu_ns(const struct tasks *tasks, const struct rusage *tree, bool bare)
{
    const struct session *session = tasks->session;
    uint64_t clock, cpu = clock_ns_of_usage(tree), most = (monotonic_ns() - session->start_ns) * session->cpus;
    if (bare) {
        int fd = __atomic_load_n(&tasks->session->tree_fd, __ATOMIC_ACQUIRE);
        if (fd < 0 || read(fd, &clock, sizeof(clock)) != sizeof(clock))
            return 0;
        return clock + tasks->tree_startup_ns + tasks->exit_ns;
    }
    /* Processes reported the CPU time of their children; the sum is no more than all CPUs had. */
    if (tasks->config->whole_tree && tasks->attributed_ns > cpu) /* it has those that nobody waited for */
        return tasks->attributed_ns;
    uint64_t room = most > cpu ? most - cpu : 0;
    cpu += tasks->orphans_ns < room ? tasks->orphans_ns : room;
    if (!cpu)
        return 0;
    uint64_t more = tasks->attributed_ns > cpu ? tasks->attributed_ns - cpu : 0;
    return cpu + (more < tasks->unwaited_ns ? more : tasks->unwaited_ns);
}

/* The tasks' clocks count stolen time, the accounting does not: then the tree gets it too, so that shares are right. */
static void add_stolen(struct outcome *outcome, const struct machine_time *before, const struct machine_time *now)
{
    if (!outcome->cpu_ns || outcome->attributed_ns <= outcome->cpu_ns)
        return;
    uint64_t taken = now->stolen_ns > before->stolen_ns ? now->stolen_ns - before->stolen_ns : 0;
    uint64_t part = machine_time_explains(outcome->attributed_ns - outcome->cpu_ns, taken);
    outcome->cpu_ns += part;
    if (part < STOLEN_SAID_NS)
        return;
    outcome->stolen_ns = part;
    snprintf(outcome->stolen, sizeof(outcome->stolen),
             "CPU time includes %.1f ms of steal time (taken by the host of this virtual machine)", (double)part / 1e6);
}

/* EARLIER_NS of the tree's time were used before the session began, and so was some of our own time. */
static void add_others(struct outcome *outcome, const struct machine_time *before, const struct machine_time *now,
                       uint64_t earlier_ns)
{
    if (!outcome->cpu_ns || !before->busy_ns || now->busy_ns < before->busy_ns)
        return;
    const uint64_t tree = outcome->cpu_ns > earlier_ns ? outcome->cpu_ns - earlier_ns : 0;
    outcome->machine_ns = now->at_ns - before->at_ns;
    const uint64_t own = outcome->collector_ns > before->own_ns ? outcome->collector_ns - before->own_ns : 0;
    outcome->others_ns = machine_time_others(before, now, tree + own);
}

/* Programs report starts and ends, the kernel reports the tree. */
static void add_contradiction(const struct outcome *outcome, struct tasks *tasks)
{
    uint64_t tree = outcome->cpu_ns;
    if (tree && outcome->attributed_ns > tree + tree / CONTRADICTS_PART + CONTRADICTS_NS)
        missed_add(&tasks->missed,
                   "false times: programs reported more CPU time for their tasks than the whole run used", "", 1,
                   outcome->attributed_ns - tree);
}

static uint64_t own_cpu_ns(const struct tasks *tasks)
{
    return opener_cpu_ns(results_opener(tasks->results)) + clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void outcome_fill(struct outcome *outcome, struct tasks *tasks, bool bare)
{
    const struct process *root = tasks->root_process;
    struct machine_time now;
    add_losses(tasks);
    if (bare && root && root->status_known) {
        outcome->root_ended = true;
        outcome->root_status = root->status;
    }
    if (root && root->leader && root->leader->end_ns > root->leader->start_ns)
        outcome->elapsed_ns = root->leader->end_ns - root->leader->start_ns;
    outcome->tasks = tasks->seen;
    outcome->processes = tasks->processes;
    outcome->threads = tasks->threads;
    outcome->inherited = tasks->inherited_tasks;
    outcome->active_max = tasks->active_max;
    outcome->alive = tasks->alive;
    outcome->cpu_ns = tree_cpu_ns(tasks, &outcome->tree, bare);
    outcome->attributed_ns = tasks->attributed_ns;
    outcome->tree_exit_ns = outcome->whole_tree ? tasks->exit_ns : 0;
    outcome->collector_ns = own_cpu_ns(tasks);
    machine_time_read(&now);
    add_others(outcome, &tasks->machine, &now, bare ? tasks->tree_startup_ns : 0);
    add_stolen(outcome, &tasks->machine, &now);
    add_contradiction(outcome, tasks);
    outcome->missed = missed_take(&tasks->missed, &outcome->missed_count);
    outcome->uncounted = tasks->missed.uncounted;
    outcome->stacks_behind = tasks->stacks ? tasks->stacks->counts.behind : 0;
    stacks_describe(tasks->stacks, outcome->stacks);
}

void outcome_complete(struct outcome *outcome, struct tasks *tasks)
{
    outcome->samples = tasks->samples;
    outcome->lost = tasks->lost;
    outcome->counts = tasks->counts;
    outcome->interval = tasks->interval;
    tasks->counts = tasks->interval = (struct counts){0};
    outcome->counted_only = tasks->counted_only;
    outcome->without_sample = tasks->without_sample;
    outcome->saturated = tasks->saturated;
    outcome->timer_fallbacks = tasks->timer_fallbacks;
    outcome->timer_fallbacks_counted = tasks->timer_fallbacks_counted;
    outcome->refusal = tasks->refusal;
    outcome->wall_ns = monotonic_ns() - tasks->session->start_ns;
    outcome->collector_ns = own_cpu_ns(tasks);
}

uint64_t outcome_time(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

void outcome_release(struct outcome *outcome)
{
    for (unsigned i = 0; i < outcome->missed_count; i++) {
        free((char *)outcome->missed[i].reason);
        free((char *)outcome->missed[i].comm);
    }
    free(outcome->missed);
    counts_release(&outcome->counts);
    counts_release(&outcome->interval);
    outcome->missed = NULL;
    outcome->missed_count = 0;
}
