/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

static void check_event(const struct event_sources *sources, const char *text, uint32_t type, uint64_t config)
{
    const struct event_spec *spec = kit_one(sources, text);
    if (spec->attr.type != type || spec->attr.config != config)
        fail_msg("'%s': type %u, config %#llx", text, spec->attr.type, (unsigned long long)spec->attr.config);
    assert_string_equal(spec->name, text);
}

static void kinds_of_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        check_event(kit_cpus[i], "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
        check_event(kit_cpus[i], "CYCLES:u", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
        check_event(kit_cpus[i], "bpf-output", PERF_TYPE_SOFTWARE, 10);
        check_event(kit_cpus[i], "L1-dcache-load-misses:k", PERF_TYPE_HW_CACHE, 0x10000);
        check_event(kit_cpus[i], "r1A8:u", PERF_TYPE_RAW, 0x1a8);
        check_event(kit_cpus[i], "rffffffffffffffff", PERF_TYPE_RAW, UINT64_MAX);
        check_event(kit_cpus[i], "4:0x3c", PERF_TYPE_RAW, 0x3c);
    }
    check_event(&kit_intel, "cpu/instructions/", 4, 0xc0);
    check_event(&kit_intel, "cpu/instructions/u", 4, 0xc0);
    check_event(&kit_intel, "cpu/instructions/:u", 4, 0xc0);
    check_event(&kit_intel, "el-abort", 4, 0x4c9);
    check_event(&kit_intel, "mem-loads:pp", 4, 0x1cd);
    check_event(&kit_amd, "cpu/stalled-cycles-backend/", 4, 0x187);
    check_event(&kit_arm, "l1d_cache_refill", 8, 3);
    check_event(&kit_arm, "armv8_pmuv3_0/event=0x11,long/", 8, 0x11);
    assert_true(kit_one(&kit_intel, "task-clock:u")->nanoseconds);
    assert_false(kit_one(&kit_intel, "cs")->nanoseconds);
}

static void refusals(void **state)
{
    char text[300];
    (void)state;
    KIT_BAD(&kit_intel, "task-clok", "unknown event 'task-clok'", "did you mean 'task-clock'?");
    KIT_BAD(&kit_intel, "l1-dcache-load-mises", "did you mean 'L1-dcache-load-misses'?");
    KIT_BAD(&kit_intel, "iTLB-stores", "not include this operation");
    KIT_BAD(&kit_intel, "duration_time", "perf computes duration_time");
    KIT_BAD(&kit_intel, "r", "unknown event 'r'");
    KIT_BAD(&kit_intel, "r12345678901234567", "unknown event");
    KIT_BAD(&kit_intel, "99999999999:1", "TYPE:CONFIG");
    KIT_BAD(&kit_intel, "1:2x", "TYPE:CONFIG");
    KIT_BAD(&kit_intel, ":u", "unknown event ''");
    KIT_BAD(&kit_intel, "zzzz:u", "unknown event 'zzzz'");
    snprintf(text, sizeof(text), "cpu/event=1,umask=%0150d/", 0);
    KIT_BAD(&kit_intel, text, "name=MINE");
}

KIT_MAIN(T(kinds_of_names), T(refusals))
