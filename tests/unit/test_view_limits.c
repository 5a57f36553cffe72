/* SPDX-License-Identifier: MIT */
/* Which rows --top and --cum leave out, and the sums of --show-cum. */
#include "check.h"

#include "analyze/view/histogram.h"
#include "analyze/view/rows.h"
#include "analyze/view/select.h"
#include "test_view_fake.h"

static void test_top_and_cum_leave_a_line(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.tasks = TASKS_TOGETHER;
    fake.settings.top = 1;
    char *text = run(&fake, view_report);
    has(text, "and 3 functions more with 20.00 % together");
    free(text);
    fake.settings.top = 0;
    fake.settings.cum = 90;
    text = run(&fake, view_report);
    has(text, "app+0x200");
    has(text, "and 2 functions more with 10.00 % together");
    free(text);
}

/* The share of all rows so far: of a table of functions, of tasks, and in the document. */
static void test_show_cum(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.tasks = TASKS_TOGETHER;
    fake.settings.show_cum = true;
    char *text = run(&fake, view_report);
    has(text, "   Self       Cum     Time    Total  DSO        Function\n"
              "80.00 %   80.00 %  80.0 ms  80.00 %  app        app+0x300\n"
              "10.00 %   90.00 %  10.0 ms  10.00 %  app        app+0x200\n"
              " 5.00 %   95.00 %  5.00 ms  95.00 %  app        app+0x100\n"
              " 5.00 %  100.00 %  5.00 ms   5.00 %  [unknown]  0xdead000\n");
    free(text);
    fake.settings.by = BY_TASK;
    text = run(&fake, view_report);
    has(text, "85.00 %   85.00 %  85.0 ms       85    20.20  ");
    has(text, " 5.00 %  100.00 %  5.00 ms        5    10.11  ");
    free(text);
    fake.settings.by = BY_FUNCTION;
    fake.settings.json = true;
    fake.settings.cum = 85;
    text = run(&fake, view_report);
    has(text, "\"cum_percent\":80.0000,");
    has(text, "\"cum_percent\":90.0000,");
    has_not(text, "\"cum_percent\":95.0000,\"inlined\"");
    has(text, "\"functions_left_out\":{\n  \"rows\":2,\n  \"self_weight\":10000000,\n  \"self_percent\":10.0000}");
    free(text);
}

/* In the document a task has 20 functions; with --cum only --top limits them further. */
static void test_cum_of_task_functions(void **state)
{
    enum { COUNT = 25 };
    static struct profile_frame frames[COUNT];
    static struct profile_stack stacks[COUNT];
    static struct profile_entry entries[COUNT];
    static uint32_t chains[COUNT][1];
    static const struct {
        double cum;
        uint64_t top, shown;
    } cases[] = {{0, 0, 20}, {99, 0, 25}, {90, 0, 23}, {99, 3, 3}, {0, 22, 22}};
    (void)state;
    struct fake fake;
    fake_new(&fake);
    for (uint32_t i = 0; i < COUNT; i++) {
        frames[i] = (struct profile_frame){
            .module = fake.profile.modules[0], .offset = 0x1000 + i, .ip = 0x1000 + i, .index = i};
        chains[i][0] = i;
        stacks[i] = (struct profile_stack){chains[i], 1, false};
        entries[i] = fake.profile.entries[0];
        entries[i].stack = i;
    }
    fake.profile.frames = frames;
    fake.profile.stacks = stacks;
    fake.profile.entries = entries;
    fake.profile.frame_count = fake.profile.stack_count = fake.profile.entry_count = COUNT;
    fake.settings.json = true;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake.settings.cum = cases[i].cum;
        fake.settings.top = cases[i].top;
        char *text = run(&fake, view_report);
        const char *at = strstr(text, "\"tasks\":[");
        uint64_t shown = 0;
        for (assert_non_null(at); (at = strstr(at, "\"symbol\":")); at++)
            shown++;
        assert_int_equal(shown, cases[i].shown);
        free(text);
    }
}

/* Only the sums that a view shows are made: events and rows may be many. */
static void test_sums_of_shown_events(void **state)
{
    (void)state;
    struct fake fake;
    struct histogram histogram;
    struct rows_sums sums;
    fake_new(&fake);
    struct names *names = names_new(&fake.profile, &fake.settings);
    const struct view view = {.settings = &fake.settings, .profile = &fake.profile, .names = names};
    struct profile_entry other = fake.profile.entries[0];
    other.event = 1;
    histogram_init(&histogram, &fake.profile, names, BY_COMM);
    histogram_add(&histogram, &fake.profile.entries[0]);
    histogram_add_other(&histogram, &other);
    for (int i = 0; i < 3; i++) {
        fake.settings.show_cum = i > 0;
        fake.settings.group = i > 1;
        rows_sums_init(&sums, &view, &histogram);
        rows_sums_add(&sums, &histogram, &histogram.rows[0]);
        assert_int_equal(sums.weights != NULL, i > 0);
        if (sums.weights) {
            assert_int_equal(sums.weights[0], other.weight);
            assert_int_equal(sums.weights[1], i > 1 ? other.weight : 0);
        }
        rows_sums_release(&sums);
    }
    histogram_release(&histogram);
    names_free(names);
}

/* No limit but --cum: neither 30 rows, nor rows of 0.1 % at least. */
static void test_cum_is_the_only_limit(void **state)
{
    enum { WEIGHT = 10000000 };
    static const struct {
        double cum;
        uint64_t top, weight; /* weight: of app+0x200 */
        const char *text;
    } cases[] = {
        {0, 0, WEIGHT, "and 1 function more with 0.00 % together; --top all shows all"},
        {100, 0, WEIGHT, "0xdead000\n"},
        {84, 0, WEIGHT, "and 3 functions more with 15.79 % together; a larger --cum shows more\n"},
        {84, 1, WEIGHT, "; a larger --top and --cum show more\n"},
        {90, 1, WEIGHT, "; a larger --top shows more\n"},
        /* Rows without weight: nothing is more than 100 %. */
        {100, 0, 0, "and 1 function more with 0.00 % together; give --top all and leave out --cum to see all\n"},
    };
    static struct profile_entry entries[4];
    struct fake fake;
    (void)state;
    fake_new(&fake);
    memcpy(entries, fake.profile.entries, sizeof(entries));
    entries[3].weight = 1000; /* 0.001 % */
    fake.profile.entries = entries;
    fake.settings.tasks = TASKS_TOGETHER;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fake.settings.cum = cases[i].cum;
        fake.settings.top = cases[i].top;
        entries[0].weight = cases[i].weight;
        char *text = run(&fake, view_report);
        has(text, cases[i].text);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_top_and_cum_leave_a_line), cmocka_unit_test(test_show_cum),
        cmocka_unit_test(test_cum_of_task_functions),    cmocka_unit_test(test_sums_of_shown_events),
        cmocka_unit_test(test_cum_is_the_only_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
