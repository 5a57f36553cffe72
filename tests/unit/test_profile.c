/* SPDX-License-Identifier: MIT */
/* analyze/model: what the records mean. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>

#include "analyze/model/loader.h"
#include "common/perfdata.h"
#include "perfdata_writer.h"

#define USER PERF_RECORD_MISC_USER
#define KERNEL PERF_RECORD_MISC_KERNEL
#define ENDED (PINJECT_TASK_ENDED | PINJECT_TASK_STATUS)

static char folder[] = "/tmp/pinject-profile-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[8][128];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, 128, "%s/%s", folder, name);
    return path;
}

static void begin(struct writer *writer, uint32_t pid, uint32_t tid)
{
    writer_init(writer, false, false);
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1000, "task-clock");
    writer_attr(writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0, "page-faults");
    writer->pid = pid;
    writer->tid = tid;
}

static struct profile *load_writer(struct writer *writer, struct buffer *bytes)
{
    struct profile *profile = NULL;
    writer_finish(writer, bytes);
    assert_int_equal(profile_load_memory(bytes->data, bytes->size, NULL, &profile), 0);
    return profile;
}

static struct profile *load_paths(const char *const *paths, size_t count, const char *session)
{
    struct profile *profile = NULL;
    struct profile_options options = {.session = session};
    assert_int_equal(profile_load(paths, count, &options, &profile), 0);
    return profile;
}

static const struct profile_task *task_of(const struct profile *profile, int32_t tid)
{
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (profile->tasks[i].tid == tid)
            return &profile->tasks[i];
    fail_msg("no task %d", tid);
    return NULL;
}

static const struct profile_count *count_of(const struct profile *profile, const struct profile_task *task, const char *event, uint32_t image)
{
    for (uint32_t i = 0; i < task->count_count; i++)
        if (task->counts[i].image == image && strcmp(profile->events[task->counts[i].event].name, event) == 0)
            return &task->counts[i];
    return NULL;
}

/* A stack as "app+10 libc+20", leaf first; NULL module is "?". */
static const char *stack_text(const struct profile *profile, uint32_t index)
{
    static char text[512];
    const struct profile_stack *stack = &profile->stacks[index];
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < stack->depth; i++) {
        const struct profile_frame *frame = &profile->frames[stack->frames[i]];
        const char *path = frame->module ? frame->module->path : "?";
        const char *slash = strrchr(path, '/');
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s+%llx%s", i ? " " : "", slash ? slash + 1 : path,
                                 (unsigned long long)frame->offset, frame->kernel ? "k" : "");
    }
    return text;
}

static void expect_stack(const struct profile *profile, uint32_t entry, const char *text)
{
    assert_string_equal(stack_text(profile, profile->entries[entry].stack), text);
}

/* One of our own files: pid 10, thread 11. */
static void save_thread(const char *name)
{
    struct writer writer;
    begin(&writer, 10, 11);
    writer_session(&writer, 0xaa, 1000);
    writer_task(&writer, PINJECT_TASK_ENDED, 0, 2000, 3000, 0);
    writer_comm(&writer, "worker", false);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/app");
    writer.time = 2500;
    writer_sample(&writer, 0, USER, 0x1200, 1000, NULL, 0);
    writer_save(&writer, in_folder(name));
    writer_release(&writer);
}

static void put_coverage(struct writer *writer)
{
    const char *unseen[] = {"setuid", "sudo"};
    const char *note = "a note";
    struct pinject_item_coverage coverage = {.cpu_ns = 100, .attributed_ns = 90, .tasks = 2, .files = 2, .complete = 1};
    struct pinject_item_unseen fixed = {.count = 3, .cpu_ns = 4};
    struct pinject_item_note empty = {{0}};
    writer_item(writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
    writer_item(writer, PINJECT_ITEM_UNSEEN, &fixed, sizeof(fixed), unseen, 2);
    writer_item(writer, PINJECT_ITEM_NOTE, &empty, sizeof(empty), &note, 1);
    writer_item(writer, 999, &empty, sizeof(empty), &note, 1);
}

static void save_leader(const char *name)
{
    static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1100, 0x1081, 0};
    struct writer writer;
    begin(&writer, 10, 10);
    writer_session(&writer, 0xaa, 1000);
    writer_task(&writer, ENDED | PINJECT_TASK_ROOT | PINJECT_TASK_EXIT_COST, 3 << 8, 600, 9000, 5);
    writer_image(&writer, 0, 600, "sh", "/bin/sh", "sh");
    writer_image(&writer, 1, 900, "app", "/bin/app", "./app");
    writer_count(&writer, 0, UINT32_MAX, 3000, 10, 10, "task-clock");
    writer_count(&writer, 1, 0, 50, 100, 50, "page-faults");
    writer_count(&writer, 1, 1, 7, 100, 100, "page-faults");
    writer_count(&writer, UINT32_MAX, UINT32_MAX, 8, 1, 1, "cycles");
    put_coverage(&writer);
    writer_comm(&writer, "sh", false);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/sh");
    writer_sample(&writer, 0, USER, 0x1100, 1000, NULL, 0);
    writer.time = 1100;
    writer_comm(&writer, "app", true);
    writer_mmap(&writer, 0x1000, 0x1000, 0x5000, "/bin/app");
    /* The kernel's LOST is in the item already. */
    writer_begin(&writer, PERF_RECORD_LOST, 0);
    writer_u64(&writer, &writer.data, 100);
    writer_u64(&writer, &writer.data, 5);
    writer_end(&writer);
    for (int i = 0; i < 2; i++)
        writer_sample(&writer, 0, USER, 0x1100, 1000, chain, 4);
    writer_save(&writer, in_folder(name));
    writer_release(&writer);
}

static void check_ours(const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    assert_true(session->ours && session->coverage_known && session->coverage_complete);
    assert_int_equal(session->cpu_ns, 100);
    assert_int_equal(session->unseen_count, 1);
    assert_string_equal(session->unseen[0].reason, "setuid");
    assert_string_equal(session->unseen[0].comm, "sudo");
    assert_int_equal(session->note_count, 1);
    assert_string_equal(session->notes[0], "a note");
    assert_int_equal(session->argument_count, 2);
    assert_string_equal(session->arguments[1], "-j2");
    assert_string_equal(session->event_reason, "no hardware");
    assert_int_equal(session->root, 10);
    assert_int_equal(session->id[15], 0xaa);
}

static void check_leader(const struct profile *profile)
{
    const struct profile_task *task = task_of(profile, 10);
    assert_true(task->root && task->ended && task->exit_cost);
    assert_int_equal(task->exit, 3);
    assert_int_equal(task->index, 0);
    assert_int_equal(task->image_count, 2);
    assert_string_equal(task->images[0].exec, "/bin/sh");
    assert_string_equal(task->exec, "/bin/app");
    assert_string_equal(task->cmdline[0], "./app");
    assert_int_equal(task->samples, 3);
    assert_int_equal(task->weight, 3000);
    assert_int_equal(task->lost, 5);
    assert_int_equal(count_of(profile, task, "task-clock", UINT32_MAX)->value, 3000);
    assert_int_equal(count_of(profile, task, "page-faults", 0)->scaled, 100);
    assert_int_equal(count_of(profile, task, "page-faults", 1)->scaled, 7);
    assert_int_equal(count_of(profile, task, "page-faults", UINT32_MAX)->value, 57);
    assert_int_equal(count_of(profile, task, "cycles", UINT32_MAX)->value, 8);
}

static void test_ours(void **state)
{
    (void)state;
    save_leader("a.10.10");
    save_thread("a.10.11");
    const char *paths[] = {in_folder("a.10.11"), in_folder("a.10.10"), in_folder("a.10.11")};
    struct profile *profile = load_paths(paths, 3, NULL);
    assert_int_equal(profile->files_read, 2);
    assert_int_equal(profile->task_count, 2);
    assert_int_equal(profile->lost, 5);
    assert_int_equal(profile->events[0].lost, 5);
    assert_int_equal(profile->events[0].samples, 4);
    assert_true(profile->events[0].nanoseconds);
    check_ours(profile);
    check_leader(profile);
    const struct profile_task *thread = task_of(profile, 11);
    assert_string_equal(thread->comm, "worker");
    assert_string_equal(thread->cmdline[0], "./app");
    assert_string_equal(thread->file, paths[0]);
    assert_int_equal(thread->exit, -1);
    assert_int_equal(profile->entry_count, 3);
    /* Order of files: pid, tid. The image of before the exec is another entry. */
    assert_string_equal(profile->entries[0].comm, "sh");
    expect_stack(profile, 0, "sh+100");
    assert_string_equal(profile->entries[1].comm, "app");
    assert_int_equal(profile->entries[1].samples, 2);
    expect_stack(profile, 1, "app+5100 app+5080");
    assert_true(profile->frames[profile->stacks[profile->entries[1].stack].frames[1]].caller);
    profile_free(profile);
}

static void test_counts_only(void **state)
{
    (void)state;
    save_leader("a.10.10");
    const char *path = in_folder("a.10.10");
    struct profile *profile = NULL;
    struct profile_options options = {.counts_only = true};
    assert_int_equal(profile_load(&path, 1, &options, &profile), 0);
    check_leader(profile);
    assert_int_equal(profile->entry_count, 2);
    assert_int_equal(profile->stacks[profile->entries[0].stack].depth, 1);
    profile_free(profile);
}

static void save_session(const char *name, uint8_t id, uint64_t realtime)
{
    struct writer writer;
    begin(&writer, 20, 20);
    if (id) {
        writer_session(&writer, id, realtime);
        writer_task(&writer, 0, 0, 1, 2, 0);
    }
    writer_sample(&writer, 0, USER, 0x1200, 1000, NULL, 0);
    writer_save(&writer, in_folder(name));
    writer_release(&writer);
}

static void expect_session(const char *const *paths, const char *wanted, uint8_t id, const char *text)
{
    struct profile *profile;
    check_capture();
    profile = load_paths(paths, 4, wanted);
    const char *said = check_captured();
    assert_int_equal(profile->session.id[0], id);
    assert_int_equal(profile->files_read, 1);
    assert_int_equal(profile->files_other_session, 3);
    if (text)
        assert_non_null(strstr(said, text));
    else
        assert_string_equal(said, "");
    profile_free(profile);
}

static void expect_no_session(const char *const *paths, const char *wanted, const char *text)
{
    struct profile *profile = NULL;
    struct profile_options options = {.session = wanted};
    check_capture();
    int status = profile_load(paths, 4, &options, &profile);
    const char *said = check_captured();
    assert_int_equal(status, -EINVAL);
    if (!strstr(said, text))
        fail_msg("%s", said);
}

static void test_sessions(void **state)
{
    (void)state;
    save_session("s.1", 0xb1, 5000);
    save_session("s.2", 0xb2, 9000);
    save_session("s.3", 0xc3, 7000);
    save_session("s.4", 0, 0); /* not ours, and written last */
    const char *paths[] = {in_folder("s.1"), in_folder("s.2"), in_folder("s.3"), in_folder("s.4")};
    expect_session(paths, NULL, 0xb2, "3 files of 3 other sessions are left out");
    expect_session(paths, "c3", 0xc3, NULL);
    expect_session(paths, "B1b1", 0xb1, NULL);
    expect_no_session(paths, "b", "more than one session");
    expect_no_session(paths, "dddddddddddddddddd", "no session of these files begins with");
    expect_no_session(paths, "all", "sessions are never mixed");
    expect_no_session(paths, "", "is no session");
}

static void test_bad_files(void **state)
{
    (void)state;
    save_session("s.1", 0xb1, 5000);
    const char *paths[] = {in_folder("missing"), in_folder("s.1"), folder};
    check_capture();
    struct profile *profile = load_paths(paths, 3, NULL);
    const char *said = check_captured();
    assert_non_null(strstr(said, "missing: No such file"));
    assert_non_null(strstr(said, "is a directory"));
    assert_int_equal(profile->files_bad, 2);
    assert_int_equal(profile->files_read, 1);
    profile_free(profile);
    profile = NULL;
    check_capture();
    assert_int_equal(profile_load(paths, 1, NULL, &profile), -ENOENT);
    check_captured();
    assert_null(profile);
}

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
    const struct profile_task *child = task_of(profile, 20), *thread = task_of(profile, 11), *root = task_of(profile, 10);
    assert_true(root->root);
    assert_int_equal(child->ppid, 10);
    assert_int_equal(child->start_ns, 2000);
    assert_true(child->ended);
    assert_int_equal(child->end_ns, 2300);
    assert_int_equal(child->image_count, 2);
    assert_string_equal(child->images[0].comm, "sh");
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
    static const char *const stacks[] = {"?+ffff", "old.so+2000", "old.so+5fff", "new.so+0", "new.so+3fff", "old.so+a000",
                                         "old.so+11fff", "?+20000", "anon+40010"};
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

#define CHAIN(mode, ip, text, ...)                                                       \
    do {                                                                                 \
        const uint64_t chain_[] = {__VA_ARGS__};                                         \
        expect_chain(mode, ip, chain_, sizeof(chain_) / sizeof(chain_[0]), text);        \
    } while (0)

static void test_chains(void **state)
{
    (void)state;
    const uint64_t text = 0xffffffff81000010, module = 0xffffffffc0000021, user = PERF_CONTEXT_USER, kernel = PERF_CONTEXT_KERNEL;
    expect_chain(USER, 0x1100, NULL, 0, "app+100");
    CHAIN(USER, 0x1100, "app+100 app+1ff", user, 0x1100, 0x1200);
    /* The place where the kernel was entered is no return address. */
    CHAIN(KERNEL, text, "[kernel.kallsyms]+ffffffff81000010k [nf_nat]+ffffffffc0000020k app+100 app+1ff", kernel, text, module, user, 0x1100,
          0x1200);
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

static void save_split(const char *name, uint64_t start, uint64_t end, const char *comm, bool ended)
{
    struct writer writer;
    begin(&writer, 10, 10);
    writer_session(&writer, 0xaa, 1000);
    writer_task(&writer, PINJECT_TASK_SPLIT | PINJECT_TASK_ENDED | (ended ? PINJECT_TASK_STATUS : 0), 9, start, end, 1);
    writer_image(&writer, 0, start, comm, comm, comm);
    writer_count(&writer, 0, 0, start, 1, 1, "task-clock");
    writer.time = start + 1;
    writer_sample(&writer, 0, USER, start, 1000, NULL, 0);
    writer_save(&writer, in_folder(name));
    writer_release(&writer);
}

/* --exec-split-results: files of one task's images; and another task that got the same number later. */
static void test_split(void **state)
{
    (void)state;
    save_split("a.cc1", 2000, 3000, "cc1", true);
    save_split("a.sh", 1000, 2000, "sh", false);
    save_split("a.later", 5000, 6000, "later", true);
    const char *paths[] = {in_folder("a.cc1"), in_folder("a.later"), in_folder("a.sh")};
    struct profile *profile = load_paths(paths, 3, NULL);
    assert_int_equal(profile->task_count, 2);
    const struct profile_task *task = &profile->tasks[0];
    assert_int_equal(task->start_ns, 1000);
    assert_int_equal(task->end_ns, 3000);
    assert_int_equal(task->exit, 128 + 9);
    assert_int_equal(task->image_count, 2);
    assert_string_equal(task->images[0].comm, "sh");
    assert_string_equal(task->comm, "cc1");
    assert_int_equal(task->lost, 2);
    assert_int_equal(task->samples, 2);
    assert_int_equal(count_of(profile, task, "task-clock", 0)->value, 1000);
    assert_int_equal(count_of(profile, task, "task-clock", 1)->value, 2000);
    assert_int_equal(count_of(profile, task, "task-clock", UINT32_MAX)->value, 3000);
    assert_string_equal(profile->entries[0].comm, "sh");
    assert_string_equal(profile->entries[1].comm, "cc1");
    profile_free(profile);
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

struct listed {
    struct profile *profile;
    uint64_t samples, weight, last;
    char text[4][200];
};

static int list_sample(void *context, const struct profile_sample *sample)
{
    struct listed *listed = context;
    assert_true(sample->time_ns >= listed->last);
    listed->last = sample->time_ns;
    listed->weight += sample->period;
    if (listed->samples < 4)
        snprintf(listed->text[listed->samples], 200, "%s %d %s %u %llx %u %llx", sample->comm, sample->task->tid,
                 listed->profile->events[sample->event].name, sample->depth, (unsigned long long)sample->ips[sample->depth - 1], sample->cpu,
                 (unsigned long long)listed->profile->frames[sample->frames[sample->depth - 1]].offset);
    return ++listed->samples == 3;
}

static void test_samples(void **state)
{
    (void)state;
    save_leader("a.10.10");
    const char *path = in_folder("a.10.10");
    struct profile *profile = load_paths(&path, 1, NULL);
    struct listed listed = {.profile = profile};
    uint32_t frames = profile->frame_count;
    /* It stops when it is told to. */
    assert_int_equal(profile_samples(profile, list_sample, &listed), 1);
    assert_int_equal(listed.samples, 3);
    assert_int_equal(listed.weight, 3000);
    assert_int_equal(profile->frame_count, frames);
    assert_string_equal(listed.text[0], "sh 10 task-clock 1 1100 0 100");
    assert_string_equal(listed.text[1], "app 10 task-clock 2 1081 0 5080");
    profile_free(profile);
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
    assert_non_null(strstr(check_captured(), "no event 'cycles' was recorded; there are: task-clock, page-faults:u"));
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

static void test_info(void **state)
{
    (void)state;
    save_leader("a.10.10");
    struct profile_file *file = NULL;
    assert_int_equal(profile_file_load(in_folder("a.10.10"), &file), 0);
    assert_true(file->ours);
    assert_int_equal(file->records[PERF_RECORD_SAMPLE], 3);
    assert_int_equal(file->records[PERF_RECORD_MMAP2], 2);
    assert_int_equal(file->task_count, 1);
    assert_int_equal(file->event_count, 3);
    assert_int_equal(file->feature_count, 2);
    assert_string_equal(file->feature_names[1], "PINJECT");
    assert_string_equal(file->problem, "");
    profile_file_free(file);
    file = NULL;
    check_capture();
    assert_int_equal(profile_file_load(folder, &file), -EISDIR);
    assert_non_null(strstr(check_captured(), "is a directory"));
    assert_null(file);
    profile_file_free(NULL);
    profile_free(NULL);
}

/* A copy of one of ours that was cut off anywhere is loaded or refused, never trusted. */
static void test_cut_off(void **state)
{
    (void)state;
    struct buffer bytes = BUFFER_INIT;
    save_leader("a.10.10");
    assert_int_equal(buffer_read_file(&bytes, in_folder("a.10.10"), 1u << 20), 0);
    check_capture();
    for (size_t size = 0; size < bytes.size; size++) {
        unsigned char *copy = malloc(size + 1);
        struct profile *profile = NULL;
        memcpy(copy, bytes.data, size);
        if (profile_load_memory(copy, size, NULL, &profile) == 0)
            profile_free(profile);
        free(copy);
        if (size % 50 == 0) {
            const char *said = check_captured();
            assert_true(strlen(said) > 0);
            check_capture();
        }
    }
    check_captured();
    buffer_release(&bytes);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"a.10.10", "a.10.11", "s.1", "s.2", "s.3", "s.4", "a.cc1", "a.sh", "a.later"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(in_folder(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ours),      cmocka_unit_test(test_counts_only),     cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_bad_files), cmocka_unit_test(test_processes),       cmocka_unit_test(test_mappings),
        cmocka_unit_test(test_chains),    cmocka_unit_test(test_truncated_chain), cmocka_unit_test(test_lost),
        cmocka_unit_test(test_split),     cmocka_unit_test(test_readings),        cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_samples),   cmocka_unit_test(test_select),          cmocka_unit_test(test_info),
        cmocka_unit_test(test_cut_off),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
