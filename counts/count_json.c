/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "common/json.h"
#include "counts/count_metric.h"
#include "counts/count_print.h"

static void print_cell(struct json *json, const struct count_report *report, const struct count_cell *cells,
                       size_t index)
{
    const struct count_event *event = &report->events[index];
    const struct count_cell *cell = &cells[index];
    struct count_metric metric;
    json_object(json, NULL);
    json_string(json, "event", event->name);
    json_string(json, "unit", event->nanoseconds ? "ns" : event->unit ? event->unit : "");
    if (event->set)
        json_unsigned(json, "set", event->set);
    if (event->unsupported || !count_is_known(cell)) {
        json_null(json, "value");
        json_string(json, "missing", event->unsupported ? "not supported" : "not counted");
    } else {
        if (event->scale != 0)
            json_real(json, "value", (double)cell->scaled * event->scale);
        else
            json_unsigned(json, "value", cell->scaled);
        json_bool(json, "estimate", cell->estimate);
        if (cell->estimate)
            json_unsigned(json, "counted", cell->value);
        if (report->spreads && report->runs > 1) { /* of one run it is unknown */
            const double scale = event->scale != 0 ? event->scale : 1;
            json_number(json, "deviation", report->spreads[index].deviation * scale);
            json_number(json, "interval_95", report->spreads[index].interval * scale);
        }
        json_unsigned(json, "enabled_ns", cell->enabled_ns);
        json_unsigned(json, "running_ns", cell->running_ns);
    }
    if (count_metric(report->events, cells, report->event_count, index, report->times.elapsed_ns, &metric)) {
        json_number(json, "metric", metric.value);
        json_string(json, "metric_unit", metric.percent ? "%" : metric.unit);
        if (metric.percent)
            json_string(json, "metric_of", metric.unit);
    }
    json_end_object(json);
}

static void print_cells(struct json *json, const struct count_report *report, const struct count_cell *cells)
{
    json_list(json, "counts");
    for (size_t i = 0; i < report->event_count; i++)
        print_cell(json, report, cells, i);
    json_end_list(json);
}

static void print_row(struct json *json, const struct count_report *report, const struct count_row *row, int by)
{
    char comm[sizeof(row->comm) + 1];
    snprintf(comm, sizeof(comm), "%.*s", (int)sizeof(row->comm), row->comm);
    json_object(json, NULL);
    json_string(json, "comm", comm);
    if (by != COUNT_BY_COMM)
        json_signed(json, "pid", row->pid);
    if (by == COUNT_BY_EXEC)
        json_unsigned(json, "exec", row->exec);
    if (by == COUNT_BY_THREAD || by == COUNT_BY_EXEC)
        json_signed(json, "tid", row->tid);
    else
        json_unsigned(json, "tasks", row->tasks);
    print_cells(json, report, row->cells);
    json_end_object(json);
}

static void print_times(struct json *json, const struct count_times *times)
{
    if (times->elapsed_ns)
        json_unsigned(json, "elapsed_ns", times->elapsed_ns);
    if (times->cpu_known) {
        json_unsigned(json, "user_ns", times->user_ns);
        json_unsigned(json, "system_ns", times->system_ns);
    }
}

void count_print_json(const struct count_report *report, const struct count_style *style, FILE *to)
{
    static const char *const words[] = {"all", "thread", "comm", "process", "exec"};
    struct count_store *store = report->store;
    struct json json = {.to = to};
    json_object(&json, NULL);
    json_string(&json, "command", report->command && report->command[0] ? report->command : NULL);
    if (report->at_ns)
        json_unsigned(&json, "interval_end_ns", report->at_ns);
    json_string(&json, "by", words[style->by]);
    if (report->whole_tree)
        json_null(&json, "tasks");
    else
        json_unsigned(&json, "tasks", store->task_count);
    json_unsigned(&json, "tasks_in_no_row", store->lost);
    if (report->spreads) {
        json_unsigned(&json, "runs", report->runs);
    }
    if (report->spreads && report->runs > 1) {
        json_number(&json, "elapsed_deviation", report->elapsed_spread.deviation);
        json_number(&json, "elapsed_interval_95", report->elapsed_spread.interval);
    }
    print_times(&json, &report->times);
    print_cells(&json, report, store->total);
    if (style->by != COUNT_ALL) {
        json_list(&json, "rows");
        for (size_t i = 0; i < store->rows; i++) {
            struct count_row row;
            count_store_row(store, i, &row);
            print_row(&json, report, &row, style->by);
        }
        json_end_list(&json);
    }
    json_end_object(&json);
    fputc('\n', to);
}
