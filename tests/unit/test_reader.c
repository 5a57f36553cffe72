/* SPDX-License-Identifier: MIT */
/* analyze/read: the format, out of files written by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/read/bytes.h"
#include "analyze/read/file.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

#define USER PERF_RECORD_MISC_USER

struct seen {
    unsigned samples, others;
    uint64_t times[64];
    char events[64][32];
    struct record last;
};

static int note(void *context, const struct record *record)
{
    struct seen *seen = context;
    if (record->type != PERF_RECORD_SAMPLE) {
        seen->others++;
        return 0;
    }
    if (seen->samples < 64) {
        seen->times[seen->samples] = record->time;
        snprintf(seen->events[seen->samples], 32, "%s", record->attr->name ? record->attr->name : "");
    }
    seen->last = *record;
    seen->samples++;
    return 0;
}

static int fill(struct writer *writer)
{
    static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1010, 0x2020};
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000000, "task-clock");
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults")->exclude_kernel = 1;
    writer_text(writer, &writer->features[PERFDATA_HOSTNAME], "somewhere");
    writer_comm(writer, "app", true);
    writer_mmap(writer, 0x1000, 0x3000, 0, "/bin/app");
    for (int i = 0; i < 3; i++) {
        writer->time += 10;
        writer_sample(writer, i == 2, USER, 0x1010, 7 + (uint64_t)i, chain, 3);
    }
    return 3;
}

static void finish_small(bool swap, bool pipe, struct buffer *ret)
{
    struct writer writer;
    writer_init(&writer, swap, pipe);
    fill(&writer);
    writer_finish(&writer, ret);
    writer_release(&writer);
}

static void check_small(const struct buffer *bytes, bool swap, bool pipe)
{
    struct file file;
    struct problem problem = {""};
    struct seen seen = {0};
    assert_int_equal(file_open_memory(&file, bytes->data, bytes->size, &problem), 0);
    assert_int_equal(file.swap, swap);
    assert_int_equal(file.pipe, pipe);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_string_equal(file.problem.text, "");
    assert_int_equal(file.unread, 0);
    assert_int_equal(seen.samples, 3);
    assert_string_equal(seen.events[0], "task-clock");
    assert_string_equal(seen.events[2], "page-faults");
    assert_int_equal(seen.times[0], 1010);
    assert_int_equal(seen.last.pid, 10);
    assert_int_equal(seen.last.period, 9);
    assert_int_equal(seen.last.ip, 0x1010);
    assert_int_equal(seen.last.chain_count, 3);
    assert_int_equal(bytes_u64(seen.last.chain + 16, swap), 0x2020);
    assert_int_equal(seen.last.attr->perf.exclude_kernel, 1);
    assert_int_equal(file.attrs.items[0].perf.exclude_kernel, 0);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 3);
    assert_string_equal(file.features.hostname, "somewhere");
    file_release(&file);
}

static void test_kinds(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct buffer bytes = BUFFER_INIT;
        finish_small(kind & 1, kind & 2, &bytes);
        check_small(&bytes, kind & 1, kind & 2);
        buffer_release(&bytes);
    }
}

/* A copy with SIZE bytes of its own, so that a sanitizer sees the first byte read too far. */
static int open_copy(const struct buffer *bytes, size_t size, struct file *file, void **ret_copy,
                     struct problem *problem)
{
    *ret_copy = malloc(size ? size : 1);
    memcpy(*ret_copy, bytes->data, size);
    *problem = (struct problem){""};
    return file_open_memory(file, *ret_copy, size, problem);
}

static void test_truncation(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        struct buffer bytes = BUFFER_INIT;
        finish_small(kind & 1, kind & 2, &bytes);
        for (size_t size = 0; size < bytes.size; size++) {
            struct file file;
            struct problem problem;
            struct seen seen = {0};
            void *copy;
            int status = open_copy(&bytes, size, &file, &copy, &problem);
            if (status < 0) {
                assert_true(problem.text[0]);
            } else {
                assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
                assert_true(seen.samples <= 3);
                /* Nothing is cut off silently. */
                assert_true(file.missing || file.features_lost || file.unread || file.pipe);
                file_release(&file);
            }
            free(copy);
        }
        buffer_release(&bytes);
    }
}

static void expect_refusal(const struct buffer *bytes, size_t size, const char *text)
{
    struct file file;
    struct problem problem;
    void *copy;
    assert_true(open_copy(bytes, size, &file, &copy, &problem) < 0);
    if (!strstr(problem.text, text))
        fail_msg("\"%s\" instead of \"%s\"", problem.text, text);
    free(copy);
}

static void poke(struct buffer *bytes, size_t at, uint64_t value)
{
    memcpy(bytes->data + at, &value, sizeof(value));
}

static void test_headers(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT;
    finish_small(false, false, &bytes);
    expect_refusal(&bytes, 0, "the file is empty; record again");
    expect_refusal(&bytes, 5, "the file is not a perf.data file");
    expect_refusal(&bytes, 60, "the file's header is truncated: it has only 60 of its 104 bytes");
    expect_refusal(&bytes, 180, "the file is truncated: its event descriptions end at byte");
    uint64_t magic, ids;
    memcpy(&magic, bytes.data, 8);
    memcpy(bytes.data, "PERFFILE", 8);
    expect_refusal(&bytes, bytes.size, "first file format");
    memcpy(bytes.data, "\177ELF\2\1\1", 8);
    expect_refusal(&bytes, bytes.size, "the file is not a perf.data file");
    poke(&bytes, 0, magic);
    poke(&bytes, 8, 50);
    expect_refusal(&bytes, bytes.size, "claims to have 50 bytes");
    poke(&bytes, 8, 104);
    poke(&bytes, 16, 1u << 20);
    expect_refusal(&bytes, bytes.size, "1048576 bytes");
    poke(&bytes, 16, 8);
    expect_refusal(&bytes, bytes.size, "8 bytes");
    poke(&bytes, 16, sizeof(struct perf_event_attr) + 16);
    poke(&bytes, 32, 0);
    expect_refusal(&bytes, bytes.size, "the file describes no event");
    poke(&bytes, 32, 2 * (sizeof(struct perf_event_attr) + 16));
    size_t at = sizeof(struct perfdata_header) + 8 * WRITER_ATTRS + sizeof(struct perf_event_attr);
    memcpy(&ids, bytes.data + at, 8);
    poke(&bytes, at, UINT64_MAX - 3);
    expect_refusal(&bytes, bytes.size, "ids of an event lie outside");
    poke(&bytes, at, ids);
    check_small(&bytes, false, false);
    buffer_release(&bytes);
}

/* Ids that all events share make a small file ask for much. */
static void test_many_ids(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT;
    finish_small(false, false, &bytes);
    size_t entry = sizeof(struct perf_event_attr) + 16, first = sizeof(struct perfdata_header) + 8 * WRITER_ATTRS;
    for (int i = 0; i < 2; i++) {
        poke(&bytes, first + entry * (size_t)i + entry - 16, 0);
        poke(&bytes, first + entry * (size_t)i + entry - 8, bytes.size / 8 * 8);
    }
    expect_refusal(&bytes, bytes.size,
                   "the event descriptions list more ids than a file of this size can hold: the file is damaged");
    buffer_release(&bytes);
}

static void expect_problem(const struct buffer *bytes, const char *text, unsigned samples)
{
    struct file file;
    struct problem problem;
    struct seen seen = {0};
    void *copy;
    assert_int_equal(open_copy(bytes, bytes->size, &file, &copy, &problem), 0);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_int_equal(seen.samples, samples);
    if (!strstr(file.problem.text, text))
        fail_msg("\"%s\" instead of \"%s\"", file.problem.text, text);
    file_release(&file);
    free(copy);
}

static void test_record_sizes(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    writer_init(&writer, false, false);
    fill(&writer);
    size_t last = writer.record;
    writer.data.data[last + 6] = writer.data.data[last + 7] = 0;
    writer_finish(&writer, &bytes);
    expect_problem(&bytes, "a record claims to have 0 bytes", 2);
    writer.data.data[last + 6] = 7;
    writer_finish(&writer, &bytes);
    expect_problem(&bytes, "a record claims to have 7 bytes", 2);
    /* Beyond the end: the tail of a file that grows. */
    writer.data.data[last + 7] = 0xff;
    writer_finish(&writer, &bytes);
    expect_problem(&bytes, "", 2);
    /* A whole record that is too short for what its event says, and one with an absurd chain. */
    writer.data.data[last + 7] = 0;
    writer.data.data[last + 6] = 16;
    writer.data.size = last + 16;
    writer_finish(&writer, &bytes);
    expect_problem(&bytes, "", 2);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_absurd_chain(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    static const uint64_t counts[] = {4, 1u << 20, 1ull << 61, UINT64_MAX};
    for (size_t i = 0; i < 4; i++) {
        writer_init(&writer, false, false);
        fill(&writer);
        memcpy(writer.data.data + writer.record + RECORD_HEADER + 48, &counts[i], 8);
        writer_finish(&writer, &bytes);
        expect_problem(&bytes, "", 2);
        writer_release(&writer);
    }
    buffer_release(&bytes);
}

static void test_order(void **state)
{
    (void)state;
    static const uint64_t first[] = {30, 50, 20, 40}, second[] = {60, 45, 70};
    static const uint64_t expected[] = {0, 20, 30, 40, 45, 50, 60, 70};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    writer_init(&writer, false, false);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1, "cpu-clock");
    for (size_t i = 0; i < 4; i++) {
        writer.time = first[i];
        writer_sample(&writer, 0, USER, 1, 1, NULL, 0);
    }
    writer_round(&writer);
    for (size_t i = 0; i < 3; i++) {
        writer.time = second[i];
        writer_sample(&writer, 0, USER, 1, 1, NULL, 0);
    }
    writer_round(&writer);
    writer.time = 0; /* known before the time began */
    writer_sample(&writer, 0, USER, 1, 1, NULL, 0);
    writer_finish(&writer, &bytes);
    struct file file;
    struct problem problem;
    struct seen seen = {0};
    void *copy;
    assert_int_equal(open_copy(&bytes, bytes.size, &file, &copy, &problem), 0);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_int_equal(seen.samples, 8);
    /* The record without a time comes where it stands: the second round has let go of what the first had. */
    uint64_t sorted[8], n = 0;
    for (int i = 0; i < 8; i++)
        if (seen.times[i])
            sorted[n++] = seen.times[i];
    assert_int_equal(n, 7);
    assert_memory_equal(sorted, expected + 1, 7 * sizeof(*sorted));
    file_release(&file);
    free(copy);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* Every field that a sample can have, in the kernel's order. */
static void put_full_sample(struct writer *writer)
{
    static const uint64_t before[] = {100, 0x1010};
    struct buffer *data = &writer->data;
    writer_begin(writer, PERF_RECORD_SAMPLE, USER);
    for (int i = 0; i < 2; i++)
        writer_u64(writer, data, before[i]);
    writer_u32(writer, data, 10);
    writer_u32(writer, data, 11);
    writer_u64(writer, data, 12345); /* time */
    writer_u64(writer, data, 0xadd);
    writer_u64(writer, data, 100); /* id */
    writer_u64(writer, data, 1);   /* stream */
    writer_u64(writer, data, 3);   /* cpu */
    writer_u64(writer, data, 99);  /* period */
    writer_u64(writer, data, 2);   /* read: a group of 2 */
    for (int i = 0; i < 2 + 2 * 3; i++)
        writer_u64(writer, data, 7);
    writer_u64(writer, data, 2); /* chain */
    writer_u64(writer, data, 0x1010);
    writer_u64(writer, data, 0x2020);
    writer_u32(writer, data, 12); /* raw */
    buffer_extend(data, 12);
    writer_u64(writer, data, 1); /* branches, with hw_idx and counters */
    for (int i = 0; i < 1 + 3 + 1; i++)
        writer_u64(writer, data, 5);
    writer_u64(writer, data, 2); /* user registers: ax, ip */
    writer_u64(writer, data, 0xaaa);
    writer_u64(writer, data, 0x1111);
    writer_u64(writer, data, 16); /* stack */
    buffer_extend(data, 16);
    writer_u64(writer, data, 8);
    for (int i = 0; i < 3; i++) /* weight, data source, transaction */
        writer_u64(writer, data, 1);
    writer_u64(writer, data, 0); /* no registers at the interrupt */
    for (int i = 0; i < 4; i++)  /* physical address, cgroup, page sizes */
        writer_u64(writer, data, 1);
    writer_u64(writer, data, 8); /* aux */
    writer_u64(writer, data, 0);
    writer_end(writer);
}

static void test_all_fields(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        struct writer writer;
        struct record record;
        writer_init(&writer, swap, false);
        struct attr attr = {.perf = {.sample_type = ((1u << 24) - 1),
                                     .branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX | 1u << 19,
                                     .sample_regs_user = 1u << 8 | 1,
                                     .sample_regs_intr = 1,
                                     .read_format = 0x1f}};
        put_full_sample(&writer);
        size_t size = writer.data.size;
        assert_int_equal(record_parse(&attr, writer.data.data, size, swap, &record), 0);
        assert_int_equal(record.ip, 0x1010);
        assert_int_equal(record.tid, 11);
        assert_int_equal(record.time, 12345);
        assert_int_equal(record_time(&attr, writer.data.data, size, PERF_RECORD_SAMPLE, swap), 12345);
        assert_int_equal(record.period, 99);
        assert_int_equal(record.chain_count, 2);
        assert_int_equal(bytes_u64(record.chain + 8, swap), 0x2020);
        assert_int_equal(record.stack_size, 8);
        uint64_t value;
        assert_true(record_user_register(&record, 8, &value));
        assert_int_equal(value, 0x1111);
        assert_false(record_user_register(&record, 7, &value));
        /* Any shorter one lacks something. */
        for (size_t cut = RECORD_HEADER; cut < size; cut++) {
            unsigned char *copy = malloc(cut);
            memcpy(copy, writer.data.data, cut);
            assert_int_equal(record_parse(&attr, copy, cut, swap, &record), -EBADMSG);
            free(copy);
        }
        writer_release(&writer);
    }
}

static void test_unknown_event(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    writer_init(&writer, false, false);
    fill(&writer);
    uint64_t id = 999;
    memcpy(writer.data.data + writer.record + RECORD_HEADER, &id, 8);
    writer_finish(&writer, &bytes);
    struct file file;
    struct problem problem = {""};
    struct seen seen = {0};
    assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_int_equal(seen.samples, 2);
    assert_int_equal(file.unknown_event, 1);
    file_release(&file);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_build_ids(void **state)
{
    (void)state;
    static const unsigned char id[20] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    for (int swap = 0; swap < 2; swap++) {
        writer_init(&writer, swap, false);
        fill(&writer);
        writer_build_id(&writer, "/bin/app", id, 8, USER);
        writer_build_id(&writer, "[kernel.kallsyms]", id, 20, PERF_RECORD_MISC_KERNEL);
        writer_finish(&writer, &bytes);
        struct file file;
        struct problem problem = {""};
        assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
        assert_int_equal(file.features.build_id_count, 2);
        assert_string_equal(file.features.build_ids[0].path, "/bin/app");
        assert_int_equal(file.features.build_ids[0].size, 8);
        assert_false(file.features.build_ids[0].kernel);
        assert_memory_equal(file.features.build_ids[1].id, id, 20);
        assert_true(file.features.build_ids[1].kernel);
        file_release(&file);
        writer_release(&writer);
    }
    buffer_release(&bytes);
}

/* Killed, or not yet at the point where it writes its header anew: perf leaves a size of 0, and bits of features. */
static void check_unfinished(uint64_t feature_bits)
{
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    writer_init(&writer, false, false);
    fill(&writer);
    buffer_clear(&writer.features[PERFDATA_HOSTNAME]);
    writer.names[0] = NULL;
    writer_finish(&writer, &bytes);
    poke(&bytes, 48, 0);
    poke(&bytes, 72, feature_bits);
    struct file file;
    struct problem problem = {""};
    struct seen seen = {0};
    assert_int_equal(file_open_memory(&file, bytes.data, bytes.size, &problem), 0);
    assert_true(file.unfinished);
    assert_false(file.features_lost);
    assert_int_equal(file_records(&file, UINT64_MAX, note, &seen), 0);
    assert_int_equal(seen.samples, 3);
    file_release(&file);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_unfinished(void **state)
{
    (void)state;
    check_unfinished(0);
    check_unfinished(1ull << 16 | 1ull << 25 | 1ull << 28);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),     cmocka_unit_test(test_truncation),   cmocka_unit_test(test_headers),
        cmocka_unit_test(test_many_ids),  cmocka_unit_test(test_record_sizes), cmocka_unit_test(test_absurd_chain),
        cmocka_unit_test(test_order),     cmocka_unit_test(test_all_fields),   cmocka_unit_test(test_unknown_event),
        cmocka_unit_test(test_build_ids), cmocka_unit_test(test_unfinished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
