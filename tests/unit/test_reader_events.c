/* SPDX-License-Identifier: MIT */
/* analyze/read/attr.h: descriptions of events in either byte order, and which event a record is of. */
#include "check.h"

#include <errno.h>

#include "analyze/read/file.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

enum { ATTRS_MOST = 16384 };

/* Every field has another value, so that one that is not swapped, or taken for another, is seen. */
static void test_fields(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        struct file file;
        struct problem problem = {""};
        writer_init(&writer, swap, false);
        struct perf_event_attr *attr = writer_attr(&writer, 0x01020304, 0x1112131415161718, 0x2122232425262728, "one");
        attr->sample_type = 0x3132333435363738;
        attr->read_format = 0x4142434445464748;
        attr->disabled = attr->exclude_kernel = attr->freq = attr->sample_id_all = attr->use_clockid = 1;
        attr->wakeup_events = 0x51525354;
        attr->bp_type = 0x61626364;
        attr->config1 = 0x7172737475767778;
        attr->config2 = 0x8182838485868788;
        attr->branch_sample_type = 0x9192939495969798;
        attr->sample_regs_user = 0xa1a2a3a4a5a6a7a8;
        attr->sample_stack_user = 0xb1b2b3b4;
        attr->clockid = 0x41424344;
        attr->sample_regs_intr = 0xc1c2c3c4c5c6c7c8;
        attr->sample_max_stack = 0xd1d2;
        writer_finish(&writer, &bytes);
        assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
        assert_int_equal(file.attrs.count, 1);
        assert_memory_equal(&file.attrs.items[0].perf, attr, sizeof(*attr));
        assert_string_equal(file.attrs.items[0].name, "one");
        assert_int_equal(file.attrs.items[0].ids, 1);
        assert_int_equal(file.attrs.items[0].first_id, 100);
        assert_int_equal(file.attrs.items[0].index, 0);
        file_release(&file);
        buffer_release(&bytes);
        writer_release(&writer);
    }
}

/* LIST has two events of SAMPLE_TYPE, with the ids 100 and 101. */
static void add_two(struct attr_list *list, uint64_t sample_type, bool sample_id_all)
{
    struct problem problem = {""};
    *list = (struct attr_list){.sample_id_at = -1, .other_id_back = -1, .id_limit = 100};
    for (uint64_t i = 0; i < 2; i++) {
        struct perf_event_attr attr = {
            .size = sizeof(attr), .sample_type = sample_type, .config = i, .sample_id_all = sample_id_all};
        struct cursor cursor = cursor_of(&attr, sizeof(attr));
        assert_int_equal(attr_add(list, &cursor, sizeof(attr), &problem), 0);
        assert_int_equal(cursor_left(&cursor), 0);
        assert_int_equal(attr_add_id(list, 100 + i, &problem), 0);
    }
}

static const struct attr *find(const struct attr_list *list, const struct writer *writer, size_t size, uint32_t type)
{
    /* A copy, so that a sanitizer sees the first byte read too far. */
    unsigned char *copy = malloc(size);
    memcpy(copy, writer->data.data, size);
    const struct attr *found = attr_of_record(list, copy, size, type, writer->swap);
    free(copy);
    return found;
}

static const uint64_t before_id[] = {PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID,       PERF_SAMPLE_TIME,
                                     PERF_SAMPLE_ADDR,       PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU};
static const uint64_t in_trailer[] = {PERF_SAMPLE_TID,       PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
                                      PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER};

/* ID where SAMPLE_TYPE has one; 7 in all other fields. The end of the last id, or 0. */
static size_t put_fields(struct writer *writer, uint64_t sample_type, const uint64_t *fields, size_t count, uint64_t id)
{
    size_t end = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(sample_type & fields[i]))
            continue;
        bool here = fields[i] == PERF_SAMPLE_IDENTIFIER ||
                    (fields[i] == PERF_SAMPLE_ID && !(sample_type & PERF_SAMPLE_IDENTIFIER));
        writer_u64(writer, &writer->data, here ? id : 7);
        end = here ? writer->data.size : end;
    }
    return end;
}

static void check_sample(uint64_t sample_type, bool swap)
{
    struct writer writer;
    struct attr_list list;
    bool has = sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID);
    add_two(&list, sample_type, true);
    for (uint64_t id = 100; id < 103; id++) {
        writer_init(&writer, swap, false);
        writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
        size_t end = put_fields(&writer, sample_type, before_id, 8, id);
        const struct attr *wanted = !has ? &list.items[0] : id < 102 ? &list.items[id - 100] : NULL;
        assert_ptr_equal(find(&list, &writer, writer.data.size, PERF_RECORD_SAMPLE), wanted);
        if (has) {
            assert_ptr_equal(find(&list, &writer, end, PERF_RECORD_SAMPLE), wanted);
            assert_null(find(&list, &writer, end - 1, PERF_RECORD_SAMPLE));
        }
        writer_release(&writer);
    }
    attr_list_release(&list);
}

static void check_other(uint64_t sample_type, bool swap)
{
    struct writer writer;
    struct attr_list list;
    bool has = sample_type & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID);
    for (int all = 0; all < 2; all++) {
        add_two(&list, sample_type, all);
        for (uint64_t id = 100; id < 103; id++) {
            writer_init(&writer, swap, false);
            writer_begin(&writer, PERF_RECORD_COMM, 0);
            put_fields(&writer, sample_type, in_trailer, 6, id);
            const struct attr *wanted = !has || !all ? &list.items[0] : id < 102 ? &list.items[id - 100] : NULL;
            assert_ptr_equal(find(&list, &writer, writer.data.size, PERF_RECORD_COMM), wanted);
            /* Shorter than its trailer: whose it is nobody knows. */
            if (has && all)
                assert_null(find(&list, &writer, 8 + 7, PERF_RECORD_COMM));
            writer_release(&writer);
        }
        attr_list_release(&list);
    }
}

/* Every set of the fields that stand in front of an id, or behind it. */
static void test_records(void **state)
{
    (void)state;
    for (unsigned mask = 0; mask < 1u << 8; mask++) {
        uint64_t sample_type = 0;
        for (unsigned i = 0; i < 8; i++)
            sample_type |= mask >> i & 1 ? before_id[i] : 0;
        check_sample(sample_type, mask % 2);
        check_other(sample_type, mask % 2 == 0);
    }
}

static void test_ids(void **state)
{
    (void)state;
    struct attr_list list;
    struct problem problem = {""};
    add_two(&list, PERF_SAMPLE_IDENTIFIER, true);
    /* Nobody's is the first one's; that of an event that is not there is nobody's. */
    assert_ptr_equal(attr_of_id(&list, 0), &list.items[0]);
    assert_null(attr_of_id(&list, 4711));
    assert_null(attr_with_id(&list, 0));
    assert_int_equal(list.id_limit, 98);
    for (uint64_t i = 0; i < 98; i++)
        assert_int_equal(attr_add_id(&list, i << 32 | 0x80000001u, &problem), 0);
    assert_int_equal(attr_add_id(&list, 1, &problem), -EBADMSG);
    assert_string_equal(problem.text,
                        "the event descriptions list more ids than a file of this size can hold: the file is damaged");
    for (uint64_t i = 0; i < 98; i++)
        assert_ptr_equal(attr_of_id(&list, i << 32 | 0x80000001u), &list.items[1]);
    assert_ptr_equal(attr_of_id(&list, 100), &list.items[0]);
    assert_int_equal(list.items[1].ids, 99);
    assert_int_equal(list.items[1].first_id, 101);
    /* One that two events claim is of the last. */
    list.id_limit = 1;
    assert_int_equal(attr_add_id(&list, 100, &problem), 0);
    assert_ptr_equal(attr_of_id(&list, 100), &list.items[1]);
    attr_list_release(&list);
    assert_int_equal(list.count, 0);
    assert_null(attr_of_id(&list, 100));
    assert_null(attr_with_id(&list, 100));
    assert_int_equal(list.sample_id_at, -1);
    assert_int_equal(list.other_id_back, -1);
}

/* Of one event everything is, whatever it says. */
static void test_one_event(void **state)
{
    (void)state;
    struct attr_list list = {.id_limit = 1};
    struct problem problem = {""};
    struct perf_event_attr attr = {.sample_type = PERF_SAMPLE_IDENTIFIER};
    struct cursor cursor = cursor_of(&attr, sizeof(attr));
    assert_int_equal(attr_add(&list, &cursor, sizeof(attr), &problem), 0);
    assert_int_equal(attr_add_id(&list, 5, &problem), 0);
    assert_ptr_equal(attr_of_id(&list, 6), list.items);
    const unsigned char header[8] = {PERF_RECORD_SAMPLE};
    assert_ptr_equal(attr_of_record(&list, header, sizeof(header), PERF_RECORD_SAMPLE, false), list.items);
    attr_list_release(&list);
}

/* Newer descriptions are longer, older ones shorter; there is a shortest one. */
static void test_sizes(void **state)
{
    (void)state;
    static const size_t sizes[] = {PERF_ATTR_SIZE_VER0 - 1, PERF_ATTR_SIZE_VER0, sizeof(struct perf_event_attr) - 1,
                                   sizeof(struct perf_event_attr), sizeof(struct perf_event_attr) + 64};
    unsigned char bytes[sizeof(struct perf_event_attr) + 64];
    memset(bytes, 0x5a, sizeof(bytes));
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct attr_list list = {0};
        struct problem problem = {""};
        unsigned char expected[sizeof(struct perf_event_attr)] = {0};
        struct cursor cursor = cursor_of(bytes, sizes[i]);
        assert_int_equal(attr_add(&list, &cursor, sizes[i], &problem), i ? 0 : -EBADMSG);
        if (i) {
            memset(expected, 0x5a, sizes[i] < sizeof(expected) ? sizes[i] : sizeof(expected));
            assert_memory_equal(&list.items[0].perf, expected, sizeof(expected));
        } else {
            assert_string_equal(problem.text, "the description of an event is truncated");
        }
        cursor = cursor_of(bytes, sizes[i] - 1);
        assert_int_equal(attr_add(&list, &cursor, sizes[i], &problem), -EBADMSG);
        assert_int_equal(list.count, i > 0);
        attr_list_release(&list);
    }
}

static void test_most_events(void **state)
{
    (void)state;
    struct attr_list list = {0};
    struct problem problem = {""};
    struct perf_event_attr attr = {.config = 1};
    for (unsigned i = 0; i <= ATTRS_MOST; i++) {
        struct cursor cursor = cursor_of(&attr, sizeof(attr));
        assert_int_equal(attr_add(&list, &cursor, sizeof(attr), &problem), i < ATTRS_MOST ? 0 : -EBADMSG);
    }
    assert_string_equal(problem.text, "the file describes more than 16384 events");
    assert_int_equal(list.count, ATTRS_MOST);
    assert_int_equal(list.items[ATTRS_MOST - 1].index, ATTRS_MOST - 1);
    attr_list_release(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),    cmocka_unit_test(test_records), cmocka_unit_test(test_ids),
        cmocka_unit_test(test_one_event), cmocka_unit_test(test_sizes),   cmocka_unit_test(test_most_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
