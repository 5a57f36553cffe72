/* SPDX-License-Identifier: MIT */
#include "analyze/view/top.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/counters.h"
#include "analyze/view/heading.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "analyze/view/view.h"
#include "common/bound.h"
#include "common/buffer.h"
#include "common/fnv.h"

enum {
    PLAIN_TASKS = 10,
    PLAIN_FUNCTIONS = 20,
    FIXED_ROWS = 6,  /* two lines of heading, two empty lines, two table heads */
    LEAST_ROWS = 3,  /* of each table */
    STILL_MS = 3000, /* a task without records for so long is idle */
};

struct row {
    uint64_t key, value, when, at; /* at: CPU time at top.until */
    double rate;
    uint32_t index; /* of a task; or the number of a function of names.h */
};

struct rows_of {
    struct row *list;
    size_t count, capacity;
};

struct top {
    struct view *view;
    const struct top_look *look;
    struct rows_of tasks, functions;
    uint64_t cpu_ns, updated_ns;
    uint64_t from, until; /* the time span of `busy` */
    double busy;
    uint32_t alive;
};

static const struct top_past *past_of(const struct top_look *look, uint64_t key)
{
    if (!look->past)
        return NULL;
    size_t at = LOWER_BOUND(look->past, look->head.count, .key, key);
    return at < look->head.count && look->past[at].key == key ? &look->past[at] : NULL;
}

static struct row *add_row(struct rows_of *rows, const struct row *row)
{
    rows->list = memory_grow(rows->list, &rows->capacity, rows->count + 1, sizeof(*rows->list));
    rows->list[rows->count] = *row;
    return &rows->list[rows->count++];
}

/* Whether the task is idle: a running task has records each second. */
static bool is_idle(const struct top *top, uint64_t when)
{
    return top->updated_ns > when && top->updated_ns - when > STILL_MS * UINT64_C(1000000);
}

/* The CPUs that the task of ROW used since the last look, or since it started. */
static double task_rate(const struct top *top, const struct profile_task *task, const struct row *row)
{
    const struct top_past *past = past_of(top->look, row->key);
    /* CPU time before its announcement belongs to the time before its recorded start. */
    uint64_t since = past ? past->when : task->start_ns, before = past ? past->value : task->startup_ns;
    if (task->ended)
        return 0;
    /* A file is updated once a second. Without new records the last rate stays. */
    if (past && row->when <= past->when)
        return is_idle(top, row->when) ? 0 : past->rate;
    if (!since || row->when <= since || row->value < before)
        return 0;
    /* Counter and clock are not read at the same moment, so the rate may exceed 1. */
    double rate = (double)(row->value - before) / (double)(row->when - since);
    return rate < 1 ? rate : 1;
}

/* Rates of single tasks are for different times, so their sum is no rate. The total uses one time span: it ends at the
 * last time for which the CPU time of all running tasks is known, and begins where the span of the last look ended. */
static void choose_time(struct top *top)
{
    const struct profile *profile = top->view->profile;
    const struct selection *selection = top->view->selection;
    top->until = top->updated_ns;
    top->from = top->look->past ? top->look->head.until : profile->session.start_ns;
    for (uint32_t i = 0; i < selection->task_count; i++) {
        const struct profile_task *task = &profile->tasks[selection->order[i]];
        if (!task->ended && task->end_ns < top->until && !is_idle(top, task->end_ns))
            top->until = task->end_ns;
        if (!top->look->past && task->start_ns && (!top->from || task->start_ns < top->from))
            top->from = task->start_ns;
    }
    if (top->until < top->from)
        top->until = top->from;
}

/* The CPU time of ROW at TIME, interpolated linearly from VALUE at SINCE. */
static uint64_t cpu_at(const struct row *row, uint64_t time, uint64_t since, uint64_t value)
{
    if (time >= row->when || row->value <= value)
        return row->value;
    if (time <= since || row->when <= since)
        return value;
    return value + (uint64_t)((double)(row->value - value) * (double)(time - since) / (double)(row->when - since));
}

/* The CPU time of ROW's task in the chosen time span. */
static uint64_t task_share(const struct top *top, const struct profile_task *task, struct row *row)
{
    const struct top_past *past = past_of(top->look, row->key);
    if (past) {
        row->at = cpu_at(row, top->until, top->from, past->at);
        return row->at > past->at ? row->at - past->at : 0;
    }
    row->at = cpu_at(row, top->until, task->start_ns, task->startup_ns);
    uint64_t before = cpu_at(row, top->from, task->start_ns, task->startup_ns);
    return row->at > before ? row->at - before : 0;
}

static void find_busy(struct top *top, uint64_t used_ns)
{
    uint32_t cpus = top->view->profile->session.cpus;
    if (top->until > top->from)
        top->busy = (double)used_ns / (double)(top->until - top->from);
    else
        top->busy = top->look->past ? top->look->head.busy : 0;
    /* The interpolated CPU time between two records of a task may be wrong. */
    if (cpus && top->busy > cpus)
        top->busy = cpus;
    if (!top->alive)
        top->busy = 0;
}

static void add_tasks(struct top *top)
{
    struct view *view = top->view;
    const struct selection *selection = view->selection;
    for (uint32_t i = 0; i < selection->task_count; i++)
        if (view->profile->tasks[selection->order[i]].end_ns > top->updated_ns)
            top->updated_ns = view->profile->tasks[selection->order[i]].end_ns;
    choose_time(top);
    uint64_t used_ns = 0;
    for (uint32_t i = 0; i < selection->task_count; i++) {
        const struct profile_task *task = &view->profile->tasks[selection->order[i]];
        bool estimate;
        uint64_t numbers[3] = {(uint32_t)task->pid, (uint32_t)task->tid, task->start_ns};
        uint64_t cpu = counters_cpu(view->profile, task, selection->weights[task->index], &estimate);
        struct row row = {.key = fnv(1, numbers, sizeof(numbers)), .index = task->index, .when = task->end_ns};
        row.value = cpu == COUNTERS_UNKNOWN ? 0 : cpu;
        row.rate = task_rate(top, task, &row);
        top->cpu_ns += row.value;
        used_ns += task_share(top, task, &row);
        top->alive += !task->ended;
        add_row(&top->tasks, &row);
    }
    find_busy(top, used_ns);
}

static void add_functions(struct top *top)
{
    struct view *view = top->view;
    struct map numbers = {0};
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        uint32_t leaf = view->profile->stacks[entry->stack].frames[0];
        uint32_t function = names_frame(view->names, leaf)->function, index = map_add(&numbers, function, 0);
        if (index == top->functions.count)
            add_row(&top->functions, &(struct row){.index = function});
        top->functions.list[index].value += entry->weight;
    }
    map_release(&numbers);
    uint64_t increase = 0, weight = view->selection->total_weight, more = weight - top->look->head.weight;
    if (!top->look->past || weight < top->look->head.weight)
        more = weight;
    for (size_t i = 0; i < top->functions.count; i++) {
        struct row *row = &top->functions.list[i];
        struct names_function function = names_function(view->names, row->index);
        row->key = fnv(fnv(2, function.dso, strlen(function.dso) + 1), function.symbol, strlen(function.symbol));
        const struct top_past *past = past_of(top->look, row->key);
        uint64_t before = past && past->value <= row->value ? past->value : 0;
        row->at = row->value - before;
        row->rate = past ? past->rate : 0;
        increase += row->at;
    }
    /* Shares are of the sum, which may exceed the total increase: a function that got another name looks new. */
    for (size_t i = 0; (more || !top->look->past) && i < top->functions.count; i++)
        top->functions.list[i].rate = text_share(top->functions.list[i].at, increase);
}

/* Tasks: the busiest now first, then by CPU time. Functions: by weight. */
static int compare_tasks(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    /* Differences that are not visible must not change the order. */
    long x = (long)(a->rate * 100 + 0.5), y = (long)(b->rate * 100 + 0.5);
    if (x != y)
        return x < y ? 1 : -1;
    int order = order_larger(a->value, b->value);
    return order ? order : order_smaller(a->index, b->index);
}

static int compare_functions(const void *left, const void *right, void *names)
{
    const struct row *a = left, *b = right;
    int order = order_larger(a->value, b->value);
    return order ? order : order_functions(names, a->index, b->index);
}

static int compare_keys(const void *left, const void *right)
{
    const struct top_past *a = left, *b = right;
    return a->key < b->key ? -1 : a->key > b->key;
}

static bool is_complete(const struct profile *profile)
{
    const struct profile_session *session = &profile->session;
    return !session->ours || (session->coverage_known && session->coverage_complete);
}

static void print_facts(struct top *top)
{
    struct view *view = top->view;
    const struct selection *selection = view->selection;
    char took[TEXT_AMOUNT], tasks[TEXT_AMOUNT], cpu[TEXT_AMOUNT], samples[TEXT_AMOUNT], lost[TEXT_AMOUNT];
    bool complete = is_complete(view->profile);
    char *command = heading_command(view->profile), *clean = text_clean(command, view->output->utf8);
    if (view->output->width)
        text_cut(clean, (size_t)view->output->width, view->output->utf8);
    output_color(view->output, OUTPUT_BOLD);
    fprintf(view->output->to, "%s\n", clean);
    output_color(view->output, OUTPUT_PLAIN);
    free(clean);
    free(command);
    char *line = memory_print("%s %s: %s, %" PRIu32 " alive, %.2f CPUs busy, CPU time %s, %s, %s lost",
                              complete ? "ended after" : "runs for", text_time(took, heading_duration(view->profile)),
                              text_plural(tasks, selection->task_count, "task", "tasks"), top->alive, top->busy,
                              text_time(cpu, top->cpu_ns),
                              text_plural(samples, selection->total_samples, "sample", "samples"),
                              selection->lost                  ? text_count(lost, selection->lost)
                              : view->profile->files_truncated ? "an unknown number"
                                                               : "none");
    if (view->output->width)
        text_cut(line, (size_t)view->output->width, view->output->utf8);
    fprintf(view->output->to, "%s\n\n", line);
    free(line);
}

static void print_tasks(struct top *top, size_t limit)
{
    static const struct text_table_column columns[] = {
        {"Now", true}, {"CPU time", true}, {"Samples", true}, {"PID.TID", true}, {"Command"}};
    struct view *view = top->view;
    struct text_table *table = text_table_new(columns, 5, view->output->utf8);
    for (size_t i = 0; i < top->tasks.count && i < limit; i++) {
        const struct row *row = &top->tasks.list[i];
        const struct profile_task *task = &view->profile->tasks[row->index];
        char text[TEXT_AMOUNT];
        snprintf(text, sizeof(text), task->ended ? "ended" : "%.1f %%", row->rate * 100);
        text_table_cell(table, task->ended ? OUTPUT_DIM : output_heat(row->rate * 100), text);
        text_table_cell(table, OUTPUT_PLAIN, text_time(text, row->value));
        text_table_cell(table, OUTPUT_PLAIN, text_count(text, view->selection->samples[row->index]));
        snprintf(text, sizeof(text), "%" PRId32 ".%" PRId32, task->pid, task->tid);
        text_table_cell(table, OUTPUT_PLAIN, text);
        char *command = text_task(task);
        text_table_cell(table, OUTPUT_PLAIN, command);
        free(command);
    }
    text_table_print(table, view->output, true);
    text_table_free(table);
}

static void print_functions(struct top *top, size_t limit)
{
    static const struct text_table_column columns[] = {
        {"Now", true}, {"Self", true}, {"DSO", false, true}, {"Function"}};
    struct view *view = top->view;
    struct text_table *table = text_table_new(columns, 4, view->output->utf8);
    for (size_t i = 0, shown = 0; i < top->functions.count && shown < limit; i++) {
        const struct row *row = &top->functions.list[i];
        struct names_function function = names_function(view->names, row->index);
        double share = text_share(row->value, view->selection->total_weight);
        char text[TEXT_AMOUNT];
        if (!select_place(view->settings, function.dso, function.symbol))
            continue;
        snprintf(text, sizeof(text), "%.1f %%", row->rate);
        text_table_cell(table, output_heat(row->rate), text);
        text_table_cell(table, output_heat(share), text_percent(text, row->value, view->selection->total_weight));
        text_table_cell(table, OUTPUT_DIM, text_base(function.dso));
        text_table_cell(table, OUTPUT_PLAIN, function.symbol);
        shown++;
    }
    fputc('\n', view->output->to);
    text_table_print(table, view->output, true);
    text_table_free(table);
}

/* Writes the past for the next look. */
static int write_past(const struct top *top)
{
    size_t count = top->tasks.count + top->functions.count, at = 0;
    struct top_past *list = memory_new(count, sizeof(*list));
    struct top_head head = {.count = (uint32_t)count,
                            .complete = is_complete(top->view->profile),
                            .weight = top->view->selection->total_weight,
                            .until = top->until,
                            .busy = top->busy};
    for (int kind = 0; kind < 2; kind++) {
        const struct rows_of *rows = kind ? &top->functions : &top->tasks;
        for (size_t i = 0; i < rows->count; i++)
            list[at++] = (struct top_past){rows->list[i].key, rows->list[i].value, rows->list[i].when,
                                           kind ? 0 : rows->list[i].at, rows->list[i].rate};
    }
    qsort(list, count, sizeof(*list), compare_keys);
    int status = top->look->future < 0 ? 0 : buffer_write(top->look->future, &head, sizeof(head));
    if (status == 0 && top->look->future >= 0)
        status = buffer_write(top->look->future, list, count * sizeof(*list));
    free(list);
    return status < 0 ? 1 : 0;
}

static void choose_limits(const struct top *top, size_t *ret_tasks, size_t *ret_functions)
{
    int rows = top->look->rows;
    uint64_t wanted = top->view->settings->top;
    *ret_tasks = PLAIN_TASKS;
    *ret_functions = PLAIN_FUNCTIONS;
    if (rows) {
        size_t room = rows > FIXED_ROWS + 2 * LEAST_ROWS ? (size_t)rows - FIXED_ROWS : 2 * LEAST_ROWS;
        *ret_tasks = room / 3 > LEAST_ROWS ? room / 3 : LEAST_ROWS;
        if (top->tasks.count < *ret_tasks)
            *ret_tasks = top->tasks.count;
        *ret_functions = room - *ret_tasks;
    }
    if (wanted) {
        *ret_tasks = !rows || wanted < *ret_tasks ? (size_t)wanted : *ret_tasks;
        *ret_functions = !rows || wanted < *ret_functions ? (size_t)wanted : *ret_functions;
    }
}

int view_top(struct view *view)
{
    static const struct top_look first = {.future = -1};
    struct top top = {.view = view, .look = view->settings->look ? view->settings->look : &first};
    size_t tasks, functions;
    view->output->width = top.look->columns;
    add_tasks(&top);
    add_functions(&top);
    if (top.tasks.count)
        qsort(top.tasks.list, top.tasks.count, sizeof(*top.tasks.list), compare_tasks);
    if (top.functions.count)
        qsort_r(top.functions.list, top.functions.count, sizeof(*top.functions.list), compare_functions, view->names);
    choose_limits(&top, &tasks, &functions);
    print_facts(&top);
    print_tasks(&top, tasks);
    if (top.functions.count)
        print_functions(&top, functions);
    int status = write_past(&top);
    free(top.tasks.list);
    free(top.functions.list);
    return status;
}
