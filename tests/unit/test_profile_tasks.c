/* SPDX-License-Identifier: MIT */
/* analyze/model/finish.c: what a profile shows of tasks, counts and the session once all files are read. */
#include "profile_kit.h"

static void put_birth(struct writer *writer, uint64_t time, uint32_t pid, uint32_t tid)
{
    writer->time = time;
    writer_fork(writer, pid, tid);
}

static void put_sample_of(struct writer *writer, uint64_t time, uint32_t pid, uint32_t tid)
{
    writer->time = time;
    writer->pid = pid;
    writer->tid = tid;
    writer_sample(writer, 0, USER, 0x1010, 1000, NULL, 0);
}

/* Of a thread that was there before, or whose birth was lost, the leader knows more. */
static void test_threads_know_their_leader(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_comm(&writer, "sh", true);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/sh");
    put_birth(&writer, 2000, 20, 20);
    writer.pid = writer.tid = 20;
    writer.time = 2100;
    writer_comm(&writer, "app", true);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/app");
    put_birth(&writer, 2200, 20, 21); /* said when it was born */
    put_sample_of(&writer, 2300, 20, 21);
    put_sample_of(&writer, 2400, 20, 22); /* not said */
    put_sample_of(&writer, 2500, 30, 31); /* nor is its leader there */
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(task_of(profile, 20)->ppid, 10);
    for (int32_t tid = 21; tid <= 22; tid++) {
        assert_int_equal(task_of(profile, tid)->ppid, 10);
        assert_string_equal(task_of(profile, tid)->exec, "/bin/app");
        assert_string_equal(task_of(profile, tid)->comm, "app");
    }
    assert_int_equal(task_of(profile, 21)->parent_tid, 20);
    assert_int_equal(task_of(profile, 22)->parent_tid, 0);
    assert_int_equal(task_of(profile, 31)->ppid, -1);
    assert_string_equal(task_of(profile, 31)->exec, "");
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* What is mapped first after an exec is what runs; what a child maps that goes on with its parent's program is not. */
static void test_programs(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_comm(&writer, "sh", true);
    writer_mmap(&writer, 0x9000, 0x1000, 0, "//anon");
    writer_mmap(&writer, 0xa000, 0x1000, 0, "[vdso]");
    put_birth(&writer, 1500, 15, 15); /* before it is known what runs */
    writer.pid = writer.tid = 15;
    writer_mmap(&writer, 0x7000, 0x1000, 0, "/lib/child.so");
    writer.pid = writer.tid = 10;
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/sh");
    writer_mmap(&writer, 0x3000, 0x1000, 0, "/lib/libc.so");
    put_birth(&writer, 2000, 20, 20);
    writer.pid = writer.tid = 20;
    writer_mmap(&writer, 0x5000, 0x1000, 0, "/lib/plugin.so");
    put_sample_of(&writer, 2100, 20, 20);
    put_birth(&writer, 2200, 30, 30);
    writer.pid = writer.tid = 30;
    writer.time = 2300;
    writer_comm(&writer, "ls", true);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "/bin/ls");
    writer_mmap(&writer, 0x5000, 0x1000, 0, "/lib/libc.so");
    put_sample_of(&writer, 2400, 30, 30);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_string_equal(task_of(profile, 10)->exec, "/bin/sh");
    assert_string_equal(task_of(profile, 15)->exec, "");
    assert_string_equal(task_of(profile, 20)->exec, "/bin/sh");
    assert_int_equal(task_of(profile, 20)->generation_count, 1);
    assert_string_equal(task_of(profile, 30)->exec, "/bin/ls");
    assert_int_equal(task_of(profile, 30)->generation_count, 2);
    assert_string_equal(task_of(profile, 30)->generations[0].exec, "/bin/sh");
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* A sample of nowhere has the stack of samples whose chain is not wanted: there is one of each. */
static void test_sample_of_nowhere(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_sample(&writer, 0, USER, 0, 1, NULL, 0);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->entry_count, 1);
    assert_int_equal(profile->entries[0].stack, profile->sums[0].stack);
    assert_int_equal(profile->stack_count, 1);
    assert_int_equal(profile->frame_count, 1);
    expect_stack(profile, 0, "?+0");
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* A module of the kernel's is called what the kernel's own list of symbols calls it. */
static void test_modules_of_the_kernel(void **state)
{
    (void)state;
    char path[300] = "/", deep[300] = "/";
    memset(path + 1, 'x', sizeof(path) - 2);
    path[254] = '\0'; /* the longest name that gets brackets */
    memset(deep + 1, 'y', sizeof(deep) - 2);
    deep[255] = '\0';
    char longest[300];
    snprintf(longest, sizeof(longest), "[%s]", path + 1);
    const struct {
        const char *path, *name;
    } modules[] = {
        {"/lib/modules/6.1/kernel/net/nf-nat-x.ko.xz", "[nf_nat_x]"},
        {"/lib/modules/one.ko", "[one]"},
        {"/lib/modules/two", "[two]"},
        {"bpf-trampoline", "bpf-trampoline"},
        {"[module]", "[module]"},
        {path, longest},
        {deep, deep},
    };
    const size_t count = sizeof(modules) / sizeof(modules[0]);
    const uint64_t start = 0xffffffffc0000000;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_mmap(&writer, 0x1000, 0x1000, 0, "[module]"); /* a file of that name is another thing */
    for (size_t i = 0; i < count; i++)
        writer_kernel_mmap(&writer, start + i * 0x1000, 0x1000, 77, modules[i].path);
    for (size_t i = 0; i < count; i++) {
        writer.time++;
        writer_sample(&writer, 0, KERNEL, start + i * 0x1000 + 5, 1, NULL, 0);
    }
    writer.time++;
    writer_sample(&writer, 0, USER, 0x1005, 1, NULL, 0);
    struct profile *profile = load_writer(&writer, &bytes);
    assert_int_equal(profile->entry_count, count + 1);
    for (uint32_t i = 0; i <= count; i++) {
        const struct profile_stack *stack = &profile->stacks[profile->entries[i].stack];
        const struct profile_frame *frame = &profile->frames[stack->frames[0]];
        assert_string_equal(frame->module->path, i < count ? modules[i].name : "[module]");
        assert_int_equal(frame->module->kernel, i < count);
        assert_int_equal(frame->kernel, i < count);
        assert_int_equal(frame->module->build_id_size, 0);
        /* The kernel's addresses stay as they are. */
        assert_int_equal(frame->offset, i < count ? start + i * 0x1000 + 5 : 5);
    }
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

struct made {
    uint32_t pid, tid;
    uint64_t start;
    int32_t ppid;
    const char *exec, *argument; /* NULL: none */
};

static const char *name_of(size_t i)
{
    char name[16];
    snprintf(name, sizeof(name), "task.%zu", i);
    return in_directory(name);
}

static void save_made(const struct made *made, const char *path)
{
    struct writer writer;
    begin(&writer, made->pid, made->tid);
    writer_session(&writer, 0xaa, 1000);
    struct pinject_item_task fixed = {.pid = (int32_t)made->pid,
                                      .tid = (int32_t)made->tid,
                                      .ppid = made->ppid,
                                      .start_ns = made->start,
                                      .end_ns = made->start + 10};
    writer_item(&writer, PINJECT_ITEM_TASK, &fixed, sizeof(fixed), NULL, 0);
    writer_generation(&writer, 0, made->start, "comm", made->exec, made->argument);
    writer_save(&writer, path);
    writer_release(&writer);
}

static struct profile *load_made(const struct made *made, size_t count)
{
    const char *paths[8];
    for (size_t i = 0; i < count; i++) {
        paths[i] = name_of(i);
        save_made(&made[i], paths[i]);
    }
    return load_paths(paths, count, NULL);
}

static void expect_made(const struct profile *profile, int32_t tid, int32_t ppid, const char *exec,
                        const char *argument)
{
    const struct profile_task *task = task_of(profile, tid);
    assert_int_equal(task->ppid, ppid);
    assert_string_equal(task->exec, exec);
    assert_int_equal(task->cmdline_count, argument ? 1 : 0);
    if (argument)
        assert_string_equal(task->cmdline[0], argument);
}

/* What a thread does not say of itself its leader says; what it says stands. A process takes nothing of another. */
static void test_inherited_from_leader(void **state)
{
    (void)state;
    static const struct made made[] = {
        {10, 10, 1000, 3, "/bin/leader", "leader"},
        {10, 11, 1001, -1, "", NULL},
        {10, 12, 1002, 7, "/bin/own", "own"},
        {10, 13, 1003, 8, "", "named"},
        {20, 21, 1004, -1, "", NULL}, /* its leader comes later */
        {20, 20, 1005, 4, "/bin/late", "late"},
        {30, 30, 1006, -1, "", NULL},
        {30, 31, 1007, -1, "", NULL},
    };
    struct profile *profile = load_made(made, 8);
    assert_int_equal(profile->task_count, 8);
    expect_made(profile, 10, 3, "/bin/leader", "leader");
    expect_made(profile, 11, 3, "/bin/leader", "leader");
    expect_made(profile, 12, 7, "/bin/own", "own");
    expect_made(profile, 13, 8, "/bin/leader", "named");
    expect_made(profile, 20, 4, "/bin/late", "late");
    expect_made(profile, 21, 4, "/bin/late", "late");
    expect_made(profile, 30, -1, "", NULL);
    expect_made(profile, 31, -1, "", NULL);
    profile_free(profile);
}

/* A number that is used again: a thread is of the process that was there before it. */
static void test_leaders_of_one_number(void **state)
{
    (void)state;
    static const struct made made[] = {
        {10, 10, 1000, 3, "/bin/first", "first"},
        {10, 11, 1500, -1, "", NULL},
        {10, 10, 2000, 4, "/bin/second", NULL},
        {10, 12, 2500, -1, "", NULL},
        {10, 13, 2000, -1, "", NULL},
    };
    struct profile *profile = load_made(made, 5);
    assert_int_equal(profile->task_count, 5);
    expect_made(profile, 11, 3, "/bin/first", "first");
    expect_made(profile, 12, 4, "/bin/second", NULL);
    /* At the same moment the leader is the earlier one. */
    expect_made(profile, 13, 4, "/bin/second", NULL);
    profile_free(profile);
}

/* In the order of start, then of the process, then of the thread, then of the files. */
static void test_order_of_equals(void **state)
{
    (void)state;
    static const struct made made[] = {
        {20, 21, 1000, 1, "/bin/e", NULL}, {10, 12, 1000, 1, "/bin/c", NULL}, {20, 20, 1000, 1, "/bin/d", NULL},
        {10, 10, 1000, 1, "/bin/a", NULL}, {10, 11, 1000, 1, "/bin/b", NULL}, {99, 99, 999, 1, "/bin/0", NULL},
        {20, 21, 1000, 1, "/bin/f", NULL},
    };
    static const char *const in_order[] = {"/bin/0", "/bin/a", "/bin/b", "/bin/c", "/bin/d", "/bin/e", "/bin/f"};
    struct profile *profile = load_made(made, 7);
    assert_int_equal(profile->task_count, 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_string_equal(profile->tasks[i].exec, in_order[i]);
        assert_int_equal(profile->tasks[i].index, i);
    }
    profile_free(profile);
}

static struct profile *load_counts(struct writer *writer, struct buffer *bytes)
{
    struct profile *profile = load_writer(writer, bytes);
    writer_release(writer);
    return profile;
}

static void begin_counts(struct writer *writer, uint32_t generations)
{
    begin(writer, 10, 10);
    writer_session(writer, 0xaa, 1000);
    writer_task(writer, ENDED, 0, 600, 9000, 0);
    for (uint32_t i = 0; i < generations; i++)
        writer_generation(writer, i, 600 + i, "comm", "/bin/app", NULL);
}

/* What an event would have counted: only where it did not run all the time. */
static void test_scaled(void **state)
{
    (void)state;
    static const struct {
        uint64_t value, enabled, running, scaled;
    } counts[] = {
        {100, 10, 10, 100},
        {100, 10, 5, 200},
        {100, 10, 0, 100},
        {100, 10, 11, 100},
        {100, 0, 0, 100},
        {0, 10, 5, 0},
        {7, 3, 2, 10},
        {UINT64_MAX / 2, 4, 2, UINT64_MAX - 1},
        {UINT64_MAX / 2 + 1, 4, 2, UINT64_MAX},
        {UINT64_MAX, UINT64_MAX, 1, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        begin_counts(&writer, 1);
        writer_count(&writer, 1, UINT32_MAX, counts[i].value, counts[i].enabled, counts[i].running, "page-faults");
        struct profile *profile = load_counts(&writer, &bytes);
        const struct profile_count *count = count_of(profile, task_of(profile, 10), "page-faults", UINT32_MAX);
        assert_int_equal(count->value, counts[i].value);
        assert_int_equal(count->enabled_ns, counts[i].enabled);
        assert_int_equal(count->running_ns, counts[i].running);
        assert_int_equal(count->scaled, counts[i].scaled);
        profile_free(profile);
        buffer_release(&bytes);
    }
}

/* A row of the whole task is made of those of its exec generations, where all of them are there and it is not. */
static void test_sums(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_counts(&writer, 2);
    writer_count(&writer, 0, 0, 10, 100, 100, "task-clock");
    writer_count(&writer, 1, 1, 3, 40, 20, "page-faults");
    writer_count(&writer, 0, 1, 20, 200, 150, "task-clock");
    writer_count(&writer, UINT32_MAX, 0, 1, 1, 1, "cycles");
    writer_count(&writer, UINT32_MAX, 1, 2, 1, 1, "cycles");
    writer_count(&writer, UINT32_MAX, UINT32_MAX, 9, 2, 2, "cycles");
    struct profile *profile = load_counts(&writer, &bytes);
    const struct profile_task *task = task_of(profile, 10);
    const struct profile_count *sum = count_of(profile, task, "task-clock", UINT32_MAX);
    assert_int_equal(task->count_count, 7);
    assert_int_equal(sum->value, 30);
    assert_int_equal(sum->enabled_ns, 300);
    assert_int_equal(sum->running_ns, 250);
    assert_int_equal(sum->scaled, 36);
    assert_int_equal(count_of(profile, task, "task-clock", 0)->scaled, 10);
    assert_int_equal(count_of(profile, task, "task-clock", 1)->scaled, 26);
    assert_int_equal(count_of(profile, task, "cycles", UINT32_MAX)->value, 9);
    assert_int_equal(count_of(profile, task, "page-faults", 1)->value, 3);
    assert_null(count_of(profile, task, "page-faults", UINT32_MAX));
    profile_free(profile);
    buffer_release(&bytes);
}

/*
 * Numbers of exec generations need not follow one another; a row of one that no item describes is that of one without a
 * name.
 */
static void test_numbers_of_generations(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_counts(&writer, 0);
    writer_generation(&writer, 7, 700, "seven", "/bin/7", NULL);
    writer_generation(&writer, 3, 600, "three", "/bin/3", NULL);
    writer_count(&writer, 0, 3, 30, 1, 1, "task-clock");
    writer_count(&writer, 0, 7, 70, 1, 1, "task-clock");
    writer_count(&writer, 0, 5, 50, 1, 1, "task-clock");
    struct profile *profile = load_counts(&writer, &bytes);
    const struct profile_task *task = task_of(profile, 10);
    assert_int_equal(task->generation_count, 3);
    assert_string_equal(task->generations[0].comm, "three");
    assert_string_equal(task->generations[1].comm, "");
    assert_string_equal(task->generations[2].comm, "seven");
    assert_string_equal(task->comm, "seven");
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(count_of(profile, task, "task-clock", i)->value, 30 + 20 * i);
    profile_free(profile);
    buffer_release(&bytes);
}

/* The events of a task that is covered by inheritance are one per CPU: the time running is all there was. */
static void test_counts_by_inheritance(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin(&writer, 10, 10);
    writer_session(&writer, 0xaa, 1000);
    struct pinject_item_task fixed = {.pid = 10, .tid = 10, .source = PINJECT_SOURCE_INHERITED, .start_ns = 600};
    writer_item(&writer, PINJECT_ITEM_TASK, &fixed, sizeof(fixed), NULL, 0);
    writer_generation(&writer, 0, 600, "comm", "/bin/app", NULL);
    writer_count(&writer, 1, UINT32_MAX, 100, 40, 10, "page-faults");
    struct profile *profile = load_counts(&writer, &bytes);
    const struct profile_count *count = count_of(profile, task_of(profile, 10), "page-faults", UINT32_MAX);
    assert_int_equal(task_of(profile, 10)->source, PROFILE_SOURCE_INHERITED);
    assert_int_equal(count->scaled, 100);
    assert_int_equal(count->enabled_ns, 10);
    profile_free(profile);
    buffer_release(&bytes);
}

/* A pipe that ended before its first event: nothing is known, and nothing is missing. */
static void test_nothing_known(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    writer_init(&writer, false, true);
    writer_round(&writer);
    struct profile *profile = load_writer(&writer, &bytes);
    const struct profile_session *session = &profile->session;
    const char *texts[] = {session->version,   session->event_reason, session->hostname,
                           session->osrelease, session->arch,         session->cpudesc};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_string_equal(texts[i], "");
    assert_string_equal(session->clock, "unknown");
    assert_false(session->ours || session->exclude_kernel || session->coverage_known);
    assert_int_equal(session->start_ns, 0);
    assert_int_equal(session->argument_count, 0);
    assert_int_equal(session->root, 0);
    assert_int_equal(session->cpus, 0);
    assert_int_equal(session->memory_bytes, 0);
    assert_int_equal(session->kernel_build_id_size, 0);
    assert_null(session->kernel_reference);
    assert_int_equal(profile->event_count + profile->task_count + profile->entry_count + profile->sum_count, 0);
    profile_free(profile);
    buffer_release(&bytes);
    writer_release(&writer);
}

/* The root of perf's is known by its number: the process, not its threads, and no other one. */
static void test_root_of_foreign_file(void **state)
{
    (void)state;
    for (int command = 0; command < 2; command++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        begin(&writer, 10, 10);
        writer.attrs[1].enable_on_exec = (unsigned)command & 1;
        writer_comm(&writer, "sh", true);
        put_birth(&writer, 2000, 10, 11);
        put_birth(&writer, 2000, 20, 20);
        writer.pid = writer.tid = 20;
        writer_comm(&writer, "ls", true);
        struct profile *profile = load_writer(&writer, &bytes);
        assert_int_equal(profile->session.root, command ? 10 : 0);
        assert_int_equal(task_of(profile, 10)->root, command);
        assert_false(task_of(profile, 11)->root);
        assert_false(task_of(profile, 20)->root);
        profile_free(profile);
        buffer_release(&bytes);
        writer_release(&writer);
    }
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    for (size_t i = 0; i < 8; i++)
        unlink(name_of(i));
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_know_their_leader),
        cmocka_unit_test(test_programs),
        cmocka_unit_test(test_modules_of_the_kernel),
        cmocka_unit_test(test_sample_of_nowhere),
        cmocka_unit_test(test_inherited_from_leader),
        cmocka_unit_test(test_leaders_of_one_number),
        cmocka_unit_test(test_order_of_equals),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_numbers_of_generations),
        cmocka_unit_test(test_counts_by_inheritance),
        cmocka_unit_test(test_nothing_known),
        cmocka_unit_test(test_root_of_foreign_file),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
