/* SPDX-License-Identifier: MIT */
/*
 * Which rows of a comparison have changed.
 *
 * A row has two figures in each run: its weight, and its weight in relation to the rows that have not changed. On a
 * quiet machine the weight varies less between runs; where the speed of whole runs varies (clock, load), the relation
 * does. One of the two decides: the one that could have seen the smaller change of the row. Choosing it by how much
 * runs differ within a side favours no result, as that is independent of the difference between the sides (what
 * suspects, below, add is not: it makes changes count less).
 *
 * Shares of everything would not do as the relation: where one row grows, the shares of all others shrink. So what has
 * changed is taken out of what the others are compared with, the clearest change first, until no further row changes.
 * What may have changed, though not for certain (a function that waits for memory, on a loaded machine), stays in; as
 * it moves the points of all others the other way, those must be clear without it as well. The two whose points moved
 * the most are such suspects, if they moved by half of what they need to count, or more.
 * Where the rest changed as a whole, it is no measure: then weights decide.
 * The result is shown in percent of all of side A ("points"): where nothing changed these are percentage points of the
 * shares.
 */
#ifndef ANALYZE_VIEW_JUDGE_H
#define ANALYZE_VIEW_JUDGE_H

#include "analyze/view/compare.h"

#define JUDGE_SMALL 0.1 /* of all: the change that a comparison with enough runs sees */

/* Of all runs, after the last was added; compare_judges() is true. */
void judge_compare(struct compare *compare);

#endif
