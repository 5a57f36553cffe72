/* SPDX-License-Identifier: MIT */
/*
 * Whether figures changed between two groups of runs, judged by how much the runs within each group differ. Successive
 * samples are not independent, so the unit is the run, not the sample.
 *
 * Each row (a function, a command) has a value in each run. A few runs say little about the variance of one row, so it
 * is moderated: the variances of all rows count as further degrees of freedom (Smyth, Linear models and empirical Bayes
 * methods for assessing differential expression, 2004; with a trend by size). The limits are those of two-sided t
 * tests, corrected for the number of rows (Bonferroni).
 */
#ifndef ANALYZE_VIEW_SIGNIFICANCE_H
#define ANALYZE_VIEW_SIGNIFICANCE_H

#include <stddef.h>

struct significance_group {
    size_t runs[2]; /* before, after: at least 1 each, and 3 together */
    double error;   /* the probability that any unchanged row counts as changed */
    double least;   /* least variance of a value: where it begins and ends between two samples is chance */
};

/*
 * VALUES[COUNT][runs]: row by row; in a row, the runs before come first. SAMPLING[COUNT]: the variance of a value of
 * the row by sampling alone, above 0; 0: too few samples to be judged. RET_LIMITS[COUNT]: the smallest difference of
 * the two means that counts; infinite: not known. RET_DEVIATIONS[COUNT], or NULL: the standard deviation of one run.
 */
void significance_limits(const struct significance_group *group, const double *values, const double *sampling,
                         size_t count, double *ret_limits, double *ret_deviations);

/* About the number of runs per side that find 9 of 10 changes of size CHANGE, if false changes count with probability
 * ERROR and runs deviate by DEVIATION; at most SIGNIFICANCE_MOST_RUNS. */
#define SIGNIFICANCE_MOST_RUNS 1000
double significance_runs(double error, double deviation, double change);

#endif
