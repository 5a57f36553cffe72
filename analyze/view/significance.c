/* SPDX-License-Identifier: MIT */
#include "analyze/view/significance.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/view/memory.h"

/* ---- Student's t distribution ---- */

#define STEPS       300    /* of the continued fraction; the worst case needs about 50 */
#define SMALLEST    1e-300 /* replaces a zero divisor */
#define SERIES_FROM 8.0    /* from here on the asymptotic series give 10 digits */
#define NORMAL_FROM 1e7    /* degrees of freedom that count as infinite */

/* The continued fraction of the incomplete beta function, by Lentz's method (Abramowitz and Stegun 26.5.8). */
static double beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < SMALLEST ? SMALLEST : d);
    double value = d;
    for (int m = 1; m <= STEPS; m++) {
        const double terms[] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
        double step = 1;
        for (int i = 0; i < 2; i++) {
            d = 1 + terms[i] * d;
            d = 1 / (fabs(d) < SMALLEST ? SMALLEST : d);
            c = 1 + terms[i] / c;
            c = fabs(c) < SMALLEST ? SMALLEST : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return value;
}

/* The regularized incomplete beta function I_x(a, b). */
static double beta_share(double x, double a, double b)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(1 - x, b, a) / b;
}

double student_tails(double t, double df)
{
    if (df > NORMAL_FROM)
        return erfc(fabs(t) / sqrt(2));
    return beta_share(df / (df + t * t), df / 2, 0.5);
}

double student_quantile(double p, double df)
{
    double low = 0, high = 1;
    while (high < 1e100 && student_tails(high, df) > p)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (student_tails(middle, df) > p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* Abramowitz and Stegun 6.3.18, after 6.3.5. */
double student_digamma(double x)
{
    double below = 0;
    for (; x < SERIES_FROM; x++)
        below -= 1 / x;
    double s = 1 / (x * x);
    return below + log(x) - 0.5 / x - s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s / 132))));
}

/* Abramowitz and Stegun 6.4.12, after 6.4.6. */
double student_trigamma(double x)
{
    double below = 0;
    for (; x < SERIES_FROM; x++)
        below += 1 / (x * x);
    double s = 1 / (x * x);
    return below + 1 / x + s / 2 + s / x * (1.0 / 6 - s * (1.0 / 30 - s * (1.0 / 42 - s * (1.0 / 30 - s * 5.0 / 66))));
}

/* Bisection: the trigamma function falls from infinity to 0. */
double student_trigamma_inverse(double y)
{
    double low = 0, high = 1;
    while (high < 1e100 && student_trigamma(high) > y)
        high *= 2;
    for (int i = 0; i < 200 && high - low > 1e-12 * high; i++) {
        double middle = (low + high) / 2;
        if (student_trigamma(middle) > y)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- Sums of samples ---- */

void noise_add(struct noise_side *side, uint64_t samples, uint64_t weight)
{
    side->all.samples += samples;
    side->all.weight += weight;
    if (samples)
        side->squares += (double)weight * (double)weight / (double)samples;
}

void noise_finish(struct noise_side *side)
{
    side->grain = side->all.weight ? side->squares / (double)side->all.weight : 0;
}

/*
 * The number of samples in a sum is a Poisson variable. If both sums have the same expectation, its estimate is
 * n / (1 / grain0 + 1 / grain1) with n samples in both, and the variance of each sum is that times its grain: together
 * n * grain0 * grain1.
 */
double noise_of_weight(const struct noise_side sides[2], const struct noise_sum sums[2])
{
    double grain0 = sides[0].grain > 0 ? sides[0].grain : sides[1].grain;
    double grain1 = sides[1].grain > 0 ? sides[1].grain : grain0;
    double count = (grain0 > 0 ? (double)sums[0].weight / grain0 : 0) +
                   (grain1 > 0 ? (double)sums[1].weight / grain1 : 0);
    double deviation = sqrt(count * grain0 * grain1);
    return deviation > 0 ? ((double)sums[1].weight - (double)sums[0].weight) / deviation : 0;
}

/* Two proportions, with the pooled variance. */
double noise_of_share(const struct noise_side sides[2], const struct noise_sum sums[2])
{
    if (!sides[0].all.weight || !sides[1].all.weight)
        return 0;
    double count[2], share[2];
    for (int i = 0; i < 2; i++) {
        count[i] = (double)sides[i].all.weight / sides[i].grain;
        share[i] = (double)sums[i].weight / (double)sides[i].all.weight;
    }
    double pooled = (share[0] * count[0] + share[1] * count[1]) / (count[0] + count[1]);
    double deviation = sqrt(pooled * (1 - pooled) * (1 / count[0] + 1 / count[1]));
    return deviation > 0 ? (share[1] - share[0]) / deviation : 0;
}

bool noise_is(double sigmas, const struct noise_sum sums[2])
{
    return !(fabs(sigmas) >= NOISE_SIGMAS) || sums[0].samples + sums[1].samples < NOISE_LEAST_SAMPLES;
}

/* ---- Groups of runs ---- */

#define LEAST_ROWS 10  /* that are needed to say something about variances of others */
#define OUTLIER    4.0 /* standard deviations of the logarithm of a variance */
#define MISSED     0.1 /* part of the changes of a given size that are missed with the recommended number of runs */

/* The variance within a group, estimated from all rows: SCALE * size^SLOPE times that of sampling alone. */
struct prior {
    double df; /* its degrees of freedom; 0: no estimate */
    double scale, slope;
};

struct row {
    double mean;     /* of all runs */
    double variance; /* of the runs of a group around the group's mean */
};

static struct row measure_row(const struct significance_group *group, const double *values)
{
    size_t all = group->runs[0] + group->runs[1];
    struct row row = {0};
    double squares = 0;
    for (size_t side = 0, i = 0; side < 2; side++) {
        double sum = 0;
        for (size_t j = 0; j < group->runs[side]; j++)
            sum += values[i + j];
        for (size_t j = 0; j < group->runs[side]; j++, i++)
            squares += pow(values[i] - sum / (double)group->runs[side], 2);
        row.mean += sum / (double)all;
    }
    row.variance = fmax(squares / (double)(all - 2), group->least);
    return row;
}

/* A row that can be used to estimate variances, as a point: x is the logarithm of the size, y that of the variance
 * relative to the variance by sampling. */
struct point {
    double x, y;
    size_t row;
};

static size_t points_of(const struct row *rows, const double *sampling, size_t count, double df, struct point *ret)
{
    double expected = student_digamma(df / 2) - log(df / 2); /* mean of log(estimated variance / true variance) */
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (sampling[i] > 0 && rows[i].variance > 0 && rows[i].mean > 0)
            ret[n++] = (struct point){log(rows[i].mean), log(rows[i].variance / sampling[i]) - expected, i};
    return n;
}

struct line {
    double at, slope, x, squares; /* x, squares: the mean of x, and the sum of squares around it */
};

static struct line line_of(const struct point *points, size_t n)
{
    double x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        x += points[i].x / (double)n;
        y += points[i].y / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        xx += (points[i].x - x) * (points[i].x - x);
        xy += (points[i].x - x) * (points[i].y - y);
    }
    /* Runs also differ in proportion to their work, which matters for large rows: the slope is not negative. */
    double slope = xx > 0 && xy > 0 ? xy / xx : 0;
    return (struct line){y - slope * x, slope, x, xx};
}

/* The point that is furthest above the line of the others; N: none is far enough. */
static size_t find_outlier(const struct point *points, size_t n, const struct line *line, double df)
{
    double most = OUTLIER * sqrt(student_trigamma(df / 2));
    size_t found = n;
    for (size_t i = 0; i < n; i++) {
        double far = points[i].x - line->x;
        double lever = 1 / (double)n + (line->squares > 0 ? far * far / line->squares : 0);
        double above = (points[i].y - line->at - line->slope * points[i].x) / fmax(1 - lever, 0.01);
        if (above > most) {
            most = above;
            found = i;
        }
    }
    return found;
}

/* Fits a line, and estimates how far points are from it. Rows that vary far more than others of their size (functions
 * that wait for memory, on a loaded machine) say nothing about other rows, nor the other rows about them: they are
 * marked in RET_ALONE. */
static struct prior fit_prior(const struct row *rows, const double *sampling, size_t count, double df, bool *ret_alone)
{
    struct point *points = memory_new(count, sizeof(*points));
    struct prior prior = {0};
    size_t n = points_of(rows, sampling, count, df, points), all = n;
    struct line line = line_of(points, n);
    double left = 0;
    for (size_t out; n > all - all / 5 && (out = find_outlier(points, n, &line, df)) < n; line = line_of(points, n)) {
        ret_alone[points[out].row] = true;
        points[out] = points[--n];
    }
    for (size_t i = 0; i < n; i++)
        left += pow(points[i].y - line.at - line.slope * points[i].x, 2);
    if (all >= LEAST_ROWS) {
        double more = left / ((double)n - 2) - student_trigamma(df / 2);
        double worth = more > 0 ? 2 * student_trigamma_inverse(more) : 1e6;
        prior = (struct prior){worth, exp(line.at + student_digamma(worth / 2) - log(worth / 2)), line.slope};
    }
    free(points);
    return prior;
}

/* Sets RET[runs] to the deviations of VALUES[runs] from the mean of their group, scaled to a vector of length 1. */
static void standardize(const struct significance_group *group, const double *values, double *ret)
{
    double squares = 0;
    for (size_t side = 0, i = 0; side < 2; side++) {
        double sum = 0;
        for (size_t j = 0; j < group->runs[side]; j++)
            sum += values[i + j];
        for (size_t j = 0; j < group->runs[side]; j++, i++) {
            ret[i] = values[i] - sum / (double)group->runs[side];
            squares += ret[i] * ret[i];
        }
    }
    for (size_t i = 0; i < group->runs[0] + group->runs[1]; i++)
        ret[i] = squares > 0 ? ret[i] / sqrt(squares) : 0;
}

/* The number of independent rows that would say as much about variances. If whole runs are faster or slower, all rows
 * vary together and say no more than one row: the variances of two rows are correlated by the square of the rows'
 * correlation. The mean of these squares is computed from the elements of a small matrix, by runs. */
static double independent_rows(const struct significance_group *group, const double *values, const double *sampling,
                               size_t count, double df)
{
    size_t all = group->runs[0] + group->runs[1], rows = 0;
    double *products = memory_new(all * all, sizeof(*products)), *row = memory_new(all, sizeof(*row)), squares = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(sampling[i] > 0))
            continue;
        rows++;
        standardize(group, values + i * all, row);
        for (size_t j = 0; j < all * all; j++)
            products[j] += row[j / all] * row[j % all];
    }
    for (size_t j = 0; j < all * all; j++)
        squares += products[j] * products[j];
    free(row);
    free(products);
    if (rows < 2 || df <= 1)
        return (double)rows;
    double mean = (squares - (double)rows) / ((double)rows * ((double)rows - 1));
    double more = fmax((mean - 1 / df) / (1 - 1 / df), 0); /* beyond that of independent rows */
    return (double)rows / (1 + ((double)rows - 1) * more);
}

void significance_limits(const struct significance_group *group, const double *values, const double *sampling,
                         size_t count, double *ret_limits, double *ret_deviations)
{
    size_t all = group->runs[0] + group->runs[1], judged = 0;
    double df = (double)all - 2;
    struct row *rows = memory_new(count, sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        ret_limits[i] = INFINITY;
        if (ret_deviations)
            ret_deviations[i] = 0;
        rows[i] = measure_row(group, values + i * all);
        judged += sampling[i] > 0;
    }
    bool *alone = memory_new(count, sizeof(*alone));
    struct prior prior = fit_prior(rows, sampling, count, df, alone);
    if (prior.df)
        prior.df = fmin(prior.df, df * fmax(independent_rows(group, values, sampling, count, df) - 1, 0));
    double runs = 1 / (double)group->runs[0] + 1 / (double)group->runs[1];
    double error = judged ? group->error / (double)judged : group->error;
    double t = student_quantile(error, df + prior.df), t_alone = student_quantile(error, df);
    for (size_t i = 0; i < count; i++) {
        if (!(sampling[i] > 0))
            continue;
        double before = prior.df ? sampling[i] * prior.scale * pow(rows[i].mean, prior.slope) : 0;
        double worth = alone[i] ? 0 : prior.df;
        double variance = (worth * before + df * rows[i].variance) / (worth + df);
        variance = fmax(variance, group->least);
        if (ret_deviations)
            ret_deviations[i] = sqrt(variance);
        ret_limits[i] = (alone[i] ? t_alone : t) * sqrt(variance * runs);
    }
    free(alone);
    free(rows);
}

double significance_runs(double error, double deviation, double change)
{
    double runs = 2;
    for (; runs < SIGNIFICANCE_MOST_RUNS; runs = ceil(runs * 1.05)) {
        double df = 2 * runs - 2, t = student_quantile(error, df) + student_quantile(2 * MISSED, df);
        if (t * deviation * sqrt(2 / runs) <= change)
            break;
    }
    return fmin(runs, SIGNIFICANCE_MOST_RUNS);
}
