/* SPDX-License-Identifier: MIT */
/* What a report says below a function of what was inlined there. */
#include "check.h"

#include "analyze/view/inlines.h"
#include "symbols_fake.h"
#include "test_view_fake.h"

static const struct profile_module app = {.path = "/opt/app", .index = 0};
static const struct profile_module *const modules[] = {&app};
static const struct symbols_fake_function functions[] = {{0x100, 0x80, "outer", NULL}, {0x200, 0x80, "light", NULL}};
#define LINE(name)              \
    {                           \
        name, name, "a.h", 3, 0 \
    }
static const struct symbols_fake_lines lines[] = {
    {0x100, {LINE("outer")}},
    {0x108, {LINE("load"), LINE("slope"), LINE("area"), LINE("outer")}},
    {0x110, {LINE("slope"), LINE("area"), LINE("outer")}},
    {0x118, {LINE("area"), LINE("outer")}},
    {0x120, {LINE("slope"), LINE("slope"), LINE("wrap"), LINE("outer")}}, /* of a recursion that was inlined */
    {0x128, {LINE("other"), LINE("outer")}},
    {0x130, {LINE("x"), LINE("area"), LINE("wrap"), LINE("outer")}},
    {0x200, {LINE("slope"), LINE("light")}},
};
enum { FRAMES = sizeof(lines) / sizeof(lines[0]) };
static struct symbols_dso dso;
static struct profile_frame frames[FRAMES];
static uint32_t chains[FRAMES][1];
static struct profile_stack stacks[FRAMES];
static struct profile_entry entries[FRAMES];
static struct profile_task task = {.pid = 1, .tid = 1, .exec = "/opt/app", .comm = "app", .file = "out.1.1"};
static const struct profile_event event = {.name = "task-clock", .sampled = true};
static struct fake fake;

/* WEIGHTS of the addresses above. */
static void prepare(const uint64_t *weights)
{
    dso = (struct symbols_dso){.path = "/opt/app",
                               .file = "/opt/app",
                               .functions = functions,
                               .function_count = 2,
                               .lines = lines,
                               .line_count = FRAMES,
                               .end = UINT64_MAX};
    symbols_fake_set(&dso, 1);
    fake = (struct fake){0};
    fake.profile = (struct profile){.events = &event,
                                    .event_count = 1,
                                    .tasks = &task,
                                    .task_count = 1,
                                    .modules = modules,
                                    .module_count = 1,
                                    .frames = frames,
                                    .frame_count = FRAMES,
                                    .stacks = stacks,
                                    .stack_count = FRAMES,
                                    .entries = entries};
    for (uint32_t i = 0; i < FRAMES; i++) {
        const uint64_t at = lines[i].address;
        frames[i] = (struct profile_frame){.module = &app, .offset = at, .ip = at, .index = i};
        chains[i][0] = i;
        stacks[i] = (struct profile_stack){chains[i], 1, false};
        if (weights[i])
            entries[fake.profile.entry_count++] = (struct profile_entry){
                .stack = i, .comm = task.comm, .samples = 1, .weight = weights[i]};
    }
}

static void expect(const char *part)
{
    char *text = run(&fake, view_report);
    has(text, part);
    free(text);
}

static void expect_none(void)
{
    char *text = run(&fake, view_report);
    has(text, "outer");
    has_not(text, "inlined here:");
    free(text);
}

/* A third of the function is enough; shares are of everything. */
static void test_third(void **state)
{
    (void)state;
    prepare((const uint64_t[FRAMES]){20, 0, 0, 10, 0, 0, 0, 30});
    expect("outer\n      inlined here: 16.67 % area\n");
    expect("light\n      inlined here: 50.00 % slope\n");
    prepare((const uint64_t[FRAMES]){21, 0, 0, 10, 0, 0, 0, 0});
    expect_none();
    prepare((const uint64_t[FRAMES]){10, 0, 0, 0, 0, 10, 0, 0});
    expect("outer\n      inlined here: 50.00 % other\n");
}

/* The time of what is inlined in an inlined function is its time, too. */
static void test_inside(void **state)
{
    (void)state;
    prepare((const uint64_t[FRAMES]){0, 30, 40, 10, 0, 20, 0, 0});
    expect("outer\n      inlined here: 80.00 % area, 70.00 % slope\n");
    /* Of equal ones the outer one is first; of four the innermost three are named. */
    prepare((const uint64_t[FRAMES]){0, 50, 0, 0, 0, 0, 0, 0});
    expect("outer\n      inlined here: 100.00 % area, 100.00 % slope, 100.00 % load\n");
    prepare((const uint64_t[FRAMES]){0, 50, 0, 0, 45, 0, 40, 0});
    expect("outer\n      inlined here: 70.37 % slope, 66.67 % area, 37.04 % load\n");
    /* Twice in one chain is once. */
    prepare((const uint64_t[FRAMES]){0, 0, 0, 0, 50, 0, 0, 0});
    expect("outer\n      inlined here: 100.00 % wrap, 100.00 % slope\n");
}

static void test_heavy(void **state)
{
    (void)state;
    prepare((const uint64_t[FRAMES]){95, 0, 0, 0, 0, 0, 0, 5});
    expect("light\n      inlined here: 5.00 % slope\n");
    prepare((const uint64_t[FRAMES]){96, 0, 0, 0, 0, 0, 0, 4});
    dso.asked_lines = 0;
    expect_none();
    /* What is not heavy costs nothing. */
    assert_int_equal(dso.asked_lines, 1);
}

/* Not where they have rows or chains of their own, nor where they are not wanted. */
static void test_elsewhere(void **state)
{
    (void)state;
    prepare((const uint64_t[FRAMES]){0, 0, 50, 0, 0, 0, 0, 0});
    fake.settings.no_inline = true;
    expect_none();
    fake.settings = (struct settings){.callers = true};
    expect_none();
    fake.settings = (struct settings){.callees = true};
    expect_none();
    fake.settings = (struct settings){.group = true};
    expect_none();
    fake.settings = (struct settings){.top = 1};
    expect("      inlined here: 100.00 % area, 100.00 % slope\n");
}

/* With --symbol the row of inlined code has a Self, which the functions around it have, too: the sum has it once. */
static void test_cum(void **state)
{
    static const char *all[] = {"*"};
    (void)state;
    prepare((const uint64_t[FRAMES]){6, 0, 60, 0, 0, 0, 0, 34});
    fake.settings = (struct settings){.symbols = {all, 1, 1}, .show_cum = true};
    fake.inlined = true;
    expect("94.00 %    0.00 %      94  94.00 %  app  slope (inlined)\n"
           "66.00 %   66.00 %      66  66.00 %  app  outer\n");
    expect("34.00 %  100.00 %      34  34.00 %  app  light\n");
    expect(" 0.00 %  100.00 %       0  60.00 %  app  area (inlined)\n");
    fake.settings.group = true;
    expect("   66.00 %   66.00 %  app  outer\n   34.00 %  100.00 %  app  light\n");
    fake.settings.group = false;
    fake.settings.cum = 50;
    expect("app  outer\n");
    expect("\nand 2 functions more with 34.00 % together; ");
    fake.settings.json = true;
    expect("\"cum_percent\":0.0000,\"inlined\":true");
    expect("\"cum_percent\":66.0000,\"inlined\":false");
    expect("\"functions_left_out\":{\n  \"rows\":2,\n  \"self_weight\":34,\n  \"self_percent\":34.0000}");
    fake.settings.cum = 0;
    fake.settings.top = 1;
    fake.settings.json = false;
    expect("\nand 3 functions more with 100.00 % together; ");
}

static void test_json(void **state)
{
    (void)state;
    prepare((const uint64_t[FRAMES]){0, 30, 40, 10, 0, 20, 0, 0});
    fake.settings.json = true;
    expect("\"inlined\":false,\"inlined_here\":["
           "{\"symbol\":\"area\",\"self_samples\":1,\"self_weight\":10,\"self_percent\":10.0000,"
           "\"total_samples\":3,\"total_weight\":80,\"total_percent\":80.0000},"
           "{\"symbol\":\"slope\",\"self_samples\":1,\"self_weight\":40,\"self_percent\":40.0000,"
           "\"total_samples\":2,\"total_weight\":70,\"total_percent\":70.0000}]");
    fake.settings.no_inline = true;
    char *text = run(&fake, view_report);
    has_not(text, "inlined_here");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_third),     cmocka_unit_test(test_inside), cmocka_unit_test(test_heavy),
        cmocka_unit_test(test_elsewhere), cmocka_unit_test(test_json),   cmocka_unit_test(test_cum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
