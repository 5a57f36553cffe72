/* SPDX-License-Identifier: MIT */
/* Build ids in records: which get one, where it lies, and bytes that are no records. */
#include "check.h"

#include <linux/perf_event.h>
#include <pinject/kernel.h>

#include "collector/output/identify.h"
#include "collector/records/records.h"

static struct buildid given;       /* size 0: there is none */
static struct result_module asked; /* the last one */
static unsigned asked_count;

bool __wrap_buildids_find(struct buildids *buildids, const struct result_module *module, struct buildid *ret);
bool __wrap_buildids_find(struct buildids *buildids, const struct result_module *module, struct buildid *ret)
{
    (void)buildids;
    asked = *module;
    asked_count++;
    *ret = given;
    return given.size;
}

static struct records_layout layout;
static const struct records_stamp stamp = {.pid = 10, .tid = 11, .time_ns = 1234567, .id = 100};
static struct buffer records;

static int set_up(void **state)
{
    (void)state;
    static struct event_config config = {.count = 1};
    config.events[0].attr.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
    records_layout_init(&layout, &config);
    given.size = 20;
    for (unsigned i = 0; i < 20; i++)
        given.bytes[i] = (uint8_t)(0xa0 + i);
    asked_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buffer_release(&records);
    return 0;
}

static size_t add_mapping(const char *path)
{
    const struct mapping values = {
        .start = 0x1000, .size = 0x2000, .offset = 0x3000, .maj = 8, .min = 1, .ino = 77, .ino_generation = 6};
    struct mapping *mapping = mapping_new(&values, path);
    const size_t at = records.size;
    records_make_mmap(&layout, &stamp, mapping, &records);
    mapping_put(mapping);
    return at;
}

static struct perf_event_header header_at(size_t at)
{
    struct perf_event_header header;
    memcpy(&header, records.data + at, sizeof(header));
    return header;
}

static void set_header(size_t at, struct perf_event_header header)
{
    memcpy(records.data + at, &header, sizeof(header));
}

static bool has_id(size_t at)
{
    return header_at(at).misc & PERF_RECORD_MISC_MMAP_BUILD_ID;
}

static void expect_id(size_t at)
{
    const unsigned char *file = records.data + at + RECORDS_MAPPED_FILE;
    assert_true(has_id(at));
    assert_int_equal(file[0], given.size);
    assert_memory_equal(file + 1, "\0\0\0", 3);
    assert_memory_equal(file + 4, given.bytes, 20);
}

static void each_mapping_gets_its_own(void **state)
{
    (void)state;
    const size_t first = add_mapping("/lib/one");
    const size_t comm = records.size;
    records_make_comm(&layout, &stamp, "name", &records);
    const size_t second = add_mapping("/lib/two");
    struct buffer before = BUFFER_INIT;
    buffer_append(&before, records.data, records.size);
    identify_records(NULL, records.data, records.size);
    assert_int_equal(asked_count, 2);
    assert_string_equal(asked.path, "/lib/two");
    assert_true(asked.maj == 8 && asked.min == 1 && asked.ino == 77 && asked.ino_generation == 6);
    expect_id(first);
    expect_id(second);
    /* All but these 24 bytes, and the bit that says so, is as it was. */
    for (size_t at = 0; at < 2; at++) {
        const size_t start = at ? second : first, more = start + RECORDS_MAPPED_FILE;
        struct perf_event_header header = header_at(start);
        header.misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
        set_header(start, header);
        memcpy(records.data + more, before.data + more, 24);
    }
    assert_memory_equal(records.data, before.data, records.size);
    assert_int_equal(header_at(comm).type, PERF_RECORD_COMM);
    buffer_release(&before);
}

static void a_short_id_has_zeros_behind_it(void **state)
{
    (void)state;
    const size_t at = add_mapping("/lib");
    given.size = 8;
    memset(given.bytes + 8, 0, 12);
    identify_records(NULL, records.data, records.size);
    expect_id(at);
}

static void who_gets_none(void **state)
{
    (void)state;
    const size_t at = add_mapping("/lib");
    struct perf_event_header header = header_at(at);
    const unsigned char *file = records.data + at + RECORDS_MAPPED_FILE;
    unsigned char before[24];
    memcpy(before, file, 24);
    given.size = 0; /* nothing is known of the file */
    identify_records(NULL, records.data, records.size);
    assert_int_equal(asked_count, 1);
    assert_false(has_id(at));
    assert_memory_equal(file, before, 24);
    given.size = 20;
    header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID; /* it has one, of the kernel */
    set_header(at, header);
    identify_records(NULL, records.data, records.size);
    assert_int_equal(asked_count, 1);
    assert_memory_equal(file, before, 24);
    header.misc = 0;
    header.type = PERF_RECORD_MMAP; /* it has no room for one */
    set_header(at, header);
    identify_records(NULL, records.data, records.size);
    assert_int_equal(asked_count, 1);
    assert_memory_equal(file, before, 24);
}

/* A record that cannot be one ends the look: what is behind it is not known to be any. */
static void bytes_that_are_no_records(void **state)
{
    (void)state;
    const size_t first = add_mapping("/lib/one"), second = add_mapping("/lib/two"), third = add_mapping("/lib/three");
    struct perf_event_header whole = header_at(second), broken = whole;
    static const uint16_t sizes[] = {0, 1, sizeof(struct perf_event_header) - 1};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        broken.size = sizes[i];
        set_header(second, broken);
        asked_count = 0;
        set_header(first, whole);
        identify_records(NULL, records.data, third);
        assert_int_equal(asked_count, 1);
        assert_true(has_id(first) && !has_id(third));
    }
    set_header(second, whole);
    /* The last one is cut: by a byte, to its header, within that. */
    const size_t cuts[] = {records.size - 1, third + sizeof(whole), third + 1, third};
    for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
        set_header(second, whole);
        identify_records(NULL, records.data, cuts[i]);
        assert_true(has_id(second) && !has_id(third));
    }
    identify_records(NULL, records.data, records.size); /* it is whole */
    expect_id(third);
}

/* The smallest MMAP2 has a path of one byte, and room for it is all that counts. */
static void mapping_without_a_path(void **state)
{
    (void)state;
    unsigned char record[RECORDS_MAPPED_PATH + 8] = {0};
    struct perf_event_header header = {.type = PERF_RECORD_MMAP2, .size = RECORDS_MAPPED_PATH};
    memcpy(record, &header, sizeof(header));
    identify_records(NULL, record, RECORDS_MAPPED_PATH);
    assert_int_equal(asked_count, 0);
    header.size = sizeof(record);
    memcpy(record, &header, sizeof(header));
    identify_records(NULL, record, sizeof(record));
    assert_int_equal(asked_count, 1);
    assert_string_equal(asked.path, "");
    assert_int_equal(record[RECORDS_MAPPED_FILE], 20);
    /* Of eight bytes: a header, and nothing else. */
    header = (struct perf_event_header){.type = PERF_RECORD_LOST, .size = sizeof(header)};
    memcpy(record, &header, sizeof(header));
    header = (struct perf_event_header){.type = PERF_RECORD_MMAP2, .size = sizeof(record) - sizeof(header)};
    memcpy(record + sizeof(header), &header, sizeof(header));
    identify_records(NULL, record, sizeof(record));
    assert_int_equal(asked_count, 1);
}

static void kernel_with_a_build_id(void **state)
{
    (void)state;
    records_make_kernel(&layout, &stamp, 0x8000, 0x1000, 0x50, "[kernel.kallsyms]_text", &records);
    struct buffer before = BUFFER_INIT;
    buffer_append(&before, records.data, records.size);
    identify_kernel(NULL, &records);
    assert_string_equal(asked.path, "[kernel.kallsyms]");
    expect_id(0);
    const struct perf_event_header header = header_at(0);
    assert_int_equal(header.type, PERF_RECORD_MMAP2);
    assert_int_equal(header.size, before.size + 32);
    assert_int_equal(records.size, before.size + 32);
    assert_int_equal(header.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_KERNEL);
    assert_memory_equal(records.data + sizeof(header), before.data + sizeof(header), 32); /* whom, where */
    assert_memory_equal(records.data + 64, "\0\0\0\0\0\0\0\0", 8);                        /* prot, flags */
    assert_memory_equal(records.data + RECORDS_MAPPED_PATH, before.data + 40, before.size - 40);
    buffer_release(&before);
}

static void kernel_without(void **state)
{
    (void)state;
    identify_kernel(NULL, &records); /* it is not seen: not asked for, either */
    assert_int_equal(asked_count, 0);
    assert_int_equal(records.size, 0);
    given.size = 0;
    records_make_kernel(&layout, &stamp, 0x8000, 0x1000, 0x50, "[kernel.kallsyms]_text", &records);
    const size_t size = records.size;
    identify_kernel(NULL, &records);
    assert_int_equal(asked_count, 1);
    assert_int_equal(records.size, size);
    assert_int_equal(header_at(0).type, PERF_RECORD_MMAP);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_mapping_gets_its_own),
        TEST(a_short_id_has_zeros_behind_it),
        TEST(who_gets_none),
        TEST(bytes_that_are_no_records),
        TEST(mapping_without_a_path),
        TEST(kernel_with_a_build_id),
        TEST(kernel_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
