/* SPDX-License-Identifier: MIT */
/* analyze/read/stream.c: what a pipe has among its records, bytes between them, and where reading ends. */
#include "check.h"

#include "analyze/read/file.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

enum { USER = PERF_RECORD_MISC_USER };

struct seen {
    unsigned records, samples, others;
    uint64_t last;    /* ip of the last sample */
    unsigned stop_at; /* each() ends it at this record; 0: never */
    const char *name; /* of the event of the last sample */
};

static int note(void *context, const struct record *record)
{
    struct seen *seen = context;
    seen->records++;
    seen->samples += record->type == PERF_RECORD_SAMPLE;
    seen->others += record->type != PERF_RECORD_SAMPLE && record->type < PERFDATA_RECORD_ATTR;
    if (record->type == PERF_RECORD_SAMPLE) {
        seen->last = record->ip;
        seen->name = record->attr->name;
    }
    return seen->records == seen->stop_at ? 77 : 0;
}

static void begin(struct writer *writer, bool swap, bool pipe)
{
    writer_init(writer, swap, pipe);
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1, "page-faults");
}

static void put_sample(struct writer *writer, unsigned attr, uint64_t ip)
{
    writer->time++;
    writer_sample(writer, attr, USER, ip, 1, NULL, 0);
}

/* Opens what WRITER wrote as a copy of its own, so that a sanitizer sees the first byte read too far. */
static void open_writer(struct writer *writer, struct file *file, unsigned char **ret_copy)
{
    struct buffer bytes = BUFFER_INIT;
    struct problem problem = {""};
    writer_finish(writer, &bytes);
    *ret_copy = malloc(bytes.size);
    memcpy(*ret_copy, bytes.data, bytes.size);
    assert_int_equal(file_open_memory(file, *ret_copy, bytes.size, &problem), 0);
    buffer_release(&bytes);
    writer_release(writer);
}

static void close_file(struct file *file, unsigned char *copy)
{
    file_release(file);
    free(copy);
}

static void put_update(struct writer *writer, uint64_t kind, uint64_t id, const char *name)
{
    writer_begin(writer, PERFDATA_RECORD_EVENT_UPDATE, 0);
    writer_u64(writer, &writer->data, kind);
    writer_u64(writer, &writer->data, id);
    buffer_string(&writer->data, name);
    writer_end(writer);
}

/* A pipe names its events after it described them; of the updates only that of a name is taken. */
static void test_names_in_a_pipe(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct writer writer;
        struct file file;
        struct seen seen = {0};
        unsigned char *copy;
        begin(&writer, swap, true);
        writer.names[0] = NULL;
        put_update(&writer, 2, 101, "renamed");
        put_update(&writer, 2, 999, "of nobody");
        put_update(&writer, 1, 101, "a scale");
        put_update(&writer, 2, 100, "first");
        writer_begin(&writer, PERFDATA_RECORD_EVENT_UPDATE, 0); /* cut off */
        writer_u64(&writer, &writer.data, 2);
        writer_end(&writer);
        put_sample(&writer, 1, 0x10);
        open_writer(&writer, &file, &copy);
        for (int turn = 0; turn < 2; turn++) {
            assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
            assert_string_equal(file.problem.text, "");
            assert_int_equal(file.attrs.count, 2);
            assert_string_equal(file.attrs.items[0].name, "first");
            assert_string_equal(file.attrs.items[1].name, "renamed");
            assert_string_equal(seen.name, "renamed");
            assert_int_equal(file.records[PERFDATA_RECORD_EVENT_UPDATE], 5);
            assert_int_equal(file.records[PERFDATA_RECORD_ATTR], 2);
        }
        assert_int_equal(seen.samples, 2);
        close_file(&file, copy);
    }
}

/* The description of an event that is cut off, or has more ids than the file can have: said, and the rest is read. */
static void test_damaged_event_in_a_pipe(void **state)
{
    (void)state;
    for (int ids = 0; ids < 2; ids++) {
        struct writer writer;
        struct file file;
        struct seen seen = {0};
        unsigned char *copy;
        begin(&writer, false, true);
        writer_begin(&writer, PERFDATA_RECORD_ATTR, 0);
        writer_u32(&writer, &writer.data, 1);
        writer_u32(&writer, &writer.data, ids ? PERF_ATTR_SIZE_VER0 : PERF_ATTR_SIZE_VER0 + 8);
        buffer_extend(&writer.data, PERF_ATTR_SIZE_VER0 - 8);
        writer_end(&writer);
        put_sample(&writer, 0, 0x10);
        open_writer(&writer, &file, &copy);
        if (ids)
            file.attrs.id_limit = 2; /* the two events have one each */
        assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
        assert_string_equal(file.problem.text, ids ? "" : "the description of an event is truncated");
        assert_int_equal(file.attrs.count, ids ? 3 : 2);
        assert_int_equal(seen.samples, 1);
        close_file(&file, copy);
    }
}

/* Files of the first versions give an event no size. */
static void test_event_without_a_size(void **state)
{
    (void)state;
    struct writer writer;
    struct file file;
    struct seen seen = {0};
    unsigned char *copy;
    begin(&writer, false, true);
    writer_begin(&writer, PERFDATA_RECORD_ATTR, 0);
    writer_u32(&writer, &writer.data, PERF_TYPE_HARDWARE);
    writer_u32(&writer, &writer.data, 0);
    buffer_extend(&writer.data, PERF_ATTR_SIZE_VER0 - 8);
    writer_u64(&writer, &writer.data, 555);
    writer_u64(&writer, &writer.data, 556);
    writer_end(&writer);
    open_writer(&writer, &file, &copy);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_string_equal(file.problem.text, "");
    assert_int_equal(file.attrs.count, 3);
    assert_int_equal(file.attrs.items[2].perf.type, PERF_TYPE_HARDWARE);
    assert_int_equal(file.attrs.items[2].ids, 2);
    assert_ptr_equal(attr_with_id(&file.attrs, 555), &file.attrs.items[2]);
    assert_ptr_equal(attr_with_id(&file.attrs, 556), &file.attrs.items[2]);
    close_file(&file, copy);
}

/* A file of a disk has its events in the header: those among its records are there once more. */
static void test_events_of_a_disk(void **state)
{
    (void)state;
    struct writer writer;
    struct file file;
    struct seen seen = {0};
    unsigned char *copy;
    begin(&writer, false, false);
    writer_begin(&writer, PERFDATA_RECORD_ATTR, 0);
    buffer_extend(&writer.data, 64);
    writer_end(&writer);
    put_update(&writer, 2, 100, "updated");
    put_sample(&writer, 0, 0x10);
    open_writer(&writer, &file, &copy);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_int_equal(file.attrs.count, 2);
    assert_string_equal(seen.name, "updated");
    assert_string_equal(file.problem.text, "");
    close_file(&file, copy);
}

static void put_feature(struct writer *writer, uint64_t number, const char *text)
{
    writer_begin(writer, PERFDATA_RECORD_HEADER_FEATURE, 0);
    writer_u64(writer, &writer->data, number);
    writer_text(writer, &writer->data, text);
    writer_end(writer);
}

static void test_features_in_a_pipe(void **state)
{
    (void)state;
    struct writer writer;
    struct file file;
    struct seen seen = {0};
    unsigned char *copy;
    static const unsigned char id[24] = {1, 2, 3, [20] = 20};
    begin(&writer, false, true);
    put_feature(&writer, PERFDATA_HOSTNAME, "somewhere");
    put_feature(&writer, FEATURE_BITS - 1, "the last one");
    put_feature(&writer, FEATURE_BITS, "none");
    put_feature(&writer, FEATURE_BITS + PERFDATA_HOSTNAME, "none");
    put_feature(&writer, UINT64_MAX, "none");
    writer_begin(&writer, PERFDATA_RECORD_HEADER_FEATURE, 0);
    writer_end(&writer);
    for (int kernel = 0; kernel < 2; kernel++) {
        writer_begin(&writer, PERFDATA_RECORD_BUILD_ID, (kernel ? PERF_RECORD_MISC_KERNEL : USER) | 1u << 15);
        writer_u32(&writer, &writer.data, UINT32_MAX);
        buffer_append(&writer.data, id, sizeof(id));
        buffer_string(&writer.data, kernel ? "[kernel.kallsyms]" : "/bin/app");
        writer_end(&writer);
    }
    open_writer(&writer, &file, &copy);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_string_equal(file.features.hostname, "somewhere");
    assert_true(feature_present(&file.features, PERFDATA_HOSTNAME));
    assert_true(feature_present(&file.features, FEATURE_BITS - 1));
    assert_false(feature_present(&file.features, PERFDATA_OSRELEASE));
    assert_int_equal(file.features.build_id_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(file.features.build_ids[i].size, 20);
        assert_memory_equal(file.features.build_ids[i].id, id, 20);
        assert_int_equal(file.features.build_ids[i].kernel, i);
        assert_string_equal(file.features.build_ids[i].path, i ? "[kernel.kallsyms]" : "/bin/app");
    }
    close_file(&file, copy);
}

/* Bytes that stand between records: hardware traces everywhere, tables of tracepoints in pipes, these in words. */
static void check_extra(uint32_t type, bool swap, bool pipe, uint64_t says, size_t there, bool taken)
{
    struct writer writer;
    struct file file;
    struct seen seen = {0};
    unsigned char *copy;
    begin(&writer, swap, pipe);
    put_sample(&writer, 0, 0x10);
    writer_begin(&writer, type, 0);
    if (type == PERFDATA_RECORD_AUXTRACE)
        writer_u64(&writer, &writer.data, says);
    else
        writer_u32(&writer, &writer.data, (uint32_t)says);
    writer_end(&writer);
    memset(buffer_extend(&writer.data, there), 0xff, there);
    put_sample(&writer, 1, 0x20);
    open_writer(&writer, &file, &copy);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_int_equal(seen.samples, taken ? 2 : 1);
    assert_int_equal(seen.last, taken ? 0x20 : 0x10);
    assert_int_equal(file.records[type], 1);
    assert_int_equal(file.unread > 0, !taken);
    close_file(&file, copy);
}

static void test_extra_bytes(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        check_extra(PERFDATA_RECORD_AUXTRACE, swap, false, 4096, 4096, true);
        check_extra(PERFDATA_RECORD_AUXTRACE, swap, true, 8, 8, true);
        check_extra(PERFDATA_RECORD_AUXTRACE, swap, false, 0, 0, true);
        check_extra(PERFDATA_RECORD_AUXTRACE, swap, false, 1u << 20, 64, false);
        check_extra(PERFDATA_RECORD_AUXTRACE, swap, false, UINT64_MAX, 64, false);
        check_extra(PERFDATA_RECORD_TRACING_DATA, swap, true, 9, 16, true);
        check_extra(PERFDATA_RECORD_TRACING_DATA, swap, true, 16, 16, true);
        check_extra(PERFDATA_RECORD_TRACING_DATA, swap, true, 1, 8, true);
        check_extra(PERFDATA_RECORD_TRACING_DATA, swap, true, 0, 0, true);
        check_extra(PERFDATA_RECORD_TRACING_DATA, swap, true, UINT32_MAX, 64, false);
        /* On a disk they are a feature. */
        check_extra(PERFDATA_RECORD_TRACING_DATA, swap, false, 16, 0, true);
    }
}

/* By type; all types without a place of their own in the last one. */
static void test_counts_of_types(void **state)
{
    (void)state;
    static const uint32_t types[] = {0, 63, FILE_RECORD_TYPES - 2, FILE_RECORD_TYPES - 1, FILE_RECORD_TYPES, 1u << 20};
    struct writer writer;
    struct file file;
    struct seen seen = {0};
    unsigned char *copy;
    begin(&writer, false, false);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        writer_begin(&writer, types[i], 0);
        writer_end(&writer);
    }
    open_writer(&writer, &file, &copy);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
        assert_int_equal(file.records[0], 1);
        assert_int_equal(file.records[63], 1);
        assert_int_equal(file.records[FILE_RECORD_TYPES - 2], 1);
        assert_int_equal(file.records[FILE_RECORD_TYPES - 1], 3);
        assert_int_equal(file.records[PERF_RECORD_SAMPLE], 0);
    }
    close_file(&file, copy);
}

/* No record that begins within the limit is left out, and none behind it is read. */
static void test_limits(void **state)
{
    (void)state;
    struct writer writer;
    struct file file;
    unsigned char *copy;
    size_t ends[5] = {0};
    begin(&writer, false, false);
    for (unsigned i = 1; i < 5; i++) {
        put_sample(&writer, 0, 0x10 * i);
        ends[i] = writer.data.size;
    }
    open_writer(&writer, &file, &copy);
    for (unsigned i = 0; i < 5; i++) {
        for (int more = 0; more < 2; more++) {
            struct seen seen = {0};
            uint64_t limit = ends[i] + (more ? RECORD_HEADER - 1 : 0);
            assert_int_equal(file_records(&file, limit, note, &seen), 0);
            assert_int_equal(seen.samples, i);
            assert_int_equal(file.unread, more && i < 4 ? RECORD_HEADER - 1 : 0);
            assert_string_equal(file.problem.text, "");
        }
    }
    close_file(&file, copy);
}

enum { DATA_OFFSET_AT = 40, DATA_SIZE_AT = 48 }; /* of the header */

/* Nothing was recorded, but the recorder ended as it should: what is behind the data are its features. */
static void test_nothing_recorded(void **state)
{
    (void)state;
    for (unsigned features = 0; features < 3; features++) {
        struct writer writer;
        struct file file;
        struct seen seen = {0};
        unsigned char *copy;
        begin(&writer, false, false);
        writer.names[0] = NULL;
        if (features > 0)
            writer_text(&writer, &writer.features[PERFDATA_HOSTNAME], "somewhere");
        if (features > 1)
            writer_text(&writer, &writer.features[PERFDATA_OSRELEASE], "6.1.0");
        open_writer(&writer, &file, &copy);
        assert_false(file.unfinished || file.features_lost);
        assert_int_equal(file.data_size, 0);
        assert_int_equal(file.missing, 0);
        assert_string_equal(file.features.hostname, features > 0 ? "somewhere" : "");
        assert_string_equal(file.features.osrelease, features > 1 ? "6.1.0" : "");
        assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
        assert_int_equal(seen.records, 0);
        assert_int_equal(file.unread, 0);
        assert_string_equal(file.problem.text, "");
        close_file(&file, copy);
    }
}

/* OFFSET and SIZE of the data as a header claims them, in a file of 1000 bytes. */
static void check_claim(uint64_t offset, uint64_t size, uint64_t data_size, uint64_t missing)
{
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct file file;
    struct problem problem = {""};
    unsigned char copy[1000] = {0};
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, NULL);
    writer_finish(&writer, &bytes);
    assert_true(bytes.size < sizeof(copy));
    memcpy(copy, bytes.data, bytes.size);
    memcpy(copy + DATA_OFFSET_AT, &offset, sizeof(offset));
    memcpy(copy + DATA_SIZE_AT, &size, sizeof(size));
    assert_int_equal(file_open_memory(&file, copy, sizeof(copy), &problem), 0);
    assert_int_equal(file.data_offset, offset < sizeof(copy) ? offset : sizeof(copy));
    assert_int_equal(file.data_size, data_size);
    assert_int_equal(file.missing, missing);
    assert_int_equal(file.unfinished, size == 0 && offset < sizeof(copy));
    assert_int_equal(file.features_lost, missing > 0);
    file_release(&file);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_claims(void **state)
{
    (void)state;
    check_claim(900, 50, 50, 0);
    check_claim(900, 100, 100, 0);
    check_claim(900, 101, 100, 1);
    check_claim(900, UINT64_MAX, 100, UINT64_MAX - 100);
    check_claim(900, 0, 100, 0);
    check_claim(1000, 0, 0, 0);
    check_claim(1000, 7, 0, 7);
    check_claim(1001, 7, 0, 8);
    check_claim(1001, 0, 0, 1);
    check_claim(UINT64_MAX, 1000, 0, UINT64_MAX);
    check_claim(UINT64_MAX, 1001, 0, UINT64_MAX - 1000); /* more than can be told */
}

/* Whoever looks at the records may end it: at once, in a round, or with what is left at the end. */
static void test_ended(void **state)
{
    (void)state;
    struct writer writer;
    struct file file;
    unsigned char *copy;
    begin(&writer, false, false);
    for (unsigned i = 0; i < 6; i++) {
        if (i == 2)
            writer.time = 0; /* without a time it comes at once */
        put_sample(&writer, 0, i);
        if (i == 2)
            writer.time = 2000;
        if (i == 3 || i == 4)
            writer_round(&writer);
    }
    open_writer(&writer, &file, &copy);
    struct seen all = {0};
    assert_int_equal(file_records(&file, UINT64_MAX, note, &all), 0);
    assert_int_equal(all.samples, 6);
    for (unsigned at = 1; at <= all.records; at++) {
        struct seen seen = {.stop_at = at};
        assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 77);
        assert_int_equal(seen.records, at);
    }
    close_file(&file, copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_in_a_pipe),
        cmocka_unit_test(test_damaged_event_in_a_pipe),
        cmocka_unit_test(test_event_without_a_size),
        cmocka_unit_test(test_events_of_a_disk),
        cmocka_unit_test(test_features_in_a_pipe),
        cmocka_unit_test(test_extra_bytes),
        cmocka_unit_test(test_counts_of_types),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_nothing_recorded),
        cmocka_unit_test(test_claims),
        cmocka_unit_test(test_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
