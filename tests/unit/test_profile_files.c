/* SPDX-License-Identifier: MIT */
/* analyze/model: which files make a profile, and what our own section says. */
#include "profile_kit.h"

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
    writer_save(&writer, in_directory(name));
    writer_release(&writer);
}

static void put_coverage(struct writer *writer)
{
    const char *missed[] = {"setuid", "sudo"};
    const char *note = "a note";
    struct pinject_item_coverage coverage = {.cpu_ns = 100, .attributed_ns = 90, .tasks = 2, .files = 2, .complete = 1};
    struct pinject_item_missed fixed = {.count = 3, .cpu_ns = 4};
    struct pinject_item_note empty = {{0}};
    writer_item(writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
    writer_item(writer, PINJECT_ITEM_MISSED, &fixed, sizeof(fixed), missed, 2);
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
    writer_generation(&writer, 0, 600, "sh", "/bin/sh", "sh");
    writer_generation(&writer, 1, 900, "app", "/bin/app", "./app");
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
    writer_save(&writer, in_directory(name));
    writer_release(&writer);
}

static void check_ours(const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    assert_true(session->ours && session->coverage_known && session->coverage_complete);
    assert_int_equal(session->cpu_ns, 100);
    assert_int_equal(session->missed_count, 1);
    assert_string_equal(session->missed[0].reason, "setuid");
    assert_string_equal(session->missed[0].comm, "sudo");
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
    assert_int_equal(task->generation_count, 2);
    assert_string_equal(task->generations[0].exec, "/bin/sh");
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
    const char *paths[] = {in_directory("a.10.11"), in_directory("a.10.10"), in_directory("a.10.11")};
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
    /* Order of files: pid, tid. The exec generation of before the exec is another entry. */
    assert_string_equal(profile->entries[0].comm, "sh");
    expect_stack(profile, 0, "sh+100");
    assert_string_equal(profile->entries[1].comm, "app");
    assert_int_equal(profile->entries[1].samples, 2);
    expect_stack(profile, 1, "app+5100 app+5080");
    assert_true(profile->frames[profile->stacks[profile->entries[1].stack].frames[1]].caller);
    profile_free(profile);
}

static void save_process(const char *name, uint32_t pid, uint64_t start, unsigned samples)
{
    struct writer writer;
    begin(&writer, pid, pid);
    writer_session(&writer, 0xaa, 1000);
    writer_task(&writer, ENDED, 0, start, start + 1000, 0);
    writer_generation(&writer, 0, start, "app", "/bin/app", "app");
    writer.time = start + 10;
    for (unsigned i = 0; i < samples; i++)
        writer_sample(&writer, 0, USER, 0x1000 + pid, 1000 + pid, NULL, 0);
    writer_save(&writer, in_directory(name));
    writer_release(&writer);
}

/* Files are read by number, tasks are shown by start: numbers of processes begin again at some time. */
static void test_order_of_tasks(void **state)
{
    (void)state;
    static const struct {
        uint32_t pid;
        uint64_t start;
        const char *name;
    } made[] = {{30, 1000, "a.10.10"}, {10, 3000, "a.10.11"}, {25, 2000, "s.1"}, {7, 5000, "s.2"}, {31, 4000, "s.3"}};
    static const int32_t in_order[] = {30, 25, 10, 31, 7};
    const char *paths[5];
    for (unsigned i = 0; i < 5; i++)
        save_process(made[i].name, made[i].pid, made[i].start, i + 1);
    for (unsigned i = 0; i < 5; i++)
        paths[i] = in_directory(made[i].name);
    const struct profile_options merged = {.merged = PROFILE_BY_COMM};
    for (unsigned way = 0; way < 2; way++) {
        struct profile *profile = NULL;
        assert_int_equal(profile_load(paths, 5, way ? &merged : NULL, &profile), 0);
        assert_int_equal(profile->task_count, 5);
        for (unsigned i = 0; i < 5; i++) {
            const struct profile_task *task = task_of(profile, (int32_t)made[i].pid);
            assert_int_equal(profile->tasks[i].pid, in_order[i]);
            assert_int_equal(task->start_ns, made[i].start);
            assert_int_equal(task->samples, i + 1);
            assert_int_equal(task->weight, (i + 1) * (1000 + made[i].pid));
            assert_string_equal(task->file, paths[i]);
        }
        for (uint32_t i = 0; way == 0 && i < profile->entry_count; i++) {
            const struct profile_entry *entry = &profile->entries[i];
            const struct profile_frame *frame = &profile->frames[profile->stacks[entry->stack].frames[0]];
            assert_int_equal(frame->ip - 0x1000, profile->tasks[entry->task].pid);
        }
        profile_free(profile);
    }
}

static void test_counts_only(void **state)
{
    (void)state;
    save_leader("a.10.10");
    const char *path = in_directory("a.10.10");
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
    writer_save(&writer, in_directory(name));
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
    const char *paths[] = {in_directory("s.1"), in_directory("s.2"), in_directory("s.3"), in_directory("s.4")};
    expect_session(paths, NULL, 0xb2, "3 files of 3 other runs are left out");
    /* Long enough not to be that of s.4 by chance, which follows from its time. */
    expect_session(paths, "c3c3c3c3c3c3c3", 0xc3, NULL);
    expect_session(paths, "B1b1b1B1b1b1b1", 0xb1, NULL);
    expect_no_session(paths, "b", "more than one session");
    expect_no_session(paths, "dddddddddddddddddd", "no session id in these files begins with");
    expect_no_session(paths, "all", "give the id of one of these runs");
    expect_no_session(paths, "", "is not the beginning of a session id");
}

static void test_bad_files(void **state)
{
    (void)state;
    save_session("s.1", 0xb1, 5000);
    const char *paths[] = {in_directory("missing"), in_directory("s.1"), directory};
    check_capture();
    struct profile *profile = load_paths(paths, 3, NULL);
    const char *said = check_captured();
    assert_non_null(strstr(said, "missing: No such file"));
    assert_non_null(strstr(said, "this is a directory"));
    assert_int_equal(profile->files_bad, 2);
    assert_int_equal(profile->files_read, 1);
    profile_free(profile);
    profile = NULL;
    check_capture();
    assert_int_equal(profile_load(paths, 1, NULL, &profile), -ENOENT);
    check_captured();
    assert_null(profile);
}

static void save_split(const char *name, uint64_t start, uint64_t end, const char *comm, bool ended)
{
    struct writer writer;
    begin(&writer, 10, 10);
    writer_session(&writer, 0xaa, 1000);
    writer_task(&writer, PINJECT_TASK_SPLIT | PINJECT_TASK_ENDED | (ended ? PINJECT_TASK_STATUS : 0), 9, start, end, 1);
    writer_generation(&writer, 0, start, comm, comm, comm);
    writer_count(&writer, 0, 0, start, 1, 1, "task-clock");
    writer.time = start + 1;
    writer_sample(&writer, 0, USER, start, 1000, NULL, 0);
    writer_save(&writer, in_directory(name));
    writer_release(&writer);
}

/* --exec-split-results: files of one task's exec generations; and another task that got the same number later. */
static void test_split(void **state)
{
    (void)state;
    save_split("a.cc1", 2000, 3000, "cc1", true);
    save_split("a.sh", 1000, 2000, "sh", false);
    save_split("a.later", 5000, 6000, "later", true);
    const char *paths[] = {in_directory("a.cc1"), in_directory("a.later"), in_directory("a.sh")};
    struct profile *profile = load_paths(paths, 3, NULL);
    assert_int_equal(profile->task_count, 2);
    const struct profile_task *task = &profile->tasks[0];
    assert_int_equal(task->start_ns, 1000);
    assert_int_equal(task->end_ns, 3000);
    assert_int_equal(task->exit, 128 + 9);
    assert_int_equal(task->generation_count, 2);
    assert_string_equal(task->generations[0].comm, "sh");
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
                 listed->profile->events[sample->event].name, sample->depth,
                 (unsigned long long)sample->ips[sample->depth - 1], sample->cpu,
                 (unsigned long long)listed->profile->frames[sample->frames[sample->depth - 1]].offset);
    return ++listed->samples == 3;
}

static void test_samples(void **state)
{
    (void)state;
    save_leader("a.10.10");
    const char *path = in_directory("a.10.10");
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

/* What was loaded is not there any more: nothing is invented out of what is. */
static void test_samples_of_another_file(void **state)
{
    (void)state;
    save_leader("a.10.10");
    save_leader("b");
    const char *path = in_directory("a.10.10");
    struct profile *profile = load_paths(&path, 1, NULL);
    struct listed listed = {.profile = profile};
    assert_int_equal(rename(in_directory("b"), path), 0);
    check_capture();
    assert_int_equal(profile_samples(profile, list_sample, &listed), 0);
    assert_non_null(strstr(check_captured(), "a.10.10: the file was replaced while panalyze read it"));
    assert_int_equal(profile->files_bad, 1);
    assert_int_equal(unlink(path), 0);
    check_capture();
    assert_int_equal(profile_samples(profile, list_sample, &listed), 0);
    assert_non_null(strstr(check_captured(), "a.10.10: No such file"));
    assert_int_equal(profile->files_bad, 2);
    assert_int_equal(listed.samples, 0);
    profile_free(profile);
}

static void test_info(void **state)
{
    (void)state;
    save_leader("a.10.10");
    struct profile_file *file = NULL;
    assert_int_equal(profile_file_load(in_directory("a.10.10"), &file), 0);
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
    assert_int_equal(profile_file_load(directory, &file), -EISDIR);
    assert_non_null(strstr(check_captured(), "this is a directory"));
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
    assert_int_equal(buffer_read_file(&bytes, in_directory("a.10.10"), 1u << 20), 0);
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

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    static const char *const names[] = {"a.10.10", "a.10.11", "s.1", "s.2", "s.3", "s.4", "a.cc1", "a.sh", "a.later"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlink(in_directory(names[i]));
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ours),        cmocka_unit_test(test_order_of_tasks),
        cmocka_unit_test(test_counts_only), cmocka_unit_test(test_sessions),
        cmocka_unit_test(test_bad_files),   cmocka_unit_test(test_split),
        cmocka_unit_test(test_samples),     cmocka_unit_test(test_samples_of_another_file),
        cmocka_unit_test(test_info),        cmocka_unit_test(test_cut_off),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
