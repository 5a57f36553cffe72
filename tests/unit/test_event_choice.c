/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/config/event_choice.h"
#include "collector/config/probe.h"

static void attributes(void **state)
{
    (void)state;
    struct event_spec spec = *kit_one(&kit_intel, "cpu/mem-loads,period=3/ppuD");
    struct perf_event_attr attr = event_choice_attr(&spec, false), ours = probe_attr(4, 0x1cd);
    assert_int_equal(attr.config1, 3);
    assert_true(attr.precise_ip == 2 && attr.exclude_kernel && attr.pinned && attr.exclude_guest);
    assert_int_equal(attr.sample_period, 0);
    attr.config1 = 0;
    attr.precise_ip = attr.exclude_kernel = attr.exclude_hv = attr.pinned = attr.exclude_guest = 0;
    assert_memory_equal(&attr, &ours, sizeof(attr));
    spec = *kit_one(&kit_intel, "cycles");
    attr = event_choice_attr(&spec, true);
    assert_true(attr.exclude_kernel && attr.exclude_hv);
    spec = *kit_one(&kit_intel, "cycles:k");
    assert_false(event_choice_attr(&spec, true).exclude_kernel);
}

static bool blind;

static bool same(const char *text)
{
    event_list_release(&kit_list);
    assert_int_equal(event_list_parse(&kit_list, &kit_intel, text), 0);
    return event_choice_is_same(&kit_list.specs[0], &kit_list.specs[1], blind);
}

static void the_same_twice(void **state)
{
    (void)state;
    assert_true(same("faults,page-faults"));
    assert_true(same("mem:0x10/4:w,mem:16:w"));
    assert_false(same("task-clock:u,task-clock:k"));
    assert_false(same("faults,faults/period=3/"));
    assert_false(same("faults/name=a/,faults/name=b/"));
    assert_false(same("mem:one:x,mem:two:x"));
    assert_false(same("2:316,2:317"));
    assert_false(same("faults,faults:u"));
    /* Where the kernel is left out anyway. A clock counts it all the same. */
    blind = true;
    assert_true(same("faults,faults:u"));
    assert_false(same("faults:k,faults:u"));
    assert_false(same("task-clock,task-clock:u"));
    assert_false(same("faults/period=3/,faults:u"));
    blind = false;
}

static void explained(const char *text, int status, const char *word)
{
    char why[320];
    event_choice_explain(kit_one(&kit_intel, text), status, why, sizeof(why));
    if (!strstr(why, word))
        fail_msg("'%s' does not say '%s'", why, word);
}

static void refusals(void **state)
{
    char why[320];
    (void)state;
    explained("power/energy-pkg/", -EINVAL, "whole CPUs or sockets (its cpumask is 0)");
    explained("cpu/event=1/", -EINVAL, "PMU cpu");
    explained("mem:0x10:w", -ENOSPC, "breakpoints are in use");
    explained("mem:0x10:w", -EINVAL, "no breakpoint");
    explained("faults", -ENOENT, "does not have this event");
    struct event_spec spec = {.traces = true, .filter = why};
    event_choice_explain(&spec, -EACCES, why + 160, 160);
    assert_non_null(strstr(why + 160, "root"));
    strcpy(why, "a > b");
    event_choice_explain(&spec, -EINVAL, why + 10, 300);
    assert_non_null(strstr(why + 10, "filter 'a > b'"));
    spec = (struct event_spec){.group = 1};
    event_choice_explain(&spec, -EINVAL, why, sizeof(why));
    assert_non_null(strstr(why, "together"));
    event_choice_explain(NULL, -EMFILE, why, sizeof(why));
    assert_non_null(strstr(why, "open files"));
}

KIT_MAIN(T(attributes), T(the_same_twice), T(refusals))
