/* SPDX-License-Identifier: MIT */
/* --data: a file gets a mapping of data with the first sample in it. */
#include "check.h"

#include "collector/tasks/finish.h"
#include "collector/tasks/task_table.h"
#include "test_tasks_kit.h"

#define T 2000000000ull

enum { PAGE = 0x1000 };

static struct stage stage;
static struct task *task;

static int set_up(void **state)
{
    (void)state;
    stage_new(&stage, PINJECT_SESSION_ALL, false);
    stage.kit.config.data = true;
    stage.tasks->layout.sample_type[0] |= PERF_SAMPLE_ADDR;
    task = stage_process(&stage, 100, 1, T, 1000);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    stage_free(&stage);
    return 0;
}

static uint64_t pair(pid_t one, pid_t other)
{
    return (uint32_t)one | (uint64_t)(uint32_t)other << 32;
}

/* The kernel's record of a mapping of data. */
static void map(struct task *of, const char *path, uint64_t start, uint64_t time_ns)
{
    uint64_t words[32] = {0, pair(of->pid, of->tid), start, PAGE, 0, pair(8, 1), 99, 0, pair(3, 2)};
    const size_t text = (strlen(path) + 8) / 8;
    memcpy(&words[9], path, strlen(path) + 1);
    const uint64_t trailer[] = {pair(of->pid, of->tid), time_ns, of->ids[0]};
    memcpy(&words[9 + text], trailer, sizeof(trailer));
    const struct perf_event_header header = {PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA,
                                             (uint16_t)(8 * (9 + text + 3))};
    memcpy(words, &header, sizeof(header));
    stage_put(of, words, header.size);
}

/* IDENTIFIER, IP, TID, TIME, ADDR, PERIOD, CALLCHAIN. */
static void touch(struct task *of, uint64_t address, uint64_t time_ns)
{
    uint64_t words[] = {0, of->ids[0], 0x1000, pair(of->pid, of->tid), time_ns, address, 1000000, 1, 0x1000};
    const struct perf_event_header header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(words)};
    memcpy(words, &header, sizeof(header));
    stage_put(of, words, sizeof(words));
}

/* The mappings of data in the file of TID, in their order, without '/': "heap, heap". */
static void check_data(const char *name, const char *expected)
{
    struct kit_file file;
    char found[256] = "";
    assert_true(kit_read(name, &file));
    const size_t end = file.header.data.offset + file.header.data.size;
    for (size_t at = file.header.data.offset; at < end;) {
        const struct perf_event_header *record = (const void *)(file.bytes + at);
        if (record->type == PERF_RECORD_MMAP2 && record->misc & PERF_RECORD_MISC_MMAP_DATA)
            snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s", *found ? ", " : "",
                     records_parse_mmap(record).path);
        at += record->size;
    }
    kit_file_free(&file);
    assert_string_equal(found, expected);
}

static void with_the_first_sample(void **state)
{
    (void)state;
    map(task, "[heap]", 0x10000, T + 1);
    map(task, "/data", 0x20000, T + 2);
    map(task, "/unused", 0x30000, T + 3);
    touch(task, 0x20010, T + 4);
    touch(task, 0x10fff, T + 5);
    touch(task, 0x20020, T + 6); /* the file has it */
    touch(task, 0x11000, T + 7); /* nothing is known there */
    touch(task, 0x1000, T + 8);  /* code */
    touch(task, 0, T + 9);
    tasks_drain(stage.tasks, task);
    map(task, "/newer", 0x20000, T + 10);
    touch(task, 0x20010, T + 11);
    tasks_drain(stage.tasks, task);
    stage_close(&stage);
    check_data("out.100.100", "/data, [heap], /newer");
}

/* Another thread mapped it; a child has it, too, and nobody else. */
static void in_each_file_that_needs_it(void **state)
{
    (void)state;
    struct task *thread = stage_thread(&stage, 100, 101, T + 1, 1000);
    map(task, "/shared", 0x20000, T + 2);
    tasks_drain(stage.tasks, task);
    struct notification *notification = stage_notification(PINJECT_FORK, 200, 200, 100, T + 3);
    stage_events(&stage, notification, 0);
    stage_notify(&stage, notification);
    touch(thread, 0x20010, T + 4);
    touch(tasks_find(stage.tasks, 200), 0x20020, T + 5);
    tasks_drain(stage.tasks, thread);
    stage_close(&stage);
    check_data("out.100.100", "");
    check_data("out.100.101", "/shared");
    check_data("out.200.200", "/shared");
}

/* The ring of the thread that mapped it is read after the samples. What was mapped after them is not theirs. */
static void mapped_before_it_is_known(void **state)
{
    (void)state;
    struct task *thread = stage_thread(&stage, 100, 101, T + 1, 1000);
    for (uint64_t i = 0; i < 20; i++)
        touch(thread, 0x20000 + i, T + 10 + i);
    touch(thread, 0x30000, T + 40);
    tasks_drain(stage.tasks, thread);
    map(task, "/shared", 0x20000, T + 2);
    map(task, "/later", 0x30000, T + 41);
    tasks_drain(stage.tasks, task);
    touch(thread, 0x20000, T + 50);
    tasks_drain(stage.tasks, thread);
    stage_close(&stage);
    check_data("out.100.101", "/shared");
}

/* The same, and the thread has ended before. */
static void mapped_before_an_end(void **state)
{
    (void)state;
    struct task *thread = stage_thread(&stage, 100, 101, T + 1, 1000);
    touch(thread, 0x20000, T + 10);
    tasks_drain(stage.tasks, thread);
    map(task, "/shared", 0x20000, T + 2);
    tasks_task_ended(stage.tasks, thread, true);
    stage_close(&stage);
    check_data("out.100.101", "/shared");
}

/* What follows a file's own data without a file may be its zeroed data: the file's mapping says so. */
static void zeroed_data(void **state)
{
    (void)state;
    map(task, "/bin/data", 0x20000, T + 1);
    map(task, "//anon", 0x20000 + PAGE, T + 2);
    map(task, "//anon", 0x40000, T + 3);
    touch(task, 0x20000 + PAGE + 8, T + 4);
    touch(task, 0x40008, T + 5);
    tasks_drain(stage.tasks, task);
    stage_close(&stage);
    check_data("out.100.100", "//anon, /bin/data, //anon");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(with_the_first_sample),
        TEST(in_each_file_that_needs_it),
        TEST(mapped_before_it_is_known),
        TEST(mapped_before_an_end),
        TEST(zeroed_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
