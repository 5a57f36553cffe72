/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/events/event_tracepoint.h"

static char root[64];
static struct event_sources sources = {.devices = TEST_DATA "/pmus/intel", .tracing = {"/no/such/place", root}};

static int make(void **state)
{
    (void)state;
    kit_directory(root);
    kit_file(root, "events/sched/sched_switch/id", "316\n");
    kit_file(root, "events/sched/sched_wakeup/id", "317\n");
    kit_file(root, "events/sched/enable", "0\n");
    kit_file(root, "events/sched/filter", "none\n");
    kit_file(root, "events/kmem/kmalloc/id", "400\n");
    kit_file(root, "events/kmem/broken/id", "x\n");
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    kit_remove(root);
    return 0;
}

static void names(void **state)
{
    (void)state;
    const struct event_spec *spec = kit_one(&sources, "sched:sched_switch");
    assert_true(spec->attr.type == PERF_TYPE_TRACEPOINT && spec->attr.config == 316 && spec->traces);
    assert_string_equal(spec->name, "sched:sched_switch");
    spec = kit_one(&sources, "kmem:kmall*:k");
    assert_true(spec->attr.config == 400 && spec->attr.exclude_user);
    assert_string_equal(spec->name, "kmem:kmalloc:k");
    event_list_release(&kit_list);
    assert_int_equal(event_list_parse(&kit_list, &sources, "faults,{sched:*}:D"), 0);
    assert_int_equal(kit_list.count, 3);
    assert_string_equal(kit_list.specs[2].name, "sched:sched_wakeup");
    assert_true(kit_list.specs[1].attr.pinned && !kit_list.specs[2].attr.pinned);
    assert_int_equal(event_list_filter(&kit_list, "prev_pid > 1"), 0);
    assert_null(kit_list.specs[0].filter);
    assert_string_equal(kit_list.specs[1].filter, "prev_pid > 1");
    assert_string_equal(kit_list.specs[2].filter, "prev_pid > 1");
}

static void refusals(void **state)
{
    static const struct event_sources none = {.devices = TEST_DATA "/pmus/intel", .tracing = {"/no/such/place"}};
    char why[256];
    (void)state;
    KIT_BAD(&sources, "sched:sched_swich", "no tracepoint 'sched:sched_swich'", "did you mean 'sched:sched_switch'?");
    KIT_BAD(&sources, "sched:enable", "no tracepoint");
    KIT_BAD(&sources, "kmem:broken", "Invalid argument");
    KIT_BAD(&sources, "../events/sched:x", "'..' is neither a PMU");
    KIT_BAD(&none, "sched:sched_switch", "mount -t tracefs");
    event_tracepoint_explain(-EACCES, why, sizeof(why));
    assert_non_null(strstr(why, "root"));
    event_tracepoint_explain(-EIO, why, sizeof(why));
    assert_non_null(strstr(why, "Input/output error"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(names), T(refusals)};
    report_program("test");
    const int failed = cmocka_run_group_tests(tests, make, unmake);
    event_list_release(&kit_list);
    return failed;
}
