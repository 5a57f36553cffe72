/* SPDX-License-Identifier: MIT */
#include "analyze/view/heading.h"

#include <stdlib.h>
#include <time.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

char *heading_command(const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    if (session->argument_count)
        return text_command(session->arguments, session->argument_count);
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (profile->tasks[i].root && profile->tasks[i].cmdline_count)
            return text_command(profile->tasks[i].cmdline, profile->tasks[i].cmdline_count);
    if (profile->task_count)
        return profile->tasks[0].cmdline_count ? text_command(profile->tasks[0].cmdline, profile->tasks[0].cmdline_count)
                                               : memory_text(profile->tasks[0].comm);
    return memory_text("(no task)");
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

static void print_event(struct view *view)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    const struct profile_event *event = &profile->events[profile->event];
    char *name = text_clean(event->name, view->output->utf8);
    char weight[TEXT_AMOUNT], samples[TEXT_AMOUNT], tasks[TEXT_AMOUNT], lost[TEXT_AMOUNT];
    fprintf(view->output->to, "%s: %s in %s of %s, ", name, text_weight(weight, selection->total_weight, event->nanoseconds),
            text_plural(samples, selection->total_samples, "sample", "samples"),
            text_plural(tasks, selection->task_count, "task", "tasks"));
    if (selection->lost)
        fprintf(view->output->to, "%s lost", text_count(lost, selection->lost));
    else
        fputs("none lost", view->output->to);
    free(name);
}

/* Other events of these files, and why this one is not cycles. */
static void print_others(struct view *view)
{
    const struct profile *profile = view->profile;
    const char *reason = profile->session.event_reason;
    if (reason && *reason) {
        char *line = memory_print("%s is sampled because cycles are not available: %s", profile->events[profile->event].name, reason);
        output_wrapped(view->output, 2, line);
        free(line);
    }
    char *list = NULL;
    for (uint32_t i = 0; i < profile->event_count; i++) {
        if (i == profile->event || !profile->events[i].sampled)
            continue;
        char *longer = memory_print("%s%s%s", list ? list : "", list ? ", " : "", profile->events[i].name);
        free(list);
        list = longer;
    }
    if (list) {
        char *line = memory_print("Sampled too (--event shows it): %s", list);
        output_wrapped(view->output, 2, line);
        free(line);
    }
    free(list);
}

void heading_print(struct view *view)
{
    const struct profile *profile = view->profile;
    struct output *output = view->output;
    char when[64], time[TEXT_AMOUNT];
    char *command = heading_command(profile), *clean = text_clean(command, output->utf8);
    if (output->width)
        text_cut(clean, (size_t)output->width, output->utf8);
    output_color(output, OUTPUT_BOLD);
    fputs(clean, output->to);
    output_color(output, OUTPUT_PLAIN);
    fputc('\n', output->to);
    free(clean);
    free(command);
    if (profile->event_count)
        print_event(view);
    else
        fputs("no events", output->to);
    heading_when(when, sizeof(when), profile->session.start_realtime_ns);
    if (*when)
        fprintf(output->to, "; %s", when);
    uint64_t duration = heading_duration(profile);
    if (duration)
        fprintf(output->to, "%s took %s", *when ? "," : ";", text_time(time, duration));
    fputc('\n', output->to);
    if (profile->event_count)
        print_others(view);
}
