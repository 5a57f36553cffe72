/* SPDX-License-Identifier: MIT */
#include "analyze/view/line_histogram.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/histogram.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/rows.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"

#define MOST_MISSING    5
#define READ_FIRST      5  /* top rows of a table, which every reader sees */
#define MOST_CALLERS    3  /* calling lines that are named below the table */
#define CALLERS_PERCENT 5  /* of everything that such a line needs */
#define SAME_PERCENT    80 /* of a line's total: another line with so much of it, that it called, explains it */
#define MOSTLY_SELF     50 /* percent of a line's total: with so much self weight it belongs to the table */
#define CALLER_COLUMNS  40

struct row {
    uint32_t key; /* number of a line or a function of struct lines */
    uint64_t self_samples, self_weight, total_samples, total_weight, stamp;
    double distance; /* sum of its distance from the leaf, in lines, times the weight */
};

struct sum {
    struct lines *lines;
    int by;
    struct row *rows;
    size_t count, capacity; /* rows from `count` up to `known` are not shown */
    size_t known;
    struct map keys;
    uint64_t weight, stamp;
};

bool line_histogram_wanted(int by)
{
    return by == BY_LINE || by == BY_INLINE || by == BY_FILE;
}

static bool has_filters(const struct settings *settings)
{
    return settings->dsos.count || settings->symbols.count;
}

/* KEY: number of a line if rows are lines, else of a function. */
static bool is_wanted(const struct view *view, uint32_t key)
{
    const struct settings *settings = view->settings;
    if (!has_filters(settings))
        return true;
    if (settings->by == BY_LINE) {
        struct lines_line line = lines_line(view->lines, key);
        return select_place(settings, line.dso, line.symbol);
    }
    struct lines_function function = lines_function(view->lines, key);
    return select_place(settings, function.dso, function.symbol);
}

static struct row *row_of(struct sum *sum, const struct lines_part *part)
{
    uint32_t key = sum->by == BY_LINE ? part->line : sum->by == BY_FILE ? part->file : part->function;
    uint32_t index = map_add(&sum->keys, key, 0);
    if (index == sum->count) {
        sum->rows = memory_grow(sum->rows, &sum->capacity, sum->count + 1, sizeof(*sum->rows));
        sum->rows[sum->count++] = (struct row){.key = key};
    }
    return &sum->rows[index];
}

/* A file gets the samples of those of its functions that the filters want; it may have many. */
static void add_entry(struct sum *sum, const struct view *view, const struct profile_entry *entry)
{
    const struct profile_stack *stack = &view->profile->stacks[entry->stack];
    uint32_t distance = 0;
    sum->weight += entry->weight;
    sum->stamp++;
    for (uint32_t i = 0; i < stack->depth; i++) {
        uint32_t parts;
        const struct lines_part *part = lines_frame(sum->lines, stack->frames[i], &parts);
        for (uint32_t j = 0; j < parts; j++, distance++) {
            if (sum->by == BY_FILE && !is_wanted(view, part[j].function))
                continue;
            struct row *row = row_of(sum, &part[j]);
            if (i == 0 && j == 0) {
                row->self_samples += entry->samples;
                row->self_weight += entry->weight;
            }
            if (row->stamp == sum->stamp)
                continue;
            row->stamp = sum->stamp;
            row->total_samples += entry->samples;
            row->total_weight += entry->weight;
            row->distance += (double)distance * (double)entry->weight;
        }
    }
}

static int by_self(const void *left, const void *right, void *context)
{
    const struct row *a = left, *b = right;
    const struct sum *sum = context;
    int order = order_larger(a->self_weight, b->self_weight);
    if (!order)
        order = order_larger(a->total_weight, b->total_weight);
    if (order)
        return order;
    if (sum->by == BY_FILE)
        return lines_order_files(sum->lines, a->key, b->key);
    return sum->by == BY_LINE ? lines_order(sum->lines, a->key, b->key)
                              : lines_order_functions(sum->lines, a->key, b->key);
}

static int by_total(const void *left, const void *right, void *context)
{
    const struct row *a = left, *b = right;
    int order = order_larger(a->total_weight, b->total_weight);
    return order ? order : by_self(left, right, context);
}

bool line_histogram_find(const struct view *view, const uint32_t *entries, uint32_t count)
{
    bool found = !has_filters(view->settings), by_line = view->settings->by == BY_LINE;
    for (uint32_t i = 0; i < count && !found; i++) {
        const struct profile_stack *stack = &view->profile->stacks[view->profile->entries[entries[i]].stack];
        for (uint32_t frame = 0; frame < stack->depth && !found; frame++) {
            uint32_t parts;
            const struct lines_part *part = lines_frame(view->lines, stack->frames[frame], &parts);
            for (uint32_t j = 0; j < parts && !found; j++)
                found = is_wanted(view, by_line ? part[j].line : part[j].function);
        }
    }
    return found;
}

struct left {
    uint64_t count, weight;
    struct rows_limits limits;
};

/* Makes the sums, sorts them, and puts the rows that are shown first. */
static struct sum sum_up(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit,
                         struct left *ret_left)
{
    struct sum sum = {.lines = view->lines, .by = view->settings->by};
    bool total = view->settings->sort == SORT_TOTAL;
    double cum = view->settings->cum;
    uint64_t cumulated = 0;
    size_t shown = 0;
    *ret_left = (struct left){0};
    for (uint32_t i = 0; i < count; i++)
        add_entry(&sum, view, &view->profile->entries[entries[i]]);
    if (sum.count)
        qsort_r(sum.rows, sum.count, sizeof(*sum.rows), total ? by_total : by_self, &sum);
    for (size_t i = 0; i < sum.count; i++) {
        if (sum.by != BY_FILE && !is_wanted(view, sum.rows[i].key))
            continue;
        const bool enough = cum > 0 && shown && text_share(cumulated, sum.weight) >= cum;
        if (shown >= limit || enough) {
            if (!ret_left->count)
                ret_left->limits = (struct rows_limits){.top = shown >= limit, .cum = enough};
            ret_left->count++;
            ret_left->weight += sum.rows[i].self_weight;
            continue;
        }
        cumulated += sum.rows[i].self_weight;
        const struct row row = sum.rows[i];
        sum.rows[i] = sum.rows[shown];
        sum.rows[shown++] = row;
    }
    sum.known = sum.count;
    sum.count = shown;
    return sum;
}

static void sum_release(struct sum *sum)
{
    free(sum->rows);
    map_release(&sum->keys);
}

/* "a.c:12", "a.c:?" for code without a line, or the DSO if nothing is known. */
static char *line_text(const struct lines_line *line)
{
    if (!line->file)
        return memory_print("%s (no line)", text_base(line->dso));
    return line->number ? memory_print("%s:%" PRIu32, line->file, line->number) : memory_print("%s:?", line->file);
}

static void add_label(struct text_table *table, const struct sum *sum, const struct row *row)
{
    if (sum->by == BY_FILE) {
        const struct lines_source file = lines_source(sum->lines, row->key);
        char *text = file.file ? memory_text(file.file) : memory_print("%s (no line)", text_base(file.dso));
        text_table_brief(table, OUTPUT_PLAIN, "", text, brief_path);
        free(text);
        return;
    }
    if (sum->by == BY_LINE) {
        struct lines_line line = lines_line(sum->lines, row->key);
        char *text = line_text(&line);
        text_table_cell(table, OUTPUT_PLAIN, text);
        text_table_brief(table, OUTPUT_DIM, "", line.symbol, brief_name);
        free(text);
        return;
    }
    struct lines_function function = lines_function(sum->lines, row->key);
    char *text = memory_print("%s%s", function.symbol, function.inlined ? " (inlined)" : "");
    text_table_cell(table, OUTPUT_DIM, text_base(function.dso));
    text_table_brief(table, OUTPUT_PLAIN, "", text, brief_name);
    free(text);
}

/* In the order of enum settings_by. */
static const struct {
    const char *one, *many, *member;
} kinds[] = {{"line", "lines", "lines"}, {"function", "functions", "inlined"}, {"file", "files", "files"}};

static void print_left(struct view *view, const struct sum *sum, const struct left *left)
{
    const struct settings *settings = view->settings;
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT];
    if (!left->count)
        return;
    output_color(view->output, OUTPUT_DIM);
    /* Totals contain each other, so they have no sum. */
    fprintf(view->output->to, "and %s more with %s%s together; %s\n",
            text_plural(number, left->count, kinds[sum->by - BY_LINE].one, kinds[sum->by - BY_LINE].many),
            settings->sort == SORT_TOTAL ? "a Self of " : "", text_percent(share, left->weight, sum->weight),
            rows_advice(settings, &left->limits, left->weight));
    output_color(view->output, OUTPUT_PLAIN);
}

/* Is it one of the top rows? */
static bool is_on_top(const struct sum *sum, uint32_t key)
{
    bool on_top = false;
    for (size_t i = 0; i < sum->count && i < READ_FIRST; i++)
        on_top |= sum->rows[i].key == key;
    return on_top;
}

/* The lines with the largest totals, whether they are shown or not, and how much each two have in common. */
struct callers {
    struct row list[HISTOGRAM_MARKED];
    size_t count;
    struct map at; /* their keys */
    uint64_t both[HISTOGRAM_MARKED][HISTOGRAM_MARKED];
};

/* Whether DSO is in a distribution's directory of libraries, or no file: not the user's program. */
static bool is_system_library(const char *dso)
{
    static const char *const directories[] = {"/lib/", "/lib64/", "/lib32/", "/usr/lib/", "/usr/lib64/", "/usr/lib32/"};
    bool found = dso[0] != '/';
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        found |= strncmp(dso, directories[i], strlen(directories[i])) == 0;
    return found;
}

/* Whether DSO is the program of a task: some programs, like cc1, are in the directories of libraries. */
static bool is_program(const struct profile *profile, const char *dso)
{
    bool found = false;
    for (uint32_t i = 0; i < profile->task_count && !found; i++)
        found = strcmp(profile->tasks[i].exec, dso) == 0;
    return found;
}

static bool is_own_line(const struct view *view, const struct row *row)
{
    const struct lines_line line = lines_line(view->lines, row->key);
    return line.file && line.number && (!is_system_library(line.dso) || is_program(view->profile, line.dso));
}

static void find_callers(struct callers *callers, const struct view *view, struct sum *sum)
{
    struct row *rows = memory_new(sum->known, sizeof(*rows));
    size_t count = 0;
    *callers = (struct callers){0};
    for (size_t i = 0; i < sum->known; i++)
        if (text_share(sum->rows[i].total_weight, sum->weight) >= CALLERS_PERCENT)
            rows[count++] = sum->rows[i];
    qsort_r(rows, count, sizeof(*rows), by_total, sum);
    for (size_t i = 0; i < count && callers->count < HISTOGRAM_MARKED; i++)
        if (is_own_line(view, &rows[i])) {
            map_add(&callers->at, rows[i].key, 0);
            callers->list[callers->count++] = rows[i];
        }
    free(rows);
}

static void add_overlap(struct callers *callers, const struct view *view, const struct profile_entry *entry)
{
    const struct profile_stack *stack = &view->profile->stacks[entry->stack];
    uint32_t marks = 0;
    for (uint32_t i = 0; i < stack->depth; i++) {
        uint32_t parts, at;
        const struct lines_part *part = lines_frame(view->lines, stack->frames[i], &parts);
        for (uint32_t j = 0; j < parts; j++)
            if ((at = map_find(&callers->at, part[j].line, 0)) != MAP_NONE)
                marks |= UINT32_C(1) << at;
    }
    for (size_t a = 0; a < callers->count; a++)
        for (size_t b = 0; b < callers->count && marks >> a & 1; b++)
            if (marks >> b & 1)
                callers->both[a][b] += entry->weight;
}

/* Does a line that is called from this one, shown or not, have nearly all of its time? */
static bool leads_on(const struct callers *callers, size_t at)
{
    const struct row *row = &callers->list[at];
    bool leads = false;
    for (size_t i = 0; i < callers->count; i++) {
        const struct row *other = &callers->list[i];
        leads |= i != at && text_share(callers->both[at][i], row->total_weight) >= SAME_PERCENT &&
                 other->distance / (double)other->total_weight < row->distance / (double)row->total_weight;
    }
    return leads;
}

/* "step.c:37 (step) 79.08 %"; owned by the caller. */
static char *caller_text(const struct view *view, const struct sum *sum, const struct row *row)
{
    struct lines_line line = lines_line(view->lines, row->key);
    char share[TEXT_AMOUNT], *place = line_text(&line), *clean = text_clean(line.symbol, view->output->utf8);
    char *name = brief_name(clean, CALLER_COLUMNS, view->output->utf8);
    char *text = memory_print("%s (%s) %s", place, name, text_percent(share, row->total_weight, sum->weight));
    free(name);
    free(clean);
    free(place);
    return text;
}

/* Prints lines of the program that have little self weight, and so are not on top, but call those that are. */
static void print_callers(struct view *view, struct sum *sum, const uint32_t *entries, uint32_t count)
{
    struct callers callers;
    char *list = NULL;
    size_t shown = 0;
    find_callers(&callers, view, sum);
    for (uint32_t i = 0; i < count && callers.count; i++)
        add_overlap(&callers, view, &view->profile->entries[entries[i]]);
    for (size_t i = 0; i < callers.count && shown < MOST_CALLERS; i++) {
        const struct row *row = &callers.list[i];
        if (is_on_top(sum, row->key) || leads_on(&callers, i) ||
            text_share(row->self_weight, row->total_weight) >= MOSTLY_SELF)
            continue;
        char *text = caller_text(view, sum, row),
             *more = memory_print("%s%s%s", list ? list : "", list ? ", " : "", text);
        free(text);
        free(list);
        list = more;
        shown++;
    }
    if (list) {
        char *line = memory_print("Lines with little self time but much total time: %s; --sort=total lists all", list);
        output_wrapped(view->output, 2, line);
        free(line);
    }
    free(list);
    map_release(&callers.at);
}

#define MOST_COLUMNS 6

/* Returns their number. */
static size_t choose_columns(const struct view *view, struct text_table_column *ret)
{
    const bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    const int by = view->settings->by;
    size_t count = 0;
    ret[count++] = (struct text_table_column){"Self", true, false};
    if (view->settings->show_cum)
        ret[count++] = (struct text_table_column){"Cum", true, false};
    ret[count++] = (struct text_table_column){nanoseconds ? "Time" : "Weight", true, false};
    ret[count++] = (struct text_table_column){"Total", true, false};
    ret[count++] = (struct text_table_column){by == BY_FILE   ? "File"
                                              : by == BY_LINE ? "Line"
                                                              : "DSO",
                                              false, by == BY_INLINE};
    if (by != BY_FILE)
        ret[count++] = (struct text_table_column){"Function", false, false};
    return count;
}

void line_histogram_print(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit)
{
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    struct left left;
    struct sum sum = sum_up(view, entries, count, limit, &left);
    struct text_table_column columns[MOST_COLUMNS];
    const size_t column_count = choose_columns(view, columns);
    struct text_table *table = text_table_new(columns, column_count, view->output->utf8);
    uint64_t cumulated = 0;
    for (size_t i = 0; i < sum.count; i++) {
        const struct row *row = &sum.rows[i];
        char text[TEXT_AMOUNT];
        cumulated += row->self_weight;
        text_table_cell(table, output_heat(text_share(row->self_weight, sum.weight)),
                        text_percent(text, row->self_weight, sum.weight));
        if (view->settings->show_cum)
            text_table_cell(table, OUTPUT_PLAIN, text_percent(text, cumulated, sum.weight));
        text_table_cell(table, OUTPUT_PLAIN, text_weight(text, row->self_weight, nanoseconds));
        text_table_cell(table, OUTPUT_PLAIN, text_percent(text, row->total_weight, sum.weight));
        add_label(table, &sum, row);
    }
    if (sum.count)
        text_table_print(table, view->output, true);
    else
        fputs("nothing in this section matches the filters\n", view->output->to);
    text_table_free(table);
    print_left(view, &sum, &left);
    if (sum.by == BY_LINE && view->settings->sort == SORT_SELF && view->settings->tasks != TASKS_APART &&
        !has_filters(view->settings))
        print_callers(view, &sum, entries, count);
    sum_release(&sum);
}

/* Code without lines, of one DSO and for one reason. */
struct missing_line {
    const char *dso, *why;
    uint64_t samples, weight, addresses;
};

struct missing_lines {
    struct map_strings dsos;
    struct missing_line *list; /* by DSO, then heaviest first */
    size_t count, capacity;
    uint64_t weight; /* of all samples */
};

static struct missing_line *missing_of(struct missing_lines *all, const char *dso, const char *why)
{
    char *key = memory_print("%s\n%s", dso, why);
    uint32_t index = map_strings_add(&all->dsos, key);
    free(key);
    if (index == all->count) {
        all->list = memory_grow(all->list, &all->capacity, all->count + 1, sizeof(*all->list));
        all->list[all->count++] = (struct missing_line){.dso = dso, .why = why};
    }
    return &all->list[index];
}

/* PLT stubs come from the linker and have no source. */
static bool is_plt_stub(const char *symbol)
{
    const size_t length = strlen(symbol);
    return length > 4 && strcmp(symbol + length - 4, "@plt") == 0;
}

static int by_weight(const void *left, const void *right)
{
    const struct missing_line *a = left, *b = right;
    int order = order_larger(a->weight, b->weight);
    if (!order)
        order = strcmp(a->dso, b->dso);
    return order ? order : strcmp(a->why, b->why);
}

/* Finds the leaf frames without lines that the filters want; callers do not count. */
static struct missing_lines find_missing(struct view *view)
{
    const struct profile *profile = view->profile;
    struct missing_lines all = {0};
    const bool by_line = view->settings->by == BY_LINE;
    bool *seen = memory_new(profile->frame_count, sizeof(*seen));
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[view->selection->entries[i]];
        uint32_t frame = profile->stacks[entry->stack].frames[0], parts;
        const struct lines_part *part = lines_frame(view->lines, frame, &parts);
        all.weight += entry->weight;
        if (lines_line(view->lines, part->line).file || !is_wanted(view, by_line ? part->line : part->function))
            continue;
        const struct names_place *place = names_frame(view->names, frame);
        struct missing_line *missing = missing_of(&all, place->dso,
                                                  is_plt_stub(place->symbol) ? "PLT stubs have no source lines"
                                                                             : lines_why(view->lines, frame));
        missing->samples += entry->samples;
        missing->weight += entry->weight;
        missing->addresses += !seen[frame];
        seen[frame] = true;
    }
    free(seen);
    map_strings_release(&all.dsos);
    if (all.count)
        qsort(all.list, all.count, sizeof(*all.list), by_weight);
    return all;
}

static void print_missing(struct view *view, const struct missing_lines *all, const struct missing_line *missing,
                          const char *what)
{
    char share[TEXT_AMOUNT], number[TEXT_AMOUNT];
    char *line = memory_print("No source lines for %s of all samples (%s in %s)%s%s",
                              text_percent(share, missing->weight, all->weight),
                              text_plural(number, missing->addresses, "address", "addresses"), what,
                              missing->why ? ": " : "", missing->why ? missing->why : "");
    output_wrapped(view->output, 2, line);
    free(line);
}

void line_histogram_print_missing(struct view *view)
{
    struct missing_lines all = find_missing(view);
    struct missing_line rest = {0};
    struct map_strings dsos = {0}; /* a DSO may lack lines for several reasons */
    size_t named = 0;
    for (size_t i = 0; i < all.count; i++) {
        map_strings_add(&dsos, all.list[i].dso);
        if (i < MOST_MISSING) {
            print_missing(view, &all, &all.list[i], all.list[i].dso);
            named = dsos.count;
            continue;
        }
        rest.weight += all.list[i].weight;
        rest.addresses += all.list[i].addresses;
    }
    if (rest.addresses) {
        char number[TEXT_AMOUNT];
        text_plural(number, dsos.count - named, "more DSO", "more DSOs");
        print_missing(view, &all, &rest, dsos.count > named ? number : "the DSOs above");
    }
    map_strings_release(&dsos);
    free(all.list);
}

/* CUMULATED: the self weight of the rows up to this one; NULL: not wanted. */
static void row_json(struct json *json, const struct sum *sum, const struct row *row, const uint64_t *cumulated)
{
    json_object(json, NULL);
    if (sum->by == BY_FILE) {
        const struct lines_source file = lines_source(sum->lines, row->key);
        json_string(json, "file", file.file);
        json_string(json, "dso", file.dso);
    } else if (sum->by == BY_LINE) {
        struct lines_line line = lines_line(sum->lines, row->key);
        json_string(json, "file", line.file);
        if (line.file && line.number)
            json_unsigned(json, "line", line.number);
        else
            json_null(json, "line");
        json_string(json, "symbol", line.symbol);
        json_string(json, "dso", line.dso);
    } else {
        struct lines_function function = lines_function(sum->lines, row->key);
        json_string(json, "symbol", function.symbol);
        json_string(json, "dso", function.dso);
        json_bool(json, "inlined", function.inlined);
    }
    const struct histogram_row figures = {.self_samples = row->self_samples,
                                          .self_weight = row->self_weight,
                                          .total_samples = row->total_samples,
                                          .total_weight = row->total_weight};
    rows_json_figures(json, &figures, sum->weight);
    if (cumulated)
        json_number(json, "cum_percent", text_share(*cumulated, sum->weight));
    json_end_object(json);
}

void line_histogram_json(struct json *json, struct view *view)
{
    const struct selection *selection = view->selection;
    struct left left;
    struct sum sum = sum_up(view, selection->entries, selection->entry_count,
                            view->settings->top ? view->settings->top : SETTINGS_ALL, &left);
    const char *member = kinds[sum.by - BY_LINE].member;
    uint64_t cumulated = 0;
    json_list(json, member);
    for (size_t i = 0; i < sum.count; i++) {
        cumulated += sum.rows[i].self_weight;
        row_json(json, &sum, &sum.rows[i], view->settings->show_cum ? &cumulated : NULL);
    }
    json_end_list(json);
    rows_json_left_out(json, view, member, left.count, left.weight, sum.weight);
    sum_release(&sum);
    struct missing_lines all = find_missing(view);
    json_list(json, "lines_missing");
    for (size_t i = 0; i < all.count; i++) {
        json_object(json, NULL);
        json_string(json, "dso", all.list[i].dso);
        json_string(json, "why", all.list[i].why);
        json_unsigned(json, "addresses", all.list[i].addresses);
        json_unsigned(json, "self_samples", all.list[i].samples);
        json_unsigned(json, "self_weight", all.list[i].weight);
        json_end_object(json);
    }
    json_end_list(json);
    free(all.list);
}
