/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

static void parse(const char *text)
{
    event_list_release(&kit_list);
    assert_int_equal(event_list_parse(&kit_list, &kit_intel, text), 0);
}

static void groups(void **state)
{
    (void)state;
    parse("cs,{faults,minor-faults:u}:k,{cycles},major-faults");
    assert_int_equal(kit_list.count, 5);
    assert_int_equal(kit_list.groups, 2);
    static const unsigned group[] = {0, 1, 1, 2, 0};
    static const bool leader[] = {true, true, false, true, true};
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(kit_list.specs[i].group, group[i]);
        assert_int_equal(kit_list.specs[i].leader, leader[i]);
    }
    assert_true(kit_list.specs[1].attr.exclude_user && !kit_list.specs[1].attr.exclude_kernel);
    assert_string_equal(kit_list.specs[1].name, "faults:k");
    assert_string_equal(kit_list.specs[2].name, "minor-faults:u");
    /* The group adds to its own. */
    assert_false(kit_list.specs[2].attr.exclude_user || kit_list.specs[2].attr.exclude_kernel);
    assert_int_equal(event_list_parse(&kit_list, &kit_intel, "{cs,faults}:De"), 0);
    assert_int_equal(kit_list.specs[5].group, 3);
    assert_true(kit_list.specs[5].attr.pinned && kit_list.specs[5].attr.exclusive);
    assert_false(kit_list.specs[6].attr.pinned || kit_list.specs[6].attr.exclusive);
}

static void wrong_lists(void **state)
{
    char many[1000 * 4 + 1], large[2000];
    (void)state;
    KIT_BAD(&kit_intel, "", "event 1", "has no name");
    KIT_BAD(&kit_intel, "cs,", "event 2", "has no name");
    KIT_BAD(&kit_intel, "cs,,faults", "event 2", "has no name");
    KIT_BAD(&kit_intel, "{}", "has no event");
    KIT_BAD(&kit_intel, "{cs", "no '}'");
    KIT_BAD(&kit_intel, "{cs,}", "has no name");
    KIT_BAD(&kit_intel, "cs}", "a '}', but no '{'");
    KIT_BAD(&kit_intel, "{cs}x", "after the '}' of a group");
    KIT_BAD(&kit_intel, "{cs}:x", "unknown modifier 'x'");
    KIT_BAD(&kit_intel, "{cs}:", "no modifier after");
    KIT_BAD(&kit_intel, "{{cs}}", "unknown event");
    KIT_BAD(&kit_intel, "{cs,faults:D}", "whole group");
    KIT_BAD(&kit_intel, "{cycles:pp}:pp", "ppp");
    for (unsigned i = 0; i < 1000; i++)
        memcpy(many + 4 * i, "cs, ", 4);
    for (unsigned i = 0; i < 1000; i++)
        memcpy(many + 3 * i, i < 999 ? "cs," : "cs\0", 3);
    KIT_BAD(&kit_intel, many, "event 49, 'cs'", "at most 48 events");
    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    KIT_BAD(&kit_intel, large, "at most 1024 bytes");
}

/* A second -e counts on; a bad one leaves the list as it was. */
static void several(void **state)
{
    (void)state;
    parse("cs,faults");
    check_capture();
    assert_int_equal(event_list_parse(&kit_list, &kit_intel, "cycles,{cs,nonsense}"), -EINVAL);
    assert_non_null(strstr(check_captured(), "event 5, 'nonsense'"));
    assert_int_equal(kit_list.count, 2);
    assert_int_equal(kit_list.items, 2);
    assert_int_equal(kit_list.groups, 0);
}

static void levels(void **state)
{
    (void)state;
    parse("cs,faults:u,cpu/event=1,name=a/");
    event_list_set_levels(&kit_list, EVENT_LEVEL_KERNEL);
    assert_string_equal(kit_list.specs[0].name, "cs:k");
    assert_string_equal(kit_list.specs[1].name, "faults:u");
    assert_string_equal(kit_list.specs[2].name, "a");
    assert_true(kit_list.specs[0].attr.exclude_user && !kit_list.specs[1].attr.exclude_user);
    assert_true(kit_list.specs[2].attr.exclude_user);
    event_list_set_levels(&kit_list, EVENT_LEVEL_KERNEL);
    assert_string_equal(kit_list.specs[0].name, "cs:k");
    parse("cs,faults");
    assert_int_equal(event_list_set_each_level(&kit_list, "u", 0), 0);
    assert_true(kit_list.specs[0].attr.exclude_kernel && !kit_list.specs[1].attr.exclude_kernel);
}

static void bad_values(const char *text, bool set, const uint64_t *periods, unsigned count, const char *wanted)
{
    parse(text);
    check_capture();
    int status = set ? event_list_set_values(&kit_list) : 0;
    if (status == 0 && count)
        assert_int_equal(event_list_set_periods(&kit_list, periods, count, "period"), 0);
    if (status == 0)
        status = event_list_check_values(&kit_list);
    const char *said = check_captured();
    if (status != -EINVAL || !strstr(said, wanted))
        fail_msg("'%s': '%s' does not say '%s'", text, said, wanted);
}

static void values(void **state)
{
    (void)state;
    /* Without braces, all are one group. */
    parse("cs,faults,cycles");
    assert_int_equal(event_list_set_values(&kit_list), 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(kit_list.specs[i].group, 1);
        assert_int_equal(kit_list.specs[i].leader, i == 0);
        assert_true(kit_list.specs[i].says & EVENT_SAYS_VALUES);
    }
    assert_int_equal(event_list_check_values(&kit_list), 0);
    parse("cs,{faults,cycles}");
    assert_int_equal(event_list_set_values(&kit_list), 0);
    assert_false(kit_list.specs[0].says & EVENT_SAYS_VALUES || kit_list.specs[0].group);
    assert_true(kit_list.specs[1].says & kit_list.specs[2].says & EVENT_SAYS_VALUES);
    parse("{faults/period=3/,cycles}:S,cs/period=4/");
    assert_int_equal(event_list_check_values(&kit_list), 0);
    static const uint64_t periods[] = {3, 4};
    bad_values("cs", true, NULL, 0, "two events or more");
    bad_values("cs,faults:D", true, NULL, 0, "whole group");
    bad_values("cs,faults:S", true, NULL, 0, "whole group");
    bad_values("{faults,cycles/period=3/}:S", false, NULL, 0,
               "only the first event of a group with modifier S is sampled");
    bad_values("{faults,cycles}:S", false, periods, 2, "event 2, 'cycles'");
    bad_values("cs,{faults,cycles}:S", false, periods, 1, "give this event a period");
}

KIT_MAIN(T(values), T(groups), T(wrong_lists), T(several), T(levels))
