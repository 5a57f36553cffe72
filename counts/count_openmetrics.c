/* SPDX-License-Identifier: MIT */
/* OpenMetrics 1.0 text: all samples of a family stand together, so each family goes through all rows once. */
#include <inttypes.h>
#include <string.h>

#include "common/json.h"
#include "counts/count_metric.h"
#include "counts/count_print.h"

enum family { FAMILY_COUNT, FAMILY_SECONDS, FAMILY_SHARE, FAMILY_METRIC, FAMILY_MISSING, FAMILIES };

static const struct {
    const char *name, *type, *unit, *help;
} families[] = {
    {"pinject_event", "counter", "", "What the event counted."},
    {"pinject_event_time_seconds", "counter", "seconds", "What the clock event counted."},
    {"pinject_event_counted_ratio", "gauge", "ratio",
     "If the count is an estimate: the share of the time in which the event was counted."},
    {"pinject_metric", "gauge", "", "A figure calculated from the counts of several events."},
    {"pinject_event_missing", "gauge", "", "Always 1: the event has no count; the label 'reason' says why."},
};

/* A label's value: UTF-8, with \\, \" and \n. */
static void print_label(const char *name, const char *value, FILE *to)
{
    fprintf(to, "%s=\"", name);
    for (size_t size; *value; value += size) {
        size = json_character((const unsigned char *)value);
        if (!size) {
            fputs("\xef\xbf\xbd", to);
            size = 1;
        } else if (*value == '\n') {
            fputs("\\n", to);
        } else if (*value == '"' || *value == '\\') {
            fprintf(to, "\\%c", *value);
        } else {
            fwrite(value, 1, size, to);
        }
    }
    fputc('"', to);
}

static void begin_sample(enum family family, const struct count_event *event, const struct count_row *row, int by,
                         FILE *to)
{
    char text[sizeof(row->comm) + 1];
    fprintf(to, "%s%s{", families[family].name, strcmp(families[family].type, "counter") == 0 ? "_total" : "");
    print_label("event", event->name, to);
    if (event->set)
        fprintf(to, ",set=\"%u\"", event->set);
    if (event->unit && event->unit[0]) {
        fputc(',', to);
        print_label("unit", event->unit, to);
    }
    if (by != COUNT_ALL) {
        fputc(',', to);
        snprintf(text, sizeof(text), "%.*s", (int)sizeof(row->comm), row->comm);
        print_label("comm", text, to);
    }
    if (by != COUNT_ALL && by != COUNT_BY_COMM)
        fprintf(to, ",pid=\"%" PRId32 "\"", row->pid);
    if (by == COUNT_BY_THREAD || by == COUNT_BY_EXEC)
        fprintf(to, ",tid=\"%" PRId32 "\"", row->tid);
    /* Numbers of tasks come again; the start tells the tasks apart. */
    if (by == COUNT_BY_EXEC)
        fprintf(to, ",exec=\"%" PRIu32 "\"", row->exec);
    if (by != COUNT_ALL && by != COUNT_BY_COMM)
        fprintf(to, ",start=\"%" PRIu64 ".%09" PRIu64 "\"", row->start_ns / 1000000000, row->start_ns % 1000000000);
}

static void print_metric(const struct count_report *report, const struct count_row *row, size_t index, int by, FILE *to)
{
    struct count_metric metric;
    if (!count_metric(report->events, row->cells, report->event_count, index, report->times.elapsed_ns, &metric))
        return;
    begin_sample(FAMILY_METRIC, &report->events[index], row, by, to);
    fputc(',', to);
    print_label("metric", metric.unit, to);
    fprintf(to, "} %.9g\n", metric.percent ? metric.value / 100 : metric.value);
}

static void print_value(enum family family, const struct count_event *event, const struct count_row *row,
                        const struct count_cell *cell, int by, FILE *to)
{
    begin_sample(family, event, row, by, to);
    if (family == FAMILY_SECONDS)
        fprintf(to, "} %" PRIu64 ".%09" PRIu64 "\n", cell->scaled / 1000000000, cell->scaled % 1000000000);
    else if (family == FAMILY_SHARE)
        fprintf(to, "} %.6f\n", (double)cell->running_ns / (double)cell->enabled_ns);
    else if (event->scale != 0)
        fprintf(to, "} %.9g\n", (double)cell->scaled * event->scale);
    else
        fprintf(to, "} %" PRIu64 "\n", cell->scaled);
}

static void print_sample(enum family family, const struct count_report *report, const struct count_row *row,
                         size_t index, int by, FILE *to)
{
    const struct count_event *event = &report->events[index];
    const struct count_cell *cell = &row->cells[index];
    const bool known = !event->unsupported && count_is_known(cell);
    if (family == FAMILY_MISSING && !known) {
        begin_sample(family, event, row, by, to);
        fprintf(to, ",reason=\"%s\"} 1\n", event->unsupported ? "not supported" : "not counted");
    } else if (known &&
               ((family == FAMILY_COUNT && !event->nanoseconds) || (family == FAMILY_SECONDS && event->nanoseconds) ||
                (family == FAMILY_SHARE && cell->estimate))) {
        print_value(family, event, row, cell, by, to);
    } else if (family == FAMILY_METRIC) {
        print_metric(report, row, index, by, to);
    }
}

static void print_family(enum family family, const struct count_report *report, int by, FILE *to)
{
    struct count_store *store = report->store;
    const size_t rows = by == COUNT_ALL ? 1 : store->rows;
    fprintf(to, "# TYPE %s %s\n", families[family].name, families[family].type);
    if (families[family].unit[0])
        fprintf(to, "# UNIT %s %s\n", families[family].name, families[family].unit);
    fprintf(to, "# HELP %s %s\n", families[family].name, families[family].help);
    for (size_t i = 0; i < rows; i++) {
        struct count_row row = count_total_row(report);
        if (by != COUNT_ALL)
            count_store_row(store, i, &row);
        for (size_t event = 0; event < report->event_count; event++)
            print_sample(family, report, &row, event, by, to);
    }
}

static void print_time(const char *name, const char *help, uint64_t ns, FILE *to)
{
    fprintf(to,
            "# TYPE %s gauge\n# UNIT %s seconds\n# HELP %s %s\n"
            "%s %" PRIu64 ".%09" PRIu64 "\n",
            name, name, name, help, name, ns / 1000000000, ns % 1000000000);
}

void count_print_openmetrics(const struct count_report *report, const struct count_style *style, FILE *to)
{
    for (int family = 0; family < FAMILIES; family++)
        print_family((enum family)family, report, style->by, to);
    if (report->times.elapsed_ns)
        print_time("pinject_elapsed_seconds", "How long the command took.", report->times.elapsed_ns, to);
    if (report->times.cpu_known) {
        print_time("pinject_user_seconds", "CPU time in user space.", report->times.user_ns, to);
        print_time("pinject_system_seconds", "CPU time in the kernel.", report->times.system_ns, to);
    }
    fputs("# EOF\n", to);
}
