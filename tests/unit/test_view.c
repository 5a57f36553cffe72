/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "analyze/view/heading.h"
#include "analyze/view/process_tree.h"
#include "analyze/view/select.h"
#include "test_view_fake.h"

static void test_total_counts_a_function_once(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.tasks = TASKS_TOGETHER;
    char *text = run(&fake, view_report);
    has(text, "80.00 %  80.0 ms  80.00 %  app        app+0x300\n");
    has(text, " 5.00 %  5.00 ms  95.00 %  app        app+0x100\n");
    has(text, " 5.00 %  5.00 ms   5.00 %  [unknown]  0xdead000\n");
    free(text);
}

static void test_sections_are_heaviest_first(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.tasks = TASKS_APART;
    char *text = run(&fake, view_report);
    const char *cc1 = strstr(text, "20.20 cc1"), *make = strstr(text, "10.10 make"),
               *worker = strstr(text, "10.11 worker");
    assert_true(cc1 && make && worker && cc1 < make && make < worker);
    has(text, "85.0 ms (85.00 %) in 85 samples");
    has(text, "94.12 %  80.0 ms  94.12 %"); /* of the task */
    free(text);
}

static void test_hostile_command_line_is_harmless(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.tasks = TASKS_APART;
    char *text = run(&fake, view_report);
    has(text, "cc1 'a b.c' '\\033[2J\\377'");
    assert_null(strchr(text, '\033'));
    free(text);
}

static void test_filters(void **state)
{
    (void)state;
    struct fake fake;
    const char *comm[] = {"wor*"}, *symbol[] = {"app+0x3*"};
    fake_new(&fake);
    fake.settings.tasks = TASKS_TOGETHER;
    fake.settings.comms = (struct settings_list){comm, 1, 1};
    char *text = run(&fake, view_report);
    has(text, "5.00 ms in 5 samples of 1 task");
    has(text, "100.00 %  5.00 ms  100.00 %  app  app+0x100\n");
    free(text);
    fake.settings.comms.count = 0;
    fake.settings.symbols = (struct settings_list){symbol, 1, 1};
    text = run(&fake, view_report);
    has(text, "80.00 %  80.0 ms  80.00 %  app  app+0x300\n"); /* of everything */
    has_not(text, "app+0x200");
    free(text);
}

/* Command lines as they are, and as views show them; what ran before counts, and without one the name does. */
static void test_command_lines(void **state)
{
    static const char *const words[] = {"cc1plus", "-o", "my file.o", "big.cpp"}, *const before[] = {"sh", "-c", "x"};
    static const struct profile_generation generations[] = {{.comm = "sh", .cmdline = before, .cmdline_count = 3},
                                                            {.comm = "cc1plus", .cmdline = words, .cmdline_count = 4}};
    const struct profile_task task = {.pid = 7,
                                      .comm = "cc1plus",
                                      .cmdline = words,
                                      .cmdline_count = 4,
                                      .generations = generations,
                                      .generation_count = 2};
    const struct profile_task bare = {.pid = 8, .comm = "swapper"};
    static const struct {
        const char *text;
        bool has, has_bare;
    } texts[] = {{"big.cpp", true, false},
                 {"-o my file.o big", true, false},
                 {"-o 'my file.o' big", true, false},
                 {"sh -c x", true, false},
                 {"x cc1plus", false, false},
                 {"big.cpp ", false, false},
                 {"big.cp*", false, false},
                 {"wapp", false, true},
                 {"p", true, true}};
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *list[] = {"none of them", texts[i].text};
        const struct settings settings = {.command_lines = {list, 2, 2}};
        assert_int_equal(select_task(&settings, &task), texts[i].has);
        assert_int_equal(select_task(&settings, &bare), texts[i].has_bare);
        assert_true(select_by_task(&settings));
    }
    assert_true(select_task(&(struct settings){0}, &task));
    assert_false(select_by_task(&(struct settings){0}));
}

static void test_call_trees(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.callers = fake.settings.callees = true;
    char *text = run(&fake, view_report);
    has(text, "        `- 80.00 %  app+0x300\n                    app+0x300\n                    app+0x100\n");
    has(text, "        |- 10.00 %  app+0x200\n        `- 5.00 %  [self]\n");
    free(text);
}

/* Of a report in JSON; ends TEXT behind it. */
static const char *call_tree_of(char *text)
{
    char *tree = strstr(text, "\"call_tree\":["), *end = tree ? strstr(tree, "\"tasks\":[") : NULL;
    assert_non_null(end);
    *end = '\0';
    return tree;
}

static void test_call_tree_says_what_was_cut(void **state)
{
    (void)state;
    struct fake fake;
    static struct profile_entry entries[5];
    fake_new(&fake);
    memcpy(entries, fake.profile.entries, 4 * sizeof(entries[0]));
    entries[0].weight = 100000; /* parse under main: 0.1 ms of 90.1 ms */
    fake.profile.entries = entries;
    fake.settings.callees = true;
    char *text = run(&fake, view_report);
    has(text, "`- 0.11 %  in 1 branch below 0.5 %\n");
    free(text);
    /* JSON has all, unless it is asked for less. */
    fake.settings.callees = false;
    fake.settings.call_tree = fake.settings.json = true;
    text = run(&fake, view_report);
    assert_non_null(strstr(call_tree_of(text), "\"self_weight\":100000,"));
    free(text);
    fake.settings.min_given = true;
    fake.settings.min = 1;
    text = run(&fake, view_report);
    assert_null(strstr(call_tree_of(text), "\"self_weight\":100000,"));
    free(text);
}

static void test_by(void **state)
{
    (void)state;
    static const struct {
        int by;
        const char *line;
    } cases[] = {
        {BY_DSO, "95.00 %  95.0 ms  95.00 %  /opt/no-such/app\n"},
        {BY_TASK, " 5.00 %  5.00 ms        5    10.11  {worker} make -j2\n"},
        {BY_PROCESS, "15.00 %  15.0 ms       15   10  make -j2\n"},
        {BY_COMM, "85.00 %  85.0 ms       85  cc1\n"},
        {BY_ADDRESS, "10.00 %  10.0 ms  10.00 %      0x200  app        app+0x200\n"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake fake;
        fake_new(&fake);
        fake.settings.tasks = TASKS_TOGETHER;
        fake.settings.by = cases[i].by;
        char *text = run(&fake, view_report);
        has(text, cases[i].line);
        free(text);
    }
}

/* Without names the addresses are offsets in the files, and do not look as those for addr2line. */
static void test_offsets(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.settings.tasks = TASKS_TOGETHER;
    fake.settings.by = BY_ADDRESS;
    fake.settings.no_resolve = true;
    char *text = run(&fake, view_report);
    has(text, "Total     Offset  DSO        Function\n");
    has(text, "10.00 %  10.0 ms  10.00 %      0x200  app        app@0x200\n");
    free(text);
    fake.settings.group = true;
    text = run(&fake, view_report);
    has(text, "    Offset  DSO        Function\n");
    free(text);
}

static void test_tree(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    char *text = run(&fake, view_tree);
    has(text, "900 ms   15.0 ms   ~110 ms     2  * make -j2\n"); /* it went on for long when its child had ended */
    has(text, "|- {worker}\n");
    has(text, "`- cc1 'a b.c'"); /* what it was before the exec was its parent's copy */
    has(text, "\n*: ended last, 900 ms after the start (pid 10)\n");
    free(text);
    /* It has waited for the child alone. */
    ((struct profile_task *)fake.profile.tasks)[2].end_ns = 895 * 1000000ull;
    text = run(&fake, view_tree);
    has(text, "900 ms   15.0 ms   ~110 ms     2  make -j2\n");
    has(text, "`- * cc1 'a b.c'");
    has(text, "\n*: ended last, 895 ms after the start (pid 20)\n");
    free(text);
    /* -n: the heaviest, without branches. */
    fake.settings.top = 2;
    text = run(&fake, view_tree);
    has(text, "  Command\n  20.20  0.000 s    895 ms   90.0 ms  90.0 ms     0  * cc1 'a b.c'");
    has(text, "  10.10  0.000 s    900 ms   15.0 ms  ~110 ms     2  make -j2\n"
              "and 1 lighter task (raise -n to see more)\n"
              "Total: CPU time of a task and of all tasks below it\n*: ended last");
    has_not(text, "worker");
    has_not(text, "Exit -");
    free(text);
    /* One that is not shown has a name; one whose status nobody told is explained. */
    fake.settings.top = 1;
    ((struct profile_task *)fake.profile.tasks)[2].end_ns = 800 * 1000000ull;
    ((struct profile_task *)fake.profile.tasks)[2].exit = -1;
    text = run(&fake, view_tree);
    has(text, "\n"
              "make (pid 10, not shown above) ended last, 900 ms after the start\n"
              "Exit -: unknown; the process was still running, or pinject did not see its parent wait for it\n");
    free(text);
    ((struct profile_task *)fake.profile.tasks)[2].end_ns = 895 * 1000000ull;
    ((struct profile_task *)fake.profile.tasks)[2].exit = 0;
    fake.settings.top = SETTINGS_ALL;
    text = run(&fake, view_tree);
    has(text, "`- * cc1");
    free(text);
}

static void test_unknown_coverage(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.profile.session.coverage_known = false;
    fake.settings.json = true;
    char *text = run(&fake, view_report);
    has(text, "\"coverage\":{\n  \"cpu_ns\":null,\n  \"attributed_ns\":null,\n  \"percent\":null");
    has(text, "\"exit\":null");
    has(text, "\"cmdline\":[\"cc1\",\"a b.c\",\"\\u001b[2J\\ufffd\"]");
    free(text);
}

static void test_bad_trees_end(void **state)
{
    (void)state;
    struct fake fake;
    bool wanted[3] = {true, true, true};
    struct process_tree tree;
    fake_new(&fake);
    struct profile_task *tasks = fake.profile.tasks;
    /* Two processes that are each other's parents, and one that is its own. */
    for (int i = 0; i < 3; i++)
        tasks[i] = (struct profile_task){
            .pid = i + 1, .tid = i + 1, .ppid = i == 2 ? 3 : 2 - i, .comm = "x", .index = (uint32_t)i};
    process_tree_init(&tree, &fake.profile, wanted);
    int count = 0;
    for (uint32_t at = tree.root; at != PROCESS_TREE_NONE && count < 10; at = process_tree_next(&tree, at))
        count++;
    assert_int_equal(count, 3);
    process_tree_release(&tree);
}

/* Said once: by the timers, by the recorder's note, or by us. */
static void test_why_the_kernel_is_missing(void **state)
{
    (void)state;
    static const char *const notes[] = {"x", "kernel samples: only user space is sampled"};
    static const char timers[] = "Not sampled: kernel code (timers sample user space only)",
                      rights[] = "Not sampled: kernel code; shares are of the time in user space (";
    for (unsigned i = 0; i < 6; i++) {
        struct fake fake;
        fake_new(&fake);
        fake.profile.session.exclude_kernel = i > 0;
        fake.profile.session.notes = i == 5 ? notes + 1 : notes;
        fake.profile.session.note_count = i == 2 || i == 5 ? 1 : i == 3 ? 2 : 0;
        for (int task = 0; task < 3 && i == 4; task++)
            fake.profile.tasks[task].source = PROFILE_SOURCE_TIMER;
        char *text = run(&fake, view_report);
        (i == 1 || i == 2 ? has : has_not)(text, rights);
        (i == 4 ? has : has_not)(text, timers);
        (i == 2 || i == 3 ? has : has_not)(text, "Note: x\n");
        free(text);
    }
}

/* The first of EVENTS, which can be changed, is a sampled clock. */
static void fake_with_clock(struct fake *fake, struct profile_event events[2])
{
    fake_new(fake);
    memcpy(events, fake->profile.events, 2 * sizeof(*events));
    fake->profile.events = events;
    events[0].sampled = true;
}

/*
 * The first line says how much of the CPU time tasks have; where kernel code is not sampled, how much samples stand
 * for: of the rest nobody learns where it went.
 */
static void test_the_kernel_is_not_covered(void **state)
{
    (void)state;
    struct profile_event events[2];
    struct fake fake;
    fake_with_clock(&fake, events);
    fake.profile.session.exclude_kernel = events[0].exclude_kernel = true;
    events[0].weight = 10999999;
    char *text = run(&fake, view_report);
    has(text, "; 9.9 % of the CPU time is in this profile, kernel code is not sampled; ");
    has(text, " of 3 tasks");
    has(text, ", user space only\n");
    free(text);
    events[0].weight = 200000000;
    text = run(&fake, view_report);
    has(text, "; 95.4 % of the CPU time is in this profile, kernel code is not sampled; ");
    free(text);
    for (int task = 0; task < 3; task++)
        fake.profile.tasks[task].source = PROFILE_SOURCE_TIMER;
    text = run(&fake, view_report);
    has(text, "; 95.4 % of the CPU time is in this profile, kernel code is not sampled; ");
    free(text);
    /* Of context switches no share of a time is told. */
    events[0].nanoseconds = false;
    text = run(&fake, view_report);
    has(text, "; 95.4 % of the CPU time is in this profile's tasks, kernel code is not sampled; 4 samples lost");
    has_not(text, "in samples");
    free(text);
}

/* What could not be written is not in the profile, however much of the CPU time tasks have. */
static void test_what_could_not_be_written(void **state)
{
    (void)state;
    struct profile_event events[2];
    struct fake fake;
    fake_with_clock(&fake, events);
    events[0].weight = 10999999;
    char *text = run(&fake, view_report);
    has(text, "; 95.4 % of the CPU time is in this profile; 4 samples lost\n");
    free(text);
    fake.profile.session.incomplete_files = 1;
    fake.profile.session.unwritten_samples = 2000;
    text = run(&fake, view_report);
    has(text, "; 4.5 % of the CPU time is in this profile; 2,000 samples could not be written, so 1 result file is "
              "missing or not complete; 4 samples lost\n");
    free(text);
    fake.profile.session.unwritten_samples = 0;
    fake.profile.session.incomplete_files = 2;
    fake.profile.lost = 0;
    for (int task = 0; task < 3; task++)
        fake.profile.tasks[task].lost = 0;
    text = run(&fake, view_report);
    has(text, "; 95.4 % of the CPU time is in this profile; 2 result files are missing or not complete\n");
    free(text);
    fake.profile.session.incomplete_files = 0;
    fake.profile.files_truncated = 1;
    text = run(&fake, view_report);
    has(text, "; at most 95.4 % of the CPU time is in this profile; 1 file is truncated: data is missing at its end\n");
    free(text);
    fake.profile.files_truncated = 2;
    fake.profile.session.ours = false;
    fake.profile.session.items_lost = true;
    text = run(&fake, view_report);
    has(text, "; 2 files are truncated: data is missing at their ends\n");
    has(text, "CPU time of the whole run is unknown: the files are truncated");
    free(text);
    fake.profile.session.ours = true;
    fake.profile.files_truncated = 0;
    fake.profile.session.coverage_known = false;
    fake.profile.tasks[0].root = false;
    text = run(&fake, view_report);
    has(text,
        "no samples lost in these files; the run has not ended, or the file of the first task, which describes the "
        "whole run, is missing or truncated\n");
    free(text);
}

/* What clock ticks hit says nothing of short times, and nothing where it is far from the total. */
static void test_sides_of_the_time(void **state)
{
    (void)state;
    static const struct {
        uint64_t user_ms, kernel_ms;
        bool said;
    } cases[] = {{110, 990, true}, {1060, 40, true},  {1061, 39, false}, {1100, 0, false},
                 {0, 1100, false}, {110, 956, false}, {110, 958, true},  {200, 934, false}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fake fake;
        fake_new(&fake);
        fake.profile.session.cpu_ns = 1100000000;
        fake.profile.session.user_ns = cases[i].user_ms * 1000000;
        fake.profile.session.kernel_ns = cases[i].kernel_ms * 1000000;
        char *text = run(&fake, view_report);
        (cases[i].said ? has : has_not)(text, " in the kernel)");
        has(text, cases[i].said ? "CPU time 1.10 s (" : "CPU time 1.10 s, 105 ms of it attributed to tasks (9.55 %)");
        free(text);
    }
}

/* Files of one process of a run: what it ran, how long, and how much. */
static void test_one_process_of_a_run(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.profile.session.coverage_known = false;
    fake.profile.tasks[0].root = false;
    char *text = run(&fake, view_report);
    has(text, "\nmake -j2\n"); /* of several processes */
    free(text);
    fake.profile.tasks[0] = fake.profile.tasks[2];
    fake.profile.tasks[0].index = 0;
    fake.profile.tasks[0].start_ns = 500000000;
    fake.profile.tasks[0].end_ns = 700000000;
    fake.profile.task_count = 1;
    fake.profile.entry_count = 1;
    text = run(&fake, view_report);
    has_not(text, "make -j2");
    has(text, "200 ms elapsed, ");
    has(text, " of CPU time (");
    free(text);
}

/* Of a program with runs on several files the heaviest one is named, with all its threads. */
static void test_heaviest_run(void **state)
{
    (void)state;
    static const char *small[] = {"cc1", "-quiet", "small.c"}, *big[] = {"cc1", "-quiet", "src/big.c"};
    struct fake fake;
    fake_new(&fake);
    struct profile_task *tasks = (struct profile_task *)fake.profile.tasks;
    tasks[0].exec = tasks[1].exec = "/usr/lib/cc1";
    tasks[0].cmdline = small;
    tasks[1].cmdline = tasks[2].cmdline = big;
    tasks[0].cmdline_count = tasks[1].cmdline_count = tasks[2].cmdline_count = 3;
    tasks[1].pid = tasks[2].pid;
    char *text = run(&fake, view_report);
    has_not(text, "Heaviest run"); /* one program needs no table */
    free(text);
    tasks[0].exec = "/usr/bin/make";
    text = run(&fake, view_report);
    has_not(text, "Heaviest run"); /* of each there is one command line */
    free(text);
    tasks[0].exec = "/usr/lib/cc1";
    tasks[1].exec = "/usr/bin/make"; /* the same line in another program, a script's, is another run */
    text = run(&fake, view_report);
    has(text, "105 ms  95.45 %     2  cc1      90.0 ms big.c\n");
    has(text, "5.00 ms   4.55 %     0  make\n");
    free(text);
}

/* As the symbol table of a library has it. */
static void test_symbols_with_versions(void **state)
{
    (void)state;
    const char *words[] = {"pow", "exp*"};
    const struct settings settings = {.symbols = {.items = words, .count = 2}};
    assert_true(select_symbol(&settings, "pow"));
    assert_true(select_symbol(&settings, "pow@@GLIBC_2.29"));
    assert_true(select_symbol(&settings, "exp2@GLIBC_2.2.5"));
    assert_false(select_symbol(&settings, "powf@@GLIBC_2.27"));
    assert_false(select_symbol(&settings, "@pow"));
    assert_false(select_symbol(&settings, "x@pow"));
}

/* All events that were sampled but the one that is shown. */
static void test_other_events(void **state)
{
    (void)state;
    struct profile_event events[4] = {
        {.name = "counted"}, {.name = "first", .sampled = true}, {.name = "shown"}, {.name = "last", .sampled = true}};
    struct fake fake;
    fake_new(&fake);
    events[2] = fake.profile.events[0];
    fake.profile.events = events;
    fake.profile.event_count = 4;
    fake.profile.event = 2;
    for (int i = 0; i < 3; i++)
        fake.profile.tasks[i].count_count = 0;
    char *text = run(&fake, view_report);
    has(text, "\nOther sampled events (--event shows one of them): first, last\n");
    free(text);
    events[0].sampled = true;
    events[1].sampled = events[3].sampled = false;
    text = run(&fake, view_report);
    has(text, "\nOther sampled events (--event shows one of them): counted\n");
    free(text);
}

/* From the session's start, or the earliest task's where that is unknown, to the last end. */
static void test_duration(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    assert_int_equal(heading_duration(&fake.profile), 900 * UINT64_C(1000000) - 1000);
    fake.profile.session.start_ns = 0;
    fake.profile.tasks[0].start_ns = 0;
    assert_int_equal(heading_duration(&fake.profile), 900 * UINT64_C(1000000) - 2000);
    fake.profile.tasks[2].start_ns = 1500;
    assert_int_equal(heading_duration(&fake.profile), 900 * UINT64_C(1000000) - 1500);
    fake.profile.tasks[0].end_ns = 1500;
    fake.profile.tasks[1].end_ns = fake.profile.tasks[2].end_ns = 0;
    assert_int_equal(heading_duration(&fake.profile), 0);
    fake.profile.task_count = 0;
    assert_int_equal(heading_duration(&fake.profile), 0);
}

static void test_no_samples(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    fake.profile.entry_count = 0;
    for (int i = 0; i < 3; i++)
        fake.profile.tasks[i].samples = fake.profile.tasks[i].weight = 0;
    char *text = run(&fake, view_report);
    has(text, "No samples.");
    free(text);
    fake.profile.event_count = fake.profile.task_count = 0;
    for (int json = 0; json < 2; json++) {
        fake.settings.json = json;
        free(run(&fake, view_report));
        free(run(&fake, view_tree));
        free(run(&fake, view_counts));
    }
    free(run(&fake, view_summary));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_total_counts_a_function_once),
        cmocka_unit_test(test_sections_are_heaviest_first),
        cmocka_unit_test(test_hostile_command_line_is_harmless),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_command_lines),
        cmocka_unit_test(test_call_trees),
        cmocka_unit_test(test_call_tree_says_what_was_cut),
        cmocka_unit_test(test_by),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_offsets),
        cmocka_unit_test(test_unknown_coverage),
        cmocka_unit_test(test_bad_trees_end),
        cmocka_unit_test(test_why_the_kernel_is_missing),
        cmocka_unit_test(test_the_kernel_is_not_covered),
        cmocka_unit_test(test_what_could_not_be_written),
        cmocka_unit_test(test_sides_of_the_time),
        cmocka_unit_test(test_one_process_of_a_run),
        cmocka_unit_test(test_heaviest_run),
        cmocka_unit_test(test_symbols_with_versions),
        cmocka_unit_test(test_other_events),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_no_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
