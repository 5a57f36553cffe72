/* SPDX-License-Identifier: MIT */
#include "analyze/view/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/significance.h"

/*
 * The probability that a program compared with itself has a change that counts: in the whole weight, and in any row of
 * a table. With two tables together that is 1.5 %, and somewhat more if runs differ in speed. Each table is judged by
 * itself, so that its verdicts do not depend on what else is shown.
 */
#define FALSE_CHANGES 0.005
#define LEAST_OF_RUN  3    /* samples of a row per run, on average, that are needed to judge it */
#define LEAST_REST    0.02 /* part of the whole weight that must be left to compare with */
#define SINGLE_STEPS  30   /* that take out one changed row each; later steps take out all changed rows */
#define MOST_STEPS    40
#define SUSPECTS      2
#define SUSPICIOUS    0.5  /* part of the limit of its points from which on a row is a suspect */
#define WHOLE         0.98 /* a row with this part of the rest, or more, cannot be compared with it */

/* Rows of a table that are judged together. */
struct judged {
    struct compare_row **rows;
    const uint64_t **weights;
    size_t count;
    double *values, *sampling; /* of the figure being judged */
    double *weight_limits, *weight_deviations, *points, *points_limits, *points_deviations, *parts;
    double *room; /* added to the limit of points: as many points as suspects may have caused */
    bool *out;    /* it is not part of the rest */
};

/* The rest, which rows are compared with. */
struct measure {
    double *rest;                                 /* [run]: weight of the unchanged rows; all 0: there is no rest */
    const struct compare_row *suspects[SUSPECTS]; /* rows of the rest that may have changed, but not certainly */
    double *without[SUSPECTS];                    /* [run]: the rest without that suspect */
    size_t count;
};

static size_t run_count(const struct compare *compare)
{
    return compare->runs[0] + compare->runs[1];
}

/* A quarter of a sample's square: the number of evenly spaced samples in a time span depends on its start. */
static double least_variance(double grain)
{
    return grain * grain / 4;
}

/* The weight of one sample, over both sides. */
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

/* WANTED: takes the wanted rows; else the rows with enough samples. */
static void judged_init(struct judged *judged, const struct compare *compare, struct compare_table *table, bool wanted)
{
    size_t count = table->count;
    *judged = (struct judged){.rows = memory_new(count, sizeof(*judged->rows))};
    judged->weights = memory_new(count, sizeof(*judged->weights));
    judged->values = memory_new(count * run_count(compare), sizeof(*judged->values));
    double **const arrays[] = {&judged->sampling, &judged->weight_limits, &judged->weight_deviations,
                               &judged->points,   &judged->points_limits, &judged->points_deviations,
                               &judged->parts,    &judged->room};
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
    double *const arrays[] = {
        judged->values, judged->sampling,      judged->weight_limits,     judged->weight_deviations,
        judged->points, judged->points_limits, judged->points_deviations, judged->parts,
        judged->room};
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

/* The share of REST in the whole of side A. */
static double rest_of_first(const struct compare *compare, const double *rest)
{
    double share = 0;
    for (size_t run = 0; run < compare->runs[0]; run++)
        if (compare->run_weights[run])
            share += rest[run] / (double)compare->run_weights[run] / (double)compare->runs[0];
    return share;
}

/* Judges each row against REST, which contains it unless it is out. In percent of the whole of side A. */
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
        judged->sampling[i] = has_samples(compare, judged->rows[i]) && sign * part < WHOLE
                                  ? mean * (1 - sign * part) * grain
                                  : 0;
    }
    significance_limits(&group, judged->values, judged->sampling, judged->count, judged->points_limits,
                        judged->points_deviations);
}

/* Sets RET, which may be REST, to REST without row I. False: too little would be left in some run. */
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

/* The next suspect: the row of the rest, no suspect yet, whose points changed the most, by at least SUSPICIOUS of their
 * limit. judged->count: there is none. */
static size_t find_suspect(const struct judged *judged, const struct measure *measure)
{
    size_t found = judged->count;
    for (size_t i = 0; i < judged->count; i++) {
        const double change = fabs(judged->points[i]);
        bool used = judged->out[i] || !isfinite(judged->points_limits[i]);
        for (size_t j = 0; j < measure->count; j++)
            used |= judged->rows[i] == measure->suspects[j];
        if (!used && change >= SUSPICIOUS * judged->points_limits[i] &&
            (found == judged->count || change > fabs(judged->points[found])))
            found = i;
    }
    return found;
}

/* Finds the suspects in the rest of MEASURE, after JUDGED was judged against it. */
static void find_suspects(const struct compare *compare, const struct judged *judged, struct measure *measure)
{
    measure->count = 0;
    for (size_t i; measure->count < SUSPECTS && (i = find_suspect(judged, measure)) < judged->count;) {
        if (!rest_without(compare, judged, i, measure->rest, measure->without[measure->count]))
            break;
        measure->suspects[measure->count++] = judged->rows[i];
    }
}

/* Finds what to add to the limits of points, so that changes that count also count against the rest without each
 * suspect. */
static void find_room(const struct compare *compare, struct judged *judged, const struct measure *measure)
{
    const size_t size = judged->count * sizeof(double);
    double *const results[] = {judged->points, judged->points_limits, judged->points_deviations, judged->parts};
    enum { RESULTS = sizeof(results) / sizeof(results[0]) };
    double *kept[RESULTS];
    memset(judged->room, 0, size);
    for (int k = 0; k < RESULTS; k++) {
        kept[k] = memory_new(judged->count, sizeof(double));
        memcpy(kept[k], results[k], size);
    }
    for (size_t n = 0; n < measure->count; n++) {
        size_t suspect = 0;
        while (suspect < judged->count && judged->rows[suspect] != measure->suspects[n])
            suspect++;
        if (suspect < judged->count)
            judged->out[suspect] = true;
        judge_against(compare, judged, measure->without[n]);
        if (suspect < judged->count)
            judged->out[suspect] = false;
        for (size_t i = 0; i < judged->count; i++) {
            const double points = kept[0][i], limit = kept[1][i];
            /* A row that is nearly all of the remaining rest could only be compared with the suspect. */
            if (i == suspect || !isfinite(limit) || !isfinite(judged->points_limits[i]))
                continue;
            const double needed = judged->points_limits[i] + fabs(points) - judged->points[i] * copysign(1, points);
            judged->room[i] = fmax(judged->room[i], needed - limit);
        }
    }
    for (int k = 0; k < RESULTS; k++) {
        memcpy(results[k], kept[k], size);
        free(kept[k]);
    }
}

/* Whether the points of row I decide. A growing row also makes the rest grow, which contains it, so its points grow by
 * fewer percent than its weight. */
static bool points_decide(const struct compare *compare, const struct judged *judged, size_t i)
{
    if (!isfinite(judged->points_limits[i]) || compare->apart)
        return compare->apart;
    return (judged->points_limits[i] + judged->room[i]) / 100 * compare_weight_of_all(compare, 0) <
           judged->weight_limits[i] * (1 - judged->parts[i]);
}

/* The change divided by its limit. */
static double change_per_limit(const struct compare *compare, const struct judged *judged, size_t i)
{
    if (points_decide(compare, judged, i))
        return isfinite(judged->points_limits[i])
                   ? fabs(judged->points[i]) / (judged->points_limits[i] + judged->room[i])
                   : 0;
    double change = compare_weight_change(compare, judged->rows[i]->sums);
    return isfinite(judged->weight_limits[i]) ? fabs(change) / judged->weight_limits[i] : 0;
}

/* Takes row I out of REST. False: too little would be left in some run. */
static bool remove_from_rest(const struct compare *compare, struct judged *judged, size_t i, double *rest)
{
    if (!rest_without(compare, judged, i, rest, rest))
        return false;
    judged->out[i] = true;
    return true;
}

/* The row with the clearest change among those that are not out; judged->count: there is none. If two are equally
 * clear, the smaller row: of two rows, one that grows looks like the other one shrinking. */
static size_t find_clearest(const struct compare *compare, const struct judged *judged)
{
    size_t found = judged->count;
    double most = 1;
    for (size_t i = 0; i < judged->count; i++) {
        double one = judged->out[i] ? 0 : change_per_limit(compare, judged, i);
        bool smaller = found < judged->count && judged->parts[i] < judged->parts[found];
        if (one <= 1 || one < most * (1 - 1e-6) || (one < most * (1 + 1e-6) && found < judged->count && !smaller))
            continue;
        most = one;
        found = i;
    }
    return found;
}

enum step { STEP_NONE, STEP_DONE, STEP_TOO_MUCH };

/* Takes out the row with the clearest change; with ALL_CHANGED, all changed rows. */
static enum step remove_changed(const struct compare *compare, struct judged *judged, bool all_changed, double *rest)
{
    enum step step = STEP_NONE;
    size_t clearest = all_changed ? judged->count : find_clearest(compare, judged);
    if (clearest < judged->count)
        return remove_from_rest(compare, judged, clearest, rest) ? STEP_DONE : STEP_TOO_MUCH;
    for (size_t i = 0; all_changed && i < judged->count && step != STEP_TOO_MUCH; i++)
        if (!judged->out[i] && change_per_limit(compare, judged, i) > 1)
            step = remove_from_rest(compare, judged, i, rest) ? STEP_DONE : STEP_TOO_MUCH;
    return step;
}

/* The smallest change of the mean of VALUES[runs], sums of many rows, that counts. */
static double limit_of_sum(const struct compare *compare, const double *values)
{
    double grain = grain_of(compare), sampling = grain * mean_of(values, run_count(compare)), limit;
    const struct significance_group group = group_of(compare, FALSE_CHANGES, grain);
    significance_limits(&group, values, &sampling, 1, &limit, NULL);
    return limit;
}

/* Whether the rest itself has changed (all functions do more work), so that it is no reference for other rows. */
static bool rest_changed(const struct compare *compare, const double *rest)
{
    size_t first = compare->runs[0];
    double change = mean_of(rest + first, compare->runs[1]) - mean_of(rest, first);
    return !compare->apart && fabs(change) > limit_of_sum(compare, rest);
}

/* Sets the rest to each run's weight of the unchanged rows of TABLE, whose rows add up to the whole. It is 0 if they
 * are too little to compare with or have changed together: then weights decide. */
static void find_rest(const struct compare *compare, struct compare_table *table, struct measure *measure)
{
    struct judged judged;
    double *rest = measure->rest;
    for (size_t run = 0; run < run_count(compare); run++)
        rest[run] = (double)compare->run_weights[run];
    judged_init(&judged, compare, table, false);
    judge_weights(compare, &judged);
    for (int step = 0; step < MOST_STEPS; step++) {
        judge_against(compare, &judged, rest);
        enum step taken = remove_changed(compare, &judged, step >= SINGLE_STEPS, rest);
        if (taken == STEP_TOO_MUCH || (taken == STEP_NONE && rest_changed(compare, rest)))
            memset(rest, 0, run_count(compare) * sizeof(*rest));
        if (taken != STEP_DONE)
            break;
    }
    judge_against(compare, &judged, rest);
    find_suspects(compare, &judged, measure);
    for (size_t i = 0; i < judged.count; i++)
        judged.rows[i]->out = judged.out[i];
    judged_release(&judged);
}

/* The deviation of a run's deciding figure, as a part of the whole of side A; 0: no figure can decide. */
static double deviation_of(const struct compare *compare, const struct judged *judged, size_t i)
{
    if (judged->rows[i]->by_points)
        return isfinite(judged->points_limits[i]) ? judged->points_deviations[i] / 100 : 0;
    return isfinite(judged->weight_limits[i]) ? judged->weight_deviations[i] / compare_weight_of_all(compare, 0) : 0;
}

/* Without a rest to compare with, points are the change of the weight, or of the share if weights are not judged. */
static double points_of(const struct compare *compare, const struct judged *judged, size_t i, const double *rest)
{
    double all = compare_weight_of_all(compare, 0);
    if (rest_of_first(compare, rest) > 0)
        return judged->points[i];
    return compare->apart || !(all > 0) ? judged->rows[i]->points
                                        : 100 * compare_weight_change(compare, judged->rows[i]->sums) / all;
}

/* OVERLAPPING: rows contain parts of each other, so `out` of a row does not apply. */
static void judge_table(const struct compare *compare, struct compare_table *table, const struct measure *measure,
                        bool overlapping)
{
    struct judged judged;
    size_t tests = 0;
    double worst = 0;
    judged_init(&judged, compare, table, true);
    judge_weights(compare, &judged);
    for (size_t i = 0; i < judged.count; i++)
        judged.out[i] = !overlapping && judged.rows[i]->out;
    judge_against(compare, &judged, measure->rest);
    find_room(compare, &judged, measure);
    for (size_t i = 0; i < judged.count; i++)
        tests += isfinite(judged.weight_limits[i]);
    for (size_t i = 0; i < judged.count; i++) {
        struct compare_row *row = judged.rows[i];
        row->weight_limit = judged.weight_limits[i];
        row->points_limit = judged.points_limits[i] + judged.room[i];
        row->points = points_of(compare, &judged, i, measure->rest);
        row->by_points = points_decide(compare, &judged, i);
        row->changed = change_per_limit(compare, &judged, i) > 1;
        worst = fmax(worst, deviation_of(compare, &judged, i));
    }
    if (worst > 0)
        table->runs_wanted = significance_runs(FALSE_CHANGES / (double)tests, worst, JUDGE_SMALL);
    judged_release(&judged);
}

static void set_total_limit(struct compare *compare)
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
    const size_t runs = run_count(compare);
    struct measure measure = {.rest = memory_new(runs, sizeof(*measure.rest))};
    for (size_t n = 0; n < SUSPECTS; n++)
        measure.without[n] = memory_new(runs, sizeof(*measure.without[n]));
    set_total_limit(compare);
    for (int by = 0; by < COMPARE_KINDS; by++) {
        bool overlapping = compare->total && (by == COMPARE_FUNCTION || by == COMPARE_DSO);
        find_rest(compare, overlapping ? &compare->selves : &compare->tables[by], &measure);
        judge_table(compare, &compare->tables[by], &measure, overlapping);
    }
    for (size_t n = 0; n < SUSPECTS; n++)
        free(measure.without[n]);
    free(measure.rest);
}
