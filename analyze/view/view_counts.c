/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/view/counters.h"
#include "analyze/view/coverage.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "analyze/view/view.h"

/* "1.20 s"; "~1,234 (45 %)": an estimate, with the share of the time that the event was counted; "-": not counted. */
static void format_amount(char *ret, size_t size, const struct counter *counter, const struct profile_event *event)
{
    char value[TEXT_AMOUNT];
    if (!counter->present)
        snprintf(ret, size, "-");
    else if (!counter->estimate)
        snprintf(ret, size, "%s", text_weight(value, counter->value, event->nanoseconds));
    else if (counter->running_ns)
        snprintf(ret, size, "~%s (%.0f %%)", text_weight(value, counter->scaled, event->nanoseconds),
                 text_share(counter->running_ns, counter->enabled_ns));
    else
        snprintf(ret, size, "never ran");
}

static void total_row(struct view *view, struct text_table *table, uint32_t index, const struct counter *counter)
{
    const struct profile_event *event = &view->profile->events[index];
    char text[2 * TEXT_AMOUNT], value[TEXT_AMOUNT], share[TEXT_AMOUNT];
    bool never = !counters_known(counter);
    text_weight(value, counter->estimate ? counter->scaled : counter->value, event->nanoseconds);
    text_table_cell(table, OUTPUT_PLAIN, never ? "-" : value);
    text_table_cell(table, OUTPUT_PLAIN, event->name);
    text[0] = '\0';
    if (never)
        snprintf(text, sizeof(text), "never ran: no counter of the machine was free");
    else if (counter->estimate)
        snprintf(text, sizeof(text), "an estimate: scaled, since it counted only %s of the time",
                 text_percent(share, counter->running_ns, counter->enabled_ns));
    else if (counter->value != counter->counted)
        snprintf(text, sizeof(text), "%s counted, %s at start-up and exit", text_time(value, counter->counted),
                 text_time(share, counter->value - counter->counted));
    text_table_cell(table, OUTPUT_DIM, text);
}

static bool print_totals(struct view *view, const struct counter *sum)
{
    static const struct text_table_column columns[] = {{"Total", true}, {"Event"}, {""}};
    struct text_table *table = text_table_new(columns, 3, view->output->utf8);
    bool any = false, added = false;
    for (uint32_t i = 0; i < view->profile->event_count; i++) {
        if (!sum[i].present)
            continue;
        total_row(view, table, i, &sum[i]);
        added |= sum[i].value != sum[i].counted;
        any = true;
    }
    if (any)
        text_table_print(table, view->output, true);
    else
        fputs("Nothing was counted in these tasks.\n", view->output->to);
    text_table_free(table);
    if (added)
        output_wrapped(view->output, 2,
                       "task-clock includes the CPU time of each task before its events began (start-up) and after "
                       "they ended (exit), both from the kernel's accounting.");
    return any;
}

struct order {
    uint64_t value;
    uint32_t task;
};

static int compare_tasks(const void *left, const void *right)
{
    const struct order *a = left, *b = right;
    int order = order_larger(a->value, b->value);
    return order ? order : order_smaller(a->task, b->task);
}

static void task_row(struct view *view, struct text_table *table, uint32_t index, const struct counter *counters,
                     const struct counter *sum)
{
    const struct profile_task *task = &view->profile->tasks[index];
    char text[3 * TEXT_AMOUNT];
    snprintf(text, sizeof(text), "%" PRId32 ".%" PRId32, task->pid, task->tid);
    text_table_cell(table, OUTPUT_PLAIN, text);
    for (uint32_t i = 0; i < view->profile->event_count; i++) {
        if (!sum[i].present)
            continue;
        format_amount(text, sizeof(text), &counters[i], &view->profile->events[i]);
        text_table_cell(table, OUTPUT_PLAIN, text);
    }
    char *command = text_task(task);
    text_table_cell(table, OUTPUT_PLAIN, command);
    free(command);
}

static void print_tasks(struct view *view, const struct order *order, const struct counter *all,
                        const struct counter *sum)
{
    const struct profile *profile = view->profile;
    uint32_t count = view->selection->task_count;
    uint64_t shown = view->settings->top && view->settings->top < count ? view->settings->top : count;
    struct text_table_column *columns = memory_new((size_t)profile->event_count + 2, sizeof(*columns));
    size_t width = 0;
    columns[width++] = (struct text_table_column){"PID.TID", true};
    for (uint32_t i = 0; i < profile->event_count; i++)
        if (sum[i].present)
            columns[width++] = (struct text_table_column){profile->events[i].name, true};
    columns[width++] = (struct text_table_column){"Command"};
    struct text_table *table = text_table_new(columns, width, view->output->utf8);
    for (uint64_t i = 0; i < shown; i++)
        task_row(view, table, order[i].task, all + (size_t)order[i].task * profile->event_count, sum);
    text_table_print(table, view->output, true);
    if (shown < count)
        fprintf(view->output->to, "and %" PRIu64 " more; --top all shows all\n", count - shown);
    text_table_free(table);
    free(columns);
}

int view_counts(struct view *view)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    if (view->settings->json)
        return view_document(view, false);
    struct counter *all = memory_new((size_t)profile->task_count * profile->event_count, sizeof(*all));
    struct counter *sum = memory_new(profile->event_count, sizeof(*sum));
    struct order *order = memory_new(selection->task_count, sizeof(*order));
    for (uint32_t i = 0; i < selection->task_count; i++) {
        uint32_t task = selection->order[i];
        bool estimate;
        struct counter *mine = all + (size_t)task * profile->event_count;
        counters_of_task(profile, &profile->tasks[task], mine);
        counters_add(profile, sum, mine);
        uint64_t cpu = counters_cpu(profile, &profile->tasks[task], selection->weights[task], &estimate);
        order[i] = (struct order){cpu == COUNTERS_UNKNOWN ? 0 : cpu, task};
    }
    qsort(order, selection->task_count, sizeof(*order), compare_tasks);
    heading_print(view);
    fputc('\n', view->output->to);
    if (print_totals(view, sum)) {
        fputc('\n', view->output->to);
        print_tasks(view, order, all, sum);
    }
    fputc('\n', view->output->to);
    coverage_print(view);
    free(order);
    free(sum);
    free(all);
    return 0;
}
