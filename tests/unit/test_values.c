/* SPDX-License-Identifier: MIT */
/* The counts of a group in its leader's samples, from the kernel's form to that of files. */
#include "check.h"

#include "collector/records/values.h"

/* Event 1 leads 2; 0 is alone. */
enum { EVENTS = 3, LEADER = 1, MEMBER = 2 };
static const uint64_t ids[CONFIG_EVENTS] = {100, 101, 102};
static struct event_config config;
static struct records_layout layout;

static void set_up(bool lost, bool period)
{
    memset(&config, 0, sizeof(config));
    config.count = EVENTS;
    config.sampling = 2;
    for (unsigned i = 0; i < EVENTS; i++) {
        struct perf_event_attr *attr = &config.events[i].attr;
        attr->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                            (period ? PERF_SAMPLE_PERIOD : 0);
        attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
                            (lost ? PERF_FORMAT_LOST : 0);
        attr->sample_id_all = 1;
    }
    config.events[LEADER].values = true;
    config.events[LEADER].attr.sample_type |= PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN;
    config.events[LEADER].attr.read_format |= PERF_FORMAT_GROUP;
    config.events[LEADER].attr.sample_period = 7;
    records_layout_init(&layout, &config);
}

/* A sample of the leader: its words without the header, ended by END. Its chain has one entry, 0xc. */
struct sample {
    _Alignas(8) uint64_t words[40];
};
#define END   UINT64_C(0xeeee)
#define CHAIN 1, 0xc

static struct perf_event_header *header_of(struct sample *sample)
{
    return (struct perf_event_header *)(void *)sample->words;
}

static struct sample make(uint32_t type, const uint64_t *words)
{
    struct sample ret = {0};
    size_t count = 1;
    for (; words[count - 1] != END; count++)
        ret.words[count] = words[count - 1];
    *header_of(&ret) = (struct perf_event_header){.type = type, .size = (uint16_t)(8 * count)};
    return ret;
}
#define MAKE(...) make(PERF_RECORD_SAMPLE, (const uint64_t[]){__VA_ARGS__, END})

static void check_words(struct sample *sample, const uint64_t *words)
{
    size_t count = 0;
    for (; words[count] != END; count++)
        if (sample->words[count + 1] != words[count])
            fail_msg("word %zu is %#llx, not %#llx", count, (unsigned long long)sample->words[count + 1],
                     (unsigned long long)words[count]);
    assert_int_equal(header_of(sample)->size, 8 * (count + 1));
}
#define CHECK(sample, ...) check_words(sample, (const uint64_t[]){__VA_ARGS__, END})

static void sizes(void **state)
{
    (void)state;
    set_up(true, true);
    assert_int_equal(layout.read_format & PERF_FORMAT_GROUP, 0);
    struct sample sample = MAKE(101, 1, 2, 3, 7, 2, 10, 9, 50, 101, 0, 60, 102, 0, CHAIN);
    assert_int_equal(values_size(&layout, LEADER, header_of(&sample)), 8 * 9);
    assert_int_equal(values_size(&layout, 0, header_of(&sample)), 0);
    /* A number of events that the sample cannot have. */
    for (uint64_t count = 3; count; count = count == 3 ? UINT64_MAX : count == UINT64_MAX ? UINT64_C(1) << 61 : 0) {
        sample.words[6] = count;
        assert_int_equal(values_size(&layout, LEADER, header_of(&sample)), 0);
    }
    header_of(&sample)->size = 8 * 8;
    assert_int_equal(values_size(&layout, LEADER, header_of(&sample)), 0);
    set_up(false, true);
    sample = MAKE(101, 1, 2, 3, 7, 2, 10, 9, 50, 101, 60, 102, CHAIN);
    assert_int_equal(values_size(&layout, LEADER, header_of(&sample)), 8 * 7);
}

/* A record with room for more events than there can be is damaged: buffers have room for a group, not for that. */
static void too_many_events(void **state)
{
    static _Alignas(8) uint64_t words[16 + 3 * (CONFIG_EVENTS + 1)];
    struct perf_event_header *header = (void *)words;
    (void)state;
    for (unsigned lost = 0; lost < 2; lost++)
        for (unsigned count = CONFIG_EVENTS; count <= CONFIG_EVENTS + 1; count++) {
            const bool fits = count <= CONFIG_EVENTS;
            const size_t size = 8 * (3 + (2 + lost) * count);
            set_up(lost, true);
            *header = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = sizeof(words)};
            words[6] = count;
            assert_int_equal(values_size(&layout, LEADER, header), fits ? size : 0);
            *header = (struct perf_event_header){.type = PERF_RECORD_READ, .size = sizeof(words)};
            words[2] = count;
            values_shorten_read(&layout, LEADER, header);
            assert_int_equal(header->size, fits ? sizeof(words) - size + 8 * (4 + lost) : sizeof(words));
        }
}

/* What the kernel wrote of a task's own events stays, less what was counted before the file. */
static void own_values(void **state)
{
    static const uint64_t base[CONFIG_EVENTS] = {1, 45, 61};
    struct values values = {0};
    (void)state;
    set_up(true, true);
    struct sample sample = MAKE(101, 1, 2, 3, 7, 2, 10, 9, 50, 101, 4, 60, 102, 5, CHAIN);
    assert_true(values_settle(&values, &layout, &config, ids, NULL, false, sample.words, header_of(&sample)->size));
    CHECK(&sample, 101, 1, 2, 3, 7, 2, 10, 9, 50, 101, 4, 60, 102, 5, CHAIN);
    assert_true(values_settle(&values, &layout, &config, ids, base, false, sample.words, header_of(&sample)->size));
    CHECK(&sample, 101, 1, 2, 3, 7, 2, 10, 9, 5, 101, 4, 0, 102, 5, CHAIN);
    assert_null(values.totals);
}

static void settle(struct values *values, bool later, struct sample *sample)
{
    assert_true(values_settle(values, &layout, &config, ids, NULL, later, sample->words, header_of(sample)->size));
}

/* Without a snapshot at the exec, the file of a later program takes it from its first sample, and keeps it. */
static void own_values_of_a_later_program(void **state)
{
    static const uint64_t late[CONFIG_EVENTS] = {0, 4000, 3000};
    struct values values = {0};
    (void)state;
    set_up(true, true);
    for (unsigned i = 0; i < 3; i++) {
        struct sample sample = MAKE(101, 1, 2, 3, 7, 2, 10, 9, 5000 + 7 * i, 101, 4, 3000 + 3 * i, 102, 5, CHAIN);
        if (i < 2)
            settle(&values, true, &sample);
        else /* it comes when the file has samples */
            assert_true(
                values_settle(&values, &layout, &config, ids, late, true, sample.words, header_of(&sample)->size));
        CHECK(&sample, 101, 1, 2, 3, 7, 2, 10, 9, 7 + 7 * i, 101, 4, 3 * i, 102, 5, CHAIN);
    }
    values_release(&values);
    set_up(false, false); /* the period is that of the event */
    struct sample sample = MAKE(101, 1, 2, 3, 2, 10, 9, 5000, 101, 3000, 102, CHAIN);
    settle(&values, true, &sample);
    CHECK(&sample, 101, 1, 2, 3, 2, 10, 9, 7, 101, 0, 102, CHAIN);
    values_release(&values);
    /* A period that began before the event. */
    sample = MAKE(101, 1, 2, 3, 2, 10, 9, 5, 101, 3000, 102, CHAIN);
    settle(&values, true, &sample);
    CHECK(&sample, 101, 1, 2, 3, 2, 10, 9, 5, 101, 0, 102, CHAIN);
    values_release(&values);
}

/* Each CPU has its own counters: the file adds up what each counted since its last sample. */
static void values_of_cpus(void **state)
{
    static const uint64_t cpus[2][CONFIG_EVENTS] = {{100, 101, 102}, {200, 201, 202}};
    static const struct {
        unsigned cpu;
        uint64_t leader, member, leader_sum, member_sum;
    } steps[] = {{0, 7, 3, 7, 3}, {1, 14, 1, 21, 4}, {0, 10, 9, 24, 10}, {1, 20, 1, 30, 10}, {1, 5, 2, 35, 11}};
    struct values values = {0};
    (void)state;
    set_up(true, true);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const uint64_t *here = cpus[steps[i].cpu];
        struct sample sample = MAKE(here[1], 1, 2, 3, 7, 2, 10, 9, steps[i].leader, here[1], 0, steps[i].member,
                                    here[2], 0, CHAIN);
        values_place(&layout, LEADER, here, steps[i].cpu, header_of(&sample));
        records_set_id(&layout, 101, header_of(&sample));
        assert_int_equal(values_size(&layout, LEADER, header_of(&sample)), 8 * 9);
        settle(&values, false, &sample);
        CHECK(&sample, 101, 1, 2, 3, 7, 2, 10, 9, steps[i].leader_sum, 101, 0, steps[i].member_sum, 102, 0, CHAIN);
    }
    values_release(&values);
    /* In the file of a later program, what was counted before its first sample on a CPU is unknown. */
    for (unsigned i = 0; i < 2; i++) {
        struct sample sample = MAKE(101, 1, 2, 3, 7, 2, 10, 9, 1000 + 10 * i, 101, 0, 600 + 3 * i, 102, 0, CHAIN);
        values_place(&layout, LEADER, cpus[0], 0, header_of(&sample));
        settle(&values, true, &sample);
        CHECK(&sample, 101, 1, 2, 3, 7, 2, 10, 9, 7 + 10 * i, 101, 0, 3 * i, 102, 0, CHAIN);
    }
    values_release(&values);
}

/* A sample that comes without values: the leader's is the sum of the periods. */
static void no_values(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const bool lost = i & 1, period = i & 2;
        struct values values = {0};
        set_up(lost, period);
        for (uint64_t sum = 7; sum <= 21; sum += 7) {
            struct sample sample = period ? MAKE(101, 1, 2, 3, 7, CHAIN) : MAKE(101, 1, 2, 3, CHAIN);
            assert_true(values_add_none(&layout, LEADER, header_of(&sample)));
            settle(&values, sum == 7, &sample);
            if (lost && period)
                CHECK(&sample, 101, 1, 2, 3, 7, 1, 0, 0, sum, 101, 0, CHAIN);
            else if (lost)
                CHECK(&sample, 101, 1, 2, 3, 1, 0, 0, sum, 101, 0, CHAIN);
            else if (period)
                CHECK(&sample, 101, 1, 2, 3, 7, 1, 0, 0, sum, 101, CHAIN);
            else
                CHECK(&sample, 101, 1, 2, 3, 1, 0, 0, sum, 101, CHAIN);
        }
        values_release(&values);
    }
    set_up(true, true);
    struct sample other = MAKE(100, 1, 2, 3, 7);
    assert_true(values_add_none(&layout, 0, header_of(&other)));
    CHECK(&other, 100, 1, 2, 3, 7);
    static _Alignas(8) unsigned char large[UINT16_MAX];
    struct perf_event_header *header = (void *)large;
    *header = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = 65528};
    assert_false(values_add_none(&layout, LEADER, header));
    header->size = 16;
    assert_false(values_add_none(&layout, LEADER, header));
}

/* At the end of a task, the kernel writes the counts of the whole group for the leader. */
static void read_records(void **state)
{
    (void)state;
    for (unsigned lost = 0; lost < 2; lost++) {
        set_up(lost, true);
        struct sample read = lost ? make(PERF_RECORD_READ,
                                         (const uint64_t[]){1, 2, 10, 9, 50, 101, 4, 60, 102, 5, 11, 12, 101, END})
                                  : make(PERF_RECORD_READ,
                                         (const uint64_t[]){1, 2, 10, 9, 50, 101, 60, 102, 11, 12, 101, END});
        assert_true(records_check(&layout, header_of(&read)));
        values_shorten_read(&layout, LEADER, header_of(&read));
        if (lost)
            CHECK(&read, 1, 50, 10, 9, 101, 4, 11, 12, 101);
        else
            CHECK(&read, 1, 50, 10, 9, 101, 11, 12, 101);
        const struct records_reading reading = records_parse_read(&layout, header_of(&read));
        assert_int_equal(reading.value, 50);
        assert_int_equal(reading.enabled_ns, 10);
        assert_int_equal(reading.running_ns, 9);
        assert_int_equal(reading.lost, lost ? 4 : 0);
    }
    struct sample plain = make(PERF_RECORD_READ, (const uint64_t[]){1, 50, 10, 9, 102, 4, 11, 12, 102, END});
    values_shorten_read(&layout, MEMBER, header_of(&plain));
    CHECK(&plain, 1, 50, 10, 9, 102, 4, 11, 12, 102);
    /* More events than the record has. */
    struct sample wrong = make(PERF_RECORD_READ, (const uint64_t[]){1, 9, 10, 9, 50, 101, 4, 11, 12, 101, END});
    values_shorten_read(&layout, LEADER, header_of(&wrong));
    CHECK(&wrong, 1, 9, 10, 9, 50, 101, 4, 11, 12, 101);
}

/* Damaged records and unknown ids do no harm. */
static void damaged(void **state)
{
    struct values values = {0};
    (void)state;
    set_up(true, true);
    struct sample sample = MAKE(101, 1, 2, 3, 7, 1, 0, 0, 5, (UINT64_C(1) << 63) + 9, 0, CHAIN);
    assert_false(values_settle(&values, &layout, &config, ids, NULL, false, sample.words, header_of(&sample)->size));
    sample = MAKE(101, 1, 2, 3, 7, 1, 0, 0, 5, 999, 0, CHAIN);
    values_place(&layout, LEADER, ids, 3, header_of(&sample));
    settle(&values, false, &sample);
    CHECK(&sample, 101, 1, 2, 3, 7, 1, 0, 0, 5, 0, 0, CHAIN);
    header_of(&sample)->size = 0;
    assert_true(values_settle(&values, &layout, &config, ids, NULL, false, sample.words, sizeof(sample)));
    header_of(&sample)->size = 4096;
    assert_true(values_settle(&values, &layout, &config, ids, NULL, false, sample.words, sizeof(sample)));
    values_release(&values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),          cmocka_unit_test(too_many_events),
        cmocka_unit_test(own_values),     cmocka_unit_test(own_values_of_a_later_program),
        cmocka_unit_test(values_of_cpus), cmocka_unit_test(no_values),
        cmocka_unit_test(read_records),   cmocka_unit_test(damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
