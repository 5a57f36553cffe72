/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/json.h"
#include "common/perfdata.h"

struct record_name {
    uint32_t type;
    const char *name;
};

static const struct record_name record_names[] = {
    {1, "MMAP"},
    {2, "LOST"},
    {3, "COMM"},
    {4, "EXIT"},
    {5, "THROTTLE"},
    {6, "UNTHROTTLE"},
    {7, "FORK"},
    {8, "READ"},
    {9, "SAMPLE"},
    {10, "MMAP2"},
    {11, "AUX"},
    {12, "ITRACE_START"},
    {13, "LOST_SAMPLES"},
    {14, "SWITCH"},
    {15, "SWITCH_CPU_WIDE"},
    {16, "NAMESPACES"},
    {17, "KSYMBOL"},
    {18, "BPF_EVENT"},
    {19, "CGROUP"},
    {20, "TEXT_POKE"},
    {21, "AUX_OUTPUT_HW_ID"},
    {PERFDATA_RECORD_ATTR, "ATTR"},
    {PERFDATA_RECORD_EVENT_TYPE, "EVENT_TYPE"},
    {PERFDATA_RECORD_TRACING_DATA, "TRACING_DATA"},
    {PERFDATA_RECORD_BUILD_ID, "BUILD_ID"},
    {PERFDATA_RECORD_FINISHED_ROUND, "FINISHED_ROUND"},
    {PERFDATA_RECORD_ID_INDEX, "ID_INDEX"},
    {PERFDATA_RECORD_AUXTRACE_INFO, "AUXTRACE_INFO"},
    {PERFDATA_RECORD_AUXTRACE, "AUXTRACE"},
    {PERFDATA_RECORD_AUXTRACE_ERROR, "AUXTRACE_ERROR"},
    {PERFDATA_RECORD_THREAD_MAP, "THREAD_MAP"},
    {PERFDATA_RECORD_CPU_MAP, "CPU_MAP"},
    {PERFDATA_RECORD_STAT_CONFIG, "STAT_CONFIG"},
    {PERFDATA_RECORD_STAT, "STAT"},
    {PERFDATA_RECORD_STAT_ROUND, "STAT_ROUND"},
    {PERFDATA_RECORD_EVENT_UPDATE, "EVENT_UPDATE"},
    {PERFDATA_RECORD_TIME_CONV, "TIME_CONV"},
    {PERFDATA_RECORD_HEADER_FEATURE, "HEADER_FEATURE"},
    {PERFDATA_RECORD_COMPRESSED, "COMPRESSED"},
    {PERFDATA_RECORD_FINISHED_INIT, "FINISHED_INIT"},
    {83, "COMPRESSED2"},
};

#define RECORD_KINDS (sizeof(((struct profile_file *)0)->records) / sizeof(uint64_t))

static void print_field(struct view *view, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void print_field(struct view *view, const char *name, const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    int size = vasprintf(&text, format, list);
    va_end(list);
    if (size < 0)
        return;
    fprintf(view->output->to, "  %-10s ", name);
    output_text(view->output, text);
    fputc('\n', view->output->to);
    free(text);
}

static void print_text_field(struct view *view, const char *name, const char *text)
{
    if (text && *text)
        print_field(view, name, "%s", text);
}

static void print_load(struct view *view, const struct profile_session *session)
{
    char amount[TEXT_AMOUNT], elapsed[TEXT_AMOUNT];
    const double others = heading_others(session);
    if (!session->machine_ns)
        return;
    text_time(amount, session->others_ns);
    text_time(elapsed, session->machine_ns);
    if (others < 0) {
        print_field(view, "machine load", "other programs used %s of CPU time in %s", amount, elapsed);
        return;
    }
    char *busy = heading_others_text(others, others, session->cpus);
    print_field(view, "machine load", "%s (%s of CPU time in %s)", busy, amount, elapsed);
    free(busy);
}

static const char *const samplers[] = {
    [PROFILE_SAMPLER_TASK] = NULL, /* the usual one */
    [PROFILE_SAMPLER_INHERIT] = "inherit: all tasks inherited the events of the command",
    [PROFILE_SAMPLER_CPU] = "cpu: each CPU had events, and the tasks had none",
    [PROFILE_SAMPLER_AUTO] = "auto: at first each task had events; later each CPU had events, and the tasks had none",
};

static void print_session(struct view *view, const struct profile_session *session)
{
    char when[64], amount[TEXT_AMOUNT], other[TEXT_AMOUNT];
    if (session->ours) {
        char id[33];
        profile_session_text(session, id);
        print_field(view, "session", "%s%s", id,
                    session->bare ? " (started by LD_PRELOAD, not by the command pinject-run)" : "");
        print_field(view, "root", "%" PRId32, session->root);
    }
    print_text_field(view, "recorder", session->version);
    print_text_field(view, "started", heading_when(when, sizeof(when), session->start_realtime_ns));
    if (session->argument_count) {
        char *command = text_command(session->arguments, session->argument_count);
        print_field(view, "command", "%s", command);
        free(command);
    }
    print_text_field(view, "host", session->hostname);
    if (session->osrelease || session->arch)
        print_field(view, "kernel", "%s %s", session->osrelease ? session->osrelease : "?",
                    session->arch ? session->arch : "");
    if (session->cpus)
        print_field(view, "cpus", "%" PRIu32 "%s%s", session->cpus, session->cpudesc ? ", " : "",
                    session->cpudesc ? session->cpudesc : "");
    if (session->memory_bytes)
        print_field(view, "memory", "%s", text_bytes(amount, session->memory_bytes));
    print_text_field(view, "clock", session->clock);
    if (session->coverage_known)
        print_field(view, "coverage", "CPU time %s, %s%s attributed to tasks; the run %s",
                    text_time(amount, session->cpu_ns), text_time(other, session->attributed_ns),
                    session->attributed_ns > session->cpu_ns ? "" : " of it",
                    session->coverage_complete ? "has ended" : "had not ended yet");
    if (session->incomplete_files)
        print_field(view, "unwritten", "%s; %s missing or not complete",
                    text_plural(amount, session->unwritten_samples, "sample", "samples"),
                    text_plural(other, session->incomplete_files, "result file is", "result files are"));
    print_load(view, session);
    if (samplers[session->sampler])
        print_field(view, "sampler", "%s", samplers[session->sampler]);
    for (uint32_t i = 0; i < session->missed_count; i++)
        print_field(view, "missed", "%s: %s, %s", session->missed[i].comm, session->missed[i].reason,
                    text_plural(amount, session->missed[i].count, "time", "times"));
    for (uint32_t i = 0; i < session->note_count; i++)
        print_text_field(view, "note", session->notes[i]);
}

static void print_events(struct view *view, const struct profile_file *file)
{
    /* Only events of its own have a period of their own. */
    const bool rate_auto = file->session && file->session->rate_auto && file->task_count &&
                           file->tasks[0].source == PROFILE_SOURCE_PERF;
    for (uint32_t i = 0; i < file->event_count; i++) {
        const struct profile_event *event = &file->events[i];
        if (event->sampled)
            print_field(view, "event", "%s, sampled %s %" PRIu64 "%s%s", event->name, event->frequency ? "at" : "every",
                        event->sample_value,
                        event->frequency                                           ? " Hz"
                        : !event->nanoseconds                                      ? ""
                        : rate_auto && event->sample_value == PROFILE_RATE_AUTO_NS ? " ns or less often (-F auto)"
                                                                                   : " ns",
                        event->exclude_kernel ? ", user space only" : "");
        else
            print_field(view, "event", "%s, counted%s", event->name, event->exclude_kernel ? ", user space only" : "");
    }
}

/* How a task without its own events was recorded. */
static const char *source_suffix(const struct profile_task *task)
{
    switch (task->source) {
    case PROFILE_SOURCE_TIMER: return " by a timer";
    case PROFILE_SOURCE_ACCOUNTING: return ", only the CPU time is known (from the kernel's accounting)";
    default: return "";
    }
}

static void print_tasks(struct view *view, const struct profile_file *file)
{
    for (uint32_t i = 0; i < file->task_count; i++) {
        const struct profile_task *task = &file->tasks[i];
        char *command = text_command(task->cmdline, task->cmdline_count);
        char samples[TEXT_AMOUNT];
        print_field(view, "task", "%" PRId32 ".%" PRId32 " %s, %s%s%s%s", task->pid, task->tid, task->comm,
                    text_plural(samples, task->samples, "sample", "samples"), source_suffix(task), *command ? ": " : "",
                    command);
        free(command);
    }
}

/* The name of records of TYPE; BUFFER has room for TEXT_AMOUNT bytes. */
static const char *record_name(char *buffer, size_t type)
{
    if (type + 1 == RECORD_KINDS)
        return "others";
    for (size_t i = 0; i < sizeof(record_names) / sizeof(record_names[0]); i++)
        if (record_names[i].type == type)
            return record_names[i].name;
    snprintf(buffer, TEXT_AMOUNT, "type %zu", type);
    return buffer;
}

static void print_records(struct view *view, const struct profile_file *file)
{
    for (size_t type = 0; type < RECORD_KINDS; type++) {
        if (!file->records[type])
            continue;
        char name[TEXT_AMOUNT], count[TEXT_AMOUNT];
        print_field(view, "records", "%-16s %12s", record_name(name, type), text_count(count, file->records[type]));
    }
}

static void print_features(struct view *view, const struct profile_file *file)
{
    char *line = memory_text("  features  ");
    for (uint32_t i = 0; i < file->feature_count; i++) {
        char *longer = memory_print("%s %s", line, file->feature_names[i]);
        free(line);
        line = longer;
    }
    if (file->feature_count) {
        fputs("  features   ", view->output->to);
        output_wrapped(view->output, 13, line + strlen("  features  "));
    }
    free(line);
}

/* Sections that the lines of the session show. */
static bool is_shown_above(const char *section)
{
    static const char *const names[] = {"HOSTNAME", "OSRELEASE", "VERSION", "ARCH", "CPUDESC", "TOTAL_MEM", "CMDLINE"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], section) == 0)
            return true;
    return false;
}

static bool is_same_section(const struct profile_file *file, uint32_t at, uint32_t first)
{
    return at < file->fact_count && strcmp(file->facts[at].section, file->facts[first].section) == 0;
}

/* "NUMA_TOPOLOGY: node 0, cpus 0-1; node 1, cpus 2-3" of the facts from FIRST to UNTIL - 1. */
static void print_section(struct view *view, const struct profile_file *file, uint32_t first, uint32_t until)
{
    char *line = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&line, &size);
    if (!to)
        memory_exhausted();
    fprintf(to, "%s:", file->facts[first].section);
    for (uint32_t i = first; i < until; i++) {
        const struct profile_fact *fact = &file->facts[i];
        if (i > first)
            fputc(fact->item == fact[-1].item ? ',' : ';', to);
        if (strcmp(fact->name, "text") != 0)
            fprintf(to, " %s", fact->name);
        if (fact->text)
            fprintf(to, " %s", fact->text);
        else
            fprintf(to, " %" PRIu64, fact->number);
    }
    if (fclose(to) != 0)
        memory_exhausted();
    fputs("  section    ", view->output->to);
    output_wrapped(view->output, 13, line);
    free(line);
}

static void print_facts(struct view *view, const struct profile_file *file)
{
    for (uint32_t first = 0, until; first < file->fact_count; first = until) {
        for (until = first + 1; is_same_section(file, until, first);)
            until++;
        if (!is_shown_above(file->facts[first].section))
            print_section(view, file, first, until);
    }
}

static void print_file(struct view *view, const struct profile_file *file)
{
    char size[TEXT_AMOUNT], data[TEXT_AMOUNT];
    output_color(view->output, OUTPUT_BOLD);
    output_text(view->output, file->path);
    output_color(view->output, OUTPUT_PLAIN);
    fputc('\n', view->output->to);
    print_field(view, "format", "perf.data%s%s%s, %s, data %s", file->pipe ? ", written to a pipe" : "",
                file->swapped ? ", of the opposite byte order" : "", file->ours ? ", by pinject" : "",
                text_bytes(size, file->size), text_bytes(data, file->data_size));
    if (file->parts)
        print_field(view, "directory", "%s beside 'data', one for each recording thread",
                    text_plural(size, file->parts, "file", "files"));
    if (file->truncated_bytes)
        print_field(view, "truncated", "%s at the end are an incomplete record",
                    text_bytes(size, file->truncated_bytes));
    if (file->missing_bytes)
        print_field(view, "cut off", "%s are missing at the end of the file", text_bytes(size, file->missing_bytes));
    print_text_field(view, "problem", file->problem);
    if (file->session)
        print_session(view, file->session);
    print_events(view, file);
    print_tasks(view, file);
    print_features(view, file);
    print_facts(view, file);
    print_records(view, file);
}

static void events_json(struct json *json, const struct profile_file *file)
{
    json_list(json, "events");
    for (uint32_t i = 0; i < file->event_count; i++) {
        const struct profile_event *event = &file->events[i];
        json_object(json, NULL);
        json_string(json, "event", event->name);
        json_unsigned(json, "type", event->type);
        json_unsigned(json, "config", event->config);
        json_bool(json, "sampled", event->sampled);
        json_bool(json, "frequency", event->frequency);
        json_unsigned(json, "sample_value", event->sample_value);
        json_bool(json, "user_only", event->exclude_kernel);
        json_end_object(json);
    }
    json_end_list(json);
}

/* The items of the section NAME; facts begin at *AT, which is moved. */
static void section_json(struct json *json, const struct profile_file *file, const char *name, uint32_t *at)
{
    json_list(json, name);
    for (uint32_t i = *at; i < file->fact_count && strcmp(file->facts[i].section, name) == 0; *at = ++i) {
        const struct profile_fact *fact = &file->facts[i];
        bool first = i == 0 || fact[-1].item != fact->item || strcmp(fact[-1].section, name) != 0;
        bool last = i + 1 == file->fact_count || fact[1].item != fact->item || strcmp(fact[1].section, name) != 0;
        if (first)
            json_object(json, NULL);
        if (fact->text)
            json_string(json, fact->name, fact->text);
        else
            json_unsigned(json, fact->name, fact->number);
        if (last)
            json_end_object(json);
    }
    json_end_list(json);
}

static void file_json(struct json *json, const struct profile_file *file)
{
    uint32_t at = 0;
    json_object(json, NULL);
    json_string(json, "path", file->path);
    json_unsigned(json, "bytes", file->size);
    json_unsigned(json, "data_bytes", file->data_size);
    json_unsigned(json, "parts", file->parts);
    json_bool(json, "pipe", file->pipe);
    json_bool(json, "swapped", file->swapped);
    json_bool(json, "ours", file->ours);
    json_unsigned(json, "truncated_bytes", file->truncated_bytes);
    json_unsigned(json, "missing_bytes", file->missing_bytes);
    json_string(json, "problem", file->problem && *file->problem ? file->problem : NULL);
    events_json(json, file);
    json_object(json, "features");
    for (uint32_t i = 0; i < file->feature_count; i++)
        section_json(json, file, file->feature_names[i], &at);
    json_end_object(json);
    json_object(json, "records");
    for (size_t type = 0; type < RECORD_KINDS; type++) {
        char name[TEXT_AMOUNT];
        if (file->records[type])
            json_unsigned(json, record_name(name, type), file->records[type]);
    }
    json_end_object(json);
    json_end_object(json);
}

int view_info(struct view *view)
{
    int result = 0;
    bool again = false;
    struct json document = {.to = view->output->to};
    if (view->settings->json) {
        json_object(&document, NULL);
        json_string(&document, "schema", "pinject.info/1");
        json_list(&document, "files");
    }
    for (size_t i = 0; i < view->path_count && !output_is_over(view->output); i++) {
        struct profile_file *file = NULL;
        if (profile_file_load(view->paths[i], &file) < 0) {
            result = 1;
            continue;
        }
        if (again && !view->settings->json)
            fputc('\n', view->output->to);
        again = true;
        if (view->settings->json)
            file_json(&document, file);
        else
            print_file(view, file);
        profile_file_free(file);
    }
    if (view->settings->json) {
        json_end_list(&document);
        json_end_object(&document);
    }
    return result;
}
