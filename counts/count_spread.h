/* SPDX-License-Identifier: MIT */
/* Mean and spread of one figure over several runs. */
#ifndef COUNTS_COUNT_SPREAD_H
#define COUNTS_COUNT_SPREAD_H

#include <stddef.h>

struct count_spread {
    double mean;
    double deviation; /* of the runs: standard deviation of the sample, with n - 1; 0 if there is one run */
    double error;     /* of the mean: deviation / sqrt(n), as perf stat -r shows it */
    double interval;  /* the mean of all possible runs is within +- this of `mean`, with 95 % (Student's t) */
};

/* COUNT 0: all are 0. */
struct count_spread count_spread(const double *values, size_t count);
/* The 97.5 % quantile of Student's t with FREEDOM (1 or more) degrees of freedom. */
double count_quantile(size_t freedom);

#endif
