/* SPDX-License-Identifier: MIT */
#include "analyze/read/payload.h"

#include <pinject/kernel.h>
#include <string.h>

#include "analyze/read/payload_lists.h"
#include "common/perfdata.h"

/* The size of a field, and how it is shown. */
enum layout {
    END,
    U16,
    U32,
    U64,
    S32,
    HEX16,
    HEX64,
    NAME,   /* text up to a NUL, or to the end of the record */
    REST,   /* all bytes that are left */
    COMM64, /* text in 64 bytes */
    TAG,    /* 8 bytes */
};

struct field {
    const char *name;
    enum layout layout;
};

struct layout_row {
    uint32_t type;
    const char *name;
    struct field fields[14];
    void (*more)(struct payload_walk *walk); /* what follows the fields, or NULL */
};

static const struct layout_row rows[] = {
    {PERF_RECORD_MMAP,
     "MMAP",
     {{"pid", S32}, {"tid", S32}, {"addr", HEX64}, {"len", HEX64}, {"pgoff", HEX64}, {"filename", NAME}},
     NULL},
    {PERF_RECORD_LOST, "LOST", {{"id", U64}, {"lost", U64}}, NULL},
    {PERF_RECORD_COMM, "COMM", {{"pid", S32}, {"tid", S32}, {"comm", NAME}}, NULL},
    {PERF_RECORD_EXIT, "EXIT", {{"pid", S32}, {"ppid", S32}, {"tid", S32}, {"ptid", S32}, {"time", U64}}, NULL},
    {PERF_RECORD_THROTTLE, "THROTTLE", {{"time", U64}, {"id", U64}, {"stream_id", U64}}, NULL},
    {PERF_RECORD_UNTHROTTLE, "UNTHROTTLE", {{"time", U64}, {"id", U64}, {"stream_id", U64}}, NULL},
    {PERF_RECORD_FORK, "FORK", {{"pid", S32}, {"ppid", S32}, {"tid", S32}, {"ptid", S32}, {"time", U64}}, NULL},
    {PERF_RECORD_READ, "READ", {{"pid", S32}, {"tid", S32}}, payload_read},
    {PERF_RECORD_SAMPLE, "SAMPLE", {{NULL, END}}, NULL},
    {PERF_RECORD_MMAP2,
     "MMAP2",
     {{"pid", S32}, {"tid", S32}, {"addr", HEX64}, {"len", HEX64}, {"pgoff", HEX64}},
     payload_mmap2},
    {PERF_RECORD_AUX, "AUX", {{"aux_offset", HEX64}, {"aux_size", HEX64}, {"flags", HEX64}}, NULL},
    {PERF_RECORD_ITRACE_START, "ITRACE_START", {{"pid", S32}, {"tid", S32}}, NULL},
    {PERF_RECORD_LOST_SAMPLES, "LOST_SAMPLES", {{"lost", U64}}, NULL},
    {PERF_RECORD_SWITCH, "SWITCH", {{NULL, END}}, NULL},
    {PERF_RECORD_SWITCH_CPU_WIDE, "SWITCH_CPU_WIDE", {{"next_prev_pid", S32}, {"next_prev_tid", S32}}, NULL},
    {PERF_RECORD_NAMESPACES, "NAMESPACES", {{"pid", S32}, {"tid", S32}}, payload_namespaces},
    {PERF_RECORD_KSYMBOL,
     "KSYMBOL",
     {{"addr", HEX64}, {"len", U32}, {"ksym_type", U16}, {"flags", HEX16}, {"name", NAME}},
     NULL},
    {PERF_RECORD_BPF_EVENT, "BPF_EVENT", {{"type", U16}, {"flags", HEX16}, {"id", U32}, {"tag", TAG}}, NULL},
    {PERF_RECORD_CGROUP, "CGROUP", {{"id", U64}, {"path", NAME}}, NULL},
    {PERF_RECORD_TEXT_POKE, "TEXT_POKE", {{"addr", HEX64}}, payload_text_poke},
    {21, "AUX_OUTPUT_HW_ID", {{"hw_id", HEX64}}, NULL}, /* Linux 5.16 */
    {PERFDATA_RECORD_ATTR, "ATTR", {{NULL, END}}, payload_attr},
    {PERFDATA_RECORD_EVENT_TYPE, "EVENT_TYPE", {{"event_id", U64}, {"name", COMM64}}, NULL},
    {PERFDATA_RECORD_TRACING_DATA, "TRACING_DATA", {{"size", U32}}, NULL},
    {PERFDATA_RECORD_BUILD_ID, "BUILD_ID", {{"pid", S32}}, payload_build_id},
    {PERFDATA_RECORD_FINISHED_ROUND, "FINISHED_ROUND", {{NULL, END}}, NULL},
    {PERFDATA_RECORD_ID_INDEX, "ID_INDEX", {{NULL, END}}, payload_id_index},
    {PERFDATA_RECORD_AUXTRACE_INFO, "AUXTRACE_INFO", {{"type", U32}, {"reserved", U32}}, payload_numbers},
    {PERFDATA_RECORD_AUXTRACE,
     "AUXTRACE",
     {{"size", HEX64}, {"offset", HEX64}, {"reference", HEX64}, {"idx", U32}, {"tid", S32}, {"cpu", S32}},
     NULL},
    {PERFDATA_RECORD_AUXTRACE_ERROR,
     "AUXTRACE_ERROR",
     {{"type", U32},
      {"code", U32},
      {"cpu", S32},
      {"pid", S32},
      {"tid", S32},
      {"fmt", U32},
      {"ip", HEX64},
      {"time", U64},
      {"msg", COMM64}},
     payload_error_guest},
    {PERFDATA_RECORD_THREAD_MAP, "THREAD_MAP", {{NULL, END}}, payload_thread_map},
    {PERFDATA_RECORD_CPU_MAP, "CPU_MAP", {{NULL, END}}, payload_cpu_map},
    {PERFDATA_RECORD_STAT_CONFIG, "STAT_CONFIG", {{NULL, END}}, payload_stat_config},
    {PERFDATA_RECORD_STAT,
     "STAT",
     {{"id", U64}, {"cpu", S32}, {"thread", U32}, {"val", U64}, {"ena", U64}, {"run", U64}},
     NULL},
    {PERFDATA_RECORD_STAT_ROUND, "STAT_ROUND", {{"type", U64}, {"time", U64}}, NULL},
    {PERFDATA_RECORD_EVENT_UPDATE, "EVENT_UPDATE", {{NULL, END}}, payload_event_update},
    {PERFDATA_RECORD_TIME_CONV,
     "TIME_CONV",
     {{"time_shift", U64}, {"time_mult", U64}, {"time_zero", U64}},
     payload_time_conv},
    {PERFDATA_RECORD_HEADER_FEATURE, "HEADER_FEATURE", {{"feat_id", U64}, {"data", REST}}, NULL},
    {PERFDATA_RECORD_COMPRESSED, "COMPRESSED", {{"data", REST}}, NULL},
    {PERFDATA_RECORD_FINISHED_INIT, "FINISHED_INIT", {{NULL, END}}, NULL},
    {83, "COMPRESSED2", {{"data_size", U64}, {"data", REST}}, NULL},
};

static const struct layout_row *row_of(uint32_t type)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].type == type)
            return &rows[i];
    return NULL;
}

const char *payload_type_name(uint32_t type)
{
    const struct layout_row *row = row_of(type);
    return row ? row->name : NULL;
}

static const struct flag {
    uint32_t type;
    uint16_t bit;
    const char *name;
} flags[] = {
    {PERF_RECORD_MMAP, PERF_RECORD_MISC_MMAP_DATA, "data"},
    {PERF_RECORD_MMAP, PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT, "parse_timeout"},
    {PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_DATA, "data"},
    {PERF_RECORD_MMAP2, PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT, "parse_timeout"},
    {PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID, "build_id"},
    {PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, "exec"},
    {PERF_RECORD_FORK, 1 << 13, "exec"},
    {PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, "out"},
    {PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, "preempt"},
    {PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT, "out"},
    {PERF_RECORD_SWITCH_CPU_WIDE, PERF_RECORD_MISC_SWITCH_OUT_PREEMPT, "preempt"},
    {PERF_RECORD_LOST_SAMPLES, 1 << 15, "bpf"}, /* dropped by a BPF filter, on purpose */
};

void payload_flags(const struct record *record, void (*each)(void *context, const char *name), void *context)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (flags[i].type == record->type && (record->misc & flags[i].bit))
            each(context, flags[i].name);
}

/* One field of a fixed layout. */
static void take_field(struct payload_walk *walk, const struct field *field)
{
    struct cursor *cursor = &walk->cursor;
    switch (field->layout) {
    case U16: payload_put(walk, field->name, PAYLOAD_NUMBER, cursor_u16(cursor)); return;
    case U32: payload_put(walk, field->name, PAYLOAD_NUMBER, cursor_u32(cursor)); return;
    case U64: payload_put(walk, field->name, PAYLOAD_NUMBER, cursor_u64(cursor)); return;
    case S32: payload_put(walk, field->name, PAYLOAD_SIGNED, (uint64_t)(int64_t)(int32_t)cursor_u32(cursor)); return;
    case HEX16: payload_put(walk, field->name, PAYLOAD_HEX, cursor_u16(cursor)); return;
    case HEX64: payload_put(walk, field->name, PAYLOAD_HEX, cursor_u64(cursor)); return;
    case NAME: payload_put_text(walk, field->name, cursor_left(cursor)); return;
    case COMM64: payload_put_text(walk, field->name, 64); return;
    case TAG: payload_put_bytes(walk, field->name, 8); return;
    case REST: payload_put_bytes(walk, field->name, cursor_left(cursor)); return;
    case END: return;
    }
}

bool payload_fields(const struct record *record, payload_each *each, void *context)
{
    static const struct field bytes = {"bytes", REST};
    const struct layout_row *row = row_of(record->type);
    struct payload_walk walk = {.record = record, .cursor = record_cursor(record), .each = each, .context = context};
    if (!row)
        take_field(&walk, &bytes);
    for (const struct field *field = row ? row->fields : &(struct field){NULL, END}; field->name; field++)
        take_field(&walk, field);
    if (row && row->more && !walk.cursor.failed)
        row->more(&walk);
    return !walk.cursor.failed;
}
