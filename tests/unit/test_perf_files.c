/* SPDX-License-Identifier: MIT */
/* What perf's own files have and ours have not: groups, dumps, code in no file, things that are only noted. */
#include "profile_kit.h"

#include "analyze/read/unzstd.h"

#define READ_FIELDS (WRITER_SAMPLE | PERF_SAMPLE_READ)

static void load_and_release(struct writer *writer, struct buffer *bytes, struct profile **ret)
{
    *ret = load_writer(writer, bytes);
    writer_release(writer);
}

/* A sample with READ of the events 0 and 1; COUNT numbers between period and chain. */
static void put_read_sample(struct writer *writer, const uint64_t *read, size_t count)
{
    struct buffer *data = &writer->data;
    writer_begin(writer, PERF_RECORD_SAMPLE, USER);
    writer_u64(writer, data, writer->ids[0]);
    writer_u64(writer, data, 0x1010);
    writer_u32(writer, data, writer->pid);
    writer_u32(writer, data, writer->tid);
    writer_u64(writer, data, writer->time++);
    writer_u64(writer, data, 0);
    writer_u64(writer, data, 12345); /* the period, which says nothing of the others */
    for (size_t i = 0; i < count; i++)
        writer_u64(writer, data, read[i]);
    writer_u64(writer, data, 0);
    writer_end(writer);
}

static void expect_event(const struct profile *profile, const char *name, uint64_t samples, uint64_t weight)
{
    for (uint32_t i = 0; i < profile->event_count; i++) {
        if (strcmp(profile->events[i].name, name) != 0)
            continue;
        assert_int_equal(profile->events[i].samples, samples);
        assert_int_equal(profile->events[i].weight, weight);
        assert_true(profile->events[i].sampled);
        return;
    }
    fail_msg("no event %s", name);
}

static void begin_read(struct writer *writer, bool swap, uint64_t format)
{
    writer_init(writer, swap, false);
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults");
    for (unsigned i = 0; i < 2; i++) {
        writer->attrs[i].sample_type = READ_FIELDS;
        writer->attrs[i].read_format = format;
    }
}

/* Each event of a group has a sample wherever it counted something since the last one. */
static void test_group(void **state)
{
    (void)state;
    const uint64_t format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | RECORD_READ_LOST;
    const uint64_t reads[3][8] = {
        {2, 9, 1000, 100, 0, 5, 101, 0}, {2, 9, 3000, 100, 0, 5, 101, 0}, {2, 9, 3500, 100, 0, 8, 101, 0}};
    for (int swap = 0; swap < 2; swap++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        struct profile *profile;
        begin_read(&writer, swap, format);
        for (size_t i = 0; i < 3; i++)
            put_read_sample(&writer, reads[i], 8);
        load_and_release(&writer, &bytes, &profile);
        expect_event(profile, "task-clock", 3, 3500);
        expect_event(profile, "page-faults", 2, 8);
        profile_free(profile);
        buffer_release(&bytes);
    }
}

/* Alone: the value stands in front of the times. Threads of an inherited event count for themselves. */
static void test_read_alone(void **state)
{
    (void)state;
    const uint64_t reads[3][3] = {{700, 9, 100}, {500, 9, 100}, {900, 9, 100}};
    for (int inherit = 0; inherit < 2; inherit++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        struct profile *profile;
        begin_read(&writer, false, PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_RUNNING);
        writer.attrs[0].inherit = (unsigned)inherit & 1;
        for (size_t i = 0; i < 3; i++) {
            writer.tid = i == 1 ? 11 : 10;
            put_read_sample(&writer, reads[i], 3);
        }
        load_and_release(&writer, &bytes, &profile);
        /* 700 and 200 by one thread, 500 by the other; or 700, 500 of a counter that was reset, and 400 more. */
        expect_event(profile, "task-clock", 3, inherit ? 1400 : 1600);
        profile_free(profile);
        buffer_release(&bytes);
    }
}

/* Ids that the file does not have, and counts of events that the record does not hold. */
static void test_hostile_read(void **state)
{
    (void)state;
    static const uint64_t reads[4][5] = {
        {2, 5, 100, 7, 4711}, {3, 5, 100, 7, 101}, {UINT64_MAX, 5, 100, 7, 101}, {1ull << 60, 5, 100, 7, 101}};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    begin_read(&writer, false, PERF_FORMAT_GROUP | PERF_FORMAT_ID);
    for (size_t i = 0; i < 4; i++)
        put_read_sample(&writer, reads[i], 5);
    check_capture();
    load_and_release(&writer, &bytes, &profile);
    assert_non_null(strstr(check_captured(), "3 damaged records"));
    expect_event(profile, "task-clock", 1, 5);
    profile_free(profile);
    buffer_release(&bytes);
}

static void put_ksymbol(struct writer *writer, uint64_t start, uint32_t size, uint16_t flags, const char *name)
{
    writer_begin(writer, PERF_RECORD_KSYMBOL, 0);
    writer_u64(writer, &writer->data, start);
    writer_u32(writer, &writer->data, size);
    writer_u16(writer, &writer->data, 1);
    writer_u16(writer, &writer->data, flags);
    buffer_string(&writer->data, name);
    writer_end(writer);
}

static void test_bpf_programs(void **state)
{
    (void)state;
    const uint64_t first = 0xffffffffc0001000, second = 0xffffffffc0002000;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    begin(&writer, 10, 10);
    writer_kernel_mmap(&writer, 0xffffffff81000000, 0x7effffff, 0xffffffff81000000, "[kernel.kallsyms]_text");
    put_ksymbol(&writer, first, 0x40, 0, "bpf_prog_6deef7357e7b4530_one");
    put_ksymbol(&writer, second, 0x40, 0, "bpf_prog_6deef7357e7b4530_one");
    put_ksymbol(&writer, second, 0x40, 1, "bpf_prog_6deef7357e7b4530_one");
    put_ksymbol(&writer, UINT64_MAX - 8, 64, 0, "wraps");
    put_ksymbol(&writer, 0, 0, 0, "");
    const uint64_t ips[] = {first + 0x3f, first + 0x40, second};
    for (size_t i = 0; i < 3; i++)
        writer_sample(&writer, 0, KERNEL, ips[i], 1, NULL, 0);
    load_and_release(&writer, &bytes, &profile);
    expect_stack(profile, 0, "bpf_prog_6deef7357e7b4530_one+ffffffffc000103fk");
    expect_stack(profile, 1, "[kernel.kallsyms]+ffffffffc0001040k");
    const struct profile_frame *frame = &profile->frames[profile->stacks[profile->entries[2].stack].frames[0]];
    assert_string_equal(frame->module->symbol, "bpf_prog_6deef7357e7b4530_one");
    assert_int_equal(frame->module->symbol_start, second);
    profile_free(profile);
    buffer_release(&bytes);
}

static void expect_note(const struct profile *profile, const char *text)
{
    for (uint32_t i = 0; i < profile->session.note_count; i++)
        if (strstr(profile->session.notes[i], text))
            return;
    fail_msg("no note '%s'", text);
}

/* Branch stacks, hardware traces and guests are left out, but not silently. */
static void test_notes(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    begin(&writer, 10, 10);
    writer.attrs[0].sample_type |= PERF_SAMPLE_BRANCH_STACK;
    writer.attrs[0].branch_sample_type = PERF_SAMPLE_BRANCH_HW_INDEX;
    for (unsigned i = 0; i < 3; i++) {
        writer_sample(&writer, 0, i ? USER : PERF_RECORD_MISC_GUEST_KERNEL, 0x1010, 1, NULL, 0);
        writer_u64(&writer, &writer.data, 2); /* branches */
        writer_u64(&writer, &writer.data, 0); /* index */
        buffer_extend(&writer.data, 2 * 24);
        writer_end(&writer);
    }
    writer_begin(&writer, PERF_RECORD_AUX, 0);
    buffer_extend(&writer.data, 24);
    writer_end(&writer);
    writer_begin(&writer, PERFDATA_RECORD_AUXTRACE, 0);
    writer_u64(&writer, &writer.data, 64);
    buffer_extend(&writer.data, 32);
    writer_end(&writer);
    buffer_extend(&writer.data, 64); /* the trace itself */
    const uint32_t nothing_of_ours[] = {PERF_RECORD_NAMESPACES, PERF_RECORD_BPF_EVENT,    PERF_RECORD_CGROUP,
                                        PERF_RECORD_TEXT_POKE,  PERF_RECORD_ITRACE_START, 77};
    for (size_t i = 0; i < sizeof(nothing_of_ours) / sizeof(nothing_of_ours[0]); i++) {
        writer_begin(&writer, nothing_of_ours[i], 0);
        buffer_extend(&writer.data, 16);
        writer_end(&writer);
    }
    buffer_u64(&writer.features[200], 1); /* of a version to come */
    load_and_release(&writer, &bytes, &profile);
    expect_event(profile, "task-clock", 3, 3);
    expect_note(profile, "branch stacks were recorded");
    expect_note(profile, "2 records of hardware traces");
    expect_note(profile, "1 samples are from virtual machine guests");
    assert_int_equal(profile->session.note_count, 3);
    profile_free(profile);
    buffer_release(&bytes);
}

/* Old kernels: only samples say when and whose they are. */
static void test_without_sample_id(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    begin(&writer, 10, 10);
    for (unsigned i = 0; i < writer.attr_count; i++)
        writer.attrs[i].sample_id_all = 0;
    writer_comm(&writer, "first", true);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/app");
    writer_sample(&writer, 0, USER, 0x1010, 1, NULL, 0);
    load_and_release(&writer, &bytes, &profile);
    expect_stack(profile, 0, "app+10");
    assert_string_equal(task_of(profile, 10)->comm, "first");
    profile_free(profile);
    buffer_release(&bytes);
}

struct dump {
    uint64_t abi, regs[2], size, used;
    size_t bytes; /* that are really there */
};

static void put_dump(struct writer *writer, uint16_t mode, const struct dump *dump)
{
    struct buffer *data = &writer->data;
    writer_sample(writer, 0, mode, 0x1010, 1, NULL, 0);
    writer_u64(writer, data, dump->abi);
    for (size_t i = 0; dump->abi && i < 2; i++)
        writer_u64(writer, data, dump->regs[i]);
    writer_u64(writer, data, dump->size);
    buffer_extend(data, dump->bytes);
    if (dump->size)
        writer_u64(writer, data, dump->used);
    writer_end(writer);
}

static const char *arch = "x86_64";

static struct profile *load_dumps(const struct dump *dumps, size_t count, uint16_t mode, uint64_t regs,
                                  struct buffer *bytes)
{
    struct writer writer;
    begin(&writer, 10, 10);
    writer.attrs[0].sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    writer.attrs[0].sample_regs_user = regs;
    writer_text(&writer, &writer.features[PERFDATA_ARCH], arch);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/app");
    for (size_t i = 0; i < count; i++)
        put_dump(&writer, mode, &dumps[i]);
    struct profile *profile;
    load_and_release(&writer, bytes, &profile);
    return profile;
}

#define SP_AND_IP (1u << 7 | 1u << 8)

/* Sizes, pointers and registers that lie: each sample still counts, from its own address on. */
static void test_lying_dumps(void **state)
{
    (void)state;
    static const struct dump dumps[] = {
        {2, {0x7000, 0x1010}, 64, 64, 64},         {2, {0x7000, 0x1010}, 64, UINT64_MAX, 64},
        {2, {UINT64_MAX - 8, 0x1010}, 64, 64, 64}, {2, {0, 0}, 64, 64, 64},
        {2, {UINT64_MAX, UINT64_MAX}, 64, 0, 64},  {0, {0, 0}, 64, 64, 64},
        {77, {0x7000, 0x1010}, 64, 64, 64},        {2, {0x7000, 0x1010}, 0, 0, 0},
    };
    const uint16_t modes[] = {USER, KERNEL};
    for (size_t i = 0; i < 2; i++) {
        struct buffer bytes = BUFFER_INIT;
        struct profile *profile = load_dumps(dumps, 8, modes[i], SP_AND_IP, &bytes);
        uint64_t samples = 0;
        for (uint32_t j = 0; j < profile->entry_count; j++)
            samples += profile->entries[j].samples;
        assert_int_equal(samples, 8);
        profile_free(profile);
        buffer_release(&bytes);
    }
}

/* A dump that is longer than its record: the sample is damaged, and counted as that. */
static void test_dumps_beyond_record(void **state)
{
    (void)state;
    static const struct dump dumps[] = {{2, {0x7000, 0x1010}, 65536, 65536, 64},
                                        {2, {0x7000, 0x1010}, UINT64_MAX, 64, 64},
                                        {2, {0x7000, 0x1010}, 64, 64, 64}};
    struct buffer bytes = BUFFER_INIT;
    check_capture();
    struct profile *profile = load_dumps(dumps, 3, USER, SP_AND_IP, &bytes);
    assert_non_null(strstr(check_captured(), "2 damaged records"));
    expect_event(profile, "task-clock", 1, 1);
    expect_stack(profile, 0, "app+10");
    profile_free(profile);
    buffer_release(&bytes);
}

/* Without a stack pointer, or of a 32-bit program, there is only the first frame; that is said. */
static void test_dumps_left(void **state)
{
    (void)state;
    static const struct dump dumps[] = {{1, {0x7000, 0x1010}, 64, 64, 64}, {2, {0x7000, 0x1010}, 64, 64, 64}};
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile = load_dumps(dumps, 2, USER, 3, &bytes);
    expect_stack(profile, 0, "app+10");
    expect_note(profile, "2 of 2 stack dumps cannot be unwound");
    profile_free(profile);
    /* Of another machine every bit of the mask means something else. */
    arch = "aarch64";
    profile = load_dumps(dumps + 1, 1, USER, SP_AND_IP, &bytes);
    expect_note(profile, "1 of 1 stack dumps cannot be unwound");
    profile_free(profile);
    arch = "x86_64";
    buffer_release(&bytes);
}

/* What was not taken is in front of what comes next. */
static void test_rest_of_unzstd(void **state)
{
    (void)state;
    unsigned char bytes[] = "0123456789";
    struct unzstd unzstd = {.bytes = bytes, .filled = 10, .capacity = sizeof(bytes)};
    unzstd_taken(&unzstd, 7);
    assert_int_equal(unzstd.filled, 3);
    assert_memory_equal(bytes, "789", 3);
    unzstd_taken(&unzstd, 3);
    assert_int_equal(unzstd.filled, 0);
}

/* 16,000 blocks of 128 KiB in 64 KiB, and of records: nobody waits for that. */
static void test_bomb(void **state)
{
    (void)state;
    static const unsigned char frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x50}, block[] = {0x02, 0x00, 0x10, 0x48};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    if (!unzstd_available())
        skip();
    begin(&writer, 10, 10);
    writer_sample(&writer, 0, USER, 0x1010, 1, NULL, 0);
    for (int i = 0; i < 4; i++) {
        writer_begin(&writer, PERFDATA_RECORD_COMPRESSED, 0);
        if (i == 0)
            buffer_append(&writer.data, frame, sizeof(frame));
        for (int j = 0; j < 16000; j++)
            buffer_append(&writer.data, block, sizeof(block));
        writer_end(&writer);
    }
    check_capture();
    load_and_release(&writer, &bytes, &profile);
    assert_non_null(strstr(check_captured(), "expand to a thousand times their size"));
    expect_event(profile, "task-clock", 1, 1);
    profile_free(profile);
    buffer_release(&bytes);
}

static void test_jit_dumps_of_mappings(void **state)
{
    (void)state;
    static const char *const paths[] = {"/tmp/jit-10.dump", "/tmp/jit-11.dump",   "jit-10.dump",
                                        "/tmp/jit-.dump",   "/tmp/jit-10.dumper", "/jit-1x.dump"};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile;
    begin(&writer, 10, 10);
    for (size_t i = 6; i-- > 0;)
        writer_mmap(&writer, 0x1000 * (i + 1), 0x1000, 0, paths[i]);
    writer.pid = writer.tid = 12;
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/x/jit-3.dump");
    load_and_release(&writer, &bytes, &profile);
    /* One for each process: the first that it names. */
    assert_int_equal(profile->jit_dump_count, 2);
    assert_int_equal(profile->jit_dumps[0].pid, 10);
    assert_string_equal(profile->jit_dumps[0].path, "/tmp/jit-11.dump");
    assert_int_equal(profile->jit_dumps[1].pid, 12);
    profile_free(profile);
    buffer_release(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group),        cmocka_unit_test(test_read_alone),
        cmocka_unit_test(test_hostile_read), cmocka_unit_test(test_bpf_programs),
        cmocka_unit_test(test_notes),        cmocka_unit_test(test_without_sample_id),
        cmocka_unit_test(test_lying_dumps),  cmocka_unit_test(test_dumps_beyond_record),
        cmocka_unit_test(test_dumps_left),   cmocka_unit_test(test_rest_of_unzstd),
        cmocka_unit_test(test_bomb),         cmocka_unit_test(test_jit_dumps_of_mappings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
