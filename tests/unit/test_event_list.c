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

KIT_MAIN(T(groups), T(wrong_lists), T(several), T(levels))
