/* SPDX-License-Identifier: MIT */
/* The document of --json; docs/panalyze.md describes it. Names are never changed, only added. */
#include <stdlib.h>
#include <string.h>

#include "analyze/view/call_tree.h"
#include "analyze/view/callers.h"
#include "analyze/view/counters.h"
#include "analyze/view/coverage.h"
#include "analyze/view/histogram.h"
#include "analyze/view/inlines.h"
#include "analyze/view/line_histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/rows.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/json.h"

#define TASK_FUNCTIONS 20 /* of one task, without --top and --cum */

static void function_object(struct json *json, struct view *view, struct histogram *histogram,
                            const struct histogram_row *row, const struct rows_sums *sums,
                            const struct inlines *inlines, const uint32_t *entries, uint32_t count)
{
    struct names_function function = names_function(histogram->names, (uint32_t)row->key);
    json_object(json, NULL);
    json_string(json, "symbol", function.symbol);
    json_string(json, "dso", function.dso);
    rows_json_row(json, view, histogram, row, sums);
    json_bool(json, "inlined", function.inlined);
    inlines_json(inlines, row->key, json);
    if (view->settings->symbols.count)
        butterfly_json(json, view, histogram, row, entries, count);
    json_end_object(json);
}

/* The member "functions", from ENTRIES[COUNT], those of TASK or of all tasks. */
static void functions_list(struct json *json, struct view *view, uint32_t task, const uint32_t *entries, uint32_t count,
                           uint64_t limit)
{
    struct histogram histogram;
    struct rows rows;
    struct rows_sums sums;
    histogram_init(&histogram, view->profile, view->names, BY_FUNCTION);
    for (uint32_t i = 0; i < count; i++)
        histogram_add(&histogram, &view->profile->entries[entries[i]]);
    event_group_add(view, &histogram, task);
    if (view->settings->symbols.count)
        histogram_count_inlined(&histogram);
    histogram_sort(&histogram, view->settings->sort);
    rows_choose(&rows, view, &histogram, limit, view->settings->cum);
    struct inlines *inlines = task == EVENT_GROUP_ALL ? inlines_new(view, &histogram, &rows, entries, count) : NULL;
    rows_sums_init(&sums, view, &histogram);
    json_list(json, "functions");
    for (size_t i = 0; i < rows.count; i++) {
        rows_sums_add(&sums, &histogram, rows.list[i]);
        function_object(json, view, &histogram, rows.list[i], &sums, inlines, entries, count);
    }
    json_end_list(json);
    rows_json_left_out(json, view, "functions", rows.more, rows.more_weight, histogram.weight);
    rows_sums_release(&sums);
    inlines_free(inlines);
    rows_release(&rows);
    histogram_release(&histogram);
}

static void words_list(struct json *json, const char *key, const char *const *words, uint32_t count)
{
    json_list(json, key);
    for (uint32_t i = 0; i < count; i++)
        json_string(json, NULL, words[i]);
    json_end_list(json);
}

static void time_or_null(struct json *json, const char *key, uint64_t time)
{
    if (time)
        json_unsigned(json, key, time);
    else
        json_null(json, key);
}

static void counts_list(struct json *json, const struct profile *profile, const struct counter *counters)
{
    json_list(json, "counts");
    for (uint32_t i = 0; i < profile->event_count; i++) {
        if (!counters[i].present)
            continue;
        json_object(json, NULL);
        json_string(json, "event", profile->events[i].name);
        if (profile->events[i].set)
            json_unsigned(json, "set", profile->events[i].set);
        if (profile->events[i].unit)
            json_string(json, "unit", profile->events[i].unit);
        if (profile->events[i].scale != 0)
            json_real(json, "scale", profile->events[i].scale);
        json_unsigned(json, "value", counters[i].value);
        json_unsigned(json, "enabled_ns", counters[i].enabled_ns);
        json_unsigned(json, "running_ns", counters[i].running_ns);
        json_unsigned(json, "scaled", counters[i].scaled);
        json_unsigned(json, "counted", counters[i].counted);
        json_bool(json, "estimate", counters[i].estimate);
        json_end_object(json);
    }
    json_end_list(json);
}

static const char *source_name(enum profile_task_source source)
{
    static const char *const names[] = {NULL, "perf", "inherited", "timer", "accounting", "cpu"};
    return (size_t)source < sizeof(names) / sizeof(names[0]) ? names[source] : NULL;
}

static void generations_list(struct json *json, const struct profile_task *task)
{
    json_list(json, "images");
    for (uint32_t i = 0; i < task->generation_count; i++) {
        const struct profile_generation *generation = &task->generations[i];
        json_object(json, NULL);
        time_or_null(json, "start_ns", generation->start_ns);
        json_string(json, "exec", generation->exec);
        json_string(json, "comm", generation->comm);
        words_list(json, "cmdline", generation->cmdline, generation->cmdline_count);
        json_end_object(json);
    }
    json_end_list(json);
}

static void task_facts(struct json *json, const struct profile_task *task)
{
    json_signed(json, "pid", task->pid);
    json_signed(json, "tid", task->tid);
    if (task->ppid >= 0)
        json_signed(json, "ppid", task->ppid);
    else
        json_null(json, "ppid");
    json_string(json, "exec", task->exec);
    json_string(json, "comm", task->comm);
    words_list(json, "cmdline", task->cmdline, task->cmdline_count);
    time_or_null(json, "start_ns", task->start_ns);
    time_or_null(json, "end_ns", task->end_ns);
    json_bool(json, "ended", task->ended);
    if (task->exit >= 0)
        json_signed(json, "exit", task->exit);
    else
        json_null(json, "exit");
}

static void task_object(struct json *json, struct view *view, uint32_t index, struct counter *counters, bool functions)
{
    const struct profile *profile = view->profile;
    const struct profile_task *task = &profile->tasks[index];
    const struct selection *selection = view->selection;
    bool estimate;
    uint64_t cpu = counters_cpu(profile, task, selection->weights[index], &estimate);
    counters_of_task(profile, task, counters);
    json_object(json, NULL);
    task_facts(json, task);
    json_unsigned(json, "samples", selection->samples[index]);
    json_unsigned(json, "weight", selection->weights[index]);
    json_unsigned(json, "lost", task->lost);
    event_group_json_sums(json, view, index);
    json_string(json, "source", source_name(task->source));
    counts_list(json, profile, counters);
    if (cpu != COUNTERS_UNKNOWN)
        json_unsigned(json, "cpu_ns", cpu);
    else
        json_null(json, "cpu_ns");
    json_unsigned(json, "startup_ns", task->startup_ns);
    json_unsigned(json, "exit_ns", task->exit_ns);
    json_signed(json, "parent_tid", task->parent_tid);
    json_bool(json, "root", task->root);
    json_bool(json, "tree", task->tree);
    json_string(json, "file", task->file);
    generations_list(json, task);
    if (functions) {
        functions_list(json, view, index, selection->entries + selection->first[index],
                       selection->first[index + 1] - selection->first[index],
                       rows_limit(view->settings, TASK_FUNCTIONS));
    }
    json_end_object(json);
}

static void session_object(struct json *json, const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    char id[33];
    profile_session_text(session, id);
    json_object(json, "session");
    json_string(json, "id", session->ours ? id : NULL);
    words_list(json, "cmdline", session->arguments, session->argument_count);
    time_or_null(json, "start_ns", session->start_ns);
    time_or_null(json, "start_realtime_ns", session->start_realtime_ns);
    json_string(json, "version", session->version);
    json_string(json, "hostname", session->hostname);
    json_string(json, "osrelease", session->osrelease);
    json_string(json, "event_reason", session->event_reason && *session->event_reason ? session->event_reason : NULL);
    json_unsigned(json, "files", profile->files_read);
    json_unsigned(json, "files_bad", profile->files_bad);
    json_unsigned(json, "files_truncated", profile->files_truncated);
    json_unsigned(json, "files_other_session", profile->files_other_session);
    json_end_object(json);
}

static void tasks_and_totals(struct json *json, struct view *view, bool functions)
{
    const struct profile *profile = view->profile;
    struct counter *sum = memory_new(profile->event_count, sizeof(*sum));
    struct counter *counters = memory_new(profile->event_count, sizeof(*counters));
    json_list(json, "tasks");
    for (uint32_t i = 0; i < profile->task_count; i++) {
        if (!view->selection->tasks[i])
            continue;
        task_object(json, view, i, counters, functions);
        counters_add(profile, sum, counters);
    }
    json_end_list(json);
    counts_list(json, profile, sum);
    free(counters);
    free(sum);
}

int view_document(struct view *view, bool with_task_functions)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    const struct settings *settings = view->settings;
    const struct profile_event *event = profile->event_count ? &profile->events[profile->event] : NULL;
    struct json json = {.to = view->output->to};
    json_object(&json, NULL);
    json_string(&json, "schema", "pinject.report/1");
    json_string(&json, "event", event ? event->name : NULL);
    json_bool(&json, "nanoseconds", event && event->nanoseconds);
    json_bool(&json, "user_only", event && event->exclude_kernel);
    json_bool(&json, "filtered", selection->filtered);
    json_object(&json, "total");
    json_unsigned(&json, "samples", selection->total_samples);
    json_unsigned(&json, "weight", selection->total_weight);
    json_unsigned(&json, "lost", selection->lost);
    event_group_json_sums(&json, view, EVENT_GROUP_ALL);
    json_end_object(&json);
    functions_list(&json, view, EVENT_GROUP_ALL, selection->entries, selection->entry_count,
                   rows_limit(settings, SETTINGS_ALL));
    rows_json(&json, view);
    if (settings->call_tree)
        call_tree_json(&json, view, selection->entries, selection->entry_count);
    if (view->lines)
        line_histogram_json(&json, view);
    if (view->members)
        view->members(view->members_context, &json);
    tasks_and_totals(&json, view, with_task_functions);
    coverage_json(&json, profile);
    session_object(&json, profile);
    json_end_object(&json);
    return 0;
}
