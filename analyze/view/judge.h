/* SPDX-License-Identifier: MIT */
/*
 * Judges which rows of a comparison have changed.
 *
 * A row has two figures in each run: its weight, and its weight relative to the rows that have not changed. On a quiet
 * machine the weight varies less between runs; if the speed of whole runs varies (clock, load), the relative weight
 * does. The figure that can show the smaller change of the row decides. It is chosen by the differences between runs
 * within a side, which are independent of the difference between the sides, so the choice favours no result. (What
 * suspects add, see below, is not independent: it makes changes count less.)
 *
 * Shares of the whole do not work as the relative weight: if one row grows, the shares of all others shrink. So changed
 * rows are removed from what the others are compared with, the clearest change first, until no further row changes.
 * Rows that may have changed, but not certainly (a function that waits for memory, on a loaded machine), stay in. Since
 * they move the points of all other rows the other way, the changes of these must be clear without them as well. These
 * suspects are the two rows whose points moved the most, if they moved by at least half of what they need to count.
 * If the rest changed as a whole, it is no reference: then weights decide.
 * The result is shown in percent of the whole of side A ("points"); if nothing changed, these are percentage points of
 * the shares.
 */
#ifndef ANALYZE_VIEW_JUDGE_H
#define ANALYZE_VIEW_JUDGE_H

#include "analyze/view/compare.h"

#define JUDGE_SMALL 0.1 /* part of the whole: the change that a comparison with enough runs shows */

/* To be called after all runs were added, if compare_judges(). */
void judge_compare(struct compare *compare);

#endif
