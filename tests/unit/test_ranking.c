/* SPDX-License-Identifier: MIT */
/* What weighs the same is listed in one order, whatever a view met first. */
#include "check.h"

#include "analyze/view/compare.h"
#include "analyze/view/names.h"
#include "test_view_fake.h"

#define MS UINT64_C(1000000)
enum { FRAMES = 6, STACKS = 9 };

#define FUNCTION(number, name)                                      \
    {                                                               \
        .path = "/opt/no-such/app", .symbol = name, .index = number \
    }
static const struct profile_module functions[FRAMES] = {
    FUNCTION(0, "run"),  FUNCTION(1, "delta"), FUNCTION(2, "alpha"),
    FUNCTION(3, "beta"), FUNCTION(4, "gamma"), {.path = "/opt/another", .symbol = "alpha", .index = 5}};
static const struct profile_module *const modules[FRAMES] = {&functions[0], &functions[1], &functions[2],
                                                             &functions[3], &functions[4], &functions[5]};

/* A profile in which the same is numbered, and comes, in another order. */
struct same {
    struct fake fake;
    struct profile_frame frames[FRAMES];
    uint32_t chains[STACKS][2];
    struct profile_stack stacks[STACKS];
    struct profile_entry entries[STACKS];
};

/* NUMBER as it is, or counted from the other end. */
static uint32_t turned(bool turn, uint32_t number, uint32_t count)
{
    return turn ? count - 1 - number : number;
}

/* 0 calls 1 to 4 and is called by them, each 10 ms, and 5 runs alone. */
static void same_new(struct same *same, bool turn)
{
    static const char *const comms[] = {"make", "cc1", "as"};
    *same = (struct same){0};
    fake_new(&same->fake);
    for (uint32_t i = 0; i < FRAMES; i++) {
        uint32_t at = turned(turn, i, FRAMES);
        same->frames[at] = (struct profile_frame){
            .module = &functions[i], .offset = 0x100 * (i + 1), .ip = 0x400000 + 0x100 * i, .index = at};
    }
    for (uint32_t i = 0; i < STACKS; i++) {
        uint32_t at = turned(turn, i, STACKS), root = turned(turn, 0, FRAMES);
        uint32_t branch = turned(turn, i < 8 ? i % 4 + 1 : 5, FRAMES);
        same->chains[at][0] = i < 4 || i == 8 ? branch : root;
        same->chains[at][1] = i < 4 ? root : branch;
        same->stacks[at] = (struct profile_stack){same->chains[at], i == 8 ? 1 : 2, false};
        same->entries[at] = (struct profile_entry){2, 0, at, comms[i % 3], 10, 10 * MS};
    }
    struct profile *profile = &same->fake.profile;
    profile->modules = modules;
    profile->module_count = FRAMES;
    profile->frames = same->frames;
    profile->frame_count = FRAMES;
    profile->stacks = same->stacks;
    profile->entries = same->entries;
    profile->stack_count = profile->entry_count = STACKS;
}

static void check_view(const struct settings *settings, int (*view)(struct view *))
{
    struct same one, two;
    same_new(&one, false);
    same_new(&two, true);
    one.fake.settings = two.fake.settings = *settings;
    char *text = run(&one.fake, view), *again = run(&two.fake, view);
    assert_string_equal(text, again);
    free(text);
    free(again);
}

static void test_report(void **state)
{
    (void)state;
    for (int by = BY_FUNCTION; by <= BY_ADDRESS; by++) {
        struct settings settings = {.color = COLOR_NEVER, .tasks = TASKS_TOGETHER, .by = by, .by_given = true};
        check_view(&settings, view_report);
        settings.sort = SORT_TOTAL;
        settings.callers = settings.callees = true;
        check_view(&settings, view_report);
        settings.json = true;
        check_view(&settings, view_report);
        settings = (struct settings){.color = COLOR_NEVER, .by = by, .by_given = true, .call_tree = true};
        check_view(&settings, view_report);
        settings.reverse = true;
        check_view(&settings, view_report);
        settings.file = "-";
        check_view(&settings, view_flame);
    }
}

static void test_neighbours_of_a_function(void **state)
{
    (void)state;
    const char *name = "run";
    struct settings settings = {.color = COLOR_NEVER, .tasks = TASKS_TOGETHER, .symbols = {&name, 1, 1}};
    settings.callers = settings.callees = true;
    check_view(&settings, view_report);
    settings.json = true;
    check_view(&settings, view_report);
}

static void test_top_flame_and_counts(void **state)
{
    (void)state;
    struct settings settings = {.color = COLOR_NEVER, .file = "-"};
    check_view(&settings, view_top);
    check_view(&settings, view_flame);
    check_view(&settings, view_counts);
}

static char *diff(struct same *before, struct same *after, int by)
{
    int status;
    before->fake.settings = (struct settings){.color = COLOR_NEVER, .diff_by = by, .diff_by_given = true};
    for (int i = 0; i < STACKS; i++)
        after->entries[i].weight *= 2;
    char *text = fake_diff((struct fake *const[]){&before->fake, &after->fake}, (const size_t[]){1, 1}, &status);
    assert_int_equal(status, 0);
    return text;
}

static void test_diff(void **state)
{
    (void)state;
    for (int by = 0; by < COMPARE_KINDS; by++) {
        struct same one[2], two[2];
        for (int i = 0; i < 2; i++) {
            same_new(&one[i], false);
            same_new(&two[i], true);
        }
        char *text = diff(&one[0], &one[1], by), *again = diff(&two[0], &two[1], by);
        assert_string_equal(text, again);
        free(text);
        free(again);
    }
}

/* ---- the orders themselves */

static int sign(int order)
{
    return order < 0 ? -1 : order > 0;
}

/* KEYS of BY come in this order, whichever way they are compared. */
static void in_order(struct names *names, const struct profile *profile, int by, const uint64_t *keys, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (sign(order_keys(names, profile, by, keys[i], keys[j])) != sign((int)i - (int)j))
                fail_msg("by %d: %zu and %zu", by, i, j);
}

static void test_functions_and_dsos(void **state)
{
    struct profile profile = {0};
    const struct settings settings = {0};
    struct names *names = names_new(&profile, &settings);
    (void)state;
    /* By their names, then by their DSOs, then what is inlined behind what is not. */
    uint64_t keys[] = {names_number(names, "/lib/b", "alpha", NULL, NAMES_NAMED),
                       names_number(names, "/lib/b", "alpha", NULL, NAMES_NAMED | NAMES_INLINED),
                       names_number(names, "/lib/c", "alpha", NULL, NAMES_NAMED),
                       names_number(names, "/lib/a", "beta", NULL, NAMES_NAMED)};
    in_order(names, &profile, BY_FUNCTION, keys, 4);
    uint64_t dsos[] = {names_function(names, (uint32_t)keys[3]).dso_id, names_function(names, (uint32_t)keys[1]).dso_id,
                       names_function(names, (uint32_t)keys[2]).dso_id};
    in_order(names, &profile, BY_DSO, dsos, 3);
    assert_int_equal(order_dsos(names, (uint32_t)dsos[0], (uint32_t)dsos[0]), 0);
    const uint64_t tasks[] = {0, 1, 7, UINT64_C(1) << 32, UINT64_MAX};
    in_order(names, &profile, BY_TASK, tasks, 5);
    in_order(names, &profile, BY_PROCESS, tasks, 5);
    const uint64_t comms[] = {(uintptr_t) "as", (uintptr_t) "cc1", (uintptr_t) "make"};
    in_order(names, &profile, BY_COMM, comms, 3);
    names_free(names);
}

/* Frames: by DSO, address and name, then by what tells modules of one path apart, then by their numbers. */
static void test_frames(void **state)
{
    static const unsigned char low[2] = {1, 2}, high[2] = {1, 3};
    static const struct profile_module same[] = {
        {.path = "/lib/a", .symbol = "f", .index = 0},
        {.path = "/lib/a", .symbol = "f", .pid = 3, .index = 1},
        {.path = "/lib/a", .symbol = "f", .build_id = low, .build_id_size = 1, .index = 2},
        {.path = "/lib/a", .symbol = "f", .build_id = low, .build_id_size = 2, .index = 3},
        {.path = "/lib/a", .symbol = "f", .build_id = high, .build_id_size = 2, .index = 4},
        {.path = "/lib/a", .symbol = "f", .build_id = high, .build_id_size = 2, .pid = 4, .index = 5},
        {.path = "/lib/a", .symbol = "g", .index = 6},
        {.path = "/lib/b", .symbol = "a", .index = 7},
        {.path = "[kernel.kallsyms]", .symbol = "0x8", .kernel = true, .index = 8},
    };
    enum { SAME = sizeof(same) / sizeof(same[0]), COUNT = SAME + 4 };
    static const struct profile_module *list[SAME];
    struct profile_frame frames[COUNT];
    uint64_t keys[COUNT];
    (void)state;
    for (int turn = 0; turn < 2; turn++) {
        struct profile_frame sorted[COUNT] = {{0}};
        for (uint32_t i = 0; i < SAME; i++) {
            list[i] = &same[i];
            sorted[i] = (struct profile_frame){.module = &same[i], .offset = 8, .ip = 100 - i};
        }
        sorted[8] = (struct profile_frame){.module = &same[7], .offset = 7};
        sorted[7] = (struct profile_frame){.module = &same[0], .offset = 9};      /* behind "g" at 8 */
        sorted[9] = (struct profile_frame){.offset = 8, .kernel = true, .ip = 8}; /* without a module comes first */
        sorted[10] = (struct profile_frame){.offset = 8, .kernel = true, .ip = 9};
        sorted[11] = (struct profile_frame){.module = &same[8], .offset = 8, .kernel = true, .ip = 7};
        sorted[12] = (struct profile_frame){.offset = 9, .kernel = true, .ip = 1};
        for (uint32_t i = 0; i < COUNT; i++) {
            keys[i] = turned(turn, i, COUNT);
            frames[keys[i]] = sorted[i];
            frames[keys[i]].index = (uint32_t)keys[i];
        }
        struct profile profile = {.modules = list, .module_count = SAME, .frames = frames, .frame_count = COUNT};
        const struct settings settings = {0};
        struct names *names = names_new(&profile, &settings);
        in_order(names, &profile, BY_ADDRESS, keys, COUNT);
        /* Nothing else tells these apart. */
        frames[keys[1]] = frames[keys[0]];
        frames[keys[1]].index = (uint32_t)keys[1];
        names_free(names);
        names = names_new(&profile, &settings);
        assert_int_equal(sign(order_frames(names, &profile, (uint32_t)keys[0], (uint32_t)keys[1])), turn ? 1 : -1);
        assert_int_equal(order_frames(names, &profile, 0, 0), 0);
        names_free(names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_neighbours_of_a_function),
        cmocka_unit_test(test_top_flame_and_counts),
        cmocka_unit_test(test_diff),
        cmocka_unit_test(test_functions_and_dsos),
        cmocka_unit_test(test_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
