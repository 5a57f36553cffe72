/* SPDX-License-Identifier: MIT */
/* Which sessions have inherited events for all tasks, and at which rate. */
#include "check.h"

#include <errno.h>
#include <pinject/wire.h>
#include <string.h>
#include <unistd.h>

#include "collector/config/event_config.h"
#include "collector/config/sample_cost.h"
#include "collector/config/sampler.h"
#include "collector/config/settings.h"

enum { CLOCK, FAULTS, COUNT };

static struct event_config config;
static struct settings settings;
static struct event_spec spec;
static unsigned measured;

void __wrap_sample_cost_measure(const struct perf_event_attr *attr, struct sample_cost *ret);
void __wrap_sample_cost_measure(const struct perf_event_attr *attr, struct sample_cost *ret)
{
    assert_int_equal(attr->config, PERF_COUNT_SW_TASK_CLOCK);
    *ret = (struct sample_cost){.sample_ns = 40000, .program_ns = 9000, .tick_ns = 4000000};
    measured++;
}

static bool reports;

bool __wrap_probe_reports_ends(void);
bool __wrap_probe_reports_ends(void)
{
    return reports;
}

static long cpus;

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_CONF ? cpus : __real_sysconf(name);
}

static const char *refusal;

bool __wrap_probe_sees_cpus(void);
bool __wrap_probe_sees_cpus(void)
{
    return !refusal;
}

const char *__wrap_probe_system_wide(void);
const char *__wrap_probe_system_wide(void)
{
    return refusal;
}

static int set_up(void **state)
{
    (void)state;
    config = (struct event_config){.source = PINJECT_SOURCE_PERF, .count = COUNT, .sampling = 1, .varies = true};
    config.events[CLOCK] = (struct config_event){.samples = true, .nanoseconds = true, .by_cost = true};
    config.events[CLOCK].attr = (struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = 1001001};
    config.events[FAULTS].attr = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE};
    config.events[FAULTS].leader = FAULTS;
    refusal = NULL;
    settings = (struct settings){.sampler = SETTINGS_SAMPLER_INHERIT, .follow = PINJECT_SESSION_ALL};
    spec = (struct event_spec){0};
    measured = 0;
    reports = true;
    cpus = 2;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    event_config_release(&config);
    return 0;
}

static void test_rate(void **state)
{
    (void)state;
    sampler_choose(&config, &settings);
    assert_true(config.inherits);
    assert_int_equal(config.events[CLOCK].attr.sample_period, 2000000); /* 500 samples of 40 us are 2 % */
    assert_false(config.events[CLOCK].by_cost);
    assert_false(config.varies);
    assert_int_equal(config.note_count, 0);
}

static void test_a_rate_that_was_given(void **state)
{
    (void)state;
    config.events[CLOCK].by_cost = config.varies = false;
    sampler_choose(&config, &settings);
    assert_true(config.inherits);
    assert_int_equal(config.events[CLOCK].attr.sample_period, 1001001);
    assert_int_equal(measured, 0);
}

/* As if nothing else had been asked for. */
static void test_given_up(void **state)
{
    (void)state;
    sampler_choose(&config, &settings);
    sampler_give_up(&config, -EMFILE);
    assert_false(config.inherits);
    assert_true(config.events[CLOCK].by_cost);
    assert_true(config.varies);
    assert_int_equal(config.events[CLOCK].attr.sample_period, 1001001);
    assert_non_null(strstr(config.notes[0], "Too many open files"));
}

static void test_not_asked_for(void **state)
{
    (void)state;
    settings.sampler = SETTINGS_SAMPLER_TASK;
    sampler_choose(&config, &settings);
    settings.sampler = SETTINGS_SAMPLER_INHERIT;
    settings.stat = true;
    sampler_choose(&config, &settings);
    assert_false(config.inherits);
    assert_true(config.events[CLOCK].by_cost);
    assert_int_equal(config.note_count + measured, 0);
}

static void expect_obstacle(const char *text)
{
    sampler_choose(&config, &settings);
    assert_false(config.inherits);
    assert_true(config.events[CLOCK].by_cost);
    assert_int_equal(config.note_count, 1);
    assert_non_null(strstr(config.notes[0], "--sampler=inherit is not possible"));
    if (!strstr(config.notes[0], text))
        fail_msg("'%s' is not in '%s'", text, config.notes[0]);
    tear_down(NULL);
    set_up(NULL);
}

static void test_obstacles(void **state)
{
    (void)state;
    config.source = PINJECT_SOURCE_TIMER;
    expect_obstacle("timers take the samples");
    settings.bare = true;
    expect_obstacle("without pinject-run");
    settings.follow = PINJECT_SESSION_ALL & ~(unsigned)PINJECT_SESSION_EXEC;
    expect_obstacle("--follow");
    settings.split = true;
    expect_obstacle("--exec-split-results");
    settings.saturate = 1;
    expect_obstacle("--saturate-smpl-buffer");
    config.events[FAULTS].random_mask = 1;
    expect_obstacle("--smpl-periods-random");
    config.events[FAULTS].samples = config.events[FAULTS].period_is_next = true;
    expect_obstacle("(-F)");
    config.events[FAULTS].values = true;
    expect_obstacle("modifier S");
    spec.target_kind = EVENT_TARGET_FILE;
    config.events[FAULTS].spec = &spec;
    expect_obstacle("mem:SYMBOL");
    reports = false;
    expect_obstacle("this kernel");
    spec.relative = true;
    config.events[FAULTS].spec = &spec;
    expect_obstacle("mem:SYMBOL");
    config.events[FAULTS].values = config.inherit_values = true;
    sampler_choose(&config, &settings);
    assert_true(config.inherits);
}

/* ---- --sampler=cpu ---- */

static void choose_cpu(void)
{
    settings.sampler = SETTINGS_SAMPLER_CPU;
    config.events[FAULTS].attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    reports = false; /* which does not matter: no event is inherited */
    sampler_choose(&config, &settings);
}

static void test_cpu(void **state)
{
    (void)state;
    choose_cpu();
    assert_true(config.system_wide);
    assert_true(config.inherits);
    assert_int_equal(config.events[CLOCK].account, CONFIG_ACCOUNT_CLOCK);
    assert_int_equal(config.events[FAULTS].account, CONFIG_ACCOUNT_FAULTS);
    assert_true(config.events[CLOCK].by_cost); /* the period is chosen when the events are opened */
    assert_int_equal(config.note_count + measured, 0);
}

static void test_cpu_refused(void **state)
{
    (void)state;
    refusal = "no";
    config.events[FAULTS].attr.type = PERF_TYPE_HARDWARE;
    choose_cpu();
    assert_false(config.system_wide || config.inherits);
    assert_int_equal(config.count, COUNT); /* each task is counted as without this option */
    assert_int_equal(config.note_count, 1);
    assert_non_null(strstr(config.notes[0], "--sampler=cpu is not possible: no"));
}

static void test_cpu_given_up(void **state)
{
    (void)state;
    choose_cpu();
    sampler_give_up(&config, -EPERM);
    assert_false(config.system_wide);
    assert_false(config.inherits);
    assert_true(config.events[CLOCK].by_cost);
    assert_non_null(strstr(config.notes[0], "--sampler=cpu is not possible: Operation not permitted"));
}

static void expect_cpu_obstacle(const char *text)
{
    choose_cpu();
    assert_false(config.system_wide);
    assert_false(config.inherits);
    assert_true(config.events[CLOCK].by_cost);
    assert_int_equal(config.note_count, 1);
    assert_non_null(strstr(config.notes[0], "--sampler=cpu is not possible"));
    if (!strstr(config.notes[0], text))
        fail_msg("'%s' is not in '%s'", text, config.notes[0]);
    tear_down(NULL);
    set_up(NULL);
}

static void test_cpu_obstacles(void **state)
{
    (void)state;
    settings.split = true;
    expect_cpu_obstacle("--exec-split-results");
    settings.switch_events = true;
    expect_cpu_obstacle("--switch-events");
    config.events[FAULTS].values = true;
    expect_cpu_obstacle("modifier S");
    config.events[FAULTS].leader = CLOCK;
    expect_cpu_obstacle("is in a group");
    config.events[FAULTS].samples = config.events[FAULTS].period_is_next = true;
    expect_cpu_obstacle("use a period (-c)");
    config.events[FAULTS].spec = &spec;
    config.events[FAULTS].attr.exclude_kernel = true;
    expect_cpu_obstacle("accounting of a task");
    spec.filter = (char[]){"pid > 1"};
    config.events[FAULTS].spec = &spec;
    expect_cpu_obstacle("--filter");
}

static void test_auto(void **state)
{
    (void)state;
    settings.sampler = SETTINGS_SAMPLER_AUTO;
    config.events[FAULTS].attr.config = PERF_COUNT_SW_PAGE_FAULTS;
    sampler_choose(&config, &settings);
    assert_true(config.system_wide_later);
    assert_false(config.system_wide || config.inherits);
    assert_true(config.events[CLOCK].by_cost);
    config.events[FAULTS].attr.type = PERF_TYPE_HARDWARE; /* no event gets lost */
    sampler_choose(&config, &settings);
    assert_false(config.system_wide_later);
    assert_int_equal(config.note_count, 0);
}

static void choose_for_others(bool inherits)
{
    settings.sampler = SETTINGS_SAMPLER_AUTO;
    refusal = "no";
    sampler_choose(&config, &settings);
    assert_false(config.system_wide_later || config.system_wide);
    assert_int_equal(config.inherits, inherits);
    assert_int_equal(config.events[CLOCK].by_cost, !inherits);
    assert_int_equal(config.note_count, 0); /* nobody asked for it */
    tear_down(NULL);
    set_up(NULL);
}

static void test_auto_of_others(void **state)
{
    (void)state;
    choose_for_others(true);
    reports = false;
    choose_for_others(false);
    config.events[FAULTS].samples = true; /* it is no clock */
    choose_for_others(false);
    config.events[FAULTS].leader = CLOCK;
    choose_for_others(false);
    settings.switch_events = true;
    choose_for_others(false);
    spec.filter = (char[]){"pid > 1"};
    config.events[FAULTS].spec = &spec;
    choose_for_others(false);
    config.turn_count = 2;
    choose_for_others(false);
    cpus = 63; /* a task has as many samplers, and a counter for each of both events */
    choose_for_others(false);
    cpus = 62;
    choose_for_others(true);
}

static void test_auto_of_others_given_up(void **state)
{
    (void)state;
    settings.sampler = SETTINGS_SAMPLER_AUTO;
    refusal = "no";
    sampler_choose(&config, &settings);
    sampler_give_up(&config, -ENOBUFS);
    assert_false(config.inherits);
    assert_true(config.events[CLOCK].by_cost);
    assert_non_null(strstr(config.notes[0], "each task has events of its own"));
    assert_non_null(strstr(config.notes[0], "ulimit -l"));
}

/* Those of the user are counted, or there is no such sampler; the others are left out. */
static void test_cpu_without_hardware_counters(void **state)
{
    (void)state;
    config.events[CLOCK].attr.type = PERF_TYPE_HARDWARE;
    config.events[CLOCK].attr.config = PERF_COUNT_HW_CPU_CYCLES;
    config.events[CLOCK].by_cost = false;
    config.events[COUNT] = config.events[CLOCK];
    config.events[COUNT].samples = false;
    config.events[COUNT].attr.config = PERF_COUNT_HW_INSTRUCTIONS;
    config.events[COUNT].leader = COUNT;
    config.events[COUNT + 1].attr = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE,
                                                             .config = PERF_COUNT_SW_CPU_MIGRATIONS};
    config.events[COUNT + 1].leader = COUNT + 1;
    config.count = COUNT + 2;
    for (unsigned i = 0; i < CONFIG_EVENTS; i++)
        config.keepers[i] = -1;
    choose_cpu();
    assert_true(config.system_wide);
    assert_int_equal(config.count, COUNT + 1);
    assert_int_equal(config.events[CLOCK].account, CONFIG_ACCOUNT_SAMPLES);
    assert_int_equal(config.events[COUNT].attr.config, PERF_COUNT_SW_CPU_MIGRATIONS);
    assert_int_equal(config.events[COUNT].leader, COUNT);
    assert_int_equal(config.events[COUNT].account, CONFIG_ACCOUNT_SAMPLES);
    assert_non_null(strstr(config.notes[0], "with --sampler=cpu, tasks have no events"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_rate_that_was_given, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_obstacles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cpu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cpu_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cpu_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cpu_obstacles, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto_of_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_auto_of_others_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cpu_without_hardware_counters, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
