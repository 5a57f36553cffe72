/* SPDX-License-Identifier: MIT */
#include "collector/output/counts.h"

#include <errno.h>
#include <inttypes.h>
#include <pinject/format.h>
#include <string.h>

#include "collector/config/event_sets.h"
#include "collector/output/result_task.h"

enum { COMMENT_SIZE = 96 };

/* The first event of the configuration that is counted for the user. */
static unsigned first_of(const struct event_config *config)
{
    return config->dummy ? 1 : 0;
}

static void find_events(struct counts *counts, const struct event_config *config)
{
    counts->event_count = 0;
    for (unsigned i = first_of(config); i < config->count; i++) {
        const struct config_event *event = &config->events[i];
        counts->events[counts->event_count++] = (struct count_event){.name = event->name,
                                                                     .unit = event->spec ? event->spec->unit : NULL,
                                                                     .scale = event->spec ? event->spec->scale : 0,
                                                                     .set = event->set,
                                                                     .nanoseconds = event->nanoseconds,
                                                                     .type = event->attr.type,
                                                                     .config = event->attr.config};
    }
    for (unsigned i = 0; i < config->missing_count; i++)
        counts->events[counts->event_count++] = (struct count_event){.name = config->missing[i], .unsupported = true};
}

int counts_init(struct counts *counts, const struct event_config *config, int by)
{
    find_events(counts, config);
    const size_t clock = count_find_clock(counts->events, counts->event_count);
    return count_store_init(&counts->store, (enum count_by)by, counts->event_count,
                            clock < counts->event_count ? clock : 0);
}

void counts_release(struct counts *counts)
{
    count_store_release(&counts->store);
}

void counts_settle(const struct event_config *config, const struct attach_value *values, struct attach_value *ret)
{
    for (unsigned i = 0; i < config->count; i++)
        ret[i] = event_sets_value(config, i, values);
}

static void fill_cell(struct count_cell *cell, const struct event_config *config, unsigned index,
                      const struct attach_value *value, bool inherited)
{
    *cell = (struct count_cell){.present = true,
                                .value = value->value,
                                .scaled = value->value,
                                .enabled_ns = value->enabled_ns,
                                .running_ns = value->running_ns};
    /* Inherited events are enabled on every CPU and run on one at a time: that is no multiplexing. */
    if (inherited && !event_sets_takes_turns(config, index))
        cell->enabled_ns = cell->running_ns;
    cell->estimate = cell->running_ns < cell->enabled_ns;
    cell->scaled = count_scale(cell->value, cell->enabled_ns, cell->running_ns);
}

void counts_add(struct counts *counts, const struct event_config *config, const struct result_task *task,
                const struct attach_value *values, uint64_t startup_ns)
{
    struct count_cell cells[2 * CONFIG_EVENTS] = {0};
    struct count_row row = {.pid = task->pid, .tid = task->tid, .start_ns = task->start_ns, .cells = cells};
    const unsigned first = first_of(config);
    const int clock = event_config_find_clock(config);
    if (!counts->store.total)
        return;
    for (unsigned i = first; i < config->count; i++)
        if (task->ids[i])
            fill_cell(&cells[i - first], config, i, &values[i], task->source == PINJECT_SOURCE_INHERITED);
    if (clock >= (int)first && (cells[clock - first].present || startup_ns + task->exit_ns)) {
        struct count_cell *cell = &cells[clock - first];
        cell->present = true;
        cell->value += startup_ns + task->exit_ns;
        cell->scaled += startup_ns + task->exit_ns;
    }
    if (task->generation_count) {
        const char *comm = task->generations[task->generation_count - 1].comm;
        snprintf(row.comm, sizeof(row.comm), "%s", comm ? comm : "");
    }
    count_store_add(&counts->store, &row);
}

/* The count of the whole tree, by the kernel's accounting; 0: it has none. */
static uint64_t count_by_accounting(const struct perf_event_attr *attr, const struct rusage *tree)
{
    if (attr->type != PERF_TYPE_SOFTWARE || attr->exclude_user || attr->exclude_kernel)
        return 0;
    switch (attr->config) {
    case PERF_COUNT_SW_PAGE_FAULTS: return (uint64_t)tree->ru_minflt + (uint64_t)tree->ru_majflt;
    case PERF_COUNT_SW_PAGE_FAULTS_MIN: return (uint64_t)tree->ru_minflt;
    case PERF_COUNT_SW_PAGE_FAULTS_MAJ: return (uint64_t)tree->ru_majflt;
    case PERF_COUNT_SW_CONTEXT_SWITCHES: return (uint64_t)tree->ru_nvcsw + (uint64_t)tree->ru_nivcsw;
    default: return 0;
    }
}

/* "getrusage counted 1,534, with the starts of processes": beside a count that is lower, since events begin after a fork. */
static void add_comment(char *ret, const struct config_event *event, const struct count_cell *cell,
                        const struct counts_run *run, int digits)
{
    char text[COUNT_TEXT];
    const uint64_t tree = count_by_accounting(&event->attr, &run->tree);
    ret[0] = '\0';
    if (tree > cell->scaled && !cell->estimate) /* else the estimate may be the reason */
        snprintf(ret, COMMENT_SIZE, "getrusage counted %s, with the start and end of each process",
                 count_number(text, tree, (enum count_digits)digits));
}

static uint64_t ns_of(const struct timeval *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_usec * 1000;
}

void counts_print(struct counts *counts, const struct event_config *config, const struct counts_run *run,
                  const struct count_style *style, FILE *to)
{
    char texts[2 * CONFIG_EVENTS][COMMENT_SIZE];
    const char *comments[2 * CONFIG_EVENTS] = {0};
    const unsigned first = first_of(config);
    if (!counts->store.total && counts_init(counts, config, style->by))
        return;
    for (unsigned i = first; i < config->count; i++) {
        add_comment(texts[i - first], &config->events[i], &counts->store.total[i - first], run, style->digits);
        comments[i - first] = texts[i - first];
    }
    const struct count_report report = {.events = counts->events,
                                        .event_count = counts->event_count,
                                        .store = &counts->store,
                                        .at_ns = run->at_ns,
                                        .is_summary = run->intervals,
                                        .times = {.elapsed_ns = run->elapsed_ns,
                                                  .user_ns = ns_of(&run->tree.ru_utime),
                                                  .system_ns = ns_of(&run->tree.ru_stime),
                                                  .cpu_known = run->cpu_known},
                                        .command = run->command,
                                        .whole_tree = config->whole_tree,
                                        .comments = comments};
    count_print(&report, style, to);
}
