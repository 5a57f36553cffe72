/* SPDX-License-Identifier: MIT */
/* Parts of diff, for view_diff.c (text) and diff_json.c (JSON): two sides of runs, and the kinds of their sums. */
#ifndef ANALYZE_VIEW_DIFF_H
#define ANALYZE_VIEW_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/view/compare.h"
#include "analyze/view/view.h"

/* Value of diff's --by if it is not given. */
enum { DIFF_ALL = -1 };
/* In the order of the words of diff's --sort. */
enum diff_sort { DIFF_BY_WEIGHT, DIFF_BY_SHARE };

/* The kind of sums that is wanted, or DIFF_ALL. */
int diff_wanted(const struct settings *settings);
/* Run NUMBER of SIDE, 0 before or 1 after. */
struct view *diff_run(const struct view *view, int side, size_t number);
/* Prints the summary above the tables: what changed, by name and amount, then the total. KINDS: bits of the tables that
 * are shown. */
void diff_summary(struct view *view, const struct compare *compare, unsigned kinds);
/* Prints the legend below the tables: what columns and marks mean. */
void diff_legend(struct view *view, const struct compare *compare);
/* Prints sentences, wrapped also when the output is a pipe. */
void diff_note(struct view *view, const char *text);

/* The least and the most CPUs that other programs used during a run of SIDE; false: not known for all runs. */
bool diff_load(const struct view *view, int side, double *ret_least, double *ret_most);
/* Whether other programs used enough CPU time to change figures. */
bool diff_loaded(const struct view *view);
/* Whether all runs are parts of one run of pinject-run. */
bool diff_of_one_run(const struct view *view);
/* Whether all, or nearly all, runs of one side came before those of the other. */
bool diff_apart(const struct view *view);

/* The sum of the changes of the changed rows of BY; false: no row changed, or rows do not add up (--total, --symbol,
 * --dso). */
bool diff_explained(const struct view *view, const struct compare *compare, enum compare_by by, double *ret);

/* In the order of enum compare_by: "function", "functions". */
extern const char *const diff_one_row[], *const diff_many_rows[];
/* The name of ROW in a table; owned by the caller. */
char *diff_row_name(const struct compare *compare, enum compare_by by, const struct compare_row *row);
const char *diff_plus_minus(const struct view *view);
const char *diff_mark(enum compare_verdict verdict);
/* VALUE rounded; saturates. */
uint64_t diff_rounded(double value);
/* "+1.20 s", "~-3.00 ms": with the mark of VERDICT. RET has room for TEXT_AMOUNT + 2. */
const char *diff_change_text(char *ret, double change, bool nanoseconds, enum compare_verdict verdict);
const char *diff_limit_text(char *ret, double limit, bool nanoseconds);

/* The document of --json. VIEW is the first run. */
void diff_json(struct view *view, struct compare *compare);

/*
 * Sorts ROWS[COUNT], the rows of changed functions (total weight), into those that are the reason for the change, and
 * their callers. First come functions where no other single row explains half of the change, then their callers; each
 * group keeps its order. Callers that are nearly the whole program (main, and what leads to it) come last. Returns the
 * number of rows without these.
 */
size_t deepest_first(const struct compare *compare, uint32_t *rows, size_t count);

#endif
