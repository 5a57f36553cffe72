/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>

#include "test_result_kit.h"

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/summary.h"
#include "collector/system/machine_time.h"

struct scene {
    struct kit kit;
    struct outcome outcome;
    unsigned reasons;
};

static void print(void *argument)
{
    struct scene *scene = argument;
    summary_print(&scene->kit.session, scene->kit.results, &scene->outcome, &scene->kit.settings);
}

static void expect(struct scene *scene, const char *wanted)
{
    char *text = kit_stderr(print, scene);
    assert_string_equal(text, wanted);
    free(text);
}

static void write_files(struct kit *kit, unsigned count)
{
    for (pid_t i = 1; i <= (pid_t)count; i++) {
        struct result *result;
        struct result_task task = kit_task(kit, 1, i);
        assert_int_equal(result_new(kit->results, 1, i, NULL, &result), 0);
        result_finish(result, &task, NULL);
    }
}

static void set_up(struct scene *scene, enum kit_mode mode, const char *base)
{
    memset(scene, 0, sizeof(*scene));
    kit_new(&scene->kit, mode);
    assert_int_equal(kit_start(&scene->kit, base), 0);
    scene->outcome = (struct outcome){.tasks = 42,
                                      .processes = 40,
                                      .threads = 2,
                                      .active_max = 4,
                                      .samples = 1234,
                                      .lost = 0,
                                      .cpu_ns = 9520000000,
                                      .attributed_ns = 9500000000,
                                      .collector_ns = 310000000};
}

/* The last line has the size of the files: it is compared up to there. */
static void expect_last(struct scene *scene, const char *start, const char *end)
{
    char *text = kit_stderr(print, scene);
    char *line = strstr(text, start);
    if (!line || !strstr(line, end))
        print_message("%s", text);
    assert_non_null(line);
    assert_string_equal(strstr(line, end), end);
    free(text);
}

static uint64_t bytes; /* that files are said to have; 0: what they have */

uint64_t __real_results_bytes(const struct results *results);
uint64_t __wrap_results_bytes(const struct results *results);
uint64_t __wrap_results_bytes(const struct results *results)
{
    return bytes ? bytes : __real_results_bytes(results);
}

static void test_units(void **state)
{
    static const struct {
        uint64_t ns;
        const char *time;
        uint64_t bytes;
        const char *size;
    } cases[] = {
        {999499, "999 us", 999999, "1000.0 kB"},
        {1000000, "1.0 ms", 1000000, "1.0 MB"},
        {999949999, "999.9 ms", 999999999, "1000.0 MB"},
        {1000000000, "1.00 s", 1000000000, "1.00 GB"},
        {3600000000000, "3600.00 s", 1234567890123, "1234.57 GB"},
    };
    struct scene scene;
    (void)state;
    set_up(&scene, KIT_SAMPLING, "out");
    write_files(&scene.kit, 2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char time[64], size[64];
        snprintf(time, sizeof(time), "CPU time %s in recorded tasks;", cases[i].time);
        snprintf(size, sizeof(size), "out.* (%s);", cases[i].size);
        scene.outcome = (struct outcome){.tasks = 2, .processes = 2, .attributed_ns = cases[i].ns};
        bytes = cases[i].bytes;
        char *text = kit_stderr(print, &scene);
        bytes = 0;
        if (!strstr(text, time) || !strstr(text, size))
            fail_msg("'%s' and '%s' are not in %s", time, size, text);
        free(text);
    }
    kit_free(&scene.kit);
}

/* The line that comes next can be copied, whatever the files are called. */
static void test_names(void **state)
{
    static const char *const cases[][2] = {
        {"-o", "panalyze ./-o.*\n"}, {"a-b", "panalyze a-b.*\n"}, {"-a b", "panalyze ./'-a b'.*\n"}};
    struct scene scene;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set_up(&scene, KIT_SAMPLING, cases[i][0]);
        write_files(&scene.kit, 2);
        char *text = kit_stderr(print, &scene);
        if (!strstr(text, cases[i][1]))
            fail_msg("no '%s' in %s", cases[i][1], text);
        free(text);
        kit_free(&scene.kit);
    }
    /* A directory of their own is named alone. */
    set_up(&scene, KIT_SAMPLING, "out");
    write_files(&scene.kit, 2);
    scene.kit.settings.directory = "-a b";
    expect_last(&scene, "pinject-run: 2 files in ./'-a b' (", " kB); next: panalyze ./'-a b'\n");
    kit_free(&scene.kit);
}

static void test_run(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, KIT_SAMPLING, "out");
    expect(
        &scene,
        "pinject-run: 42 tasks (40 processes, 2 further threads, at most 4 at once), 1234 samples of "
        "task-clock, 0 lost\n"
        "pinject-run: CPU time 9.52 s, 9.50 s of this time in recorded tasks (99.8 %); profiler overhead: 310.0 ms\n");
    const uint64_t cpu_ns = scene.outcome.cpu_ns;
    scene.outcome.cpu_ns = UINT64_C(9490000000); /* less than the tasks have: their clock is another one */
    expect(&scene, "pinject-run: 42 tasks (40 processes, 2 further threads, at most 4 at once), 1234 samples of "
                   "task-clock, 0 lost\n"
                   "pinject-run: CPU time 9.49 s, 9.50 s in recorded tasks (100.1 %); profiler overhead: 310.0 ms\n");
    scene.outcome.cpu_ns = cpu_ns;
    write_files(&scene.kit, 2);
    expect_last(&scene, "pinject-run: 2 files out.* (", " kB); next: panalyze out.*\n");
    scene.outcome = (struct outcome){
        .tasks = 1, .processes = 1, .active_max = 1, .samples = 1, .attributed_ns = 200000};
    scene.outcome.alive = 1;
    char *text = kit_stderr(print, &scene);
    assert_non_null(strstr(text, "pinject-run: 1 task, 1 sample of task-clock, 0 lost\n"
                                 "pinject-run: CPU time 200 us in recorded tasks; profiler overhead: 0 us\n"
                                 "pinject-run: 1 task still runs, profiled up to now (--linger waits for it)\n"));
    free(text);
    scene.kit.settings.quiet = true;
    expect(&scene, "");
    kit_free(&scene.kit);
}

static uint64_t stolen_of(const char *text, uint64_t ticks)
{
    struct machine_time time = {.stolen_ns = 1, .busy_ns = 1};
    machine_time_parse(text, ticks, &time);
    return time.stolen_ns;
}

/* What programs and the kernel's threads used: no interrupts, which may be the program's own. */
static void test_others(void **state)
{
    (void)state;
    struct machine_time before, after;
    machine_time_parse("cpu  10 20 30 40 50 60 70 80 90 100\n", 100, &before);
    assert_int_equal(before.busy_ns, 600000000); /* user, nice, system */
    machine_time_parse("cpu  11 22 33 44 55 66 77 88 99 100\n", 100, &after);
    assert_int_equal(machine_time_others(&before, &after, 0), 60000000);
    assert_int_equal(machine_time_others(&before, &after, 59999999), 1);
    assert_int_equal(machine_time_others(&before, &after, 60000001), 0);
    assert_int_equal(machine_time_others(&after, &before, 0), 0);
    machine_time_read(&after);
    assert_true(after.at_ns > 0 && after.busy_ns > 0);
}

/* More CPU time in tasks than the tree has is explained by what the host took away, and by nothing else. */
static void test_stolen(void **state)
{
    (void)state;
    struct scene scene;
    const char *text = "cpu  10 20 30 40 50 60 70 66 80 90\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
    assert_int_equal(stolen_of(text, 100), 660000000);
    assert_int_equal(stolen_of(text, 0), 0);
    assert_int_equal(stolen_of(text, 1), 66000000000);
    assert_int_equal(stolen_of(text, 3), 66 * UINT64_C(333333333));
    assert_int_equal(stolen_of("cpu 0 0 0 0 0 0 0 18446744073", 1), 18446744073000000000u);
    assert_int_equal(stolen_of("cpu  10 20 30 40\n", 100), 0);
    assert_int_equal(stolen_of("", 100), 0);
    assert_int_equal(machine_time_explains(40900000, 100000000), 40900000);
    assert_int_equal(machine_time_explains(40900000, 10000000), 10010000);
    assert_int_equal(machine_time_explains(2000, 0), 2000);
    assert_int_equal(machine_time_explains(3000000, 0), 10000);
    set_up(&scene, KIT_SAMPLING, "out");
    scene.outcome.stolen_ns = 40900000;
    char *said = kit_stderr(print, &scene);
    assert_non_null(strstr(said, ", including 40.9 ms of steal time; profiler overhead: 310.0 ms\n"));
    free(said);
    kit_free(&scene.kit);
}

static void test_missed(void **state)
{
    (void)state;
    struct scene scene;
    struct result_missed missed[] = {
        {.reason = "static program", .comm = "busybox", .count = 3},
        {.reason = "setuid program", .comm = "su\033[2J", .count = 1, .cpu_ns = 2000000},
        {.reason = "refused", .comm = "", .count = 7},
        {.reason = "lost", .comm = "x", .count = 1},
    };
    set_up(&scene, KIT_SAMPLING, "out");
    scene.outcome.missed = missed;
    scene.outcome.missed_count = 4;
    scene.outcome.counted_only = 5;
    char *text = kit_stderr(print, &scene);
    assert_non_null(
        strstr(text, "pinject-run: not seen (1 time): setuid program: su\\033[2J, CPU time 2.0 ms\n"
                     "pinject-run: not seen (7 times): refused\n"
                     "pinject-run: not seen (3 times): static program: busybox; 1 more reason: see 'panalyze info'\n"
                     "pinject-run: 5 tasks were counted but not sampled: "));
    free(text);
    kit_free(&scene.kit);
}

static void test_timer_fallbacks(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, KIT_SAMPLING, "out");
    scene.outcome.timer_fallbacks = 3;
    scene.outcome.timer_fallbacks_counted = scene.outcome.counted_only = 1;
    scene.outcome.refusal = -EACCES;
    char *text = kit_stderr(print, &scene);
    assert_non_null(strstr(text, "pinject-run: 2 tasks were sampled by timers: the kernel refused their events "
                                 "(Permission denied), as it does for tasks that are not dumpable or belong to "
                                 "another user; root can profile them\n"
                                 "pinject-run: 1 task was not sampled: the kernel refused its events (Permission "
                                 "denied), and no timer could replace them\n"));
    assert_null(strstr(text, "memory"));
    free(text);
    kit_free(&scene.kit);
}

#define TASKS \
    "pinject-run: 42 tasks (40 processes, 2 further threads, at most 4 at once), 1234 samples of task-clock, 0 lost\n"
#define TIME \
    "pinject-run: CPU time 9.52 s, 9.50 s of this time in recorded tasks (99.8 %); profiler overhead: 310.0 ms\n"

/* A note about inherited events is of interest only where a task has them. */
static void test_values_note(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, KIT_SAMPLING, "out");
    struct event_config *config = &scene.kit.config;
    snprintf(config->notes[1], sizeof(config->notes[1]), "no values");
    config->note_count = config->values_note = 2;
    expect(&scene, TASKS TIME); /* it is about inherited events, and no task has any */
    scene.outcome.inherited = 1;
    expect(&scene, TASKS "pinject-run: no values\n" TIME);
    kit_free(&scene.kit);
}

/* What samples, how stacks came about, what is missing: after the tasks, in this order, and none of it when quiet. */
static void test_all_lines(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, KIT_SAMPLING, "out");
    struct event_config *config = &scene.kit.config;
    snprintf(config->notes[0], sizeof(config->notes[0]), "timers sample");
    snprintf(config->notes[1], sizeof(config->notes[1]), "no dumps");
    config->note_count = 2;
    expect(&scene, TASKS TIME); /* they were said at the start, of an event configuration that is the first choice */
    config->source = PINJECT_SOURCE_TIMER;
    config->dump_note = 2;
    snprintf(scene.outcome.stacks, sizeof(scene.outcome.stacks), "stacks of all kinds");
    scene.outcome.stolen_ns = 2000000;
    scene.outcome.counted_only = 1;
    scene.outcome.without_sample = 7; /* for who wants to know more */
    scene.outcome.alive = 2;
    expect(&scene, TASKS "pinject-run: timers sample\n"
                         "pinject-run: no dumps\n"
                         "pinject-run: stacks of all kinds\n"
                         "pinject-run: CPU time 9.52 s, 9.50 s of this time in recorded tasks (99.8 %), including "
                         "2.0 ms of steal time; profiler overhead: 310.0 ms\n"
                         "pinject-run: 1 task was counted by the kernel, but not sampled: no timer ran in this task\n"
                         "pinject-run: 2 tasks still run, profiled up to now (--linger waits for them)\n");
    scene.kit.settings.verbose = 1;
    scene.outcome.stolen_ns = scene.outcome.counted_only = scene.outcome.alive = 0;
    expect(&scene,
           TASKS "pinject-run: stacks of all kinds\n" TIME "pinject-run: 7 tasks were too short for a sample\n");
    scene.outcome.without_sample = 1;
    scene.outcome.stacks[0] = '\0';
    expect(&scene, TASKS TIME "pinject-run: 1 task was too short for a sample\n");
    scene.outcome.saturated = 3; /* for who asked for it */
    expect(&scene, TASKS TIME "pinject-run: 1 task was too short for a sample\n");
    scene.kit.settings.saturate = 100;
    expect(&scene, TASKS "pinject-run: 3 tasks reached the limit of 100 samples: from then on they were only counted "
                         "(--saturate-smpl-buffer)\n" TIME "pinject-run: 1 task was too short for a sample\n");
    scene.outcome.saturated = 0;
    expect(&scene, TASKS "pinject-run: no task reached the limit of 100 samples (--saturate-smpl-buffer)\n" TIME
                         "pinject-run: 1 task was too short for a sample\n");
    scene.outcome.saturated = 1;
    scene.kit.settings.saturate = 1;
    expect(&scene, TASKS "pinject-run: 1 task reached the limit of 1 sample: from then on it was only counted "
                         "(--saturate-smpl-buffer)\n" TIME "pinject-run: 1 task was too short for a sample\n");
    scene.kit.settings.saturate = 0;
    scene.kit.settings.stat = true;
    char *text = kit_stderr(print, &scene);
    assert_null(strstr(text, "too short")); /* nothing is sampled */
    free(text);
    scene.kit.settings.stat = false;
    /* What cannot be listed is said in any case. */
    scene.kit.settings.quiet = true;
    scene.outcome.uncounted = 3;
    expect(&scene, "pinject-run: 3 tasks or records are missing and cannot be listed: out of memory\n");
    scene.kit.settings.quiet = false;
    scene.outcome = (struct outcome){.tasks = 1, .samples = 2, .uncounted = 2};
    expect(&scene, "pinject-run: 2 tasks or records are missing and cannot be listed: out of memory\n"
                   "pinject-run: 1 task, 2 samples of task-clock, 0 lost\n"); /* no time is known */
    kit_free(&scene.kit);
}

static void test_counting(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, KIT_STAT, "out");
    write_files(&scene.kit, 1);
    char *text = kit_stderr(print, &scene);
    assert_non_null(strstr(text, "at once)\n"));
    free(text);
    /* Another program reads stderr. */
    scene.kit.settings.count_form = COUNT_AS_CSV;
    expect(&scene, "");
    scene.kit.settings.count_form = COUNT_AS_TEXT;
    expect_last(&scene, "pinject-run: 1 file out.* (", " kB); next: panalyze counts out.*\n");
    kit_free(&scene.kit);
}

static void print_strict(void *argument)
{
    struct scene *scene = argument;
    scene->reasons = summary_incomplete(&scene->kit.session, scene->kit.results, &scene->outcome);
}

/* No task is known by itself, only that some of them still run. */
static void test_whole_tree(void **state)
{
    (void)state;
    struct scene scene;
    set_up(&scene, KIT_STAT, "out");
    snprintf(scene.kit.config.notes[0], sizeof(scene.kit.config.notes[0]), "all tasks are counted together");
    scene.kit.config.note_count = scene.kit.config.whole_tree_note = 1;
    scene.outcome.whole_tree = true;
    expect(&scene, "pinject-run: all tasks are counted together\n"
                   "pinject-run: CPU time 9.50 s; profiler overhead: 310.0 ms\n");
    char *text = kit_stderr(print_strict, &scene);
    assert_string_equal(text, "");
    free(text);
    /* A tenth of it, of a millisecond or more. */
    scene.outcome.tree_exit_ns = 949999999;
    expect(&scene, "pinject-run: all tasks are counted together\n"
                   "pinject-run: CPU time 9.50 s; profiler overhead: 310.0 ms\n");
    scene.outcome.tree_exit_ns = 950000000;
    expect(&scene, "pinject-run: all tasks are counted together\n"
                   "pinject-run: CPU time 9.50 s, 950.0 ms of this time not counted by events (the start and end of "
                   "each process, setuid programs); profiler overhead: 310.0 ms\n");
    scene.outcome.attributed_ns = scene.outcome.tree_exit_ns = 999999;
    expect(&scene, "pinject-run: all tasks are counted together\n"
                   "pinject-run: CPU time 1000 us; profiler overhead: 310.0 ms\n");
    scene.outcome.attributed_ns = 9500000000;
    scene.outcome.tree_alive = true;
    expect(&scene, "pinject-run: all tasks are counted together\n"
                   "pinject-run: CPU time 9.50 s; profiler overhead: 310.0 ms\n"
                   "pinject-run: some tasks of the command still run, and are counted up to now (--linger waits for "
                   "them)\n");
    text = kit_stderr(print_strict, &scene);
    assert_string_equal(text, "pinject-run: --strict: some tasks of the command still run: what they do from now on is "
                              "missing\n");
    assert_int_equal(scene.reasons, 1);
    free(text);
    kit_free(&scene.kit);
}

/* The line can be copied to a shell: the glob there matches the files, whatever the name. */
static void test_quoting(void **state)
{
    (void)state;
    static const char *const bases[] = {
        "out", "my out", "-x", "it's", "a;b", "~x", "$HOME", "*", "r\303\251sum\303\251"};
    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
        struct scene scene;
        set_up(&scene, KIT_SAMPLING, bases[i]);
        write_files(&scene.kit, 3);
        char *text = kit_stderr(print, &scene);
        char *line = strstr(text, "next: panalyze "), command[512];
        assert_non_null(line);
        line += strlen("next: panalyze ");
        char *end = strchr(line, '\n');
        assert_non_null(end);
        snprintf(command, sizeof(command),
                 "for file in %.*s; do test -s \"$file\" || exit 9; done; set -- %.*s; exit $#", (int)(end - line),
                 line, (int)(end - line), line);
        int status = system(command);
        if (status != 3 << 8)
            print_message("%s", text);
        assert_int_equal(status, 3 << 8);
        free(text);
        kit_free(&scene.kit);
    }
}

/* A sample that cannot be written. */
static void write_samples(void *argument)
{
    struct kit *kit = argument;
    struct result_task task = kit_task(kit, 3, 3);
    struct result *result;
    assert_int_equal(result_new(kit->results, 3, 3, NULL, &result), 0);
    kit_samples(kit, result, &task, 2);
    result_finish(result, &task, NULL);
}

static void write_two(void *argument)
{
    write_files(argument, 2);
}

/* Said even when quiet: the directory went away while the command ran. */
static void test_incomplete(void **state)
{
    (void)state;
    struct scene scene;
    memset(&scene, 0, sizeof(scene));
    kit_new(&scene.kit, KIT_SAMPLING);
    assert_int_equal(mkdir("directory", 0700), 0);
    assert_int_equal(kit_start(&scene.kit, "directory/out"), 0);
    assert_int_equal(rmdir("directory"), 0);
    char *text = kit_stderr(write_two, &scene.kit);
    assert_string_equal(text, "pinject-run: cannot write result file 'directory/out.1.1': No such file or directory; "
                              "choose another place with -o "
                              "(records that cannot be written will be missing)\n");
    free(text);
    scene.kit.settings.quiet = true;
    expect(&scene, "pinject-run: 2 files are missing or not complete: No such file or directory\n");
    free(kit_stderr(write_samples, &scene.kit));
    expect(&scene, "pinject-run: 3 files are missing or not complete: No such file or directory; 2 samples could not "
                   "be written\n");
    kit_free(&scene.kit);
}

static void test_strict(void **state)
{
    (void)state;
    struct scene scene;
    struct result_missed missed[] = {
        {.reason = "not followed", .comm = "sh", .count = 3, .chosen = true},
        {.reason = "refused", .comm = "", .count = 1},
        {.reason = "ended before", .comm = "cc\033", .count = 2},
    };
    set_up(&scene, KIT_SAMPLING, "out");
    scene.outcome.missed = missed;
    scene.outcome.missed_count = 1;
    scene.outcome.without_sample = 7;
    char *text = kit_stderr(print_strict, &scene);
    assert_string_equal(text, "");
    assert_int_equal(scene.reasons, 0);
    free(text);
    scene.outcome.missed_count = 3;
    scene.outcome.lost = 1;
    scene.outcome.counted_only = 2;
    scene.outcome.stacks_behind = 5;
    scene.outcome.alive = 1;
    scene.outcome.uncounted = 4;
    text = kit_stderr(print_strict, &scene);
    assert_string_equal(text, "pinject-run: --strict: 1 sample was lost\n"
                              "pinject-run: --strict: 2 tasks were counted but not sampled\n"
                              "pinject-run: --strict: 5 call stacks were unwound by frame pointer: the collector fell "
                              "behind\n"
                              "pinject-run: --strict: 1 task still runs: what it does from now on is missing\n"
                              "pinject-run: --strict: 4 tasks or records are missing: out of memory\n"
                              "pinject-run: --strict: not seen (1 time): refused\n"
                              "pinject-run: --strict: not seen (2 times): ended before: cc\\033\n");
    assert_int_equal(scene.reasons, 7);
    free(text);
    kit_free(&scene.kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units),           cmocka_unit_test(test_names),      cmocka_unit_test(test_run),
        cmocka_unit_test(test_stolen),          cmocka_unit_test(test_others),     cmocka_unit_test(test_missed),
        cmocka_unit_test(test_timer_fallbacks), cmocka_unit_test(test_counting),   cmocka_unit_test(test_all_lines),
        cmocka_unit_test(test_values_note),     cmocka_unit_test(test_quoting),    cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_strict),          cmocka_unit_test(test_whole_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
