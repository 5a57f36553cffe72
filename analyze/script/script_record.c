/* SPDX-License-Identifier: MIT */
/* Records that are no samples, for --all. */
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/payload.h"
#include "analyze/script/script.h"
#include "analyze/view/memory.h"

struct line {
    struct output *output;
    unsigned items; /* of the open list */
};

static void print_bytes(FILE *to, const struct payload_field *field)
{
    for (size_t i = 0; i < field->size; i++)
        fprintf(to, "%02x", field->bytes[i]);
}

/* A copy with a NUL; owned by the caller. */
static char *text_of(const struct payload_field *field)
{
    return memory_print("%.*s", (int)field->size, (const char *)field->bytes);
}

static double real_of(const struct payload_field *field)
{
    double real;
    memcpy(&real, &field->number, sizeof(real));
    return real;
}

static void print_field(void *context, const struct payload_field *field)
{
    struct line *line = context;
    FILE *to = line->output->to;
    char *text;
    if (field->kind < PAYLOAD_LIST)
        fprintf(to, " %s=", field->name);
    switch (field->kind) {
    case PAYLOAD_NUMBER: fprintf(to, "%" PRIu64, field->number); return;
    case PAYLOAD_SIGNED: fprintf(to, "%" PRId64, (int64_t)field->number); return;
    case PAYLOAD_HEX: fprintf(to, "0x%" PRIx64, field->number); return;
    case PAYLOAD_REAL: fprintf(to, "%.17g", real_of(field)); return;
    case PAYLOAD_TEXT:
        text = text_of(field);
        output_text(line->output, text);
        free(text);
        return;
    case PAYLOAD_BYTES: print_bytes(to, field); return;
    case PAYLOAD_LIST:
        fprintf(to, " %s=%" PRIu64 " [", field->name, field->number);
        line->items = 0;
        return;
    case PAYLOAD_ITEM: fputs(line->items++ ? ";" : "", to); return;
    case PAYLOAD_LIST_END: fputs(" ]", to); return;
    }
}

static void print_flag(void *context, const char *name)
{
    const struct line *line = context;
    fprintf(line->output->to, " %s", name);
}

static void print_type(const struct record *record, FILE *to)
{
    const char *name = payload_type_name(record->type);
    if (name)
        fprintf(to, "PERF_RECORD_%s", name);
    else
        fprintf(to, "PERF_RECORD_%" PRIu32, record->type);
}

/* The name of the task that made RECORD, as perf has it for one without a name. RET has room for 16 bytes. */
static const char *maker_name(const struct profile_record *shown, char *ret)
{
    int32_t tid = (int32_t)shown->record->tid;
    if (shown->comm[0])
        return shown->comm;
    snprintf(ret, 16, tid ? ":%" PRId32 : "swapper", tid);
    return ret;
}

void script_record_text(struct script *script, const struct profile_record *shown)
{
    const struct record *record = shown->record;
    struct line line = {.output = script->view->output};
    FILE *to = line.output->to;
    char name[16];
    if (record->has & PERF_SAMPLE_TID) {
        output_text(line.output, maker_name(shown, name));
        fprintf(to, " %" PRId32 "/%" PRId32 " ", (int32_t)record->pid, (int32_t)record->tid);
    }
    if (record->has & PERF_SAMPLE_CPU)
        fprintf(to, "[%03" PRId32 "] ", (int32_t)record->cpu);
    if (record->has & PERF_SAMPLE_TIME)
        fprintf(to, "%" PRIu64 ".%06" PRIu64 ": ", record->time / 1000000000, record->time % 1000000000 / 1000);
    print_type(record, to);
    payload_flags(record, print_flag, &line);
    if (!payload_fields(record, print_field, &line))
        fputs(" (cut off)", to);
    fputc('\n', to);
}

static void json_bytes(struct json *json, const struct payload_field *field)
{
    char *text = memory_new(2 * field->size + 1, 1);
    for (size_t i = 0; i < field->size; i++)
        sprintf(text + 2 * i, "%02x", field->bytes[i]);
    json_string(json, field->name, text);
    free(text);
}

/* The objects of a list end where the next one begins. */
struct document {
    struct json *json;
    bool item;
};

static void end_item(struct document *document)
{
    if (document->item)
        json_end_object(document->json);
    document->item = false;
}

static void put_field(void *context, const struct payload_field *field)
{
    struct document *document = context;
    struct json *json = document->json;
    char *text;
    switch (field->kind) {
    case PAYLOAD_NUMBER:
    case PAYLOAD_HEX: json_unsigned(json, field->name, field->number); return;
    case PAYLOAD_SIGNED: json_signed(json, field->name, (int64_t)field->number); return;
    case PAYLOAD_REAL: json_number(json, field->name, real_of(field)); return;
    case PAYLOAD_TEXT:
        text = text_of(field);
        json_string(json, field->name, text);
        free(text);
        return;
    case PAYLOAD_BYTES: json_bytes(json, field); return;
    case PAYLOAD_LIST: json_list(json, field->name); return;
    case PAYLOAD_ITEM:
        end_item(document);
        json_object(json, NULL);
        document->item = true;
        return;
    case PAYLOAD_LIST_END:
        end_item(document);
        json_end_list(json);
        return;
    }
}

static void put_flag(void *context, const char *name)
{
    json_string(context, NULL, name);
}

void script_record_json(struct script *script, const struct profile_record *shown)
{
    const struct record *record = shown->record;
    struct json *json = &script->json;
    struct document document = {.json = json};
    const char *name = payload_type_name(record->type);
    char maker[16];
    json_object(json, NULL);
    json_string(json, "record", name ? name : "unknown");
    json_unsigned(json, "type", record->type);
    if (record->has & PERF_SAMPLE_TID) {
        json_string(json, "by_comm", maker_name(shown, maker));
        json_signed(json, "by_pid", (int32_t)record->pid);
        json_signed(json, "by_tid", (int32_t)record->tid);
    }
    if (record->has & PERF_SAMPLE_CPU && record->cpu == UINT32_MAX)
        json_null(json, "on_cpu");
    else if (record->has & PERF_SAMPLE_CPU)
        json_unsigned(json, "on_cpu", record->cpu);
    if (record->has & PERF_SAMPLE_TIME)
        json_unsigned(json, "time_ns", record->time);
    json_unsigned(json, "misc", record->misc);
    json_list(json, "misc_flags");
    payload_flags(record, put_flag, json);
    json_end_list(json);
    json_object(json, "fields");
    bool whole = payload_fields(record, put_field, &document);
    json_end_object(json);
    if (!whole)
        json_bool(json, "cut_off", true);
    json_end_object(json);
}
