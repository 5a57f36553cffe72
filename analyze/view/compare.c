/* SPDX-License-Identifier: MIT */
#include "analyze/view/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/judge.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/versions.h"

#define LEAST_RUNS 3 /* needed to judge, on both sides together */

static size_t run_count(const struct compare *compare)
{
    return compare->runs[0] + compare->runs[1];
}

void compare_init(struct compare *compare, const size_t runs[2], bool total)
{
    *compare = (struct compare){.total = total, .runs = {runs[0], runs[1]}, .limit = INFINITY};
    compare->run_weights = memory_new(run_count(compare), sizeof(*compare->run_weights));
    map_strings_add(&compare->texts, "");
}

static void release_table(struct compare_table *table)
{
    map_release(&table->keys);
    free(table->rows);
    free(table->weights);
}

void compare_release(struct compare *compare)
{
    for (int i = 0; i < COMPARE_KINDS; i++)
        release_table(&compare->tables[i]);
    release_table(&compare->selves);
    free(compare->run_weights);
    free(compare->gone);
    versions_release(&compare->versions);
    map_strings_release(&compare->texts);
    *compare = (struct compare){0};
}

static uint32_t add_row(const struct compare *compare, struct compare_table *table, uint32_t first, uint32_t second)
{
    uint32_t index = map_add(&table->keys, first, second);
    if (index == table->count) {
        size_t runs = run_count(compare);
        table->rows = memory_grow(table->rows, &table->capacity, table->count + 1, sizeof(*table->rows));
        table->weights = memory_grow(table->weights, &table->weight_capacity, (table->count + 1) * runs,
                                     sizeof(*table->weights));
        memset(table->weights + table->count * runs, 0, runs * sizeof(*table->weights));
        table->rows[table->count++] = (struct compare_row){
            .first = first, .second = second, .weight_limit = INFINITY, .points_limit = INFINITY};
    }
    return index;
}

static uint32_t row_of(struct compare *compare, enum compare_by by, uint32_t first, uint32_t second)
{
    return add_row(compare, &compare->tables[by], first, second);
}

/* The number of TEXT, which is freed. */
static uint32_t text_of(struct compare *compare, char *text)
{
    uint32_t number = map_strings_add(&compare->texts, text);
    free(text);
    return number;
}

/* The number of the DSO or executable at PATH on SIDE. */
static uint32_t dso_of(struct compare *compare, int side, const char *path)
{
    char *name = normalize_dso(path);
    uint32_t number = map_strings_add(&compare->texts, versions_dso(&compare->versions, side, name));
    free(name);
    return number;
}

/* The profile of one run while it is added, and the rows of its frames so far. */
struct adding {
    struct compare *compare;
    struct view *view;
    int side;
    size_t run;                 /* counted over both sides */
    uint32_t *functions, *dsos; /* by frame: row + 1 */
};

static void add_to_row(struct adding *adding, struct compare_table *table, uint32_t row,
                       const struct profile_entry *entry)
{
    struct noise_sum *sum = &table->rows[row].sums[adding->side];
    sum->samples += entry->samples;
    sum->weight += entry->weight;
    table->weights[row * run_count(adding->compare) + adding->run] += entry->weight;
}

static void add_sum(struct adding *adding, enum compare_by by, uint32_t row, const struct profile_entry *entry)
{
    add_to_row(adding, &adding->compare->tables[by], row, entry);
}

/* Adds a sample once, however often the row is in its stack. */
static void add_once(struct adding *adding, enum compare_by by, uint32_t row, const struct profile_entry *entry)
{
    struct compare_row *found = &adding->compare->tables[by].rows[row];
    if (found->stamp == adding->compare->stamp)
        return;
    found->stamp = adding->compare->stamp;
    add_sum(adding, by, row, entry);
}

static struct compare_gone *find_gone(const struct compare *compare, uint32_t dso)
{
    for (size_t i = 0; i < compare->gone_count; i++)
        if (compare->gone[i].dso == dso)
            return &compare->gone[i];
    return NULL;
}

static const char *name_of(struct compare *compare, const struct names_place *place, uint32_t dso)
{
    if (find_gone(compare, dso))
        return "[functions not compared]";
    return place->named ? place->symbol : "[no symbol]";
}

/* An address without a symbol has no equal in another build: all such addresses of a DSO are one row. */
static void identify_frame(struct adding *adding, uint32_t frame)
{
    struct compare *compare = adding->compare;
    const struct settings *settings = adding->view->settings;
    const struct names_place *place = names_frame(adding->view->names, frame);
    uint32_t dso = dso_of(compare, adding->side, place->dso);
    uint32_t symbol = text_of(compare, normalize_symbol(name_of(compare, place, dso)));
    uint32_t function_row = row_of(compare, COMPARE_FUNCTION, symbol, dso);
    uint32_t dso_row = row_of(compare, COMPARE_DSO, dso, 0);
    adding->functions[frame] = function_row + 1;
    adding->dsos[frame] = dso_row + 1;
    if (select_place(settings, place->dso, place->symbol))
        compare->tables[COMPARE_FUNCTION].rows[function_row].wanted = true;
    if (select_dso(settings, place->dso))
        compare->tables[COMPARE_DSO].rows[dso_row].wanted = true;
}

static uint32_t command_row(struct adding *adding, const struct profile_entry *entry)
{
    struct compare *compare = adding->compare;
    const struct profile_task *task = &adding->view->profile->tasks[entry->task];
    const char *path = compare->no_executables ? "" : normalize_executable(task, entry->comm);
    const char *name = versions_command(&compare->versions, adding->side, entry->comm);
    uint32_t comm = map_strings_add(&compare->texts, name);
    uint32_t row = row_of(compare, COMPARE_COMM, comm, dso_of(compare, adding->side, path));
    compare->tables[COMPARE_COMM].rows[row].wanted = true;
    return row;
}

/* Adds a function of a report's document, which does not say in which commands it was. */
static void add_function(struct adding *adding, const struct profile_entry *entry)
{
    uint32_t frame = adding->view->profile->stacks[entry->stack].frames[0];
    if (!adding->functions[frame])
        identify_frame(adding, frame);
    add_sum(adding, COMPARE_FUNCTION, adding->functions[frame] - 1, entry);
    add_sum(adding, COMPARE_DSO, adding->dsos[frame] - 1, entry);
}

/* With --total: the self weights of functions, which add up to the whole, show how fast a run was. */
static void add_self(struct adding *adding, uint32_t function, const struct profile_entry *entry)
{
    struct compare *compare = adding->compare;
    const struct compare_row *row = &compare->tables[COMPARE_FUNCTION].rows[function];
    add_to_row(adding, &compare->selves, add_row(compare, &compare->selves, row->first, row->second), entry);
}

static void add_entry(struct adding *adding, const struct profile_entry *entry)
{
    struct compare *compare = adding->compare;
    uint32_t depth;
    const uint32_t *frames = names_stack(adding->view->names, entry->stack, &depth);
    uint32_t command = command_row(adding, entry);
    uint32_t at = row_of(compare, COMPARE_STACK, 0, command);
    bool wanted = false;
    compare->stamp++;
    add_sum(adding, COMPARE_COMM, command, entry);
    for (uint32_t i = depth; i-- > 0;) {
        uint32_t frame = frames[i];
        if (!adding->functions[frame])
            identify_frame(adding, frame);
        uint32_t function = adding->functions[frame] - 1;
        wanted |= compare->tables[COMPARE_FUNCTION].rows[function].wanted;
        at = row_of(compare, COMPARE_STACK, at + 1, function);
        if (i && !compare->total)
            continue;
        add_once(adding, COMPARE_FUNCTION, function, entry);
        add_once(adding, COMPARE_DSO, adding->dsos[frame] - 1, entry);
    }
    add_sum(adding, COMPARE_STACK, at, entry);
    if (compare->total && depth)
        add_self(adding, adding->functions[frames[0]] - 1, entry);
    compare->tables[COMPARE_STACK].rows[at].wanted |= wanted;
}

/* Why the file of FRAME's DSO cannot be used (it is gone, or another build); NULL: it can. */
static const char *why_gone(struct names *names, uint32_t frame)
{
    struct symbols_dso *dso = names_symbols(names, frame);
    const char *path = names_frame(names, frame)->dso;
    /* JIT code has no file. */
    if (!dso || names_frame(names, frame)->named || names_frame(names, frame)->kernel || path[0] != '/' ||
        path[1] == '/')
        return NULL;
    return symbols_missing(dso) & (SYMBOLS_NO_FILE | SYMBOLS_OTHER_BUILD_ID) ? symbols_why(dso) : NULL;
}

/* For a report's document: a DSO without any function name had no file when the report was written. */
static bool has_names(const struct view *view, const char *path)
{
    bool any = path[0] != '/' || path[1] == '/';
    for (uint32_t i = 0; i < view->selection->entry_count && !any; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        const struct profile_frame *frame = &view->profile->frames[view->profile->stacks[entry->stack].frames[0]];
        any = strcmp(frame->module->path, path) == 0 && strcmp(frame->module->symbol, "[no symbol]") != 0;
    }
    return any;
}

/* Why the functions of FRAME's DSO cannot be compared; NULL: they can. */
static const char *why_not_compared(const struct view *view, uint32_t frame)
{
    if (!view->profile->document)
        return why_gone(view->names, frame);
    const struct profile_module *module = view->profile->frames[frame].module;
    if (strcmp(module->symbol, "[no symbol]") != 0 || has_names(view, module->path))
        return NULL;
    return "the JSON report has no symbols of this DSO";
}

void compare_look(struct compare *compare, struct view *view, int side)
{
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        const uint32_t frame = view->profile->stacks[entry->stack].frames[0];
        const char *why = why_not_compared(view, frame);
        if (!why)
            continue;
        const uint32_t dso = dso_of(compare, side, names_frame(view->names, frame)->dso);
        struct compare_gone *gone = find_gone(compare, dso);
        if (!gone) {
            compare->gone = memory_grow(compare->gone, &compare->gone_capacity, compare->gone_count + 1,
                                        sizeof(*compare->gone));
            gone = &compare->gone[compare->gone_count++];
            *gone = (struct compare_gone){dso, why, {0}};
        }
        gone->weights[side] += entry->weight;
    }
}

void compare_add(struct compare *compare, struct view *view, int side, size_t run)
{
    struct adding adding = {.compare = compare, .view = view, .side = side};
    adding.run = (side ? compare->runs[0] : 0) + run;
    adding.functions = memory_new(names_frame_count(view->names), sizeof(*adding.functions));
    adding.dsos = memory_new(names_frame_count(view->names), sizeof(*adding.dsos));
    for (uint32_t i = 0; i < view->selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[view->selection->entries[i]];
        noise_add(&compare->sides[side], entry->samples, entry->weight);
        compare->run_weights[adding.run] += entry->weight;
        if (view->profile->document)
            add_function(&adding, entry);
        else
            add_entry(&adding, entry);
    }
    for (uint32_t i = 0; i < view->profile->command_count; i++)
        add_sum(&adding, COMPARE_COMM, command_row(&adding, &view->profile->commands[i]), &view->profile->commands[i]);
    free(adding.dsos);
    free(adding.functions);
}

bool compare_judges(const struct compare *compare)
{
    return run_count(compare) >= LEAST_RUNS;
}

static double share_of_run(const struct compare *compare, const uint64_t *weights, size_t run)
{
    uint64_t all = compare->run_weights[run];
    return all ? (double)weights[run] / (double)all : 0;
}

static void share_out(struct compare *compare, struct compare_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        struct compare_row *row = &table->rows[i];
        for (size_t run = 0; run < run_count(compare); run++) {
            int side = run >= compare->runs[0];
            double share = share_of_run(compare, table->weights + i * run_count(compare), run);
            row->shares[side] += 100 * share / (double)compare->runs[side];
        }
        row->points = row->shares[1] - row->shares[0];
    }
}

void compare_finish(struct compare *compare)
{
    noise_finish(&compare->sides[0]);
    noise_finish(&compare->sides[1]);
    for (int by = 0; by < COMPARE_KINDS; by++)
        share_out(compare, &compare->tables[by]);
    if (compare_judges(compare))
        judge_compare(compare);
}

double compare_weight(const struct compare *compare, const struct noise_sum sums[2], int side)
{
    return (double)sums[side].weight / (double)compare->runs[side];
}

double compare_weight_of_all(const struct compare *compare, int side)
{
    return (double)compare->sides[side].all.weight / (double)compare->runs[side];
}

double compare_weight_change(const struct compare *compare, const struct noise_sum sums[2])
{
    return compare_weight(compare, sums, 1) - compare_weight(compare, sums, 0);
}

static enum compare_verdict verdict_of_noise(double sigmas, const struct noise_sum sums[2])
{
    return noise_is(sigmas, sums) ? COMPARE_NOISE : COMPARE_UNKNOWN;
}

enum compare_verdict compare_weight_verdict(const struct compare *compare, const struct compare_row *row)
{
    if (!compare_judges(compare))
        return verdict_of_noise(noise_of_weight(compare->sides, row->sums), row->sums);
    bool beyond = fabs(compare_weight_change(compare, row->sums)) > row->weight_limit;
    return row->changed && beyond && !(compare->apart && row->by_points) ? COMPARE_CHANGED : COMPARE_NOISE;
}

enum compare_verdict compare_points_verdict(const struct compare *compare, const struct compare_row *row)
{
    if (!compare_judges(compare))
        return verdict_of_noise(noise_of_share(compare->sides, row->sums), row->sums);
    return row->changed && fabs(row->points) > row->points_limit ? COMPARE_CHANGED : COMPARE_NOISE;
}

bool compare_judged(const struct compare_row *row)
{
    return isfinite(row->by_points ? row->points_limit : row->weight_limit);
}

enum compare_verdict compare_verdict(const struct compare *compare)
{
    const struct noise_side *sides = compare->sides;
    const struct noise_sum sums[2] = {sides[0].all, sides[1].all};
    if (!compare_judges(compare))
        return verdict_of_noise(noise_of_weight(sides, sums), sums);
    return fabs(compare_weight_change(compare, sums)) > compare->limit && !compare->apart ? COMPARE_CHANGED
                                                                                          : COMPARE_NOISE;
}

double compare_dso_share(const struct compare *compare, uint32_t dso, int side)
{
    const struct compare_table *table = &compare->tables[COMPARE_DSO];
    const uint32_t row = map_find(&table->keys, dso, 0);
    return row == MAP_NONE ? 0 : text_share(table->rows[row].sums[side].weight, compare->sides[side].all.weight);
}

const char *compare_text(const struct compare *compare, uint32_t text)
{
    return compare->texts.texts[text];
}

struct order {
    const struct compare *compare;
    const struct compare_row *rows;
    bool by_share;
    enum compare_by by;
};

/* The size of the change, in points, or as weight of a run: computed from the points if these decided. */
static double size_of_change(const struct order *order, const struct compare_row *row)
{
    const struct compare *compare = order->compare;
    double points = fabs(row->points), weight = fabs(compare_weight_change(compare, row->sums));
    if (order->by_share)
        return points;
    return row->changed && row->by_points ? points / 100 * compare_weight_of_all(compare, 0) : weight;
}

static int order_texts(const struct compare *compare, enum compare_by by, uint32_t a, uint32_t b)
{
    const struct compare_row *x = &compare->tables[by].rows[a], *y = &compare->tables[by].rows[b];
    int order = strcmp(compare_text(compare, x->first), compare_text(compare, y->first));
    return order ? order : strcmp(compare_text(compare, x->second), compare_text(compare, y->second));
}

static uint32_t level_of(const struct compare *compare, uint32_t stack)
{
    uint32_t level = 0;
    for (const struct compare_row *rows = compare->tables[COMPARE_STACK].rows; rows[stack].first; level++)
        stack = rows[stack].first - 1;
    return level;
}

/* Compares from the command inwards: where two stacks fork, names decide. If one is the start of the other, it comes
 * first. */
static int order_stacks(const struct compare *compare, uint32_t a, uint32_t b)
{
    const struct compare_row *rows = compare->tables[COMPARE_STACK].rows;
    uint32_t x = level_of(compare, a), y = level_of(compare, b);
    int shorter = order_smaller(x, y);
    for (; x > y; x--)
        a = rows[a].first - 1;
    for (; y > x; y--)
        b = rows[b].first - 1;
    if (a == b)
        return shorter;
    while (rows[a].first != rows[b].first) {
        a = rows[a].first - 1;
        b = rows[b].first - 1;
    }
    return order_texts(compare, rows[a].first ? COMPARE_FUNCTION : COMPARE_COMM, rows[a].second, rows[b].second);
}

static int order_rows(const struct compare *compare, enum compare_by by, uint32_t a, uint32_t b)
{
    return by == COMPARE_STACK ? order_stacks(compare, a, b) : order_texts(compare, by, a, b);
}

static int by_change(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct compare_row *x = &order->rows[a], *y = &order->rows[b];
    double one = size_of_change(order, x), other = size_of_change(order, y);
    int changed = y->changed - x->changed;
    if (changed)
        return changed;
    if (one != other)
        return one < other ? 1 : -1;
    int more = order_larger(x->sums[0].weight + x->sums[1].weight, y->sums[0].weight + y->sums[1].weight);
    return more ? more : order_rows(order->compare, order->by, a, b);
}

uint32_t *compare_order(const struct compare *compare, enum compare_by by, bool by_share, size_t *ret_count)
{
    const struct compare_table *table = &compare->tables[by];
    uint32_t *list = memory_new(table->count, sizeof(*list));
    size_t count = 0;
    for (uint32_t i = 0; i < table->count; i++)
        if (table->rows[i].wanted && (table->rows[i].sums[0].samples || table->rows[i].sums[1].samples))
            list[count++] = i;
    struct order order = {compare, table->rows, by_share, by};
    if (count)
        qsort_r(list, count, sizeof(*list), by_change, &order);
    *ret_count = count;
    return list;
}
