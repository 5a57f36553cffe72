/* SPDX-License-Identifier: MIT */
/* analyze/model/store.h and task.c: what is one thing and what is another. */
#include "check.h"

#include <linux/perf_event.h>

#include "analyze/model/loader.h"

enum { MOST_GENERATIONS = 4096, MOST_COUNTS = 16384, MOST_READINGS = 4096 };

static void test_texts(void **state)
{
    (void)state;
    struct store store = {0};
    const char *abc = store_string(&store, "abc"), *ab = store_string(&store, "ab"), *none = store_string(&store, "");
    assert_string_equal(abc, "abc");
    assert_string_equal(ab, "ab");
    assert_string_equal(none, "");
    assert_ptr_equal(store_string(&store, "abc"), abc);
    assert_ptr_equal(store_text(&store, "abcdef", 3), abc);
    assert_ptr_equal(store_text(&store, "ab\0c", 4), ab);
    assert_ptr_equal(store_text(&store, "x", 0), none);
    char text[16];
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "text %u", i);
        assert_string_equal(store_string(&store, text), text);
    }
    assert_int_equal(store.texts.count, 1003);
    for (unsigned i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "text %u", i);
        assert_string_equal(store_string(&store, text), text);
    }
    assert_int_equal(store.texts.count, 1003);
    store_release(&store);
    assert_int_equal(store.texts.count, 0);
}

/* Each differs from the first one in one thing, or in two that look the same together. */
static void test_modules(void **state)
{
    (void)state;
    static const unsigned char id[] = {1, 2, 3, 4}, other[] = {1, 2, 3, 5};
    struct store store = {0};
    const char *path = store_string(&store, "/bin/app"), *symbol = store_string(&store, "symbol");
    const struct profile_module modules[] = {
        {.path = path},
        {.path = symbol},
        {.path = path, .kernel = true},
        {.path = path, .pid = 5},
        {.path = path, .symbol_start = 5},
        {.path = path, .pid = 2, .symbol_start = 3},
        {.path = path, .symbol = symbol},
        {.path = path, .symbol = path},
        {.path = path, .build_id = id, .build_id_size = 4},
        {.path = path, .build_id = id, .build_id_size = 3},
        {.path = path, .build_id = other, .build_id_size = 4},
    };
    const uint32_t count = sizeof(modules) / sizeof(modules[0]);
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(store_module(&store, &modules[i]), i);
            const struct profile_module *module = store_module_at(&store, i);
            assert_int_equal(module->index, i);
            assert_ptr_equal(module->path, modules[i].path);
            assert_int_equal(module->kernel, modules[i].kernel);
            assert_int_equal(module->pid, modules[i].pid);
            assert_ptr_equal(module->symbol, modules[i].symbol);
            assert_int_equal(module->symbol_start, modules[i].symbol_start);
            assert_int_equal(module->build_id_size, modules[i].build_id_size);
            if (module->build_id_size)
                assert_memory_equal(module->build_id, modules[i].build_id, module->build_id_size);
            else
                assert_null(module->build_id);
        }
    }
    assert_int_equal(store.modules.count, count);
    store_release(&store);
}

static void test_frames(void **state)
{
    (void)state;
    static const struct profile_module one, two;
    static const struct profile_frame frames[] = {
        {.offset = 5, .ip = 1}, {.module = &one, .offset = 5}, {.module = &two, .offset = 5},
        {.offset = 6},          {.offset = 5, .kernel = true}, {.offset = 5, .caller = true},
    };
    const uint32_t count = sizeof(frames) / sizeof(frames[0]);
    struct store store = {0};
    /* With one hash for all of them, too. */
    for (int turn = 0; turn < 3; turn++) {
        if (turn == 2)
            store_release(&store);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t hash = turn == 2 ? 7 : store_frame_hash(&frames[i]);
            assert_int_equal(store_frame(&store, hash, &frames[i]), i);
            assert_int_equal(((struct profile_frame *)store.frames.items)[i].index, i);
        }
    }
    /* The address at which it was seen first stays. */
    const struct profile_frame again = {.offset = 5, .ip = 2};
    assert_int_equal(store_frame(&store, 7, &again), 0);
    assert_int_equal(((struct profile_frame *)store.frames.items)[0].ip, 1);
    assert_int_equal(store.frames.count, count);
    store_release(&store);
}

static void test_stacks(void **state)
{
    (void)state;
    static const uint32_t frames[] = {1, 2, 3}, other[] = {1, 2, 4};
    struct store store = {0};
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(store_stack(&store, 7, frames, 3, false), 0);
        assert_int_equal(store_stack(&store, 7, frames, 3, true), 1);
        assert_int_equal(store_stack(&store, 7, frames, 2, false), 2);
        assert_int_equal(store_stack(&store, 7, other, 3, false), 3);
        assert_int_equal(store_stack(&store, 8, frames, 3, false), 4); /* who gives another hash has another stack */
    }
    assert_int_not_equal(store_stack_hash(frames, 3, false), store_stack_hash(frames, 3, true));
    assert_int_not_equal(store_stack_hash(frames, 3, false), store_stack_hash(other, 3, false));
    assert_int_not_equal(store_stack_hash(frames, 3, false), store_stack_hash(frames, 2, false));
    const struct profile_stack *stacks = store.stacks.items;
    assert_memory_equal(stacks[3].frames, other, sizeof(other));
    assert_int_equal(stacks[2].depth, 2);
    assert_true(stacks[1].truncated && !stacks[0].truncated);
    store_release(&store);
}

/* Of one that is sampled in some file, and counted in others, all that the first sampling says is kept. */
static void test_events(void **state)
{
    (void)state;
    struct store store = {0};
    const char *name = store_string(&store, "cycles");
    const struct profile_event counted = {.name = name, .type = 1, .config = 2},
                               sampled = {.name = name,
                                          .type = 1,
                                          .config = 2,
                                          .sampled = true,
                                          .frequency = true,
                                          .sample_value = 99,
                                          .exclude_kernel = true},
                               later = {.name = name, .type = 1, .config = 2, .sampled = true, .sample_value = 5};
    assert_int_equal(store_event(&store, &counted), 0);
    assert_false(store_event_at(&store, 0)->sampled);
    assert_int_equal(store_event(&store, &sampled), 0);
    assert_int_equal(store_event(&store, &later), 0);
    assert_int_equal(store_event(&store, &counted), 0);
    const struct profile_event *event = store_event_at(&store, 0);
    assert_true(event->sampled && event->frequency && event->exclude_kernel);
    assert_int_equal(event->sample_value, 99);
    const struct profile_event others[] = {{.name = store_string(&store, "x"), .type = 1, .config = 2},
                                           {.name = name, .type = 2, .config = 2},
                                           {.name = name, .type = 1, .config = 3}};
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(store_event(&store, &others[i]), 1 + i);
    assert_int_equal(store.events.count, 4);
    store_release(&store);
}

static void test_samples(void **state)
{
    (void)state;
    struct store_list list = {0};
    const struct profile_entry samples[] = {
        {.task = 1, .event = 2, .stack = 3, .comm = "a", .samples = 1, .weight = 10},
        {.task = 2, .event = 2, .stack = 3, .comm = "a", .samples = 1, .weight = 10},
        {.task = 1, .event = 3, .stack = 3, .comm = "a", .samples = 1, .weight = 10},
        {.task = 1, .event = 2, .stack = 4, .comm = "a", .samples = 1, .weight = 10},
        {.task = 1, .event = 2, .stack = 3, .comm = "b", .samples = 1, .weight = 10},
        {.task = 1, .event = 2, .stack = 3, .samples = 1, .weight = 10},
    };
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(store_sample(&list, 7, &samples[i]), 0);
    assert_int_equal(list.count, 6);
    const struct profile_entry *entries = list.items;
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(entries[i].task, samples[i].task);
        assert_int_equal(entries[i].event, samples[i].event);
        assert_int_equal(entries[i].stack, samples[i].stack);
        assert_ptr_equal(entries[i].comm, samples[i].comm);
        assert_int_equal(entries[i].samples, 3);
        assert_int_equal(entries[i].weight, 30);
    }
    free(list.items);
    lookup_release(&list.lookup);
}

static struct task *new_task(struct loader *loader)
{
    uint32_t index = 77;
    struct task *task = task_new(loader, &index);
    assert_non_null(task);
    assert_int_equal(index, loader->task_count - 1);
    assert_ptr_equal(loader->tasks[index], task);
    return task;
}

/* By number, however they come; the last one stands for those that are too many. */
static void test_generations(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {5, 1, 9, 5, 3, 1, 9}, sorted[] = {1, 3, 5, 9};
    struct loader *loader = loader_new();
    struct task *task = new_task(loader);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(task_generation_at(task, numbers[i])->number, numbers[i]);
    assert_int_equal(task->generation_count, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(task->generations[i].number, sorted[i]);
        assert_string_equal(task->generations[i].shown.comm, "");
        assert_string_equal(task->generations[i].shown.exec, "");
    }
    for (uint32_t i = 100; task->generation_count < MOST_GENERATIONS; i++)
        assert_int_equal(task_generation_at(task, i)->number, i);
    const uint32_t last = task->generations[MOST_GENERATIONS - 1].number;
    assert_int_equal(task_generation_at(task, last + 1)->number, last);
    assert_int_equal(task_generation_at(task, 2)->number, last);
    assert_int_equal(task_generation_at(task, 3)->number, 3);
    assert_int_equal(task->generation_count, MOST_GENERATIONS);
    loader_free(loader);
}

/* Of several files that tell of one task the latest knows the most. */
static void test_counts(void **state)
{
    (void)state;
    struct loader *loader = loader_new();
    struct task *task = new_task(loader);
    const struct profile_count counts[] = {{.event = 1, .generation = 2, .value = 10, .enabled_ns = 1},
                                           {.event = 1, .generation = 2, .value = 9, .enabled_ns = 2},
                                           {.event = 1, .generation = 2, .value = 10, .enabled_ns = 3},
                                           {.event = 1, .generation = 3, .value = 1},
                                           {.event = 2, .generation = 2, .value = 2}};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(task_add_count(task, &counts[i]), 0);
    assert_int_equal(task->count_count, 3);
    assert_int_equal(task->counts[0].value, 10);
    assert_int_equal(task->counts[0].enabled_ns, 3);
    assert_int_equal(task->counts[1].value, 1);
    assert_int_equal(task->counts[2].value, 2);
    for (uint32_t i = 10; i < 10 + MOST_COUNTS; i++)
        assert_int_equal(task_add_count(task, &(struct profile_count){.event = i}), 0);
    assert_int_equal(task->count_count, MOST_COUNTS);
    loader_free(loader);
}

static void test_readings(void **state)
{
    (void)state;
    struct loader *loader = loader_new();
    struct task *task = new_task(loader);
    const struct task_reading readings[] = {
        {.event = 1, .id = 100, .value = 5, .enabled_ns = 50, .running_ns = 10}, /* read again later */
        {.event = 1, .id = 101, .value = 7, .enabled_ns = 70, .running_ns = 20},
        {.event = 2, .id = 100, .value = 1, .enabled_ns = 30, .running_ns = 30},
        {.event = 1, .id = 100, .value = 6, .enabled_ns = 60, .running_ns = 15},
    };
    assert_int_equal(task_add_count(task, &(struct profile_count){.event = 2, .generation = 4, .value = 1000}), 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(task_add_reading(task, &readings[i], false), 0);
    assert_int_equal(task->reading_count, 3);
    assert_int_equal(task_take_readings(task, 4), 0);
    assert_int_equal(task->reading_count, 0);
    assert_int_equal(task->count_count, 2);
    assert_int_equal(task->counts[0].value, 1001);
    assert_int_equal(task->counts[1].event, 1);
    assert_int_equal(task->counts[1].generation, 4);
    assert_int_equal(task->counts[1].value, 13);
    assert_int_equal(task->counts[1].running_ns, 35);
    assert_int_equal(task->counts[1].enabled_ns, 35);
    for (uint32_t i = 0; i < MOST_READINGS + 5; i++)
        assert_int_equal(task_add_reading(task, &(struct task_reading){.event = 1, .id = i, .value = 1}, false), 0);
    assert_int_equal(task->reading_count, MOST_READINGS);
    assert_int_equal(task_take_readings(task, UINT32_MAX), 0);
    assert_int_equal(task->counts[2].value, MOST_READINGS);
    assert_int_equal(task->counts[2].generation, UINT32_MAX);
    loader_free(loader);
}

static void test_fresh_task(void **state)
{
    (void)state;
    struct loader *loader = loader_new();
    for (unsigned i = 0; i < 20; i++) {
        const struct profile_task *shown = &new_task(loader)->shown;
        assert_int_equal(shown->ppid, -1);
        assert_int_equal(shown->exit, -1);
        assert_string_equal(shown->comm, "");
        assert_string_equal(shown->exec, "");
    }
    assert_int_equal(loader->task_count, 20);
    loader_free(loader);
    loader_free(NULL);
    task_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),       cmocka_unit_test(test_modules), cmocka_unit_test(test_frames),
        cmocka_unit_test(test_stacks),      cmocka_unit_test(test_events),  cmocka_unit_test(test_samples),
        cmocka_unit_test(test_generations), cmocka_unit_test(test_counts),  cmocka_unit_test(test_readings),
        cmocka_unit_test(test_fresh_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
