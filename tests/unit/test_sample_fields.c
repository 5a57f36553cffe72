/* SPDX-License-Identifier: MIT */
/* analyze/read/sample_fields.h: every field of a sample, in all formats and both byte orders, and cut off anywhere. */
#include "check.h"

#include <errno.h>

#include "analyze/read/sample_fields.h"
#include "perfdata_writer.h"

#ifndef PERF_SAMPLE_BRANCH_COUNTERS /* Linux 6.8 */
#define PERF_SAMPLE_BRANCH_COUNTERS (1ull << 19)
#endif
#define WEIGHT_STRUCT (1ull << 24)

#define REGISTERS (1ull << 63 | 1ull << 8 | 1)
#define HALF_FIELDS                                                                                     \
    (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |  \
     PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | \
     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)
#define ALL_FIELDS                                                                                             \
    (HALF_FIELDS | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | WEIGHT_STRUCT | \
     PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR |          \
     PERF_SAMPLE_CGROUP | 1ull << 22 | 1ull << 23 | PERF_SAMPLE_AUX)

static void put(struct writer *writer, uint64_t value)
{
    writer_u64(writer, &writer->data, value);
}

static void put_pair(struct writer *writer, uint32_t first, uint32_t second)
{
    writer_u32(writer, &writer->data, first);
    writer_u32(writer, &writer->data, second);
}

/* The flags of a branch as the compiler of a machine of either byte order puts them. */
static uint64_t branch_flags(bool swap)
{
    /* mispredicted, no prediction, in a transaction, aborted; 500 cycles, type 9, speculation 2, new type 5,
     * privilege 3: each with its width. */
    static const unsigned parts[][2] = {{1, 1}, {0, 1}, {1, 1}, {1, 1}, {500, 16}, {9, 4}, {2, 2}, {5, 4}, {3, 3}};
    uint64_t flags = 0;
    unsigned used = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        unsigned width = parts[i][1];
        flags |= (uint64_t)parts[i][0] << (swap ? 64 - used - width : used);
        used += width;
    }
    return flags;
}

static void put_first_half(struct writer *writer)
{
    put(writer, 0x11);
    put(writer, 0x12);
    put_pair(writer, 0x13, 0x14);
    put(writer, 0x15);
    put(writer, 0x16);
    put(writer, 0x17);
    put(writer, 0x18);
    put_pair(writer, 0x19, 0);
    put(writer, 0x1a);
    /* A group of two, with times, ids and losses. */
    put(writer, 2);
    put(writer, 0x20);
    put(writer, 0x21);
    for (unsigned i = 0; i < 6; i++)
        put(writer, 0x22 + i);
    put(writer, 2);
    put(writer, 0x30);
    put(writer, 0x31);
    writer_u32(writer, &writer->data, 12);
    buffer_append(&writer->data, "raw bytes 12", 12);
}

static void put_second_half(struct writer *writer)
{
    put(writer, 2);
    put(writer, 0x40);
    for (unsigned i = 0; i < 2; i++) {
        put(writer, 0x41 + i);
        put(writer, 0x51 + i);
        put(writer, i ? branch_flags(writer->swap) : 0);
    }
    put(writer, 0x61);
    put(writer, 0x62);
    put(writer, PERF_SAMPLE_REGS_ABI_64);
    for (unsigned i = 0; i < 3; i++)
        put(writer, 0x70 + i);
    put(writer, 16);
    buffer_append(&writer->data, "stack of 16 byte", 16);
    put(writer, 8);
    put(writer, 0x0003000200000001ull);
    for (unsigned i = 0; i < 2; i++)
        put(writer, 0x80 + i);
    put(writer, PERF_SAMPLE_REGS_ABI_32);
    put(writer, 0x90);
    for (unsigned i = 0; i < 4; i++)
        put(writer, 0xa0 + i);
    put(writer, 8);
    buffer_append(&writer->data, "aux data", 8);
}

static const struct attr whole = {
    .perf = {.sample_type = ALL_FIELDS,
             .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
                            PERF_FORMAT_ID | RECORD_READ_LOST,
             .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX | PERF_SAMPLE_BRANCH_COUNTERS,
             .sample_regs_user = REGISTERS,
             .sample_regs_intr = 2}};

static void keep_register(void *context, unsigned bit, uint64_t value)
{
    uint64_t **at = context;
    *(*at)++ = bit;
    *(*at)++ = value;
}

static void expect_registers(const struct sample_fields *fields)
{
    const uint64_t user[] = {0, 0x70, 8, 0x71, 63, 0x72}, other[] = {1, 0x90};
    uint64_t seen[8] = {0}, *at = seen;
    sample_each_register(fields, &fields->user, keep_register, &at);
    assert_int_equal(at - seen, 6);
    assert_memory_equal(seen, user, sizeof(user));
    at = seen;
    sample_each_register(fields, &fields->interrupted, keep_register, &at);
    assert_int_equal(at - seen, 2);
    assert_memory_equal(seen, other, sizeof(other));
    assert_int_equal(fields->user.abi, PERF_SAMPLE_REGS_ABI_64);
    assert_int_equal(fields->interrupted.abi, PERF_SAMPLE_REGS_ABI_32);
}

static void expect_branches(const struct sample_fields *fields)
{
    assert_int_equal(fields->branches.count, 2);
    assert_true(fields->branches.has_hw_index);
    assert_int_equal(fields->branches.hw_index, 0x40);
    struct sample_branch branch = sample_branch(fields, 0);
    assert_int_equal(branch.from, 0x41);
    assert_int_equal(branch.to, 0x51);
    assert_false(branch.mispredicted || branch.predicted || branch.cycles || branch.type);
    assert_int_equal(branch.counters, 0x61);
    branch = sample_branch(fields, 1);
    assert_int_equal(branch.from, 0x42);
    assert_int_equal(branch.to, 0x52);
    assert_true(branch.mispredicted && !branch.predicted && branch.in_transaction && branch.aborted);
    assert_int_equal(branch.cycles, 500);
    assert_int_equal(branch.type, 9);
    assert_int_equal(branch.speculation, 2);
    assert_int_equal(branch.new_type, 5);
    assert_int_equal(branch.privilege, 3);
    assert_int_equal(branch.counters, 0x62);
}

static void expect_start(const struct sample_fields *fields)
{
    assert_int_equal(fields->has, ALL_FIELDS);
    assert_int_equal(fields->identifier, 0x11);
    assert_int_equal(fields->ip, 0x12);
    assert_int_equal(fields->pid, 0x13);
    assert_int_equal(fields->tid, 0x14);
    assert_int_equal(fields->time, 0x15);
    assert_int_equal(fields->addr, 0x16);
    assert_int_equal(fields->id, 0x17);
    assert_int_equal(fields->stream_id, 0x18);
    assert_int_equal(fields->cpu, 0x19);
    assert_int_equal(fields->period, 0x1a);
    assert_int_equal(fields->read.count, 2);
    assert_int_equal(fields->read.enabled_ns, 0x20);
    assert_int_equal(fields->read.running_ns, 0x21);
    for (unsigned i = 0; i < 2; i++) {
        struct sample_value value = sample_value(fields, i);
        assert_int_equal(value.value, 0x22 + 3 * i);
        assert_int_equal(value.id, 0x23 + 3 * i);
        assert_int_equal(value.lost, 0x24 + 3 * i);
        assert_int_equal(sample_chain(fields, i), 0x30 + i);
    }
    assert_int_equal(fields->chain_count, 2);
    assert_int_equal(fields->raw.size, 12);
    assert_memory_equal(fields->raw.at, "raw bytes 12", 12);
}

static void expect_end(const struct sample_fields *fields)
{
    assert_int_equal(fields->user_stack_asked, 16);
    assert_int_equal(fields->user_stack.size, 8);
    assert_memory_equal(fields->user_stack.at, "stack of", 8);
    assert_int_equal(fields->weight, 1);
    assert_int_equal(fields->weight2, 2);
    assert_int_equal(fields->weight3, 3);
    assert_int_equal(fields->data_source, 0x80);
    assert_int_equal(fields->transaction, 0x81);
    assert_int_equal(fields->physical, 0xa0);
    assert_int_equal(fields->cgroup, 0xa1);
    assert_int_equal(fields->data_page_size, 0xa2);
    assert_int_equal(fields->code_page_size, 0xa3);
    assert_int_equal(fields->aux.size, 8);
    assert_memory_equal(fields->aux.at, "aux data", 8);
}

/* The first SIZE bytes, in memory of exactly that size. */
static int decode(const struct writer *writer, const struct attr *attr, size_t size, unsigned char **ret_copy,
                  struct sample_fields *ret)
{
    *ret_copy = malloc(size);
    memcpy(*ret_copy, writer->data.data, size);
    const struct record record = {.type = PERF_RECORD_SAMPLE,
                                  .swap = writer->swap,
                                  .attr = attr,
                                  .payload = *ret_copy + RECORD_HEADER,
                                  .payload_size = size - RECORD_HEADER};
    return sample_fields_decode(&record, ret);
}

static void test_all_fields(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct writer writer;
        struct sample_fields fields;
        unsigned char *copy;
        writer_init(&writer, swap, false);
        writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
        put_first_half(&writer);
        put_second_half(&writer);
        assert_int_equal(decode(&writer, &whole, writer.data.size, &copy, &fields), 0);
        expect_start(&fields);
        expect_branches(&fields);
        expect_registers(&fields);
        expect_end(&fields);
        free(copy);
        for (size_t size = RECORD_HEADER; size < writer.data.size; size++) {
            assert_int_equal(decode(&writer, &whole, size, &copy, &fields), -EBADMSG);
            free(copy);
        }
        writer_release(&writer);
    }
}

/* Every read_format; one value has its id and its losses behind the times. */
static void test_read_formats(void **state)
{
    (void)state;
    for (uint64_t format = 0; format < 32; format++) {
        struct writer writer;
        struct sample_fields fields;
        unsigned char *copy;
        struct attr attr = {.perf = {.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_CGROUP, .read_format = format}};
        const bool group = format & PERF_FORMAT_GROUP, id = format & PERF_FORMAT_ID, lost = format & RECORD_READ_LOST;
        writer_init(&writer, false, false);
        writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
        put(&writer, group ? 3 : 0x100);
        if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
            put(&writer, 0x51);
        if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
            put(&writer, 0x52);
        for (unsigned i = 0; i < (group ? 3 : 1); i++) {
            if (group)
                put(&writer, 0x100 + i);
            if (id)
                put(&writer, 0x200 + i);
            if (lost)
                put(&writer, 0x300 + i);
        }
        put(&writer, 0x99);
        assert_int_equal(decode(&writer, &attr, writer.data.size, &copy, &fields), 0);
        assert_int_equal(fields.read.count, group ? 3 : 1);
        assert_int_equal(fields.read.enabled_ns, format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 0x51 : 0);
        assert_int_equal(fields.read.running_ns, format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 0x52 : 0);
        for (unsigned i = 0; i < fields.read.count; i++) {
            struct sample_value value = sample_value(&fields, i);
            assert_int_equal(value.value, 0x100 + i);
            assert_int_equal(value.id, id ? 0x200 + i : 0);
            assert_int_equal(value.lost, lost ? 0x300 + i : 0);
        }
        assert_int_equal(fields.cgroup, 0x99);
        free(copy);
        writer_release(&writer);
    }
}

/* Counts that no record can hold, also where their product would wrap around; registers without an ABI. */
static void test_wrong_sizes(void **state)
{
    (void)state;
    static const uint64_t kinds[] = {PERF_SAMPLE_READ,       PERF_SAMPLE_CALLCHAIN, PERF_SAMPLE_BRANCH_STACK,
                                     PERF_SAMPLE_STACK_USER, PERF_SAMPLE_AUX,       PERF_SAMPLE_RAW};
    static const uint64_t counts[] = {4, 1ull << 61, 1ull << 63, UINT64_MAX, UINT64_MAX / 24 + 1};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++) {
            struct writer writer;
            struct sample_fields fields;
            unsigned char *copy;
            struct attr attr = {.perf = {.sample_type = kinds[i], .read_format = PERF_FORMAT_GROUP}};
            writer_init(&writer, false, false);
            writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
            put(&writer, kinds[i] == PERF_SAMPLE_RAW                                         ? UINT32_MAX
                         : kinds[i] == PERF_SAMPLE_STACK_USER || kinds[i] == PERF_SAMPLE_AUX ? counts[j] * 3 | 25
                                                                                             : counts[j]);
            put(&writer, 1);
            put(&writer, 2);
            put(&writer, 3);
            assert_int_equal(decode(&writer, &attr, writer.data.size, &copy, &fields), -EBADMSG);
            free(copy);
            writer_release(&writer);
        }
    struct writer writer;
    struct sample_fields fields;
    unsigned char *copy;
    writer_init(&writer, false, false);
    writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
    put(&writer, 0);
    const struct attr none = {.perf = {.sample_type = PERF_SAMPLE_REGS_USER, .sample_regs_user = REGISTERS}};
    assert_int_equal(decode(&writer, &none, writer.data.size, &copy, &fields), 0);
    assert_null(fields.user.at);
    sample_each_register(&fields, &fields.user, keep_register, NULL);
    free(copy);
    const struct attr weight = {.perf = {.sample_type = PERF_SAMPLE_WEIGHT}};
    buffer_clear(&writer.data);
    writer_begin(&writer, PERF_RECORD_SAMPLE, 0);
    put(&writer, 0x0003000200000001ull);
    assert_int_equal(decode(&writer, &weight, writer.data.size, &copy, &fields), 0);
    assert_true(fields.weight == 0x0003000200000001ull && !fields.weight2);
    free(copy);
    writer_release(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_fields),
        cmocka_unit_test(test_read_formats),
        cmocka_unit_test(test_wrong_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
