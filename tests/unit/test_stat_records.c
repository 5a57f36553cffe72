/* SPDX-License-Identifier: MIT */
/* Files of perf stat record, written by hand: what becomes of their counts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/model/loader.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

static struct writer writer;

static void start(bool swap, bool pipe)
{
    writer_init(&writer, swap, pipe);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0, "task-clock");
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults");
}

static void threads(unsigned count, ...)
{
    va_list list;
    va_start(list, count);
    writer_begin(&writer, PERFDATA_RECORD_THREAD_MAP, 0);
    writer_u64(&writer, &writer.data, count);
    for (unsigned i = 0; i < count; i++) {
        writer_u64(&writer, &writer.data, (uint64_t)va_arg(list, int));
        char comm[16] = "";
        snprintf(comm, sizeof(comm), "%s", va_arg(list, const char *));
        buffer_append(&writer.data, comm, sizeof(comm));
    }
    writer_end(&writer);
    va_end(list);
}

static void config(uint64_t tag, uint64_t value)
{
    writer_begin(&writer, PERFDATA_RECORD_STAT_CONFIG, 0);
    writer_u64(&writer, &writer.data, 1);
    writer_u64(&writer, &writer.data, tag);
    writer_u64(&writer, &writer.data, value);
    writer_end(&writer);
}

static void count(uint64_t id, uint32_t thread, uint64_t value, uint64_t enabled, uint64_t running)
{
    writer_begin(&writer, PERFDATA_RECORD_STAT, 0);
    writer_u64(&writer, &writer.data, id);
    writer_u32(&writer, &writer.data, UINT32_MAX);
    writer_u32(&writer, &writer.data, thread);
    writer_u64(&writer, &writer.data, value);
    writer_u64(&writer, &writer.data, enabled);
    writer_u64(&writer, &writer.data, running);
    writer_end(&writer);
}

static void round_at(uint64_t type, uint64_t time)
{
    writer_begin(&writer, PERFDATA_RECORD_STAT_ROUND, 0);
    writer_u64(&writer, &writer.data, type);
    writer_u64(&writer, &writer.data, time);
    writer_end(&writer);
}

static struct profile *load(struct buffer *bytes)
{
    const struct profile_options options = {.rounds = true, .counts_only = true};
    struct profile *profile = NULL;
    writer_finish(&writer, bytes);
    assert_int_equal(profile_load_memory(bytes->data, bytes->size, &options, &profile), 0);
    return profile;
}

static void finish(struct profile *profile, struct buffer *bytes)
{
    profile_free(profile);
    buffer_release(bytes);
    writer_release(&writer);
}

static const struct profile_count *count_of(const struct profile_task *task, uint32_t event)
{
    for (uint32_t i = 0; i < task->count_count; i++)
        if (task->counts[i].event == event)
            return &task->counts[i];
    fail_msg("no count of event %u", event);
    return NULL;
}

static void test_counts(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct buffer bytes = BUFFER_INIT;
        start(i & 1, i & 2);
        threads(2, 70, "", 71, "worker");
        config(2, 1);
        count(100, 0, 5000, 5000, 5000);
        count(101, 0, 60, 5000, 2500);
        count(100, 1, 7, 8, 9);
        round_at(1, 123456);
        struct profile *profile = load(&bytes);
        assert_int_equal(profile->task_count, 2);
        const struct profile_task *task = &profile->tasks[0];
        assert_int_equal(task->pid, 70);
        assert_string_equal(task->comm, ":70");
        assert_int_equal(task->end_ns, 123456);
        assert_int_equal(count_of(task, 0)->value, 5000);
        assert_int_equal(count_of(task, 1)->value, 60);
        assert_int_equal(count_of(task, 1)->scaled, 120);
        task = &profile->tasks[1];
        assert_int_equal(task->tid, 71);
        assert_string_equal(task->comm, "worker");
        assert_int_equal(count_of(task, 0)->value, 7);
        assert_int_equal(profile->round_count, 0);
        finish(profile, &bytes);
    }
}

/* The counts of -I are since the start; rounds have what was counted in each. */
static void test_intervals(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT;
    start(false, false);
    threads(1, -1, "");
    count(100, 0, 10, 10, 10);
    count(101, 0, 3, 10, 10);
    round_at(0, 1000);
    count(100, 0, 25, 25, 25);
    count(101, 0, 3, 25, 25);
    round_at(0, 2000);
    struct profile *profile = load(&bytes);
    assert_int_equal(profile->task_count, 1);
    const struct profile_task *task = &profile->tasks[0];
    assert_string_equal(task->comm, "system wide");
    assert_int_equal(count_of(task, 0)->value, 25);
    assert_int_equal(count_of(task, 1)->value, 3);
    assert_int_equal(profile->round_count, 2);
    assert_int_equal(profile->rounds[0], 1000);
    assert_int_equal(profile->rounds[1], 2000);
    assert_int_equal(task->round_count, 4);
    static const uint64_t values[] = {10, 3, 15, 0};
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(task->rounds[i].value, values[i]);
    finish(profile, &bytes);
}

/* perf stat -a: an id for each CPU. */
static void test_processors(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT;
    start(false, false);
    threads(1, -1, "");
    count(100, 0, 10, 10, 10);
    count(100, 0, 11, 11, 11); /* the same id: its newest count */
    count(101, 0, 4, 10, 10);
    round_at(1, 1000);
    struct profile *profile = load(&bytes);
    assert_int_equal(count_of(&profile->tasks[0], 0)->value, 11);
    finish(profile, &bytes);
}

static void test_unscaled(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT;
    start(false, false);
    threads(1, 70, "a");
    config(2, 0);
    count(101, 0, 60, 5000, 2500);
    struct profile *profile = load(&bytes);
    assert_int_equal(count_of(&profile->tasks[0], 1)->scaled, 60);
    finish(profile, &bytes);
}

static void short_record(uint32_t type, unsigned words)
{
    writer_begin(&writer, type, 0);
    for (unsigned i = 0; i < words; i++)
        writer_u64(&writer, &writer.data, UINT64_MAX);
    writer_end(&writer);
}

static void test_hostile(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT;
    start(false, false);
    count(100, 5, 1, 1, 1); /* no map yet */
    threads(1, 70, "sixteen bytes no");
    count(100, UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    count(77, 0, 1, 1, 1); /* no such event */
    for (unsigned words = 0; words < 5; words++)
        for (uint32_t type = PERFDATA_RECORD_THREAD_MAP; type <= PERFDATA_RECORD_STAT_ROUND; type++)
            short_record(type, words);
    round_at(0, 0);
    round_at(0, UINT64_MAX);
    round_at(UINT64_MAX, 5);
    struct profile *profile = load(&bytes);
    assert_int_equal(profile->task_count, 1);
    assert_int_equal(count_of(&profile->tasks[0], 0)->value, UINT64_MAX);
    finish(profile, &bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),   cmocka_unit_test(test_intervals), cmocka_unit_test(test_processors),
        cmocka_unit_test(test_unscaled), cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
