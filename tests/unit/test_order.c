/* SPDX-License-Identifier: MIT */
/* What weighs the same is listed in one order, whatever a view met first. */
#include "check.h"

#include "analyze/view/compare.h"
#include "test_view_fake.h"

#define MS UINT64_C(1000000)
enum { FRAMES = 6, STACKS = 9 };

#define FUNCTION(number, name)                                                                                         \
    {                                                                                                                  \
        .path = "/opt/no-such/app", .symbol = name, .index = number                                                    \
    }
static const struct profile_module functions[FRAMES] = {
    FUNCTION(0, "run"),  FUNCTION(1, "delta"), FUNCTION(2, "alpha"),
    FUNCTION(3, "beta"), FUNCTION(4, "gamma"), {.path = "/opt/another", .symbol = "alpha", .index = 5}};
static const struct profile_module *const modules[FRAMES] = {
    &functions[0], &functions[1], &functions[2], &functions[3], &functions[4], &functions[5]};

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
        struct settings settings = {.color = COLOR_NEVER, .aggregate = true, .by = by, .by_given = true};
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
        check_view(&settings, view_flame);
    }
}

static void test_neighbours_of_a_function(void **state)
{
    (void)state;
    const char *name = "run";
    struct settings settings = {.color = COLOR_NEVER, .aggregate = true, .symbols = {&name, 1, 1}};
    settings.callers = settings.callees = true;
    check_view(&settings, view_report);
    settings.json = true;
    check_view(&settings, view_report);
}

static void test_top_flame_and_counts(void **state)
{
    (void)state;
    struct settings settings = {.color = COLOR_NEVER};
    check_view(&settings, view_top);
    check_view(&settings, view_flame);
    check_view(&settings, view_counts);
}

static char *diff(struct same *before, struct same *after, unsigned by)
{
    char *text = NULL;
    size_t size = 0;
    struct output output = {.to = open_memstream(&text, &size)};
    struct fake *sides[2] = {&before->fake, &after->fake};
    const struct settings settings = {.color = COLOR_NEVER, .diff_by = by, .diff_by_given = true};
    for (int i = 0; i < 2; i++) {
        struct view *view = &sides[i]->view;
        *view = (struct view){.settings = &settings, .profile = &sides[i]->profile, .output = &output};
        view->names = names_new(view->profile, &settings);
        view->selection = select_new(view->profile, &settings, view->names, false);
    }
    for (int i = 0; i < STACKS; i++)
        after->entries[i].weight *= 2;
    sides[0]->view.other = &sides[1]->view;
    assert_int_equal(view_diff(&sides[0]->view), 0);
    fclose(output.to);
    for (int i = 0; i < 2; i++) {
        select_free(sides[i]->view.selection);
        names_free(sides[i]->view.names);
    }
    return text;
}

static void test_diff(void **state)
{
    (void)state;
    for (unsigned by = 0; by < COMPARE_KINDS; by++) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_neighbours_of_a_function),
        cmocka_unit_test(test_top_flame_and_counts),
        cmocka_unit_test(test_diff),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
