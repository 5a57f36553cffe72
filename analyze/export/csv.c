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
#include "analyze/view/rows.h"
#include "analyze/view/text.h"
#include "common/report.h"

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

/* What csv_write() writes of the samples. */
struct table {
    const struct view *view;
    struct histogram histogram;
    struct rows rows;
    struct rows_sums sums;
    uint32_t *events; /* --group: the shown one first; NULL: only that, with totals */
    uint32_t event_count;
};

static void put_heads(struct row *row, const struct table *table)
{
    const bool cum = table->view->settings->show_cum;
    const char *const self[] = {"self_samples", "self_weight", "self_percent", cum ? "cum_percent" : NULL, NULL};
    put_names(row, (const char *const[]){"symbol", "object", NULL});
    if (!table->events) {
        put_names(row, self);
        put_names(row, (const char *const[]){"total_samples", "total_weight", "total_percent", NULL});
    }
    for (uint32_t i = 0; i < table->event_count; i++)
        for (const char *const *name = self; *name; name++) {
            char *head = memory_print("%s %s", table->view->profile->events[table->events[i]].name, *name);
            put_text(row, head);
            free(head);
        }
    end_row(row);
}

static void put_self(struct row *row, const struct table *table, const struct histogram_row *counts, uint32_t event)
{
    const struct histogram_other self = histogram_of_event(&table->histogram, counts, event),
                                 all = histogram_of_event(&table->histogram, NULL, event);
    put_number(row, self.samples);
    put_number(row, self.weight);
    put_percent(row, self.weight, all.weight);
    if (table->view->settings->show_cum)
        put_percent(row, table->sums.weights[event], all.weight);
}

static void put_function(struct row *row, const struct table *table, const struct histogram_row *counts)
{
    struct names_function function = names_function(table->histogram.names, (uint32_t)counts->key);
    put_text(row, function.symbol);
    put_text(row, function.dso);
    for (uint32_t i = 0; i < table->event_count; i++)
        put_self(row, table, counts, table->events[i]);
    if (!table->events) {
        put_self(row, table, counts, table->view->profile->event);
        put_number(row, counts->total_samples);
        put_number(row, counts->total_weight);
        put_percent(row, counts->total_weight, table->histogram.weight);
    }
    end_row(row);
}

/* Says what --cum leaves out: the table has no place for that. */
static void tell_left_out(const struct table *table)
{
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT];
    if (table->rows.more)
        report_note("--cum left out %s (%s of the total weight)",
                    text_plural(number, table->rows.more, "function", "functions"),
                    text_percent(share, table->rows.more_weight, table->histogram.weight));
}

int csv_write(struct view *view, struct output_file *out)
{
    const struct selection *selection = view->selection;
    struct row row = {.to = out->to};
    struct table table = {.view = view};
    histogram_init(&table.histogram, view->profile, view->names, BY_FUNCTION);
    for (uint32_t i = 0; i < selection->entry_count; i++)
        histogram_add(&table.histogram, &view->profile->entries[selection->entries[i]]);
    event_group_add(view, &table.histogram, EVENT_GROUP_ALL);
    histogram_sort(&table.histogram, SORT_SELF);
    rows_choose(&table.rows, view, &table.histogram, SETTINGS_ALL, view->settings->cum);
    rows_sums_init(&table.sums, view, &table.histogram);
    if (view->settings->group)
        table.events = event_group_events(view->profile, &table.event_count);
    put_heads(&row, &table);
    for (size_t i = 0; i < table.rows.count && !output_file_is_over(out); i++) {
        rows_sums_add(&table.sums, &table.histogram, table.rows.list[i]);
        put_function(&row, &table, table.rows.list[i]);
    }
    tell_left_out(&table);
    free(table.events);
    rows_sums_release(&table.sums);
    rows_release(&table.rows);
    histogram_release(&table.histogram);
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
