/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/diff.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/select.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "common/report.h"

#define TOP_OF_COMMANDS 10 /* together with another table, without --top */
#define TOP_ALONE       30
#define MOST_COLUMNS    10
#define LONGEST_STACK   12  /* functions of a stack that are shown in text */
#define LEAST_GONE      1.0 /* percent of a side: less in DSOs without names is not reported */

int diff_wanted(const struct settings *settings)
{
    return settings->diff_by_given ? settings->diff_by : DIFF_ALL;
}

struct view *diff_run(const struct view *view, int side, size_t number)
{
    return &view->runs->views[(side ? view->runs->counts[0] : 0) + number];
}

static size_t run_count(const struct view *view)
{
    return view->runs->counts[0] + view->runs->counts[1];
}

/* ---- what may be compared */

/* The name in messages of run NUMBER, counted over both sides: "A", or with several runs "run 2 of A". Owned by the
 * caller. */
static char *run_name(const struct view *view, size_t number)
{
    int side = number >= view->runs->counts[0];
    size_t of_side = number - (side ? view->runs->counts[0] : 0);
    if (view->runs->counts[side] == 1)
        return memory_text(side ? "B" : "A");
    return memory_print("run %zu of %s", of_side + 1, side ? "B" : "A");
}

static const struct profile_event *event_of(const struct view *view)
{
    return view->profile->event_count ? &view->profile->events[view->profile->event] : NULL;
}

static bool has_samples_of(const struct view *view, const char *event)
{
    for (uint32_t i = 0; i < view->profile->event_count; i++)
        if (view->profile->events[i].samples && strcmp(view->profile->events[i].name, event) == 0)
            return true;
    return false;
}

/* The events that all runs have samples of, as words for a message; owned by the caller. */
static char *common_events(const struct view *view)
{
    char *list = memory_text("");
    for (uint32_t i = 0; i < view->profile->event_count; i++) {
        const char *name = view->profile->events[i].name;
        bool all = true;
        for (size_t run = 0; run < run_count(view) && all; run++)
            all = has_samples_of(&view->runs->views[run], name);
        if (!all)
            continue;
        char *longer = memory_print("%s%s%s", list, *list ? ", " : "", name);
        free(list);
        list = longer;
    }
    return list;
}

static int refuse_events(const struct view *view, size_t number)
{
    char *common = common_events(view), *first = run_name(view, 0), *run = run_name(view, number);
    const char *before = event_of(view)->name, *after = event_of(&view->runs->views[number])->name;
    if (*common)
        report_error("%s shows %s and %s shows %s, which cannot be compared; all runs have %s "
                     "(choose with --event)",
                     first, before, run, after, common);
    else
        report_error("%s shows %s and %s shows %s, which cannot be compared; record both with the same event "
                     "(pinject-run -e NAME)",
                     first, before, run, after);
    free(run);
    free(first);
    free(common);
    return -1;
}

static int refuse_kernel(const struct view *view, size_t number)
{
    const struct profile_event *before = event_of(view);
    char *first = run_name(view, 0), *run = run_name(view, number);
    report_error("%s was sampled with kernel code in %s and without kernel code in %s; record both as the same user "
                 "with the same settings, or both with -e %s:u",
                 before->name, before->exclude_kernel ? run : first, before->exclude_kernel ? first : run,
                 before->name);
    free(run);
    free(first);
    return -1;
}

static int check_event(const struct view *view, size_t number)
{
    const struct view *run = &view->runs->views[number];
    const struct profile_event *event = event_of(run), *first = event_of(view);
    if (!event || !event->samples) {
        char *name = run_name(view, number);
        report_error("%s has no samples; 'panalyze counts' shows what was counted there", name);
        free(name);
        return -1;
    }
    if (strcmp(event->name, first->name) != 0 || event->nanoseconds != first->nanoseconds)
        return refuse_events(view, number);
    return event->exclude_kernel != first->exclude_kernel ? refuse_kernel(view, number) : 0;
}

static bool finds_selected(const struct view *view)
{
    return select_finds(view->settings, view->profile, view->names, view->selection->entries,
                        view->selection->entry_count);
}

/* A JSON report has no data for some options. */
static int check_document(const struct view *view, size_t number)
{
    const struct view *run = &view->runs->views[number];
    const struct settings *settings = view->settings;
    const char *option = settings->total                                                      ? "--total"
                         : settings->inlined                                                  ? "--inline"
                         : settings->comms.count                                              ? "--comm"
                         : settings->command_lines.count                                      ? "--command-line"
                         : settings->no_demangle                                              ? "--no-demangle"
                         : settings->diff_by_given && settings->diff_by == (int)COMPARE_STACK ? "--by stack"
                                                                                              : NULL;
    if (!run->profile->document || !option)
        return 0;
    report_error("%s: a JSON report has no data for %s; compare the result files instead", run->paths[0], option);
    return -1;
}

static int check_runs(struct view *view)
{
    bool any_sample = false, any_found = false;
    for (size_t i = 0; i < run_count(view); i++) {
        if (check_document(view, i) < 0 || check_event(view, i) < 0)
            return -1;
        any_sample |= view->runs->views[i].selection->total_samples != 0;
    }
    if (!any_sample) {
        report_error("no sample of either side matches the filters; 'panalyze tree' lists the tasks");
        return -1;
    }
    for (size_t i = 0; i < run_count(view); i++) {
        view_symbolize(&view->runs->views[i]);
        any_found |= finds_selected(&view->runs->views[i]);
    }
    if (any_found)
        return 0;
    suggest_refuse(view);
    return -1;
}

/* ---- text */

/* "; other programs used 0.05 to 0.90 of 2 CPUs", or ""; owned by the caller. */
static char *load_text(const struct view *view, int side)
{
    double least, most;
    if (!diff_load(view, side, &least, &most))
        return memory_text("");
    /* The runs may be of several machines. */
    uint32_t cpus = diff_run(view, side, 0)->profile->session.cpus;
    for (size_t i = 1; i < view->runs->counts[side]; i++)
        cpus = diff_run(view, side, i)->profile->session.cpus == cpus ? cpus : 0;
    char *busy = heading_others_text(least, most, cpus), *text = memory_print("; %s", busy);
    free(busy);
    return text;
}

/* The facts of a side with one run; owned by the caller. */
static char *facts_of_run(const struct view *run)
{
    char when[64], took[TEXT_AMOUNT];
    uint64_t duration = heading_duration(run->profile);
    char *event = heading_event(run);
    heading_when(when, sizeof(when), run->profile->session.start_realtime_ns);
    char *facts = memory_print("%s%s%s%s%s", event, *when ? "; " : "", when, duration ? ", took " : "",
                               duration ? text_time(took, duration) : "");
    free(event);
    return facts;
}

/* ", took 1.20 s to 1.30 s", for the runs of a side; "" if one has no times; owned by the caller. */
static char *duration_text(const struct view *view, int side)
{
    uint64_t least = UINT64_MAX, most = 0;
    char from[TEXT_AMOUNT], to[TEXT_AMOUNT];
    for (size_t i = 0; i < view->runs->counts[side]; i++) {
        const uint64_t duration = heading_duration(diff_run(view, side, i)->profile);
        least = duration < least ? duration : least;
        most = duration > most ? duration : most;
    }
    if (!least)
        return memory_text("");
    const bool same = strcmp(text_time(from, least), text_time(to, most)) == 0;
    return memory_print(", took %s%s%s", from, same ? "" : " to ", same ? "" : to);
}

/* The facts of a side with several runs; owned by the caller. */
static char *facts_of_runs(const struct view *view, const struct compare *compare, int side)
{
    const uint64_t *weights = compare->run_weights + (side ? compare->runs[0] : 0);
    const struct profile_event *event = event_of(view);
    uint64_t least = UINT64_MAX, most = 0, lost = 0, incomplete = 0, unwritten = 0;
    char *duration = duration_text(view, side);
    for (size_t i = 0; i < compare->runs[side]; i++) {
        least = weights[i] < least ? weights[i] : least;
        most = weights[i] > most ? weights[i] : most;
        const struct profile_session *session = &diff_run(view, side, i)->profile->session;
        lost += diff_run(view, side, i)->selection->lost;
        incomplete += session->incomplete_files;
        unwritten += session->unwritten_samples;
    }
    char from[TEXT_AMOUNT], to[TEXT_AMOUNT], samples[TEXT_AMOUNT], missing[TEXT_AMOUNT];
    char *missed = heading_unwritten(incomplete, unwritten);
    char *facts = memory_print("%zu runs, each with %s to %s of %s%s; %s in all, %s lost%s%s", compare->runs[side],
                               text_weight(from, least, event->nanoseconds), text_weight(to, most, event->nanoseconds),
                               event->name, duration,
                               text_plural(samples, compare->sides[side].all.samples, "sample", "samples"),
                               lost ? text_count(missing, lost) : "none", *missed ? "; " : "", missed);
    free(missed);
    free(duration);
    return facts;
}

static void print_side(struct view *view, const struct compare *compare, int side)
{
    const struct view *first = diff_run(view, side, 0);
    char *command = heading_command(first->profile);
    char *line = memory_print("%s: %s", side ? "B" : "A", command), *clean = text_clean(line, view->output->utf8);
    if (view->output->width)
        text_cut(clean, (size_t)view->output->width, view->output->utf8);
    output_color(view->output, OUTPUT_BOLD);
    fputs(clean, view->output->to);
    output_color(view->output, OUTPUT_PLAIN);
    fputs("\n   ", view->output->to);
    free(clean);
    free(line);
    char *facts = compare->runs[side] == 1 ? facts_of_run(first) : facts_of_runs(view, compare, side);
    char *load = load_text(view, side);
    line = memory_print("%s%s", facts, load);
    output_wrapped(view->output, 3, line);
    free(line);
    free(load);
    free(facts);
    free(command);
}

static enum output_color color_of(enum compare_verdict verdict, double change)
{
    if (verdict == COMPARE_NOISE)
        return OUTPUT_DIM;
    return verdict == COMPARE_UNKNOWN ? OUTPUT_PLAIN : change > 0 ? OUTPUT_HOT : OUTPUT_WARM;
}

/* Both figures of a row get the same mark: whether it has changed. If times are not judged, they are not certain. */
static enum compare_verdict mark_of(const struct compare *compare, const struct compare_row *row, bool points)
{
    if (!compare_judges(compare))
        return points ? compare_points_verdict(compare, row) : compare_weight_verdict(compare, row);
    return row->changed && (points || !compare->apart) ? COMPARE_CHANGED : COMPARE_NOISE;
}

/* Of the two limits, only that of the deciding figure is shown. */
static void add_sums(struct text_table *table, const struct view *view, const struct compare *compare,
                     const struct compare_row *row)
{
    bool nanoseconds = event_of(view)->nanoseconds;
    enum compare_verdict weight = mark_of(compare, row, false), points = mark_of(compare, row, true);
    double change = compare_weight_change(compare, row->sums);
    char text[TEXT_AMOUNT + 2];
    text_table_cell(table, color_of(weight, change), diff_change_text(text, change, nanoseconds, weight));
    if (compare_judges(compare))
        text_table_cell(table, OUTPUT_DIM,
                        row->by_points || !compare_judged(row) ? ""
                                                               : diff_limit_text(text, row->weight_limit, nanoseconds));
    for (int i = 0; i < 2; i++)
        text_table_cell(table, OUTPUT_PLAIN,
                        row->sums[i].samples
                            ? text_weight(text, diff_rounded(compare_weight(compare, row->sums, i)), nanoseconds)
                            : "-");
    snprintf(text, sizeof(text), "%s%+.2f", diff_mark(points), row->points);
    text_table_cell(table, color_of(points, row->points), text);
    if (compare_judges(compare)) {
        snprintf(text, sizeof(text), "%.2f", row->points_limit);
        text_table_cell(table, OUTPUT_DIM, row->by_points && compare_judged(row) ? text : "");
    }
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), "%.2f %%", row->shares[i]);
        text_table_cell(table, OUTPUT_PLAIN, text);
    }
}

/* "leaf < caller < caller  (comm)"; owned by the caller. */
static char *stack_text(const struct compare *compare, const struct compare_row *row)
{
    const struct compare_row *stacks = compare->tables[COMPARE_STACK].rows;
    const struct compare_row *functions = compare->tables[COMPARE_FUNCTION].rows;
    char *text = memory_text("");
    for (int i = 0; row->first; row = &stacks[row->first - 1], i++) {
        if (i > LONGEST_STACK)
            continue;
        const char *symbol = i == LONGEST_STACK ? "..." : compare_text(compare, functions[row->second].first);
        char *longer = memory_print("%s%s%s", text, i ? " < " : "", symbol);
        free(text);
        text = longer;
    }
    const struct compare_row *command = &compare->tables[COMPARE_COMM].rows[row->second];
    char *whole = memory_print("%s < [%s]", text, compare_text(compare, command->first));
    free(text);
    return whole;
}

char *diff_row_name(const struct compare *compare, enum compare_by by, const struct compare_row *row)
{
    if (by == COMPARE_STACK) /* its `first` and `second` are not numbers of texts */
        return stack_text(compare, row);
    const char *name = compare_text(compare, row->first);
    const char *executable = by == COMPARE_COMM ? compare_text(compare, row->second) : "";
    return *executable && strcmp(executable, name) != 0 ? memory_print("%s (%s)", name, executable) : memory_text(name);
}

static void add_label(struct text_table *table, const struct compare *compare, enum compare_by by,
                      const struct compare_row *row)
{
    char *name = diff_row_name(compare, by, row);
    if (by == COMPARE_FUNCTION)
        text_table_cell(table, OUTPUT_DIM, compare_text(compare, row->second));
    text_table_cell(table, OUTPUT_PLAIN, name);
    free(name);
}

/* The sum of the rows with too few samples to be judged. */
struct folded {
    size_t count;
    struct noise_sum sums[2];
};

/* Removes those rows from ORDER[COUNT] and returns the number left: all of them, if none can be judged. */
static size_t fold_unjudged(const struct view *view, const struct compare *compare, enum compare_by by, uint32_t *order,
                            size_t count, struct folded *ret)
{
    size_t judged = 0, kept = 0;
    *ret = (struct folded){0};
    for (size_t i = 0; i < count; i++)
        judged += compare_judged(&compare->tables[by].rows[order[i]]);
    if (!judged || view->settings->top || !compare_judges(compare))
        return count;
    for (size_t i = 0; i < count; i++) {
        const struct compare_row *row = &compare->tables[by].rows[order[i]];
        if (compare_judged(row)) {
            order[kept++] = order[i];
            continue;
        }
        ret->count++;
        for (int side = 0; side < 2; side++)
            ret->sums[side].weight += row->sums[side].weight;
    }
    return kept;
}

static void print_folded(struct view *view, const struct compare *compare, enum compare_by by,
                         const struct folded *folded)
{
    bool nanoseconds = event_of(view)->nanoseconds;
    char number[TEXT_AMOUNT], from[TEXT_AMOUNT], to[TEXT_AMOUNT], shares[2][TEXT_AMOUNT];
    if (!folded->count)
        return;
    for (int side = 0; side < 2; side++)
        text_percent(shares[side], folded->sums[side].weight, compare->sides[side].all.weight);
    text_weight(from, diff_rounded(compare_weight(compare, folded->sums, 0)), nanoseconds);
    text_weight(to, diff_rounded(compare_weight(compare, folded->sums, 1)), nanoseconds);
    text_plural(number, folded->count, diff_one_row[by], diff_many_rows[by]);
    char *line = memory_print("Not shown: %s with too few samples to be judged, together %s of A (%s) and %s of B "
                              "(%s); --top all shows them",
                              number, shares[0], from, shares[1], to);
    diff_note(view, line);
    free(line);
}

static void print_more_rows(struct view *view, const struct compare *compare, enum compare_by by, const uint32_t *order,
                            size_t from, size_t count)
{
    char number[TEXT_AMOUNT], loud_number[TEXT_AMOUNT];
    uint64_t loud = 0;
    for (size_t i = from; i < count; i++) {
        const struct compare_row *row = &compare->tables[by].rows[order[i]];
        loud += row->changed || compare_weight_verdict(compare, row) == COMPARE_UNKNOWN;
    }
    if (from < count)
        fprintf(view->output->to, "%s more, %s of them beyond the noise; --top all shows all\n",
                text_plural(number, count - from, diff_one_row[by], diff_many_rows[by]),
                loud ? text_count(loud_number, loud) : "none");
}

/* With several runs "Time A" is their mean. */
static struct text_table *new_table(const struct view *view, const struct compare *compare, enum compare_by by,
                                    struct text_table_column *columns)
{
    static const char *const heads[] = {"Command", "DSO", "DSO", "Stack"};
    const char *limit = diff_plus_minus(view);
    bool nanoseconds = event_of(view)->nanoseconds;
    size_t count = 0;
    columns[count++] = (struct text_table_column){"Change", true, false};
    if (compare_judges(compare))
        columns[count++] = (struct text_table_column){limit, true, false};
    columns[count++] = (struct text_table_column){nanoseconds ? "Time A" : "Weight A", true, false};
    columns[count++] = (struct text_table_column){nanoseconds ? "Time B" : "Weight B", true, false};
    columns[count++] = (struct text_table_column){"Points", true, false};
    if (compare_judges(compare))
        columns[count++] = (struct text_table_column){limit, true, false};
    columns[count++] = (struct text_table_column){"Share A", true, false};
    columns[count++] = (struct text_table_column){"Share B", true, false};
    columns[count++] = (struct text_table_column){heads[by], false, true};
    if (by == COMPARE_FUNCTION)
        columns[count++] = (struct text_table_column){"Function", false, true};
    return text_table_new(columns, count, view->output->utf8);
}

static void print_table(struct view *view, const struct compare *compare, enum compare_by by, uint64_t usual)
{
    struct text_table_column columns[MOST_COLUMNS];
    struct text_table *table = new_table(view, compare, by, columns);
    size_t count, shown = 0;
    uint32_t *order = compare_order(compare, by, view->settings->diff_sort == DIFF_BY_SHARE, &count);
    struct folded folded;
    count = fold_unjudged(view, compare, by, order, count, &folded);
    uint64_t limit = view->settings->top ? view->settings->top : usual;
    for (; shown < count && shown < limit; shown++) {
        const struct compare_row *row = &compare->tables[by].rows[order[shown]];
        add_sums(table, view, compare, row);
        add_label(table, compare, by, row);
    }
    fputc('\n', view->output->to);
    if (count)
        text_table_print(table, view->output, true);
    else
        fputs("nothing in this section matches the filters\n", view->output->to);
    print_more_rows(view, compare, by, order, shown, count);
    print_folded(view, compare, by, &folded);
    text_table_free(table);
    free(order);
}

/* Bits of the tables that are shown as text. */
static unsigned shown_kinds(const struct settings *settings)
{
    int wanted = diff_wanted(settings);
    bool places = settings->symbols.count || settings->dsos.count;
    if (wanted != DIFF_ALL)
        return 1u << wanted;
    return 1u << COMPARE_FUNCTION | (places ? 0 : 1u << COMPARE_COMM);
}

static void print_gone(struct view *view, const struct compare *compare)
{
    for (size_t i = 0; i < compare->gone_count; i++) {
        const struct compare_gone *gone = &compare->gone[i];
        if (compare_dso_share(compare, gone->dso, 0) < LEAST_GONE &&
            compare_dso_share(compare, gone->dso, 1) < LEAST_GONE)
            continue;
        char *line = memory_print("Functions of %s are not compared: its symbols are missing in %s (%s). To keep "
                                  "symbols for the next comparison, run 'panalyze archive out.*' before you rebuild",
                                  compare_text(compare, gone->dso),
                                  !gone->weights[0]   ? "B"
                                  : !gone->weights[1] ? "A"
                                                      : "A and B",
                                  gone->why);
        output_wrapped(view->output, 2, line);
        free(line);
    }
}

static void print_text(struct view *view, const struct compare *compare)
{
    unsigned kinds = shown_kinds(view->settings);
    print_side(view, compare, 0);
    print_side(view, compare, 1);
    if (diff_of_one_run(view))
        output_wrapped(view->output, 2,
                       "A and B are parts of the same run: the tables show how A and B differ, not what has changed.");
    diff_summary(view, compare, kinds);
    print_gone(view, compare);
    for (int by = 0; by < COMPARE_KINDS; by++)
        if (kinds & 1u << by)
            print_table(view, compare, (enum compare_by)by,
                        kinds != 1u << by && by == COMPARE_COMM ? TOP_OF_COMMANDS : TOP_ALONE);
    diff_legend(view, compare);
}

static void add_runs(struct view *view, struct compare *compare)
{
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < view->runs->counts[side]; i++)
            versions_add(&compare->versions, diff_run(view, side, i), side);
    versions_finish(&compare->versions);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < view->runs->counts[side]; i++)
            compare_look(compare, diff_run(view, side, i), side);
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < view->runs->counts[side]; i++)
            compare_add(compare, diff_run(view, side, i), side, i);
}

int view_diff(struct view *view)
{
    struct compare compare;
    if (check_runs(view) < 0)
        return 1;
    compare_init(&compare, view->runs->counts, view->settings->total);
    for (size_t i = 0; i < run_count(view); i++)
        compare.no_executables |= !view->runs->views[i].profile->session.ours || view->runs->views[i].profile->document;
    add_runs(view, &compare);
    compare.apart = compare_judges(&compare) && diff_loaded(view) && diff_apart(view);
    compare_finish(&compare);
    if (view->settings->json)
        diff_json(view, &compare);
    else
        print_text(view, &compare);
    compare_release(&compare);
    return 0;
}
