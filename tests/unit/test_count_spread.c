/* SPDX-License-Identifier: MIT */
/* Mean, standard deviation and t-interval against figures of R: mean(), sd(), t.test(). */
#include "check.h"

#include <math.h>

#include "counts/count_spread.h"

static void near(double value, double wanted, double part)
{
    if (fabs(value - wanted) > part * fabs(wanted))
        fail_msg("%.9g instead of %.9g", value, wanted);
}

static void test_quantiles(void **state)
{
    static const struct {
        size_t freedom;
        double value;
    } known[] = {{1, 12.7062},  {2, 4.30265},  {9, 2.26216},  {10, 2.22814},  {11, 2.20099},
                 {12, 2.17881}, {20, 2.08596}, {30, 2.04227}, {100, 1.98397}, {100000, 1.95998}};
    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        near(count_quantile(known[i].freedom), known[i].value, 1e-4);
}

static void test_spread(void **state)
{
    static const double values[] = {4, 8, 6, 5, 3};
    (void)state;
    const struct count_spread five = count_spread(values, 5);
    near(five.mean, 5.2, 1e-9);
    near(five.deviation, 1.923538406, 1e-8);
    near(five.error, 0.860232527, 1e-8);
    near(five.interval, 2.388389, 1e-5);
    const struct count_spread one = count_spread(values, 1);
    near(one.mean, 4, 1e-9);
    assert_true(one.deviation == 0 && one.interval == 0);
    assert_true(count_spread(values, 0).mean == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quantiles), cmocka_unit_test(test_spread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
