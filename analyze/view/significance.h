/* SPDX-License-Identifier: MIT */
/*
 * Whether figures changed between two groups of runs, judged by how far the runs of each group differ among themselves:
 * samples that follow each other are not independent, so that the run is the unit, not the sample.
 *
 * Each row (a function, a command) has a value in each run. A few runs tell little about the variance of one row, so it
 * is moderated: what all rows say about variances counts as further degrees of freedom (Smyth, Linear models and
 * empirical Bayes methods for assessing differential expression, 2004; with a trend by size). The limits are those of
 * two-sided t tests, corrected for the number of rows (Bonferroni).
 */
#ifndef ANALYZE_VIEW_SIGNIFICANCE_H
#define ANALYZE_VIEW_SIGNIFICANCE_H

#include <stddef.h>

struct significance_group {
    size_t runs[2]; /* before, after: at least 1 each, and 3 together */
    double error;   /* the probability that any row without a change has one that counts */
    double least;   /* variance that each value has at least: where it begins and ends between two samples is chance */
};

/*
 * VALUES[COUNT][runs]: those of one row lie together, the runs before come first. SAMPLING[COUNT]: the variance that
 * sampling alone gives a value of this row, above 0; 0: too few samples to be judged. RET_LIMITS[COUNT]: how large a
 * difference of the two means must be to count; infinite where nothing can be said. RET_DEVIATIONS[COUNT], or NULL: the
 * standard deviation of one run.
 */
void significance_limits(const struct significance_group *group, const double *values, const double *sampling,
                         size_t count, double *ret_limits, double *ret_deviations);

/* About how many runs each side needs to find 9 of 10 changes of size CHANGE, where one that is not there counts with
 * probability ERROR, and runs deviate by DEVIATION; at most SIGNIFICANCE_MOST_RUNS. */
#define SIGNIFICANCE_MOST_RUNS 1000
double significance_runs(double error, double deviation, double change);

#endif
