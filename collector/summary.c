/* SPDX-License-Identifier: MIT */
#include "collector/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/follow.h"
#include "common/report.h"

#define LEAST_KERNEL_NS 40000000 /* ten clock ticks of most kernels: less proves nothing */

enum { FOLLOWED_PERCENT = 95 /* of the CPU time: if less is followed, that is reported */ };
enum { MISSED_SHOWN = 3 };
enum { LEAST_UNCOUNTED_NS = 1000 * 1000 }; /* a start and an end take less */

/* "1 task", "2 tasks", "3 processes" */
static void append_count(struct buffer *to, uint64_t count, const char *one, const char *many)
{
    buffer_printf(to, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

static void append_time(struct buffer *to, uint64_t ns)
{
    if (ns < 1000000)
        buffer_printf(to, "%.0f us", (double)ns / 1e3);
    else if (ns < 1000000000)
        buffer_printf(to, "%.1f ms", (double)ns / 1e6);
    else
        buffer_printf(to, "%.2f s", (double)ns / 1e9);
}

static void append_bytes(struct buffer *to, uint64_t bytes)
{
    if (bytes < 1000000)
        buffer_printf(to, "%.1f kB", (double)bytes / 1e3);
    else if (bytes < 1000000000)
        buffer_printf(to, "%.1f MB", (double)bytes / 1e6);
    else
        buffer_printf(to, "%.2f GB", (double)bytes / 1e9);
}

/* Prints the line so far as a note. */
static void print_note(struct buffer *line)
{
    buffer_append(line, "", 1);
    if (!buffer_failed(line))
        report_note("%s", (const char *)line->data);
    buffer_clear(line);
}

/* If there is no memory for lines, the main figures are reported. */
static bool can_say(const struct outcome *outcome)
{
    struct buffer line = BUFFER_INIT;
    buffer_printf(&line, "%512s", "");
    bool failed = buffer_failed(&line);
    buffer_release(&line);
    if (failed)
        report_error("%" PRIu64 " tasks, %" PRIu64 " samples, %" PRIu64
                     " lost; the rest of the summary is missing: out of "
                     "memory",
                     outcome->tasks, outcome->samples, outcome->lost);
    return !failed;
}

/* BASE quoted for a shell, so that the line can be copied; a glob may follow. */
static void append_quoted(struct buffer *to, const char *base)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+,:@%-";
    const char *front = base[0] == '-' ? "./" : "";
    if (base[strspn(base, plain)] == '\0') {
        buffer_printf(to, "%s%s", front, base);
        return;
    }
    buffer_printf(to, "%s'", front);
    for (; *base; base++) {
        if (*base == '\'')
            buffer_append(to, "'\\''", 4);
        else
            buffer_append(to, base, 1);
    }
    buffer_append(to, "'", 1);
}

/* The names of the sampling events. */
static void append_events(struct buffer *to, const struct event_config *config)
{
    const char *comma = "";
    for (unsigned i = 0; i < config->count; i++) {
        if (!config->events[i].samples)
            continue;
        buffer_printf(to, "%s%s", comma, config->events[i].name);
        comma = ", ";
    }
}

static void print_tasks(const struct session *session, const struct outcome *outcome, bool stat, struct buffer *line)
{
    append_count(line, outcome->tasks, "task", "tasks");
    if (outcome->tasks > 1) {
        buffer_printf(line, " (");
        append_count(line, outcome->processes, "process", "processes");
        if (outcome->threads) {
            buffer_printf(line, ", ");
            append_count(line, outcome->threads, "further thread", "further threads");
        }
        buffer_printf(line, ", at most %" PRIu64 " at once)", outcome->active_max);
    }
    if (!stat) {
        buffer_printf(line, ", ");
        append_count(line, outcome->samples, "sample", "samples");
        buffer_printf(line, " of ");
        append_events(line, session->config);
        buffer_printf(line, ", %" PRIu64 " lost", outcome->lost);
    }
    print_note(line);
}

/* If not everything was followed, and much of the CPU time is missing: reported first. */
static void print_narrow(const struct settings *settings, const struct outcome *outcome, struct buffer *line)
{
    char follow[FOLLOW_TEXT];
    double percent = outcome->cpu_ns ? 100.0 * (double)outcome->attributed_ns / (double)outcome->cpu_ns : 100;
    bool left_out = false;
    for (unsigned i = 0; i < outcome->missed_count; i++)
        left_out |= strstr(outcome->missed[i].reason, "not followed") != NULL;
    if (percent >= FOLLOWED_PERCENT || !left_out || follow_is_all(settings->follow))
        return;
    buffer_printf(line,
                  "only %.1f %% of the CPU time is in this profile: --follow=%s left out other tasks "
                  "(--follow=all profiles them)",
                  percent, follow_text(follow, settings->follow));
    print_note(line);
}

/* "9.52 s, 9.50 s of this time in recorded tasks (99.8 %)" */
static void append_recorded(const struct outcome *outcome, struct buffer *line)
{
    if (outcome->cpu_ns) {
        append_time(line, outcome->cpu_ns);
        buffer_printf(line, ", ");
    }
    append_time(line, outcome->attributed_ns);
    /* These are two clocks: the tasks' may have a little more. */
    buffer_printf(line,
                  outcome->cpu_ns >= outcome->attributed_ns ? " of this time in recorded tasks" : " in recorded tasks");
    if (outcome->cpu_ns)
        buffer_printf(line, " (%.1f %%)", 100.0 * (double)outcome->attributed_ns / (double)outcome->cpu_ns);
}

/* No task is recorded by itself. Of programs that lost their events, only the CPU time is known. */
static void append_counted(const struct outcome *outcome, struct buffer *line)
{
    append_time(line, outcome->attributed_ns);
    if (outcome->tree_exit_ns < LEAST_UNCOUNTED_NS || outcome->tree_exit_ns < outcome->attributed_ns / 10)
        return;
    buffer_printf(line, ", ");
    append_time(line, outcome->tree_exit_ns);
    buffer_printf(line, " of this time not counted by events (the start and end of each process, setuid programs)");
}

static void print_time(const struct outcome *outcome, struct buffer *line)
{
    buffer_printf(line, "CPU time ");
    if (outcome->whole_tree)
        append_counted(outcome, line);
    else
        append_recorded(outcome, line);
    if (outcome->stolen_ns) {
        buffer_printf(line, ", including ");
        append_time(line, outcome->stolen_ns);
        buffer_printf(line, " of steal time");
    }
    buffer_printf(line, "; profiler overhead: ");
    append_time(line, outcome->collector_ns);
    print_note(line);
}

/* --saturate-smpl-buffer. */
static void print_saturated(const struct settings *settings, const struct outcome *outcome, struct buffer *line)
{
    if (!settings->saturate)
        return;
    if (!outcome->saturated) {
        buffer_printf(line, "no task reached the limit of ");
        append_count(line, settings->saturate, "sample", "samples");
        buffer_printf(line, " (--saturate-smpl-buffer)");
        print_note(line);
        return;
    }
    append_count(line, outcome->saturated, "task", "tasks");
    buffer_printf(line, " reached the limit of ");
    append_count(line, settings->saturate, "sample", "samples");
    buffer_printf(line, outcome->saturated == 1 ? ": from then on it was only counted (--saturate-smpl-buffer)"
                                                : ": from then on they were only counted (--saturate-smpl-buffer)");
    print_note(line);
}

/* What is in the CPU time but not in the samples. */
static void print_kernel(const struct event_config *config, const struct outcome *outcome, struct buffer *line)
{
    if (config->source != PINJECT_SOURCE_PERF || !config->exclude_kernel)
        return;
    buffer_printf(line, "kernel code is not sampled");
    if (outcome->cpu_ns && outcome_time(&outcome->tree.ru_stime) >= LEAST_KERNEL_NS) {
        buffer_printf(line, " (");
        append_time(line, outcome_time(&outcome->tree.ru_stime));
        buffer_printf(line, " of the CPU time)");
    }
    buffer_printf(line, "; 'pinject-run --doctor' says why");
    print_note(line);
}

static int by_count(const void *one, const void *other)
{
    const struct result_missed *const *a = one, *const *b = other;
    if ((*a)->cpu_ns != (*b)->cpu_ns)
        return (*a)->cpu_ns < (*b)->cpu_ns ? 1 : -1;
    return ((*a)->count < (*b)->count) - ((*a)->count > (*b)->count);
}

/* The heaviest first; the files have all of them. */
static void print_missed(const struct outcome *outcome, bool all, struct buffer *line)
{
    if (!outcome->missed_count)
        return;
    const struct result_missed **sorted = calloc(outcome->missed_count, sizeof(*sorted));
    if (!sorted)
        return;
    for (unsigned i = 0; i < outcome->missed_count; i++)
        sorted[i] = &outcome->missed[i];
    qsort(sorted, outcome->missed_count, sizeof(*sorted), by_count);
    unsigned shown = all || outcome->missed_count < MISSED_SHOWN ? outcome->missed_count : MISSED_SHOWN;
    for (unsigned i = 0; i < shown; i++) {
        buffer_printf(line, "not seen (%" PRIu64 " %s): %s", sorted[i]->count, sorted[i]->count == 1 ? "time" : "times",
                      sorted[i]->reason);
        if (sorted[i]->comm && sorted[i]->comm[0])
            buffer_printf(line, ": %s", sorted[i]->comm);
        if (sorted[i]->cpu_ns) {
            buffer_printf(line, ", CPU time ");
            append_time(line, sorted[i]->cpu_ns);
        }
        if (i == shown - 1 && outcome->missed_count > shown)
            buffer_printf(line, "; %u more %s: see 'panalyze info'", outcome->missed_count - shown,
                          outcome->missed_count - shown == 1 ? "reason" : "reasons");
        print_note(line);
    }
    free(sorted);
}

/* The back end, if it is not the usual one. */
static void print_back_end(const struct event_config *config, const struct settings *settings, struct buffer *line)
{
    if (config->source != PINJECT_SOURCE_TIMER || settings->verbose) /* then it is among the notes at the start */
        return;
    buffer_printf(line, "%s", config->notes[0]);
    print_note(line);
}

/* Tasks whose events timers replaced. */
static void print_fallbacks(const struct outcome *outcome, bool stat, struct buffer *line)
{
    const char *reason = strerror(-outcome->refusal);
    uint64_t less = outcome->timer_fallbacks_counted, more = outcome->timer_fallbacks - less;
    if (more) {
        append_count(line, more, "task was", "tasks were");
        buffer_printf(line,
                      " %s: the kernel refused %s events (%s), as it does for tasks that are not dumpable or belong "
                      "to another user; root can profile %s",
                      stat ? "counted by the preload object" : "sampled by timers", more == 1 ? "its" : "their", reason,
                      more == 1 ? "it" : "them");
        print_note(line);
    }
    if (less) {
        append_count(line, less, "task was", "tasks were");
        buffer_printf(line, " not %s: the kernel refused %s events (%s), and no timer could replace them",
                      stat ? "counted" : "sampled", less == 1 ? "its" : "their", reason);
        print_note(line);
    }
}

/* The note with NUMBER, from 1, about something that the user asked for and does not get; 0: none. */
static void print_not_given(const struct event_config *config, const struct settings *settings, unsigned number,
                            struct buffer *line)
{
    if (!number || settings->verbose)
        return;
    buffer_printf(line, "%s", config->notes[number - 1]);
    print_note(line);
}

static void print_alive(const struct outcome *outcome, const struct settings *settings, struct buffer *line)
{
    if (outcome->tree_alive) {
        buffer_printf(line, "some tasks of the command still run, and are counted up to now (--linger waits for them)");
        print_note(line);
    }
    if (!outcome->alive)
        return;
    append_count(line, outcome->alive, "task still runs", "tasks still run");
    buffer_printf(line, ", profiled up to now");
    if (!settings->linger && !settings->bare)
        buffer_printf(line, " (--linger waits for %s)", outcome->alive == 1 ? "it" : "them");
    print_note(line);
}

static void print_limits(const struct event_config *config, const struct outcome *outcome, bool stat,
                         struct buffer *line)
{
    uint64_t short_of_memory = outcome->counted_only > outcome->timer_fallbacks_counted
                                   ? outcome->counted_only - outcome->timer_fallbacks_counted
                                   : 0;
    print_fallbacks(outcome, stat, line);
    if (outcome->counted_only && config->source == PINJECT_SOURCE_TIMER) {
        append_count(line, outcome->counted_only, "task was", "tasks were");
        buffer_printf(line, " counted by the kernel, but not sampled: no timer ran in %s",
                      outcome->counted_only == 1 ? "this task" : "these tasks");
        print_note(line);
    } else if (short_of_memory && !stat) {
        append_count(line, short_of_memory, "task was", "tasks were");
        buffer_printf(line, " counted but not sampled: the memory for sampling was used up"
                            " (raise 'ulimit -l' or /proc/sys/kernel/perf_event_mlock_kb)");
        print_note(line);
    }
}

/* The argument for panalyze. */
static void append_place(struct buffer *line, const struct settings *settings)
{
    append_quoted(line, settings->directory ? settings->directory : settings->outfile);
    buffer_printf(line, "%s", settings->directory ? "" : ".*");
}

static void print_files(const struct results *results, const struct settings *settings, struct buffer *line)
{
    const uint64_t files = results_written(results);
    if (!files)
        return;
    append_count(line, files, "file", "files");
    buffer_printf(line, "%s", settings->directory ? " in " : " ");
    append_place(line, settings);
    buffer_printf(line, " (");
    append_bytes(line, results_bytes(results));
    buffer_printf(line, "); next: panalyze %s", settings->stat ? "counts " : "");
    append_place(line, settings);
    print_note(line);
    if (results_moved(results)) {
        append_count(line, results_moved(results), "file of an earlier run was", "files of an earlier run were");
        buffer_printf(line, " renamed to NAME.old, because this run writes NAME");
        print_note(line);
    }
}

/* Reported even when quiet: an incomplete profile must not look like a whole one. */
static void print_failed(const struct results *results)
{
    uint64_t failed, samples;
    int error = results_error(results, &failed, &samples);
    char unwritten[64] = "";
    if (samples)
        snprintf(unwritten, sizeof(unwritten), "; %" PRIu64 " %s could not be written", samples,
                 samples == 1 ? "sample" : "samples");
    if (error)
        report_error("%" PRIu64 " %s not complete: %s%s", failed,
                     failed == 1 ? "file is missing or" : "files are missing or", results_reason(error), unwritten);
}

void summary_print(const struct session *session, const struct results *results, const struct outcome *outcome,
                   const struct settings *settings)
{
    struct buffer line = BUFFER_INIT;
    /* Another program reads the counts from stderr. */
    const bool quiet = settings->quiet || (settings->stat && settings->count_form && !settings->counts_file);
    const bool speaks = can_say(outcome) && !quiet;
    if (outcome->uncounted)
        report_error("%" PRIu64 " tasks or records are missing and cannot be listed: out of memory",
                     outcome->uncounted);
    if (speaks) {
        print_narrow(settings, outcome, &line);
        if (!outcome->whole_tree)
            print_tasks(session, outcome, settings->stat, &line);
        print_not_given(session->config, settings, session->config->whole_tree_note, &line);
        print_saturated(settings, outcome, &line);
        print_back_end(session->config, settings, &line);
        print_not_given(session->config, settings, session->config->dump_note, &line);
        /* Without --stat and with perf events, the note is about tasks that are covered by inheritance alone. */
        if (settings->stat || session->config->source == PINJECT_SOURCE_TIMER || outcome->inherited)
            print_not_given(session->config, settings, session->config->values_note, &line);
        if (outcome->stacks[0]) {
            buffer_printf(&line, "%s", outcome->stacks);
            print_note(&line);
        }
        if (outcome->attributed_ns || outcome->cpu_ns)
            print_time(outcome, &line);
        if (!settings->stat)
            print_kernel(session->config, outcome, &line);
        print_missed(outcome, settings->verbose > 0, &line);
        print_limits(session->config, outcome, settings->stat, &line);
        print_alive(outcome, settings, &line);
        if (settings->verbose && outcome->without_sample && !settings->stat) {
            append_count(&line, outcome->without_sample, "task was", "tasks were");
            buffer_printf(&line, " too short for a sample");
            print_note(&line);
        }
    }
    print_failed(results);
    if (speaks)
        print_files(results, settings, &line);
    buffer_release(&line);
}

static unsigned say_count(uint64_t count, const char *one, const char *many)
{
    if (count)
        report_error("--strict: %" PRIu64 " %s", count, count == 1 ? one : many);
    return count > 0;
}

unsigned summary_incomplete(const struct session *session, const struct results *results, const struct outcome *outcome)
{
    uint64_t failed, samples;
    int error = results_error(results, &failed, &samples);
    bool sampling = session->config->sampling;
    unsigned reasons = say_count(error ? failed : 0, "file is missing or not complete",
                                 "files are missing or not complete");
    reasons += say_count(outcome->lost, "sample was lost", "samples were lost");
    reasons += say_count(sampling ? outcome->counted_only : 0, "task was counted but not sampled",
                         "tasks were counted but not sampled");
    reasons += say_count(outcome->stacks_behind, "call stack was unwound by frame pointer: the collector fell behind",
                         "call stacks were unwound by frame pointer: the collector fell behind");
    reasons += say_count(outcome->alive, "task still runs: what it does from now on is missing",
                         "tasks still run: what they do from now on is missing");
    if (outcome->tree_alive) {
        report_error("--strict: some tasks of the command still run: what they do from now on is missing");
        reasons++;
    }
    reasons += say_count(outcome->uncounted, "task or record is missing: out of memory",
                         "tasks or records are missing: out of memory");
    for (unsigned i = 0; i < outcome->missed_count; i++) {
        const struct result_missed *line = &outcome->missed[i];
        if (line->chosen)
            continue;
        report_error("--strict: not seen (%" PRIu64 " %s): %s%s%s", line->count, line->count == 1 ? "time" : "times",
                     line->reason, line->comm[0] ? ": " : "", line->comm);
        reasons++;
    }
    return reasons;
}
