/* SPDX-License-Identifier: MIT */
/* What stands in result files, by a strict reader and by perf. */
#include "check.h"

#include "test_result_kit.h"

#include <fcntl.h>
#include <pinject/format.h>
#include <pinject/pinject.h>

#include "collector/system/build_id.h"

/* What perf shall read without a word, for each file here. */
static void check_perf(const char *path, bool samples)
{
    static const char *const commands[] = {"report --stdio", "report --stdio -T", "script",
                                           "buildid-list",   "evlist -v",         "report --header-only"};
    char arguments[256];
    if (!kit_has_perf())
        return;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        snprintf(arguments, sizeof(arguments), "%s -i %s", commands[i], path);
        char *output = kit_perf(arguments);
        /* Without samples perf report and perf script have nothing to say; build ids are told of what they hit. */
        if (i > 3 || (samples && i < 3))
            assert_true(output[0] != '\0');
        free(output);
    }
}

static void expect_perf(const char *arguments, const char *text)
{
    if (!kit_has_perf())
        return;
    char *output = kit_perf(arguments);
    if (!strstr(output, text))
        print_message("perf %s gives:\n%s\n", arguments, output);
    assert_non_null(strstr(output, text));
    free(output);
}

/* What nobody needs to read the records is told once, by the first task. Build ids are in the records. */
static void check_sections(const struct kit_file *file, bool root)
{
    static const unsigned always[] = {3, 4, 6, 12, 21, 29, PINJECT_FEATURE}, once[] = {5, 7, 10, 11, 23};
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        assert_non_null(file->sections[always[i]].data);
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
        assert_int_equal(file->sections[once[i]].data != NULL, root);
    assert_null(file->sections[PERFDATA_BUILD_ID].data);
}

/* Of the test itself, in the record that maps it. */
static void check_build_id(const struct kit_file *file)
{
    struct buildid own = {0};
    unsigned found = 0;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && buildid_of_file(fd, &own));
    close(fd);
    for (uint64_t at = 0; at < file->header.data.size;) {
        const unsigned char *bytes = file->bytes + file->header.data.offset + at;
        struct perf_event_header record;
        memcpy(&record, bytes, sizeof(record));
        at += record.size;
        const unsigned mode = record.misc & PERF_RECORD_MISC_CPUMODE_MASK;
        if (record.type != PERF_RECORD_MMAP2 || mode == PERF_RECORD_MISC_KERNEL)
            continue;
        assert_true(record.misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
        assert_int_equal(bytes[40], own.size);
        assert_memory_equal(bytes + 44, own.bytes, own.size);
        found++;
    }
    assert_int_equal(found, 1);
}

static void test_finished_task(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 78);
    assert_int_equal(result_new(kit.results, 77, 78, NULL, &result), 0);
    assert_string_equal(result_path(result), "out.77.78");
    kit_comm(&kit, result, &task, "hot");
    kit_map_self(&kit, result, &task);
    kit_samples(&kit, result, &task, 50);
    assert_true(result_pending(result) > 0);
    assert_int_equal(access("out.77.78", F_OK), -1);
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_int_equal(results_written(kit.results), 1);

    assert_true(kit_read("out.77.78", &file));
    assert_int_equal(results_bytes(kit.results), file.size);
    assert_int_equal(file.attrs, 3);
    assert_int_equal(file.ids[0], 78001);
    assert_int_equal(file.ids[2], 78003);
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 50);
    assert_int_equal(file.records[PERF_RECORD_READ], 3);
    check_sections(&file, false);
    check_build_id(&file);
    kit_file_free(&file);

    check_perf("out.77.78", true);
    expect_perf("report -i out.77.78 --stdio -T", "77   78        7000         7001              7002");
    expect_perf("report -i out.77.78 --stdio", "# Samples: 50  of event 'task-clock'");
    expect_perf("script -i out.77.78 -F comm,pid,tid,time,period,event", "1.001000:    1001001       task-clock:");
    expect_perf("buildid-list -i out.77.78", "test_result");
    expect_perf("report --header-only -i out.77.78", "# clockid: monotonic (1)");
    expect_perf("report --header-only -i out.77.78", "name = context-switches");
    kit_free(&kit);
}

/* Fewer than an eighth of the descriptors stay open between two updates; who ends makes room for the next. */
static void test_files_that_stay_open(void **state)
{
    (void)state;
    static const struct {
        int flushed, finished; /* -1: none */
        unsigned open;
    } steps[] = {{0, -1, 1}, {1, -1, 2}, {2, -1, 2}, {-1, 0, 1}, {3, -1, 2}, {-1, 1, 1},
                 {-1, 3, 0}, {4, -1, 1}, {5, -1, 2}, {-1, 2, 2}, {-1, 4, 1}, {-1, 5, 0}};
    struct kit kit;
    struct result *results[6];
    kit_new(&kit, KIT_SAMPLING);
    kit.session.fd_limit = 31;
    assert_int_equal(kit_start(&kit, "out"), 0);
    for (pid_t i = 0; i < 6; i++)
        assert_int_equal(result_new(kit.results, 1, i + 1, NULL, &results[i]), 0);
    const unsigned before = check_open_fds();
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        const int number = steps[i].flushed < 0 ? steps[i].finished : steps[i].flushed;
        struct result_task task = kit_task(&kit, 1, number + 1);
        if (steps[i].flushed < 0)
            assert_int_equal(result_finish(results[number], &task, NULL), 0);
        else
            assert_int_equal(result_flush(results[number], &task, NULL), 0);
        assert_int_equal(check_open_fds(), before + steps[i].open);
    }
    kit_free(&kit);
}

static void test_items(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    struct result_generation generations[2] = {
        task.generations[0], {.start_ns = 3, .comm = "b", .exec = "/b", .cmdline = "b\0cut", .cmdline_size = 5}};
    generations[0].counted = generations[1].counted = true;
    generations[1].values[1].value = 41;
    const char *notes[] = {"a note"};
    struct result_missed missed = {.reason = "static", .comm = "busybox", .count = 3, .cpu_ns = 12};
    struct result_coverage coverage = {.cpu_ns = 100,
                                       .attributed_ns = 99,
                                       .tasks = 4,
                                       .files = 5,
                                       .collector_ns = 6,
                                       .complete = true,
                                       .missed = &missed,
                                       .missed_count = 1};
    task.generations = generations;
    task.generation_count = 2;
    task.notes = notes;
    task.note_count = 1;
    task.flags |= PINJECT_TASK_ROOT;
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    assert_int_equal(result_finish(result, &task, &coverage), 0);
    assert_true(kit_read("out.77.77", &file));

    const struct pinject_item_session *session = kit_item(&file, PINJECT_ITEM_SESSION, 0);
    assert_int_equal(session->id[0], kit.session.id[0]);
    assert_true(session->arguments > 0);
    const char *text = (const char *)(session + 1);
    assert_string_equal(text, PINJECT_VERSION_STRING);
    text += strlen(text) + 1;
    assert_string_equal(text, "task-clock");
    text += strlen(text) + 1;
    assert_string_equal(text, "this machine has no cycles");
    text += strlen(text) + 1;
    assert_non_null(strstr(text, "test_result"));

    const struct pinject_item_task *shown = kit_item(&file, PINJECT_ITEM_TASK, 0);
    assert_int_equal(shown->status, 0x700);
    assert_int_equal(shown->startup_ns, 400000);
    const struct pinject_item_generation *generation = kit_item(&file, PINJECT_ITEM_GENERATION, 0);
    assert_int_equal(generation->arguments, 3);
    assert_memory_equal(generation + 1, "hot\0/bin/hot\0hot\0-x\0a b", 24);
    generation = kit_item(&file, PINJECT_ITEM_GENERATION, 1);
    assert_int_equal(generation->number, 1);
    assert_int_equal(generation->arguments, 2);
    assert_memory_equal(generation + 1, "b\0/b\0b\0cut", 11);

    /* The whole task's three, then three of each exec generation. */
    const struct pinject_item_count *count = kit_item(&file, PINJECT_ITEM_COUNT, 0);
    assert_int_equal(count->value, 7000);
    assert_int_equal(count->generation, UINT32_MAX);
    assert_int_equal(count->nanoseconds, 1);
    count = kit_item(&file, PINJECT_ITEM_COUNT, 7);
    assert_int_equal(count->value, 41);
    assert_int_equal(count->generation, 1);
    assert_int_equal(count->event, 1);
    assert_int_equal(count->item.size, sizeof(*count)); /* the attr has the name */
    assert_null(kit_item(&file, PINJECT_ITEM_COUNT, 9));

    const struct pinject_item_note *note = kit_item(&file, PINJECT_ITEM_NOTE, 0);
    assert_string_equal((const char *)(note + 1), "branches: not supported");
    note = kit_item(&file, PINJECT_ITEM_NOTE, 1);
    assert_string_equal((const char *)(note + 1), "a note");
    const struct pinject_item_coverage *covered = kit_item(&file, PINJECT_ITEM_COVERAGE, 0);
    assert_int_equal(covered->attributed_ns, 99);
    assert_int_equal(covered->complete, 1);
    const struct pinject_item_missed *one = kit_item(&file, PINJECT_ITEM_MISSED, 0);
    assert_int_equal(one->count, 3);
    assert_memory_equal(one + 1, "static\0busybox", 15);
    check_sections(&file, true);
    kit_file_free(&file);
    check_perf("out.77.77", false);
    expect_perf("report --header-only -i out.77.77", "# cmdline : ");
    kit_free(&kit);
}

/* A split file stands for its exec generation: READ records and counts are that exec generation's. */
static void test_split(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    struct result_generation generation = task.generations[0];
    generation.counted = true;
    generation.values[1].value = 41;
    task.generations = &generation;
    task.flags |= PINJECT_TASK_SPLIT;
    assert_int_equal(result_new(kit.results, 77, 77, "/usr/bin/as", &result), 0);
    kit_comm(&kit, result, &task, "as");
    kit_samples(&kit, result, &task, 1);
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_true(kit_read("out.77.77.as", &file));
    const struct pinject_item_count *count = kit_item(&file, PINJECT_ITEM_COUNT, 1);
    assert_int_equal(count->value, 41);
    assert_int_equal(count->generation, 0);
    assert_null(kit_item(&file, PINJECT_ITEM_COUNT, 3));
    kit_file_free(&file);
    expect_perf("report -i out.77.77.as --stdio -T", "77   77           0           41 ");
    check_perf("out.77.77.as", true);
    kit_free(&kit);
}

static void test_grows(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    kit_comm(&kit, result, &task, "hot");
    for (unsigned round = 1; round <= 5; round++) {
        kit_samples(&kit, result, &task, 300);
        assert_int_equal(result_flush(result, &task, NULL), 0);
        assert_int_equal(result_pending(result), 0);
        assert_true(kit_read("out.77.77", &file));
        assert_int_equal(file.records[PERF_RECORD_SAMPLE], 300 * round);
        assert_int_equal(file.records[PERF_RECORD_READ], 0);
        const struct pinject_item_task *shown = kit_item(&file, PINJECT_ITEM_TASK, 0);
        assert_int_equal(shown->samples, 300 * round);
        assert_int_equal(results_bytes(kit.results), file.size);
        kit_file_free(&file);
        check_perf("out.77.77", true);
    }
    /* With nothing new too. */
    assert_int_equal(result_flush(result, &task, NULL), 0);
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_true(kit_read("out.77.77", &file));
    assert_int_equal(file.records[PERF_RECORD_SAMPLE], 1500);
    assert_int_equal(file.records[PERF_RECORD_READ], 3);
    kit_file_free(&file);
    assert_int_equal(results_written(kit.results), 1);
    check_perf("out.77.77", true);
    kit_free(&kit);
}

/* Refused events are no attrs; without any there still is one, and a record, so that perf reads the file. */
static void test_refused_events(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    for (unsigned mask = 0; mask < 8; mask++) {
        char path[64];
        snprintf(path, sizeof(path), "out.77.%u", 100 + mask);
        struct result_task task = kit_task(&kit, 77, (pid_t)(100 + mask));
        for (unsigned i = 0; i < 3; i++)
            if (!(mask >> i & 1))
                task.ids[i] = 0;
        assert_int_equal(result_new(kit.results, 77, (pid_t)(100 + mask), NULL, &result), 0);
        if (mask)
            kit_comm(&kit, result, &task, "hot");
        if (mask & 1)
            kit_samples(&kit, result, &task, 3);
        assert_int_equal(result_finish(result, &task, NULL), 0);
        assert_true(kit_read(path, &file));
        unsigned wanted = (unsigned)__builtin_popcount(mask);
        assert_int_equal(file.attrs, wanted ? wanted : 1);
        assert_int_equal(file.records[PERF_RECORD_READ], wanted);
        /* Counts point to their attr. */
        for (unsigned i = 0; i < wanted; i++)
            assert_int_equal(((const struct pinject_item_count *)kit_item(&file, PINJECT_ITEM_COUNT, i))->event, i);
        kit_file_free(&file);
        check_perf(path, mask & 1);
    }
    kit_free(&kit);
}

static void test_counting_only(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_STAT);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    kit_comm(&kit, result, &task, "hot");
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_true(kit_read("out.77.77", &file));
    assert_int_equal(file.attrs, 4);
    assert_int_equal(file.records[PERF_RECORD_READ], 3);
    /* The dummy is in no count; task-clock is the second attr. */
    const struct pinject_item_count *count = kit_item(&file, PINJECT_ITEM_COUNT, 0);
    assert_int_equal(count->event, 1);
    assert_int_equal(count->value, 7001);
    expect_perf("evlist -i out.77.77", "dummy\ntask-clock\npage-faults\ncontext-switches\n");
    const struct pinject_item_session *session = kit_item(&file, PINJECT_ITEM_SESSION, 0);
    const char *text = (const char *)(session + 1);
    assert_string_equal(text + strlen(text) + 1, "task-clock");
    kit_file_free(&file);
    check_perf("out.77.77", false);
    kit_free(&kit);
}

static void test_many_tasks(void **state)
{
    (void)state;
    struct kit kit;
    struct result *results[400];
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    /* More than are kept open at once: those beyond are opened again for each update. */
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < 400; i++) {
            struct result_task task = kit_task(&kit, 77, (pid_t)i + 1);
            if (round == 0)
                assert_int_equal(result_new(kit.results, 77, (pid_t)i + 1, NULL, &results[i]), 0);
            kit_samples(&kit, results[i], &task, 2);
            assert_int_equal(round < 2 ? result_flush(results[i], &task, NULL) : result_finish(results[i], &task, NULL),
                             0);
        }
    }
    uint64_t bytes = 0;
    for (unsigned i = 0; i < 400; i++) {
        char path[64];
        snprintf(path, sizeof(path), "out.77.%u", i + 1);
        assert_true(kit_read(path, &file));
        assert_int_equal(file.records[PERF_RECORD_SAMPLE], 6);
        bytes += file.size;
        kit_file_free(&file);
    }
    assert_int_equal(results_written(kit.results), 400);
    assert_int_equal(results_bytes(kit.results), bytes);
    kit_free(&kit);
}

/* A build has thousands of tasks that live too short for a sample. The names of a machine may be long: a reserve. */
static void test_small(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    struct result_task task = kit_task(&kit, 77, 77);
    assert_int_equal(result_new(kit.results, 77, 77, NULL, &result), 0);
    kit_comm(&kit, result, &task, "hot");
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_true(kit_read("out.77.77", &file));
    assert_in_range(file.size, 1000, 1900);
    uint64_t before = file.size;
    kit_file_free(&file);
    assert_int_equal(result_new(kit.results, 77, 78, NULL, &result), 0);
    task.tid = 78;
    kit_comm(&kit, result, &task, "hot");
    kit_samples(&kit, result, &task, 1000);
    assert_int_equal(result_finish(result, &task, NULL), 0);
    assert_true(kit_read("out.77.78", &file));
    /* Seven words and three entries of a chain for each. */
    assert_in_range(file.size, before + 1000 * 80, before + 1000 * 80 + 64);
    kit_file_free(&file);
    kit_free(&kit);
}

/* What does not shrink, or is too much, is there as it is. */
static void test_not_packed(void **state)
{
    (void)state;
    struct kit kit;
    struct result *result;
    struct kit_file file;
    static char bytes[PINJECT_PACKED_MAX + 1];
    const size_t sizes[] = {300, 65536, PINJECT_PACKED_MAX, sizeof(bytes)};
    kit_new(&kit, KIT_SAMPLING);
    assert_int_equal(kit_start(&kit, "out"), 0);
    for (unsigned i = 0; i < 4; i++) {
        char path[64];
        snprintf(path, sizeof(path), "out.77.%u", 100 + i);
        struct result_task task = kit_task(&kit, 77, (pid_t)(100 + i));
        struct result_generation generation = task.generations[0];
        for (size_t at = 0; at < sizes[i]; at++)
            bytes[at] = i == 1 ? (char)(1 + random() % 255) : 'x';
        generation.cmdline = bytes;
        generation.cmdline_size = sizes[i];
        task.generations = &generation;
        assert_int_equal(result_new(kit.results, 77, (pid_t)(100 + i), NULL, &result), 0);
        kit_comm(&kit, result, &task, "hot");
        assert_int_equal(result_finish(result, &task, NULL), 0);
        assert_true(kit_read(path, &file));
        const struct pinject_item *first = (const void *)file.sections[PINJECT_FEATURE].data;
        assert_int_equal(first->type, i == 0 ? PINJECT_ITEM_PACKED : PINJECT_ITEM_SESSION);
        const struct pinject_item_generation *shown = kit_item(&file, PINJECT_ITEM_GENERATION, 0);
        assert_memory_equal((const char *)(shown + 1) + 13, bytes, sizes[i]);
        kit_file_free(&file);
    }
    kit_free(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_stay_open),
        cmocka_unit_test(test_finished_task),
        cmocka_unit_test(test_items),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_refused_events),
        cmocka_unit_test(test_counting_only),
        cmocka_unit_test(test_many_tasks),
        cmocka_unit_test(test_not_packed),
        cmocka_unit_test(test_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
