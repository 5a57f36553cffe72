/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/events/event_terms.h"

static void ends(void **state)
{
    static const struct {
        const char *text;
        long size;
    } cases[] = {
        {"event=1/", 7},
        {"/", 0},
        {"a,b=2/u", 5},
        {"a", -1},
        {"path=/bin/x/", 11},
        {"path=/bin/x,offset=1/", 20},
        {"path=/bin/x/:u", 11},
        {"path=/bin/x/uk", 11},
        {"path='/bin/u/,x'/", 16},
        {"path=/bin/x/,faults", 11},
        {"name='a", -1},
        {"path=/bin", -1},
        {"path=/x/,p=/y/", 7},
        {"offset=3,path=/a/b/}", 18},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (event_terms_size(cases[i].text) != cases[i].size)
            fail_msg("'%s': %ld", cases[i].text, event_terms_size(cases[i].text));
}

static void terms_of_pmus(void **state)
{
    (void)state;
    const struct event_spec *spec = kit_one(&kit_intel, "cpu/event=0x3c,umask=1,cmask=2,edge/");
    assert_int_equal(spec->attr.type, 4);
    assert_int_equal(spec->attr.config, 0x204013c);
    assert_string_equal(spec->name, "cpu/event=0x3c,umask=1,cmask=2,edge/");
    spec = kit_one(&kit_intel, "cpu/mem-loads,ldlat=30/pp");
    assert_int_equal(spec->attr.config, 0x1cd);
    assert_int_equal(spec->attr.config1, 30);
    assert_int_equal(spec->attr.precise_ip, 2);
    spec = kit_one(&kit_amd, "cpu/event=0x1c2,name=mine/k");
    assert_true(spec->attr.config == UINT64_C(0x1000000c2) && spec->attr.exclude_user);
    assert_string_equal(spec->name, "mine");
    spec = kit_one(&kit_arm, "arm_spe_0/load_filter=1,min_latency=10,event_filter=0x2/");
    assert_true(spec->attr.config == UINT64_C(1) << 33);
    assert_int_equal(spec->attr.config1, 2);
    assert_int_equal(spec->attr.config2, 10);
    spec = kit_one(&kit_intel, "uncore_imc_0/cas_count_read/");
    assert_string_equal(spec->unit, "MiB");
    assert_string_equal(spec->cpumask, "0,18");
    assert_true(spec->scale > 6.1e-5 && spec->scale < 6.2e-5);
    assert_int_equal(kit_one(&kit_intel, "cpu/config=0xff,config1=2,config2=3,umask=0/")->attr.config, 0xff);
    assert_int_equal(kit_list.specs[0].attr.config1, 2);
}

static void terms_of_all_events(void **state)
{
    (void)state;
    const struct event_spec *spec = kit_one(&kit_intel, "faults/period=7,name='a b',call-graph=no,time=1/u");
    assert_true(spec->attr.sample_period == 7 && !spec->attr.freq && spec->attr.exclude_kernel);
    assert_true(spec->says == (EVENT_SAYS_RATE | EVENT_SAYS_NAME | EVENT_SAYS_NO_CHAIN | EVENT_SAYS_LEVEL));
    assert_string_equal(spec->name, "a b");
    spec = kit_one(&kit_intel, "cycles/freq=99,call-graph=fp,max-stack=9/");
    assert_true(spec->attr.sample_freq == 99 && spec->attr.freq && spec->attr.sample_max_stack == 9);
    assert_true(spec->says == (EVENT_SAYS_RATE | EVENT_SAYS_CHAIN));
    spec = kit_one(&kit_intel, "L1-dcache-loads/no-overwrite/");
    assert_int_equal(spec->attr.type, PERF_TYPE_HW_CACHE);
}

static void refusals(void **state)
{
    (void)state;
    KIT_BAD(&kit_intel, "cpu/evnt=1/", "event 1, 'cpu/evnt=1/'", "PMU cpu has no term 'evnt'", "did you mean 'event'?");
    KIT_BAD(&kit_intel, "cpu/event=0x100/", "term 'event' can be at most 0xff");
    KIT_BAD(&kit_intel, "cpu/event=many/", "needs a number, not 'many'");
    KIT_BAD(&kit_intel, "cpu/event=?/", "needs a value for its term 'event'");
    KIT_BAD(&kit_intel, "cpu/,/", "empty");
    KIT_BAD(&kit_intel, "cpu/event=1", "'/' after the terms");
    KIT_BAD(&kit_intel, "cpv/event=1/", "'cpv' is neither a PMU", "did you mean 'cpu'?");
    KIT_BAD(&kit_intel, "cpu/config3=1/", "config3");
    KIT_BAD(&kit_intel, "cpu/config=-1/", "needs a number from 0");
    KIT_BAD(&kit_intel, "faults/event=1/", "has no term 'event'");
    KIT_BAD(&kit_intel, "faults/period=0/", "at least 1");
    KIT_BAD(&kit_intel, "faults/period/", "period=N");
    KIT_BAD(&kit_intel, "faults/period=1,freq=2/", "only one of the terms");
    KIT_BAD(&kit_intel, "faults/name=/", "1 to 127 bytes");
    KIT_BAD(&kit_intel, "faults/name=a\001/", "cannot be printed");
    KIT_BAD(&kit_intel, "faults/time=0/", "sorts samples by their time");
    KIT_BAD(&kit_intel, "faults/max-stack=99999/", "0xffff");
    KIT_BAD(&kit_intel, "faults/call-graph=dwarf/", "--call-graph dwarf");
    static const char *const refused[] = {"stack-size=8", "branch_type=any",   "inherit",    "no-inherit",
                                          "overwrite",    "percore",           "nr=1",       "driver-config=a",
                                          "aux-output",   "aux-sample-size=1", "metric-id=x"};
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        char text[64], word[64];
        snprintf(text, sizeof(text), "faults/%s/", refused[i]);
        snprintf(word, sizeof(word), "term '%.*s': ", (int)strcspn(refused[i], "="), refused[i]);
        KIT_BAD(&kit_intel, text, word);
    }
}

KIT_MAIN(T(ends), T(terms_of_pmus), T(terms_of_all_events), T(refusals))
