/* SPDX-License-Identifier: MIT */
/* Student's t distribution, and functions for estimates of variances. */
#ifndef ANALYZE_VIEW_STUDENT_H
#define ANALYZE_VIEW_STUDENT_H

/* The probability that |t| is larger than T, with DF degrees of freedom, above 0; infinite: normal distribution. */
double student_tails(double t, double df);
/* The t whose student_tails() is P, above 0 and below 1. */
double student_quantile(double p, double df);

/* The first and the second derivative of the logarithm of the gamma function, for X > 0. */
double student_digamma(double x);
double student_trigamma(double x);
/* The x whose student_trigamma() is Y, above 0. */
double student_trigamma_inverse(double y);

#endif
