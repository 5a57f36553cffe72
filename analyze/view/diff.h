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
/* The document of --json. VIEW is the first run. */
void diff_json(struct view *view, struct compare *compare);

#endif
