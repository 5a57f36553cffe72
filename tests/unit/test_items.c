/* SPDX-License-Identifier: MIT */
/* Our own items of a result file, field by field. */
#include "check.h"

#include <errno.h>
#include <pinject/format.h>
#include <pinject/pinject.h>

#include "collector/output/items.h"
#include "collector/sources/session.h"

static struct settings settings;
static struct event_config config;
static struct session session;
static struct result_task task;
static struct buffer arguments, items;

static int set_up(void **state)
{
    (void)state;
    settings = (struct settings){.follow = 15};
    memset(&config, 0, sizeof(config));
    config.count = 2;
    strcpy(config.events[0].name, "first");
    strcpy(config.events[1].name, "second");
    config.events[0].nanoseconds = true;
    strcpy(config.reason, "a reason");
    strcpy(config.notes[0], "one of the events");
    config.note_count = 1;
    session = (struct session){
        .settings = &settings, .config = &config, .id = {1, 2}, .start_ns = 3, .start_realtime_ns = 4};
    task = (struct result_task){.pid = 10, .tid = 11, .ids = {71, 72}};
    for (unsigned i = 0; i < 2; i++)
        task.values[i] = (struct attach_value){
            .value = 100 + i, .enabled_ns = 200 + i, .running_ns = 300 + i, .lost = 400 + i};
    buffer_append(&arguments, "a\0b", 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buffer_release(&arguments);
    buffer_release(&items);
    return 0;
}

static void make(const struct result_coverage *coverage, const char *note)
{
    buffer_clear(&items);
    items_append(&session, &arguments, 2, 3, &task, coverage, note, &items);
    assert_false(buffer_failed(&items));
}

/* The INDEX-th of TYPE; NULL: there are not so many. */
static const void *item(uint32_t type, unsigned index)
{
    for (size_t at = 0; at < items.size;) {
        const struct pinject_item *one = (const void *)(items.data + at);
        assert_true(one->size >= sizeof(*one) && one->size % 8 == 0 && one->size <= items.size - at);
        if (one->type == type && index-- == 0)
            return one;
        at += one->size;
    }
    return NULL;
}

static const char *note(unsigned index)
{
    const struct pinject_item_note *one = item(PINJECT_ITEM_NOTE, index);
    return one ? (const char *)(one + 1) : NULL;
}

static void session_and_command_line(void **state)
{
    static const char typed[] = PINJECT_VERSION_STRING "\0first\0a reason\0a\0b";
    (void)state;
    make(NULL, NULL);
    const struct pinject_item_session *one = item(PINJECT_ITEM_SESSION, 0);
    assert_true(one->id[0] == 1 && one->id[1] == 2 && one->start_ns == 3 && one->start_realtime_ns == 4);
    assert_true(one->flags == 15 && one->root == 0 && one->uid == getuid() && one->arguments == 2 && !one->bare);
    assert_false(one->exclude_kernel);
    assert_memory_equal(one + 1, typed, sizeof(typed));
    /* What a bare session's collector was given nobody typed. */
    settings.bare = true;
    config.exclude_kernel = true;
    config.dummy = true; /* the first event counts nothing */
    make(NULL, NULL);
    one = item(PINJECT_ITEM_SESSION, 0);
    assert_true(one->bare && one->arguments == 0 && one->exclude_kernel);
    static const char bare[] = PINJECT_VERSION_STRING "\0second\0a reason";
    assert_memory_equal(one + 1, bare, sizeof(bare));
    assert_true(one->item.size < sizeof(*one) + sizeof(bare) + 8);
    config.count = 1; /* there is no other */
    make(NULL, NULL);
    one = item(PINJECT_ITEM_SESSION, 0);
    static const char single[] = PINJECT_VERSION_STRING "\0first\0a reason";
    assert_memory_equal(one + 1, single, sizeof(single));
}

static void fields_of_the_task(void **state)
{
    (void)state;
    task.ppid = 12;
    task.parent_tid = 13;
    task.flags = PINJECT_TASK_ENDED;
    task.source = PINJECT_SOURCE_INHERITED;
    task.status = 14;
    task.kind = 15;
    task.start_ns = 16;
    task.end_ns = 17;
    task.startup_ns = 18;
    task.exit_ns = 19;
    task.lost = 20;
    task.samples = 21;
    make(NULL, NULL);
    const struct pinject_item_task *one = item(PINJECT_ITEM_TASK, 0);
    assert_true(one->pid == 10 && one->tid == 11 && one->ppid == 12 && one->parent_tid == 13);
    assert_true(one->flags == PINJECT_TASK_ENDED && one->source == PINJECT_SOURCE_INHERITED && one->status == 14);
    assert_true(one->kind == 15 && one->start_ns == 16 && one->end_ns == 17 && one->startup_ns == 18);
    assert_true(one->exit_ns == 19 && one->lost == 20 && one->samples == 21);
    assert_null(item(PINJECT_ITEM_TASK, 1));
}

static void stacks_by_why_they_ended(void **state)
{
    (void)state;
    make(NULL, NULL);
    assert_null(item(PINJECT_ITEM_STACKS, 0)); /* none was unwound */
    task.stacks.ends[UNWIND_BOTTOM] = 1;
    task.stacks.ends[UNWIND_TRUNCATED] = 2;
    task.stacks.ends[UNWIND_TOO_DEEP] = 3;
    task.stacks.ends[UNWIND_NO_TABLE] = 4;
    task.stacks.ends[UNWIND_BAD_MEMORY] = 5;
    task.stacks.extended = 6;
    task.stacks.chosen = 7;
    task.stacks.behind = 8;
    task.stacks.foreign = 9;
    config.dump = 8192;
    config.dump_auto = true;
    make(NULL, NULL);
    const struct pinject_item_stacks *one = item(PINJECT_ITEM_STACKS, 0);
    assert_true(one->bottom == 1 && one->truncated == 2 && one->too_deep == 3 && one->no_table == 4);
    assert_true(one->bad_memory == 5 && one->extended == 6 && one->chosen == 7 && one->behind == 8);
    assert_true(one->foreign == 9 && one->dump == 8192 && one->flags == 1);
    config.unwinder = UNWIND_ENGINE_LIBUNWIND;
    make(NULL, NULL);
    one = item(PINJECT_ITEM_STACKS, 0);
    assert_int_equal(one->flags, 3);
    config.unwinder = UNWIND_ENGINE_AUTO;
}

/* The counts of the task, as text: exec generation, event, value. */
static const char *counts(void)
{
    static char text[512];
    const struct pinject_item_count *one;
    text[0] = '\0';
    make(NULL, NULL);
    for (unsigned i = 0; (one = item(PINJECT_ITEM_COUNT, i)) != NULL; i++) {
        assert_int_equal(one->enabled_ns - one->running_ns, UINT64_MAX - 99); /* 200 and 300 */
        assert_int_equal(one->nanoseconds, config.events[one->lost - 400].nanoseconds);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d:%u=%u ", (int)one->generation, one->event,
                 (unsigned)one->value);
    }
    return text;
}

static void counts_of_task_and_generations(void **state)
{
    struct result_generation generations[2];
    (void)state;
    memset(generations, 0, sizeof(generations));
    for (unsigned i = 0; i < 2; i++) {
        generations[i].counted = true;
        memcpy(generations[i].values, task.values, sizeof(task.values));
        generations[i].values[0].value = 500 + 10 * i;
        generations[i].values[1].value = 501 + 10 * i;
    }
    assert_string_equal(counts(), "-1:0=100 -1:1=101 ");
    task.generations = generations;
    task.generation_count = 1; /* it has the task's */
    assert_string_equal(counts(), "-1:0=100 -1:1=101 ");
    task.generation_count = 2;
    assert_string_equal(counts(), "-1:0=100 -1:1=101 0:0=500 0:1=501 1:0=510 1:1=511 ");
    generations[0].counted = false;
    assert_string_equal(counts(), "-1:0=100 -1:1=101 1:0=510 1:1=511 ");
    task.flags = PINJECT_TASK_SPLIT; /* a file of its own for each */
    task.generation_count = 1;
    generations[0].counted = true;
    assert_string_equal(counts(), "0:0=500 0:1=501 ");
    task.ids[0] = 0; /* was not opened */
    assert_string_equal(counts(), "0:1=501 ");
    task.ids[0] = 71;
    config.dummy = true; /* counts nothing */
    assert_string_equal(counts(), "0:1=501 ");
}

/* A command line that was cut has an end nevertheless. */
static void command_lines(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        unsigned arguments;
        const char *wanted;
        size_t wanted_size;
    } cases[] = {{"", 0, 0, "", 0},
                 {"a", 2, 1, "a", 2},
                 {"a", 1, 1, "a", 2},
                 {"a\0bc", 4, 2, "a\0bc", 5},
                 {"\0\0", 2, 2, "\0", 2}};
    (void)state;
    struct result_generation generation = {.start_ns = 9, .comm = "c", .exec = "/e"};
    task.generations = &generation;
    task.generation_count = 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        generation.cmdline = cases[i].text;
        generation.cmdline_size = cases[i].size;
        make(NULL, NULL);
        const struct pinject_item_generation *one = item(PINJECT_ITEM_GENERATION, 0);
        const char *text = (const char *)(one + 1);
        assert_true(one->start_ns == 9 && one->number == 0 && one->arguments == cases[i].arguments);
        assert_memory_equal(text, "c\0/e", 5);
        assert_memory_equal(text + 5, cases[i].wanted, cases[i].wanted_size);
        assert_int_equal(one->item.size, (sizeof(*one) + 5 + cases[i].wanted_size + 7) & ~(size_t)7);
    }
    generation.comm = generation.exec = NULL;
    make(NULL, NULL);
    assert_memory_equal((const struct pinject_item_generation *)item(PINJECT_ITEM_GENERATION, 0) + 1, "\0\0\0", 4);
}

/* What holds for all is told once, in the first task's file. */
static void notes_and_coverage(void **state)
{
    static const char *const notes[] = {"one of the task", "another"};
    static const struct result_missed missed[] = {{"why", "who", 3, 4}, {NULL, NULL, 5, 6}};
    struct result_coverage coverage = {.cpu_ns = 1,
                                       .attributed_ns = 2,
                                       .tasks = 3,
                                       .files = 4,
                                       .collector_ns = 5,
                                       .complete = true,
                                       .stacks = "of stacks",
                                       .stolen = "of other machines",
                                       .missed = missed,
                                       .missed_count = 2};
    (void)state;
    task.notes = notes;
    task.note_count = 2;
    make(NULL, NULL);
    assert_string_equal(note(0), "one of the task");
    assert_string_equal(note(1), "another");
    assert_null(note(2));
    assert_null(item(PINJECT_ITEM_COVERAGE, 0));
    task.flags = PINJECT_TASK_ROOT;
    make(&coverage, "of the file");
    static const char *const wanted[] = {"one of the events", "one of the task", "another",
                                         "of the file",       "of stacks",       "of other machines"};
    for (unsigned i = 0; i < 6; i++)
        assert_string_equal(note(i), wanted[i]);
    assert_null(note(6));
    const struct pinject_item_coverage *one = item(PINJECT_ITEM_COVERAGE, 0);
    assert_true(one->cpu_ns == 1 && one->attributed_ns == 2 && one->tasks == 3 && one->files == 4);
    assert_true(one->collector_ns == 5 && one->complete == 1);
    assert_null(item(PINJECT_ITEM_MACHINE, 0)); /* it is not known */
    assert_null(item(PINJECT_ITEM_TIMES, 0));
    assert_null(item(PINJECT_ITEM_UNWRITTEN, 0));
    const struct pinject_item_missed *first = item(PINJECT_ITEM_MISSED, 0), *second = item(PINJECT_ITEM_MISSED, 1);
    assert_true(first->count == 3 && first->cpu_ns == 4 && second->count == 5 && second->cpu_ns == 6);
    assert_memory_equal(first + 1, "why\0who", 8);
    assert_memory_equal(second + 1, "\0", 2);
    assert_null(item(PINJECT_ITEM_MISSED, 2));
    coverage.stacks = coverage.stolen = "";
    coverage.machine_ns = 6;
    coverage.others_ns = 7;
    coverage.kernel_ns = 8;
    coverage.incomplete_files = 9;
    coverage.unwritten_samples = 10;
    make(&coverage, NULL);
    assert_null(note(3));
    const struct pinject_item_machine *machine = item(PINJECT_ITEM_MACHINE, 0);
    assert_true(machine->elapsed_ns == 6 && machine->others_ns == 7);
    const struct pinject_item_times *times = item(PINJECT_ITEM_TIMES, 0);
    assert_true(times->user_ns == 0 && times->kernel_ns == 8);
    const struct pinject_item_unwritten *unwritten = item(PINJECT_ITEM_UNWRITTEN, 0);
    assert_true(unwritten->files == 9 && unwritten->samples == 10);
    coverage.stacks = coverage.stolen = NULL;
    make(&coverage, NULL);
    assert_null(note(3));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(session_and_command_line),       TEST(fields_of_the_task), TEST(stacks_by_why_they_ended),
        TEST(counts_of_task_and_generations), TEST(command_lines),      TEST(notes_and_coverage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
