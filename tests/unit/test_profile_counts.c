/* SPDX-License-Identifier: MIT */
/* analyze/model: what tasks counted, as records of the kernel tell it and as items of ours do, up to their limits. */
#include "profile_kit.h"

#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)

enum { FORMAT_LOST = 1 << 4, MOST_GENERATIONS = 4096 };

struct member {
    uint64_t value, id;
};

static void begin_readings(struct writer *writer, uint64_t format)
{
    begin(writer, 10, 10);
    writer->attrs[0].read_format = writer->attrs[1].read_format = format;
}

/* COUNT: as the record says; those that are there are GIVEN. */
static void put_reading(struct writer *writer, const struct member *members, uint64_t count, uint64_t given)
{
    uint64_t format = writer->attrs[0].read_format;
    struct buffer *data = &writer->data;
    writer_begin(writer, PERF_RECORD_READ, 0);
    writer_u32(writer, data, writer->pid);
    writer_u32(writer, data, writer->tid);
    writer_u64(writer, data, format & PERF_FORMAT_GROUP ? count : members->value);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        writer_u64(writer, data, 2000);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        writer_u64(writer, data, 1000);
    for (uint64_t i = 0; i < given; i++) {
        if (format & PERF_FORMAT_GROUP)
            writer_u64(writer, data, members[i].value);
        if (format & PERF_FORMAT_ID)
            writer_u64(writer, data, members[i].id);
        if (format & FORMAT_LOST)
            writer_u64(writer, data, 77);
    }
    writer_end(writer);
}

static void expect_count(const struct profile *profile, const char *event, uint64_t value, uint64_t running)
{
    const struct profile_count *count = count_of(profile, task_of(profile, 10), event, UINT32_MAX);
    assert_non_null(count);
    assert_int_equal(count->value, value);
    assert_int_equal(count->scaled, value);
    assert_int_equal(count->running_ns, running);
    assert_int_equal(count->enabled_ns, running);
}

/* Every form of a record READ: alone or of a group, with and without times, ids, and what was lost. */
static void test_forms_of_readings(void **state)
{
    (void)state;
    static const struct member both[] = {{50, 100}, {3, 101}};
    for (uint64_t format = 0; format < 32; format++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        bool group = format & PERF_FORMAT_GROUP;
        uint64_t running = format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1000 : 0;
        begin_readings(&writer, format);
        put_reading(&writer, both, 2, group ? 2 : 1);
        if (!group)
            put_reading(&writer, both + 1, 1, 1);
        struct profile *profile = load_writer(&writer, &bytes);
        if (format & PERF_FORMAT_ID) {
            expect_count(profile, "task-clock", 50, running);
            expect_count(profile, "page-faults", 3, running);
        } else { /* all of the event that the record is of: the latest counts */
            expect_count(profile, "task-clock", 3, running);
            assert_null(count_of(profile, task_of(profile, 10), "page-faults", UINT32_MAX));
        }
        profile_free(profile);
        buffer_release(&bytes);
        writer_release(&writer);
    }
}

/* A record that ends in the middle of a member: those before it count. One without members: nothing does. */
static void test_readings_cut_off(void **state)
{
    (void)state;
    static const struct member three[] = {{50, 100}, {3, 101}, {9, 100}};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_readings(&writer, PERF_FORMAT_GROUP | PERF_FORMAT_ID | FORMAT_LOST | TIMES);
    put_reading(&writer, three, UINT64_MAX, 2);
    put_reading(&writer, three + 2, 0, 0);
    writer_begin(&writer, PERF_RECORD_READ, 0); /* not even its number of members */
    writer_u32(&writer, &writer.data, 20);
    writer_u32(&writer, &writer.data, 20);
    writer_end(&writer);
    struct profile *profile = load_writer(&writer, &bytes);
    expect_count(profile, "task-clock", 50, 1000);
    expect_count(profile, "page-faults", 3, 1000);
    assert_int_equal(task_of(profile, 10)->count_count, 2);
    for (uint32_t i = 0; i < profile->task_count; i++)
        assert_int_not_equal(profile->tasks[i].pid, 20);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* The events of an id that no file knows are passed over, those behind it are not. */
static void test_readings_of_unknown_ids(void **state)
{
    (void)state;
    static const struct member members[] = {{50, 4711}, {3, 101}};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_readings(&writer, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
    put_reading(&writer, members, 2, 2);
    struct profile *profile = load_writer(&writer, &bytes);
    expect_count(profile, "page-faults", 3, 0);
    assert_int_equal(task_of(profile, 10)->count_count, 1);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* perf's event of each CPU has an id of its own: they are added up, each with what it was last. */
static void test_readings_of_cpus(void **state)
{
    (void)state;
    static const struct member members[] = {{50, 100}, {3, 101}, {8, 100}};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_readings(&writer, PERF_FORMAT_ID | TIMES);
    writer.attrs[1] = writer.attrs[0];
    writer.names[1] = writer.names[0];
    for (unsigned i = 0; i < 3; i++)
        put_reading(&writer, &members[i], 1, 1);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->event_count, 1);
    assert_int_equal(task_of(profile, 10)->count_count, 1);
    expect_count(profile, "task-clock", 11, 2000);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void begin_items(struct writer *writer)
{
    begin(writer, 10, 10);
    writer_session(writer, 0xaa, 1000);
    writer_task(writer, ENDED, 0, 500, 5000, 0);
}

/*
 * More exec generations than are kept apart: what is of those beyond is of the last one, and nothing is of one that is
 * not there.
 */
static void test_most_generations(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_items(&writer);
    for (uint32_t i = 0; i < MOST_GENERATIONS; i++)
        writer_generation(&writer, i, 600 + i, "comm", i == MOST_GENERATIONS - 1 ? "/bin/last" : "/bin/app", NULL);
    writer_count(&writer, 0, MOST_GENERATIONS, 41, 1, 1, "task-clock");
    writer_count(&writer, 1, MOST_GENERATIONS + 5, 42, 1, 1, "page-faults");
    struct profile *profile = load_writer(&writer, &bytes);
    const struct profile_task *task = task_of(profile, 10);
    assert_int_equal(task->generation_count, MOST_GENERATIONS);
    assert_string_equal(task->exec, "/bin/last");
    assert_int_equal(count_of(profile, task, "task-clock", MOST_GENERATIONS - 1)->value, 41);
    assert_int_equal(count_of(profile, task, "page-faults", MOST_GENERATIONS - 1)->value, 42);
    for (uint32_t i = 0; i < task->count_count; i++)
        assert_true(task->counts[i].generation == UINT32_MAX || task->counts[i].generation < MOST_GENERATIONS);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_of_readings),       cmocka_unit_test(test_readings_cut_off),
        cmocka_unit_test(test_readings_of_unknown_ids), cmocka_unit_test(test_readings_of_cpus),
        cmocka_unit_test(test_most_generations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
