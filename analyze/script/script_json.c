/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <pinject/kernel.h>
#include <stdlib.h>

#include "analyze/read/sample_fields.h"
#include "analyze/script/script.h"
#include "analyze/script/script_bits.h"
#include "analyze/script/script_fields.h"
#include "analyze/view/memory.h"

struct part {
    struct script *script;
    const struct profile_sample *sample;
    struct sample_fields fields;
    uint64_t wanted; /* of FIELD_BIT() */
};

static bool wants(const struct part *part, enum script_field field)
{
    return part->wanted & FIELD_BIT(field);
}

static void put_number(struct part *part, enum script_field field, uint64_t value)
{
    if (wants(part, field))
        json_unsigned(&part->script->json, script_field_name(field), value);
}

static void put_bytes(struct part *part, enum script_field field, struct sample_bytes bytes)
{
    if (!wants(part, field))
        return;
    char *text = memory_new((size_t)bytes.size * 2 + 1, 1);
    for (uint64_t i = 0; i < bytes.size; i++)
        sprintf(text + 2 * i, "%02x", bytes.at[i]);
    json_string(&part->script->json, script_field_name(field), text);
    free(text);
}

static void put_head(struct part *part)
{
    struct json *json = &part->script->json;
    const struct profile_sample *sample = part->sample;
    if (wants(part, FIELD_COMM))
        json_string(json, "comm", sample->comm);
    if (wants(part, FIELD_PID))
        json_signed(json, "pid", sample->task->pid);
    if (wants(part, FIELD_TID))
        json_signed(json, "tid", sample->task->tid);
    if (wants(part, FIELD_CPU) && sample->cpu == UINT32_MAX)
        json_null(json, "cpu");
    else
        put_number(part, FIELD_CPU, sample->cpu);
    if (wants(part, FIELD_TIME))
        json_unsigned(json, "time_ns", sample->time_ns);
    put_number(part, FIELD_PERIOD, sample->period);
    if (wants(part, FIELD_EVENT))
        json_string(json, "event", part->script->view->profile->events[sample->event].name);
    if (wants(part, FIELD_TRACE))
        json_string(json, "trace", sample->trace);
    put_number(part, FIELD_ID, part->fields.has & PERF_SAMPLE_ID ? part->fields.id : part->fields.identifier);
    put_number(part, FIELD_STREAM_ID, part->fields.stream_id);
}

static void put_values(struct part *part)
{
    struct json *json = &part->script->json;
    const struct sample_fields *fields = &part->fields;
    if (!wants(part, FIELD_READ))
        return;
    json_object(json, "read");
    if (fields->read.format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        json_unsigned(json, "time_enabled", fields->read.enabled_ns);
    if (fields->read.format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        json_unsigned(json, "time_running", fields->read.running_ns);
    json_list(json, "values");
    for (uint64_t i = 0; i < fields->read.count; i++) {
        struct sample_value value = sample_value(fields, i);
        json_object(json, NULL);
        json_unsigned(json, "value", value.value);
        if (fields->read.format & PERF_FORMAT_ID)
            json_unsigned(json, "id", value.id);
        if (fields->read.format & RECORD_READ_LOST)
            json_unsigned(json, "lost", value.lost);
        json_end_object(json);
    }
    json_end_list(json);
    json_end_object(json);
}

/* What each event of the group counted: all, and since the sample before. */
static void put_changes(struct part *part)
{
    struct json *json = &part->script->json;
    const struct profile_sample *sample = part->sample;
    if (!wants(part, FIELD_VALUES) || !sample->value_count)
        return;
    json_list(json, "values");
    for (uint32_t i = 0; i < sample->value_count; i++) {
        json_object(json, NULL);
        json_string(json, "event", part->script->view->profile->events[sample->values[i].event].name);
        json_unsigned(json, "total", sample->values[i].total);
        json_unsigned(json, "delta", sample->values[i].delta);
        json_end_object(json);
    }
    json_end_list(json);
}

static void put_memory(struct part *part)
{
    struct json *json = &part->script->json;
    const struct sample_fields *fields = &part->fields;
    char text[BITS_TEXT];
    put_number(part, FIELD_ADDR, fields->addr);
    put_number(part, FIELD_DATA_SRC, fields->data_source);
    if (wants(part, FIELD_DATA_SRC))
        json_string(json, "data_src_text", bits_data_source(text, fields->data_source));
    put_number(part, FIELD_WEIGHT, fields->weight);
    put_number(part, FIELD_INS_LAT, fields->weight2);
    put_number(part, FIELD_RETIRE_LAT, fields->weight3);
    put_number(part, FIELD_TRANSACTION, fields->transaction);
    put_number(part, FIELD_PHYS_ADDR, fields->physical);
    put_number(part, FIELD_DATA_PAGE_SIZE, fields->data_page_size);
    put_number(part, FIELD_CODE_PAGE_SIZE, fields->code_page_size);
    put_number(part, FIELD_CGROUP, fields->cgroup);
    if (wants(part, FIELD_CGROUP))
        json_string(json, "cgroup_path", script_cgroup_path(part->script, fields->cgroup));
}

static void put_line(struct json *json, struct lines_line line)
{
    if (!line.file)
        return;
    json_string(json, "file", line.file);
    json_unsigned(json, "line", line.number);
}

/* The source line of FRAME, and the functions that were inlined there, innermost first. */
static void put_source(struct part *part, uint32_t frame)
{
    struct json *json = &part->script->json;
    struct view *view = part->script->view;
    const struct settings *settings = view->settings;
    const bool lines = settings->lines || (settings->fields & FIELD_BIT(FIELD_SRCLINE));
    uint32_t count;
    if (!view->lines)
        return;
    const struct lines_part *parts = lines_frame(view->lines, frame, &count);
    if (lines)
        put_line(json, lines_line(view->lines, parts[settings->inlined ? count - 1 : 0].line));
    if (!settings->inlined)
        return;
    json_list(json, "inlined");
    for (uint32_t i = 0; i + 1 < count; i++) {
        json_object(json, NULL);
        json_string(json, "sym", lines_function(view->lines, parts[i].function).symbol);
        if (lines)
            put_line(json, lines_line(view->lines, parts[i].line));
        json_end_object(json);
    }
    json_end_list(json);
}

static void put_frames(struct part *part)
{
    struct json *json = &part->script->json;
    struct view *view = part->script->view;
    const struct profile_sample *sample = part->sample;
    if (!wants(part, FIELD_IP))
        return;
    json_unsigned(json, "ip", sample->ip);
    json_list(json, "frames");
    for (uint32_t i = 0; i < sample->depth; i++) {
        const struct profile_frame *frame = &view->profile->frames[sample->frames[i]];
        const struct names_place *place = names_frame(view->names, sample->frames[i]);
        json_object(json, NULL);
        json_unsigned(json, "ip", sample->ips[i]);
        if (frame->module)
            json_unsigned(json, "address", frame->offset + frame->caller);
        if (wants(part, FIELD_SYM))
            json_string(json, "sym", place->named ? place->symbol : NULL);
        if (wants(part, FIELD_SYMOFF) && place->named)
            json_unsigned(json, "symoff", place->offset + frame->caller);
        if (wants(part, FIELD_DSO))
            json_string(json, "dso", place->dso);
        put_source(part, sample->frames[i]);
        json_end_object(json);
    }
    json_end_list(json);
}

static void put_register(void *context, unsigned bit, uint64_t value)
{
    struct script *script = context;
    const char *machine = script->view->profile->session.arch;
    char text[BITS_TEXT];
    json_unsigned(&script->json, bits_register(text, machine ? machine : "", bit), value);
}

static void put_registers(struct part *part, enum script_field field, const struct sample_registers *registers)
{
    if (!wants(part, field))
        return;
    json_object(&part->script->json, script_field_name(field));
    json_unsigned(&part->script->json, "abi", registers->abi);
    sample_each_register(&part->fields, registers, put_register, part->script);
    json_end_object(&part->script->json);
}

static void put_branch_end(struct part *part, const char *symbol, const char *dso, uint64_t address)
{
    const char *path;
    char *text = script_branch_end(part->script, part->sample, address, &path);
    json_string(&part->script->json, symbol, text);
    json_string(&part->script->json, dso, path);
    free(text);
}

static void put_branches(struct part *part)
{
    struct json *json = &part->script->json;
    const struct sample_fields *fields = &part->fields;
    const bool names = wants(part, FIELD_BRSTACKSYM);
    if (!wants(part, FIELD_BRSTACK) && !names)
        return;
    if (fields->branches.has_hw_index)
        json_unsigned(json, "brstack_hw_idx", fields->branches.hw_index);
    json_list(json, "brstack");
    for (uint64_t i = 0; i < fields->branches.count; i++) {
        struct sample_branch branch = sample_branch(fields, i);
        json_object(json, NULL);
        json_unsigned(json, "from", branch.from);
        json_unsigned(json, "to", branch.to);
        if (names) {
            put_branch_end(part, "from_sym", "from_dso", branch.from);
            put_branch_end(part, "to_sym", "to_dso", branch.to);
        }
        json_bool(json, "mispredicted", branch.mispredicted);
        json_bool(json, "predicted", branch.predicted);
        json_bool(json, "in_tx", branch.in_transaction);
        json_bool(json, "abort", branch.aborted);
        json_unsigned(json, "cycles", branch.cycles);
        json_string(json, "type", bits_branch_type(branch.type, branch.new_type));
        json_unsigned(json, "spec", branch.speculation);
        json_unsigned(json, "priv", branch.privilege);
        if (fields->branches.counters)
            json_unsigned(json, "counters", branch.counters);
        json_end_object(json);
    }
    json_end_list(json);
}

/* Without --fields, everything that the sample has; with it, what it has of these. */
static uint64_t wanted_of(uint64_t chosen, uint64_t has)
{
    uint64_t wanted = 0;
    for (int i = 0; i < FIELD_COUNT; i++) {
        uint64_t needs = script_field_needs((enum script_field)i);
        if ((!chosen || (chosen & FIELD_BIT(i))) && (!needs || (needs & has)))
            wanted |= FIELD_BIT(i);
    }
    /* The names of branches were not recorded, and it takes long to look them up. */
    return chosen ? wanted : wanted & ~FIELD_BIT(FIELD_BRSTACKSYM);
}

int script_json(struct script *script, const struct profile_sample *sample)
{
    struct part part = {.script = script, .sample = sample};
    int status = sample_fields_decode(sample->record, &part.fields);
    if (status < 0)
        return status;
    part.wanted = wanted_of(script->view->settings->fields, part.fields.has);
    json_object(&script->json, NULL);
    if (script->view->settings->all)
        json_string(&script->json, "record", "SAMPLE");
    put_head(&part);
    put_values(&part);
    put_changes(&part);
    put_memory(&part);
    put_frames(&part);
    put_registers(&part, FIELD_IREGS, &part.fields.interrupted);
    put_registers(&part, FIELD_UREGS, &part.fields.user);
    if (wants(&part, FIELD_USTACK))
        json_unsigned(&script->json, "ustack", part.fields.user_stack.size);
    put_branches(&part);
    put_bytes(&part, FIELD_RAW, part.fields.raw);
    put_bytes(&part, FIELD_AUX, part.fields.aux);
    json_end_object(&script->json);
    return 0;
}
