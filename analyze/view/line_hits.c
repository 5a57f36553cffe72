/* SPDX-License-Identifier: MIT */
#include "analyze/view/line_hits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/grid.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/order.h"
#include "analyze/view/rows.h"
#include "analyze/view/text.h"

#define MOST_LACKS 5

struct row {
    uint32_t key; /* number of a line or a function of struct lines */
    uint64_t self_samples, self_weight, total_samples, total_weight, stamp;
};

struct sum {
    struct lines *lines;
    bool by_line;
    struct row *rows;
    size_t count, capacity;
    struct map keys;
    uint64_t weight, stamp;
};

bool line_hits_wanted(int by)
{
    return by == BY_LINE || by == BY_INLINE;
}

static struct row *row_of(struct sum *sum, const struct lines_part *part)
{
    uint32_t key = sum->by_line ? part->line : part->function;
    uint32_t index = map_add(&sum->keys, key, 0);
    if (index == sum->count) {
        sum->rows = memory_grow(sum->rows, &sum->capacity, sum->count + 1, sizeof(*sum->rows));
        sum->rows[sum->count++] = (struct row){.key = key};
    }
    return &sum->rows[index];
}

static void add(struct sum *sum, const struct profile *profile, const struct profile_entry *entry)
{
    const struct profile_stack *stack = &profile->stacks[entry->stack];
    sum->weight += entry->weight;
    sum->stamp++;
    for (uint32_t i = 0; i < stack->depth; i++) {
        uint32_t parts;
        const struct lines_part *part = lines_frame(sum->lines, stack->frames[i], &parts);
        for (uint32_t j = 0; j < parts; j++) {
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
    return sum->by_line ? lines_order(sum->lines, a->key, b->key) : lines_order_functions(sum->lines, a->key, b->key);
}

static int by_total(const void *left, const void *right, void *context)
{
    const struct row *a = left, *b = right;
    int order = order_larger(a->total_weight, b->total_weight);
    return order ? order : by_self(left, right, context);
}

static bool has_filters(const struct settings *settings)
{
    return settings->objects.count || settings->symbols.count;
}

/* KEY: of a line or of a function, as the rows are. */
static bool is_wanted(const struct view *view, uint32_t key)
{
    const struct settings *settings = view->settings;
    if (!has_filters(settings))
        return true;
    if (settings->by == BY_LINE) {
        struct lines_line line = lines_line(view->lines, key);
        return select_place(settings, line.object, line.symbol);
    }
    struct lines_function function = lines_function(view->lines, key);
    return select_place(settings, function.object, function.symbol);
}

bool line_hits_find(const struct view *view, const uint32_t *entries, uint32_t count)
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
};

/* Adds up, sorts, and leaves only the rows that are shown. */
static struct sum sum_up(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit,
                         struct left *ret_left)
{
    struct sum sum = {.lines = view->lines, .by_line = view->settings->by == BY_LINE};
    bool total = view->settings->sort == SORT_TOTAL;
    double cum = view->settings->cum;
    uint64_t cumulated = 0;
    size_t shown = 0;
    *ret_left = (struct left){0};
    for (uint32_t i = 0; i < count; i++)
        add(&sum, view->profile, &view->profile->entries[entries[i]]);
    if (sum.count)
        qsort_r(sum.rows, sum.count, sizeof(*sum.rows), total ? by_total : by_self, &sum);
    for (size_t i = 0; i < sum.count; i++) {
        if (!is_wanted(view, sum.rows[i].key))
            continue;
        if (shown >= limit || (cum > 0 && shown && text_share(cumulated, sum.weight) >= cum)) {
            ret_left->count++;
            ret_left->weight += sum.rows[i].self_weight;
            continue;
        }
        cumulated += sum.rows[i].self_weight;
        sum.rows[shown++] = sum.rows[i];
    }
    sum.count = shown;
    return sum;
}

static void sum_release(struct sum *sum)
{
    free(sum->rows);
    map_release(&sum->keys);
}

/* "a.c:12", "a.c" for code of no line, or the object where nothing is known. */
static char *line_text(const struct lines_line *line)
{
    if (!line->file)
        return memory_print("%s (no line)", text_base(line->object));
    return line->number ? memory_print("%s:%" PRIu32, line->file, line->number) : memory_print("%s:?", line->file);
}

static void add_label(struct grid *grid, const struct sum *sum, const struct row *row)
{
    if (sum->by_line) {
        struct lines_line line = lines_line(sum->lines, row->key);
        char *text = line_text(&line);
        grid_cell(grid, OUTPUT_PLAIN, text);
        grid_cell(grid, OUTPUT_DIM, line.symbol);
        free(text);
        return;
    }
    struct lines_function function = lines_function(sum->lines, row->key);
    char *text = memory_print("%s%s", function.symbol, function.inlined ? " (inlined)" : "");
    grid_cell(grid, OUTPUT_DIM, text_base(function.object));
    grid_cell(grid, OUTPUT_PLAIN, text);
    free(text);
}

static void print_left(struct view *view, const struct sum *sum, const struct left *left)
{
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT];
    if (!left->count)
        return;
    output_color(view->output, OUTPUT_DIM);
    fprintf(view->output->to, "and %s more with %s together; --top all shows all\n",
            text_plural(number, left->count, sum->by_line ? "line" : "function", sum->by_line ? "lines" : "functions"),
            text_percent(share, left->weight, sum->weight));
    output_color(view->output, OUTPUT_PLAIN);
}

void line_hits_print(struct view *view, const uint32_t *entries, uint32_t count, uint64_t limit)
{
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    struct left left;
    struct sum sum = sum_up(view, entries, count, limit, &left);
    struct grid_column columns[] = {{"Self", true},
                                    {nanoseconds ? "Time" : "Weight", true},
                                    {"Total", true},
                                    {sum.by_line ? "Line" : "Object", false, !sum.by_line},
                                    {"Function"}};
    struct grid *grid = grid_new(columns, sizeof(columns) / sizeof(columns[0]), view->output->utf8);
    for (size_t i = 0; i < sum.count; i++) {
        const struct row *row = &sum.rows[i];
        char text[TEXT_AMOUNT];
        grid_cell(grid, output_heat(text_share(row->self_weight, sum.weight)),
                  text_percent(text, row->self_weight, sum.weight));
        grid_cell(grid, OUTPUT_PLAIN, text_weight(text, row->self_weight, nanoseconds));
        grid_cell(grid, OUTPUT_PLAIN, text_percent(text, row->total_weight, sum.weight));
        add_label(grid, &sum, row);
    }
    if (sum.count)
        grid_print(grid, view->output, true);
    else
        fputs("nothing here matches the filters\n", view->output->to);
    grid_free(grid);
    print_left(view, &sum, &left);
    sum_release(&sum);
}

/* Code without lines, of one object. */
struct lack {
    const char *object, *why;
    uint64_t samples, weight, addresses;
};

struct lacks {
    struct map_strings objects;
    struct lack *list; /* by object, then heaviest first */
    size_t count, capacity;
    uint64_t weight; /* of all samples */
};

static struct lack *lack_of(struct lacks *lacks, const char *object)
{
    uint32_t index = map_strings_add(&lacks->objects, object);
    if (index == lacks->count) {
        lacks->list = memory_grow(lacks->list, &lacks->capacity, lacks->count + 1, sizeof(*lacks->list));
        lacks->list[lacks->count++] = (struct lack){.object = object};
    }
    return &lacks->list[index];
}

static int by_weight(const void *left, const void *right)
{
    const struct lack *a = left, *b = right;
    int order = order_larger(a->weight, b->weight);
    return order ? order : strcmp(a->object, b->object);
}

/* Where samples hit; callers are not counted. */
static struct lacks find_lacks(struct view *view)
{
    const struct profile *profile = view->profile;
    struct lacks lacks = {0};
    bool *seen = memory_new(profile->frame_count, sizeof(*seen));
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[view->selection->entries[i]];
        uint32_t frame = profile->stacks[entry->stack].frames[0], parts;
        const struct lines_part *part = lines_frame(view->lines, frame, &parts);
        lacks.weight += entry->weight;
        if (lines_line(view->lines, part->line).file)
            continue;
        struct lack *lack = lack_of(&lacks, names_frame(view->names, frame)->object);
        lack->samples += entry->samples;
        lack->weight += entry->weight;
        lack->addresses += !seen[frame];
        lack->why = lines_why(view->lines, frame);
        seen[frame] = true;
    }
    free(seen);
    map_strings_release(&lacks.objects);
    if (lacks.count)
        qsort(lacks.list, lacks.count, sizeof(*lacks.list), by_weight);
    return lacks;
}

static void print_lack(struct view *view, const struct lacks *lacks, const struct lack *lack, const char *what)
{
    char share[TEXT_AMOUNT], number[TEXT_AMOUNT];
    char *line = memory_print("No lines for %s of the samples (%s) in %s%s%s",
                              text_percent(share, lack->weight, lacks->weight),
                              text_plural(number, lack->addresses, "address", "addresses"), what,
                              lack->why ? ": " : "", lack->why ? lack->why : "");
    output_wrapped(view->output, 2, line);
    free(line);
}

void line_hits_print_lacks(struct view *view)
{
    struct lacks lacks = find_lacks(view);
    struct lack rest = {0};
    for (size_t i = 0; i < lacks.count; i++) {
        if (i < MOST_LACKS) {
            print_lack(view, &lacks, &lacks.list[i], lacks.list[i].object);
            continue;
        }
        rest.weight += lacks.list[i].weight;
        rest.addresses += lacks.list[i].addresses;
    }
    if (rest.addresses) {
        char number[TEXT_AMOUNT];
        text_plural(number, lacks.count - MOST_LACKS, "more object", "more objects");
        print_lack(view, &lacks, &rest, number);
    }
    free(lacks.list);
}

static void row_json(struct json *json, const struct sum *sum, const struct row *row)
{
    json_object(json, NULL);
    if (sum->by_line) {
        struct lines_line line = lines_line(sum->lines, row->key);
        json_string(json, "file", line.file);
        if (line.file && line.number)
            json_unsigned(json, "line", line.number);
        else
            json_null(json, "line");
        json_string(json, "symbol", line.symbol);
        json_string(json, "dso", line.object);
    } else {
        struct lines_function function = lines_function(sum->lines, row->key);
        json_string(json, "symbol", function.symbol);
        json_string(json, "dso", function.object);
        json_bool(json, "inlined", function.inlined);
    }
    const struct hits_row figures = {.self_samples = row->self_samples,
                                     .self_weight = row->self_weight,
                                     .total_samples = row->total_samples,
                                     .total_weight = row->total_weight};
    rows_json_figures(json, &figures, sum->weight);
    json_end_object(json);
}

void line_hits_json(struct json *json, struct view *view)
{
    const struct selection *selection = view->selection;
    struct left left;
    struct sum sum = sum_up(view, selection->entries, selection->entry_count,
                            view->settings->top ? view->settings->top : SETTINGS_ALL, &left);
    json_list(json, sum.by_line ? "lines" : "inlined");
    for (size_t i = 0; i < sum.count; i++)
        row_json(json, &sum, &sum.rows[i]);
    json_end_list(json);
    sum_release(&sum);
    struct lacks lacks = find_lacks(view);
    json_list(json, "lines_missing");
    for (size_t i = 0; i < lacks.count; i++) {
        json_object(json, NULL);
        json_string(json, "dso", lacks.list[i].object);
        json_string(json, "why", lacks.list[i].why);
        json_unsigned(json, "addresses", lacks.list[i].addresses);
        json_unsigned(json, "self_samples", lacks.list[i].samples);
        json_unsigned(json, "self_weight", lacks.list[i].weight);
        json_end_object(json);
    }
    json_end_list(json);
    free(lacks.list);
}
