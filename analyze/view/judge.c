/* SPDX-License-Identifier: MIT */
#include "analyze/view/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/significance.h"

/*
 * How often a program compared with itself may have a change that counts: in all weight, and in any row of a table.
 * With two tables that is 1.5 of 100 times, and some more where runs differ in speed. A table is judged by itself, so
 * that what it says does not depend on what else is shown.
 */
#define FALSE_CHANGES 0.005
#define LEAST_OF_RUN 3    /* samples of a row in a run, on average, to judge it */
#define LEAST_REST 0.02   /* of all weight must be left to compare with */
#define SINGLE_STEPS 30   /* of taking one changed row out; then all that changed go at once */
#define MOST_STEPS 40
#define SUSPECTS 2        /* rows of the rest that may have changed, though not for certain */
#define WHOLE 0.98        /* a row of as much of the rest, or more, cannot be compared with it */

/* Rows of a table that are judged together. */
struct judged {
    struct compare_row **rows;
    const uint64_t **weights;
    size_t count;
    double *values, *sampling; /* of one figure, while it is judged */
    double *weight_limits, *weight_deviations, *points, *points_limits, *points_deviations, *parts;
    bool *out; /* of the rest */
};

static size_t run_count(const struct compare *compare)
{
    return compare->runs[0] + compare->runs[1];
}

/* A quarter of a sample's square: how many of evenly spaced samples a stretch of time has depends on its begin. */
static double least_variance(double grain)
{
    return grain * grain / 4;
}

/* The weight of one sample, of both sides. */
static double grain_of(const struct compare *compare)
{
    const struct noise_side *sides = compare->sides;
    double weight = (double)sides[0].all.weight + (double)sides[1].all.weight;
    return weight > 0 ? (sides[0].squares + sides[1].squares) / weight : 0;
}

static struct significance_group group_of(const struct compare *compare, double error, double grain)
{
    return (struct significance_group){{compare->runs[0], compare->runs[1]}, error, least_variance(grain)};
}

static bool has_samples(const struct compare *compare, const struct compare_row *row)
{
    uint64_t samples = row->sums[0].samples + row->sums[1].samples;
    return samples >= NOISE_LEAST_SAMPLES && samples >= LEAST_OF_RUN * run_count(compare);
}

/* WANTED: the rows that are, else those that have enough samples. */
static void judged_init(struct judged *judged, const struct compare *compare, struct compare_table *table, bool wanted)
{
    size_t count = table->count;
    *judged = (struct judged){.rows = memory_new(count, sizeof(*judged->rows))};
    judged->weights = memory_new(count, sizeof(*judged->weights));
    judged->values = memory_new(count * run_count(compare), sizeof(*judged->values));
    double **const arrays[] = {&judged->sampling, &judged->weight_limits, &judged->weight_deviations,
                               &judged->points,   &judged->points_limits, &judged->points_deviations,
                               &judged->parts};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        *arrays[i] = memory_new(count, sizeof(**arrays[i]));
    judged->out = memory_new(count, sizeof(*judged->out));
    for (size_t i = 0; i < count; i++) {
        if (!(wanted ? table->rows[i].wanted : has_samples(compare, &table->rows[i])))
            continue;
        judged->rows[judged->count] = &table->rows[i];
        judged->weights[judged->count++] = table->weights + i * run_count(compare);
    }
}

static void judged_release(struct judged *judged)
{
    double *const arrays[] = {judged->values,        judged->sampling, judged->weight_limits, judged->weight_deviations,
                              judged->points,        judged->points_limits,
                              judged->points_deviations, judged->parts};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        free(arrays[i]);
    free(judged->out);
    free(judged->weights);
    free(judged->rows);
    *judged = (struct judged){0};
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

static void judge_weights(const struct compare *compare, struct judged *judged)
{
    size_t runs = run_count(compare);
    double grain = grain_of(compare);
    const struct significance_group group = group_of(compare, FALSE_CHANGES, grain);
    for (size_t i = 0; i < judged->count; i++) {
        double *values = judged->values + i * runs;
        for (size_t run = 0; run < runs; run++)
            values[run] = (double)judged->weights[i][run];
        judged->sampling[i] = has_samples(compare, judged->rows[i]) ? mean_of(values, runs) * grain : 0;
    }
    significance_limits(&group, judged->values, judged->sampling, judged->count, judged->weight_limits,
                        judged->weight_deviations);
}

/* The share of all of side A that REST[RUN] is. */
static double rest_of_first(const struct compare *compare, const double *rest)
{
    double share = 0;
    for (size_t run = 0; run < compare->runs[0]; run++)
        if (compare->run_weights[run])
            share += rest[run] / (double)compare->run_weights[run] / (double)compare->runs[0];
    return share;
}

/* Each row against REST, of which it is a part unless it is out. In percent of all of side A. */
static void judge_against(const struct compare *compare, struct judged *judged, const double *rest)
{
    size_t runs = run_count(compare), first = compare->runs[0];
    double scale = 100 * rest_of_first(compare, rest), mean_rest = mean_of(rest, runs);
    double grain = mean_rest > 0 ? scale * grain_of(compare) / mean_rest : 0;
    const struct significance_group group = group_of(compare, FALSE_CHANGES, grain);
    for (size_t i = 0; i < judged->count; i++) {
        double *values = judged->values + i * runs;
        for (size_t run = 0; run < runs; run++)
            values[run] = rest[run] > 0 ? scale * (double)judged->weights[i][run] / rest[run] : 0;
        double mean = mean_of(values, runs), part = scale > 0 ? mean / scale : 0;
        double sign = judged->out[i] ? -1 : 1;
        judged->points[i] = mean_of(values + first, runs - first) - mean_of(values, first);
        judged->parts[i] = judged->out[i] ? 0 : part;
        judged->sampling[i] =
            has_samples(compare, judged->rows[i]) && sign * part < WHOLE ? mean * (1 - sign * part) * grain : 0;
    }
    significance_limits(&group, judged->values, judged->sampling, judged->count, judged->points_limits,
                        judged->points_deviations);
}

/* REST without row I into RET, which may be REST, if enough is left in each run. */
static bool rest_without(const struct compare *compare, const struct judged *judged, size_t i, const double *rest,
                         double *ret)
{
    const size_t runs = run_count(compare);
    for (size_t run = 0; run < runs; run++)
        if (rest[run] - (double)judged->weights[i][run] < LEAST_REST * (double)compare->run_weights[run])
            return false;
    for (size_t run = 0; run < runs; run++)
        ret[run] = rest[run] - (double)judged->weights[i][run];
    return true;
}

/* The row of the rest whose points changed the most, but for those in USED; COUNT of them: there is none. */
static size_t find_suspect(const struct judged *judged, const double *points, const double *limits, const bool *used)
{
    size_t found = judged->count;
    for (size_t i = 0; i < judged->count; i++)
        if (!judged->out[i] && !used[i] && isfinite(limits[i]) &&
            (found == judged->count || fabs(points[i]) > fabs(points[found])))
            found = i;
    return found;
}

/*
 * As judge_against(). A row of the rest that has changed, but not for certain, moves the points of all others the other
 * way: what they would be without it must count as well. So limits have room for that, of each of a few SUSPECTS.
 */
static void judge_points(const struct compare *compare, struct judged *judged, const double *rest)
{
    const size_t runs = run_count(compare), size = judged->count * sizeof(double);
    double *points = memory_new(judged->count, sizeof(*points)), *limits = memory_new(judged->count, sizeof(*limits));
    double *deviations = memory_new(judged->count, sizeof(*deviations));
    double *parts = memory_new(judged->count, sizeof(*parts)), *without = memory_new(runs, sizeof(*without));
    bool *used = memory_new(judged->count, sizeof(*used));
    judge_against(compare, judged, rest);
    memcpy(points, judged->points, size);
    memcpy(limits, judged->points_limits, size);
    memcpy(deviations, judged->points_deviations, size);
    memcpy(parts, judged->parts, size);
    for (int n = 0; n < SUSPECTS; n++) {
        const size_t suspect = find_suspect(judged, points, limits, used);
        if (suspect == judged->count)
            break;
        used[suspect] = true;
        if (!rest_without(compare, judged, suspect, rest, without))
            continue;
        judged->out[suspect] = true;
        judge_against(compare, judged, without);
        judged->out[suspect] = false;
        for (size_t i = 0; i < judged->count; i++)
            if (i != suspect && isfinite(limits[i]))
                limits[i] = fmax(limits[i], judged->points_limits[i] + fabs(points[i]) -
                                                judged->points[i] * copysign(1, points[i]));
    }
    memcpy(judged->points, points, size);
    memcpy(judged->points_limits, limits, size);
    memcpy(judged->points_deviations, deviations, size);
    memcpy(judged->parts, parts, size);
    free(used);
    free(without);
    free(parts);
    free(deviations);
    free(limits);
    free(points);
}

/* A row that grows by some percent moves its own part of the rest as well: its points grow by fewer percent. */
static bool points_decide(const struct compare *compare, const struct judged *judged, size_t i)
{
    if (!isfinite(judged->points_limits[i]) || compare->apart)
        return compare->apart;
    return judged->points_limits[i] / 100 * compare_weight_of_all(compare, 0) <
           judged->weight_limits[i] * (1 - judged->parts[i]);
}

/* The change in units of what is needed to count. */
static double worth(const struct compare *compare, const struct judged *judged, size_t i)
{
    if (points_decide(compare, judged, i))
        return isfinite(judged->points_limits[i]) ? fabs(judged->points[i]) / judged->points_limits[i] : 0;
    double change = compare_weight_change(compare, judged->rows[i]->sums);
    return isfinite(judged->weight_limits[i]) ? fabs(change) / judged->weight_limits[i] : 0;
}

/* Takes row I out of REST, if enough is left in each run. */
static bool take_out(const struct compare *compare, struct judged *judged, size_t i, double *rest)
{
    if (!rest_without(compare, judged, i, rest, rest))
        return false;
    judged->out[i] = true;
    return true;
}

/* The clearest change of a row that is not out; COUNT of them: there is none. Of two that are as clear the smaller row:
 * one of two that grows looks like another one that shrinks. */
static size_t find_clearest(const struct compare *compare, const struct judged *judged)
{
    size_t found = judged->count;
    double most = 1;
    for (size_t i = 0; i < judged->count; i++) {
        double one = judged->out[i] ? 0 : worth(compare, judged, i);
        bool smaller = found < judged->count && judged->parts[i] < judged->parts[found];
        if (one <= 1 || one < most * (1 - 1e-6) || (one < most * (1 + 1e-6) && found < judged->count && !smaller))
            continue;
        most = one;
        found = i;
    }
    return found;
}

enum step { STEP_NONE, STEP_DONE, STEP_TOO_MUCH };

/* Takes out the clearest change, or ALL_CHANGED. */
static enum step take_changed(const struct compare *compare, struct judged *judged, bool all_changed, double *rest)
{
    enum step step = STEP_NONE;
    size_t clearest = all_changed ? judged->count : find_clearest(compare, judged);
    if (clearest < judged->count)
        return take_out(compare, judged, clearest, rest) ? STEP_DONE : STEP_TOO_MUCH;
    for (size_t i = 0; all_changed && i < judged->count && step != STEP_TOO_MUCH; i++)
        if (!judged->out[i] && worth(compare, judged, i) > 1)
            step = take_out(compare, judged, i, rest) ? STEP_DONE : STEP_TOO_MUCH;
    return step;
}

/* How much the mean of VALUES[runs], which are sums of many rows, must change to count. */
static double limit_of_sum(const struct compare *compare, const double *values)
{
    double grain = grain_of(compare), sampling = grain * mean_of(values, run_count(compare)), limit;
    const struct significance_group group = group_of(compare, FALSE_CHANGES, grain);
    significance_limits(&group, values, &sampling, 1, &limit, NULL);
    return limit;
}

/* Whether the rest is no measure for other rows, as it has changed itself: all functions do more work. */
static bool rest_changed(const struct compare *compare, const double *rest)
{
    size_t first = compare->runs[0];
    double change = mean_of(rest + first, compare->runs[1]) - mean_of(rest, first);
    return !compare->apart && fabs(change) > limit_of_sum(compare, rest);
}

/* Leaves in REST what each run has of the rows of TABLE, which add up to all, that have not changed; nothing where they
 * are too little to compare with, or have changed together: then weights decide. */
static void find_rest(const struct compare *compare, struct compare_table *table, double *rest)
{
    struct judged judged;
    for (size_t run = 0; run < run_count(compare); run++)
        rest[run] = (double)compare->run_weights[run];
    judged_init(&judged, compare, table, false);
    judge_weights(compare, &judged);
    for (int step = 0; step < MOST_STEPS; step++) {
        judge_points(compare, &judged, rest);
        enum step taken = take_changed(compare, &judged, step >= SINGLE_STEPS, rest);
        if (taken == STEP_TOO_MUCH || (taken == STEP_NONE && rest_changed(compare, rest)))
            memset(rest, 0, run_count(compare) * sizeof(*rest));
        if (taken != STEP_DONE)
            break;
    }
    for (size_t i = 0; i < judged.count; i++)
        judged.rows[i]->out = judged.out[i];
    judged_release(&judged);
}

/* The deviation of a run's figure that decides, in parts of all of side A; 0: none can. */
static double deviation_of(const struct compare *compare, const struct judged *judged, size_t i)
{
    if (judged->rows[i]->by_points)
        return isfinite(judged->points_limits[i]) ? judged->points_deviations[i] / 100 : 0;
    return isfinite(judged->weight_limits[i]) ? judged->weight_deviations[i] / compare_weight_of_all(compare, 0) : 0;
}

/* Where nothing is left to compare with, the change is that of the weight, or of the share if weights tell nothing. */
static double points_of(const struct compare *compare, const struct judged *judged, size_t i, const double *rest)
{
    double all = compare_weight_of_all(compare, 0);
    if (rest_of_first(compare, rest) > 0)
        return judged->points[i];
    return compare->apart || !(all > 0) ? judged->rows[i]->points
                                        : 100 * compare_weight_change(compare, judged->rows[i]->sums) / all;
}

/* OVERLAPPING: rows have parts of each other, which REST has or has not. */
static void judge_table(const struct compare *compare, struct compare_table *table, const double *rest,
                        bool overlapping)
{
    struct judged judged;
    size_t tests = 0;
    double worst = 0;
    judged_init(&judged, compare, table, true);
    judge_weights(compare, &judged);
    for (size_t i = 0; i < judged.count; i++)
        judged.out[i] = !overlapping && judged.rows[i]->out;
    (overlapping ? judge_against : judge_points)(compare, &judged, rest);
    for (size_t i = 0; i < judged.count; i++)
        tests += isfinite(judged.weight_limits[i]);
    for (size_t i = 0; i < judged.count; i++) {
        struct compare_row *row = judged.rows[i];
        row->weight_limit = judged.weight_limits[i];
        row->points_limit = judged.points_limits[i];
        row->points = points_of(compare, &judged, i, rest);
        row->by_points = points_decide(compare, &judged, i);
        row->changed = worth(compare, &judged, i) > 1;
        worst = fmax(worst, deviation_of(compare, &judged, i));
    }
    if (worst > 0)
        table->runs_wanted = significance_runs(FALSE_CHANGES / (double)tests, worst, JUDGE_SMALL);
    judged_release(&judged);
}

static void judge_all(struct compare *compare)
{
    size_t runs = run_count(compare);
    double *values = memory_new(runs, sizeof(*values));
    for (size_t run = 0; run < runs; run++)
        values[run] = (double)compare->run_weights[run];
    compare->limit = limit_of_sum(compare, values);
    free(values);
}

void judge_compare(struct compare *compare)
{
    double *rest = memory_new(run_count(compare), sizeof(*rest));
    judge_all(compare);
    for (int by = 0; by < COMPARE_KINDS; by++) {
        bool overlapping = compare->total && (by == COMPARE_FUNCTION || by == COMPARE_OBJECT);
        find_rest(compare, overlapping ? &compare->selves : &compare->tables[by], rest);
        judge_table(compare, &compare->tables[by], rest, overlapping);
    }
    free(rest);
}
