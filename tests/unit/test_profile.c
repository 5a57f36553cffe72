/* SPDX-License-Identifier: MIT */
/* analyze/model: what the records mean. */
#include "profile_kit.h"

/* perf's view of processes: fork, exec, threads. */
static void test_processes(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer.attrs[0].enable_on_exec = 1;
    writer_comm(&writer, "sh", true);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/sh");
    writer.time = 2000;
    writer_fork(&writer, 20, 20);
    writer_fork(&writer, 10, 11);
    writer.time = 2100;
    writer.pid = writer.tid = 20;
    writer_sample(&writer, 0, USER, 0x1100, 1000, NULL, 0); /* the parent's mapping */
    writer.time = 2200;
    writer_comm(&writer, "ls", true);
    writer_mmap(&writer, 0x9000, 0x1000, 0, "/bin/ls");
    writer_sample(&writer, 0, USER, 0x9100, 1000, NULL, 0);
    writer.time = 2300;
    writer_exit(&writer);
    writer.pid = 10;
    writer.tid = 11;
    writer_mmap(&writer, 0x5000, 0x1000, 0, "/lib/x.so");
    writer.tid = 10;
    writer.time = 2400;
    writer_sample(&writer, 0, USER, 0x5100, 1000, NULL, 0); /* mapped by the thread */
    writer_sample(&writer, 0, USER, 0x9100, 1000, NULL, 0); /* the child's, not ours */
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->task_count, 3);
    assert_int_equal(profile->session.root, 10);
    const struct profile_task *child = task_of(profile, 20), *thread = task_of(profile, 11),
                              *root = task_of(profile, 10);
    assert_true(root->root);
    assert_int_equal(child->ppid, 10);
    assert_int_equal(child->start_ns, 2000);
    assert_true(child->ended);
    assert_int_equal(child->end_ns, 2300);
    assert_int_equal(child->generation_count, 2);
    assert_string_equal(child->generations[0].comm, "sh");
    assert_string_equal(child->exec, "/bin/ls");
    assert_int_equal(thread->parent_tid, 10);
    assert_string_equal(thread->comm, "sh");
    expect_stack(profile, 0, "sh+100");
    expect_stack(profile, 1, "ls+100");
    expect_stack(profile, 2, "x.so+100");
    expect_stack(profile, 3, "?+9100");
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_mappings(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_mmap(&writer, 0x10000, 0x10000, 0x2000, "/lib/old.so");
    writer_mmap(&writer, 0x14000, 0x4000, 0, "/lib/new.so");
    writer_mmap(&writer, 0x40000, 0x1000, 0x40000, "//anon");
    writer_mmap(&writer, UINT64_MAX - 10, 100, 0, "/lib/end.so");
    static const uint64_t ips[] = {0xffff, 0x10000, 0x13fff, 0x14000, 0x17fff, 0x18000, 0x1ffff, 0x20000, 0x40010};
    static const char *const stacks[] = {"?+ffff",      "old.so+2000",  "old.so+5fff", "new.so+0",  "new.so+3fff",
                                         "old.so+a000", "old.so+11fff", "?+20000",     "anon+40010"};
    for (size_t i = 0; i < 9; i++)
        writer_sample(&writer, 0, USER, ips[i], 1, NULL, 0);
    struct profile *profile = load_writer(&writer, &bytes);
    for (uint32_t i = 0; i < 9; i++)
        expect_stack(profile, i, stacks[i]);
    assert_int_equal(profile->frames[profile->stacks[profile->entries[8].stack].frames[0]].module->pid, 10);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* The same addresses with something else there, while the kernel's code changes as well. */
static void test_stacks_of_changed_spaces(void **state)
{
    (void)state;
    enum { CHANGES = 64 };
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    for (unsigned i = 0; i < CHANGES; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/bin/app%u", i);
        if (i % 7 == 3)
            writer_kernel_mmap(&writer, 0xffffffffc0000000, 0x1000, 0, "/lib/modules/6.1/one.ko");
        writer_mmap(&writer, 0x1000, 0x1000, 0, path);
        writer.time++;
        for (unsigned j = 0; j < CHAIN_GROUP; j++)
            writer_sample(&writer, 0, USER, 0x1100, 1, NULL, 0);
    }
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->entry_count, CHANGES);
    for (uint32_t i = 0; i < CHANGES; i++) {
        char text[32];
        snprintf(text, sizeof(text), "app%u+100", i);
        expect_stack(profile, i, text);
        assert_int_equal(profile->entries[i].samples, CHAIN_GROUP);
    }
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void expect_chain(uint16_t mode, uint64_t ip, const uint64_t *chain, uint64_t count, const char *text)
{
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_kernel_mmap(&writer, 0xffffffff81000000, 0x1000000, 0xffffffff81000000, "[kernel.kallsyms]_text");
    writer_kernel_mmap(&writer, 0xffffffffc0000000, 0x10000, 0, "/lib/modules/6.1/kernel/net/nf-nat.ko.xz");
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/app");
    writer_sample(&writer, 0, mode, ip, 1, chain, count);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->entry_count, 1);
    expect_stack(profile, 0, text);
    assert_string_equal(profile->session.kernel_reference, "_text");
    assert_int_equal(profile->session.kernel_reference_address, 0xffffffff81000000);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

#define CHAIN(mode, ip, text, ...)                                                \
    do {                                                                          \
        const uint64_t chain_[] = {__VA_ARGS__};                                  \
        expect_chain(mode, ip, chain_, sizeof(chain_) / sizeof(chain_[0]), text); \
    } while (0)

static void test_chains(void **state)
{
    (void)state;
    const uint64_t text = 0xffffffff81000010, module = 0xffffffffc0000021, user = PERF_CONTEXT_USER,
                   kernel = PERF_CONTEXT_KERNEL;
    expect_chain(USER, 0x1100, NULL, 0, "app+100");
    CHAIN(USER, 0x1100, "app+100 app+1ff", user, 0x1100, 0x1200);
    /* The place where the kernel was entered is no return address. */
    CHAIN(KERNEL, text, "[kernel.kallsyms]+ffffffff81000010k [nf_nat]+ffffffffc0000020k app+100 app+1ff", kernel, text,
          module, user, 0x1100, 0x1200);
    /* A precise address, with the skid in the chain. */
    CHAIN(USER, 0x1100, "app+100 app+1ff", user, 0x1104, 0x1200);
    /* Only the other side was recorded. */
    CHAIN(USER, 0x1100, "app+100", kernel);
    CHAIN(KERNEL, text, "[kernel.kallsyms]+ffffffff81000010k app+200", user, 0x1200);
    CHAIN(USER, 0x1100, "app+100", user, 0x1100, 0, 0);
    CHAIN(USER, 0x1100, "app+100 app+1ff", user, 0x1100, (uint64_t)-1000, 0x1201 - 1);
    CHAIN(USER, 0, "app+100", user, 0x1100);
    CHAIN(KERNEL, text, "[kernel.kallsyms]+ffffffff81000010k", kernel, text, (uint64_t)-640, 77);
    CHAIN(PERF_RECORD_MISC_HYPERVISOR, 0x77, "[hypervisor]+77", PERF_CONTEXT_HV, 0x77);
    CHAIN(PERF_RECORD_MISC_GUEST_USER, 0x77, "[guest]+77", PERF_CONTEXT_GUEST_USER, 0x77);
    CHAIN(0, text, "[kernel.kallsyms]+ffffffff81000010k", text);
}

static void test_truncated_chain(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    const uint64_t chain[] = {PERF_CONTEXT_USER, 1, 2, 3};
    begin(&writer, 10, 10);
    writer.attrs[0].sample_max_stack = 3;
    writer_sample(&writer, 0, USER, 1, 1, chain, 4);
    writer_sample(&writer, 0, USER, 1, 1, chain, 3);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_true(profile->stacks[profile->entries[0].stack].truncated);
    assert_false(profile->stacks[profile->entries[1].stack].truncated);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* perf tells a loss twice: by the ring and by the event. */
static void test_lost(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_begin(&writer, PERF_RECORD_LOST, 0);
    writer_u64(&writer, &writer.data, 100);
    writer_u64(&writer, &writer.data, 5);
    writer_end(&writer);
    writer_begin(&writer, PERF_RECORD_LOST_SAMPLES, 0);
    writer_u64(&writer, &writer.data, 7);
    writer_end(&writer);
    writer_begin(&writer, PERF_RECORD_LOST_SAMPLES, 1u << 15); /* a filter's */
    writer_u64(&writer, &writer.data, 100);
    writer_end(&writer);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->lost, 7);
    assert_int_equal(profile->events[0].lost, 7);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void put_reading(struct writer *writer, uint64_t value, uint64_t id)
{
    writer_begin(writer, PERF_RECORD_READ, 0);
    writer_u32(writer, &writer->data, writer->pid);
    writer_u32(writer, &writer->data, writer->tid);
    writer_u64(writer, &writer->data, value);
    writer_u64(writer, &writer->data, 20); /* enabled */
    writer_u64(writer, &writer->data, 10); /* running */
    writer_u64(writer, &writer->data, id);
    writer_end(writer);
}

/* perf record -s. */
static void test_readings(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    for (int i = 0; i < 2; i++)
        writer.attrs[i].read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;
    put_reading(&writer, 50, 100);
    put_reading(&writer, 60, 100);
    put_reading(&writer, 3, 101);
    struct profile *profile = load_writer(&writer, &bytes);
    const struct profile_task *task = task_of(profile, 10);
    assert_int_equal(count_of(profile, task, "task-clock", UINT32_MAX)->value, 60);
    assert_int_equal(count_of(profile, task, "task-clock", UINT32_MAX)->scaled, 60);
    assert_int_equal(count_of(profile, task, "page-faults", UINT32_MAX)->value, 3);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_build_ids(void **state)
{
    (void)state;
    static const unsigned char id[20] = {9, 8, 7};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_build_id(&writer, "/bin/app", id, 20, USER);
    writer_build_id(&writer, "[kernel.kallsyms]", id, 20, KERNEL);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/app");
    writer_mmap(&writer, 0x3000, 0x1000, 0, "/bin/other");
    writer_sample(&writer, 0, USER, 0x1000, 1, NULL, 0);
    writer_sample(&writer, 0, USER, 0x3000, 1, NULL, 0);
    struct profile *profile = load_writer(&writer, &bytes);
    const struct profile_module *app = profile->frames[profile->stacks[profile->entries[0].stack].frames[0]].module;
    assert_int_equal(app->build_id_size, 20);
    assert_memory_equal(app->build_id, id, 20);
    assert_int_equal(profile->frames[profile->stacks[profile->entries[1].stack].frames[0]].module->build_id_size, 0);
    assert_int_equal(profile->session.kernel_build_id_size, 20);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_select(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer.names[1] = "page-faults:u";
    writer.attrs[1].sample_period = 1;
    writer_sample(&writer, 0, USER, 1, 5, NULL, 0);
    writer_sample(&writer, 1, USER, 1, 6, NULL, 0);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->event, 0);
    assert_int_equal(profile->tasks[0].weight, 5);
    assert_int_equal(profile_select_event(profile, "page-faults"), 0);
    assert_int_equal(profile->tasks[0].weight, 6);
    check_capture();
    assert_int_equal(profile_select_event(profile, "cycles"), -EINVAL);
    assert_non_null(strstr(check_captured(), "no event 'cycles' was recorded; recorded events: task-clock, "
                                             "page-faults:u"));
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* Two processes of three commands; the same stacks in all of them. */
static void write_commands(struct writer *writer)
{
    const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1100, 0x1200}, other[] = {PERF_CONTEXT_USER, 0x1300, 0x1200};
    begin(writer, 10, 10);
    for (uint32_t i = 0; i < 3; i++) {
        writer->pid = writer->tid = i < 2 ? 10 : 11;
        writer_comm(writer, i == 1 ? "cc" : "sh", true);
        writer_mmap(writer, 0x1000, 0x1000, 0, "/bin/app");
        writer_sample(writer, 0, USER, 0x1100, 1, chain, 3);
        writer_sample(writer, 0, USER, 0x1300, 10, other, 3);
        writer_sample(writer, 0, USER, 0x1100, 100, chain, 3);
        writer_sample(writer, 1, USER, 0x1100, 1000, chain, 3);
    }
}

static struct profile *load_merged(const struct buffer *bytes, const struct profile_options *options)
{
    struct profile *profile = NULL;
    assert_int_equal(profile_load_memory(bytes->data, bytes->size, options, &profile), 0);
    return profile;
}

/*
 * The weight of the stack whose leaf is at OFFSET, in the entries from FIRST on of the task TID (0: any) and COMM
 * (NULL: any); each is there once.
 */
static uint64_t weight_at(const struct profile *profile, uint32_t first, uint64_t offset, int32_t tid, const char *comm)
{
    uint64_t weight = 0;
    for (uint32_t i = first; i < profile->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[i];
        bool same = profile->frames[profile->stacks[entry->stack].frames[0]].offset == offset && entry->event == 0 &&
                    (!tid || profile->tasks[entry->task].tid == tid) && (!comm || strcmp(entry->comm, comm) == 0);
        assert_true(!same || !weight);
        weight += same ? entry->weight : 0;
    }
    return weight;
}

static void test_merged(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    write_commands(&writer);
    writer_finish(&writer, &bytes);
    struct profile_options options = {.merged = PROFILE_BY_STACK};
    struct profile *profile = load_merged(&bytes, &options);
    assert_int_equal(profile->entry_count, 3); /* two stacks of one event, one of another */
    assert_int_equal(weight_at(profile, 0, 0x100, 0, NULL), 303);
    assert_int_equal(task_of(profile, 10)->weight, 222);
    profile_free(profile);
    options.merged = PROFILE_BY_COMM;
    options.merged_foreign = true;
    profile = load_merged(&bytes, &options);
    assert_int_equal(profile->entry_count, 6);
    assert_int_equal(weight_at(profile, 0, 0x100, 0, "sh"), 202);
    assert_int_equal(weight_at(profile, 0, 0x100, 0, "cc"), 101);
    profile_free(profile);
    options = (struct profile_options){.merge_above = 1u << 20};
    profile = load_merged(&bytes, &options);
    assert_int_equal(profile->merged, PROFILE_BY_TASK);
    assert_int_equal(profile->entry_count, 9);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_single_tasks_of_a_merged_profile(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    write_commands(&writer);
    writer_finish(&writer, &bytes);
    const struct profile_options options = {.merge_above = 1};
    struct profile *profile = load_merged(&bytes, &options);
    assert_int_equal(profile->merged, PROFILE_BY_STACK);
    uint32_t first = profile->entry_count, frames = profile->frame_count;
    bool wanted[2] = {false};
    wanted[task_of(profile, 10)->index] = true;
    assert_int_equal(profile_add_entries(profile, wanted), 0);
    assert_int_equal(profile->entry_count - first, 4); /* of the shown event */
    assert_int_equal(profile->frame_count, frames);
    assert_int_equal(weight_at(profile, first, 0x100, 10, "sh"), 101);
    assert_int_equal(weight_at(profile, first, 0x300, 10, "cc"), 10);
    assert_int_equal(weight_at(profile, first, 0x100, 11, NULL), 0);
    assert_int_equal(weight_at(profile, 0, 0x100, 0, ""), 303);
    assert_int_equal(task_of(profile, 10)->weight, 222);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_mappings),
        cmocka_unit_test(test_stacks_of_changed_spaces),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_truncated_chain),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_readings),
        cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_single_tasks_of_a_merged_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
