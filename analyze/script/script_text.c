/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <pinject/kernel.h>
#include <stdlib.h>

#include "analyze/read/sample_fields.h"
#include "analyze/script/script.h"
#include "analyze/script/script_bits.h"
#include "analyze/script/script_fields.h"
#include "common/report.h"

static bool is_tracepoint(const struct profile_event *event)
{
    return event->type == PERF_TYPE_TRACEPOINT && event->sampled;
}

/* EVENT is no tracepoint, and others are. */
static bool is_beside_tracepoints(const struct profile *profile, uint32_t event)
{
    bool found = false;
    for (uint32_t i = 0; i < profile->event_count; i++)
        found |= is_tracepoint(&profile->events[i]);
    return found && !is_tracepoint(&profile->events[event]);
}

/* What the user asked for and the sample does not have. */
static int check_fields(const struct script *script, const struct profile_sample *sample, uint64_t has)
{
    for (int i = 0; i < FIELD_COUNT; i++) {
        uint64_t needs = script_field_needs((enum script_field)i);
        const bool lacks = i == FIELD_VALUES ? !sample->value_count : needs && !(needs & has);
        if (!(script->view->settings->fields & FIELD_BIT(i)) || !lacks)
            continue;
        if (i == FIELD_TRACE && is_beside_tracepoints(script->view->profile, sample->event))
            continue; /* nothing is shown, as by perf script */
        report_error("the samples of the event '%s' do not have the field '%s'; leave it out of --fields, or record it",
                     script->view->profile->events[sample->event].name, script_field_name((enum script_field)i));
        return -ENODATA;
    }
    return 0;
}

static void print_head(struct script *script, const struct profile_sample *sample)
{
    struct output *output = script->view->output;
    const uint64_t wanted = script->view->settings->fields;
    if (wanted & FIELD_BIT(FIELD_COMM)) {
        output_text(output, sample->comm);
        fputc(' ', output->to);
    }
    if ((wanted & FIELD_BIT(FIELD_PID)) && (wanted & FIELD_BIT(FIELD_TID)))
        fprintf(output->to, "%7" PRId32 "/%-7" PRId32 " ", sample->task->pid, sample->task->tid);
    else if (wanted & FIELD_BIT(FIELD_PID))
        fprintf(output->to, "%7" PRId32 " ", sample->task->pid);
    else if (wanted & FIELD_BIT(FIELD_TID))
        fprintf(output->to, "%7" PRId32 " ", sample->task->tid);
    if (wanted & FIELD_BIT(FIELD_CPU))
        fprintf(output->to, "[%03" PRId32 "] ", (int32_t)sample->cpu); /* unknown: [-01], as in perf */
    if (wanted & FIELD_BIT(FIELD_TIME))
        fprintf(output->to, "%5" PRIu64 ".%06" PRIu64 ": ", sample->time_ns / 1000000000,
                sample->time_ns % 1000000000 / 1000);
    if (wanted & FIELD_BIT(FIELD_PERIOD))
        fprintf(output->to, "%10" PRIu64 " ", sample->period);
    if (wanted & FIELD_BIT(FIELD_EVENT)) {
        output_text(output, script->view->profile->events[sample->event].name);
        fputs(": ", output->to);
    }
    if ((wanted & FIELD_BIT(FIELD_TRACE)) && sample->trace) {
        output_text(output, sample->trace);
        fputc(' ', output->to);
    }
}

static void print_values(const struct sample_fields *fields, FILE *to)
{
    for (uint64_t i = 0; i < fields->read.count; i++) {
        struct sample_value value = sample_value(fields, i);
        fprintf(to, "value:%" PRIu64 " ", value.value);
        if (fields->read.format & PERF_FORMAT_ID)
            fprintf(to, "id:%" PRIu64 " ", value.id);
        if (fields->read.format & RECORD_READ_LOST)
            fprintf(to, "lost:%" PRIu64 " ", value.lost);
    }
    if (fields->read.format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        fprintf(to, "enabled:%" PRIu64 " ", fields->read.enabled_ns);
    if (fields->read.format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        fprintf(to, "running:%" PRIu64 " ", fields->read.running_ns);
}

/* What each event of the group counted: all, and since the sample before. */
static void print_changes(const struct script *script, const struct profile_sample *sample)
{
    struct output *output = script->view->output;
    fputs("values: ", output->to);
    for (uint32_t i = 0; i < sample->value_count; i++) {
        const struct profile_value *value = &sample->values[i];
        output_text(output, script->view->profile->events[value->event].name);
        fprintf(output->to, "=%" PRIu64 "(+%" PRIu64 ") ", value->total, value->delta);
    }
}

static void print_middle(struct script *script, const struct profile_sample *sample, const struct sample_fields *fields)
{
    struct output *output = script->view->output;
    const uint64_t wanted = script->view->settings->fields;
    char text[BITS_TEXT];
    if (wanted & FIELD_BIT(FIELD_ID))
        fprintf(output->to, "id:%" PRIu64 " ", fields->has & PERF_SAMPLE_ID ? fields->id : fields->identifier);
    if (wanted & FIELD_BIT(FIELD_STREAM_ID))
        fprintf(output->to, "stream_id:%" PRIu64 " ", fields->stream_id);
    if (wanted & FIELD_BIT(FIELD_READ))
        print_values(fields, output->to);
    if (wanted & FIELD_BIT(FIELD_VALUES))
        print_changes(script, sample);
    if (wanted & FIELD_BIT(FIELD_ADDR))
        fprintf(output->to, "%16" PRIx64 " ", fields->addr);
    if (wanted & FIELD_BIT(FIELD_DATA_SRC))
        fprintf(output->to, "%16" PRIx64 " %s ", fields->data_source, bits_data_source(text, fields->data_source));
    if (wanted & FIELD_BIT(FIELD_WEIGHT))
        fprintf(output->to, "%16" PRIu64 " ", fields->weight);
    if (wanted & FIELD_BIT(FIELD_INS_LAT))
        fprintf(output->to, "%16" PRIu16 " ", fields->weight2);
    if (wanted & FIELD_BIT(FIELD_RETIRE_LAT))
        fprintf(output->to, "%16" PRIu16 " ", fields->weight3);
    if (wanted & FIELD_BIT(FIELD_TRANSACTION))
        fprintf(output->to, "transaction:%#" PRIx64 " ", fields->transaction);
    if (wanted & FIELD_BIT(FIELD_CGROUP)) {
        const char *path = script_cgroup_path(script, fields->cgroup);
        output_text(output, path ? path : "unknown");
        fputc(' ', output->to);
    }
}

struct register_line {
    FILE *to;
    const char *machine;
};

static void print_register(void *context, unsigned bit, uint64_t value)
{
    const struct register_line *line = context;
    char text[BITS_TEXT];
    fprintf(line->to, "%5s:0x%" PRIx64 " ", bits_register(text, line->machine, bit), value);
}

static void print_registers(struct script *script, const struct sample_fields *fields,
                            const struct sample_registers *registers)
{
    const char *machine = script->view->profile->session.arch;
    struct register_line line = {script->view->output->to, machine ? machine : ""};
    fprintf(line.to, " ABI:%" PRIu64 " ", registers->abi);
    sample_each_register(fields, registers, print_register, &line);
}

static void print_bytes(const char *name, struct sample_bytes bytes, FILE *to)
{
    fprintf(to, "%s:", name);
    for (uint64_t i = 0; i < bytes.size; i++)
        fprintf(to, "%02x", bytes.at[i]);
    fputc(' ', to);
}

static void print_branch_flags(const struct sample_branch *branch, FILE *to)
{
    fprintf(to, "/%c/%c/%c/%" PRIu16 "/%s ",
            branch->mispredicted ? 'M'
            : branch->predicted  ? 'P'
                                 : '-',
            branch->in_transaction ? 'X' : '-', branch->aborted ? 'A' : '-', branch->cycles,
            bits_branch_type(branch->type, branch->new_type));
}

static void print_branches(const struct sample_fields *fields, FILE *to)
{
    for (uint64_t i = 0; i < fields->branches.count; i++) {
        const struct sample_branch branch = sample_branch(fields, i);
        fprintf(to, " 0x%" PRIx64 "/0x%" PRIx64, branch.from, branch.to);
        print_branch_flags(&branch, to);
    }
}

static void print_branch_end(struct script *script, const struct profile_sample *sample, uint64_t address)
{
    struct output *output = script->view->output;
    const char *dso;
    char *text = script_branch_end(script, sample, address, &dso);
    output_text(output, text);
    free(text);
    if (script->view->settings->fields & FIELD_BIT(FIELD_DSO)) {
        fputc('(', output->to);
        output_text(output, dso);
        fputc(')', output->to);
    }
}

static void print_named_branches(struct script *script, const struct profile_sample *sample,
                                 const struct sample_fields *fields)
{
    FILE *to = script->view->output->to;
    for (uint64_t i = 0; i < fields->branches.count && !output_is_over(script->view->output); i++) {
        const struct sample_branch branch = sample_branch(fields, i);
        fputc(' ', to);
        print_branch_end(script, sample, branch.from);
        fputc('/', to);
        print_branch_end(script, sample, branch.to);
        print_branch_flags(&branch, to);
    }
}

static void print_tail(struct script *script, const struct profile_sample *sample, const struct sample_fields *fields)
{
    FILE *to = script->view->output->to;
    const uint64_t wanted = script->view->settings->fields;
    char text[BITS_TEXT];
    if (wanted & FIELD_BIT(FIELD_IREGS))
        print_registers(script, fields, &fields->interrupted);
    if (wanted & FIELD_BIT(FIELD_UREGS))
        print_registers(script, fields, &fields->user);
    if (wanted & FIELD_BIT(FIELD_USTACK))
        fprintf(to, "ustack:%" PRIu64 "/%" PRIu64 " ", fields->user_stack.size, fields->user_stack_asked);
    if (wanted & FIELD_BIT(FIELD_BRSTACK))
        print_branches(fields, to);
    if (wanted & FIELD_BIT(FIELD_BRSTACKSYM))
        print_named_branches(script, sample, fields);
    if (wanted & FIELD_BIT(FIELD_RAW))
        print_bytes("raw", fields->raw, to);
    if (wanted & FIELD_BIT(FIELD_AUX))
        print_bytes("aux", fields->aux, to);
    if (wanted & FIELD_BIT(FIELD_PHYS_ADDR))
        fprintf(to, "%16" PRIx64 " ", fields->physical);
    if (wanted & FIELD_BIT(FIELD_DATA_PAGE_SIZE))
        fprintf(to, "%s ", bits_page_size(text, fields->data_page_size));
    if (wanted & FIELD_BIT(FIELD_CODE_PAGE_SIZE))
        fprintf(to, "%s ", bits_page_size(text, fields->code_page_size));
}

int script_text(struct script *script, const struct profile_sample *sample)
{
    FILE *to = script->view->output->to;
    struct sample_fields fields;
    int status = sample_fields_decode(sample->record, &fields);
    if (status == 0)
        status = check_fields(script, sample, fields.has);
    if (status < 0)
        return status;
    print_head(script, sample);
    print_middle(script, sample, &fields);
    if (script->view->settings->fields & FIELD_BIT(FIELD_IP)) {
        if (fields.has & PERF_SAMPLE_CALLCHAIN)
            fputc('\n', to);
        script_print_frames(script, sample);
    }
    print_tail(script, sample, &fields);
    fputc('\n', to);
    return 0;
}
