/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/counters.h"
#include "analyze/view/coverage.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "analyze/view/view.h"
#include "common/buffer.h"
#include "common/report.h"
#include "counts/count_print.h"

/* VALUE of EVENT: "1.20 s", "1,234", "4.50 Joules". */
static char *text_value(char ret[TEXT_AMOUNT], uint64_t value, const struct profile_event *event)
{
    if (event->scale != 0)
        snprintf(ret, TEXT_AMOUNT, "%.*f", count_decimals(event->scale), (double)value * event->scale);
    else if (event->unit)
        text_count(ret, value);
    else
        text_weight(ret, value, event->nanoseconds);
    const size_t used = strlen(ret);
    if (event->unit)
        snprintf(ret + used, TEXT_AMOUNT - used, " %s", event->unit);
    return ret;
}

/* "1.20 s"; "~1,234 (45 %)": an estimate, with the share of the time that the event was counted; "-": not counted. */
static void format_amount(char *ret, size_t size, const struct counter *counter, const struct profile_event *event)
{
    char value[TEXT_AMOUNT];
    if (!counter->present)
        snprintf(ret, size, "-");
    else if (!counter->estimate)
        snprintf(ret, size, "%s", text_value(value, counter->value, event));
    else if (counter->running_ns)
        snprintf(ret, size, "~%s (%.0f %%)", text_value(value, counter->scaled, event),
                 text_share(counter->running_ns, counter->enabled_ns));
    else
        snprintf(ret, size, "never ran");
}

/* As count_had_turn(). */
static bool had_turn(const struct view *view, const struct counter *sum, const struct profile_event *event)
{
    bool had = !event->set;
    for (uint32_t i = 0; i < view->profile->event_count && !had; i++)
        had = view->profile->events[i].set == event->set && sum[i].running_ns;
    return had;
}

static void total_row(struct view *view, struct text_table *table, uint32_t index, const struct counter *sum)
{
    const struct profile_event *event = &view->profile->events[index];
    const struct counter *counter = &sum[index];
    char text[3 * TEXT_AMOUNT], value[TEXT_AMOUNT], share[TEXT_AMOUNT];
    bool never = !counters_known(counter);
    char set[32] = "";
    if (event->set)
        snprintf(set, sizeof(set), "set %" PRIu32 ": ", event->set);
    text_value(value, counter->estimate ? counter->scaled : counter->value, event);
    text_table_cell(table, OUTPUT_PLAIN, never ? "-" : value);
    text_table_cell(table, OUTPUT_PLAIN, event->name);
    text[0] = '\0';
    if (never)
        snprintf(text, sizeof(text), "%snever ran: %s", set,
                 had_turn(view, sum, event)
                     ? "no counter of the machine was free"
                     : "its event set was never active (try a shorter --switch-timeout), or no counter was free");
    else if (counter->estimate)
        snprintf(text, sizeof(text), "%san estimate: the event was counted for only %s of the time", set,
                 text_percent(share, counter->running_ns, counter->enabled_ns));
    else if (counter->value != counter->counted)
        snprintf(text, sizeof(text), "%s + %s at start-up and exit", text_time(value, counter->counted),
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
        total_row(view, table, i, sum);
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
                       "they ended (exit). Both times come from the kernel's accounting.");
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
    char number[TEXT_AMOUNT];
    if (shown < count)
        fprintf(view->output->to, "and %s; --top all shows all\n",
                text_plural(number, count - shown, "more task", "more tasks"));
    text_table_free(table);
    free(columns);
}

static void fill_cells(const struct profile *profile, const struct counter *counters, const struct counter *sum,
                       struct count_cell *ret)
{
    for (uint32_t i = 0; i < profile->event_count; i++) {
        const struct counter *from = &counters[i];
        if (!sum[i].present)
            continue;
        *ret++ = (struct count_cell){.present = from->present,
                                     .estimate = from->estimate,
                                     .value = from->value,
                                     .scaled = from->estimate ? from->scaled : from->value,
                                     .enabled_ns = from->estimate ? from->enabled_ns : from->running_ns,
                                     .running_ns = from->running_ns};
    }
}

static size_t fill_events(const struct profile *profile, const struct counter *sum, struct count_event *ret)
{
    size_t count = 0;
    for (uint32_t i = 0; i < profile->event_count; i++) {
        const struct profile_event *event = &profile->events[i];
        if (sum[i].present)
            ret[count++] = (struct count_event){.name = event->name,
                                                .unit = event->unit,
                                                .scale = event->scale,
                                                .set = event->set,
                                                .nanoseconds = event->nanoseconds,
                                                .type = event->type,
                                                .config = event->config};
    }
    return count;
}

static void find_times(const struct view *view, struct count_times *ret)
{
    const struct profile *profile = view->profile;
    *ret = (struct count_times){.user_ns = profile->session.user_ns,
                                .system_ns = profile->session.kernel_ns,
                                .cpu_known = profile->session.user_ns || profile->session.kernel_ns};
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (profile->tasks[i].root && profile->tasks[i].end_ns > profile->tasks[i].start_ns)
            ret->elapsed_ns = profile->tasks[i].end_ns - profile->tasks[i].start_ns;
}

/* What exec generation NUMBER of TASK counted; with what was counted before the first and after the last one. */
static void generation_counters(const struct profile *profile, const struct profile_task *task, uint32_t number,
                                struct counter *ret)
{
    memset(ret, 0, profile->event_count * sizeof(*ret));
    for (uint32_t i = 0; i < task->count_count; i++) {
        const struct profile_count *count = &task->counts[i];
        if (count->generation != number || count->event >= profile->event_count)
            continue;
        ret[count->event] = (struct counter){.present = true,
                                             .estimate = count->running_ns < count->enabled_ns,
                                             .value = count->value,
                                             .counted = count->value,
                                             .scaled = count->scaled,
                                             .enabled_ns = count->enabled_ns,
                                             .running_ns = count->running_ns};
    }
    const uint64_t more = (number ? 0 : task->startup_ns) + (number + 1 < task->generation_count ? 0 : task->exit_ns);
    for (uint32_t i = 0; i < profile->event_count; i++) {
        if (!counters_is_task_clock(&profile->events[i]) || !more)
            continue;
        ret[i].present = true;
        ret[i].value += more;
        ret[i].scaled += more;
        break;
    }
}

/* A row for each program of the task; the only one has the task's counts. */
static void add_programs(const struct view *view, const struct profile_task *task, const struct counter *sum,
                         const struct counter *whole, struct count_cell *cells, struct count_store *store)
{
    const struct profile *profile = view->profile;
    struct counter *counters = memory_new(profile->event_count, sizeof(*counters));
    for (uint32_t i = 0; i < task->generation_count || i == 0; i++) {
        struct count_row row = {.pid = task->pid, .tid = task->tid, .exec = task->first_exec + i, .cells = cells};
        const bool alone = task->generation_count <= 1;
        const char *comm = alone || !task->generations[i].comm[0] ? task->comm : task->generations[i].comm;
        row.start_ns = alone ? task->start_ns : task->generations[i].start_ns;
        if (!alone)
            generation_counters(profile, task, i, counters);
        fill_cells(profile, alone ? whole : counters, sum, cells);
        snprintf(row.comm, sizeof(row.comm), "%s", comm ? comm : "");
        count_store_add(store, &row);
    }
    free(counters);
}

static void fill_store(const struct view *view, const struct counter *all, const struct counter *sum,
                       struct count_store *store)
{
    const struct profile *profile = view->profile;
    struct count_cell *cells = memory_new(profile->event_count, sizeof(*cells));
    for (uint32_t i = 0; i < view->selection->task_count; i++) {
        const uint32_t index = view->selection->order[i];
        const struct profile_task *task = &profile->tasks[index];
        struct count_row row = {.pid = task->pid, .tid = task->tid, .start_ns = task->start_ns, .cells = cells};
        if (store->by == COUNT_BY_EXEC) {
            add_programs(view, task, sum, all + (size_t)index * profile->event_count, cells, store);
            continue;
        }
        fill_cells(profile, all + (size_t)index * profile->event_count, sum, cells);
        snprintf(row.comm, sizeof(row.comm), "%s", task->comm ? task->comm : "");
        count_store_add(store, &row);
    }
    free(cells);
}

/* A report in the form of pinject-run --stat; its store is filled for each part of it. */
struct form {
    const struct view *view;
    const struct counter *all, *sum;
    struct count_style style;
    struct count_event *events;
    struct count_store store;
    struct count_report report;
    struct buffer command;
};

static int begin_part(struct form *form)
{
    const size_t count = form->report.event_count;
    return count_store_init(&form->store, (enum count_by)form->style.by, count, count_find_clock(form->events, count));
}

static int print_part(struct form *form)
{
    int error = count_store_sort(&form->store);
    if (!error)
        count_print(&form->report, &form->style, form->view->output->to);
    count_store_release(&form->store);
    return error;
}

static void form_init(struct form *form, const struct view *view, const struct counter *all, const struct counter *sum)
{
    const struct settings *settings = view->settings;
    const struct profile_session *session = &view->profile->session;
    *form = (struct form){.view = view,
                          .all = all,
                          .sum = sum,
                          .style = {.form = settings->count_form,
                                    .digits = settings->count_digits,
                                    .by = settings->count_by,
                                    .separator = settings->separator},
                          .events = memory_new(view->profile->event_count, sizeof(*form->events))};
    for (uint32_t i = 0; i < session->argument_count; i++)
        buffer_printf(&form->command, "%s%s", i ? " " : "", session->arguments[i]);
    buffer_append(&form->command, "", 1);
    form->report = (struct count_report){
        .whole_tree = heading_is_whole_tree(view),
        .events = form->events,
        .event_count = fill_events(view->profile, sum, form->events),
        .store = &form->store,
        .command = buffer_failed(&form->command) ? NULL : (const char *)form->command.data,
    };
}

static void form_release(struct form *form)
{
    count_store_release(&form->store);
    buffer_release(&form->command);
    free(form->events);
}

static int print_whole(struct form *form, bool summary)
{
    form->report.at_ns = 0;
    form->report.is_summary = summary;
    find_times(form->view, &form->report.times);
    int error = begin_part(form);
    if (error)
        return error;
    fill_store(form->view, form->all, form->sum, &form->store);
    return print_part(form);
}

/* ---- Intervals ---- */

/* What a task has counted up to some round; and which of its entries come next. */
struct so_far {
    struct counter *counters; /* one for each event */
    uint32_t next;
};

/* The event that start-up and exit were added to, as in counters_of_task(). */
static uint32_t find_clock(const struct profile *profile, const struct counter *counters)
{
    uint32_t i = 0;
    while (i < profile->event_count && !(counters_is_task_clock(&profile->events[i]) && counters[i].present))
        i++;
    return i;
}

/* Its counters at the round of TIME_NS; at its end, what it counted in all. */
static void find_counters(const struct profile *profile, const struct profile_task *task, const struct counter *whole,
                          uint64_t time_ns, uint32_t *next, struct counter *ret)
{
    if (time_ns == UINT64_MAX || (task->ended && task->end_ns <= time_ns)) {
        memcpy(ret, whole, profile->event_count * sizeof(*ret));
        return;
    }
    for (; *next < task->round_count && task->rounds[*next].time_ns && task->rounds[*next].time_ns <= time_ns;
         ++*next) {
        const struct profile_round_count *count = &task->rounds[*next];
        struct counter *counter = &ret[count->event]; /* the model has checked it */
        if (!counter->present && find_clock(profile, whole) == count->event)
            counter->value = task->startup_ns;
        counter->present = true;
        counter->value += count->value;
        counter->counted += count->value;
        counter->enabled_ns += count->enabled_ns;
        counter->running_ns += count->running_ns;
    }
}

static uint64_t more(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* The cell for what NOW has beyond BEFORE. */
static struct count_cell difference(const struct profile_task *task, const struct profile_event *event,
                                    const struct counter *now, const struct counter *before)
{
    const uint64_t counted = more(now->counted, before->counted);
    struct count_cell cell = {.present = now->present,
                              .value = more(now->value, before->value),
                              .enabled_ns = more(now->enabled_ns, before->enabled_ns),
                              .running_ns = more(now->running_ns, before->running_ns)};
    if (task->source == PROFILE_SOURCE_INHERITED && !event->set)
        cell.enabled_ns = cell.running_ns;
    cell.estimate = cell.running_ns < cell.enabled_ns;
    cell.scaled = count_scale(counted, cell.enabled_ns, cell.running_ns) + (cell.value - counted);
    return cell;
}

/* Adds what TASK counted since the round before, if it did count. */
static void add_difference(struct form *form, uint32_t index, struct so_far *so_far, uint64_t time_ns,
                           struct counter *now, struct count_cell *cells)
{
    const struct profile *profile = form->view->profile;
    const struct profile_task *task = &profile->tasks[index];
    struct count_row row = {.pid = task->pid, .tid = task->tid, .start_ns = task->start_ns, .cells = cells};
    bool any = false;
    memcpy(now, so_far->counters, profile->event_count * sizeof(*now));
    find_counters(profile, task, form->all + (size_t)index * profile->event_count, time_ns, &so_far->next, now);
    for (uint32_t i = 0, at = 0; i < profile->event_count; i++) {
        if (!form->sum[i].present)
            continue;
        cells[at] = difference(task, &profile->events[i], &now[i], &so_far->counters[i]);
        any |= cells[at].value || cells[at].enabled_ns;
        at++;
    }
    memcpy(so_far->counters, now, profile->event_count * sizeof(*now));
    snprintf(row.comm, sizeof(row.comm), "%s", task->comm ? task->comm : "");
    if (any || form->style.by == COUNT_ALL) /* a total of 0 is a total */
        count_store_add(&form->store, &row);
}

static uint64_t last_end(const struct profile *profile)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < profile->task_count; i++)
        end = profile->tasks[i].end_ns > end ? profile->tasks[i].end_ns : end;
    return end;
}

/* One interval for each round, and one for what came after the last one. */
static int print_intervals(struct form *form, struct so_far *so_far, struct counter *now, struct count_cell *cells)
{
    const struct view *view = form->view;
    const struct profile *profile = view->profile;
    const uint64_t start = profile->session.start_ns, end = last_end(profile);
    uint64_t before = start;
    int error = 0;
    for (uint32_t round = 0; !error && round <= profile->round_count; round++) {
        const bool last = round == profile->round_count;
        const uint64_t time_ns = last ? UINT64_MAX : profile->rounds[round];
        /* The last round of perf stat -I is at the end. */
        if (last && round > 0 && end == before)
            break;
        /* pinject-run may begin a round after the last task ended, before it knows that. */
        const uint64_t at = !last ? time_ns : end > before ? end : before;
        form->report.at_ns = at > start ? at - start : 1;
        form->report.times = (struct count_times){.elapsed_ns = more(at, before)};
        before = at;
        error = begin_part(form);
        for (uint32_t i = 0; !error && i < view->selection->task_count; i++)
            add_difference(form, view->selection->order[i], &so_far[i], time_ns, now, cells);
        if (!error)
            error = print_part(form);
    }
    return error;
}

static int print_rounds(struct form *form)
{
    const struct profile *profile = form->view->profile;
    const size_t events = profile->event_count, tasks = form->view->selection->task_count;
    struct so_far *so_far = memory_new(tasks, sizeof(*so_far));
    struct counter *counters = memory_new((tasks + 1) * events, sizeof(*counters));
    struct count_cell *cells = memory_new(events, sizeof(*cells));
    for (size_t i = 0; i < tasks; i++)
        so_far[i].counters = counters + (i + 1) * events;
    int error = print_intervals(form, so_far, counters, cells);
    free(cells);
    free(counters);
    free(so_far);
    return error ? error : print_whole(form, true);
}

/* In the form of pinject-run --stat, if an option asks for it. */
static int print_form(struct view *view, const struct counter *all, const struct counter *sum)
{
    struct form form;
    if (view->settings->rounds && !view->profile->round_count) {
        report_error("these files contain no intervals; 'pinject-run --stat --print-interval=MS' and 'perf stat record "
                     "-I MS' write them");
        return 1;
    }
    if (view->settings->count_by && heading_is_whole_tree(view)) {
        report_error("these files contain only the counts of all tasks together; 'pinject-run --stat --per-thread' "
                     "counts each task by itself");
        return 1;
    }
    form_init(&form, view, all, sum);
    int error = view->settings->rounds ? print_rounds(&form) : print_whole(&form, false);
    if (error)
        report_error("out of memory");
    form_release(&form);
    return error ? 1 : 0;
}

static void print_view(struct view *view, const struct order *order, const struct counter *all,
                       const struct counter *sum)
{
    heading_print(view);
    fputc('\n', view->output->to);
    if (print_totals(view, sum) && !heading_is_whole_tree(view)) {
        fputc('\n', view->output->to);
        print_tasks(view, order, all, sum);
    }
    fputc('\n', view->output->to);
    coverage_print(view);
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
    int error = 0;
    const struct settings *settings = view->settings;
    if (settings->count_by || settings->count_form || settings->count_digits || settings->rounds)
        error = print_form(view, all, sum);
    else
        print_view(view, order, all, sum);
    free(order);
    free(sum);
    free(all);
    return error;
}
