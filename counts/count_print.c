/* SPDX-License-Identifier: MIT */
#include "counts/count_print.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "common/report.h"

int count_take_separator(const char **ret, const char *value)
{
    if (!*value || strpbrk(value, "\"\r\n") || strlen(value) > 8) {
        report_error("option '-x' needs a separator of 1 to 8 bytes without quotes and line ends, such as ',' or ';'");
        return -EINVAL;
    }
    *ret = strcmp(value, "\\t") == 0 ? "\t" : value;
    return 0;
}

int count_check_style(int form, int digits)
{
    static const char *const forms[] = {"", "'-x'", "'--json'", "'--openmetrics'"};
    static const char *const names[] = {"", "us", "eu", "hex"};
    if (digits == COUNT_PLAIN || form == COUNT_AS_TEXT || (form == COUNT_AS_CSV && digits == COUNT_HEX))
        return 0;
    report_error(
        "option '--%s-counter-format' cannot be used with %s, whose output is for other programs: they need plain numbers",
        names[digits], forms[form]);
    return -EINVAL;
}

char *count_row_name(char *ret, size_t size, const struct count_row *row, int by)
{
    char safe[4 * sizeof(row->comm) + 4];
    report_safe(safe, sizeof(safe), row->comm, sizeof(row->comm));
    if (by == COUNT_BY_THREAD)
        snprintf(ret, size, "%s-%" PRId32, safe, row->tid);
    else if (by == COUNT_BY_PROCESS)
        snprintf(ret, size, "%s-%" PRId32, safe, row->pid);
    else if (by == COUNT_BY_EXEC)
        snprintf(ret, size, "%s-%" PRId32 ".%" PRIu32, safe, row->tid, row->exec);
    else
        snprintf(ret, size, "%s", by == COUNT_BY_COMM ? safe : "");
    return ret;
}

char *count_stamp(char *ret, const struct count_report *report)
{
    ret[0] = '\0';
    if (report->at_ns)
        snprintf(ret, COUNT_TEXT, "%6" PRIu64 ".%09" PRIu64, report->at_ns / 1000000000, report->at_ns % 1000000000);
    else if (report->is_summary)
        snprintf(ret, COUNT_TEXT, "%16s", "summary");
    return ret;
}

struct count_row count_total_row(const struct count_report *report)
{
    return (struct count_row){.pid = -1, .tid = -1, .tasks = report->store->task_count, .cells = report->store->total};
}

void count_print(const struct count_report *report, const struct count_style *style, FILE *to)
{
    switch (style->form) {
    case COUNT_AS_CSV: count_print_csv(report, style, to); break;
    case COUNT_AS_JSON: count_print_json(report, style, to); break;
    case COUNT_AS_OPENMETRICS: count_print_openmetrics(report, style, to); break;
    default: count_print_text(report, style, to); break;
    }
}
