/* SPDX-License-Identifier: MIT */
#include "analyze/view/significance.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/view/memory.h"
#include "analyze/view/student.h"

#define LEAST_ROWS 10 /* to say something about variances of others */

/* What all rows say about the variance within a group: SCALE * size^SLOPE times that of sampling alone. */
struct prior {
    double df; /* degrees of freedom that it is worth; 0: it says nothing */
    double scale, slope;
};

struct row {
    double mean;     /* of all runs */
    double variance; /* of the runs of a group around its mean */
};

static struct row measure(const struct significance_group *group, const double *values)
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

/* A row that says something about variances. */
static bool tells(const struct row *row, double sampling)
{
    return sampling > 0 && row->variance > 0 && row->mean > 0;
}

/* The logarithms of (variance / that of sampling) against those of the size: a line, and how far they lie around it. */
static struct prior fit(const struct row *rows, const double *sampling, size_t count, double df)
{
    double n = 0, x_sum = 0, y_sum = 0, xx = 0, xy = 0, left = 0;
    double expected = student_digamma(df / 2) - log(df / 2); /* of the logarithm of a variance, against its own */
    for (size_t i = 0; i < count; i++) {
        if (!tells(&rows[i], sampling[i]))
            continue;
        n++;
        x_sum += log(rows[i].mean);
        y_sum += log(rows[i].variance / sampling[i]) - expected;
    }
    if (n < LEAST_ROWS)
        return (struct prior){0};
    for (size_t i = 0; i < count; i++) {
        if (!tells(&rows[i], sampling[i]))
            continue;
        double x = log(rows[i].mean) - x_sum / n;
        xx += x * x;
        xy += x * (log(rows[i].variance / sampling[i]) - expected - y_sum / n);
    }
    /* Runs differ by a share of what they do, which counts among the large ones.
   */
    double slope = xx > 0 && xy > 0 ? xy / xx : 0, at = y_sum / n - slope * x_sum / n;
    for (size_t i = 0; i < count; i++)
        if (tells(&rows[i], sampling[i]))
            left += pow(log(rows[i].variance / sampling[i]) - expected - at - slope * log(rows[i].mean), 2);
    double more = left / (n - 2) - student_trigamma(df / 2);
    double worth = more > 0 ? 2 * student_trigamma_inverse(more) : 1e6;
    return (struct prior){worth, exp(at + student_digamma(worth / 2) - log(worth / 2)), slope};
}

void significance_limits(const struct significance_group *group, const double *values, const double *sampling,
                         size_t count, double *ret_limits)
{
    size_t all = group->runs[0] + group->runs[1], judged = 0;
    double df = (double)all - 2;
    struct row *rows = memory_new(count, sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        ret_limits[i] = INFINITY;
        rows[i] = measure(group, values + i * all);
        judged += sampling[i] > 0;
    }
    struct prior prior = fit(rows, sampling, count, df);
    double t = judged ? student_quantile(group->error / (double)judged, df + prior.df) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!(sampling[i] > 0))
            continue;
        double before = prior.df ? sampling[i] * prior.scale * pow(rows[i].mean, prior.slope) : 0;
        double variance = (prior.df * before + df * rows[i].variance) / (prior.df + df);
        variance = fmax(variance, group->least);
        ret_limits[i] = t * sqrt(variance * (1 / (double)group->runs[0] + 1 / (double)group->runs[1]));
    }
    free(rows);
}
