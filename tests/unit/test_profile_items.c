/* SPDX-License-Identifier: MIT */
/* analyze/model/ours.c: each field of the items of our own section, and which of several files is believed. */
#include "profile_kit.h"

static struct profile *load_and_release(struct writer *writer, struct buffer *bytes)
{
    struct profile *profile = load_writer(writer, bytes);
    writer_release(writer);
    return profile;
}

/* The file of the first thread of PID, which has ended. */
static void begin_task(struct writer *writer, uint32_t pid)
{
    begin(writer, pid, pid);
    writer_session(writer, 0xaa, 1000);
    writer_task(writer, ENDED, 0, 600, 9000, 0);
}

static void put_session(struct writer *writer, const struct pinject_item_session *fixed)
{
    const char *strings[] = {"1.2.3", "task-clock", "a reason", "make", "-j2"};
    writer_item(writer, PINJECT_ITEM_SESSION, fixed, sizeof(*fixed), strings, 5);
}

static void test_session_fields(void **state)
{
    (void)state;
    for (uint32_t on = 0; on < 2; on++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        const struct pinject_item_session fixed = {.id = {0x1111111111111111, 0x2222222222222222},
                                                   .start_ns = 77,
                                                   .start_realtime_ns = 88,
                                                   .flags = 99,
                                                   .root = 12,
                                                   .arguments = on ? 2 : 100, /* more than there are */
                                                   .bare = on,
                                                   .exclude_kernel = !on};
        begin(&writer, 10, 10);
        put_session(&writer, &fixed);
        put_session(&writer, &(struct pinject_item_session){.id = {1, 1}, .start_ns = 1}); /* the first one counts */
        writer_task(&writer, ENDED, 0, 600, 9000, 0);
        struct profile *profile = load_and_release(&writer, &bytes);
        const struct profile_session *session = &profile->session;
        assert_int_equal(session->id[0], 0x11);
        assert_int_equal(session->id[15], 0x22);
        assert_int_equal(session->start_ns, 77);
        assert_int_equal(session->start_realtime_ns, 88);
        assert_int_equal(session->flags, 99);
        assert_int_equal(session->root, 12);
        assert_int_equal(session->bare, on);
        assert_int_equal(session->exclude_kernel, !on);
        assert_string_equal(session->version, "1.2.3");
        assert_string_equal(session->event_reason, "a reason");
        assert_true(on ? session->argument_count == 2 : session->argument_count >= 2 && session->argument_count < 100);
        assert_string_equal(session->arguments[0], "make");
        assert_string_equal(session->arguments[1], "-j2");
        for (uint32_t i = 2; i < session->argument_count; i++)
            assert_string_equal(session->arguments[i], "");
        profile_free(profile);
        buffer_release(&bytes);
    }
}

static struct profile_task task_of_item(struct pinject_item_task fixed)
{
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    if (!fixed.pid)
        fixed.pid = fixed.tid = 10;
    begin(&writer, (uint32_t)fixed.pid, (uint32_t)fixed.tid);
    writer_session(&writer, 0xaa, 1000);
    writer_item(&writer, PINJECT_ITEM_TASK, &fixed, sizeof(fixed), NULL, 0);
    struct profile *profile = load_and_release(&writer, &bytes);
    assert_int_equal(profile->task_count, 1);
    struct profile_task task = profile->tasks[0]; /* its numbers */
    profile_free(profile);
    buffer_release(&bytes);
    return task;
}

static void test_task_numbers(void **state)
{
    (void)state;
    struct profile_task task = task_of_item((struct pinject_item_task){.pid = 20,
                                                                       .tid = 21,
                                                                       .ppid = 7,
                                                                       .parent_tid = 8,
                                                                       .start_ns = 600,
                                                                       .end_ns = 900,
                                                                       .startup_ns = 11,
                                                                       .exit_ns = 22,
                                                                       .lost = 33,
                                                                       .source = PINJECT_SOURCE_PERF});
    assert_int_equal(task.pid, 20);
    assert_int_equal(task.tid, 21);
    assert_int_equal(task.ppid, 7);
    assert_int_equal(task.parent_tid, 8);
    assert_int_equal(task.start_ns, 600);
    assert_int_equal(task.end_ns, 900);
    assert_int_equal(task.startup_ns, 11);
    assert_int_equal(task.exit_ns, 0); /* nobody knows it */
    assert_int_equal(task.lost, 33);
    assert_false(task.ended || task.exit_cost || task.counted_only || task.root);
    assert_int_equal(task_of_item((struct pinject_item_task){.parent_tid = -1}).parent_tid, 0);
    assert_int_equal(task_of_item((struct pinject_item_task){.ppid = -1}).ppid, -1);
    assert_int_equal(task_of_item((struct pinject_item_task){.ppid = 0}).ppid, -1);
    assert_int_equal(task_of_item((struct pinject_item_task){.ppid = 1}).ppid, 1);
    /* The first process has no parent, and that is known. */
    assert_int_equal(task_of_item((struct pinject_item_task){.pid = 1, .tid = 1, .ppid = 0}).ppid, 0);
    assert_int_equal(task_of_item((struct pinject_item_task){.pid = 1, .tid = 1, .ppid = -5}).ppid, -1);
}

static void test_task_flags(void **state)
{
    (void)state;
    for (uint32_t bit = 1; bit <= PINJECT_TASK_ROOT; bit <<= 1) {
        struct profile_task task = task_of_item((struct pinject_item_task){.flags = bit, .exit_ns = 22});
        assert_int_equal(task.ended, bit == PINJECT_TASK_ENDED);
        assert_int_equal(task.exit, bit == PINJECT_TASK_STATUS ? 0 : -1);
        assert_int_equal(task.exit_cost, bit == PINJECT_TASK_EXIT_COST);
        assert_int_equal(task.exit_ns, bit == PINJECT_TASK_EXIT_COST ? 22 : 0);
        assert_int_equal(task.counted_only, bit == PINJECT_TASK_COUNTED_ONLY);
        assert_int_equal(task.root, bit == PINJECT_TASK_ROOT);
    }
}

static void test_exit_status(void **state)
{
    (void)state;
    static const struct {
        int status, shown;
    } statuses[] = {{0, 0},       {1 << 8, 1}, {255 << 8, 255}, {9, 128 + 9}, {11 | 128, 128 + 11},
                    {0x137f, -1}, {0xffff, -1}};
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
        assert_int_equal(task_of_item((struct pinject_item_task){.flags = ENDED, .status = statuses[i].status}).exit,
                         statuses[i].shown);
}

static void test_sources(void **state)
{
    (void)state;
    static const enum profile_task_source sources[] = {PROFILE_SOURCE_UNKNOWN,    PROFILE_SOURCE_PERF,
                                                       PROFILE_SOURCE_INHERITED,  PROFILE_SOURCE_TIMER,
                                                       PROFILE_SOURCE_ACCOUNTING, PROFILE_SOURCE_CPU};
    for (uint32_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
        assert_int_equal(task_of_item((struct pinject_item_task){.source = i}).source, sources[i]);
    assert_int_equal(task_of_item((struct pinject_item_task){.source = 6}).source, PROFILE_SOURCE_UNKNOWN);
    assert_int_equal(task_of_item((struct pinject_item_task){.source = UINT32_MAX}).source, PROFILE_SOURCE_UNKNOWN);
}

/* What a loss is of is not said: it goes to the first event that is sampled. */
static void test_loss(void **state)
{
    (void)state;
    for (unsigned sampled = 0; sampled < 3; sampled++) {
        struct writer writer;
        struct buffer bytes = BUFFER_INIT;
        begin(&writer, 10, 10);
        writer.attrs[0].sample_period = sampled == 0;
        writer.attrs[1].sample_period = sampled <= 1;
        writer_session(&writer, 0xaa, 1000);
        writer_task(&writer, ENDED, 0, 600, 9000, 5);
        struct profile *profile = load_and_release(&writer, &bytes);
        assert_int_equal(profile->lost, 5);
        assert_int_equal(profile->events[0].lost, sampled == 0 ? 5 : 0);
        assert_int_equal(profile->events[1].lost, sampled == 1 ? 5 : 0);
        profile_free(profile);
        buffer_release(&bytes);
    }
}

/* A count without an attribute: what it is follows from its name, or from what it says. */
static void test_counts_by_name(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_task(&writer, 10);
    writer_generation(&writer, 0, 600, "comm", "/bin/app", NULL);
    static const struct {
        const char *name;
        uint32_t event, nanoseconds;
    } counts[] = {
        {"page-faults", 1, 0}, {"cpu-clock", UINT32_MAX, 0}, {"of-my-own", UINT32_MAX, 1}, {"another", UINT32_MAX, 0},
        {"cycles", 2, 0},      {"task-clock", UINT32_MAX, 0}};
    for (uint32_t i = 0; i < 6; i++) {
        const struct pinject_item_count fixed = {.value = 100 + i,
                                                 .enabled_ns = 1,
                                                 .running_ns = 1,
                                                 .event = counts[i].event,
                                                 .generation = UINT32_MAX,
                                                 .nanoseconds = counts[i].nanoseconds};
        writer_item(&writer, PINJECT_ITEM_COUNT, &fixed, sizeof(fixed), &counts[i].name, 1);
    }
    struct profile *profile = load_and_release(&writer, &bytes);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(count_of(profile, task_of(profile, 10), counts[i].name, UINT32_MAX)->value, 100 + i);
    assert_int_equal(profile->event_count, 6); /* task-clock is the one that has an attribute */
    for (uint32_t i = 0; i < profile->event_count; i++) {
        const struct profile_event *event = &profile->events[i];
        bool clock = strcmp(event->name, "cpu-clock") == 0 || strcmp(event->name, "task-clock") == 0;
        assert_int_equal(event->nanoseconds, clock || strcmp(event->name, "of-my-own") == 0);
        if (strcmp(event->name, "cycles") == 0)
            assert_int_equal(event->type, PERF_TYPE_HARDWARE);
        if (strcmp(event->name, "cpu-clock") == 0)
            assert_int_equal(event->config, PERF_COUNT_SW_CPU_CLOCK);
        if (strcmp(event->name, "another") == 0)
            assert_int_equal(event->type, UINT32_MAX);
    }
    profile_free(profile);
    buffer_release(&bytes);
}

static void put_unit(struct writer *writer, uint32_t attr, double scale, const char *unit, const char *name)
{
    const char *strings[] = {unit, name};
    struct pinject_item_unit fixed = {.event = attr};
    memcpy(&fixed.scale, &scale, sizeof(scale));
    writer_item(writer, PINJECT_ITEM_UNIT, &fixed, sizeof(fixed), strings, 2);
}

/* The unit and the scale of an event with an attribute, and of one with a name; what makes no sense is none. */
static void test_units(void **state)
{
    (void)state;
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_task(&writer, 10);
    writer_count(&writer, 1, UINT32_MAX, 100, 1, 1, "");
    writer_count(&writer, UINT32_MAX, UINT32_MAX, 7, 1, 1, "energy");
    writer_count(&writer, UINT32_MAX, UINT32_MAX, 8, 1, 1, "odd");
    put_unit(&writer, 1, 1, "pages", "");
    put_unit(&writer, UINT32_MAX, 0.5, "Joules", "energy");
    put_unit(&writer, UINT32_MAX, -1.0, "", "odd");
    put_unit(&writer, UINT32_MAX, 3, "nobody's", "");
    struct profile *profile = load_and_release(&writer, &bytes);
    for (uint32_t i = 0; i < profile->event_count; i++) {
        const struct profile_event *event = &profile->events[i];
        const bool energy = strcmp(event->name, "energy") == 0, faults = strcmp(event->name, "page-faults") == 0;
        assert_true(event->scale == (energy ? 0.5 : 0));
        if (energy || faults)
            assert_string_equal(event->unit, energy ? "Joules" : "pages");
        else
            assert_null(event->unit); /* not "" */
        assert_true(event->name[0] != '\0');
    }
    profile_free(profile);
    buffer_release(&bytes);
}

/* Of items that are too short, or have a number that none can have, nothing is taken; those behind them are whole. */
static void test_damaged_items(void **state)
{
    (void)state;
    static const uint32_t types[] = {PINJECT_ITEM_GENERATION, PINJECT_ITEM_COUNT, PINJECT_ITEM_COVERAGE,
                                     PINJECT_ITEM_MISSED,     PINJECT_ITEM_TASK,  PINJECT_ITEM_SESSION,
                                     PINJECT_ITEM_NOTE,       PINJECT_ITEM_UNIT};
    struct writer writer;
    struct buffer bytes = BUFFER_INIT;
    begin_task(&writer, 10);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        const struct pinject_item empty = {0};
        writer_item(&writer, types[i], &empty, sizeof(empty), NULL, 0);
        /* whole for an exec generation alone: of the last number */
        const uint64_t numbers[3] = {0, UINT64_MAX, UINT64_MAX};
        writer_item(&writer, types[i], numbers, types[i] == PINJECT_ITEM_GENERATION ? 24 : 16, NULL, 0);
    }
    writer_generation(&writer, 0, 600, "comm", "/bin/app", "argument");
    writer_count(&writer, 0, 0, 3000, 10, 10, "task-clock");
    const struct pinject_item_coverage coverage = {.cpu_ns = 5};
    const struct pinject_item_missed missed = {.count = 6};
    const char *strings[] = {"reason", "comm"};
    writer_item(&writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
    writer_item(&writer, PINJECT_ITEM_MISSED, &missed, sizeof(missed), NULL, 0); /* without its texts */
    writer_item(&writer, PINJECT_ITEM_MISSED, &missed, sizeof(missed), strings, 2);
    struct profile *profile = load_and_release(&writer, &bytes);
    const struct profile_task *task = task_of(profile, 10);
    assert_int_equal(task->generation_count, 1);
    assert_string_equal(task->exec, "/bin/app");
    assert_string_equal(task->cmdline[0], "argument");
    assert_int_equal(count_of(profile, task, "task-clock", 0)->value, 3000);
    assert_int_equal(profile->session.cpu_ns, 5);
    assert_false(profile->session.coverage_complete);
    assert_int_equal(profile->session.missed_count, 2);
    assert_string_equal(profile->session.missed[0].reason, "");
    assert_string_equal(profile->session.missed[1].reason, "reason");
    assert_int_equal(profile->session.id[0], 0xaa);
    profile_free(profile);
    buffer_release(&bytes);
}

static void save_coverage(const char *name, uint32_t pid, uint32_t complete, uint64_t cpu_ns, const char *reason)
{
    struct writer writer;
    const char *strings[] = {reason, "comm"}, *note = "the same note";
    const struct pinject_item_coverage coverage = {.cpu_ns = cpu_ns,
                                                   .attributed_ns = cpu_ns + 1,
                                                   .tasks = cpu_ns + 2,
                                                   .files = cpu_ns + 3,
                                                   .collector_ns = cpu_ns + 4,
                                                   .complete = complete};
    const struct pinject_item_unwritten unwritten = {.files = cpu_ns + 7, .samples = cpu_ns + 8};
    const struct pinject_item_missed missed = {.count = cpu_ns + 5, .cpu_ns = cpu_ns + 6};
    const struct pinject_item_note empty = {{0}};
    begin_task(&writer, pid);
    writer_item(&writer, PINJECT_ITEM_MISSED, &missed, sizeof(missed), strings, 2); /* of no coverage */
    writer_item(&writer, PINJECT_ITEM_COVERAGE, &coverage, sizeof(coverage), NULL, 0);
    writer_item(&writer, PINJECT_ITEM_UNWRITTEN, &unwritten, sizeof(unwritten), NULL, 0);
    for (int i = 0; i < 2; i++)
        writer_item(&writer, PINJECT_ITEM_MISSED, &missed, sizeof(missed), strings, 2);
    writer_item(&writer, PINJECT_ITEM_NOTE, &empty, sizeof(empty), &note, 1);
    writer_save(&writer, in_directory(name));
    writer_release(&writer);
}

/* The one that knows the most: complete before incomplete, then with more CPU time, then the last one. */
static void expect_coverage(uint32_t complete0, uint64_t cpu0, uint32_t complete1, uint64_t cpu1, unsigned wins)
{
    const char *paths[] = {in_directory("one"), in_directory("two")};
    save_coverage("one", 10, complete0, cpu0, "first");
    save_coverage("two", 20, complete1, cpu1, "second");
    struct profile *profile = load_paths(paths, 2, NULL);
    const struct profile_session *session = &profile->session;
    uint64_t cpu = wins ? cpu1 : cpu0;
    assert_true(session->coverage_known);
    assert_int_equal(session->coverage_complete, wins ? complete1 : complete0);
    assert_int_equal(session->cpu_ns, cpu);
    assert_int_equal(session->attributed_ns, cpu + 1);
    assert_int_equal(session->recorded_tasks, cpu + 2);
    assert_int_equal(session->recorded_files, cpu + 3);
    assert_int_equal(session->collector_ns, cpu + 4);
    assert_int_equal(session->incomplete_files, cpu + 7);
    assert_int_equal(session->unwritten_samples, cpu + 8);
    assert_int_equal(session->missed_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(session->missed[i].reason, wins ? "second" : "first");
        assert_string_equal(session->missed[i].comm, "comm");
        assert_int_equal(session->missed[i].count, cpu + 5);
        assert_int_equal(session->missed[i].cpu_ns, cpu + 6);
    }
    assert_int_equal(session->note_count, 1);
    profile_free(profile);
}

static void test_coverage(void **state)
{
    (void)state;
    expect_coverage(1, 100, 1, 200, 1);
    expect_coverage(1, 200, 1, 100, 0);
    expect_coverage(1, 100, 1, 100, 1);
    expect_coverage(1, 100, 0, 200, 0);
    expect_coverage(1, 100, 0, 50, 0);
    expect_coverage(0, 50, 1, 100, 1);
    expect_coverage(0, 100, 0, 100, 1);
    expect_coverage(0, 200, 0, 100, 0);
}

static void save_machine(const char *name, uint32_t pid, const char *hostname, uint32_t cpus, uint64_t memory_kb,
                         unsigned char kernel_id)
{
    struct writer writer;
    const unsigned char id[20] = {kernel_id};
    begin_task(&writer, pid);
    if (hostname)
        writer_text(&writer, &writer.features[PERFDATA_HOSTNAME], hostname);
    writer_text(&writer, &writer.features[PERFDATA_OSRELEASE], "6.1.0");
    writer_u32(&writer, &writer.features[PERFDATA_NRCPUS], 77); /* configured */
    writer_u32(&writer, &writer.features[PERFDATA_NRCPUS], cpus);
    writer_u64(&writer, &writer.features[PERFDATA_TOTAL_MEM], memory_kb);
    if (kernel_id) {
        writer_build_id(&writer, "/bin/app", (const unsigned char[20]){99}, 20, USER);
        writer_build_id(&writer, "[kernel.kallsyms]_other", (const unsigned char[20]){98}, 0, KERNEL);
        writer_build_id(&writer, "[kernel.kallsyms]", id, 20, KERNEL);
    }
    writer_save(&writer, in_directory(name));
    writer_release(&writer);
}

static void expect_machine(const char *hostname, uint32_t cpus, uint64_t memory_bytes, unsigned kernel_id)
{
    const char *paths[] = {in_directory("one"), in_directory("two")};
    struct profile *profile = load_paths(paths, 2, NULL);
    assert_string_equal(profile->session.hostname, hostname);
    assert_string_equal(profile->session.osrelease, "6.1.0");
    assert_string_equal(profile->session.arch, "");
    assert_int_equal(profile->session.cpus, cpus);
    assert_int_equal(profile->session.memory_bytes, memory_bytes);
    assert_int_equal(profile->session.kernel_build_id_size, kernel_id ? 20 : 0);
    if (kernel_id)
        assert_int_equal(profile->session.kernel_build_id[0], kernel_id);
    profile_free(profile);
}

/* First come, first served; what the first does not say the next one may. */
static void test_machine(void **state)
{
    (void)state;
    save_machine("one", 10, "first", 4, 1024, 1);
    save_machine("two", 20, "second", 8, 2048, 2);
    expect_machine("first", 4, 1u << 20, 1);
    save_machine("one", 10, "", 0, 0, 0);
    expect_machine("second", 8, 2u << 20, 2);
    save_machine("one", 10, NULL, 0, UINT64_MAX / 1024, 0);
    expect_machine("second", 8, UINT64_MAX / 1024 * 1024, 2);
    save_machine("one", 10, NULL, 0, UINT64_MAX / 1024 + 1, 0); /* more than there are addresses */
    expect_machine("second", 8, 2u << 20, 2);
    save_machine("two", 20, "second", 0, UINT64_MAX, 0);
    expect_machine("second", 0, 0, 0);
}

static int make_directory(void **state)
{
    (void)state;
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(in_directory("one"));
    unlink(in_directory("two"));
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_fields), cmocka_unit_test(test_task_numbers),   cmocka_unit_test(test_task_flags),
        cmocka_unit_test(test_exit_status),    cmocka_unit_test(test_sources),        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_units),          cmocka_unit_test(test_counts_by_name), cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_machine),        cmocka_unit_test(test_damaged_items),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
