/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/select.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/report.h"

struct script {
    struct view *view;
    uint64_t shown;
};

static bool is_wanted(const struct script *script, const struct profile_sample *sample)
{
    const struct view *view = script->view;
    const struct settings *settings = view->settings;
    if (!view->selection->tasks[sample->task->index] || !select_comm(settings, sample->comm))
        return false;
    if (settings->event && sample->event != view->profile->event)
        return false;
    if ((!settings->dsos.count && !settings->symbols.count) || !sample->depth)
        return true;
    const struct names_place *place = names_frame(view->names, sample->frames[0]);
    return select_place(settings, place->dso, place->symbol);
}

static void print_line(struct output *output, const struct lines_line *line)
{
    if (!line->file)
        return;
    fputs("  ", output->to);
    output_text(output, line->file);
    fprintf(output->to, ":%" PRIu32 "\n", line->number);
}

/* Prints the functions inlined at FRAME, innermost first, if wanted. Returns the line that is left for the frame. */
static struct lines_line print_inlined(const struct view *view, uint32_t frame, uint64_t address)
{
    uint32_t count;
    const struct lines_part *parts = lines_frame(view->lines, frame, &count);
    for (uint32_t i = 0; i + 1 < count && view->settings->inlined; i++) {
        struct lines_line line = lines_line(view->lines, parts[i].line);
        fprintf(view->output->to, "\t%16" PRIx64 " ", address);
        output_text(view->output, lines_function(view->lines, parts[i].function).symbol);
        fputs(" (inlined)\n", view->output->to);
        if (view->settings->lines)
            print_line(view->output, &line);
    }
    return lines_line(view->lines, parts[view->settings->inlined ? count - 1 : 0].line);
}

/* The address is the one in the file, for callers the return address, as in perf script. */
static void print_frame(const struct view *view, uint32_t index, uint64_t ip)
{
    const struct profile_frame *frame = &view->profile->frames[index];
    const struct names_place *place = names_frame(view->names, index);
    struct output *output = view->output;
    uint64_t address = frame->module ? frame->offset + frame->caller : ip;
    struct lines_line line = {NULL};
    if (view->lines)
        line = print_inlined(view, index, address);
    fprintf(output->to, "\t%16" PRIx64 " ", address);
    if (place->named) {
        output_text(output, place->symbol);
        fprintf(output->to, "+0x%" PRIx64, place->offset + frame->caller);
    } else {
        fputs("[unknown]", output->to);
    }
    fputs(" (", output->to);
    output_text(output, place->dso);
    fputs(")\n", output->to);
    if (view->settings->lines)
        print_line(output, &line);
}

static int print_sample(void *context, const struct profile_sample *sample)
{
    struct script *script = context;
    struct output *output = script->view->output;
    if (!is_wanted(script, sample))
        return 0;
    uint64_t top = script->view->settings->top;
    if (output_is_over(output) || (top && script->shown >= top))
        return 1;
    script->shown++;
    output_text(output, sample->comm);
    fprintf(output->to, " %" PRId32 "/%" PRId32 " ", sample->task->pid, sample->task->tid);
    if (sample->cpu != UINT32_MAX)
        fprintf(output->to, "[%03" PRIu32 "] ", sample->cpu);
    fprintf(output->to, "%" PRIu64 ".%06" PRIu64 ": %" PRIu64 " ", sample->time_ns / 1000000000,
            sample->time_ns % 1000000000 / 1000, sample->period);
    output_text(output, script->view->profile->events[sample->event].name);
    fputc(':', output->to);
    if (sample->trace) {
        fputc(' ', output->to);
        output_text(output, sample->trace);
    }
    fputc('\n', output->to);
    for (uint32_t i = 0; i < sample->depth; i++)
        print_frame(script->view, sample->frames[i], sample->ips[i]);
    fputc('\n', output->to);
    return 0;
}

int view_script(struct view *view)
{
    struct script script = {.view = view};
    if (view->settings->lines || view->settings->inlined)
        view->lines = lines_new(view->names, view->profile->frame_count);
    if (!view->settings->top)
        view_symbolize(view);
    int status = profile_samples(view->profile, print_sample, &script);
    lines_free(view->lines);
    view->lines = NULL;
    if (status >= 0 && !script.shown && (view->settings->dsos.count || view->settings->symbols.count))
        return suggest_refuse(view);
    if (status >= 0)
        return 0;
    report_error("the samples could not be read again: %s", strerror(-status));
    return 1;
}
