/* SPDX-License-Identifier: MIT */
/* Call tree, callers and callees, flame graph and diff on a profile that is known by heart. */
#include "check.h"

#include <math.h>

#include "analyze/view/flame.h"
#include "analyze/view/significance.h"
#include "analyze/view/versions.h"
#include "test_view_fake.h"

static void test_call_tree(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.call_tree = true;
    char *text = run(&fake, view_report);
    has(text, "95.00 %  95.0 ms   5.00 %  app        |- app+0x100\n"
              "80.00 %  80.0 ms   0.00 %  app        |  |- app+0x300\n"
              "80.00 %  80.0 ms   0.00 %  app        |  |  app+0x300\n"
              "80.00 %  80.0 ms  80.00 %  app        |  |  app+0x300\n"
              "10.00 %  10.0 ms  10.00 %  app        |  `- app+0x200\n"
              " 5.00 %  5.00 ms   5.00 %  [unknown]  `- 0xdead000\n");
    free(text);
    fake.settings.by = BY_DSO;
    text = run(&fake, view_report);
    has(text, "95.00 %  95.0 ms  95.00 %  app        |- app\n"
              " 5.00 %  5.00 ms   5.00 %  [unknown]  `- [unknown]\n");
    free(text);
    fake.settings.by = BY_COMM;
    fake.settings.min = 10;
    fake.settings.min_given = true;
    text = run(&fake, view_report);
    has(text, "85.00 %  85.0 ms   0.00 %       |- cc1\n"
              "80.00 %  80.0 ms   0.00 %  app  |  |- app+0x100\n");
    has(text, " 5.00 %  5.00 ms                |  `- ... in 1 branch below 10 %\n"
              "10.00 %  10.0 ms   0.00 %       |- make\n"
              "10.00 %  10.0 ms   0.00 %  app  |  app+0x100\n"
              "10.00 %  10.0 ms  10.00 %  app  |  app+0x200\n"
              " 5.00 %  5.00 ms                `- ... in 1 branch below 10 %\n");
    free(text);
}

static void test_call_tree_of_each_task(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.call_tree = true;
    fake.settings.top = 1;
    fake.settings.tasks = TASKS_APART;
    char *text = run(&fake, view_report);
    has(text, "20.20 cc1");
    has(text, "94.12 %  80.0 ms  0.00 %  app  |- app+0x100\n");
    has(text, "and 4 lines more; --top all shows all\n");
    free(text);
}

static void test_json_has_what_was_asked_for(void **state)
{
    (void)state;
    struct fake fake;
    const char *symbol[] = {"app+0x300"};
    fake_new(&fake);
    fake.settings.json = true;
    fake.settings.tasks = TASKS_TOGETHER;
    char *text = run(&fake, view_report);
    has_not(text, "call_tree");
    has_not(text, "callers");
    free(text);
    fake.settings.call_tree = fake.settings.callers = true;
    fake.settings.symbols = (struct settings_list){symbol, 1, 1};
    text = run(&fake, view_report);
    has(text, "\"callers\":[{\"symbol\":\"app+0x300\",\"dso\":\"/opt/no-such/app\",\"samples\":80,");
    has_not(text, "callees");
    has(text, "\"call_tree\":[\n  {\"symbol\":\"app+0x100\",");
    free(text);
}

static void test_recursion_is_its_own_caller(void **state)
{
    (void)state;
    struct fake fake;
    const char *symbol[] = {"app+0x*"};
    fake_new(&fake);
    fake.settings.callers = fake.settings.callees = true;
    fake.settings.symbols = (struct settings_list){symbol, 1, 1};
    char *text = run(&fake, view_report);
    has(text, "app+0x300 (app): total 80.0 ms (80.00 %), self 80.0 ms (80.00 %), in 80 samples\n\n"
              "   Of it     Time   Of all  DSO  Called by\n"
              "100.00 %  80.0 ms  80.00 %  app  app+0x300\n");
    has(text, "app+0x100 (app): total 95.0 ms (95.00 %), self 5.00 ms (5.00 %), in 95 samples\n\n"
              "   Of it     Time   Of all  DSO  Called by\n"
              "100.00 %  95.0 ms  95.00 %       [no caller recorded]\n");
    has(text, "  Of it     Time   Of all  DSO  Calls\n"
              "84.21 %  80.0 ms  80.00 %  app  app+0x300\n"
              "10.53 %  10.0 ms  10.00 %  app  app+0x200\n"
              " 5.26 %  5.00 ms   5.00 %       [self]\n");
    free(text);
}

static char *drawn(struct fake *fake)
{
    fake->settings.file = "-";
    char *text = run(fake, view_flame);
    has(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg ");
    has(text, "]]></script>\n</svg>\n");
    return text;
}

static void test_flame(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    char *text = drawn(&fake);
    has(text, "data-x=\"0\" data-w=\"100000000\" data-l=\"0\"><title>all\n100 ms, 100.00 %, 100 samples</title>");
    has(text, "data-x=\"0\" data-w=\"85000000\" data-l=\"1\"><title>cc1\n85.0 ms, 85.00 %, 85 samples</title>");
    has(text, "<title>app+0x200\n/opt/no-such/app\n10.0 ms, 10.00 %, 10 samples; self 10.0 ms, 10.00 %</title>");
    has(text, "x=\"10.00\" y=\"70\" width=\"1179.50\""); /* the root on top */
    free(text);
    fake.settings.by = BY_TASK;
    fake.settings.by_given = true;
    fake.settings.layout = LAYOUT_UPRIGHT;
    text = drawn(&fake);
    has(text, "<title>worker 10.11\n");
    /* below two frames and their command; app+0x300 calls itself */
    has(text, "x=\"10.00\" y=\"118\" width=\"1179.50\"");
    has(text, "; recursive: it calls itself, up to 3 levels deep</title>");
    free(text);
    fake.settings.no_fold = true;
    text = drawn(&fake);
    assert_null(strstr(text, "by itself"));
    has(text, "x=\"10.00\" y=\"150\" width=\"1179.50\"");
    free(text);
    fake.settings.layout = LAYOUT_HANGING;
    fake.settings.by = BY_COMM;
    fake.settings.min_given = true;
    fake.settings.min = 12; /* two are below that, and together above */
    text = drawn(&fake);
    has(text, "<g class=\"b folded\" data-x=\"85000000\" data-w=\"15000000\" data-l=\"1\"><title>(2 smaller boxes)\n"
              "15.0 ms, 15.00 %, 15 samples</title>");
    assert_null(strstr(text, "worker"));
    free(text);
    fake.settings.min = 16;
    text = drawn(&fake);
    assert_null(strstr(text, "smaller"));
    has(text, "Not drawn: 3 branches below 16 % each, together 20.00 % of the width");
    free(text);
    fake.settings.by = BY_FUNCTION;
    fake.settings.min_given = false;
    fake.settings.reverse = true;
    text = drawn(&fake);
    has(text, "data-w=\"10000000\" data-l=\"2\"><title>app+0x100\n");
    free(text);
}

static void test_flame_of_nothing(void **state)
{
    (void)state;
    struct fake fake;
    int status;
    fake_new(&fake);
    struct profile_entry weightless[] = {{0, 0, 0, "make", 10, 0}};
    fake.profile.entries = weightless;
    fake.profile.entry_count = 1;
    free(drawn(&fake));
    fake.profile.entry_count = 0;
    for (int i = 0; i < 3; i++)
        fake.profile.tasks[i].samples = fake.profile.tasks[i].weight = 0;
    char *text = fake_run(&fake, view_flame, &status);
    assert_int_equal(status, 1);
    assert_string_equal(text, "");
    free(text);
}

/* As deep as a hostile file makes it: what is drawn ends somewhere, and says so. */
static void test_very_deep_stack(void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    struct fake fake;
    static uint32_t frames[DEPTH];
    for (int i = 0; i < DEPTH; i++)
        frames[i] = (uint32_t)i % 3;
    struct profile_stack stack = {frames, DEPTH, false};
    struct profile_entry entries[] = {{0, 0, 0, "make", 10, UINT64_C(1) << 60}, {1, 0, 0, "x", 10, UINT64_C(1) << 60}};
    fake_new(&fake);
    fake.profile.stacks = &stack;
    fake.profile.stack_count = 1;
    fake.profile.entries = entries;
    fake.profile.entry_count = 2;
    char *text = drawn(&fake);
    has(text, "Not drawn: calls deeper than 300 levels, together 100.00 % of the width");
    has(text, "data-x=\"0\" data-w=\"562949953421312\" data-l=\"0\""); /* as much as JavaScript counts exactly */
    free(text);
    fake.settings.call_tree = true;
    free(run(&fake, view_report));
    fake.settings.json = true;
    free(run(&fake, view_report));
}

static void test_markup(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a<b>&\"c'", "a&lt;b&gt;&amp;&quot;c'"},
        {"\x01\t\x7f", "\\001\\011\\177"},
        {"\xff\xc0\xaf", "\\377\\300\\257"},
        {"gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x94\xa5", "gr\xc3\xbc\xc3\x9f \xe2\x9c\x93 \xf0\x9f\x94\xa5"},
        {"a\xef\xbf\xbe\xef\xbf\xbf", "a\xef\xbf\xbd\xef\xbf\xbd"},
        {"a\xe2\x80\xae"
         "b",
         "a\\342\\200\\256b"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        markup_text(to, cases[i][0]);
        fclose(to);
        assert_string_equal(text, cases[i][1]);
        free(text);
    }
}

static void test_normalize(void **state)
{
    (void)state;
    static const char *const dsos[][2] = {
        {"/opt/b/libz.so.1.2.13", "libz.so"},
        {"/usr/lib/libc.so.6", "libc.so"},
        {"libx.so", "libx.so"},
        {"/tmp/build/app (deleted)", "app"},
        {"[vdso]", "[vdso]"},
        {"//anon", "//anon"},
        {"/opt/a.so.1b", "a.so.1b"},
        {"/opt/.so.1", ".so.1"},
        {"", ""},
    };
    static const char *const symbols[][2] = {
        {"parse", "parse"},
        {"parse.isra.0", "parse"},
        {"parse.part.3.constprop.12.cold", "parse"},
        {"parse(int) [clone .isra.0] [clone .cold]", "parse(int)"},
        {"core::fmt::write (.llvm.1234)", "core::fmt::write"},
        {"operator[](int)", "operator[](int)"},
        {"a.b", "a.b"},
        {"a.5", "a.5"},
        {".cold", ".cold"},
        {"f(.isra.0)", "f(.isra.0)"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof(dsos) / sizeof(dsos[0]); i++) {
        char *name = normalize_dso(dsos[i][0]);
        assert_string_equal(name, dsos[i][1]);
        free(name);
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        char *name = normalize_symbol(symbols[i][0]);
        assert_string_equal(name, symbols[i][1]);
        free(name);
    }
}

static void near(double value, double expected)
{
    if (!(fabs(value - expected) < 0.001))
        fail_msg("%g instead of %g", value, expected);
}

static void test_noise(void **state)
{
    (void)state;
    struct noise_side sides[2] = {0};
    noise_add(&sides[0], 1000, 1000);
    noise_add(&sides[1], 1000, 2000); /* each sample weighs 2 */
    noise_finish(&sides[0]);
    noise_finish(&sides[1]);
    near(sides[0].grain, 1);
    near(sides[1].grain, 2);
    /* 100 and 60 samples: a change of 20 in sqrt(160 * 1 * 2). */
    struct noise_sum sums[2] = {{100, 100}, {60, 120}};
    near(noise_of_weight(sides, sums), 20 / sqrt(320));
    /* 10 % and 6 % of 1000 each. */
    near(noise_of_share(sides, sums), -0.04 / sqrt(0.08 * 0.92 * 2 / 1000));
    assert_true(noise_is(2.9, sums) && noise_is(-2.9, sums) && noise_is(NAN, sums));
    assert_false(noise_is(3.1, sums) || noise_is(-3.1, sums));
    struct noise_sum few[2] = {{0, 0}, {9, 18}};
    assert_true(noise_is(3.1, few));
    /* Unequal samples: 10 of weight 1 and one of 90 are worth less than two. */
    struct noise_side mixed = {0};
    noise_add(&mixed, 10, 10);
    noise_add(&mixed, 1, 90);
    noise_finish(&mixed);
    near((double)mixed.all.weight / mixed.grain, 10000.0 / 8110);
    struct noise_side none[2] = {0};
    struct noise_sum nothing[2] = {{0, 0}, {0, 0}};
    near(noise_of_weight(none, nothing), 0);
    near(noise_of_share(none, nothing), 0);
}

static char *diff(struct fake *before, struct fake *after, int *ret_status)
{
    return fake_diff((struct fake *const[]){before, after}, (const size_t[]){1, 1}, ret_status);
}

static void test_diff(void **state)
{
    (void)state;
    struct fake before, after;
    int status;
    fake_new(&before);
    fake_new(&after);
    struct profile_entry more[4];
    memcpy(more, after.profile.entries, sizeof(more));
    more[2].samples *= 2; /* of cc1 */
    more[2].weight *= 2;
    after.profile.entries = more;
    char *text = diff(&before, &after, &status);
    assert_int_equal(status, 0);
    has(text, "Total: ?+80.0 ms (+80.00 %), from 100 ms to 180 ms: one run on each side does\n"
              "  not show how much the runs vary\n");
    has_not(text, "Changed:");
    has(text, "?+80.0 ms  85.0 ms   165 ms  ~+6.67  85.00 %  91.67 %  cc1\n");
    has(text, "    0 s  10.0 ms  10.0 ms  ~-4.44  10.00 %   5.56 %  make\n");
    has(text, "?+80.0 ms  95.0 ms   175 ms  ~+2.22  95.00 %  97.22 %  app        [functions not compared]\n");
    has(text, "Functions of app are not compared: its symbols are missing in A and B (the file is gone). ");
    free(text);
    before.settings.diff_by = 3;
    before.settings.diff_by_given = true;
    text = diff(&before, &after, &status);
    has(text, "[functions not compared] < [functions not compared] < [functions not compared] < "
              "[functions not compared] < [cc1]\n");
    has_not(text, "Command\n");
    free(text);
}

/* RUNS runs, each a percent heavier than the one before; cc1's recursion is TIMES as heavy in those from FROM on. */
enum { RUNS = 6, ENTRIES = 4, MS = 1000000 };

static void runs_new(struct fake *fakes, struct profile_entry (*entries)[ENTRIES], size_t from, uint64_t times)
{
    for (size_t i = 0; i < RUNS; i++) {
        fake_new(&fakes[i]);
        memcpy(entries[i], fakes[i].profile.entries, sizeof(entries[i]));
        for (size_t j = 0; j < ENTRIES; j++) {
            entries[i][j].samples *= 10;
            entries[i][j].weight *= 1000 + 10 * (i % 3);
            entries[i][j].weight /= 100;
        }
        entries[i][2].weight *= i >= from ? times : 1;
        entries[i][2].samples *= i >= from ? times : 1;
        fakes[i].profile.entries = entries[i];
    }
}

static char *diff_runs(struct fake *fakes, size_t before)
{
    struct fake *list[RUNS];
    int status;
    for (size_t i = 0; i < RUNS; i++)
        list[i] = &fakes[i];
    char *text = fake_diff(list, (const size_t[]){before, RUNS - before}, &status);
    assert_int_equal(status, 0);
    return text;
}

static void test_diff_of_several_runs(void **state)
{
    (void)state;
    struct fake fakes[RUNS];
    struct profile_entry entries[RUNS][ENTRIES];
    runs_new(fakes, entries, 3, 2);
    char *text = diff_runs(fakes, 3);
    has(text, "3 runs, each with 1.00 s to 1.02 s of task-clock, took 900 ms; 3,000 samples in all, 12 lost\n");
    has(text, "\nChanged: 1 command, 1 function\n"
              "  [functions not compared]: +808 ms +-77.7 ms (960 ms to 1.77 s, +84 %)\n"
              "Total: +808 ms +-66.5 ms (+80.00 %), from 1.01 s to 1.82 s a run. The function\n"
              "  that changed: +808 ms\n");
    has(text, "\n Change       +-   Time A   Time B  Points    +-  Share A  Share B  Command\n");
    has(text, "+808 ms            858 ms   1.67 s  +80.00  0.31  85.00 %  91.67 %  cc1\n");
    /* Its share is less, as that of cc1 is more: it has not changed. */
    has(text, "    0 s  6.15 ms   101 ms   101 ms  ~+0.00        10.00 %   5.56 %  make\n");
    has(text, "If a program is compared with itself, about 2 of 100 comparisons still call a\n"
              "  change certain (with five runs per side, in turn: A B A B ...).\n");
    free(text);
    fakes[0].settings.json = true;
    text = diff_runs(fakes, 3);
    has(text, "\"runs\":3");
    has(text, "\"run_weights\":[1000000000,1010000000,1020000000]");
    has(text, "\"weight_verdict\":\"changed\"");
    has(text, "\"loaded\":false");
    has(text, "\"apart\":false");
    has(text, "\"explained_change\":808000000.0000");
    has(text, "\"functions\":3,");
    has(text, "\"dsos\":");
    has(text, "\"judged_by\":\"points\",\"changed\":true");
    has(text, "\"points_change\":0.0000");
    free(text);
    /* The same against itself: nothing, and 0 is no limit where some runs are all alike. */
    runs_new(fakes, entries, 0, 1);
    text = diff_runs(fakes, 3);
    has(text,
        "Changed: no command, no function\n"
        "Total: 0 s +-45.7 ms (+0.00 %), from 1.01 s to 1.01 s a run: no more than the\n  variation between runs\n");
    has_not(text, "functions not compared]: ");
    free(text);
    /* One on one side: its own variance is taken to be that of the others. */
    runs_new(fakes, entries, 1, 2);
    text = diff_runs(fakes, 1);
    has(text, "Changed: ");
    has(text, "5 runs, each with");
    free(text);
}

/* Sides that ran one after the other on a loaded machine: all times of the second may differ for that reason. */
static void test_diff_on_a_loaded_machine(void **state)
{
    (void)state;
    struct fake fakes[RUNS];
    struct profile_entry entries[RUNS][ENTRIES];
    runs_new(fakes, entries, 3, 2);
    for (size_t i = 0; i < RUNS; i++)
        fakes[i].profile.session = (struct profile_session){.ours = true,
                                                            .start_realtime_ns = 1000 + i,
                                                            .machine_ns = UINT64_C(2000) * MS,
                                                            .others_ns = UINT64_C(3000) * MS};
    char *text = diff_runs(fakes, 3);
    has(text, "Total: ~+808 ms (+80.00 %), from 1.01 s to 1.82 s a run: not judged\n");
    has(text, "judged by the column Points, and not by the times.");
    has(text, "~+808 ms       858 ms   1.67 s  +80.00  0.31  85.00 %  91.67 %  cc1\n");
    free(text);
    fakes[0].settings.json = true;
    text = diff_runs(fakes, 3);
    has(text, "\"weight_verdict\":\"noise\"");
    has(text, "\"weight_limit\":null");
    has(text, "\"loaded\":true");
    has(text, "\"apart\":true");
    free(text);
    /* In turn, each as likely to be slowed down. */
    runs_new(fakes, entries, 3, 2);
    for (size_t i = 0; i < RUNS; i++)
        fakes[i].profile.session = (struct profile_session){.ours = true,
                                                            .start_realtime_ns = 1000 + i % 3,
                                                            .machine_ns = UINT64_C(2000) * MS,
                                                            .others_ns = UINT64_C(3000) * MS};
    text = diff_runs(fakes, 3);
    has(text, "Total: +808 ms +-66.5 ms (+80.00 %), ");
    has(text, "The machine was loaded. Other programs change");
    free(text);
}

/* What cannot matter is one line; runs that differ much are too few. */
static void test_diff_says_little_of_little(void **state)
{
    (void)state;
    struct fake fakes[RUNS];
    struct profile_entry entries[RUNS][ENTRIES];
    runs_new(fakes, entries, 0, 1);
    for (size_t i = 0; i < RUNS; i++) {
        entries[i][1].samples = 1;
        entries[i][1].weight = (i < 3 ? 1 : 2) * MS;
        entries[i][2].weight *= 1 + i % 3;
    }
    char *text = diff_runs(fakes, 3);
    has(text, "Not shown: 1 command with too few samples to be judged, together 0.06 % of A\n"
              "  (1.00 ms) and 0.11 % of B (2.00 ms); --top all shows them\n");
    has_not(text, " worker");
    has(text, "\n"
              "Too few runs. To find out whether a function changed by 10 % of the total, take\n"
              "  more than 200 runs per side, in turn ");
    free(text);
    fakes[0].settings.top = 10;
    text = diff_runs(fakes, 3);
    has_not(text, "too few samples to be judged");
    has(text, " worker");
    free(text);
}

/* The runs of make, which waits, differ by more than cc1 has changed: what they became together is no part of it. */
static void test_diff_adds_up(void **state)
{
    (void)state;
    struct fake fakes[RUNS];
    struct profile_entry entries[RUNS][ENTRIES];
    static const uint64_t waits[RUNS] = {500, 900, 1300, 100, 400, 700};
    runs_new(fakes, entries, 3, 2);
    for (size_t i = 0; i < RUNS; i++)
        entries[i][0].weight = waits[i] * MS;
    fakes[0].settings.diff_by_given = true;
    fakes[0].settings.diff_by = 0;
    char *text = diff_runs(fakes, 3);
    has(text, "\nChanged: 1 command\n  cc1: +808 ms +-80.7 ms (858 ms to 1.67 s, +94 %)\n"
              "Total: ~+308 ms +-1.67 s (+17.03 %), from 1.81 s to 2.12 s a run. The command\n"
              "  that changed: +808 ms; all others: -500 ms, which may be chance\n");
    has_not(text, "Too few runs");
    free(text);
    /* Where whole runs are slower, Points decide; the sum is that of times all the same. */
    runs_new(fakes, entries, 3, 2);
    for (size_t i = 0; i < RUNS; i++)
        for (size_t j = 0; j < ENTRIES; j++)
            entries[i][j].weight *= 2 + i;
    fakes[0].settings.diff_by_given = true;
    fakes[0].settings.diff_by = 0;
    text = diff_runs(fakes, 3);
    has(text, "\n  cc1: +7.43 s (2.58 s to 10.01 s, +288 %), Points +80.00 +-0.38\n");
    has(text, "The command\n  that changed: +7.43 s; all others: +454 ms, which may be chance\n");
    free(text);
    runs_new(fakes, entries, 3, 2);
    for (size_t i = 3; i < RUNS; i++)
        entries[i][3].weight *= 3;
    fakes[0].settings.diff_by_given = true;
    fakes[0].settings.diff_by = 1;
    text = diff_runs(fakes, 3);
    has(text, "The 2 DSOs\n  that changed: +909 ms together\n");
    /* Nothing is left to compare with. */
    has(text, "+808 ms  77.7 ms   960 ms  1.77 s  +80.00 ");
    free(text);
}

/* With what was called, main has all that recurse does more: it is in the table, but not among the changed ones. */
static void test_diff_names_the_reason(void **state)
{
    (void)state;
    struct fake fakes[RUNS];
    struct profile_entry entries[RUNS][ENTRIES];
    static const struct profile_module modules[] = {{.path = "a", .symbol = "main", .index = 0},
                                                    {.path = "a", .symbol = "recurse", .index = 1}};
    static const struct profile_module *const list[] = {&modules[0], &modules[1]};
    static const struct profile_frame frames[] = {{&modules[0], 0, 0, .index = 0},
                                                  {&modules[0], 1, 1, .index = 1},
                                                  {&modules[1], 2, 2, .index = 2},
                                                  {&modules[0], 3, 3, .index = 3}};
    runs_new(fakes, entries, 3, 2);
    for (size_t i = 0; i < RUNS; i++) {
        fakes[i].profile.modules = list;
        fakes[i].profile.module_count = 2;
        fakes[i].profile.frames = frames;
    }
    fakes[0].settings.total = true;
    fakes[0].settings.diff_by_given = true;
    fakes[0].settings.diff_by = 2;
    char *text = diff_runs(fakes, 3);
    has(text, "\nChanged: 2 functions\n  recurse: +808 ms +-69.8 ms (808 ms to 1.62 s, +100 %)\n  and 1 below\n"
              "Total: ");
    has(text, " 100.00 %  100.00 %  a    main\n");
    free(text);
}

static void refused(struct fake *before, struct fake *after, const char *reason)
{
    int status;
    check_capture();
    char *text = diff(before, after, &status);
    const char *said = check_captured();
    assert_int_equal(status, 1);
    assert_string_equal(text, "");
    has(said, reason);
    free(text);
}

static void test_diff_refuses_what_cannot_be_compared(void **state)
{
    (void)state;
    struct fake before, after;
    fake_new(&before);
    fake_new(&after);
    struct profile_event events[2] = {after.profile.events[0], after.profile.events[1]};
    struct profile_event others[2] = {before.profile.events[0], before.profile.events[1]};
    after.profile.events = events;
    before.profile.events = others;
    events[0].exclude_kernel = true;
    refused(&before, &after, "with kernel code in A and without kernel code in B; record both as the same user");
    events[0].exclude_kernel = false;
    events[0].name = "cpu-clock";
    refused(&before, &after, "A shows task-clock and B shows cpu-clock, which cannot be compared");
    events[1].samples = others[1].samples = 1;
    refused(&before, &after, "all runs have page-faults (choose with --event)");
    events[0].samples = 0;
    refused(&before, &after, "B has no samples");
    after.profile.event_count = 0;
    refused(&before, &after, "B has no samples");
    others[0].samples = 0;
    refused(&before, &after, "A has no samples");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_call_tree),
        cmocka_unit_test(test_call_tree_of_each_task),
        cmocka_unit_test(test_json_has_what_was_asked_for),
        cmocka_unit_test(test_recursion_is_its_own_caller),
        cmocka_unit_test(test_flame),
        cmocka_unit_test(test_flame_of_nothing),
        cmocka_unit_test(test_very_deep_stack),
        cmocka_unit_test(test_markup),
        cmocka_unit_test(test_normalize),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_diff),
        cmocka_unit_test(test_diff_of_several_runs),
        cmocka_unit_test(test_diff_on_a_loaded_machine),
        cmocka_unit_test(test_diff_says_little_of_little),
        cmocka_unit_test(test_diff_adds_up),
        cmocka_unit_test(test_diff_names_the_reason),
        cmocka_unit_test(test_diff_refuses_what_cannot_be_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
