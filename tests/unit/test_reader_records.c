/* SPDX-License-Identifier: MIT */
/* analyze/read/record.h: each field of a sample and of a trailer alone, with each other one, and cut off. */
#include "check.h"

#include <errno.h>

#include "analyze/read/bytes.h"
#include "analyze/read/record.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

#ifndef PERF_SAMPLE_BRANCH_COUNTERS /* Linux 6.8 */
#define PERF_SAMPLE_BRANCH_COUNTERS (1ull << 19)
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* In the kernel's order. */
static const uint64_t sample_fields[] = {
    PERF_SAMPLE_IDENTIFIER,
    PERF_SAMPLE_IP,
    PERF_SAMPLE_TID,
    PERF_SAMPLE_TIME,
    PERF_SAMPLE_ADDR,
    PERF_SAMPLE_ID,
    PERF_SAMPLE_STREAM_ID,
    PERF_SAMPLE_CPU,
    PERF_SAMPLE_PERIOD,
    PERF_SAMPLE_READ,
    PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_RAW,
    PERF_SAMPLE_BRANCH_STACK,
    PERF_SAMPLE_REGS_USER,
    PERF_SAMPLE_STACK_USER,
    PERF_SAMPLE_WEIGHT,
    PERF_SAMPLE_WEIGHT_STRUCT,
    PERF_SAMPLE_DATA_SRC,
    PERF_SAMPLE_TRANSACTION,
    PERF_SAMPLE_REGS_INTR,
    PERF_SAMPLE_PHYS_ADDR,
    PERF_SAMPLE_CGROUP,
    PERF_SAMPLE_DATA_PAGE_SIZE,
    PERF_SAMPLE_CODE_PAGE_SIZE,
    PERF_SAMPLE_AUX,
};
static const uint64_t trailer_fields[] = {
    PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU, PERF_SAMPLE_IDENTIFIER,
};

enum { IDENTIFIER = 0x1001, IP, PID, TID, TIME, ADDR, ID, STREAM, CPU, PERIOD, OTHER };

/* A record that is parsed with exactly its bytes, so that a sanitizer sees the first one read too far. */
static int parse(const struct writer *writer, const struct attr *attr, size_t size, unsigned char **ret_copy,
                 struct record *ret)
{
    *ret_copy = malloc(size);
    memcpy(*ret_copy, writer->data.data, size);
    return record_parse(attr, *ret_copy, size, writer->swap, ret);
}

static void put_many(struct writer *writer, unsigned count, uint64_t value)
{
    for (unsigned i = 0; i < count; i++)
        writer_u64(writer, &writer->data, value + i);
}

static void put_pair(struct writer *writer, uint32_t first, uint32_t second)
{
    writer_u32(writer, &writer->data, first);
    writer_u32(writer, &writer->data, second);
}

static void put_field(struct writer *writer, const struct perf_event_attr *attr, uint64_t field)
{
    struct buffer *data = &writer->data;
    switch (field) {
    case PERF_SAMPLE_IDENTIFIER: put_many(writer, 1, IDENTIFIER); return;
    case PERF_SAMPLE_IP: put_many(writer, 1, IP); return;
    case PERF_SAMPLE_TID: put_pair(writer, PID, TID); return;
    case PERF_SAMPLE_TIME: put_many(writer, 1, TIME); return;
    case PERF_SAMPLE_ADDR: put_many(writer, 1, ADDR); return;
    case PERF_SAMPLE_ID: put_many(writer, 1, ID); return;
    case PERF_SAMPLE_STREAM_ID: put_many(writer, 1, STREAM); return;
    case PERF_SAMPLE_CPU: put_pair(writer, CPU, OTHER); return;
    case PERF_SAMPLE_PERIOD: put_many(writer, 1, PERIOD); return;
    case PERF_SAMPLE_READ: put_many(writer, 1, 77); return;
    case PERF_SAMPLE_CALLCHAIN:
        put_many(writer, 1, 3);
        put_many(writer, 3, 0xc0);
        return;
    case PERF_SAMPLE_RAW:
        writer_u32(writer, data, 12);
        buffer_extend(data, 12);
        return;
    case PERF_SAMPLE_BRANCH_STACK:
        put_many(writer, 1, 2);
        put_many(writer, !!(attr->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX), OTHER);
        put_many(writer, 2 * 3, OTHER);
        put_many(writer, attr->branch_sample_type & PERF_SAMPLE_BRANCH_COUNTERS ? 2 : 0, OTHER);
        return;
    case PERF_SAMPLE_REGS_USER:
        put_many(writer, 1, PERF_SAMPLE_REGS_ABI_64);
        put_many(writer, 3, 0xe0);
        return;
    case PERF_SAMPLE_STACK_USER:
        put_many(writer, 1, 24);
        put_many(writer, 3, 0xd0);
        put_many(writer, 1, 16);
        return;
    case PERF_SAMPLE_REGS_INTR:
        put_many(writer, 1, PERF_SAMPLE_REGS_ABI_64);
        put_many(writer, 2, OTHER);
        return;
    case PERF_SAMPLE_AUX:
        put_many(writer, 1, 16);
        put_many(writer, 2, OTHER);
        return;
    default: put_many(writer, 1, OTHER); return;
    }
}

#define REGISTERS (1ull << 63 | 1ull << 8 | 1)

static struct attr attr_of(uint64_t fields)
{
    return (struct attr){.perf = {.sample_type = fields,
                                  .sample_period = 4000,
                                  .sample_regs_user = REGISTERS,
                                  .sample_regs_intr = 3,
                                  .sample_id_all = 1}};
}

static void put_sample(struct writer *writer, const struct attr *attr)
{
    writer_begin(writer, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    for (size_t i = 0; i < COUNT(sample_fields); i++)
        /* The two weights are one field. */
        if ((attr->perf.sample_type & sample_fields[i]) &&
            !(sample_fields[i] == PERF_SAMPLE_WEIGHT_STRUCT && (attr->perf.sample_type & PERF_SAMPLE_WEIGHT)))
            put_field(writer, &attr->perf, sample_fields[i]);
}

/* What the record has, and nothing where it has nothing. */
static void expect_common(const struct record *record, uint64_t fields, uint64_t id)
{
    assert_int_equal(record->has, fields);
    assert_int_equal(record->id, id);
    assert_int_equal(record->pid, fields & PERF_SAMPLE_TID ? PID : 0);
    assert_int_equal(record->tid, fields & PERF_SAMPLE_TID ? TID : 0);
    assert_int_equal(record->time, fields & PERF_SAMPLE_TIME ? TIME : 0);
    assert_int_equal(record->cpu, fields & PERF_SAMPLE_CPU ? CPU : UINT32_MAX);
}

static void expect_sample(const struct record *record, uint64_t fields, bool swap)
{
    /* Where it has both they are the same, but for files that lie. */
    expect_common(record, fields, fields & PERF_SAMPLE_ID ? ID : fields & PERF_SAMPLE_IDENTIFIER ? IDENTIFIER : 0);
    assert_int_equal(record->ip, fields & PERF_SAMPLE_IP ? IP : 0);
    assert_int_equal(record->addr, fields & PERF_SAMPLE_ADDR ? ADDR : 0);
    assert_int_equal(record->period, fields & PERF_SAMPLE_PERIOD ? PERIOD : 4000);
    assert_int_equal(record->read_count, fields & PERF_SAMPLE_READ ? 1 : 0);
    assert_int_equal(record->read ? bytes_u64(record->read, swap) : 0, fields & PERF_SAMPLE_READ ? 77 : 0);
    assert_int_equal(record->chain_count, fields & PERF_SAMPLE_CALLCHAIN ? 3 : 0);
    assert_int_equal(record->chain ? bytes_u64(record->chain + 16, swap) : 0,
                     fields & PERF_SAMPLE_CALLCHAIN ? 0xc2 : 0);
    assert_int_equal(record->user_abi, fields & PERF_SAMPLE_REGS_USER ? PERF_SAMPLE_REGS_ABI_64 : 0);
    assert_int_equal(record->user_regs ? bytes_u64(record->user_regs, swap) : 0,
                     fields & PERF_SAMPLE_REGS_USER ? 0xe0 : 0);
    assert_int_equal(record->stack_size, fields & PERF_SAMPLE_STACK_USER ? 16 : 0);
    assert_int_equal(record->user_stack ? bytes_u64(record->user_stack, swap) : 0,
                     fields & PERF_SAMPLE_STACK_USER ? 0xd0 : 0);
    assert_false(record->stack_full || record->unwound || record->cut);
}

static void check_sample(uint64_t fields, bool swap)
{
    struct writer writer;
    struct record record;
    unsigned char *copy;
    const struct attr attr = attr_of(fields);
    writer_init(&writer, swap, false);
    put_sample(&writer, &attr);
    size_t size = writer.data.size;
    assert_int_equal(parse(&writer, &attr, size, &copy, &record), 0);
    assert_int_equal(record.type, PERF_RECORD_SAMPLE);
    assert_int_equal(record.misc, PERF_RECORD_MISC_USER);
    assert_ptr_equal(record.attr, &attr);
    assert_int_equal(record.swap, swap);
    assert_int_equal(record.payload_size, size - RECORD_HEADER);
    expect_sample(&record, fields, swap);
    assert_int_equal(record_time(&attr, copy, size, PERF_RECORD_SAMPLE, swap), record.time);
    free(copy);
    /* Each byte is of some field. */
    if (fields) {
        assert_int_equal(parse(&writer, &attr, size - 1, &copy, &record), -EBADMSG);
        free(copy);
    }
    writer_release(&writer);
}

static void test_sample_fields(void **state)
{
    (void)state;
    uint64_t all = 0;
    for (size_t i = 0; i < COUNT(sample_fields); i++)
        all |= sample_fields[i];
    for (int swap = 0; swap < 2; swap++) {
        check_sample(0, swap);
        check_sample(all, swap);
        for (size_t i = 0; i < COUNT(sample_fields); i++) {
            check_sample(all & ~sample_fields[i], swap);
            for (size_t j = 0; j <= i; j++)
                check_sample(sample_fields[i] | sample_fields[j], swap);
        }
    }
}

/* Of a frequency nobody knows what a sample stands for. */
static void test_period(void **state)
{
    (void)state;
    struct writer writer;
    struct record record;
    struct attr attr = attr_of(PERF_SAMPLE_IP);
    writer_init(&writer, false, false);
    put_sample(&writer, &attr);
    assert_int_equal(record_parse(&attr, writer.data.data, writer.data.size, false, &record), 0);
    assert_int_equal(record.period, 4000);
    attr.perf.freq = 1;
    assert_int_equal(record_parse(&attr, writer.data.data, writer.data.size, false, &record), 0);
    assert_int_equal(record.period, 1);
    assert_int_equal(record_parse(NULL, writer.data.data, writer.data.size, false, &record), -EBADMSG);
    writer_release(&writer);
}

static void put_reading(struct writer *writer, uint64_t format, unsigned events)
{
    const bool enabled = format & PERF_FORMAT_TOTAL_TIME_ENABLED, running = format & PERF_FORMAT_TOTAL_TIME_RUNNING;
    const unsigned each = !!(format & PERF_FORMAT_ID) + !!(format & RECORD_READ_LOST);
    if (!(format & PERF_FORMAT_GROUP)) {
        put_many(writer, 1, 0xa0);
        put_many(writer, enabled + running + each, OTHER);
        return;
    }
    put_many(writer, 1, events);
    put_many(writer, enabled + running, OTHER);
    for (unsigned i = 0; i < events; i++) {
        put_many(writer, 1, 0xa0 + i);
        put_many(writer, each, OTHER);
    }
}

/* Every format of PERF_SAMPLE_READ, with the period in front and a chain behind. */
static void test_read_formats(void **state)
{
    (void)state;
    for (uint64_t format = 0; format < 64; format++) {
        struct writer writer;
        struct record record;
        unsigned char *copy;
        struct attr attr = attr_of(PERF_SAMPLE_READ);
        bool swap = format & 32;
        unsigned events = format & PERF_FORMAT_GROUP ? 3 : 1;
        size_t each = 8 * (1 + (size_t) !!(format & PERF_FORMAT_ID) + !!(format & RECORD_READ_LOST));
        attr.perf.read_format = format & 31;
        writer_init(&writer, swap, false);
        writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
        put_reading(&writer, format, events);
        assert_int_equal(parse(&writer, &attr, writer.data.size, &copy, &record), 0);
        assert_int_equal(record.read_count, events);
        for (unsigned i = 0; i < events; i++)
            assert_int_equal(bytes_u64(record.read + i * each, swap), 0xa0 + i);
        free(copy);
        assert_int_equal(parse(&writer, &attr, writer.data.size - 1, &copy, &record), -EBADMSG);
        free(copy);
        writer_release(&writer);
    }
}

static void test_branches(void **state)
{
    (void)state;
    static const uint64_t kinds[] = {0, PERF_SAMPLE_BRANCH_HW_INDEX, PERF_SAMPLE_BRANCH_COUNTERS,
                                     PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_COUNTERS};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct writer writer;
        struct record record;
        unsigned char *copy;
        struct attr attr = attr_of(PERF_SAMPLE_BRANCH_STACK);
        attr.perf.branch_sample_type = kinds[i];
        writer_init(&writer, false, false);
        put_sample(&writer, &attr);
        for (size_t cut = 0; cut < 2; cut++) {
            assert_int_equal(parse(&writer, &attr, writer.data.size - cut, &copy, &record), cut ? -EBADMSG : 0);
            free(copy);
        }
        writer_release(&writer);
    }
}

/* Registers that were not there have no bytes: an ABI of 0 stands alone. */
static void test_registers(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct writer writer;
        struct record record;
        uint64_t value;
        struct attr attr = attr_of(PERF_SAMPLE_REGS_USER);
        writer_init(&writer, swap, false);
        put_sample(&writer, &attr);
        assert_int_equal(record_parse(&attr, writer.data.data, writer.data.size, swap, &record), 0);
        for (unsigned bit = 0; bit < 66; bit++) {
            bool there = bit == 0 || bit == 8 || bit == 63;
            value = 1;
            assert_int_equal(record_user_register(&record, bit, &value), there);
            assert_int_equal(value, !there ? 1 : bit == 0 ? 0xe0 : bit == 8 ? 0xe1 : 0xe2);
        }
        record.attr = NULL;
        assert_false(record_user_register(&record, 0, &value));
        buffer_clear(&writer.data);
        writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
        put_many(&writer, 1, 0);
        assert_int_equal(record_parse(&attr, writer.data.data, writer.data.size, swap, &record), 0);
        assert_int_equal(record.user_abi, 0);
        assert_null(record.user_regs);
        assert_false(record_user_register(&record, 0, &value));
        writer_release(&writer);
    }
}

/* The dump has SIZE bytes, of which USED were copied; a size of 0 stands alone. */
static void check_stack(uint64_t size, uint64_t used, uint64_t expected, bool full)
{
    struct writer writer;
    struct record record;
    unsigned char *copy;
    const struct attr attr = attr_of(PERF_SAMPLE_STACK_USER);
    writer_init(&writer, false, false);
    writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
    put_many(&writer, 1, size);
    put_many(&writer, (unsigned)(size / 8), 0xd0);
    put_many(&writer, size > 0, used);
    assert_int_equal(parse(&writer, &attr, writer.data.size, &copy, &record), 0);
    assert_int_equal(record.stack_size, expected);
    assert_int_equal(record.stack_full, full);
    assert_ptr_equal(record.user_stack, expected ? copy + RECORD_HEADER + 8 : NULL);
    free(copy);
    writer_release(&writer);
}

static void test_stacks(void **state)
{
    (void)state;
    check_stack(0, 0, 0, false);
    check_stack(32, 0, 0, false);
    check_stack(32, 31, 31, false);
    check_stack(32, 32, 32, true);
    check_stack(32, 33, 32, true);
    check_stack(32, UINT64_MAX, 32, true);
}

static uint64_t put_trailer(struct writer *writer, uint32_t type, unsigned mask)
{
    uint64_t fields = 0;
    writer_begin(writer, type, PERF_RECORD_MISC_USER);
    put_many(writer, 2, OTHER); /* a payload */
    for (size_t i = 0; i < COUNT(trailer_fields); i++) {
        if (!(mask >> i & 1))
            continue;
        fields |= trailer_fields[i];
        put_field(writer, NULL, trailer_fields[i]);
    }
    return fields;
}

static void check_trailer(unsigned mask, bool swap)
{
    struct writer writer;
    struct record record;
    unsigned char *copy;
    writer_init(&writer, swap, false);
    uint64_t fields = put_trailer(&writer, PERF_RECORD_COMM, mask);
    /* Of the fields of samples the others are not there. */
    struct attr attr = attr_of(fields | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN);
    size_t size = writer.data.size, trailer = size - RECORD_HEADER - 16;
    assert_int_equal(parse(&writer, &attr, size, &copy, &record), 0);
    expect_common(&record, fields, fields & PERF_SAMPLE_IDENTIFIER ? IDENTIFIER : fields & PERF_SAMPLE_ID ? ID : 0);
    assert_int_equal(record.payload_size, 16);
    assert_int_equal(record_time(&attr, copy, size, PERF_RECORD_COMM, swap), record.time);
    free(copy);
    /* Shorter ones have a shorter payload, as long as there is one. */
    for (size_t cut = RECORD_HEADER; trailer && cut < size; cut++) {
        int status = parse(&writer, &attr, cut, &copy, &record);
        assert_int_equal(status, cut < RECORD_HEADER + trailer ? -EBADMSG : 0);
        if (status == 0)
            assert_int_equal(record.payload_size, cut - RECORD_HEADER - trailer);
        else
            assert_int_equal(record_time(&attr, copy, cut, PERF_RECORD_COMM, swap), 0);
        free(copy);
    }
    attr.perf.sample_id_all = 0;
    assert_int_equal(record_parse(&attr, writer.data.data, size, swap, &record), 0);
    expect_common(&record, 0, 0);
    assert_int_equal(record.payload_size, size - RECORD_HEADER);
    assert_int_equal(record_time(&attr, writer.data.data, size, PERF_RECORD_COMM, swap), 0);
    writer_release(&writer);
}

static void test_trailers(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++)
        for (unsigned mask = 0; mask < 1u << COUNT(trailer_fields); mask++)
            check_trailer(mask, swap);
}

/* The kernel's records have trailers, those that perf adds have none; nor has anything of an unknown event. */
static void test_trailers_by_type(void **state)
{
    (void)state;
    static const uint32_t types[] = {PERF_RECORD_MMAP, PERFDATA_RECORD_ATTR - 1, PERFDATA_RECORD_ATTR,
                                     PERFDATA_RECORD_ATTR + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct writer writer;
        struct record record;
        writer_init(&writer, false, false);
        const struct attr attr = attr_of(put_trailer(&writer, types[i], UINT32_MAX));
        size_t size = writer.data.size;
        bool kernel = types[i] < PERFDATA_RECORD_ATTR;
        assert_int_equal(record_parse(&attr, writer.data.data, size, false, &record), 0);
        assert_int_equal(record.type, types[i]);
        assert_int_equal(record.payload_size, kernel ? 16 : size - RECORD_HEADER);
        assert_int_equal(record.time, kernel ? TIME : 0);
        assert_int_equal(record_time(&attr, writer.data.data, size, types[i], false), kernel ? TIME : 0);
        assert_int_equal(record_parse(NULL, writer.data.data, size, false, &record), 0);
        expect_common(&record, 0, 0);
        assert_int_equal(record.payload_size, size - RECORD_HEADER);
        assert_int_equal(record_time(NULL, writer.data.data, size, types[i], false), 0);
        writer_release(&writer);
    }
}

/* A sample that ends before its time has none; one that ends with it has. */
static void test_time_of_short_samples(void **state)
{
    (void)state;
    struct writer writer;
    const struct attr attr = attr_of(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                     PERF_SAMPLE_ADDR);
    const size_t end = RECORD_HEADER + 4 * 8;
    writer_init(&writer, false, false);
    put_sample(&writer, &attr);
    for (size_t size = RECORD_HEADER; size <= writer.data.size; size++) {
        unsigned char *copy = malloc(size);
        memcpy(copy, writer.data.data, size);
        assert_int_equal(record_time(&attr, copy, size, PERF_RECORD_SAMPLE, false), size < end ? 0 : TIME);
        free(copy);
    }
    writer_release(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sample_fields),
        cmocka_unit_test(test_period),
        cmocka_unit_test(test_read_formats),
        cmocka_unit_test(test_branches),
        cmocka_unit_test(test_registers),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_trailers),
        cmocka_unit_test(test_trailers_by_type),
        cmocka_unit_test(test_time_of_short_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
