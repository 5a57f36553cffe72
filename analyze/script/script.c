/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/record.h"
#include "analyze/script/script.h"
#include "analyze/script/script_fields.h"
#include "analyze/view/memory.h"
#include "analyze/view/select.h"
#include "common/report.h"

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

/* Whether frames show FIELD. */
static bool shows(const struct view *view, enum script_field field)
{
    return !view->settings->fields || (view->settings->fields & FIELD_BIT(field));
}

static void print_symbol(const struct view *view, const struct profile_frame *frame, const struct names_place *place)
{
    fputc(' ', view->output->to);
    if (!place->named) {
        fputs("[unknown]", view->output->to);
        return;
    }
    output_text(view->output, place->symbol);
    if (shows(view, FIELD_SYMOFF))
        fprintf(view->output->to, "+0x%" PRIx64, place->offset + frame->caller);
}

/* The address is the one in the file, for callers the return address, as in perf script. */
static void print_frame(const struct view *view, uint32_t index, uint64_t ip, bool chain)
{
    const struct profile_frame *frame = &view->profile->frames[index];
    const struct names_place *place = names_frame(view->names, index);
    struct output *output = view->output;
    /* As in perf script: the address in the file in a chain, the one that was recorded elsewhere. */
    uint64_t address = frame->module && chain ? frame->offset + frame->caller : ip;
    struct lines_line line = {NULL};
    if (view->lines)
        line = print_inlined(view, index, address);
    fprintf(output->to, "%s%16" PRIx64, chain ? "\t" : "", address);
    if (shows(view, FIELD_SYM))
        print_symbol(view, frame, place);
    if (shows(view, FIELD_DSO)) {
        fputs(" (", output->to);
        output_text(output, place->dso);
        fputc(')', output->to);
    }
    fputc(chain ? '\n' : ' ', output->to);
    if (view->lines && (view->settings->lines || (view->settings->fields & FIELD_BIT(FIELD_SRCLINE)))) {
        if (!chain)
            fputc('\n', output->to);
        print_line(output, &line);
    }
}

void script_print_frames(struct script *script, const struct profile_sample *sample)
{
    /* With --fields a single address is part of the line. */
    const bool chain = !script->view->settings->fields || (sample->record->has & PERF_SAMPLE_CALLCHAIN);
    for (uint32_t i = 0; i < sample->depth; i++)
        print_frame(script->view, sample->frames[i], sample->ips[i], chain);
}

char *script_branch_end(struct script *script, const struct profile_sample *sample, uint64_t address,
                        const char **ret_dso)
{
    const struct view *view = script->view;
    const struct profile_frame frame = profile_sample_code(view->profile, sample, address);
    struct names_place place;
    names_look_up(view->names, &frame, &place);
    *ret_dso = place.dso;
    return place.named ? memory_print("%s+0x%" PRIx64, place.symbol, place.offset) : memory_text("[unknown]");
}

/* As without options. */
static void print_usual(struct script *script, const struct profile_sample *sample)
{
    struct output *output = script->view->output;
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
    script_print_frames(script, sample);
    fputc('\n', output->to);
}

/*
 * The columns of pfmon's compact output: number, pid, tid, CPU, address, time, event, set, and what its counter began
 * with: minus the period. Then what the other events counted.
 */
static void print_compact(const struct script *script, const struct profile_sample *sample)
{
    const struct profile_event *event = &script->view->profile->events[sample->event];
    FILE *to = script->view->output->to;
    char period[24];
    snprintf(period, sizeof(period), "-%" PRIu64, sample->period);
    fprintf(to,
            "%-8" PRIu64 " %8" PRId32 " %8" PRId32 " %2" PRId32 " 0x%" PRIx64 " 0x%016" PRIx64 " %3" PRIu32 " %5" PRIu32
            " %16s",
            script->shown - 1, sample->task->pid, sample->task->tid, (int32_t)sample->cpu, sample->ip, sample->time_ns,
            sample->event, event->set, period);
    for (uint32_t i = 0; i < sample->value_count; i++)
        fprintf(to, " 0x%016" PRIx64, sample->values[i].total);
    fputc('\n', to);
}

/* Whether enough is shown. */
static bool is_over(const struct script *script)
{
    uint64_t top = script->view->settings->top;
    return output_is_over(script->view->output) || (top && script->shown >= top);
}

static int print_sample(void *context, const struct profile_sample *sample)
{
    struct script *script = context;
    const struct settings *settings = script->view->settings;
    if (!is_wanted(script, sample))
        return 0;
    if (is_over(script))
        return 1;
    script->shown++;
    if (settings->json)
        return script_json(script, sample);
    if (settings->fields)
        return script_text(script, sample);
    if (settings->compact)
        print_compact(script, sample);
    else
        print_usual(script, sample);
    return 0;
}

static void keep_cgroup(struct script *script, const struct record *record)
{
    struct cursor cursor = record_cursor(record);
    uint64_t id = cursor_u64(&cursor);
    const char *path = cursor_string(&cursor);
    if (!path)
        return;
    script->cgroups = memory_grow(script->cgroups, &script->cgroup_capacity, script->cgroup_count + 1,
                                  sizeof(*script->cgroups));
    script->cgroups[script->cgroup_count++] = (struct script_cgroup){id, memory_text(path)};
}

const char *script_cgroup_path(const struct script *script, uint64_t id)
{
    /* An id may be used again: the latest counts. */
    for (size_t i = script->cgroup_count; i > 0; i--)
        if (script->cgroups[i - 1].id == id)
            return script->cgroups[i - 1].path;
    return NULL;
}

/* Records of no task are left out where the user chose tasks. */
static bool is_record_wanted(const struct script *script, const struct profile_record *record)
{
    const struct view *view = script->view;
    if (!record->task)
        return !select_by_task(view->settings);
    return view->selection->tasks[record->task->index] && select_comm(view->settings, record->comm);
}

static int print_record(void *context, const struct profile_record *record)
{
    struct script *script = context;
    if (record->record->type == PERF_RECORD_CGROUP)
        keep_cgroup(script, record->record);
    if (!script->view->settings->all || !is_record_wanted(script, record))
        return 0;
    if (is_over(script))
        return 1;
    script->shown++;
    if (script->view->settings->json)
        script_record_json(script, record);
    else
        script_record_text(script, record);
    return 0;
}

static int show_all(struct script *script)
{
    struct view *view = script->view;
    /* Only some views need the other records, which cost time. */
    const bool records = view->settings->all || view->settings->json ||
                         (view->settings->fields & FIELD_BIT(FIELD_CGROUP));
    if (view->settings->json) {
        json_object(&script->json, NULL);
        json_list(&script->json, "records");
    }
    int status = profile_records(view->profile, print_sample, records ? print_record : NULL, script);
    if (view->settings->json) {
        json_end_list(&script->json);
        json_end_object(&script->json);
    }
    return status;
}

int script_view(struct view *view)
{
    struct script script = {.view = view, .json = {.to = view->output->to}};
    if (view->settings->lines || view->settings->inlined || (view->settings->fields & FIELD_BIT(FIELD_SRCLINE)))
        view->lines = lines_new(view->names, view->profile->frame_count);
    if (!view->settings->top && !view->settings->compact)
        view_symbolize(view);
    int status = show_all(&script);
    lines_free(view->lines);
    view->lines = NULL;
    for (size_t i = 0; i < script.cgroup_count; i++)
        free(script.cgroups[i].path);
    free(script.cgroups);
    if (status >= 0 && !script.shown && (view->settings->dsos.count || view->settings->symbols.count))
        return suggest_refuse(view);
    if (status >= 0)
        return 0;
    if (status != -ENODATA)
        report_error("the samples could not be read a second time: %s", strerror(-status));
    return 1;
}
