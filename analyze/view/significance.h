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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Student's t distribution, and functions for estimates of variances. */

/* The probability that |t| is larger than T, with DF degrees of freedom, above 0; infinite: normal distribution. */
double student_tails(double t, double df);
/* The t whose student_tails() is P, above 0 and below 1. */
double student_quantile(double p, double df);

/* The first and the second derivative of the logarithm of the gamma function, for X > 0. */
double student_digamma(double x);
double student_trigamma(double x);
/* The x whose student_trigamma() is Y, above 0. */
double student_trigamma_inverse(double y);

/* Whether two sums of samples differ by more than sampling alone explains. */

#define NOISE_SIGMAS        3.0 /* a change below this many standard deviations is noise */
#define NOISE_LEAST_SAMPLES 10  /* on both sides together; fewer cannot be judged */

struct noise_sum {
    uint64_t samples, weight;
};

/* All samples of one side. `grain` is the weight of one sample; if weights differ, the weight for which the samples are
 * as precise as weight / grain equal ones. */
struct noise_side {
    struct noise_sum all;
    double grain;
    double squares; /* of the weights, while they are added up */
};

/* Adds SAMPLES of about equal weight, WEIGHT in sum. */
void noise_add(struct noise_side *side, uint64_t samples, uint64_t weight);
void noise_finish(struct noise_side *side);

/* The change from SUMS[0] to SUMS[1] in standard deviations; 0: not known. */
double noise_of_weight(const struct noise_side sides[2], const struct noise_sum sums[2]);
double noise_of_share(const struct noise_side sides[2], const struct noise_sum sums[2]);
/* Whether a change of SIGMAS between these sums is noise. */
bool noise_is(double sigmas, const struct noise_sum sums[2]);

#endif
