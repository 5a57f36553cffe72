/* SPDX-License-Identifier: MIT */
/* Derived figures: only where their events were counted, and counted the same. */
#include "check.h"

#include <linux/perf_event.h>

#include "counts/count_metric.h"

#define HARDWARE(name, config)                                                \
    {                                                                         \
        name, "", 0, false, false, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config \
    }
enum { CLOCK, CYCLES, INSTRUCTIONS, BRANCHES, BRANCH_MISSES, REFERENCES, MISSES, FRONT, BACK, FAULTS, JOULES, EVENTS };

static struct count_event events[EVENTS];
static struct count_cell cells[EVENTS];

static int set_up(void **state)
{
    static const struct count_event all[EVENTS] = {
        {"task-clock", "", 0, true, false, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
        HARDWARE("cycles", CPU_CYCLES),
        HARDWARE("instructions", INSTRUCTIONS),
        HARDWARE("branches", BRANCH_INSTRUCTIONS),
        HARDWARE("branch-misses", BRANCH_MISSES),
        HARDWARE("cache-references", CACHE_REFERENCES),
        HARDWARE("cache-misses", CACHE_MISSES),
        HARDWARE("stalled-cycles-frontend", STALLED_CYCLES_FRONTEND),
        HARDWARE("stalled-cycles-backend", STALLED_CYCLES_BACKEND),
        {"page-faults", "", 0, false, false, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
        {"energy-pkg", "Joules", 2.3e-10, false, false, 30, 2},
    };
    static const uint64_t values[EVENTS] = {2000000000, 6000000000, 9000000000, 1000000, 20000, 5000,
                                            1000,       600000000,  1200000000, 250000,  77};
    (void)state;
    memcpy(events, all, sizeof(events));
    for (unsigned i = 0; i < EVENTS; i++)
        cells[i] = (struct count_cell){.present = true, .value = values[i], .scaled = values[i]};
    return 0;
}

static void expect(unsigned index, double value, const char *unit, bool percent)
{
    struct count_metric metric;
    assert_true(count_metric(events, cells, EVENTS, index, 4000000000, &metric));
    assert_true(metric.value > value * 0.999999 && metric.value < value * 1.000001);
    assert_string_equal(metric.unit, unit);
    assert_int_equal(metric.percent, percent);
}

/* Without its other event it has a rate at most. */
static bool is_there(unsigned index)
{
    struct count_metric metric;
    return count_metric(events, cells, EVENTS, index, 4000000000, &metric) && !metric.rate;
}

static void test_all(void **state)
{
    (void)state;
    expect(CLOCK, 0.5, "CPUs utilized", false);
    expect(CYCLES, 3, "GHz", false);
    expect(INSTRUCTIONS, 1.5, "insn per cycle", false);
    expect(BRANCHES, 500000, "/sec", false);
    expect(BRANCH_MISSES, 2, "of all branches", true);
    expect(MISSES, 20, "of all cache refs", true);
    expect(FRONT, 10, "frontend cycles idle", true);
    expect(BACK, 20, "backend cycles idle", true);
    expect(FAULTS, 125000, "/sec", false);
    assert_false(is_there(JOULES));
    double rate = 125000;
    assert_string_equal(count_rate(&rate), "K/sec");
    assert_true(rate == 125);
}

/* An estimate is compared with an estimate. */
static void test_scaled(void **state)
{
    (void)state;
    cells[INSTRUCTIONS].estimate = true;
    cells[INSTRUCTIONS].running_ns = 1;
    cells[INSTRUCTIONS].scaled = 12000000000;
    expect(INSTRUCTIONS, 2, "insn per cycle", false);
    cells[INSTRUCTIONS].running_ns = 0; /* never ran */
    assert_false(is_there(INSTRUCTIONS));
}

static void test_missing(void **state)
{
    struct count_metric metric;
    (void)state;
    events[CYCLES].unsupported = true;
    assert_false(is_there(INSTRUCTIONS));
    assert_false(is_there(FRONT));
    assert_false(is_there(CYCLES));
    events[CYCLES].unsupported = false;
    events[CYCLES].name = "cycles:u"; /* something else */
    assert_false(is_there(INSTRUCTIONS));
    events[INSTRUCTIONS].name = "instructions:u";
    assert_true(is_there(INSTRUCTIONS));
    cells[CYCLES].value = cells[CYCLES].scaled = 0;
    assert_false(is_there(INSTRUCTIONS));
    assert_true(count_metric(events, cells, EVENTS, INSTRUCTIONS, 0, &metric) && metric.rate);
    cells[CLOCK].present = false;
    assert_false(is_there(CLOCK));
    assert_false(count_metric(events, cells, EVENTS, FAULTS, 0, &metric));
    assert_false(count_metric(events, cells, EVENTS, INSTRUCTIONS, 0, &metric));
    cells[CLOCK].present = true;
    assert_false(count_metric(events, cells, EVENTS, CLOCK, 0, &metric)); /* the time is not known */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all, set_up),
        cmocka_unit_test_setup(test_scaled, set_up),
        cmocka_unit_test_setup(test_missing, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
