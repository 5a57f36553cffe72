/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include <errno.h>
#include <unistd.h>

#include "collector/events/event_tracepoint.h"
#include "collector/events/trace_formats.h"

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
    kit_file(root, "events/header_page", "a page");
    kit_file(root, "events/header_event", "an event");
    kit_file(root, "events/sched/sched_switch/format", "name: sched_switch\n");
    kit_file(root, "events/sched/sched_wakeup/format", "name: sched_wakeup\n");
    kit_file(root, "events/kmem/kmalloc/format", "name: kmalloc\n");
    kit_file(root, "events/kmem/without/id", "402\n");
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

static void append_file(struct buffer *to, const char *text)
{
    buffer_u64(to, strlen(text));
    buffer_append(to, text, strlen(text));
}

/* The section of perf.data, byte by byte: each tracepoint once, by system. */
static void descriptions(void **state)
{
    static const unsigned char magic[] = {23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    const unsigned char order_and_long[] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long)};
    struct buffer wanted = BUFFER_INIT, found = BUFFER_INIT;
    (void)state;
    buffer_append(&wanted, magic, sizeof(magic));
    buffer_string(&wanted, "0.6");
    buffer_append(&wanted, order_and_long, 2);
    buffer_u32(&wanted, (uint32_t)sysconf(_SC_PAGESIZE));
    buffer_string(&wanted, "header_page");
    append_file(&wanted, "a page");
    buffer_string(&wanted, "header_event");
    append_file(&wanted, "an event");
    buffer_u32(&wanted, 0); /* of ftrace */
    buffer_u32(&wanted, 2);
    buffer_string(&wanted, "kmem");
    buffer_u32(&wanted, 1);
    append_file(&wanted, "name: kmalloc\n");
    buffer_string(&wanted, "sched");
    buffer_u32(&wanted, 2);
    append_file(&wanted, "name: sched_switch\n");
    append_file(&wanted, "name: sched_wakeup\n");
    buffer_u32(&wanted, 0);
    buffer_u32(&wanted, 0);
    buffer_u64(&wanted, 0);
    event_list_release(&kit_list);
    assert_int_equal(event_list_parse(&kit_list, &sources, "faults"), 0);
    assert_false(trace_formats_are_needed(&kit_list));
    assert_int_equal(event_list_parse(&kit_list, &sources, "sched:*:u,2:400,sched:sched_switch:k"), 0);
    assert_true(trace_formats_are_needed(&kit_list));
    assert_int_equal(trace_formats_append(&sources, &kit_list, &found), 0);
    assert_int_equal(found.size, wanted.size);
    assert_memory_equal(found.data, wanted.data, wanted.size);
    /* What cannot be described leaves nothing behind. */
    buffer_clear(&found);
    buffer_u32(&found, 7);
    assert_int_equal(event_list_parse(&kit_list, &sources, "2:401"), 0);
    assert_int_equal(trace_formats_append(&sources, &kit_list, &found), -ENOENT);
    event_list_release(&kit_list);
    assert_int_equal(event_list_parse(&kit_list, &sources, "kmem:without"), 0);
    assert_int_equal(trace_formats_append(&sources, &kit_list, &found), -ENOENT);
    assert_int_equal(found.size, 4);
    buffer_release(&found);
    buffer_release(&wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(names), T(refusals), T(descriptions)};
    report_program("test");
    const int failed = cmocka_run_group_tests(tests, make, unmake);
    event_list_release(&kit_list);
    return failed;
}
