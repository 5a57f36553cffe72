/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/events/event_modifiers.h"

/* Which of user, kernel, hypervisor, host, guest, idle are left out, as letters. */
static const char *excluded(const char *text)
{
    static char ret[8];
    struct event_spec spec = {.leader = true};
    char *at = ret;
    event_modifiers_apply(&spec, text);
#define SHOW(field, letter) \
    if (spec.attr.field)    \
    *at++ = letter
    SHOW(exclude_user, 'u');
    SHOW(exclude_kernel, 'k');
    SHOW(exclude_hv, 'h');
    SHOW(exclude_host, 'H');
    SHOW(exclude_guest, 'G');
    SHOW(exclude_idle, 'I');
#undef SHOW
    *at = '\0';
    return ret;
}

static void levels(void **state)
{
    (void)state;
    assert_string_equal(excluded(""), "");
    assert_string_equal(excluded("u"), "kh");
    assert_string_equal(excluded("k"), "uh");
    assert_string_equal(excluded("h"), "uk");
    assert_string_equal(excluded("uk"), "h");
    assert_string_equal(excluded("ukh"), "");
    assert_string_equal(excluded("G"), "H");
    assert_string_equal(excluded("H"), "G");
    assert_string_equal(excluded("GH"), "");
    assert_string_equal(excluded("I"), "I");
    assert_string_equal(excluded("uG"), "khH");
    assert_string_equal(excluded("pp"), "G");
    assert_string_equal(excluded("Gp"), "H");
}

static void precision_and_scheduling(void **state)
{
    struct event_spec spec = {.leader = true};
    (void)state;
    event_modifiers_apply(&spec, "ppDe");
    assert_int_equal(spec.attr.precise_ip, 2);
    assert_true(spec.attr.pinned && spec.attr.exclusive);
    assert_false(event_modifiers_too_precise(&spec, "p"));
    assert_true(event_modifiers_too_precise(&spec, "pup"));
    event_modifiers_apply(&spec, "P");
    assert_true(spec.says & EVENT_SAYS_MOST_PRECISE);
    spec = (struct event_spec){.leader = false};
    event_modifiers_apply(&spec, "De");
    assert_false(spec.attr.pinned || spec.attr.exclusive);
}

static void refusals(void **state)
{
    (void)state;
    assert_true(event_modifiers_are("ukS") && !event_modifiers_are("") && !event_modifiers_are("any"));
    KIT_BAD(&kit_intel, "cycles:", "no modifier after");
    KIT_BAD(&kit_intel, "cycles:x", "unknown modifier 'x'");
    KIT_BAD(&kit_intel, "{cs,cycles:S}", "event 2", "modifier S is for a whole group");
    KIT_BAD(&kit_intel, "cycles:W", "modifier W");
    KIT_BAD(&kit_intel, "cycles:b", "modifier b");
    KIT_BAD(&kit_intel, "cycles:pppp", "ppp");
    KIT_BAD(&kit_intel, "cycles:u:z", "unknown modifier ':'");
}

static void is_of_values(const char *text, const char *wanted)
{
    event_list_release(&kit_list);
    assert_int_equal(event_list_parse(&kit_list, &kit_intel, text), 0);
    assert_int_equal(kit_list.count, strlen(wanted));
    for (unsigned i = 0; i < kit_list.count; i++)
        if (!!(kit_list.specs[i].says & EVENT_SAYS_VALUES) != (wanted[i] == 'S'))
            fail_msg("'%s', event %u", text, i);
}

/* S is of the group, wherever it stands. */
static void values(void **state)
{
    (void)state;
    is_of_values("cs,{cycles,faults}:uS,cs:S,{cs,faults}", "-SSS--");
    is_of_values("{cycles:S,faults}:u,cs", "SS-");
    assert_string_equal(kit_list.specs[1].name, "faults:u");
    is_of_values("cpu/event=1/S", "S");
}

KIT_MAIN(T(values), T(levels), T(precision_and_scheduling), T(refusals))
