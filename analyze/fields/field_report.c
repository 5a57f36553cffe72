/* SPDX-License-Identifier: MIT */
#include "analyze/fields/field_report.h"

#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/fields/field_kinds.h"
#include "analyze/script/script_bits.h"
#include "analyze/view/brief.h"
#include "analyze/view/coverage.h"
#include "analyze/view/heading.h"
#include "analyze/view/histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/rows.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "common/json.h"
#include "common/report.h"

#define USUAL_TOP    30 /* rows without --top */
#define MOST_FIGURES 4

bool field_report_wanted(int by)
{
    return field_kind_of(by) != NULL;
}

/* ---- The pass over the samples ---- */

/* --dso and --symbol choose samples by the code that they hit. */
static bool is_wanted(const struct view *view, const struct profile_sample *sample)
{
    const struct settings *settings = view->settings;
    if (!view->selection->tasks[sample->task->index] || !select_comm(settings, sample->comm))
        return false;
    if ((!settings->dsos.count && !settings->symbols.count) || !sample->depth)
        return true;
    const struct names_place *place = names_frame(view->names, sample->frames[0]);
    return select_place(settings, place->dso, place->symbol);
}

static int take_sample(void *context, const struct profile_sample *sample)
{
    struct field_pass *pass = context;
    const struct profile *profile = pass->view->profile;
    const uint64_t weight = pass->kind->branches ? 0 : sample->period;
    struct sample_fields fields;
    if (!is_wanted(pass->view, sample))
        return 0;
    struct field_sum *whole = &pass->whole[sample->event], *without = &pass->without[sample->event];
    whole->samples++;
    whole->weight += weight;
    const bool decoded = sample_fields_decode(sample->record, &fields) == 0;
    pass->address_field |= decoded && sample->event == profile->event && (fields.has & PERF_SAMPLE_ADDR);
    if (!decoded || !pass->kind->has(&profile->events[sample->event], sample, &fields)) {
        without->samples++;
        without->weight += weight;
        return 0;
    }
    /* Of the other events, only whether they have it. */
    if (sample->event == profile->event || pass->view->settings->group)
        pass->kind->add(pass, sample, &fields);
    return 0;
}

static bool has_any(const struct field_pass *pass, uint32_t event)
{
    return pass->whole[event].samples > pass->without[event].samples;
}

/* The first other event with samples that have what the rows need; the shown one: there is none. */
static uint32_t other_event(const struct field_pass *pass)
{
    const struct profile *profile = pass->view->profile;
    for (uint32_t i = 0; i < profile->event_count; i++)
        if (has_any(pass, i))
            return i;
    return profile->event;
}

/* No sample has what the rows need. Returns the exit status. */
static int refuse(const struct field_pass *pass)
{
    const struct view *view = pass->view;
    const struct profile *profile = view->profile;
    const uint32_t other = other_event(pass);
    char *event = other == profile->event ? NULL
                                          : memory_print("samples of another event have a %s: use --event %s",
                                                         pass->kind->needs, profile->events[other].name);
    report_error("%s%s: no sample of the event '%s' has a %s; %s", view->paths[0],
                 view->path_count > 1 ? " and the other files" : "", profile->events[profile->event].name,
                 pass->kind->needs,
                 event                                                 ? event
                 : pass->address_field && pass->kind->remedy_for_event ? pass->kind->remedy_for_event
                                                                       : pass->kind->remedy);
    free(event);
    return 1;
}

/* ---- Text ---- */

static bool is_text(enum field_form form)
{
    return form == FORM_TEXT || form == FORM_PATH || form == FORM_FUNCTION || form == FORM_VARIABLE;
}

static void add_text(struct text_table *table, const struct field_pass *pass, const struct field_row *row,
                     size_t column)
{
    const enum field_form form = pass->kind->columns[column].form;
    const char *text = field_rows_text(&pass->rows, row->cells[column]);
    if (form == FORM_PATH) {
        text_table_cell(table, OUTPUT_DIM, text_base(text));
    } else if (form == FORM_TEXT) {
        text_table_brief(table, OUTPUT_PLAIN, "", text, brief_path);
    } else {
        const char *before = text ? NULL : field_rows_text(&pass->rows, row->cells[column - 1]);
        text_table_brief(table, OUTPUT_PLAIN, "",
                         text                                   ? text
                         : before[0] == '/' && before[1] != '/' ? "(no symbol)"
                                                                : before,
                         brief_name);
    }
}

static void add_cell(struct text_table *table, const struct field_pass *pass, const struct field_row *row,
                     size_t column)
{
    const uint64_t cell = row->cells[column];
    char text[BITS_TEXT] = "-";
    switch (pass->kind->columns[column].form) {
    case FORM_SIGNED:
        if (cell != FIELD_NONE)
            snprintf(text, sizeof(text), "%" PRId32, (int32_t)cell);
        break;
    case FORM_HEX: snprintf(text, sizeof(text), "0x%" PRIx64, cell); break;
    case FORM_BYTES: bits_page_size(text, cell); break;
    default: add_text(table, pass, row, column); return;
    }
    text_table_cell(table, OUTPUT_PLAIN, text);
}

/* Adds the figures of ROW for the columns of figure_columns(). */
static void add_figures(struct text_table *table, const struct field_pass *pass, const struct field_row *row)
{
    const struct profile *profile = pass->view->profile;
    const struct field_sum *sum = field_rows_sum(&pass->rows, row, profile->event),
                           *whole = &pass->whole[profile->event];
    char text[TEXT_AMOUNT];
    text_table_cell(table, output_heat(text_share(sum->weight, whole->weight)),
                    text_percent(text, sum->weight, whole->weight));
    if (!pass->kind->branches) {
        text_table_cell(table, OUTPUT_PLAIN,
                        text_weight(text, sum->weight, profile->events[profile->event].nanoseconds));
        text_table_cell(table, OUTPUT_PLAIN, text_count(text, sum->samples));
        return;
    }
    text_table_cell(table, OUTPUT_PLAIN, text_count(text, sum->weight));
    text_table_cell(table, OUTPUT_PLAIN, text_percent(text, row->mispredicted, row->mispredicted + row->predicted));
    if (!pass->has_cycles)
        return;
    if (row->cycle_branches)
        snprintf(text, sizeof(text), "%.1f", (double)row->cycles / (double)row->cycle_branches);
    text_table_cell(table, OUTPUT_PLAIN, row->cycle_branches ? text : "-");
}

/* The columns left of those of the kind; returns their number. */
static size_t figure_columns(const struct field_pass *pass, struct text_table_column *ret)
{
    const struct profile *profile = pass->view->profile;
    ret[0] = (struct text_table_column){"Share", true, false};
    if (!pass->kind->branches) {
        ret[1] = (struct text_table_column){profile->events[profile->event].nanoseconds ? "Time" : "Weight", true,
                                            false};
        ret[2] = (struct text_table_column){"Samples", true, false};
        return 3;
    }
    ret[1] = (struct text_table_column){"Branches", true, false};
    ret[2] = (struct text_table_column){"Mispredicted", true, false};
    ret[3] = (struct text_table_column){"Cycles", true, false};
    return pass->has_cycles ? 4 : 3;
}

/* With --group: a share for each of EVENTS[COUNT]. */
static void add_shares(struct text_table *table, const struct field_pass *pass, const struct field_row *row,
                       const uint32_t *events, uint32_t count)
{
    char text[TEXT_AMOUNT];
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t weight = field_rows_sum(&pass->rows, row, events[i])->weight,
                       whole = pass->whole[events[i]].weight;
        text_table_cell(table, output_heat(text_share(weight, whole)), text_percent(text, weight, whole));
    }
}

/* The number of rows that --top and --cum show; USUAL: without them. */
static size_t count_shown(const struct field_pass *pass, uint64_t usual, struct rows_limits *ret_limits)
{
    const struct settings *settings = pass->view->settings;
    const uint32_t event = pass->view->profile->event;
    const uint64_t limit = rows_limit(settings, usual);
    uint64_t sum = 0;
    size_t shown = 0;
    *ret_limits = (struct rows_limits){0};
    while (shown < pass->rows.count && !ret_limits->top && !ret_limits->cum) {
        sum += field_rows_sum(&pass->rows, &pass->rows.rows[shown++], event)->weight;
        ret_limits->top = shown >= limit;
        ret_limits->cum = settings->cum > 0 && text_share(sum, pass->whole[event].weight) >= settings->cum;
    }
    return shown;
}

/* The rows after the first SHOWN. */
static struct rows_left rows_after(const struct field_pass *pass, size_t shown, const struct rows_limits *limits)
{
    const uint32_t event = pass->view->profile->event;
    struct rows_left left = {
        .one = pass->kind->one,
        .many = pass->kind->many,
        .count = pass->rows.count - shown,
        .whole = pass->whole[event].weight,
        .limits = *limits,
    };
    for (size_t i = shown; i < pass->rows.count; i++)
        left.weight += field_rows_sum(&pass->rows, &pass->rows.rows[i], event)->weight;
    return left;
}

static void print_table(struct field_pass *pass, const uint32_t *events, uint32_t count)
{
    const struct field_kind *kind = pass->kind;
    const bool group = pass->view->settings->group;
    struct text_table_column *columns = memory_new(MOST_FIGURES + (size_t)count + kind->column_count, sizeof(*columns));
    struct rows_limits limits;
    const size_t figures = group ? count : figure_columns(pass, columns), shown = count_shown(pass, USUAL_TOP, &limits);
    for (uint32_t i = 0; group && i < count; i++)
        columns[i] = (struct text_table_column){pass->view->profile->events[events[i]].name, true, false};
    for (size_t i = 0; i < kind->column_count; i++)
        columns[figures + i] = (struct text_table_column){kind->columns[i].head, !is_text(kind->columns[i].form),
                                                          kind->columns[i].shrinks};
    struct text_table *table = text_table_new(columns, figures + kind->column_count, pass->view->output->utf8);
    for (size_t i = 0; i < shown; i++) {
        if (group)
            add_shares(table, pass, &pass->rows.rows[i], events, count);
        else
            add_figures(table, pass, &pass->rows.rows[i]);
        for (size_t column = 0; column < kind->column_count; column++)
            add_cell(table, pass, &pass->rows.rows[i], column);
    }
    text_table_print(table, pass->view->output, true);
    text_table_free(table);
    free(columns);
    const struct rows_left left = rows_after(pass, shown, &limits);
    rows_print_more(pass->view->output, pass->view->settings, &left);
}

static void print_without(const struct field_pass *pass, uint32_t event)
{
    const struct field_sum *whole = &pass->whole[event], *without = &pass->without[event];
    const bool group = pass->view->settings->group, branches = pass->kind->branches;
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT];
    if (!without->samples)
        return;
    char *line = memory_print(
        "%s%s%s (%s) %s no %s", group ? pass->view->profile->events[event].name : "", group ? ": " : "",
        text_plural(number, without->samples, "sample", "samples"),
        text_percent(share, branches ? without->samples : without->weight, branches ? whole->samples : whole->weight),
        without->samples == 1 ? "has" : "have", pass->kind->needs);
    output_wrapped(pass->view->output, 2, line);
    free(line);
}

static int print_report(struct field_pass *pass)
{
    struct view *view = pass->view;
    uint32_t count, *events = event_group_events(view->profile, &count);
    heading_print(view);
    fputc('\n', view->output->to);
    print_table(pass, events, count);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || view->settings->group)
            print_without(pass, events[i]);
    fputc('\n', view->output->to);
    coverage_print(view);
    free(events);
    return 0;
}

/* ---- JSON ---- */

static void put_cell(struct json *json, const struct field_pass *pass, const struct field_row *row, size_t column)
{
    const struct field_column *shown = &pass->kind->columns[column];
    const uint64_t cell = row->cells[column];
    if (is_text(shown->form))
        json_string(json, shown->member, field_rows_text(&pass->rows, cell));
    else if (cell == FIELD_NONE)
        json_null(json, shown->member);
    else if (shown->form == FORM_SIGNED)
        json_signed(json, shown->member, (int32_t)cell);
    else
        json_unsigned(json, shown->member, cell);
}

/* WITHOUT: SUM is of the samples that lack what the rows need. */
static void put_sum(struct json *json, const struct field_pass *pass, const struct field_sum *sum, uint32_t event,
                    bool without)
{
    const bool branches = pass->kind->branches;
    if (!branches || without)
        json_unsigned(json, "samples", sum->samples);
    if (branches && without)
        return;
    json_unsigned(json, branches ? "branches" : "weight", sum->weight);
    json_number(json, "percent", text_share(sum->weight, pass->whole[event].weight));
}

static void put_events(struct json *json, const struct field_pass *pass, const struct field_row *row)
{
    const struct profile *profile = pass->view->profile;
    uint32_t count, *events = event_group_events(profile, &count);
    json_list(json, "events");
    for (uint32_t i = 0; i < count; i++) {
        json_object(json, NULL);
        json_string(json, "event", profile->events[events[i]].name);
        put_sum(json, pass, row ? field_rows_sum(&pass->rows, row, events[i]) : &pass->without[events[i]], events[i],
                !row);
        json_end_object(json);
    }
    json_end_list(json);
    free(events);
}

static void put_row(struct json *json, const struct field_pass *pass, const struct field_row *row)
{
    const uint32_t event = pass->view->profile->event;
    json_object(json, NULL);
    for (size_t i = 0; i < pass->kind->column_count; i++)
        put_cell(json, pass, row, i);
    put_sum(json, pass, field_rows_sum(&pass->rows, row, event), event, false);
    if (pass->kind->branches) {
        json_unsigned(json, "predicted", row->predicted);
        json_unsigned(json, "mispredicted", row->mispredicted);
        json_unsigned(json, "cycles", row->cycles);
        json_unsigned(json, "cycle_branches", row->cycle_branches);
    }
    if (pass->view->settings->group)
        put_events(json, pass, row);
    json_end_object(json);
}

static void put_members(void *context, struct json *json)
{
    const struct field_pass *pass = context;
    const uint32_t event = pass->view->profile->event;
    struct rows_limits limits;
    const size_t shown = count_shown(pass, SETTINGS_ALL, &limits);
    json_list(json, pass->kind->member);
    for (size_t i = 0; i < shown; i++)
        put_row(json, pass, &pass->rows.rows[i]);
    json_end_list(json);
    const struct rows_left left = rows_after(pass, shown, &limits);
    rows_json_left_out(json, pass->view, pass->kind->member, left.count, left.weight, left.whole);
    json_object(json, pass->kind->missing_member);
    put_sum(json, pass, &pass->without[event], event, true);
    if (pass->view->settings->group)
        put_events(json, pass, NULL);
    json_end_object(json);
}

static int print_document(struct field_pass *pass)
{
    struct view *view = pass->view;
    view_symbolize(view);
    view->members = put_members;
    view->members_context = pass;
    int status = view_document(view, view->settings->tasks != TASKS_TOGETHER);
    view->members = NULL;
    return status;
}

/* ---- The view ---- */

static void release(struct field_pass *pass)
{
    field_rows_release(&pass->rows);
    map_release(&pass->ends.keys);
    free(pass->ends.list);
    free(pass->whole);
    free(pass->without);
}

static int show(struct field_pass *pass)
{
    const struct view *view = pass->view;
    const struct settings *settings = view->settings;
    const uint32_t event = view->profile->event;
    bool is_cell_text[FIELD_CELLS] = {false}, samples = false, any = false;
    for (uint32_t i = 0; i < view->profile->event_count; i++) {
        samples |= pass->whole[i].samples && (i == event || settings->group);
        any |= has_any(pass, i) && (i == event || settings->group);
    }
    if (!samples && (settings->dsos.count || settings->symbols.count))
        return suggest_refuse(pass->view);
    if (samples && !any)
        return refuse(pass);
    for (size_t i = 0; i < pass->kind->column_count; i++)
        is_cell_text[i] = is_text(pass->kind->columns[i].form);
    field_rows_sort(&pass->rows, event, is_cell_text);
    if (settings->json)
        return print_document(pass);
    if (samples)
        return print_report(pass);
    heading_print(pass->view);
    heading_print_no_samples(pass->view);
    fputc('\n', view->output->to);
    coverage_print(pass->view);
    return 0;
}

int field_report(struct view *view)
{
    const uint32_t events = view->profile->event_count;
    struct field_pass pass = {
        .view = view,
        .kind = field_kind_of(view->settings->by),
        .whole = memory_new((size_t)events + 1, sizeof(*pass.whole)),
        .without = memory_new((size_t)events + 1, sizeof(*pass.without)),
    };
    field_rows_init(&pass.rows, pass.kind->column_count, view->settings->group ? events : 1);
    int status = profile_samples(view->profile, take_sample, &pass);
    if (status < 0)
        report_error("the samples could not be read a second time: %s", strerror(-status));
    status = status < 0 ? 1 : show(&pass);
    release(&pass);
    return status;
}
