/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "common/report.h"
#include "counts/count_metric.h"
#include "counts/count_print.h"

enum { NAME_WIDTH = 24, ROW_WIDTH = 20 };

static void print_value(const struct count_event *event, const struct count_cell *cell, int digits, FILE *to)
{
    char text[COUNT_TEXT], unit[64] = "";
    if (event->unit && !(event->scale != 0 && digits == COUNT_HEX)) /* the kernel's count has no unit then */
        report_safe(unit, sizeof(unit), event->unit, strlen(event->unit));
    if (event->unsupported)
        fprintf(to, "%18s %-4s ", "<not supported>", "");
    else if (!count_is_known(cell))
        fprintf(to, "%18s %-4s ", "<not counted>", "");
    else if (event->nanoseconds)
        fprintf(to, "%18s %-4s ", count_milliseconds(text, cell->scaled, (enum count_digits)digits),
                digits == COUNT_HEX ? "nsec" : "msec");
    else if (event->scale != 0 && digits != COUNT_HEX)
        fprintf(to, "%18.*f %-4s ", count_decimals(event->scale), (double)cell->scaled * event->scale, unit);
    else
        fprintf(to, "%18s %-4s ", count_number(text, cell->scaled, (enum count_digits)digits), unit);
}

/* "                 #   12.345  K/sec": what follows a name is in a column of its own. */
static void print_metric(const struct count_report *report, const struct count_cell *cells, size_t index, size_t size,
                         FILE *to)
{
    struct count_metric metric;
    if (!count_metric(report->events, cells, report->event_count, index, report->times.elapsed_ns, &metric))
        return;
    const char *unit = metric.unit;
    if (metric.rate)
        unit = count_rate(&metric.value);
    const int pad = size < NAME_WIDTH ? NAME_WIDTH - (int)size : 0;
    fprintf(to, metric.percent ? "%*s # %8.2f%% %s" : "%*s # %8.3f  %s", pad, "", metric.value, unit);
}

/* "  (s 2.34%, +- 1.05%)" */
static void print_spread(const struct count_spread *spread, FILE *to)
{
    if (spread->mean > 0)
        fprintf(to, "  (s %.2f%%, +- %.2f%%)", 100 * spread->deviation / spread->mean,
                100 * spread->interval / spread->mean);
}

/* "  (set 2; estimate: counted for 33.40% of the time)" */
static void print_share(const struct count_report *report, const struct count_cell *cells, size_t index, FILE *to)
{
    const struct count_event *event = &report->events[index];
    const struct count_cell *cell = &cells[index];
    char set[32] = "";
    if (event->unsupported || !cell->present)
        return;
    if (event->set)
        snprintf(set, sizeof(set), "set %u", event->set);
    const char *comma = event->set ? "; " : "";
    if (cell->estimate && cell->running_ns)
        fprintf(to, "  (%s%sestimate: counted for %.2f%% of the time)", set, comma,
                100.0 * (double)cell->running_ns / (double)cell->enabled_ns);
    else if (!count_is_known(cell) && count_had_turn(report->events, cells, report->event_count, index))
        fprintf(to, "  (%s%sno counter of the machine was free)", set, comma);
    else if (!count_is_known(cell))
        fprintf(to, "  (%s%sits event set was never active, or no counter was free)", set, comma);
    else if (event->set)
        fprintf(to, "  (%s)", set);
}

static void print_cell(const struct count_report *report, const struct count_cell *cells, size_t index, int digits,
                       FILE *to)
{
    const struct count_event *event = &report->events[index];
    const struct count_cell *cell = &cells[index];
    char name[160];
    print_value(event, cell, digits, to);
    report_safe(name, sizeof(name), event->name, strlen(event->name));
    fputs(name, to);
    print_metric(report, cells, index, strlen(name), to);
    if (report->spreads && report->runs > 1 && !event->unsupported)
        print_spread(&report->spreads[index], to);
    print_share(report, cells, index, to);
}

static void print_row(const struct count_report *report, const struct count_row *row, const struct count_style *style,
                      FILE *to)
{
    char name[128], stamp[COUNT_TEXT];
    count_row_name(name, sizeof(name), row, style->by);
    count_stamp(stamp, report);
    for (size_t i = 0; i < report->event_count; i++) {
        if (style->by != COUNT_ALL && report->events[i].unsupported)
            continue; /* once, after all rows */
        if (report->at_ns)
            fprintf(to, "%s ", stamp);
        if (style->by != COUNT_ALL)
            fprintf(to, "%*s ", ROW_WIDTH, name);
        print_cell(report, row->cells, i, style->digits, to);
        if (style->by == COUNT_ALL && report->comments && report->comments[i] && report->comments[i][0])
            fprintf(to, "  (%s)", report->comments[i]);
        fputc('\n', to);
    }
}

static void print_seconds(uint64_t ns, const char *what, const struct count_spread *spread, FILE *to)
{
    fprintf(to, "%8" PRIu64 ".%09" PRIu64 " seconds %s", ns / 1000000000, ns % 1000000000, what);
    if (spread)
        print_spread(spread, to);
    fputc('\n', to);
}

static void print_heading(const struct count_report *report, FILE *to)
{
    const struct count_store *store = report->store;
    fputs("\n Counts", to);
    if (report->command && report->command[0]) {
        fputs(" of '", to);
        char safe[512];
        fputs(report_safe(safe, sizeof(safe), report->command, strlen(report->command)), to);
        fputc('\'', to);
    }
    if (report->whole_tree)
        fputs(" (all tasks together", to);
    else
        fprintf(to, " (%" PRIu64 " %s", store->task_count, store->task_count == 1 ? "task" : "tasks");
    if (report->spreads && report->runs == 1)
        fputs("; there was only one run", to);
    else if (report->spreads)
        fprintf(to, "; mean of %" PRIu64 " runs; s: standard deviation, +-: 95 %% confidence interval of the mean",
                report->runs);
    fputs("):\n\n", to);
}

void count_print_text(const struct count_report *report, const struct count_style *style, FILE *to)
{
    struct count_store *store = report->store;
    const struct count_times *times = &report->times;
    if (!report->at_ns)
        print_heading(report, to);
    if (style->by == COUNT_ALL) {
        const struct count_row total = count_total_row(report);
        print_row(report, &total, style, to);
    }
    for (size_t i = 0; i < store->rows; i++) {
        struct count_row row;
        count_store_row(store, i, &row);
        print_row(report, &row, style, to);
    }
    for (size_t i = 0; style->by != COUNT_ALL && !report->at_ns && i < report->event_count; i++)
        if (report->events[i].unsupported) {
            fprintf(to, "%*s ", ROW_WIDTH, "");
            print_cell(report, store->total, i, style->digits, to);
            fputc('\n', to);
        }
    if (store->lost)
        fprintf(to, "%" PRIu64 " %s missing in the rows above: out of memory\n", store->lost,
                store->lost == 1 ? "task is" : "tasks are");
    if (report->at_ns)
        return;
    fputc('\n', to);
    if (times->elapsed_ns)
        print_seconds(times->elapsed_ns, "time elapsed",
                      report->spreads && report->runs > 1 ? &report->elapsed_spread : NULL, to);
    if (times->cpu_known) {
        print_seconds(times->user_ns, "user", NULL, to);
        print_seconds(times->system_ns, "sys", NULL, to);
    }
    if (times->elapsed_ns || times->cpu_known)
        fputc('\n', to);
}
