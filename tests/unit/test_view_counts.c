/* SPDX-License-Identifier: MIT */
/* Counts in views: units, estimates, and the CPU time of a task. */
#include "check.h"

#include <linux/perf_event.h>

#include "analyze/view/counters.h"
#include "counts/count_print.h"
#include "test_view_fake.h"

static void test_counts_include_what_no_event_saw(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    char *text = run(&fake, view_counts);
    has(text, "105 ms  task-clock   102 ms + 3.00 ms at start-up and exit\n");
    has(text, "   100  page-faults  an estimate: the event was counted for only 50.00 % of the time\n");
    has(text, "~100 (50 %)");
    has(text, "105 ms of it attributed to tasks (95.45 %)");
    has(text, "Not seen: su: setuid, 3 times");
    free(text);
}

static void test_counts_with_a_unit_and_a_scale(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    struct profile_event events[2], *faults = &events[1];
    assert_int_equal(fake.profile.event_count, 2);
    memcpy(events, fake.profile.events, sizeof(events));
    fake.profile.events = events;
    faults->unit = "Joules";
    faults->scale = 0.125;
    char *text = run(&fake, view_counts);
    has(text, "12.50 Joules  page-faults");
    has(text, "~12.50 Joules (50 %)");
    free(text);
    fake.settings.json = true;
    text = run(&fake, view_counts);
    has(text, "{\"event\":\"page-faults\",\"unit\":\"Joules\",\"scale\":0.125,\"value\":");
    free(text);
    fake.settings.json = false;
    fake.settings.count_form = COUNT_AS_CSV;
    text = run(&fake, view_counts);
    has(text, "12.500000,Joules,page-faults,");
    free(text);
    fake.settings.count_form = COUNT_AS_TEXT;
    faults->scale = 0;
    text = run(&fake, view_counts);
    has(text, "100 Joules  page-faults");
    free(text);
    /* No digit is lost. */
    struct profile_count counts[] = {{1, 0, 12345678901234567890ull, 100, 100, 12345678901234567890ull}};
    fake.profile.tasks[2].counts = counts;
    fake.profile.tasks[2].count_count = 1;
    text = run(&fake, view_counts);
    has(text, "12,345,678,901,234,567,890 Joules  page-faults");
    free(text);
    counts[0] = (struct profile_count){1, 0, 100, 100, 100, 100};
    faults->unit = "\033[1m";
    text = run(&fake, view_counts);
    has(text, "100 \\033[1m  page-faults");
    free(text);
}

/* It is not known to be 0. */
static void test_counts_of_an_event_that_never_ran(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    struct profile_count counts[] = {{1, 0, 0, 100, 0, 0}};
    fake.profile.tasks[2].counts = counts;
    fake.profile.tasks[2].count_count = 1;
    char *text = run(&fake, view_counts);
    has(text, "    -  page-faults  never ran: no counter of the machine was free\n");
    has(text, "never ran  ");
    free(text);
}

static void test_counts_of_generations_are_added_up(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    struct profile_count counts[] = {{0, 0, 5, 5, 5, 5}, {0, 1, 7, 7, 7, 7}};
    struct counter counters[2];
    struct profile_task *task = &fake.profile.tasks[2];
    task->counts = counts;
    counters_of_task(&fake.profile, task, counters);
    assert_int_equal(counters[0].value, 12);
    assert_false(counters[1].present);
    /* Beside a count of the whole task, those of the exec generations are parts of it. */
    counts[0].generation = UINT32_MAX;
    counters_of_task(&fake.profile, task, counters);
    assert_int_equal(counters[0].value, 5);
}

/* By its counter; where that says nothing by what the kernel's accounting adds, or by its samples. */
static void test_cpu_time_of_a_task(void **state)
{
    (void)state;
    struct profile_event clock = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .nanoseconds = true};
    struct profile profile = {.events = &clock, .event_count = 1};
    struct profile_count counts[3] = {
        {.generation = 0, .value = 3}, {.generation = 1, .value = 4}, {.generation = UINT32_MAX}};
    struct profile_task task = {.counts = counts};
    bool estimate;
    assert_int_equal(counters_cpu(&profile, &task, 0, &estimate), COUNTERS_UNKNOWN);
    assert_false(estimate);
    task.exit_cost = true;
    assert_int_equal(counters_cpu(&profile, &task, 0, &estimate), 0);
    task.exit_ns = 10;
    task.startup_ns = 20;
    assert_int_equal(counters_cpu(&profile, &task, 0, &estimate), 30);
    task.exit_cost = false;
    assert_int_equal(counters_cpu(&profile, &task, 0, &estimate), 30);
    assert_false(estimate);
    assert_int_equal(counters_cpu(&profile, &task, 500, &estimate), 530);
    assert_true(estimate);
    clock.nanoseconds = false; /* a weight that is no time */
    assert_int_equal(counters_cpu(&profile, &task, 500, &estimate), 30);
    assert_false(estimate);
    clock.nanoseconds = true;
    task.count_count = 2;
    assert_int_equal(counters_cpu(&profile, &task, 500, &estimate), 37);
    assert_false(estimate);
    task.startup_ns = task.exit_ns = 0;
    task.count_count = 3; /* that of the whole task, not those of its exec generations */
    assert_int_equal(counters_cpu(&profile, &task, 0, &estimate), 0);
    counts[2].value = 9;
    assert_int_equal(counters_cpu(&profile, &task, 0, &estimate), 9);
    clock.config = PERF_COUNT_SW_PAGE_FAULTS;
    clock.nanoseconds = false;
    assert_int_equal(counters_cpu(&profile, &task, 7, &estimate), COUNTERS_UNKNOWN);
}

/* A round that began after the last task had ended: what was counted until the end comes at the same time. */
static void test_round_after_the_end(void **state)
{
    (void)state;
    struct fake fake;
    fake_new(&fake);
    uint64_t end = 0;
    for (uint32_t i = 0; i < fake.profile.task_count; i++)
        end = fake.profile.tasks[i].end_ns > end ? fake.profile.tasks[i].end_ns : end;
    const uint64_t start = fake.profile.session.start_ns, rounds[] = {start + 1000000, end + 2000000};
    fake.profile.rounds = rounds;
    fake.profile.round_count = 2;
    fake.settings.rounds = true;
    fake.settings.count_form = COUNT_AS_CSV;
    char *text = run(&fake, view_counts), at_round[32], at_end[32];
    snprintf(at_round, sizeof(at_round), "%.9f,", (double)(rounds[1] - start) / 1e9);
    snprintf(at_end, sizeof(at_end), "%.9f,", (double)(end - start) / 1e9);
    has(text, at_round);
    assert_null(strstr(text, at_end));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_include_what_no_event_saw),
        cmocka_unit_test(test_counts_with_a_unit_and_a_scale),
        cmocka_unit_test(test_counts_of_an_event_that_never_ran),
        cmocka_unit_test(test_counts_of_generations_are_added_up),
        cmocka_unit_test(test_cpu_time_of_a_task),
        cmocka_unit_test(test_round_after_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
