/* SPDX-License-Identifier: MIT */
/*
 * Counts as text like perf stat's, as CSV with perf stat's columns, as JSON, or in the format of OpenMetrics. Names of
 * tasks and events are escaped. Errors of TO are the caller's: ferror().
 */
#ifndef COUNTS_COUNT_PRINT_H
#define COUNTS_COUNT_PRINT_H

#include <stdio.h>

#include "counts/count_number.h"
#include "counts/count_spread.h"
#include "counts/count_store.h"

enum count_form { COUNT_AS_TEXT, COUNT_AS_CSV, COUNT_AS_JSON, COUNT_AS_OPENMETRICS };

struct count_style {
    int form;              /* enum count_form */
    int digits;            /* enum count_digits; JSON and OpenMetrics have no choice */
    int by;                /* enum count_by: what the rows are */
    const char *separator; /* of CSV; NULL: "," */
};

struct count_report {
    const struct count_event *events;
    size_t event_count;
    struct count_store *store; /* sorted; its rows are printed, or its total if it has none by choice */
    struct count_times times;
    uint64_t at_ns;                     /* of an interval: its end, since the start; 0: it is the whole run */
    bool is_summary;                    /* after intervals, of the whole run */
    const char *command;                /* as typed; NULL or "": unknown */
    bool whole_tree;                    /* all tasks were counted together: their number is unknown */
    const struct count_spread *spreads; /* of each event over RUNS; NULL: it was one run */
    struct count_spread elapsed_spread;
    uint64_t runs;
    const char *const *comments; /* text: beside each event of the total, "" or NULL: none; NULL: no comments */
};

/* -x: SEP as the user gave it ("\\t" is a tab) to *RET. 0 or -EINVAL after report_error(). */
int count_take_separator(const char **ret, const char *value);
/* Whether numbers of that form can have these DIGITS. 0 or -EINVAL after report_error(). */
int count_check_style(int form, int digits);

void count_print(const struct count_report *report, const struct count_style *style, FILE *to);

/* What CSV and text have in common: "true-4711", "make"; "" of the whole run. RET has room for SIZE bytes. */
char *count_row_name(char *ret, size_t size, const struct count_row *row, int by);
/* What begins each line of an interval or of the summary after them: "     1.001234567", "summary"; else "". RET has
 * room for COUNT_TEXT bytes. */
char *count_stamp(char *ret, const struct count_report *report);
/* The row of the whole run. */
struct count_row count_total_row(const struct count_report *report);

/* Private to count_print.c: one file each. */
void count_print_text(const struct count_report *report, const struct count_style *style, FILE *to);
void count_print_csv(const struct count_report *report, const struct count_style *style, FILE *to);
void count_print_json(const struct count_report *report, const struct count_style *style, FILE *to);
void count_print_openmetrics(const struct count_report *report, const struct count_style *style, FILE *to);

#endif
