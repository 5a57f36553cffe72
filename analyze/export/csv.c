/* SPDX-License-Identifier: MIT */
/* Tables of functions and of tasks, as in RFC 4180: lines end in CR LF, quotes are doubled. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/export/utf8.h"
#include "analyze/view/counters.h"
#include "analyze/view/histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

struct row {
    FILE *to;
    bool filled;
};

static void begin_cell(struct row *row)
{
    if (row->filled)
        fputc(',', row->to);
    row->filled = true;
}

/* A spreadsheet would run such a text as a formula; an apostrophe in front keeps it a text. */
static bool is_formula(const char *text)
{
    return *text && strchr("=+-@", *text);
}

static void put_text(struct row *row, const char *text)
{
    char *valid = utf8_clean(text), *clean = text_clean(valid, true);
    const char *mark = is_formula(clean) ? "'" : "";
    begin_cell(row);
    if (!clean[strcspn(clean, ",\"")]) {
        fprintf(row->to, "%s%s", mark, clean);
    } else {
        fprintf(row->to, "\"%s", mark);
        for (const char *at = clean; *at; at++) {
            if (*at == '"')
                fputc('"', row->to);
            fputc(*at, row->to);
        }
        fputc('"', row->to);
    }
    free(clean);
    free(valid);
}

static void put_number(struct row *row, uint64_t number)
{
    begin_cell(row);
    fprintf(row->to, "%" PRIu64, number);
}

/* An unknown number is an empty cell. */
static void put_known(struct row *row, bool known, int64_t number)
{
    begin_cell(row);
    if (known)
        fprintf(row->to, "%" PRId64, number);
}

static void put_percent(struct row *row, uint64_t part, uint64_t whole)
{
    begin_cell(row);
    fprintf(row->to, "%.4f", text_share(part, whole));
}

static void end_row(struct row *row)
{
    fputs("\r\n", row->to);
    row->filled = false;
}

static void put_names(struct row *row, const char *const *names)
{
    for (; *names; names++)
        put_text(row, *names);
}

static void put_function(struct row *row, const struct histogram *histogram, const struct histogram_row *counts)
{
    struct names_function function = names_function(histogram->names, (uint32_t)counts->key);
    put_text(row, function.symbol);
    put_text(row, function.dso);
    put_number(row, counts->self_samples);
    put_number(row, counts->self_weight);
    put_percent(row, counts->self_weight, histogram->weight);
    put_number(row, counts->total_samples);
    put_number(row, counts->total_weight);
    put_percent(row, counts->total_weight, histogram->weight);
    end_row(row);
}

int csv_write(struct view *view, struct output_file *out)
{
    static const char *const names[] = {"symbol",        "object",       "self_samples",  "self_weight", "self_percent",
                                        "total_samples", "total_weight", "total_percent", NULL};
    const struct selection *selection = view->selection;
    struct row row = {.to = out->to};
    struct histogram histogram;
    histogram_init(&histogram, view->profile, view->names, BY_FUNCTION);
    for (uint32_t i = 0; i < selection->entry_count; i++)
        histogram_add(&histogram, &view->profile->entries[selection->entries[i]]);
    histogram_sort(&histogram, SORT_SELF);
    put_names(&row, names);
    end_row(&row);
    for (size_t i = 0; i < histogram.count && !output_file_is_over(out); i++)
        put_function(&row, &histogram, &histogram.rows[i]);
    histogram_release(&histogram);
    return 0;
}

/* By event: whether some task has a count of it. An event that only carries records has none. */
static bool *find_counted(const struct view *view, struct counter *counters)
{
    const struct profile *profile = view->profile;
    bool *counted = memory_new(profile->event_count, sizeof(*counted));
    for (uint32_t i = 0; i < profile->task_count; i++) {
        counters_of_task(profile, &profile->tasks[i], counters);
        for (uint32_t j = 0; j < profile->event_count; j++)
            counted[j] |= counters[j].present;
    }
    return counted;
}

static void put_task(struct row *row, const struct view *view, uint32_t index, struct counter *counters,
                     const bool *counted)
{
    const struct profile *profile = view->profile;
    const struct profile_task *task = &profile->tasks[index];
    bool estimate;
    uint64_t weight = view->selection->weights[index], cpu = counters_cpu(profile, task, weight, &estimate);
    char *command = text_command(task->cmdline, task->cmdline_count);
    put_known(row, true, task->pid);
    put_known(row, true, task->tid);
    put_known(row, task->ppid >= 0, task->ppid);
    put_text(row, task->comm);
    put_text(row, task->exec);
    put_known(row, task->start_ns, (int64_t)task->start_ns);
    put_known(row, task->end_ns, (int64_t)task->end_ns);
    put_known(row, true, task->ended);
    put_known(row, task->exit >= 0, task->exit);
    put_known(row, cpu != COUNTERS_UNKNOWN, (int64_t)cpu);
    put_number(row, task->startup_ns);
    put_known(row, task->exit_cost, (int64_t)task->exit_ns);
    put_number(row, view->selection->samples[index]);
    put_number(row, weight);
    put_number(row, task->lost);
    put_text(row, command);
    free(command);
    counters_of_task(profile, task, counters);
    for (uint32_t i = 0; i < profile->event_count; i++)
        if (counted[i])
            put_known(row, counters_known(&counters[i]), (int64_t)counters[i].scaled);
    end_row(row);
}

int csv_tasks_write(struct view *view, struct output_file *out)
{
    static const char *const names[] = {"pid",     "tid",    "ppid", "comm",    "exec",       "start_ns",
                                        "end_ns",  "ended",  "exit", "cpu_ns",  "startup_ns", "exit_ns",
                                        "samples", "weight", "lost", "command", NULL};
    const struct profile *profile = view->profile;
    struct row row = {.to = out->to};
    struct counter *counters = memory_new(profile->event_count, sizeof(*counters));
    bool *counted = find_counted(view, counters);
    put_names(&row, names);
    for (uint32_t i = 0; i < profile->event_count; i++)
        if (counted[i])
            put_text(&row, profile->events[i].name);
    end_row(&row);
    for (uint32_t i = 0; i < profile->task_count && !output_file_is_over(out); i++)
        if (view->selection->tasks[i])
            put_task(&row, view, i, counters, counted);
    free(counted);
    free(counters);
    return 0;
}
