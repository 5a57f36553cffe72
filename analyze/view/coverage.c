/* SPDX-License-Identifier: MIT */
#include "analyze/view/coverage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

#define MOST_MISSED   12
#define SIDES_PERCENT 3 /* most that the parts together may differ from the total */

/* Prints one line; in Markdown a list item, where '<' must not begin a tag. */
void coverage_say(struct view *view, const char *text)
{
    if (!view->settings->markdown) {
        output_wrapped(view->output, 2, text);
        return;
    }
    char *clean = text_clean(text, view->output->utf8);
    fputs("* ", view->output->to);
    for (const char *at = clean; *at; at++) {
        if (*at == '<')
            fputs("&lt;", view->output->to);
        else
            fputc(*at, view->output->to);
    }
    fputc('\n', view->output->to);
    free(clean);
}

/* ", 9.40 s in samples (98.74 %)" if samples are times, else ""; owned by the caller. */
static char *sampled_text(const struct profile *profile)
{
    char time[TEXT_AMOUNT], share[TEXT_AMOUNT];
    uint64_t sampled;
    if (!heading_sampled(profile, &sampled))
        return memory_text("");
    if (!profile->session.cpu_ns)
        return memory_print(", %s in samples", text_time(time, sampled));
    return memory_print(", %s in samples (%s)", text_time(time, sampled),
                        text_percent(share, sampled, profile->session.cpu_ns));
}

/*
 * " (9.10 s in user space, 300 ms in the kernel)", or "". The kernel divides a task's time by where clock ticks hit,
 * which says little about short times: samples may have 20 ms where it has none. It also lacks the time that the host
 * of a virtual machine took away (steal), which the total has. Uncertain figures are left out.
 */
static void sides_text(char *ret, size_t size, const struct profile_session *session)
{
    char user[TEXT_AMOUNT], kernel[TEXT_AMOUNT];
    const uint64_t sum = session->user_ns + session->kernel_ns;
    const uint64_t least = session->user_ns < session->kernel_ns ? session->user_ns : session->kernel_ns;
    ret[0] = '\0';
    if (session->cpu_ns && least >= HEADING_LEAST_SIDE_NS &&
        fabs(text_share(sum, session->cpu_ns) - 100) <= SIDES_PERCENT)
        snprintf(ret, size, " (%s in user space, %s in the kernel)", text_time(user, session->user_ns),
                 text_time(kernel, session->kernel_ns));
}

static char *cpu_text(const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    char cpu[TEXT_AMOUNT], tasks[TEXT_AMOUNT], share[TEXT_AMOUNT];
    if (!session->ours && session->items_lost)
        return memory_text("CPU time of the whole run is unknown: the files are truncated");
    if (!session->ours)
        return memory_text("CPU time of the whole run is unknown: perf's files do not contain it");
    if (!session->coverage_known)
        return memory_text(
            "CPU time of the whole run is unknown: the first task's file is missing or truncated, or the run has not "
            "ended");
    char *sampled = sampled_text(profile);
    if (!session->cpu_ns) {
        char *unknown = memory_print("CPU time of the whole run is unknown; %s attributed to tasks%s",
                                     text_time(tasks, session->attributed_ns), sampled);
        free(sampled);
        return unknown;
    }
    char sides[3 * TEXT_AMOUNT];
    sides_text(sides, sizeof(sides), session);
    char *text = memory_print("CPU time %s%s%s, %s%s attributed to tasks (%s)%s", text_time(cpu, session->cpu_ns),
                              sides, session->coverage_complete ? "" : " so far",
                              text_time(tasks, session->attributed_ns),
                              session->attributed_ns > session->cpu_ns ? "" : " of it",
                              text_percent(share, session->attributed_ns, session->cpu_ns), sampled);
    free(sampled);
    return text;
}

static void print_cpu(struct view *view)
{
    const struct profile *profile = view->profile;
    char number[TEXT_AMOUNT], none[TEXT_AMOUNT];
    uint64_t without = 0;
    for (uint32_t i = 0; i < profile->task_count; i++)
        without += profile->tasks[i].samples == 0;
    bool some = without && without < profile->task_count;
    char *cpu = cpu_text(profile);
    text_plural(number, profile->task_count, "task", "tasks");
    char *line = memory_print("%s; %s%s%s%s", cpu, heading_is_whole_tree(view) ? "all tasks together" : number,
                              some ? ", " : "", some ? text_count(none, without) : "", some ? " without a sample" : "");
    coverage_say(view, line);
    if (profile->session.coverage_known && !profile->session.coverage_complete)
        coverage_say(view, "The run had not ended when these files were written.");
    else if (profile->session.recorded_files > profile->files_read) {
        char read[TEXT_AMOUNT], all[TEXT_AMOUNT];
        char *text = memory_print("Only %s of the %s result files of the run were read.",
                                  text_count(read, profile->files_read),
                                  text_count(all, profile->session.recorded_files));
        coverage_say(view, text);
        free(text);
    }
    free(line);
    free(cpu);
}

static void print_missed(struct view *view)
{
    const struct profile_session *session = &view->profile->session;
    for (uint32_t i = 0; i < session->missed_count && i < MOST_MISSED; i++) {
        const struct profile_missed *missed = &session->missed[i];
        char count[TEXT_AMOUNT], time[TEXT_AMOUNT];
        char *line = memory_print("Not seen: %s%s%s, %s%s%s", missed->comm, *missed->comm ? ": " : "", missed->reason,
                                  text_plural(count, missed->count, "time", "times"),
                                  missed->cpu_ns ? ", CPU time " : "",
                                  missed->cpu_ns ? text_time(time, missed->cpu_ns) : "");
        coverage_say(view, line);
        free(line);
    }
    if (session->missed_count > MOST_MISSED)
        coverage_say(view, "more was not seen; 'panalyze info' shows the whole list");
}

/* Whether a note of the recorder says that kernel code is missing. */
static bool kernel_is_noted(const struct profile_session *session)
{
    for (uint32_t i = 0; i < session->note_count; i++)
        if (strstr(session->notes[i], "user space"))
            return true;
    return false;
}

void coverage_print(struct view *view)
{
    const struct profile *profile = view->profile;
    const struct profile_session *session = &profile->session;
    if (view->selection && view->selection->filtered)
        coverage_say(view, "The lines below are about the whole run, not only the selected tasks:");
    print_cpu(view);
    if (profile->lost) {
        char lost[TEXT_AMOUNT];
        char *line = memory_print("Lost: %s (to lose fewer, record with a larger period or a lower frequency)",
                                  text_plural(lost, profile->lost, "sample", "samples"));
        coverage_say(view, line);
        free(line);
    }
    print_missed(view);
    if (session->exclude_kernel && heading_by_timers(profile))
        coverage_say(view, "Not sampled: kernel code (timers sample user space only)");
    else if (session->exclude_kernel && !kernel_is_noted(session))
        coverage_say(view, profile->entry_count
                               ? "Not sampled: kernel code; shares are of the time in user space (to sample kernel "
                                 "code, record as root, or set kernel.perf_event_paranoid to 1 or less)"
                               : "Not counted: events in kernel code, except CPU time; 'pinject-run --doctor' says "
                                 "what to change");
    for (uint32_t i = 0; i < session->note_count; i++) {
        char *line = memory_print("Note: %s", session->notes[i]);
        coverage_say(view, line);
        free(line);
    }
}

static void sampled_json(struct json *json, const struct profile *profile)
{
    uint64_t sampled = 0;
    const bool known = heading_sampled(profile, &sampled);
    if (known)
        json_unsigned(json, "sampled_ns", sampled);
    else
        json_null(json, "sampled_ns");
    if (known && profile->session.cpu_ns)
        json_number(json, "sampled_percent", text_share(sampled, profile->session.cpu_ns));
    else
        json_null(json, "sampled_percent");
}

static void missed_json(struct json *json, const char *key, const struct profile_session *session)
{
    json_list(json, key);
    for (uint32_t i = 0; i < session->missed_count; i++) {
        json_object(json, NULL);
        json_string(json, "reason", session->missed[i].reason);
        json_string(json, "comm", session->missed[i].comm);
        json_unsigned(json, "count", session->missed[i].count);
        json_unsigned(json, "cpu_ns", session->missed[i].cpu_ns);
        json_end_object(json);
    }
    json_end_list(json);
}

static void notes_json(struct json *json, const struct profile_session *session)
{
    json_list(json, "notes");
    for (uint32_t i = 0; i < session->note_count; i++)
        json_string(json, NULL, session->notes[i]);
    json_end_list(json);
}

void coverage_json(struct json *json, const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    json_object(json, "coverage");
    if (session->coverage_known) {
        json_unsigned(json, "cpu_ns", session->cpu_ns);
        json_unsigned(json, "attributed_ns", session->attributed_ns);
        json_number(json, "percent", text_share(session->attributed_ns, session->cpu_ns));
        sampled_json(json, profile);
        json_unsigned(json, "collector_ns", session->collector_ns);
        json_unsigned(json, "incomplete_files", session->incomplete_files);
        json_unsigned(json, "unwritten_samples", session->unwritten_samples);
    } else {
        json_null(json, "cpu_ns");
        json_null(json, "attributed_ns");
        json_null(json, "percent");
        json_null(json, "sampled_ns");
        json_null(json, "sampled_percent");
        json_null(json, "collector_ns");
        json_null(json, "incomplete_files");
        json_null(json, "unwritten_samples");
    }
    if (session->machine_ns) {
        json_unsigned(json, "machine_ns", session->machine_ns);
        json_unsigned(json, "others_ns", session->others_ns);
    } else {
        json_null(json, "machine_ns");
        json_null(json, "others_ns");
    }
    if (session->user_ns || session->kernel_ns) {
        json_unsigned(json, "user_ns", session->user_ns);
        json_unsigned(json, "kernel_ns", session->kernel_ns);
    } else {
        json_null(json, "user_ns");
        json_null(json, "kernel_ns");
    }
    json_bool(json, "complete", session->coverage_known && session->coverage_complete);
    json_bool(json, "kernel_excluded", session->exclude_kernel);
    missed_json(json, "unseen", session); /* the older name */
    missed_json(json, "missed", session);
    notes_json(json, session);
    json_end_object(json);
}
