/* SPDX-License-Identifier: MIT */
/* Which rate a task can afford, and what samples cost here. */
#include "check.h"

#include "collector/config/probe.h"
#include "collector/config/sample_cost.h"

enum { SECOND = 1000 * 1000 * 1000 };

static const struct sample_cost dear = {.sample_ns = 40000, .program_ns = 8000, .tick_ns = 4000000};

/* Samples per second of CPU time. */
static double rate(const struct sample_cost *cost, uint64_t switches)
{
    const uint64_t period = sample_cost_period(cost, switches, SECOND);
    assert_true(period > 0);
    return 1e9 / (double)period;
}

/* What samples and switches cost at HZ, in ns of each second. */
static double cost_of(const struct sample_cost *cost, uint64_t switches, double hz)
{
    const double expires = hz * (double)cost->tick_ns / 2e9; /* before the next tick */
    return hz * (double)cost->sample_ns + (double)switches * (double)cost->program_ns * (expires < 1 ? expires : 1);
}

static void costs_are_the_budget(void **state)
{
    (void)state;
    static const uint64_t switches[] = {0, 10, 100, 500, 1000, 2000, 5000, 8000, 100000, 10000000};
    double before = SAMPLE_COST_MOST_HZ;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
        const double hz = rate(&dear, switches[i]), cost = cost_of(&dear, switches[i], hz);
        assert_true(hz <= before); /* more switches: fewer samples */
        assert_true(hz > SAMPLE_COST_LEAST_HZ - 0.01 && hz < SAMPLE_COST_MOST_HZ + 0.01);
        if (hz > SAMPLE_COST_LEAST_HZ + 1)
            assert_true(cost > 19.9e6 && cost < 20.1e6);
        else
            assert_true(cost > 19.9e6);
        before = hz;
    }
    assert_true(rate(&dear, 0) > 499 && rate(&dear, 0) < 501);
}

static void cheap_samples(void **state)
{
    (void)state;
    const struct sample_cost cheap = {.sample_ns = 2000, .program_ns = 300, .tick_ns = 1000000};
    assert_int_equal(sample_cost_period(&cheap, 0, SECOND), SECOND / SAMPLE_COST_MOST_HZ);
    assert_int_equal(sample_cost_period(&cheap, 50000, SECOND), SECOND / SAMPLE_COST_MOST_HZ);
    assert_int_equal(sample_cost_period(&cheap, 10000000, SECOND), SECOND / SAMPLE_COST_LEAST_HZ);
    /* The rate of switches counts, not their number. */
    assert_int_equal(sample_cost_period(&dear, 20, SECOND / 100), sample_cost_period(&dear, 2000, SECOND));
    assert_int_equal(sample_cost_period(&dear, 20, 0), sample_cost_period(&dear, 0, SECOND));
    struct sample_cost unwinds = dear;
    unwinds.sample_ns -= unwinds.unwind_ns = 15000;
    assert_int_equal(sample_cost_period(&unwinds, 2000, SECOND), sample_cost_period(&dear, 2000, SECOND));
}

static void measured(void **state)
{
    (void)state;
    struct sample_cost cost = {0};
    const struct perf_event_attr attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    sample_cost_measure(&attr, &cost);
    assert_in_range(cost.sample_ns, 500, SECOND / 10);
    assert_in_range(cost.program_ns, 1, SECOND / 10);
    assert_in_range(cost.tick_ns, 100000, SECOND / 10);
    /* What cannot be measured: no machine has this event. */
    const struct perf_event_attr none = probe_attr(PERF_TYPE_MAX + 1000, 0);
    sample_cost_measure(&none, &cost);
    assert_int_equal(cost.sample_ns, 20000);
}

/* The first stacks take long. The mean follows slowly, to each side. */
static void stacks_of_many_samples(void **state)
{
    (void)state;
    struct sample_cost cost = {.unwind_ns = SAMPLE_COST_UNWIND_NS};
    sample_cost_unwound(&cost, SECOND);
    assert_in_range(cost.unwind_ns, SAMPLE_COST_UNWIND_NS + 1, SAMPLE_COST_UNWIND_NS * 11 / 10);
    for (unsigned i = 0; i < 1000; i++)
        sample_cost_unwound(&cost, 10000);
    assert_in_range(cost.unwind_ns, 10000, 10100);
    for (unsigned i = 0; i < 1000; i++)
        sample_cost_unwound(&cost, 50000);
    assert_in_range(cost.unwind_ns, 49900, 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_are_the_budget),
        cmocka_unit_test(cheap_samples),
        cmocka_unit_test(measured),
        cmocka_unit_test(stacks_of_many_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
