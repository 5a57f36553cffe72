/* SPDX-License-Identifier: MIT */
/* What --stat prints: sums of tasks, the kernel's accounting where that has more, estimates, and what there is not. */
#include "check.h"

#include <linux/perf_event.h>

#include "collector/output/counts.h"
#include "collector/output/result.h"

#define MS UINT64_C(1000000)
enum { DUMMY, CLOCK, FAULTS, CYCLES, SWITCHES, EVENTS };

static char said[2048];

static void say(struct buffer *line)
{
    size_t used = strlen(said);
    snprintf(said + used, sizeof(said) - used, "%.*s\n", (int)line->size, (const char *)line->data);
}

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

static const char *text_of(const struct counts *counts, const struct event_config *config, const struct counts_run *run)
{
    said[0] = '\0';
    counts_say(counts, config, run, say);
    return said;
}

static void test_sums(void **state)
{
    static struct event_config config;
    static struct result_task task;
    struct counts counts = {0};
    (void)state;
    config_new(&config);
    task_new(&task);
    counts_add(&counts, &config, &task);
    counts_add(&counts, &config, &task);
    const struct counts_run run = {.cpu_ns = 100 * MS, .elapsed_ns = 200 * MS};
    assert_string_equal(text_of(&counts, &config, &run),
                        "         100.00 ms  task-clock          0.500 CPUs busy\n"
                        "             2,000  page-faults         20 K/s of CPU time\n"
                        "         8,000,000  cycles              80 M/s of CPU time; estimate: counted for part of "
                        "the time only\n"
                        "     <not counted>  context-switches  \n"
                        "   <not supported>  branches\n");
    /* A refused one is in no task; what is not known gives no rate. */
    task.ids[FAULTS] = 0;
    counts = (struct counts){0};
    counts_add(&counts, &config, &task);
    text_of(&counts, &config, &(const struct counts_run){0});
    assert_non_null(strstr(said, "          50.00 ms  task-clock        \n"));
    assert_non_null(strstr(said, "     <not counted>  page-faults       \n"));
}

/* Accounting has the whole tree, and what came before the events were open. */
static void test_accounting(void **state)
{
    static struct event_config config;
    static struct result_task task;
    struct counts counts = {0};
    (void)state;
    config_new(&config);
    task_new(&task);
    counts_add(&counts, &config, &task);
    struct counts_run run = {.cpu_ns = 100 * MS, .elapsed_ns = 100 * MS};
    run.tree = (struct rusage){.ru_minflt = 1500, .ru_majflt = 34, .ru_nvcsw = 5, .ru_nivcsw = 2};
    text_of(&counts, &config, &run);
    assert_non_null(
        strstr(said, "  1,534  page-faults         15.3 K/s of CPU time; 1,000 of them after each program's start\n"));
    assert_non_null(strstr(said, "  7  context-switches    70/s of CPU time; 0 of them after each program's start\n"));
    /* Where it has less, as of who was not waited for, tasks count; and it knows no user space alone. */
    run.tree.ru_minflt = 1;
    config.events[SWITCHES].attr.exclude_kernel = 1;
    text_of(&counts, &config, &run);
    assert_non_null(strstr(said, "  1,000  page-faults         10 K/s of CPU time\n"));
    assert_non_null(strstr(said, "     <not counted>  context-switches  \n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_accounting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
