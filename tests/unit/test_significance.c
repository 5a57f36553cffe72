/* SPDX-License-Identifier: MIT */
/* What counts as a change between runs: t distribution against tables, limits against what is drawn at random. */
#include "check.h"

#include <math.h>

#include "analyze/view/significance.h"

static void near(double found, double expected, double room)
{
    if (!(fabs(found - expected) <= room * fabs(expected)))
        fail_msg("%.9g instead of %.9g", found, expected);
}

/* Abramowitz and Stegun, tables 26.10, 6.1 and 6.2; exact values of 1 and 2 degrees of freedom. */
static void test_student(void **state)
{
    (void)state;
    near(student_quantile(0.05, 1), 12.7062047, 1e-7);
    near(student_quantile(0.05, 2), 4.3026527, 1e-7);
    near(student_quantile(0.01, 8), 3.3553873, 1e-7);
    near(student_quantile(0.001, 30), 3.6459586, 1e-7);
    near(student_quantile(0.05, INFINITY), 1.9599640, 1e-7);
    near(student_quantile(0.05, 1e6), 1.9599661, 1e-6);
    for (double t = 0.01; t < 100; t *= 1.7) {
        near(student_tails(t, 1), 1 - 2 / M_PI * atan(t), 1e-9);
        near(student_tails(-t, 2), 1 - t / sqrt(2 + t * t), 1e-7);
    }
    near(student_tails(0, 5), 1, 0);
    near(student_digamma(1), -0.57721566490, 1e-9);
    near(student_digamma(0.5), -1.96351002602, 1e-9);
    near(student_digamma(2.5), 0.70315664064, 1e-9);
    near(student_trigamma(1), M_PI * M_PI / 6, 1e-9);
    near(student_trigamma(0.5), M_PI * M_PI / 2, 1e-9);
    for (double x = 0.01; x < 1e5; x *= 3.1)
        near(student_trigamma_inverse(student_trigamma(x)), x, 1e-6);
}

/* ---- drawn at random, the same each time */

static uint64_t seed;

static double uniform(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return ((double)(seed >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    double radius = sqrt(-2 * log(uniform()));
    return radius * cos(2 * M_PI * uniform());
}

enum { ROWS = 60, MOST = 20, SAMPLES = 10000, CHANGED = 1 };

/* Shares of functions: each is 0.8 of the one before. Runs differ by sampling, and by some percent besides. */
struct trial {
    struct significance_group group;
    double values[ROWS * MOST], sampling[ROWS], limits[ROWS];
    size_t rows;
};

static void draw(struct trial *trial, size_t before, size_t after, double spread, double change)
{
    size_t runs = before + after;
    trial->group = (struct significance_group){{before, after}, 0.02, 0};
    trial->rows = ROWS;
    for (size_t i = 0; i < ROWS; i++) {
        double share = 0.35 * pow(0.8, (double)i), own = spread * exp(0.4 * normal());
        trial->sampling[i] = share * SAMPLES < 5 ? 0 : share / SAMPLES;
        for (size_t run = 0; run < runs; run++) {
            double mean = share * (run >= before && i == CHANGED ? 1 + change : 1);
            trial->values[i * runs + run] = mean + sqrt(mean / SAMPLES) * normal() + mean * own * normal();
        }
    }
    significance_limits(&trial->group, trial->values, trial->sampling, trial->rows, trial->limits, NULL);
}

static double difference(const struct trial *trial, size_t row)
{
    double sums[2] = {0, 0};
    size_t before = trial->group.runs[0], runs = before + trial->group.runs[1];
    for (size_t run = 0; run < runs; run++)
        sums[run >= before] += trial->values[row * runs + run];
    return sums[1] / (double)trial->group.runs[1] - sums[0] / (double)before;
}

static size_t changes(const struct trial *trial)
{
    size_t count = 0;
    for (size_t i = 0; i < trial->rows; i++)
        count += fabs(difference(trial, i)) > trial->limits[i];
    return count;
}

/* Of 1000 comparisons of a program with itself some 20 have a change; at least 950 of 1000 that are there are found. */
static void test_what_is_promised(void **state)
{
    (void)state;
    static const struct {
        size_t before, after;
        double spread;
    } cases[] = {{5, 5, 0.01}, {5, 5, 0.03}, {3, 3, 0.01}, {2, 2, 0.01}, {1, 4, 0.01}, {10, 10, 0.02}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trial trial;
        size_t claims = 0, found = 0;
        for (seed = 1; seed < 1000; seed++) {
            uint64_t kept = seed;
            draw(&trial, cases[i].before, cases[i].after, cases[i].spread, 0);
            claims += changes(&trial) > 0;
            seed = kept;
        }
        for (seed = 1; seed < 1000; seed++) {
            uint64_t kept = seed;
            draw(&trial, cases[i].before, cases[i].after, cases[i].spread, 0.1);
            found += fabs(difference(&trial, CHANGED)) > trial.limits[CHANGED];
            seed = kept;
        }
        print_message("%zu against %zu runs, spread %g: %zu of 999 claim, %zu of 999 found\n", cases[i].before,
                      cases[i].after, cases[i].spread, claims, found);
        assert_in_range(claims, 0, 50);
        if (cases[i].before >= 5 && cases[i].spread <= 0.02)
            assert_in_range(found, 950, 999);
    }
}

/* With few rows nothing is known but the runs of each: a plain t test. */
static void test_few_rows(void **state)
{
    (void)state;
    const struct significance_group group = {{3, 3}, 0.05, 0};
    const double values[] = {10, 11, 12, 20, 21, 22, 1, 1, 1, 1, 1, 1};
    const double sampling[] = {1, 1}, one[] = {1, 0};
    double limits[2], deviations[2];
    significance_limits(&group, values, sampling, 2, limits, deviations);
    near(limits[0], student_quantile(0.025, 4) * sqrt(2.0 / 3), 1e-9);
    near(limits[1], 0, 0);
    near(deviations[0], 1, 1e-9);
    significance_limits(&group, values, one, 2, limits, deviations);
    near(limits[0], student_quantile(0.05, 4) * sqrt(2.0 / 3), 1e-9);
    assert_true(isinf(limits[1]));
    near(deviations[1], 0, 0);
    significance_limits(&group, values, NULL, 0, NULL, NULL);
}

/* Where all runs are alike, to the last digit, they could still differ by a part of a sample. */
static void test_no_variance(void **state)
{
    (void)state;
    struct trial trial = {.group = {{2, 2}, 0.02, 0.25}, .rows = ROWS};
    for (size_t i = 0; i < ROWS; i++) {
        trial.sampling[i] = 1;
        for (size_t run = 0; run < 4; run++)
            trial.values[i * 4 + run] = (double)i;
    }
    significance_limits(&trial.group, trial.values, trial.sampling, ROWS, trial.limits, NULL);
    assert_int_equal(changes(&trial), 0);
    for (size_t i = 0; i < ROWS; i++)
        assert_true(trial.limits[i] > 0.5 && trial.limits[i] < student_quantile(0.02 / ROWS, 2));
}

/* As many runs as are proposed find 9 of 10 changes, and not many more are. */
static void test_runs(void **state)
{
    (void)state;
    static const double changes[] = {4, 2, 1, 0.5};
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        double runs = significance_runs(0.001, 1, changes[i]);
        double t = changes[i] / sqrt(2 / runs) - student_quantile(0.001, 2 * runs - 2);
        assert_true(t > 0 && student_tails(t, 2 * runs - 2) / 2 <= 0.1);
        assert_true(student_tails(t, 2 * runs - 2) / 2 > 0.01);
    }
    near(significance_runs(0.001, 1, 1e9), 2, 0);
    near(significance_runs(0.001, 1, 0), SIGNIFICANCE_MOST_RUNS, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student), cmocka_unit_test(test_what_is_promised), cmocka_unit_test(test_few_rows),
        cmocka_unit_test(test_runs),    cmocka_unit_test(test_no_variance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
