/* SPDX-License-Identifier: MIT */
/* What view_diff.c prints and diff_json.c writes: two sides of runs, and the kinds of their sums. */
#ifndef ANALYZE_VIEW_DIFF_H
#define ANALYZE_VIEW_DIFF_H

#include <stdbool.h>

#include "analyze/view/compare.h"
#include "analyze/view/view.h"

/* In the order of the words of --by of diff: DIFF_ALL where it is not given. */
enum { DIFF_ALL = -1 };
/* In the order of the words of --sort of diff. */
enum diff_sort { DIFF_BY_WEIGHT, DIFF_BY_SHARE };

/* The one kind of sums that is wanted, or DIFF_ALL. */
int diff_wanted(const struct settings *settings);
/* Run NUMBER of SIDE, 0 before or 1 after. */
struct view *diff_run(const struct view *view, int side, size_t number);
/* What stands above the tables: what changed, by name and amount, then the total. KINDS: the tables that are shown, a
 * bit for each. */
void diff_summary(struct view *view, const struct compare *compare, unsigned kinds);
/* What stands below them: what columns and marks mean. */
void diff_legend(struct view *view, const struct compare *compare);
/* Sentences, wrapped into a pipe too. */
void diff_note(struct view *view, const char *text);

/* CPUs that other programs used during the runs of SIDE; false: not known of all. */
bool diff_load(const struct view *view, int side, double *ret_least, double *ret_most);
/* Enough of them to change figures. */
bool diff_loaded(const struct view *view);
/* All of them are parts of one run of pinject-run's. */
bool diff_of_one_run(const struct view *view);
/* All, or nearly all, runs of one side came before those of the other. */
bool diff_apart(const struct view *view);

/* How much of the total's change the rows of BY that changed are; false: none has, or not all are looked at by self. */
bool diff_explained(const struct view *view, const struct compare *compare, enum compare_by by, double *ret);

/* In the order of enum compare_by: "function", "functions". */
extern const char *const diff_one_row[], *const diff_many_rows[];
/* As a table calls ROW; owned by the caller. */
char *diff_row_name(const struct compare *compare, enum compare_by by, const struct compare_row *row);
const char *diff_plus_minus(const struct view *view);
const char *diff_mark(enum compare_verdict verdict);
/* What is more than a counter holds is as much as it holds. */
uint64_t diff_rounded(double value);
/* "+1.20 s", "~-3.00 ms": with the mark of what it is worth. RET has room for TEXT_AMOUNT + 2. */
const char *diff_change_text(char *ret, double change, bool nanoseconds, enum compare_verdict verdict);
const char *diff_limit_text(char *ret, double limit, bool nanoseconds);

/* The document of --json. VIEW is the first run. */
void diff_json(struct view *view, struct compare *compare);

#endif
