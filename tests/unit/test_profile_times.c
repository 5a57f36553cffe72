/* SPDX-License-Identifier: MIT */
/* analyze/model: when a task began, by which clock, and in which order. */
#include "profile_kit.h"

#include <time.h>

/* perf tells of what was there before with time 0: the exec behind it gives the exec generation its name and begin. */
static void test_before_the_begin(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer.time = 0;
    writer_comm(&writer, "perf", false);
    writer.time = 1000;
    writer_comm(&writer, "sh", true);
    writer.time = 1500;
    writer_comm(&writer, "renamed", false);
    writer.time = 2000;
    writer_comm(&writer, "ls", true);
    /* And of one that goes on without an exec. */
    writer.pid = writer.tid = 20;
    writer.time = 0;
    writer_comm(&writer, "old", false);
    writer.time = 2500;
    writer_sample(&writer, 0, USER, 0x100, 1000, NULL, 0);
    struct profile *profile = load_writer(&writer, &bytes);
    const struct profile_task *task = task_of(profile, 10), *old = task_of(profile, 20);
    assert_int_equal(task->generation_count, 2);
    assert_string_equal(task->generations[0].comm, "renamed");
    assert_int_equal(task->start_ns, 1000);
    assert_int_equal(task->generations[0].start_ns, 1000);
    assert_string_equal(task->generations[1].comm, "ls");
    assert_int_equal(task->generations[1].start_ns, 2000);
    assert_int_equal(old->generation_count, 1);
    assert_string_equal(old->comm, "old");
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* Numbers of processes begin again at some time: a task keeps its samples wherever its start puts it. */
static void test_tasks_by_start(void **state)
{
    (void)state;
    static const uint32_t pids[] = {30, 400, 7, 25, 8};
    static const uint64_t starts[] = {5000, 1000, 4000, 2000, 3000};
    static const uint32_t in_order[] = {400, 25, 8, 7, 30};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 0, 0);
    /* Files of several CPUs have records of later times in front. */
    for (unsigned i = 0; i < 5; i++) {
        writer.pid = writer.tid = pids[i];
        writer.time = starts[i];
        writer_comm(&writer, "task", true);
        for (unsigned j = 0; j <= i; j++)
            writer_sample(&writer, 0, USER, 0x100 + pids[i], 1000 + pids[i], NULL, 0);
    }
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->task_count, 5);
    assert_int_equal(profile->entry_count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(profile->tasks[i].pid, in_order[i]);
    for (unsigned i = 0; i < 5; i++) {
        const struct profile_task *task = task_of(profile, (int32_t)pids[i]);
        assert_int_equal(task->start_ns, starts[i]);
        assert_int_equal(task->samples, i + 1);
        assert_int_equal(task->weight, (i + 1) * (1000 + pids[i]));
    }
    for (uint32_t i = 0; i < 5; i++) {
        const struct profile_entry *entry = &profile->entries[i];
        const struct profile_frame *frame = &profile->frames[profile->stacks[entry->stack].frames[0]];
        assert_int_equal(frame->ip - 0x100, profile->tasks[entry->task].pid);
    }
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_clock(void **state)
{
    (void)state;
    static const struct {
        bool chosen;
        int id;
        const char *name;
    } clocks[] = {
        {false, CLOCK_MONOTONIC, "perf"},
        {true, CLOCK_MONOTONIC, "monotonic"},
        {true, CLOCK_MONOTONIC_RAW, "monotonic_raw"},
        {true, CLOCK_REALTIME, "realtime"},
        {true, CLOCK_BOOTTIME, "boottime"},
        {true, CLOCK_TAI, "tai"},
        {true, 77, "unknown"},
    };
    for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        begin(&writer, 10, 10);
        for (unsigned j = 0; j < writer.attr_count; j++) {
            writer.attrs[j].use_clockid = clocks[i].chosen;
            writer.attrs[j].clockid = clocks[i].id;
        }
        writer_sample(&writer, 0, USER, 0x100, 1000, NULL, 0);
        struct profile *profile = load_writer(&writer, &bytes);
        assert_string_equal(profile->session.clock, clocks[i].name);
        profile_free(profile);
        buffer_release(&bytes);
        writer_release(&writer);
    }
}

/* Samples that do not say whose they are belong to one task, which is none of the machine's. */
static void test_samples_of_nobody(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    for (unsigned i = 0; i < writer.attr_count; i++)
        writer.attrs[i].sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
    for (unsigned i = 0; i < 2; i++) {
        writer_begin(&writer, PERF_RECORD_SAMPLE, USER);
        writer_u64(&writer, &writer.data, writer.ids[0]);
        writer_u64(&writer, &writer.data, 0x100);
        writer_u64(&writer, &writer.data, 1000);
        writer_end(&writer);
    }
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->task_count, 1);
    assert_int_equal(profile->tasks[0].pid, -1);
    assert_int_equal(profile->tasks[0].tid, -1);
    assert_int_equal(profile->tasks[0].samples, 2);
    assert_string_not_equal(profile->tasks[0].comm, "swapper");
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* perf's CLOCK_DATA: what its clock showed at which time of the day. Cut off it says nothing. */
static void test_time_of_day(void **state)
{
    (void)state;
    for (unsigned cut = 0; cut < 2; cut++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        begin(&writer, 10, 10);
        struct buffer *to = &writer.features[PERFDATA_CLOCK_DATA];
        writer_u32(&writer, to, 1);
        writer_u32(&writer, to, CLOCK_MONOTONIC);
        writer_u64(&writer, to, 1700000000000000000);
        if (!cut)
            writer_u64(&writer, to, 12345);
        writer_sample(&writer, 0, USER, 0x100, 1000, NULL, 0);
        struct profile *profile = load_writer(&writer, &bytes);
        assert_int_equal(profile->session.start_realtime_ns, cut ? 0 : 1700000000000000000);
        profile_free(profile);
        buffer_release(&bytes);
        writer_release(&writer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_before_the_begin), cmocka_unit_test(test_tasks_by_start),    cmocka_unit_test(test_clock),
        cmocka_unit_test(test_time_of_day),      cmocka_unit_test(test_samples_of_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
