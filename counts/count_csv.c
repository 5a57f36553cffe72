/* SPDX-License-Identifier: MIT */
/*
 * perf stat's columns: the row's name (not of the whole run), value, unit, event, time running in ns, percentage of
 * the time running, derived figure, its unit. After the event of several runs: the error of the mean in percent.
 */
#include <inttypes.h>
#include <string.h>

#include "counts/count_metric.h"
#include "counts/count_print.h"

/* TEXT, in quotes if a reader would take it for several fields. */
static void print_field(const char *text, const char *separator, FILE *to)
{
    if (!strstr(text, separator) && !strpbrk(text, "\"\r\n")) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++)
        fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', to);
}

static void print_value(const struct count_event *event, const struct count_cell *cell, int digits, FILE *to)
{
    char text[COUNT_TEXT];
    if (event->unsupported)
        fputs("<not supported>", to);
    else if (!count_is_known(cell))
        fputs("<not counted>", to);
    else if (digits == COUNT_HEX)
        fputs(count_number(text, cell->scaled, COUNT_HEX), to);
    else if (event->nanoseconds)
        fprintf(to, "%" PRIu64 ".%06" PRIu64, cell->scaled / 1000000, cell->scaled % 1000000);
    else if (event->scale != 0)
        fprintf(to, "%.6f", (double)cell->scaled * event->scale);
    else
        fputs(count_number(text, cell->scaled, COUNT_PLAIN), to);
}

static const char *unit_of(const struct count_event *event, int digits)
{
    if (event->nanoseconds)
        return digits == COUNT_HEX ? "nsec" : "msec";
    if (event->scale != 0 && digits == COUNT_HEX)
        return ""; /* the kernel's count */
    return event->unit ? event->unit : "";
}

static void print_cell(const struct count_report *report, const struct count_cell *cells, size_t index, int digits,
                       const char *separator, FILE *to)
{
    const struct count_event *event = &report->events[index];
    const struct count_cell *cell = &cells[index];
    const bool known = !event->unsupported && count_is_known(cell);
    struct count_metric metric;
    print_value(event, cell, digits, to);
    fputs(separator, to);
    print_field(known ? unit_of(event, digits) : "", separator, to);
    fputs(separator, to);
    print_field(event->name, separator, to);
    if (report->spreads) /* perf stat -r: the error of the mean */
        fprintf(to, "%s%.2f%%", separator,
                report->spreads[index].mean > 0 ? 100 * report->spreads[index].error / report->spreads[index].mean : 0);
    fprintf(to, "%s%" PRIu64 "%s%.2f%s", separator, cell->running_ns, separator,
            known && cell->enabled_ns ? 100.0 * (double)cell->running_ns / (double)cell->enabled_ns
            : known                   ? 100.0
                                      : 0.0,
            separator);
    if (count_metric(report->events, cells, report->event_count, index, report->times.elapsed_ns, &metric)) {
        const char *unit = metric.rate ? count_rate(&metric.value) : metric.unit;
        fprintf(to, metric.percent ? "%.2f%s" : "%.3f%s", metric.value, separator);
        fprintf(to, "%s%s", metric.percent ? "% " : "", unit);
    } else {
        fputs(separator, to);
    }
    fputc('\n', to);
}

static void print_row(const struct count_report *report, const struct count_row *row, const struct count_style *style,
                      FILE *to)
{
    const char *separator = style->separator ? style->separator : ",";
    char name[128], stamp[COUNT_TEXT];
    count_row_name(name, sizeof(name), row, style->by);
    count_stamp(stamp, report);
    for (size_t i = 0; i < report->event_count; i++) {
        if (stamp[0])
            fprintf(to, "%s%s", stamp, separator);
        if (style->by != COUNT_ALL) {
            print_field(name, separator, to);
            fputs(separator, to);
        }
        print_cell(report, row->cells, i, style->digits, separator, to);
    }
}

void count_print_csv(const struct count_report *report, const struct count_style *style, FILE *to)
{
    struct count_store *store = report->store;
    if (style->by == COUNT_ALL) {
        const struct count_row total = count_total_row(report);
        print_row(report, &total, style, to);
    }
    for (size_t i = 0; i < store->rows; i++) {
        struct count_row row;
        count_store_row(store, i, &row);
        print_row(report, &row, style, to);
    }
}
