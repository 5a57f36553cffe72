/* SPDX-License-Identifier: MIT */
/* analyze/model: samples that read a group ('{a,b}:S'): the total and the change of each of its events. */
#include "profile_kit.h"

#define GROUP (PERF_FORMAT_GROUP | PERF_FORMAT_ID)
#define TIMES (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING)
#define MOST  256 /* of the text below */

struct member {
    uint64_t value, id;
};

static void begin_group(struct writer *writer, uint64_t format, bool inherit)
{
    begin(writer, 10, 10);
    for (unsigned i = 0; i < 2; i++) {
        writer->attrs[i].sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                       PERF_SAMPLE_CPU | PERF_SAMPLE_READ;
        writer->attrs[i].read_format = format;
        writer->attrs[i].inherit = inherit;
    }
    writer_comm(writer, "work", true);
}

static void put_sample(struct writer *writer, const struct member *members, uint64_t count)
{
    const uint64_t format = writer->attrs[0].read_format;
    struct buffer *data = &writer->data;
    writer->time += 1000;
    writer_begin(writer, PERF_RECORD_SAMPLE, USER);
    writer_u64(writer, data, 100);
    writer_u64(writer, data, 0x401000);
    writer_u32(writer, data, writer->pid);
    writer_u32(writer, data, writer->tid);
    writer_u64(writer, data, writer->time);
    writer_u64(writer, data, 0); /* CPU */
    writer_u64(writer, data, format & PERF_FORMAT_GROUP ? count : members->value);
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        writer_u64(writer, data, 2000);
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        writer_u64(writer, data, 1000);
    for (uint64_t i = 0; i < count; i++) {
        if (format & PERF_FORMAT_GROUP)
            writer_u64(writer, data, members[i].value);
        if (format & PERF_FORMAT_ID)
            writer_u64(writer, data, members[i].id);
    }
    writer_end(writer);
}

struct text {
    const struct profile *profile;
    char text[MOST];
};

/* "TID EVENT PERIOD: EVENT=TOTAL+DELTA ...;" of each sample, events by their first letters. */
static int add_sample(void *context, const struct profile_sample *sample)
{
    struct text *text = context;
    size_t used = strlen(text->text);
    used += (size_t)snprintf(text->text + used, MOST - used, "%d %c %llu:", sample->task->tid,
                             text->profile->events[sample->event].name[0], (unsigned long long)sample->period);
    for (uint32_t i = 0; i < sample->value_count; i++)
        used += (size_t)snprintf(
            text->text + used, MOST - used, " %c=%llu+%llu", text->profile->events[sample->values[i].event].name[0],
            (unsigned long long)sample->values[i].total, (unsigned long long)sample->values[i].delta);
    snprintf(text->text + used, MOST - used, ";");
    return 0;
}

/* Of each event whether it is read, and its weight. */
static void expect(struct writer *writer, const char *samples, uint64_t clock, uint64_t faults, bool grouped)
{
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile = load_writer(writer, &bytes);
    struct text text = {.profile = profile, .text = ""};
    assert_int_equal(profile->event_count, 2);
    assert_int_equal(profile->events[0].weight, clock);
    assert_int_equal(profile->events[1].weight, faults);
    assert_int_equal(profile->events[0].grouped, grouped);
    assert_int_equal(profile->events[1].grouped, grouped && faults);
    assert_int_equal(profile_samples(profile, add_sample, &text), 0);
    assert_string_equal(text.text, samples);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(writer);
}

/* The first value counts from 0. What did not change is no sample, but its total is still shown. */
static void test_changes(void **state)
{
    (void)state;
    for (unsigned times = 0; times < 2; times++) {
        struct writer writer;
        begin_group(&writer, GROUP | (times ? TIMES : 0), false);
        put_sample(&writer, (const struct member[]){{1000, 100}, {3, 101}}, 2);
        put_sample(&writer, (const struct member[]){{2500, 100}, {3, 101}}, 2);
        put_sample(&writer, (const struct member[]){{4000, 100}, {10, 101}}, 2);
        expect(&writer,
               "10 t 1000: t=1000+1000 p=3+3;10 p 3: t=1000+1000 p=3+3;10 t 1500: t=2500+1500 p=3+0;"
               "10 t 1500: t=4000+1500 p=10+7;10 p 7: t=4000+1500 p=10+7;",
               4000, 10, true);
    }
}

/* Inherited events count in each thread from 0; events that are not inherited have one count, whoever is sampled. */
static void test_threads(void **state)
{
    (void)state;
    for (unsigned inherit = 0; inherit < 2; inherit++) {
        struct writer writer;
        begin_group(&writer, GROUP, inherit);
        put_sample(&writer, (const struct member[]){{1000, 100}, {3, 101}}, 2);
        writer.tid = 11;
        put_sample(&writer, (const struct member[]){{1200, 100}, {3, 101}}, 2);
        if (inherit)
            expect(&writer,
                   "10 t 1000: t=1000+1000 p=3+3;10 p 3: t=1000+1000 p=3+3;"
                   "11 t 1200: t=1200+1200 p=3+3;11 p 3: t=1200+1200 p=3+3;",
                   2200, 6, true);
        else
            expect(&writer, "10 t 1000: t=1000+1000 p=3+3;10 p 3: t=1000+1000 p=3+3;11 t 200: t=1200+200 p=3+0;", 1200,
                   3, true);
    }
}

/* A count that became smaller was reset. An id that the file does not know has no event. */
static void test_strange_values(void **state)
{
    (void)state;
    struct writer writer;
    begin_group(&writer, GROUP, false);
    put_sample(&writer, (const struct member[]){{1000, 100}, {77, 999}, {5, 101}}, 3);
    put_sample(&writer, (const struct member[]){{400, 100}, {UINT64_MAX, 999}, {6, 101}}, 3);
    put_sample(&writer, NULL, 0);
    expect(&writer,
           "10 t 1000: t=1000+1000 p=5+5;10 p 5: t=1000+1000 p=5+5;10 t 400: t=400+400 p=6+1;10 p 1: t=400+400 p=6+1;",
           1400, 6, true);
}

/* One event that reads itself; and without ids nobody knows which event was read. */
static void test_one_event(void **state)
{
    (void)state;
    struct writer writer;
    begin_group(&writer, PERF_FORMAT_ID, false);
    put_sample(&writer, (const struct member[]){{30, 100}}, 1);
    put_sample(&writer, (const struct member[]){{50, 100}}, 1);
    expect(&writer, "10 t 30: t=30+30;10 t 20: t=50+20;", 50, 0, true);
    begin_group(&writer, 0, false);
    put_sample(&writer, (const struct member[]){{30, 100}}, 1);
    expect(&writer, "10 t 1000:;", 1000, 0, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_strange_values),
        cmocka_unit_test(test_one_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
