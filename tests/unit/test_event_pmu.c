/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

static void formats(void **state)
{
    struct event_format format;
    (void)state;
    assert_int_equal(event_pmu_parse_format("config:0-7,32-35", &format), 0);
    assert_int_equal(format.field, 0);
    assert_true(format.bits == UINT64_C(0xf000000ff));
    assert_int_equal(event_pmu_parse_format("config2:63", &format), 0);
    assert_int_equal(format.field, 2);
    assert_true(format.bits == UINT64_C(1) << 63);
    assert_int_equal(event_pmu_parse_format("config:0-63", &format), 0);
    assert_true(format.bits == UINT64_MAX);
    static const char *const wrong[] = {
        "",          "config",    "config:",   "config:64", "config:7-0",          "config:1,",
        "config4:0", "config:-1", "config:1-", "config:1x", "config:0-99999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        if (event_pmu_parse_format(wrong[i], &format) != -EINVAL)
            fail_msg("'%s' was accepted", wrong[i]);
}

static void values_are_spread_over_bits(void **state)
{
    uint64_t fields[4] = {UINT64_MAX, 0, 0, 0}, highest;
    struct event_format format = {.field = 0, .bits = UINT64_C(0xf000000ff)};
    (void)state;
    assert_int_equal(event_format_put(&format, 0x1c2, fields, &highest), 0);
    assert_true(fields[0] == UINT64_C(0xfffffff1ffffffc2));
    assert_int_equal(event_format_put(&format, 0x1000, fields, &highest), -ERANGE);
    assert_int_equal(highest, 0xfff);
    format = (struct event_format){.field = 3, .bits = UINT64_MAX};
    assert_int_equal(event_format_put(&format, UINT64_MAX, fields, &highest), 0);
    assert_true(fields[3] == UINT64_MAX);
}

static void pmus_of_real_cpus(void **state)
{
    struct event_pmu pmu;
    struct event_alias alias;
    struct event_format format;
    (void)state;
    assert_int_equal(event_pmu_find(&kit_intel, "cpu", &pmu), 0);
    assert_int_equal(pmu.type, 4);
    assert_string_equal(pmu.cpumask, "");
    assert_int_equal(event_pmu_format(&pmu, "ldlat", &format), 0);
    assert_int_equal(format.field, 1);
    assert_int_equal(event_pmu_format(&pmu, "nothing", &format), -ENOENT);
    assert_int_equal(event_pmu_alias(&pmu, "topdown-total-slots", &alias), 0);
    assert_string_equal(alias.terms, "event=0x3c,umask=0x0,any=1");
    assert_true(alias.scale == 2.0);
    assert_int_equal(event_pmu_find(&kit_intel, "power", &pmu), 0);
    assert_string_equal(pmu.cpumask, "0");
    assert_int_equal(event_pmu_alias(&pmu, "energy-pkg", &alias), 0);
    assert_string_equal(alias.unit, "Joules");
    assert_true(alias.per_package && alias.snapshot && alias.scale > 2.3e-10 && alias.scale < 2.4e-10);
    assert_int_equal(event_pmu_of_event(&kit_arm, "l1d_cache_refill", &pmu), 0);
    assert_string_equal(pmu.name, "armv8_pmuv3_0");
    assert_int_equal(event_pmu_of_event(&kit_arm, "nothing", &pmu), -ENOENT);
}

/* No name leads out of the directory, and files may be anything. */
static void hostile_names_and_files(void **state)
{
    char root[64];
    struct event_pmu pmu;
    struct event_format format;
    struct event_alias alias;
    (void)state;
    const struct event_sources sources = {.devices = kit_directory(root)};
    static const char *const wrong[] = {"", ".", "..", "../intel/cpu", "a/b", "a b", "\033"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_false(event_pmu_is_name(wrong[i]));
        assert_int_equal(event_pmu_find(&sources, wrong[i], &pmu), -ENOENT);
    }
    kit_file(root, "one/type", "99999999999999999999\n");
    assert_int_equal(event_pmu_find(&sources, "one", &pmu), -EINVAL);
    kit_file(root, "one/type", "-1\n");
    assert_int_equal(event_pmu_find(&sources, "one", &pmu), -EINVAL);
    kit_file(root, "one/type", "");
    assert_int_equal(event_pmu_find(&sources, "one", &pmu), -EINVAL);
    kit_file(root, "one/type", "7\n");
    kit_file(root, "one/format/bad", "config:9-1\n");
    kit_file(root, "one/events/odd", "event=1\nmore");
    kit_file(root, "one/events/odd.scale", "nan");
    kit_file(root, "one/events/odd.unit", "a unit that is much too long for anybody\n");
    assert_int_equal(event_pmu_find(&sources, "one", &pmu), 0);
    assert_int_equal(event_pmu_format(&pmu, "bad", &format), -EINVAL);
    assert_int_equal(event_pmu_alias(&pmu, "odd", &alias), 0);
    assert_true(alias.scale == 0 && !alias.unit[0]);
    KIT_BAD(&sources, "one/bad=1/", "format/bad", "Invalid argument");
    KIT_BAD(&sources, "one/odd/", "has no term 'event'");
    kit_remove(root);
}

KIT_MAIN(T(formats), T(values_are_spread_over_bits), T(pmus_of_real_cpus), T(hostile_names_and_files))
