/* SPDX-License-Identifier: MIT */
#include "analyze/view/heading.h"

#include <stdlib.h>
#include <time.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

/* What the first process ran: the options of pinject-run in front of it are no news. */
static const struct profile_image *first_image(const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        for (uint32_t j = 0; task->root && j < task->image_count; j++)
            if (task->images[j].cmdline_count)
                return &task->images[j];
    }
    return NULL;
}

char *heading_command(const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    const struct profile_image *image = session->ours ? first_image(profile) : NULL;
    if (image)
        return text_command(image->cmdline, image->cmdline_count);
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

char *heading_event(const struct view *view)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    if (!profile->event_count)
        return memory_text("no events");
    const struct profile_event *event = &profile->events[profile->event];
    char weight[TEXT_AMOUNT], samples[TEXT_AMOUNT], tasks[TEXT_AMOUNT], lost[TEXT_AMOUNT];
    if (!event->sampled && !selection->total_samples)
        return memory_print("counted without samples: %s",
                            text_plural(tasks, selection->task_count, "task", "tasks"));
    return memory_print("%s: %s in %s of %s, %s lost", event->name,
                        text_weight(weight, selection->total_weight, event->nanoseconds),
                        text_plural(samples, selection->total_samples, "sample", "samples"),
                        text_plural(tasks, selection->task_count, "task", "tasks"),
                        selection->lost ? text_count(lost, selection->lost) : "none");
}

static void print_facts(struct view *view)
{
    char when[64], time[TEXT_AMOUNT];
    uint64_t duration = heading_duration(view->profile);
    heading_when(when, sizeof(when), view->profile->session.start_realtime_ns);
    char *event = heading_event(view);
    char *line = memory_print("%s%s%s%s%s", event, *when ? "; " : "", when,
                              !duration ? ""
                              : *when   ? ", took "
                                        : "; took ",
                              duration ? text_time(time, duration) : "");
    output_wrapped(view->output, 2, line);
    free(line);
    free(event);
}

bool heading_by_timers(const struct profile *profile)
{
    bool timers = false;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        enum profile_task_source source = profile->tasks[i].source;
        if (source == PROFILE_SOURCE_PERF || source == PROFILE_SOURCE_NET)
            return false;
        timers |= source == PROFILE_SOURCE_TIMER || source == PROFILE_SOURCE_ACCOUNTING;
    }
    return timers;
}

/* Other events of these files, and why this one is not cycles. */
static void print_others(struct view *view)
{
    const struct profile *profile = view->profile;
    const char *reason = profile->session.event_reason;
    if (reason && *reason) {
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
    char *command = heading_command(profile), *clean = text_clean(command, output->utf8);
    if (output->width)
        text_cut(clean, (size_t)output->width, output->utf8);
    output_color(output, OUTPUT_BOLD);
    fputs(clean, output->to);
    output_color(output, OUTPUT_PLAIN);
    fputc('\n', output->to);
    free(clean);
    free(command);
    print_facts(view);
    if (profile->event_count)
        print_others(view);
}
