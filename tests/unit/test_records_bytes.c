/* SPDX-License-Identifier: MIT */
/* Made records, byte by byte, and every field of those that are read. */
#include "check.h"

#include "collector/records/records.h"

#define HEAD(type, misc, size) ((uint64_t)(type) | (uint64_t)(misc) << 32 | (uint64_t)(size) << 48)
#define PAIR(a, b)             ((uint64_t)(uint32_t)(a) | (uint64_t)(uint32_t)(b) << 32)

static struct records_layout layout;
static const struct records_stamp stamp = {.pid = 10, .tid = 11, .time_ns = 1234567, .id = 100};

/* Event 1 has a sample_id of other fields than event 0. */
static int set_up(void **state)
{
    (void)state;
    static struct event_config config = {.count = 2};
    config.events[0].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                        PERF_SAMPLE_CPU;
    config.events[1].attr.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID;
    for (unsigned i = 0; i < 2; i++)
        config.events[i].attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                                            PERF_FORMAT_ID | PERF_FORMAT_LOST;
    records_layout_init(&layout, &config);
    return 0;
}

static void expect(struct buffer *buffer, const uint64_t *words, size_t size)
{
    assert_false(buffer_failed(buffer));
    assert_int_equal(buffer->size, size);
    assert_memory_equal(buffer->data, words, size);
    buffer_release(buffer);
}
#define EXPECT(buffer, ...) expect(buffer, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}))

static uint64_t text(const char *eight)
{
    uint64_t word;
    memcpy(&word, eight, sizeof(word));
    return word;
}

static void made_comm(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER_INIT;
    struct records_stamp other = stamp;
    other.event = 1;
    records_make_comm(&layout, &stamp, "some name", &buffer);
    EXPECT(&buffer, HEAD(PERF_RECORD_COMM, 0, 64), PAIR(10, 11), text("some nam"), text("e\0\0\0\0\0\0"), PAIR(10, 11),
           1234567, UINT32_MAX, 100);
    records_make_comm(&layout, &other, "1234567", &buffer);
    EXPECT(&buffer, HEAD(PERF_RECORD_COMM, 0, 56), PAIR(10, 11), text("1234567"), PAIR(10, 11), 1234567, 100, 100);
    records_make_comm(&layout, &other, "12345678", &buffer);
    EXPECT(&buffer, HEAD(PERF_RECORD_COMM, 0, 64), PAIR(10, 11), text("12345678"), 0, PAIR(10, 11), 1234567, 100, 100);
}

static void made_mappings(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER_INIT;
    struct mapping values = {.start = 0x1000,
                             .size = 0x2000,
                             .offset = 0x3000,
                             .maj = 8,
                             .min = 1,
                             .ino = 77,
                             .ino_generation = 6,
                             .prot = 5,
                             .flags = 2};
    struct mapping *mapping = mapping_new(&values, "/lib");
    records_make_mmap(&layout, &stamp, mapping, &buffer);
    EXPECT(&buffer, HEAD(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, 112), PAIR(10, 11), 0x1000, 0x2000, 0x3000,
           PAIR(8, 1), 77, 6, PAIR(5, 2), text("/lib\0\0\0"), PAIR(10, 11), 1234567, UINT32_MAX, 100);
    mapping_put(mapping);
    records_make_kernel(&layout, &stamp, 0xffffffff81000000, 0x1000, 0x50, "[k]", &buffer);
    EXPECT(&buffer, HEAD(PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, 80), PAIR(-1, 0), 0xffffffff81000000, 0x1000, 0x50,
           text("[k]\0\0\0\0"), PAIR(10, 11), 1234567, UINT32_MAX, 100);
}

static const struct perf_event_header *record_of(const uint64_t *words)
{
    return (const struct perf_event_header *)(const void *)words;
}

static void writers(void **state)
{
    (void)state;
    const uint64_t sample[] = {HEAD(PERF_RECORD_SAMPLE, 0, 40), 101, 0x4000, PAIR(20, 21), 777};
    const uint64_t plain[] = {HEAD(PERF_RECORD_SAMPLE, 0, 24), PAIR(30, 31), 888};
    const uint64_t other[] = {HEAD(PERF_RECORD_EXIT, 0, 64), 1, 2, 3, PAIR(40, 41), 999, 0, 101};
    const uint64_t cut[] = {HEAD(PERF_RECORD_SAMPLE, 0, 24), 101, 0x4000};
    const uint64_t bare[] = {HEAD(PERF_RECORD_EXIT, 0, 40), PAIR(50, 51), 555, 0, 101};
    static const struct {
        unsigned event;
        pid_t pid, tid;
        uint64_t time_ns;
    } wanted[] = {{0, 20, 21, 777}, {1, 30, 31, 888}, {0, 40, 41, 999}, {0, 50, 51, 555}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    const uint64_t *const records[] = {sample, plain, other,
                                       bare,   cut,   (const uint64_t[]){HEAD(PERF_RECORD_EXIT, 0, 8)}};
    for (size_t i = 0; i < 6; i++) {
        pid_t pid = -5, tid = -5;
        records_writer(&layout, wanted[i].event, record_of(records[i]), &pid, &tid);
        assert_int_equal(pid, wanted[i].pid);
        assert_int_equal(tid, wanted[i].tid);
        assert_int_equal(records_time(&layout, wanted[i].event, record_of(records[i])), wanted[i].time_ns);
    }
}

static void identifiers(void **state)
{
    (void)state;
    const uint64_t ids[CONFIG_EVENTS] = {100, 101};
    uint64_t sample[] = {HEAD(PERF_RECORD_SAMPLE, 0, 24), 101, 7};
    uint64_t other[] = {HEAD(PERF_RECORD_LOST, 0, 24), 7, 101};
    uint64_t empty[] = {HEAD(PERF_RECORD_LOST, 0, 8), 101};
    uint64_t shortest[] = {HEAD(PERF_RECORD_LOST, 0, 16), 101};
    assert_int_equal(records_event(&layout, ids, record_of(shortest)), 1);
    records_set_id(&layout, 58, (struct perf_event_header *)(void *)shortest);
    assert_int_equal(shortest[1], 58);
    assert_int_equal(records_event(&layout, ids, record_of(sample)), 1);
    assert_int_equal(records_event(&layout, ids, record_of(other)), 1);
    assert_int_equal(records_event(&layout, ids, record_of(empty)), 0);
    records_set_id(&layout, 55, (struct perf_event_header *)(void *)sample);
    records_set_id(&layout, 56, (struct perf_event_header *)(void *)other);
    records_set_id(&layout, 57, (struct perf_event_header *)(void *)empty);
    assert_int_equal(sample[1], 55);
    assert_int_equal(sample[2], 7);
    assert_int_equal(other[1], 7);
    assert_int_equal(other[2], 56);
    assert_int_equal(empty[0], HEAD(PERF_RECORD_LOST, 0, 8));
    assert_int_equal(empty[1], 101);
    /* An event that was refused has the id 0, which is nobody's. */
    other[2] = 0;
    assert_int_equal(records_event(&layout, (const uint64_t[CONFIG_EVENTS]){100, 0}, record_of(other)), 0);
    static struct records_layout none;
    none = layout;
    none.sample_type[0] &= ~(uint64_t)PERF_SAMPLE_IDENTIFIER;
    other[2] = 101;
    assert_int_equal(records_event(&none, ids, record_of(other)), 0);
    records_set_id(&none, 9, (struct perf_event_header *)(void *)other);
    assert_int_equal(other[2], 101);
}

static void fields(void **state)
{
    (void)state;
    const uint64_t comm[] = {
        HEAD(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, 56), PAIR(1, 2), text("name\0\0\0"), 0, 0, 0, 0};
    struct records_comm named = records_parse_comm(record_of(comm));
    assert_int_equal(named.pid, 1);
    assert_int_equal(named.tid, 2);
    assert_true(named.exec);
    assert_string_equal(named.name, "name");
    const uint64_t fork[] = {HEAD(PERF_RECORD_FORK, 0, 64), PAIR(1, 2), PAIR(3, 4), 5, 0, 0, 0, 0};
    struct records_task task = records_parse_task(record_of(fork));
    assert_true(task.pid == 1 && task.ppid == 2 && task.tid == 3 && task.ptid == 4 && task.time_ns == 5);
    const uint64_t map[] = {
        HEAD(PERF_RECORD_MMAP2, 0, 112), PAIR(1, 2), 3, 4, 5, PAIR(6, 7), 8, 9, PAIR(10, 11), text("path\0\0\0")};
    struct records_mmap mapped = records_parse_mmap(record_of(map));
    assert_true(mapped.pid == 1 && mapped.tid == 2 && mapped.values.start == 3 && mapped.values.size == 4);
    assert_true(mapped.values.offset == 5 && mapped.values.maj == 6 && mapped.values.min == 7);
    assert_true(mapped.values.ino == 8 && mapped.values.ino_generation == 9 && mapped.values.prot == 10);
    assert_int_equal(mapped.values.flags, 11);
    assert_string_equal(mapped.path, "path");
    const uint64_t lost[] = {HEAD(PERF_RECORD_LOST, 0, 24), 1, 2}, less[] = {HEAD(PERF_RECORD_LOST_SAMPLES, 0, 16), 3};
    assert_int_equal(records_parse_lost(record_of(lost)), 2);
    assert_int_equal(records_parse_lost(record_of(less)), 3);
}

/* pid and tid, the value, then as much as the kernel gives. */
static void readings(void **state)
{
    (void)state;
    uint64_t read[] = {0, PAIR(1, 2), 10, 20, 30, 40, 50, PAIR(1, 2), 3, 4, 100};
    struct records_reading reading;
    read[0] = HEAD(PERF_RECORD_READ, 0, 88);
    reading = records_parse_read(&layout, record_of(read));
    assert_true(reading.value == 10 && reading.enabled_ns == 20 && reading.running_ns == 30 && reading.lost == 50);
    read[0] = HEAD(PERF_RECORD_READ, 0, 80); /* without what was lost */
    reading = records_parse_read(&layout, record_of(read));
    assert_true(reading.value == 10 && reading.enabled_ns == 20 && reading.running_ns == 30 && reading.lost == 0);
    read[0] = HEAD(PERF_RECORD_READ, 0, 56);
    reading = records_parse_read(&layout, record_of(read));
    assert_true(reading.value == 10 && reading.enabled_ns == 0 && reading.running_ns == 0 && reading.lost == 0);
    read[0] = HEAD(PERF_RECORD_READ, 0, 48);
    assert_int_equal(records_parse_read(&layout, record_of(read)).value, 0);
    struct records_layout old = layout;
    old.read_format &= ~(uint64_t)(PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED);
    read[0] = HEAD(PERF_RECORD_READ, 0, 72);
    reading = records_parse_read(&old, record_of(read));
    assert_true(reading.value == 10 && reading.enabled_ns == 0 && reading.running_ns == 20 && reading.lost == 30);
}

static void mentions(void **state)
{
    (void)state;
    const uint64_t words[] = {HEAD(PERF_RECORD_SAMPLE, 0, 24), 0x1000, 0x2000, 0x3000};
    assert_true(records_mentions(record_of(words), 0x1000, 0x1001));
    assert_true(records_mentions(record_of(words), 0x2000, 0x2001));
    assert_false(records_mentions(record_of(words), 0x3000, 0x3001)); /* behind its end */
    assert_false(records_mentions(record_of(words), 0xf00, 0x1000));
    assert_false(records_mentions(record_of(words), 0x1001, 0x2000));
    assert_false(records_mentions(record_of(words), words[0], words[0] + 1)); /* its header */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_comm),   cmocka_unit_test(made_mappings), cmocka_unit_test(writers),
        cmocka_unit_test(identifiers), cmocka_unit_test(fields),        cmocka_unit_test(readings),
        cmocka_unit_test(mentions),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
