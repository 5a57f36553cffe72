/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "collector/records/records.h"

static const uint64_t ids[CONFIG_EVENTS] = {100, 101};
static struct records_layout layout;
static const struct records_stamp stamp = {.pid = 10, .tid = 11, .time_ns = 1234567, .id = 100};

static int set_up(void **state)
{
    (void)state;
    static struct event_config config = {.count = 2};
    for (unsigned i = 0; i < 2; i++) {
        config.events[i].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                                            PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
        config.events[i].attr.read_format = PERF_FORMAT_LOST;
    }
    records_layout_init(&layout, &config);
    return 0;
}

static const struct perf_event_header *first_record(const struct buffer *buffer)
{
    assert_false(buffer_failed(buffer));
    return (const struct perf_event_header *)(const void *)buffer->data;
}

static void test_comm(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER_INIT;
    records_make_comm(&layout, &stamp, "some name", &buffer);
    const struct perf_event_header *record = first_record(&buffer);
    assert_int_equal(record->type, PERF_RECORD_COMM);
    assert_int_equal(record->size, buffer.size);
    assert_int_equal(record->size, 8 + 8 + 16 + 8 + 8 + 8 + 8);
    assert_true(records_check(&layout, record));
    struct records_comm comm = records_parse_comm(record);
    assert_int_equal(comm.pid, 10);
    assert_int_equal(comm.tid, 11);
    assert_false(comm.exec);
    assert_string_equal(comm.name, "some name");
    assert_int_equal(records_event(&layout, ids, record), 0);
    assert_int_equal(records_time(&layout, 0, record), 1234567);
    buffer_release(&buffer);
}

static void test_mmap(void **state)
{
    (void)state;
    struct mapping values = {.start = 0x1000,
                             .size = 0x2000,
                             .offset = 0x3000,
                             .maj = 8,
                             .min = 1,
                             .ino = 77,
                             .ino_generation = 5,
                             .prot = 5,
                             .flags = 2};
    struct mapping *mapping = mapping_new(&values, "/usr/lib/libc.so.6");
    struct buffer buffer = BUFFER_INIT;
    records_make_mmap(&layout, &stamp, mapping, &buffer);
    const struct perf_event_header *record = first_record(&buffer);
    assert_int_equal(record->type, PERF_RECORD_MMAP2);
    assert_int_equal(record->misc, PERF_RECORD_MISC_USER);
    assert_int_equal(record->size % 8, 0);
    assert_true(records_check(&layout, record));
    struct records_mmap map = records_parse_mmap(record);
    assert_int_equal(map.pid, 10);
    assert_string_equal(map.path, "/usr/lib/libc.so.6");
    assert_memory_equal(&map.values.start, &values.start, 3 * sizeof(uint64_t));
    assert_int_equal(map.values.ino, 77);
    assert_int_equal(map.values.ino_generation, 5);
    assert_int_equal(map.values.prot, 5);
    assert_false(map.values.data);
    assert_int_equal(records_time(&layout, 0, record), 1234567);
    mapping_put(mapping);
    buffer_clear(&buffer);
    values.data = true;
    mapping = mapping_new(&values, "[heap]");
    records_make_mmap(&layout, &stamp, mapping, &buffer);
    record = first_record(&buffer);
    assert_int_equal(record->misc, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA);
    assert_true(records_parse_mmap(record).values.data);
    mapping_put(mapping);
    buffer_release(&buffer);
}

static void test_long_path_is_cut(void **state)
{
    (void)state;
    static char path[70000];
    memset(path, 'x', sizeof(path) - 1);
    struct mapping values = {.size = 1};
    struct mapping *mapping = mapping_new(&values, path);
    struct buffer buffer = BUFFER_INIT;
    records_make_mmap(&layout, &stamp, mapping, &buffer);
    assert_int_equal(first_record(&buffer)->size, buffer.size);
    assert_true(records_check(&layout, first_record(&buffer)));
    assert_int_equal(strlen(records_parse_mmap(first_record(&buffer)).path), 4095);
    mapping_put(mapping);
    buffer_release(&buffer);
}

static void test_kernel(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER_INIT;
    records_make_kernel(&layout, &stamp, 0xffffffff81000000, 0x1000, 0, "[kernel.kallsyms]_text", &buffer);
    assert_int_equal(first_record(&buffer)->type, PERF_RECORD_MMAP);
    assert_int_equal(first_record(&buffer)->misc, PERF_RECORD_MISC_KERNEL);
    assert_true(records_check(&layout, first_record(&buffer)));
    assert_int_equal(((const int32_t *)(const void *)buffer.data)[2], -1);
    buffer_release(&buffer);
}

/* Every record is refused once it is cut before its fields and its sample_id, and never read behind its end. */
static void test_cut(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        uint16_t least;
    } least[] = {{PERF_RECORD_COMM, 8 + 8 + 8},     {PERF_RECORD_MMAP, 8 + 32 + 8},
                 {PERF_RECORD_MMAP2, 8 + 64 + 8},   {PERF_RECORD_FORK, 8 + 24},
                 {PERF_RECORD_EXIT, 8 + 24},        {PERF_RECORD_LOST, 8 + 16},
                 {PERF_RECORD_LOST_SAMPLES, 8 + 8}, {PERF_RECORD_THROTTLE, 8 + 24},
                 {PERF_RECORD_READ, 8 + 16},        {200, 8}};
    for (size_t i = 0; i < sizeof(least) / sizeof(least[0]); i++)
        for (uint16_t size = 8; size < 200; size += 8) {
            struct perf_event_header *record = calloc(1, size);
            *record = (struct perf_event_header){.type = least[i].type, .size = size};
            assert_int_equal(records_check(&layout, record), size >= least[i].least + 32);
            records_time(&layout, 0, record);
            records_event(&layout, ids, record);
            records_mentions(record, 1, 2);
            free(record);
        }
}

static void test_string_without_end(void **state)
{
    (void)state;
    unsigned char bytes[8 + 8 + 8 + 32];
    struct perf_event_header header = {.type = PERF_RECORD_COMM, .size = sizeof(bytes)};
    memset(bytes, 'x', sizeof(bytes));
    memcpy(bytes, &header, sizeof(header));
    memset(bytes + 24, 0, 32); /* NULs in the sample_id do not end the name */
    assert_false(records_check(&layout, (const struct perf_event_header *)(const void *)bytes));
    bytes[23] = 0;
    assert_true(records_check(&layout, (const struct perf_event_header *)(const void *)bytes));
}

static void test_samples(void **state)
{
    (void)state;
    uint64_t words[] = {0, 101, 0xffffffff81000010, 10 | (uint64_t)11 << 32, 999, 0, 1000000};
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = sizeof(words)};
    memcpy(words, &header, sizeof(header));
    const struct perf_event_header *record = (const struct perf_event_header *)(const void *)words;
    assert_true(records_check(&layout, record));
    assert_int_equal(records_event(&layout, ids, record), 1);
    assert_int_equal(records_time(&layout, 1, record), 999);
    assert_int_equal(records_period(&layout, 1, record), 1000000);
    assert_true(records_mentions(record, 0xffffffff81000000, 0xffffffff82000000));
    assert_false(records_mentions(record, 0xffffffffc0000000, UINT64_MAX));
    records_set_period(&layout, 1, 77, (struct perf_event_header *)(void *)words);
    assert_int_equal(words[6], 77);
    assert_int_equal(records_period(&layout, 1, record), 77);
    words[1] = 555; /* of nobody */
    assert_int_equal(records_event(&layout, ids, record), 0);
    header.size = 48;
    memcpy(words, &header, sizeof(header));
    assert_int_equal(records_period(&layout, 1, record), 0);
    records_set_period(&layout, 1, 88, (struct perf_event_header *)(void *)words);
    assert_int_equal(words[6], 77); /* beyond its end */
    header.size = 32;
    memcpy(words, &header, sizeof(header));
    assert_int_equal(records_time(&layout, 1, record), 0);
    header.size = 8;
    memcpy(words, &header, sizeof(header));
    assert_false(records_check(&layout, record));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comm),    cmocka_unit_test(test_mmap), cmocka_unit_test(test_long_path_is_cut),
        cmocka_unit_test(test_kernel),  cmocka_unit_test(test_cut),  cmocka_unit_test(test_string_without_end),
        cmocka_unit_test(test_samples),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
