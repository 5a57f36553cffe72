/* SPDX-License-Identifier: MIT */
/* On a Skylake-SP that libpfm4 is told to believe in: the same on every machine. */
#include "events_kit.h"

#include "collector/events/event_pfm.h"

static void names_and_unit_masks(void **state)
{
    (void)state;
    if (!event_pfm_version())
        skip();
    const struct event_spec *spec = kit_one(&kit_intel, "inst_retired:any_p:u");
    assert_true(spec->attr.type == PERF_TYPE_RAW && spec->attr.config == 0xc0);
    assert_true(spec->attr.exclude_kernel && !spec->attr.exclude_user);
    assert_string_equal(spec->name, "inst_retired:any_p:u");
    spec = kit_one(&kit_intel, "L1D:REPLACEMENT");
    assert_int_equal(spec->attr.config, 0x151);
    assert_false(spec->attr.exclude_kernel || spec->attr.exclude_user);
    KIT_BAD(&kit_intel, "cs,MEM_LOAD_RETIRED", "event 2", "unit mask", "--event-info");
    KIT_BAD(&kit_intel, "INST_RETIRD", "unknown event", "did you mean 'INST_RETIRED'?");
}

static void count(void *to, const struct event_pfm_name *name)
{
    unsigned *counts = to;
    counts[name->umask != NULL]++;
    assert_true(name->event && name->description && name->pmu);
}

static void lists(void **state)
{
    unsigned counts[2] = {0, 0};
    (void)state;
    event_pfm_list(count, counts);
    if (!event_pfm_version())
        assert_int_equal(counts[0], 0);
    else
        assert_true(counts[0] > 80 && counts[1] > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(names_and_unit_masks), T(lists)};
    setenv("LIBPFM_FORCE_PMU", "skx", 1);
    setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
    report_program("test");
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    event_list_release(&kit_list);
    return failed;
}
