/* SPDX-License-Identifier: MIT */
#include "worker_fake.h"

#include "collector/config/event_config.h"
#include "collector/config/probe.h"

static struct event_config config;

/* One list at a time: the next call releases it. */
static struct settings with_events(const char *first, const char *second)
{
    static struct event_list list;
    event_list_release(&list);
    struct settings settings = {.frequency = 999};
    const char *names[] = {first, second};
    for (unsigned i = 0; i < 2 && names[i]; i++)
        MUST(event_list_parse(&settings.events, &event_sources_system, names[i]) == 0);
    list = settings.events;
    return settings;
}

static const struct config_event *find(uint32_t type, uint64_t number)
{
    const struct config_event *found = NULL;
    for (unsigned i = 0; i < config.count; i++) {
        if (config.events[i].attr.type != type || config.events[i].attr.config != number)
            continue;
        MUST(!found); /* twice */
        found = &config.events[i];
    }
    return found;
}

static void check_common(void)
{
    for (unsigned i = 0; i < config.count; i++) {
        const struct perf_event_attr *attr = &config.events[i].attr;
        MUST(attr->sample_id_all && attr->use_clockid && attr->clockid == CLOCK_MONOTONIC);
        MUST(attr->sample_type & PERF_SAMPLE_IDENTIFIER);
        MUST((attr->read_format & ~(uint64_t)PERF_FORMAT_GROUP) == (config.events[1].attr.read_format));
        MUST(!attr->disabled && !attr->enable_on_exec && !attr->inherit && !attr->build_id);
        MUST((attr->mmap && attr->mmap2 && attr->comm && attr->comm_exec && attr->task) == (i == 0));
        MUST(config.events[i].samples == (i < config.sampling));
        MUST(config.keepers[i] >= 0);
    }
    MUST(config.ring_pages > 0 && (config.ring_pages & (config.ring_pages - 1)) == 0);
    MUST(config.thread_ring_pages > 0 && (config.thread_ring_pages & (config.thread_ring_pages - 1)) == 0);
}

static void default_is_cycles_or_says_why(void **state)
{
    (void)state;
    struct settings settings = {.frequency = 999};
    assert_int_equal(event_config_init(&config, &settings), 0);
    check_common();
    struct perf_event_attr cycles = probe_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    cycles.exclude_kernel = config.exclude_kernel;
    int fd = probe_open(&cycles);
    assert_string_equal(config.events[0].name, fd >= 0 ? "cycles" : "task-clock");
    assert_int_equal(config.reason[0] == '\0', fd >= 0);
    if (fd >= 0)
        close(fd);
    assert_int_equal(config.sampling, 1);
    const struct config_event *clock = find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    assert_non_null(clock);
    assert_true(clock->nanoseconds);
    assert_non_null(find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS));
    assert_true(config.events[0].attr.sample_type & PERF_SAMPLE_CALLCHAIN);
    event_config_release(&config);
    event_config_release(&config);
}

static void a_chosen_event_counts_for_the_default(void **state)
{
    (void)state;
    struct settings settings = with_events("page-faults", "task-clock");
    settings.call_graph = SETTINGS_CALL_GRAPH_NONE;
    assert_int_equal(event_config_init(&config, &settings), 0);
    check_common();
    assert_int_equal(config.sampling, 2);
    assert_int_equal(config.events[0].attr.config, PERF_COUNT_SW_PAGE_FAULTS);
    assert_true(find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)->samples);
    assert_int_equal(config.events[0].attr.freq, 1);
    assert_int_equal(config.events[1].attr.sample_period, 1001001);
    assert_false(config.events[0].attr.sample_type & PERF_SAMPLE_CALLCHAIN);
    assert_string_equal(config.reason, "");
    event_config_release(&config);
    settings = with_events("task-clock", "task-clock");
    assert_int_equal(event_config_init(&config, &settings), 0);
    assert_int_equal(config.sampling, 1);
    event_config_release(&config);
}

static void stat_samples_nothing(void **state)
{
    (void)state;
    struct settings settings = {.stat = true};
    assert_int_equal(event_config_init(&config, &settings), 0);
    check_common();
    assert_true(config.dummy);
    assert_int_equal(config.sampling, 0);
    assert_int_equal(config.events[0].attr.config, PERF_COUNT_SW_DUMMY);
    for (unsigned i = 0; i < config.count; i++)
        assert_true(config.events[i].attr.sample_period == 0);
    assert_non_null(find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK));
    event_config_release(&config);
    settings = with_events("minor-faults", NULL);
    settings.stat = true;
    assert_int_equal(event_config_init(&config, &settings), 0);
    assert_int_equal(config.count, 3); /* the dummy, the chosen one, task-clock */
    event_config_release(&config);
}

static void refused(struct settings settings, const char *expected)
{
    check_capture();
    int status = event_config_init(&config, &settings);
    const char *text = check_captured();
    assert_true(status < 0);
    if (!strstr(text, expected))
        fail_msg("'%s' does not say '%s'", text, expected);
    for (unsigned i = 0; i < CONFIG_EVENTS; i++)
        assert_int_equal(config.keepers[i], -1);
}

static void rates_are_checked(void **state)
{
    (void)state;
    int64_t limit = probe_read_sysctl("perf_event_max_sample_rate", 0);
    assert_true(limit > 0);
    refused((struct settings){.frequency = (uint64_t)limit + 1}, "kernel.perf_event_max_sample_rate");
    refused((struct settings){.frequency = UINT64_MAX}, "kernel.perf_event_max_sample_rate");
    refused((struct settings){.frequency = 0}, "-F 1");
    refused((struct settings){.period = UINT64_C(1) << 63}, "too long");
    struct settings settings = with_events("task-clock", NULL);
    settings.period = 1;
    assert_int_equal(event_config_init(&config, &settings), 0);
    assert_int_equal(config.events[0].attr.sample_period, 10000);
    assert_int_equal(config.note_count > 0, 1);
    event_config_release(&config);
}

static void rings_grow_with_the_rate(void **state)
{
    (void)state;
    struct settings settings = with_events("task-clock", NULL);
    assert_int_equal(event_config_init(&config, &settings), 0);
    size_t slow = config.ring_pages;
    event_config_release(&config);
    settings.frequency = 0;
    settings.period = 20000; /* 50 kHz */
    assert_int_equal(event_config_init(&config, &settings), 0);
    check_common();
    assert_true(config.ring_pages > slow);
    event_config_release(&config);
}

static void check_unprivileged(void)
{
    struct settings settings = {.frequency = 999};
    if (probe_read_sysctl("perf_event_paranoid", 2) != 2)
        _exit(77);
    MUST(event_config_init(&config, &settings) == 0);
    check_common();
    MUST(config.exclude_kernel && config.note_count > 0);
    for (unsigned i = 0; i < config.count; i++)
        MUST(config.events[i].attr.exclude_kernel);
    MUST(!find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES));
    MUST(strcmp(find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS)->name, "page-faults:u") == 0);
    MUST(strcmp(find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK)->name, "task-clock") == 0);
    event_config_release(&config);
    fclose(stderr);
    settings = with_events("context-switches", NULL);
    MUST(event_config_init(&config, &settings) == -EACCES);
    settings = with_events("task-clock:k", NULL);
    MUST(event_config_init(&config, &settings) == -EACCES);
}

static void unprivileged_sees_user_space_only(void **state)
{
    (void)state;
    fake_unprivileged(check_unprivileged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(default_is_cycles_or_says_why), cmocka_unit_test(a_chosen_event_counts_for_the_default),
        cmocka_unit_test(stat_samples_nothing),          cmocka_unit_test(rates_are_checked),
        cmocka_unit_test(rings_grow_with_the_rate),      cmocka_unit_test(unprivileged_sees_user_space_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
