/* SPDX-License-Identifier: MIT */
#include "analyze/view/heading.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/view/counters.h"
#include "analyze/view/histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/buffer.h"
#include "common/follow.h"

#define STAYED_NS 1000000 /* a task that runs so long after the command's end outlived it */

#define LEAST_MACHINE_NS 200000000 /* shorter is too short: /proc/stat counts in steps of 10 ms */

#define MANY_OTHERS 0.25 /* part of all CPUs: from here on the use by other programs is reported */

#define FOLLOWED_PERCENT 95 /* of the CPU time; if less was followed, the report says so */

/* Whether these files are of only one process of the run, not its first one: the report is about that process. */
static bool is_part_of_run(const struct profile *profile)
{
    bool part = profile->session.ours && profile->task_count;
    for (uint32_t i = 0; i < profile->task_count; i++)
        part &= !profile->tasks[i].root && profile->tasks[i].pid == profile->tasks[0].pid;
    return part;
}

/* The first program of the run's first process; without the options of pinject-run. */
const struct profile_generation *heading_generation(const struct profile *profile)
{
    for (uint32_t i = 0; profile->session.ours && i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        for (uint32_t j = 0; task->root && j < task->generation_count; j++)
            if (task->generations[j].cmdline_count)
                return &task->generations[j];
    }
    return NULL;
}

char *heading_command(const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    const struct profile_generation *generation = heading_generation(profile);
    if (generation)
        return text_command(generation->cmdline, generation->cmdline_count);
    if (session->argument_count)
        return text_command(session->arguments, session->argument_count);
    if (!profile->task_count)
        return memory_text("(no task)");
    return text_task_command(&profile->tasks[0]);
}

uint64_t heading_duration(const struct profile *profile)
{
    uint64_t start = profile->session.start_ns, end = 0;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        if (task->start_ns && (!start || (!profile->session.start_ns && task->start_ns < start)))
            start = task->start_ns;
        if (task->end_ns > end)
            end = task->end_ns;
    }
    return start && end > start ? end - start : 0;
}

char *heading_when(char *ret, size_t size, uint64_t realtime_ns)
{
    struct tm parts;
    time_t seconds = (time_t)(realtime_ns / 1000000000);
    if (!realtime_ns || !localtime_r(&seconds, &parts) || strftime(ret, size, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        ret[0] = '\0';
    return ret;
}

bool heading_is_whole_tree(const struct view *view)
{
    bool tree = false;
    for (uint32_t i = 0; i < view->selection->task_count; i++)
        tree |= view->profile->tasks[view->selection->order[i]].tree;
    return tree;
}

static bool has_samples(const struct view *view)
{
    const struct profile *profile = view->profile;
    return profile->event_count && (profile->events[profile->event].sampled || view->selection->total_samples);
}

/* Where the recorder chose the rate (-F auto): ", at 476 Hz". */
static const char *append_rate(char *ret, const struct view *view, const struct profile_event *event)
{
    const struct selection *selection = view->selection;
    char hz[TEXT_AMOUNT];
    *ret = '\0';
    if (view->profile->session.rate_auto && event->nanoseconds && selection->total_weight)
        snprintf(ret, TEXT_AMOUNT, ", at %s Hz",
                 text_count(hz, (uint64_t)((double)selection->total_samples * 1e9 / (double)selection->total_weight)));
    return ret;
}

/*
 * "task-clock: 9.50 s in 9,523 samples of 312 tasks, at 998 Hz"; for --stat "counted, not sampled: 312 tasks"; owned by
 * the caller.
 */
static char *event_text(const struct view *view)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    char weight[TEXT_AMOUNT], samples[TEXT_AMOUNT], tasks[TEXT_AMOUNT];
    if (!profile->event_count)
        return memory_text("no events");
    const struct profile_event *event = &profile->events[profile->event];
    text_plural(tasks, selection->task_count, "task", "tasks");
    if (!has_samples(view))
        return memory_print("counted, not sampled: %s", heading_is_whole_tree(view) ? "all tasks together" : tasks);
    char share[TEXT_AMOUNT], rate[TEXT_AMOUNT], part[2 * TEXT_AMOUNT] = "";
    if (selection->total_weight < event->weight)
        snprintf(part, sizeof(part), ", %s of all", text_percent(share, selection->total_weight, event->weight));
    return memory_print(
        "%s: %s in %s of %s%s%s%s", event->name, text_weight(weight, selection->total_weight, event->nanoseconds),
        text_plural(samples, selection->total_samples, "sample", "samples"), tasks, append_rate(rate, view, event),
        part, heading_misses_kernel(profile) ? ", user space only" : "");
}

char *heading_unwritten(uint64_t files, uint64_t samples)
{
    char file[TEXT_AMOUNT], sample[TEXT_AMOUNT];
    if (!files)
        return memory_text("");
    text_plural(file, files, "result file is", "result files are");
    if (!samples)
        return memory_print("%s missing or not complete", file);
    return memory_print("%s could not be written, so %s missing or not complete",
                        text_plural(sample, samples, "sample", "samples"), file);
}

char *heading_event(const struct view *view)
{
    const struct profile_session *session = &view->profile->session;
    char lost[TEXT_AMOUNT], *event = event_text(view);
    if (!has_samples(view))
        return event;
    char *unwritten = heading_unwritten(session->incomplete_files, session->unwritten_samples);
    const char *none = view->profile->files_truncated ? "an unknown number" : "none";
    char *text = memory_print("%s, %s lost%s%s", event,
                              view->selection->lost ? text_count(lost, view->selection->lost) : none,
                              *unwritten ? "; " : "", unwritten);
    free(unwritten);
    free(event);
    return text;
}

/* The time of the command itself, if it has ended. Else, or if other tasks outlived it, as heading_duration(). */
uint64_t heading_elapsed(const struct profile *profile)
{
    uint64_t start = 0, end = 0;
    for (uint32_t i = 0; i < profile->task_count && !profile->session.bare; i++) {
        const struct profile_task *task = &profile->tasks[i];
        if (task->root && task->pid == task->tid && task->ended && task->start_ns && task->end_ns > end) {
            start = start ? start : task->start_ns;
            end = task->end_ns;
        }
    }
    /* Other tasks, whose CPU time is counted as well, may have run on: daemons, especially with --linger. */
    uint64_t last = end, first = UINT64_MAX;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        last = task->end_ns > last ? task->end_ns : last;
        first = task->start_ns && task->start_ns < first ? task->start_ns : first;
    }
    if (is_part_of_run(profile))
        return last > first ? last - first : 0;
    return start && end > start && last - end < STAYED_NS ? end - start : heading_duration(profile);
}

/* Whether the whole machine was recorded (perf record -a): then clock events also count idle time. */
static bool has_idle(const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (profile->tasks[i].pid == 0)
            return true;
    return false;
}

static uint64_t cpu_of_tasks(const struct profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        bool estimate = true;
        uint64_t cpu = counters_cpu(profile, &profile->tasks[i], 0, &estimate);
        sum += estimate || cpu == COUNTERS_UNKNOWN ? 0 : cpu;
    }
    return sum;
}

/* The CPU time of the whole run: from accounting, else from samples that are times. 0: unknown. */
uint64_t heading_cpu(const struct profile *profile)
{
    if (profile->session.coverage_known && profile->session.cpu_ns)
        return profile->session.cpu_ns;
    if (is_part_of_run(profile))
        return cpu_of_tasks(profile);
    if (!profile->event_count || !profile->events[profile->event].nanoseconds || profile->session.ours ||
        has_idle(profile))
        return 0;
    return profile->events[profile->event].weight;
}

double heading_others(const struct profile_session *session)
{
    return session->machine_ns >= LEAST_MACHINE_NS ? (double)session->others_ns / (double)session->machine_ns : -1;
}

char *heading_others_text(double least, double most, uint32_t cpus)
{
    char lower[32] = "", of[32] = "";
    if (least < most)
        snprintf(lower, sizeof(lower), "%.2f to ", least);
    if (cpus)
        snprintf(of, sizeof(of), "of %" PRIu32 " ", cpus);
    return memory_print("other programs used %s%.2f %sCPUs", lower, most, of);
}

static void append_part(struct buffer *line, const char *separator, const char *text)
{
    buffer_printf(line, "%s%s", line->size ? separator : "", text);
}

/* "12.3 s elapsed, 20.1 s of CPU time (1.63 CPUs busy on average)" */
static void append_times(struct buffer *line, const struct profile *profile)
{
    uint64_t elapsed = heading_elapsed(profile), cpu = heading_cpu(profile);
    char text[TEXT_AMOUNT], part[2 * TEXT_AMOUNT];
    if (elapsed) {
        snprintf(part, sizeof(part), "%s elapsed", text_time(text, elapsed));
        append_part(line, "", part);
    }
    if (cpu) {
        snprintf(part, sizeof(part), "%s of CPU time", text_time(text, cpu));
        append_part(line, ", ", part);
    }
    if (!elapsed || !cpu)
        return;
    const double others = heading_others(&profile->session);
    buffer_printf(line, " (%.2f CPUs busy on average", (double)cpu / (double)elapsed);
    if (others >= MANY_OTHERS * profile->session.cpus && profile->session.cpus) {
        char *busy = heading_others_text(others, others, profile->session.cpus);
        append_part(line, "; ", busy);
        free(busy);
    }
    buffer_printf(line, ")");
}

/* Whether options left tasks out. */
static bool is_narrowed(const struct profile_session *session)
{
    bool any = false;
    for (uint32_t i = 0; i < session->missed_count; i++)
        any |= strstr(session->missed[i].reason, "not followed") != NULL;
    return any && !follow_is_all(session->flags);
}

bool heading_by_timers(const struct profile *profile)
{
    bool timers = false;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        enum profile_task_source source = profile->tasks[i].source;
        if (source == PROFILE_SOURCE_PERF || source == PROFILE_SOURCE_INHERITED || source == PROFILE_SOURCE_CPU)
            return false;
        timers |= source == PROFILE_SOURCE_TIMER || source == PROFILE_SOURCE_ACCOUNTING;
    }
    return timers;
}

bool heading_misses_kernel(const struct profile *profile)
{
    const struct profile_event *event = profile->event_count ? &profile->events[profile->event] : NULL;
    return profile->session.ours && event && event->exclude_kernel && event->sampled;
}

char *heading_user_part(const struct profile *profile, const char *what)
{
    const struct profile_session *session = &profile->session;
    char time[TEXT_AMOUNT];
    if (!heading_misses_kernel(profile) || session->kernel_ns <= session->user_ns / 2 ||
        session->kernel_ns < HEADING_LEAST_SIDE_NS)
        return NULL;
    return memory_print("%s that call the kernel show only their time in user space: the order of the rows ignores "
                        "the %s that this run spent in the kernel.",
                        what, text_time(time, session->kernel_ns));
}

bool heading_sampled(const struct profile *profile, uint64_t *ret_ns)
{
    const struct profile_event *event = profile->event_count ? &profile->events[profile->event] : NULL;
    if (!event || !event->nanoseconds || !event->sampled)
        return false;
    *ret_ns = event->weight;
    return true;
}

/* Rounded down, so that "100.0 %" means all. */
static double shown_percent(uint64_t part, uint64_t whole)
{
    const double percent = text_share(part, whole);
    return percent > 100 ? 100 : floor(percent * 10) / 10;
}

/* The part of CPU_NS, the sampled time, whose samples could be written. */
static uint64_t written_part(const struct profile *profile, uint64_t cpu_ns)
{
    uint64_t samples = 0;
    for (uint32_t i = 0; i < profile->event_count; i++)
        samples += profile->events[i].samples;
    const double all = (double)samples + (double)profile->session.unwritten_samples;
    return all > 0 ? (uint64_t)((double)cpu_ns * (double)samples / all) : 0;
}

/*
 * One figure: the CPU time of the sampled tasks, less what could not be written. If kernel code gives no samples, it is
 * the time that the samples stand for. For an event that is no clock, only the tasks' time is known.
 */
static void append_coverage(struct buffer *line, const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    uint64_t sampled = 0, in_profile = session->attributed_ns;
    char part[2 * TEXT_AMOUNT];
    if (!session->coverage_known || !session->cpu_ns)
        return;
    const bool clock = heading_sampled(profile, &sampled);
    if (session->incomplete_files)
        in_profile = written_part(profile, in_profile);
    if (clock && heading_misses_kernel(profile) && sampled < in_profile)
        in_profile = sampled;
    snprintf(part, sizeof(part), "%s%.1f %% of the CPU time%s is in this profile%s",
             profile->files_truncated ? "at most " : "", shown_percent(in_profile, session->cpu_ns),
             session->coverage_complete ? "" : " so far", clock ? "" : "'s tasks");
    append_part(line, "; ", part);
    if (text_share(session->attributed_ns, session->cpu_ns) < FOLLOWED_PERCENT && is_narrowed(session)) {
        char follow[FOLLOW_TEXT];
        buffer_printf(line, " (--follow=%s left out other tasks: record with --follow=all)",
                      follow_text(follow, session->flags));
    }
    if (heading_misses_kernel(profile))
        buffer_printf(line, ", kernel code is not sampled");
}

static void append_loss(struct buffer *line, const struct view *view)
{
    const struct profile_session *session = &view->profile->session;
    const uint32_t truncated = view->profile->files_truncated;
    char number[TEXT_AMOUNT], part[3 * TEXT_AMOUNT];
    char *unwritten = heading_unwritten(session->incomplete_files, session->unwritten_samples);
    if (*unwritten)
        append_part(line, "; ", unwritten);
    if (truncated) {
        snprintf(part, sizeof(part), "%s truncated: data is missing at %s",
                 text_plural(number, truncated, "file is", "files are"), truncated == 1 ? "its end" : "their ends");
        append_part(line, "; ", part);
    }
    if (has_samples(view) && ((!*unwritten && !truncated) || view->selection->lost)) {
        text_plural(number, view->selection->lost, "sample", "samples");
        snprintf(part, sizeof(part), "%s lost%s", view->selection->lost ? number : "no samples",
                 view->selection->filtered                      ? " in the selected tasks"
                 : session->ours && !session->coverage_known    ? " in these files"
                 : session->ours && !session->coverage_complete ? " so far"
                                                                : "");
        append_part(line, "; ", part);
        if (session->ours && !session->coverage_known && !is_part_of_run(view->profile))
            buffer_printf(line, "; the run has not ended, or the file of the first task, which describes the "
                                "whole run, is missing or truncated");
    }
    free(unwritten);
}

char *heading_run(const struct view *view)
{
    struct buffer line = BUFFER_INIT;
    append_times(&line, view->profile);
    append_coverage(&line, view->profile);
    append_loss(&line, view);
    if (buffer_failed(&line))
        memory_exhausted();
    /* Filters by task only select samples: all other figures are about the whole run. */
    char *text = memory_print("%s%s", view->selection->filtered && line.size ? "Whole run: " : "",
                              line.size ? (const char *)line.data : "");
    buffer_release(&line);
    return text;
}

static void print_run(struct view *view)
{
    char *line = heading_run(view);
    output_color(view->output, OUTPUT_BOLD);
    if (*line)
        output_wrapped(view->output, 2, line);
    output_color(view->output, OUTPUT_PLAIN);
    free(line);
}

static void print_facts(struct view *view)
{
    const struct profile_session *session = &view->profile->session;
    char when[64], whole[2 * TEXT_AMOUNT] = "";
    heading_when(when, sizeof(when), session->start_realtime_ns);
    if (session->stacks && has_samples(view) && !view->selection->filtered)
        snprintf(whole, sizeof(whole), ", %.1f %% of the call stacks are whole",
                 floor(text_share(session->whole_stacks, session->stacks) * 10) / 10);
    char *event = event_text(view), *line = memory_print("%s%s%s%s", event, whole, *when ? "; " : "", when);
    output_wrapped(view->output, 2, line);
    free(line);
    free(event);
}

static void print_other_event(const struct view *view, uint32_t index)
{
    const struct profile_event *event = &view->profile->events[index];
    struct histogram_other sum = event_group_sum(view, EVENT_GROUP_ALL, index);
    char amount[TEXT_AMOUNT], number[TEXT_AMOUNT];
    char *line = memory_print("%s: %s in %s", event->name, text_weight(amount, sum.weight, event->nanoseconds),
                              text_plural(number, sum.samples, "sample", "samples"));
    output_wrapped(view->output, 2, line);
    free(line);
}

/* Whether a note of the recorder already gives the reason why EVENT is missing. */
static bool is_noted(const struct profile_session *session, const char *event)
{
    for (uint32_t i = 0; i < session->note_count; i++) {
        static const char missing[] = "not on this machine: ";
        const char *note = session->notes[i];
        if (strncmp(note, missing, sizeof(missing) - 1) == 0 &&
            strncmp(note + sizeof(missing) - 1, event, strlen(event)) == 0)
            return true;
    }
    return false;
}

/* Prints the other events of these files, and why this one is not cycles. */
static void print_other_events(struct view *view)
{
    const struct profile *profile = view->profile;
    const char *reason = profile->session.event_reason;
    if (reason && *reason && !is_noted(&profile->session, "cycles")) {
        char *line = memory_print("%s is sampled%s: %s", profile->events[profile->event].name,
                                  heading_by_timers(profile) ? " by timers" : " because cycles are not available",
                                  reason);
        output_wrapped(view->output, 2, line);
        free(line);
    }
    char *list = NULL;
    for (uint32_t i = 0; i < profile->event_count; i++) {
        if (i == profile->event || !profile->events[i].sampled)
            continue;
        if (view->settings->group) {
            print_other_event(view, i);
            continue;
        }
        char *longer = memory_print("%s%s%s", list ? list : "", list ? ", " : "", profile->events[i].name);
        free(list);
        list = longer;
    }
    if (list) {
        char *line = memory_print("Other sampled events (--event shows one of them): %s", list);
        output_wrapped(view->output, 2, line);
        free(line);
    }
    free(list);
}

void heading_print(struct view *view)
{
    const struct profile *profile = view->profile;
    struct output *output = view->output;
    const bool part = is_part_of_run(profile) && *profile->tasks[0].comm;
    char *command = part ? text_task_command(&profile->tasks[0]) : heading_command(profile);
    char *clean = text_clean(command, output->utf8);
    print_run(view);
    if (output->width)
        text_cut(clean, (size_t)output->width, output->utf8);
    fprintf(output->to, "%s\n", clean);
    free(clean);
    free(command);
    print_facts(view);
    if (profile->event_count)
        print_other_events(view);
}

/* The most that a selected task counted of the shown event. */
static uint64_t most_counted(const struct view *view)
{
    const struct profile *profile = view->profile;
    uint64_t most = 0;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        for (uint32_t j = 0; view->selection->tasks[i] && j < task->count_count; j++)
            if (task->counts[j].event == profile->event && task->counts[j].value > most)
                most = task->counts[j].value;
    }
    return most;
}

void heading_print_no_samples(struct view *view)
{
    const struct profile *profile = view->profile;
    const struct profile_event *event = profile->event_count ? &profile->events[profile->event] : NULL;
    const uint64_t period = event && event->sampled && !event->frequency ? event->sample_value : 0;
    const uint64_t most = period ? most_counted(view) : 0;
    char each[TEXT_AMOUNT], counted[TEXT_AMOUNT], why[256] = "";
    if (most && most < period)
        snprintf(why, sizeof(why),
                 ": a task gives its first sample when it has counted %s%s, and no task counted more than %s (record "
                 "with a smaller -c)",
                 event->nanoseconds ? text_time(each, period) : text_count(each, period),
                 event->nanoseconds ? "" : " events",
                 event->nanoseconds ? text_time(counted, most) : text_count(counted, most));
    char *line = memory_print("No samples%s. 'panalyze counts' shows what was counted, and 'panalyze tree' shows what "
                              "ran.",
                              why);
    fputc('\n', view->output->to);
    output_wrapped(view->output, 0, line);
    free(line);
}
