/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/events/event_cache.h"

static uint64_t config(const char *text)
{
    uint64_t number = UINT64_MAX;
    if (event_cache_parse(text, &number) < 0)
        fail_msg("'%s' was refused", text);
    return number;
}

static void names(void **state)
{
    uint64_t number;
    (void)state;
    assert_int_equal(config("L1-dcache-load-misses"), 0x10000);
    assert_int_equal(config("L1-dcache-loads"), 0);
    assert_int_equal(config("l1d"), 0);
    assert_int_equal(config("l1d-misses"), 0x10000);
    assert_int_equal(config("L1-dcache-misses-load"), 0x10000);
    assert_int_equal(config("LLC-stores"), 0x102);
    assert_int_equal(config("llc-write-miss"), 0x10102);
    assert_int_equal(config("dTLB-prefetch-misses"), 0x10203);
    assert_int_equal(config("Data-TLB-speculative-load-Reference"), 0x203);
    assert_int_equal(config("iTLB-loads"), 4);
    assert_int_equal(config("branch-loads"), 5);
    assert_int_equal(config("bpc-load-misses"), 0x10005);
    assert_int_equal(config("node-loads"), 6);
    assert_int_equal(event_cache_parse("iTLB-stores", &number), -EINVAL);
    assert_int_equal(event_cache_parse("L1-icache-stores", &number), -EINVAL);
    for (const char *const *text =
             (const char *const[]){"", "L1", "L1-dcachex", "L1-dcache-", "L1-dcache-loads-", NULL, "-loads"};
         *text; text++)
        assert_int_equal(event_cache_parse(*text, &number), -ENOENT);
    assert_int_equal(event_cache_parse("L1-dcache-loads-loads", &number), -ENOENT);
    assert_int_equal(event_cache_parse("L1-dcache-misses-misses", &number), -ENOENT);
}

/* Each name of the list is another event. */
static void all_names(void **state)
{
    uint64_t before[64];
    char name[64];
    size_t count = 0;
    (void)state;
    for (; event_cache_name(count, name, sizeof(name)); count++) {
        before[count] = config(name);
        for (size_t i = 0; i < count; i++)
            assert_true(before[i] != before[count]);
    }
    assert_int_equal(count, 2 * (3 + 2 + 3 + 3 + 1 + 1 + 3));
}

KIT_MAIN(T(names), T(all_names))
