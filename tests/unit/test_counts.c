/* SPDX-License-Identifier: MIT */
/* What --stat prints: sums of tasks, estimates, what there is not, and where the kernel's accounting has more. */
#include "check.h"

#include <linux/perf_event.h>
#include <pinject/format.h>

#include "collector/output/counts.h"
#include "collector/output/result.h"

#define MS UINT64_C(1000000)
enum { DUMMY, CLOCK, FAULTS, CYCLES, SWITCHES, EVENTS };

static void config_new(struct event_config *config)
{
    static const struct config_event events[EVENTS] = {
        {"dummy", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY}, false, false},
        {"task-clock", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK}, false, true},
        {"page-faults", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS}, false, false},
        {"cycles", {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}, false, false},
        {"context-switches", {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES}, false, false}};
    *config = (struct event_config){.count = EVENTS, .dummy = true};
    memcpy(config->events, events, sizeof(events));
    snprintf(config->missing[config->missing_count++], sizeof(config->missing[0]), "branches");
}

/* A task that ran for 40 ms, and 3 ms before and 7 after its events. */
static void task_new(struct result_task *task)
{
    *task = (struct result_task){.startup_ns = 3 * MS, .exit_ns = 7 * MS};
    for (unsigned i = 0; i < EVENTS; i++)
        task->ids[i] = i + 1;
    task->values[CLOCK] = (struct attach_value){.value = 40 * MS, .enabled_ns = 40 * MS, .running_ns = 40 * MS};
    task->values[FAULTS] = (struct attach_value){.value = 1000, .enabled_ns = 40 * MS, .running_ns = 40 * MS};
    /* On a counter of the machine for a quarter of the time. */
    task->values[CYCLES] = (struct attach_value){.value = 1000000, .enabled_ns = 40 * MS, .running_ns = 10 * MS};
    task->values[SWITCHES] = (struct attach_value){.enabled_ns = 40 * MS}; /* never ran */
}

static char text[4096];

static const char *text_of(struct counts *counts, const struct event_config *config, const struct counts_run *run)
{
    FILE *to = fmemopen(text, sizeof(text), "w");
    counts_print(counts, config, run, &(const struct count_style){0}, to);
    fclose(to);
    return text;
}

static void has(const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in:\n%s", part, text);
}

static void test_sums(void **state)
{
    static struct event_config config;
    static struct result_task task;
    struct counts counts;
    (void)state;
    config_new(&config);
    task_new(&task);
    assert_int_equal(counts_init(&counts, &config, COUNT_ALL), 0);
    counts_add(&counts, &config, &task, task.values, task.startup_ns);
    counts_add(&counts, &config, &task, task.values, task.startup_ns);
    const struct counts_run run = {.elapsed_ns = 200 * MS};
    text_of(&counts, &config, &run);
    has("Counts (2 tasks):");
    has("            100.00 msec task-clock               #    0.500  CPUs utilized\n");
    has("              2000      page-faults              #   20.000  K/sec\n");
    has("           8000000      cycles                   #    0.080  GHz  (estimate: counted for 25.00% of the "
        "time)\n");
    has("     <not counted>      context-switches  (no counter of the machine was free)\n");
    has("   <not supported>      branches\n");
    counts_release(&counts);
    /* A refused one is in no task; what is not known gives no rate. */
    task.ids[FAULTS] = 0;
    assert_int_equal(counts_init(&counts, &config, COUNT_ALL), 0);
    counts_add(&counts, &config, &task, task.values, task.startup_ns);
    text_of(&counts, &config, &(const struct counts_run){0});
    has("             50.00 msec task-clock\n");
    has("     <not counted>      page-faults\n");
    counts_release(&counts);
}

/* One event per CPU: each is enabled all the time, and runs where the task runs. That is no estimate. */
static void test_inherited(void **state)
{
    static struct event_config config;
    static struct result_task task;
    struct counts counts;
    (void)state;
    config_new(&config);
    task_new(&task);
    task.source = PINJECT_SOURCE_INHERITED;
    assert_int_equal(counts_init(&counts, &config, COUNT_BY_COMM), 0);
    counts_add(&counts, &config, &task, task.values, task.startup_ns);
    assert_int_equal(counts.store.total[CYCLES - 1].scaled, 1000000);
    assert_false(counts.store.total[CYCLES - 1].estimate);
    counts_release(&counts);
}

/* Accounting has the whole tree, and what came before the events were open: that is said beside the count. */
static void test_accounting(void **state)
{
    static struct event_config config;
    static struct result_task task;
    struct counts counts;
    (void)state;
    config_new(&config);
    task_new(&task);
    assert_int_equal(counts_init(&counts, &config, COUNT_ALL), 0);
    counts_add(&counts, &config, &task, task.values, task.startup_ns);
    struct counts_run run = {.cpu_known = true, .elapsed_ns = 100 * MS, .command = "make"};
    run.tree = (struct rusage){.ru_minflt = 1500, .ru_majflt = 34, .ru_nvcsw = 5, .ru_utime = {.tv_usec = 3}};
    text_of(&counts, &config, &run);
    has("Counts of 'make' (1 task):");
    has("              1000      page-faults              #   20.000  K/sec  (getrusage counted 1534, with "
        "the start and end of each process)\n");
    has("       0.000003000 seconds user\n");
    /* Where it has less, as of who was not waited for, it says nothing; and it knows no user space alone. */
    run.tree.ru_minflt = 1;
    config.events[SWITCHES].attr.exclude_kernel = 1;
    text_of(&counts, &config, &run);
    has("              1000      page-faults              #   20.000  K/sec\n");
    has("     <not counted>      context-switches  (no counter of the machine was free)\n");
    counts_release(&counts);
}

/* A session that did not begin. */
static void test_nothing(void **state)
{
    static struct event_config config;
    static struct result_task task;
    struct counts counts = {0};
    (void)state;
    config_new(&config);
    task_new(&task);
    counts_add(&counts, &config, &task, task.values, 0);
    text_of(&counts, &config, &(const struct counts_run){0});
    has("Counts (0 tasks):");
    has("     <not counted>      task-clock\n");
    counts_release(&counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_inherited),
                                       cmocka_unit_test(test_accounting), cmocka_unit_test(test_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
