/* SPDX-License-Identifier: MIT */
#include "analyze/view/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/callers.h"
#include "analyze/view/histogram.h"
#include "analyze/view/inlines.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

#define LEAST_PERCENT 0.1
#define ADDRESS       "Address"

static bool is_wanted(const struct view *view, const struct histogram *histogram, const struct histogram_row *row)
{
    const struct settings *settings = view->settings;
    if (!settings->dsos.count && !settings->symbols.count)
        return true;
    if (histogram->by == BY_DSO)
        return select_dso(settings, names_dso(histogram->names, (uint32_t)row->key));
    if (histogram->by == BY_FUNCTION) {
        struct names_function function = names_function(histogram->names, (uint32_t)row->key);
        return select_place(settings, function.dso, function.symbol);
    }
    if (histogram->by == BY_ADDRESS) {
        const struct names_place *place = names_frame(histogram->names, row->frame);
        return select_place(settings, place->dso, place->symbol);
    }
    return true;
}

static bool has_self(const struct histogram *histogram, const struct histogram_row *row)
{
    bool any = false;
    for (uint32_t i = 0; i < histogram->profile->event_count; i++)
        any |= histogram_of_event(histogram, row, i).samples > 0;
    return any;
}

/* Whether the row is too small to be shown, unless options ask for more. */
static bool is_little(const struct view *view, const struct histogram *histogram, const struct histogram_row *row)
{
    const struct settings *settings = view->settings;
    return histogram_has_stacks(histogram->by) && !settings->top && !settings->json && !settings->group &&
           !settings->cum && !settings->format && !settings->symbols.count && !settings->dsos.count &&
           !settings->callers && !settings->callees && settings->sort == SORT_SELF &&
           text_share(row->self_weight, histogram->weight) < LEAST_PERCENT;
}

/* Whether the self weight of ROW is in another row, too: with --symbol, code that is inlined in a function has a row of
 * its own, and the function has the weight as well. */
static bool is_counted_again(const struct histogram *histogram, const struct histogram_row *row)
{
    return histogram->by == BY_FUNCTION && names_is_inlined(histogram->names, row->frame);
}

void rows_choose(struct rows *rows, const struct view *view, const struct histogram *histogram, uint64_t limit,
                 double cum)
{
    uint64_t cumulated = 0;
    *rows = (struct rows){.list = memory_new(histogram->count, sizeof(*rows->list))};
    for (size_t i = 0; i < histogram->count; i++) {
        const struct histogram_row *row = &histogram->rows[i];
        if (!is_wanted(view, histogram, row) ||
            (view->settings->group && !view->settings->json && !has_self(histogram, row)))
            continue;
        const uint64_t weight = is_counted_again(histogram, row) ? 0 : row->self_weight;
        const bool enough = cum > 0 && text_share(cumulated, histogram->weight) >= cum;
        if (rows->count >= limit || (rows->count && (enough || is_little(view, histogram, row)))) {
            if (!rows->more)
                rows->limits = (struct rows_limits){.top = rows->count >= limit, .cum = enough};
            rows->more++;
            rows->more_weight += weight;
            continue;
        }
        cumulated += weight;
        rows->list[rows->count++] = row;
    }
}

void rows_release(struct rows *rows)
{
    free(rows->list);
    *rows = (struct rows){0};
}

uint64_t rows_limit(const struct settings *settings, uint64_t usual)
{
    return settings->top ? settings->top : settings->cum > 0 ? SETTINGS_ALL : usual;
}

const char *rows_advice(const struct settings *settings, const struct rows_limits *limits, uint64_t weight)
{
    if (!(settings->cum > 0))
        return "--top all shows all";
    if (!limits->cum)
        return "a larger --top shows more";
    if (weight == 0) /* all weight is shown: no --cum shows more */
        return "give --top all and leave out --cum to see all";
    return limits->top ? "a larger --top and --cum show more" : "a larger --cum shows more";
}

void rows_sums_init(struct rows_sums *sums, const struct view *view, const struct histogram *histogram)
{
    *sums = (struct rows_sums){.all = view->settings->group};
    if (view->settings->show_cum)
        sums->weights = memory_new(histogram->profile->event_count, sizeof(*sums->weights));
}

void rows_sums_add(struct rows_sums *sums, const struct histogram *histogram, const struct histogram_row *row)
{
    if (!sums->weights || is_counted_again(histogram, row))
        return;
    const uint32_t shown = histogram->profile->event, end = sums->all ? histogram->profile->event_count : shown + 1;
    for (uint32_t i = sums->all ? 0 : shown; i < end; i++)
        sums->weights[i] += histogram_of_event(histogram, row, i).weight;
}

void rows_sums_release(struct rows_sums *sums)
{
    free(sums->weights);
    sums->weights = NULL;
}

static const struct text_table_column function_columns[] = {
    {"Self", true}, {"Time", true}, {"Total", true}, {"DSO", false, true}, {"Function"}};
static const struct text_table_column dso_columns[] = {{"Self", true}, {"Time", true}, {"Total", true}, {"DSO"}};
static const struct text_table_column address_columns[] = {{"Self", true},  {"Time", true},       {"Total", true},
                                                           {ADDRESS, true}, {"DSO", false, true}, {"Function"}};
static const struct text_table_column task_columns[] = {
    {"Share", true}, {"Time", true}, {"Samples", true}, {"PID.TID", true}, {"Command"}};
static const struct text_table_column process_columns[] = {
    {"Share", true}, {"Time", true}, {"Samples", true}, {"PID", true}, {"Command"}};
static const struct text_table_column comm_columns[] = {
    {"Share", true}, {"Time", true}, {"Samples", true}, {"Command"}};

struct kind {
    const struct text_table_column *columns;
    size_t count;
    const char *one, *many;
};

#define KIND(columns, one, many)                                   \
    {                                                              \
        columns, sizeof(columns) / sizeof((columns)[0]), one, many \
    }
static const struct kind kinds[] = {
    [BY_FUNCTION] = KIND(function_columns, "function", "functions"),
    [BY_DSO] = KIND(dso_columns, "DSO", "DSOs"),
    [BY_TASK] = KIND(task_columns, "task", "tasks"),
    [BY_PROCESS] = KIND(process_columns, "process", "processes"),
    [BY_COMM] = KIND(comm_columns, "command", "commands"),
    [BY_ADDRESS] = KIND(address_columns, "address", "addresses"),
};

#define FIGURES      3 /* columns with figures, before those with names */
#define MOST_COLUMNS 8 /* with that of --show-cum */

static void add_label(struct text_table *table, const struct histogram *histogram, const struct histogram_row *row)
{
    if (histogram->by == BY_DSO) {
        text_table_cell(table, OUTPUT_PLAIN, names_dso(histogram->names, (uint32_t)row->key));
    } else if (histogram->by == BY_FUNCTION) {
        struct names_function function = names_function(histogram->names, (uint32_t)row->key);
        text_table_cell(table, OUTPUT_DIM, text_base(function.dso));
        char *inlined = function.inlined ? memory_print("%s (inlined)", function.symbol) : NULL;
        text_table_brief(table, OUTPUT_PLAIN, "", inlined ? inlined : function.symbol, brief_name);
        free(inlined);
    } else {
        const struct names_place *place = names_frame(histogram->names, row->frame);
        char text[TEXT_AMOUNT];
        snprintf(text, sizeof(text), "0x%" PRIx64, place->address);
        char *name = names_address_label(place);
        text_table_cell(table, OUTPUT_PLAIN, text);
        text_table_cell(table, OUTPUT_DIM, text_base(place->dso));
        text_table_cell(table, OUTPUT_PLAIN, name);
        free(name);
    }
}

static void add_task_label(struct text_table *table, const struct view *view, const struct histogram *histogram,
                           const struct histogram_row *row)
{
    if (histogram->by == BY_COMM) {
        text_table_cell(table, OUTPUT_PLAIN, (const char *)(uintptr_t)row->key);
        return;
    }
    const struct profile_task *task = &view->profile->tasks[row->task];
    char number[TEXT_AMOUNT];
    if (histogram->by == BY_TASK)
        snprintf(number, sizeof(number), "%" PRId32 ".%" PRId32, task->pid, task->tid);
    else
        snprintf(number, sizeof(number), "%" PRId32, task->pid);
    char *command = text_task_command(task);
    char *thread = histogram->by == BY_TASK && task->tid != task->pid ? memory_print("{%s} ", task->comm)
                                                                      : memory_text("");
    text_table_cell(table, OUTPUT_PLAIN, number);
    text_table_brief(table, OUTPUT_PLAIN, thread, command, command_brief);
    free(thread);
    free(command);
}

static void add_labels(struct text_table *table, const struct view *view, const struct histogram *histogram,
                       const struct histogram_row *row)
{
    if (histogram_has_stacks(histogram->by))
        add_label(table, histogram, row);
    else
        add_task_label(table, view, histogram, row);
}

static void add_row(struct text_table *table, const struct view *view, const struct histogram *histogram,
                    const struct histogram_row *row, const struct rows_sums *sums)
{
    char text[TEXT_AMOUNT];
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    double percent = text_share(row->self_weight, histogram->weight);
    text_table_cell(table, output_heat(percent), text_percent(text, row->self_weight, histogram->weight));
    if (view->settings->show_cum)
        text_table_cell(table, OUTPUT_PLAIN,
                        text_percent(text, sums->weights[view->profile->event], histogram->weight));
    text_table_cell(table, OUTPUT_PLAIN, text_weight(text, row->self_weight, nanoseconds));
    if (histogram_has_stacks(histogram->by))
        text_table_cell(table, OUTPUT_PLAIN, text_percent(text, row->total_weight, histogram->weight));
    else
        text_table_cell(table, OUTPUT_PLAIN, text_count(text, row->self_samples));
    add_labels(table, view, histogram, row);
}

void rows_print_more(struct output *output, const struct settings *settings, const struct rows_left *left)
{
    if (!left->count)
        return;
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT];
    output_color(output, OUTPUT_DIM);
    fprintf(output->to, "and %s more", text_plural(number, left->count, left->one, left->many));
    if (settings->sort != SORT_TOTAL) /* totals contain each other, so they have no sum */
        fprintf(output->to, " with %s together", text_percent(share, left->weight, left->whole));
    fprintf(output->to, "; %s\n", rows_advice(settings, &left->limits, left->weight));
    output_color(output, OUTPUT_PLAIN);
}

static void print_more(struct view *view, const struct histogram *histogram, const struct rows *rows)
{
    const struct kind *kind = &kinds[histogram->by];
    rows_print_more(
        view->output, view->settings,
        &(struct rows_left){kind->one, kind->many, rows->more, rows->more_weight, histogram->weight, rows->limits});
}

/* Column INDEX of KIND. Without names of functions, addresses are offsets in files. */
static struct text_table_column column_of(const struct view *view, const struct kind *kind, size_t index)
{
    struct text_table_column column = kind->columns[index];
    if (view->settings->no_resolve && strcmp(column.head, ADDRESS) == 0)
        column.head = "Offset";
    return column;
}

/* What a column of an event has in each row. */
enum figure { FIGURE_SHARE, FIGURE_CUM, FIGURE_VALUE };
#define MOST_FIGURES 3 /* of an event */

struct figure_column {
    uint32_t event;
    enum figure figure;
};

/* The columns of EVENT, in order; returns their number. An event that no group reads has no values, but the first
 * column always is of the shown event, which decides the order of the rows. */
static size_t choose_figures(const struct view *view, uint32_t event, struct figure_column *ret)
{
    const struct settings *settings = view->settings;
    const bool values = settings->values && view->profile->events[event].grouped;
    const bool shares = !settings->only_values || (event == view->profile->event && !values);
    size_t count = 0;
    if (shares || values)
        ret[count++] = (struct figure_column){event, shares ? FIGURE_SHARE : FIGURE_VALUE};
    if (settings->show_cum && count)
        ret[count++] = (struct figure_column){event, FIGURE_CUM};
    if (shares && values)
        ret[count++] = (struct figure_column){event, FIGURE_VALUE};
    return count;
}

static const char *figure_head(const struct view *view, const struct figure_column *column, bool first)
{
    const struct profile_event *event = &view->profile->events[column->event];
    return first ? event->name : column->figure == FIGURE_CUM ? "Cum" : event->nanoseconds ? "Time" : "Value";
}

static void add_figure(struct text_table *table, const struct view *view, const struct histogram *histogram,
                       const struct histogram_row *row, const struct rows_sums *sums,
                       const struct figure_column *column)
{
    const uint64_t whole = histogram_of_event(histogram, NULL, column->event).weight;
    const uint64_t weight = histogram_of_event(histogram, row, column->event).weight;
    char text[TEXT_AMOUNT];
    if (column->figure == FIGURE_SHARE)
        text_table_cell(table, output_heat(text_share(weight, whole)), text_percent(text, weight, whole));
    else if (column->figure == FIGURE_CUM)
        text_table_cell(table, OUTPUT_PLAIN, text_percent(text, sums->weights[column->event], whole));
    else
        text_table_cell(table, OUTPUT_PLAIN,
                        text_weight(text, weight, view->profile->events[column->event].nanoseconds));
}

/* Prints a group of columns for each event. */
static void print_group(struct view *view, const struct histogram *histogram, const struct rows *rows)
{
    const struct kind *kind = &kinds[histogram->by];
    uint32_t event_count, *events = event_group_events(view->profile, &event_count);
    struct figure_column *figures = memory_new((size_t)event_count * MOST_FIGURES, sizeof(*figures));
    struct text_table_column *columns = memory_new((size_t)event_count * MOST_FIGURES + kind->count, sizeof(*columns));
    struct rows_sums sums;
    size_t count = 0;
    for (uint32_t i = 0; i < event_count; i++)
        count += choose_figures(view, events[i], figures + count);
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct text_table_column){
            figure_head(view, &figures[i], i == 0 || figures[i].event != figures[i - 1].event), true, false};
    for (size_t i = FIGURES; i < kind->count; i++)
        columns[count + i - FIGURES] = column_of(view, kind, i);
    struct text_table *table = text_table_new(columns, count + kind->count - FIGURES, view->output->utf8);
    rows_sums_init(&sums, view, histogram);
    for (size_t i = 0; i < rows->count; i++) {
        rows_sums_add(&sums, histogram, rows->list[i]);
        for (size_t j = 0; j < count; j++)
            add_figure(table, view, histogram, rows->list[i], &sums, &figures[j]);
        add_labels(table, view, histogram, rows->list[i]);
    }
    text_table_print(table, view->output, true);
    rows_sums_release(&sums);
    text_table_free(table);
    free(columns);
    free(figures);
    free(events);
    print_more(view, histogram, rows);
}

/* Marks for the rows from FROM on, as many as there are bits. */
static uint32_t *mark_stacks(struct histogram *histogram, const struct rows *rows, size_t from, const uint32_t *entries,
                             uint32_t count)
{
    size_t left = rows->count - from;
    return histogram_mark_stacks(histogram, rows->list + from, left < HISTOGRAM_MARKED ? left : HISTOGRAM_MARKED,
                                 entries, count);
}

/* Adds the rows, each with its call trees if TREES, else with the functions inlined in it. */
static void fill_table(struct text_table *table, struct view *view, struct histogram *histogram,
                       const struct rows *rows, bool trees, const struct chains_part *all)
{
    const struct settings *settings = view->settings;
    const bool utf8 = view->output->utf8;
    struct inlines *inlines = inlines_new(view, histogram, rows, all->entries, all->count);
    struct chains_part part = *all;
    uint32_t *marks = NULL;
    struct rows_sums sums;
    rows_sums_init(&sums, view, histogram);
    for (size_t i = 0; i < rows->count; i++) {
        rows_sums_add(&sums, histogram, rows->list[i]);
        add_row(table, view, histogram, rows->list[i], &sums);
        inlines_show(inlines, rows->list[i]->key, table, utf8);
        if (!trees)
            continue;
        part.bit = i % HISTOGRAM_MARKED;
        if (part.bit == 0) {
            free(marks);
            part.marks = marks = mark_stacks(histogram, rows, i, all->entries, all->count);
        }
        if (settings->callers)
            chains_show(histogram, rows->list[i]->key, &part, CHAINS_CALLERS, histogram->weight, table, utf8);
        if (settings->callees)
            chains_show(histogram, rows->list[i]->key, &part, CHAINS_CALLEES, histogram->weight, table, utf8);
    }
    free(marks);
    rows_sums_release(&sums);
    inlines_free(inlines);
}

/* The columns of a table of one event; returns their number. */
static size_t choose_columns(const struct view *view, const struct kind *kind, struct text_table_column *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < kind->count; i++) {
        ret[count++] = column_of(view, kind, i);
        if (i == 0 && view->settings->show_cum)
            ret[count++] = (struct text_table_column){"Cum", true, false};
        else if (i == 1 && !view->profile->events[view->profile->event].nanoseconds)
            ret[count - 1].head = "Weight";
    }
    return count;
}

void rows_print(struct view *view, struct histogram *histogram, const struct rows *rows, const uint32_t *entries,
                uint32_t count)
{
    const struct kind *kind = &kinds[histogram->by];
    const struct settings *settings = view->settings;
    if (settings->group) {
        print_group(view, histogram, rows);
        return;
    }
    bool trees = histogram_has_stacks(histogram->by) && (settings->callers || settings->callees);
    /* With --symbol each function is shown in full; else a short tree follows each line. */
    bool wings = trees && settings->symbols.count;
    struct text_table_column columns[MOST_COLUMNS];
    const size_t column_count = choose_columns(view, kind, columns);
    struct text_table *table = text_table_new(columns, column_count, view->output->utf8);
    fill_table(table, view, histogram, rows, trees && !wings,
               &(struct chains_part){.entries = entries, .count = count});
    text_table_print(table, view->output, true);
    text_table_free(table);
    print_more(view, histogram, rows);
    for (size_t i = 0; wings && i < rows->count && !output_is_over(view->output); i++)
        butterfly_print(view, histogram, rows->list[i], entries, count);
}

/* ---- In the document of --json ---- */

static void put_label(struct json *json, const struct view *view, struct histogram *histogram,
                      const struct histogram_row *row)
{
    const struct profile_task *task = &view->profile->tasks[row->task];
    if (histogram->by == BY_DSO) {
        json_string(json, "dso", names_dso(histogram->names, (uint32_t)row->key));
    } else if (histogram->by == BY_ADDRESS) {
        const struct names_place *place = names_frame(histogram->names, row->frame);
        json_unsigned(json, "address", place->address);
        json_string(json, "symbol", place->symbol);
        json_string(json, "dso", place->dso);
    } else if (histogram->by == BY_PROCESS) {
        json_signed(json, "pid", task->pid);
        json_string(json, "comm", task->comm);
    } else {
        json_string(json, "comm", (const char *)(uintptr_t)row->key);
    }
}

void rows_json_figures(struct json *json, const struct histogram_row *row, uint64_t whole)
{
    json_unsigned(json, "self_samples", row->self_samples);
    json_unsigned(json, "self_weight", row->self_weight);
    json_number(json, "self_percent", text_share(row->self_weight, whole));
    json_unsigned(json, "total_samples", row->total_samples);
    json_unsigned(json, "total_weight", row->total_weight);
    json_number(json, "total_percent", text_share(row->total_weight, whole));
}

/* With --group the member "events": the self weight of ROW for each event. */
static void put_events(struct json *json, const struct view *view, const struct histogram *histogram,
                       const struct histogram_row *row, const struct rows_sums *sums)
{
    if (!view->settings->group)
        return;
    uint32_t count, *events = event_group_events(view->profile, &count);
    json_list(json, "events");
    for (uint32_t i = 0; i < count; i++) {
        struct histogram_other self = histogram_of_event(histogram, row, events[i]),
                               all = histogram_of_event(histogram, NULL, events[i]);
        json_object(json, NULL);
        json_string(json, "event", view->profile->events[events[i]].name);
        json_unsigned(json, "self_samples", self.samples);
        json_unsigned(json, "self_weight", self.weight);
        json_number(json, "self_percent", text_share(self.weight, all.weight));
        if (view->settings->show_cum)
            json_number(json, "cum_percent", text_share(sums->weights[events[i]], all.weight));
        json_end_object(json);
    }
    json_end_list(json);
    free(events);
}

void rows_json_row(struct json *json, const struct view *view, const struct histogram *histogram,
                   const struct histogram_row *row, const struct rows_sums *sums)
{
    rows_json_figures(json, row, histogram->weight);
    if (view->settings->show_cum)
        json_number(json, "cum_percent", text_share(sums->weights[view->profile->event], histogram->weight));
    put_events(json, view, histogram, row, sums);
}

void rows_json_left_out(struct json *json, const struct view *view, const char *key, uint64_t rows, uint64_t weight,
                        uint64_t whole)
{
    if (!(view->settings->cum > 0))
        return;
    char *name = memory_print("%s_left_out", key);
    json_object(json, name);
    json_unsigned(json, "rows", rows);
    json_unsigned(json, "self_weight", weight);
    json_number(json, "self_percent", text_share(weight, whole));
    json_end_object(json);
    free(name);
}

/* A list KEY of at most LIMIT rows. */
static void put_rows(struct json *json, struct view *view, const char *key, int by, uint64_t limit)
{
    struct histogram histogram;
    struct rows rows;
    struct rows_sums sums;
    histogram_init(&histogram, view->profile, view->names, by);
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        histogram_add(&histogram, &view->profile->entries[view->selection->entries[i]]);
    event_group_add(view, &histogram, EVENT_GROUP_ALL);
    histogram_sort(&histogram, view->settings->sort);
    rows_choose(&rows, view, &histogram, limit, by == view->settings->by ? view->settings->cum : 0);
    rows_sums_init(&sums, view, &histogram);
    json_list(json, key);
    for (size_t i = 0; i < rows.count; i++) {
        rows_sums_add(&sums, &histogram, rows.list[i]);
        json_object(json, NULL);
        put_label(json, view, &histogram, rows.list[i]);
        rows_json_row(json, view, &histogram, rows.list[i], &sums);
        json_end_object(json);
    }
    json_end_list(json);
    if (by == view->settings->by)
        rows_json_left_out(json, view, key, rows.more, rows.more_weight, histogram.weight);
    rows_sums_release(&sums);
    rows_release(&rows);
    histogram_release(&histogram);
}

void rows_json(struct json *json, struct view *view)
{
    static const char *const keys[] = {[BY_DSO] = "objects", [BY_PROCESS] = "processes", [BY_ADDRESS] = "addresses"};
    const struct settings *settings = view->settings;
    const char *key = (size_t)settings->by < sizeof(keys) / sizeof(keys[0]) ? keys[settings->by] : NULL;
    uint64_t limit = rows_limit(settings, SETTINGS_ALL);
    if (key)
        put_rows(json, view, key, settings->by, limit);
    put_rows(json, view, "commands", BY_COMM, settings->by == BY_COMM ? limit : SETTINGS_ALL);
}
