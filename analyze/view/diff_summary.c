/* SPDX-License-Identifier: MIT */
/* The summary of a comparison: what changed, how certain that is, and what the words mean. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/diff.h"
#include "analyze/view/heading.h"
#include "analyze/view/judge.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"

/* ---- The reasons for a change, and their callers ---- */

#define MOST_ROWS 64  /* that are judged: bits of a mask */
#define EXPLAINED 0.5 /* part of a function's change that is in one of its callees */
#define WHOLE     90  /* percent of both sides: main, and what leads to it */

enum rank { RANK_REASON, RANK_CALLER, RANK_WHOLE, RANKS };

struct callers {
    const struct compare *compare;
    const uint32_t *rows;
    size_t count;
    uint8_t *numbers;                  /* by row of a function: its index in `rows` + 1 */
    uint64_t called[MOST_ROWS];        /* by that index, in one stack: bits of its callees */
    double both[MOST_ROWS][MOST_ROWS]; /* change of the stacks in which the first calls the second */
};

/* Adds the pairs of functions in STACK, from the leaf outwards. */
static void add_stack(struct callers *callers, const struct compare_row *stack)
{
    const struct compare_row *stacks = callers->compare->tables[COMPARE_STACK].rows;
    double change = compare_weight_change(callers->compare, stack->sums);
    uint64_t deeper = 0;
    if (!(change > 0 || change < 0))
        return;
    for (const struct compare_row *row = stack; row->first; row = &stacks[row->first - 1]) {
        unsigned number = callers->numbers[row->second];
        if (!number)
            continue;
        uint64_t bit = UINT64_C(1) << (number - 1);
        callers->called[number - 1] |= deeper;
        deeper |= bit;
    }
    for (; deeper; deeper &= deeper - 1) {
        int caller = __builtin_ctzll(deeper);
        for (uint64_t called = callers->called[caller]; called; called &= called - 1)
            callers->both[caller][__builtin_ctzll(called)] += change;
        callers->called[caller] = 0;
    }
}

static bool explains(const struct callers *callers, size_t called, size_t caller)
{
    const struct compare_row *functions = callers->compare->tables[COMPARE_FUNCTION].rows;
    double change = compare_weight_change(callers->compare, functions[callers->rows[caller]].sums);
    return callers->both[caller][called] / change >= EXPLAINED;
}

/* If two functions call each other, neither is the reason for the other. */
static enum rank rank_of(const struct callers *callers, size_t at)
{
    const struct compare_row *row = &callers->compare->tables[COMPARE_FUNCTION].rows[callers->rows[at]];
    bool caller = false;
    for (size_t i = 0; i < callers->count; i++)
        caller |= i != at && explains(callers, i, at) && !explains(callers, at, i);
    if (!caller)
        return RANK_REASON;
    return row->shares[0] >= WHOLE && row->shares[1] >= WHOLE ? RANK_WHOLE : RANK_CALLER;
}

/* Rows after the first MOST_ROWS count as callers. */
static size_t sort_rows(const struct callers *callers, uint32_t *rows, size_t count)
{
    uint32_t *sorted = memory_new(count, sizeof(*sorted));
    size_t at = 0, named = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        for (size_t i = 0; i < count; i++)
            if ((i < callers->count ? rank_of(callers, i) : RANK_CALLER) == (enum rank)rank)
                sorted[at++] = rows[i];
        named = rank < RANK_WHOLE ? at : named;
    }
    memcpy(rows, sorted, count * sizeof(*rows));
    free(sorted);
    return named;
}

size_t deepest_first(const struct compare *compare, uint32_t *rows, size_t count)
{
    const struct compare_table *stacks = &compare->tables[COMPARE_STACK];
    struct callers *callers = memory_new(1, sizeof(*callers));
    if (!count) {
        free(callers);
        return 0;
    }
    callers->compare = compare;
    callers->rows = rows;
    callers->count = count < MOST_ROWS ? count : MOST_ROWS;
    callers->numbers = memory_new(compare->tables[COMPARE_FUNCTION].count, sizeof(*callers->numbers));
    for (size_t i = 0; i < callers->count; i++)
        callers->numbers[rows[i]] = (uint8_t)(i + 1);
    for (size_t i = 0; i < stacks->count; i++)
        add_stack(callers, &stacks->rows[i]);
    size_t named = sort_rows(callers, rows, count);
    free(callers->numbers);
    free(callers);
    return named;
}

/* ---- The summary ---- */

#define MOST_NAMED    5     /* changes that are named above the tables */
#define MOST_RUNS     200.0 /* that are recommended */
#define MOST_PERCENT  1e6   /* shown as the change of a row */
#define LOADED        0.25  /* CPUs of other programs from which on they are given as a reason for changes */
#define APART         0.9   /* part of the pairs of runs, one of each side, where the same side came first */
#define REST          0.25  /* part of the total's change that belongs to no changed function */
#define FEW           1.5   /* more runs are recommended if this many times as many are wanted, an inexact estimate */
#define WIDTH_OF_PIPE 80    /* of sentences */

const char *const diff_one_row[] = {"command", "DSO", "function", "stack"};
const char *const diff_many_rows[] = {"commands", "DSOs", "functions", "stacks"};
static const char *const no_row[] = {"no command", "no DSO", "no function", "no stack"};

void diff_note(struct view *view, const char *text)
{
    int width = view->output->width;
    view->output->width = width ? width : WIDTH_OF_PIPE;
    output_wrapped(view->output, 2, text);
    view->output->width = width;
}

/* Prints TEXT with all its lines indented. */
static void print_indented(struct view *view, const char *text)
{
    int width = view->output->width;
    fputs("  ", view->output->to);
    view->output->width = (width ? width : WIDTH_OF_PIPE) - 2;
    output_wrapped(view->output, 4, text);
    view->output->width = width;
}

bool diff_load(const struct view *view, int side, double *ret_least, double *ret_most)
{
    *ret_least = INFINITY;
    *ret_most = 0;
    for (size_t i = 0; i < view->runs->counts[side]; i++) {
        const double others = heading_others(&diff_run(view, side, i)->profile->session);
        if (others < 0)
            return false;
        *ret_least = fmin(*ret_least, others);
        *ret_most = fmax(*ret_most, others);
    }
    return true;
}

bool diff_loaded(const struct view *view)
{
    double least, most[2];
    for (int side = 0; side < 2; side++)
        if (!diff_load(view, side, &least, &most[side]))
            most[side] = 0;
    return fmax(most[0], most[1]) >= LOADED;
}

/* The start of a run; 0: not known. A file of perf only has the time at which it was written or copied. */
static uint64_t start_of_run(const struct view *run)
{
    return run->profile->session.ours ? run->profile->session.start_realtime_ns : 0;
}

bool diff_of_one_run(const struct view *view)
{
    const struct profile_session *first = &diff_run(view, 0, 0)->profile->session;
    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < view->runs->counts[side]; i++) {
            const struct profile *profile = diff_run(view, side, i)->profile;
            if (!profile->session.ours || profile->document ||
                memcmp(profile->session.id, first->id, sizeof(first->id)) != 0)
                return false;
        }
    return true;
}

bool diff_apart(const struct view *view)
{
    double first = 0, pairs = 0;
    for (size_t i = 0; i < view->runs->counts[0]; i++)
        for (size_t j = 0; j < view->runs->counts[1]; j++) {
            uint64_t one = start_of_run(diff_run(view, 0, i)), other = start_of_run(diff_run(view, 1, j));
            if (!one || !other)
                return false;
            first += one < other ? 1 : one == other ? 0.5 : 0;
            pairs++;
        }
    return first >= APART * pairs || first <= (1 - APART) * pairs;
}

const char *diff_plus_minus(const struct view *view)
{
    return view->output->utf8 ? "±" : "+-";
}

const char *diff_mark(enum compare_verdict verdict)
{
    static const char *const marks[] = {"~", "?", ""};
    return marks[verdict];
}

uint64_t diff_rounded(double value)
{
    return value < 18446744073709549568.0 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}

const char *diff_change_text(char *ret, double change, bool nanoseconds, enum compare_verdict verdict)
{
    char amount[TEXT_AMOUNT];
    uint64_t size = diff_rounded(fabs(change));
    text_weight(amount, size, nanoseconds);
    snprintf(ret, TEXT_AMOUNT + 2, "%s%s%s", size ? diff_mark(verdict) : "",
             !size        ? ""
             : change > 0 ? "+"
                          : "-",
             amount);
    return ret;
}

const char *diff_limit_text(char *ret, double limit, bool nanoseconds)
{
    if (!isfinite(limit))
        return "-";
    return text_weight(ret, diff_rounded(limit), nanoseconds);
}

static bool nanoseconds_of(const struct view *view)
{
    return view->profile->events[view->profile->event].nanoseconds;
}

/* ---- what changed */

static size_t count_changed(const struct compare *compare, enum compare_by by)
{
    const struct compare_table *table = &compare->tables[by];
    size_t changed = 0;
    for (size_t i = 0; i < table->count; i++)
        changed += table->rows[i].wanted && table->rows[i].changed;
    return changed;
}

/* ", +204 %", relative to the row itself; "" if it was 0 before, or so small that the figure says nothing. */
static const char *relative_text(char *ret, double before, double change)
{
    double percent = 100 * change / before;
    *ret = '\0';
    if (before > 0 && percent < MOST_PERCENT)
        snprintf(ret, TEXT_AMOUNT, ", %+.*f %%", fabs(percent) < 9.95 ? 1 : 0, percent);
    return ret;
}

/* "check_sum: +81.9 ms ±19.2 ms (158 ms to 240 ms, +52 %)"; if the points decide, "work1: +48.1 ms (475 ms to 523 ms,
 * +10 %), Points +1.75 ±0.60". */
static void print_named(struct view *view, const struct compare *compare, enum compare_by by,
                        const struct compare_row *row)
{
    bool nanoseconds = nanoseconds_of(view);
    const char *plus_minus = diff_plus_minus(view);
    char change[TEXT_AMOUNT + 2], from[TEXT_AMOUNT], to[TEXT_AMOUNT], amount[TEXT_AMOUNT], relative[TEXT_AMOUNT];
    enum compare_verdict worth = compare->apart ? COMPARE_NOISE : COMPARE_CHANGED;
    char *name = diff_row_name(compare, by, row), *limit, *points;
    double weight = compare_weight_change(compare, row->sums), before = compare_weight(compare, row->sums, 0);
    if (row->by_points) {
        limit = memory_text("");
        points = memory_print(", Points %+.2f %s%.2f", row->points, plus_minus, row->points_limit);
    } else {
        limit = memory_print(" %s%s", plus_minus, diff_limit_text(amount, row->weight_limit, nanoseconds));
        points = memory_text("");
    }
    char *line = memory_print("%s: %s%s (%s to %s%s)%s", name, diff_change_text(change, weight, nanoseconds, worth),
                              limit, text_weight(from, diff_rounded(before), nanoseconds),
                              text_weight(to, diff_rounded(compare_weight(compare, row->sums, 1)), nanoseconds),
                              relative_text(relative, before, weight), points);
    print_indented(view, line);
    free(line);
    free(points);
    free(limit);
    free(name);
}

/* The changed rows of BY in the order in which they are named; with --total, those that are the reason come first. */
static uint32_t *changed_rows(const struct view *view, const struct compare *compare, enum compare_by by,
                              size_t *ret_count, size_t *ret_named)
{
    size_t count = 0, all;
    uint32_t *order = compare_order(compare, by, view->settings->diff_sort == DIFF_BY_SHARE, &all);
    while (count < all && compare->tables[by].rows[order[count]].changed)
        count++;
    *ret_named = *ret_count = count;
    if (compare->total && by == COMPARE_FUNCTION)
        *ret_named = deepest_first(compare, order, count);
    return order;
}

/* "Changed: 1 command, 3 functions", and the largest by name. */
static void print_changed(struct view *view, const struct compare *compare, unsigned kinds)
{
    const char *comma = " ";
    enum compare_by named = COMPARE_COMM;
    char number[TEXT_AMOUNT];
    fputs("Changed:", view->output->to);
    for (int by = 0; by < COMPARE_KINDS; by++) {
        if (!(kinds & 1u << by))
            continue;
        size_t changed = count_changed(compare, (enum compare_by)by);
        fprintf(view->output->to, "%s%s", comma,
                changed ? text_plural(number, changed, diff_one_row[by], diff_many_rows[by]) : no_row[by]);
        comma = ", ";
        named = changed ? (enum compare_by)by : named;
    }
    fputc('\n', view->output->to);
    size_t count, most;
    if (!(kinds & 1u << named))
        return;
    uint32_t *order = changed_rows(view, compare, named, &count, &most);
    most = most < MOST_NAMED ? most : MOST_NAMED;
    for (size_t i = 0; i < most; i++)
        print_named(view, compare, named, &compare->tables[named].rows[order[i]]);
    if (count > most)
        fprintf(view->output->to, "  and %s below\n", text_count(number, count - most));
    free(order);
}

/* ---- the total */

/* Whether the rows add up to the total: none is a part of another, and no filter leaves some out. */
static bool adds_up(const struct view *view, const struct compare *compare)
{
    return !compare->total && !view->settings->symbols.count && !view->settings->dsos.count;
}

bool diff_explained(const struct view *view, const struct compare *compare, enum compare_by by, double *ret)
{
    const struct compare_table *table = &compare->tables[by];
    double sum = 0;
    if (!adds_up(view, compare) || !count_changed(compare, by))
        return false;
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].changed)
            sum += compare_weight_change(compare, table->rows[i].sums);
    *ret = sum;
    return true;
}

/* "; all others: -59.0 ms, which may be chance", for a total that changed by CHANGE; owned by the caller. */
static char *others_text(const struct view *view, double rest, double change)
{
    char amount[TEXT_AMOUNT + 2];
    if (!diff_rounded(fabs(rest)))
        return memory_text("");
    return memory_print("; all others: %s, which may be chance%s",
                        diff_change_text(amount, rest, nanoseconds_of(view), COMPARE_CHANGED),
                        fabs(rest) > REST * fabs(change) && diff_loaded(view) ? " (the machine was loaded)" : "");
}

/* ". The 3 functions that changed: +282 ms together; all others: -59.0 ms, which may be chance". SUM: the change
 * of the changed ones. Owned by the caller. */
static char *parts_text(const struct view *view, const struct compare *compare, enum compare_by by, double change,
                        double sum)
{
    char amount[TEXT_AMOUNT + 2], number[TEXT_AMOUNT], *others = others_text(view, change - sum, change);
    size_t count = count_changed(compare, by);
    text_plural(number, count, diff_one_row[by], diff_many_rows[by]);
    char *text = memory_print(". The %s that changed: %s%s%s", count == 1 ? diff_one_row[by] : number,
                              diff_change_text(amount, sum, nanoseconds_of(view), COMPARE_CHANGED),
                              count == 1 ? "" : " together", others);
    free(others);
    return text;
}

/* How certain the change of the whole weight is; owned by the caller. */
static char *certainty_text(const struct view *view, const struct compare *compare, enum compare_by by, double change)
{
    bool certain = compare_verdict(compare) == COMPARE_CHANGED;
    double sum;
    if (!compare_judges(compare))
        return memory_text(": one run on each side does not show how much the runs vary");
    if (compare->apart)
        return memory_text(": not judged");
    if (diff_explained(view, compare, by, &sum))
        return parts_text(view, compare, by, change, sum);
    if (!certain)
        return memory_text(": no more than the variation between runs");
    if (!adds_up(view, compare))
        return memory_text(": more than the variation between runs");
    return memory_print(": more than the variation between runs, but no change of a single %s is certain%s",
                        diff_one_row[by], diff_loaded(view) ? "; the load of the machine may be the cause" : "");
}

static void print_total(struct view *view, const struct compare *compare, enum compare_by by)
{
    const struct noise_sum sums[2] = {compare->sides[0].all, compare->sides[1].all};
    bool nanoseconds = nanoseconds_of(view);
    double weights[2] = {compare_weight(compare, sums, 0), compare_weight(compare, sums, 1)};
    double difference = weights[1] - weights[0];
    char change[TEXT_AMOUNT + 2], before[TEXT_AMOUNT], after[TEXT_AMOUNT], percent[TEXT_AMOUNT] = "";
    char amount[TEXT_AMOUNT], limit[TEXT_AMOUNT + 8] = "";
    char *worth = certainty_text(view, compare, by, difference);
    if (weights[0] > 0)
        snprintf(percent, sizeof(percent), " (%+.2f %%)", 100 * difference / weights[0]);
    if (isfinite(compare->limit) && !compare->apart)
        snprintf(limit, sizeof(limit), " %s%s", diff_plus_minus(view),
                 diff_limit_text(amount, compare->limit, nanoseconds));
    diff_change_text(change, difference, nanoseconds, compare_verdict(compare));
    char *line = memory_print("Total: %s%s%s, from %s to %s%s%s", change, limit, percent,
                              text_weight(before, diff_rounded(weights[0]), nanoseconds),
                              text_weight(after, diff_rounded(weights[1]), nanoseconds),
                              compare->runs[0] + compare->runs[1] > 2 ? " a run" : "", worth);
    diff_note(view, line);
    free(line);
    free(worth);
}

/* ---- what is compared with what */

#define MOST_PROGRAMS 3 /* named per side */

/* "'x', 'y' and 2 more": programs that only SIDE ran; owned by the caller. */
static char *programs_of(const struct versions *versions, int side)
{
    const struct versions_set *programs = &versions->programs;
    char *list = memory_text(""), number[TEXT_AMOUNT];
    uint64_t count = 0;
    for (uint32_t i = 0; i < programs->names.count; i++) {
        if (!versions_alone(versions, programs, i, side) || count++ >= MOST_PROGRAMS)
            continue;
        char *longer = memory_print("%s%s'%s'", list, *list ? ", " : "", programs->names.texts[i]);
        free(list);
        list = longer;
    }
    if (count <= MOST_PROGRAMS)
        return list;
    char *longer = memory_print("%s and %s more", list, text_count(number, count - MOST_PROGRAMS));
    free(list);
    return longer;
}

static void print_pair(struct view *view, const struct versions_set *set)
{
    if (!set->pair)
        return;
    char *line = memory_print("A's '%s' and B's '%s' are compared as two versions of one program.",
                              versions_of_pair(set, 0), versions_of_pair(set, 1));
    diff_note(view, line);
    free(line);
}

/* Warns about a side without samples: filters may have names of only one side. */
static void print_empty(struct view *view, const struct compare *compare)
{
    for (int side = 0; side < 2; side++) {
        if (compare->sides[side].all.samples)
            continue;
        char *line = memory_print("warning: nothing is compared, because no sample of %s matches the filters. The "
                                  "filters apply to both sides: name the commands of both sides, e.g. -c old -c new.",
                                  side ? "B" : "A");
        fputc('\n', view->output->to);
        output_color(view->output, OUTPUT_HOT);
        diff_note(view, line);
        output_color(view->output, OUTPUT_PLAIN);
        free(line);
    }
}

/* Prints which programs with different names count as versions of one program. */
static void print_versions(struct view *view, const struct versions *versions)
{
    if (versions->programs.pair || versions->scripts.pair || versions_unclear(versions))
        fputc('\n', view->output->to);
    print_pair(view, &versions->programs);
    print_pair(view, &versions->scripts);
    if (!versions_unclear(versions))
        return;
    char *before = programs_of(versions, 0), *after = programs_of(versions, 1);
    char *line = memory_print("warning: only A ran %s, and only B ran %s. Functions of programs with different names "
                              "are not compared. Give both versions the same name, e.g. old/app and new/app.",
                              before, after);
    output_color(view->output, OUTPUT_HOT);
    diff_note(view, line);
    output_color(view->output, OUTPUT_PLAIN);
    free(line);
    free(after);
    free(before);
}

/* ---- notes */

/* Warns about load: other programs share caches, memory and the kernel. */
static void print_load(struct view *view, const struct compare *compare)
{
    if (!diff_loaded(view))
        return;
    if (compare->apart)
        diff_note(view,
                  "The machine was loaded, and the load may have been different in A and in B. So changes are "
                  "judged by the column Points, and not by the times. Next time, alternate the runs: A B A B ...");
    else
        diff_note(view, "The machine was loaded. Other programs change the times, above all the times of the kernel "
                        "and of functions that wait for memory. On an idle machine, smaller changes become certain.");
}

/* Advises more runs if no change was found. For sides of unequal size: the equivalent number of runs per side. */
static void print_few_runs(struct view *view, const struct compare *compare, enum compare_by by)
{
    double runs = 2 / (1 / (double)compare->runs[0] + 1 / (double)compare->runs[1]);
    double wanted = compare->tables[by].runs_wanted;
    char number[TEXT_AMOUNT];
    if (wanted < FEW * runs || count_changed(compare, by))
        return;
    char *line = memory_print("Too few runs. To find out whether a %s changed by %.0f %% of the total, take %s %s "
                              "runs per side, in turn (A B A B ...).",
                              diff_one_row[by], 100 * JUDGE_SMALL, wanted > MOST_RUNS ? "more than" : "about",
                              text_count(number, (uint64_t)fmin(wanted, MOST_RUNS)));
    diff_note(view, line);
    free(line);
}

void diff_summary(struct view *view, const struct compare *compare, unsigned kinds)
{
    int by = COMPARE_FUNCTION;
    for (int i = 0; i < COMPARE_KINDS; i++)
        by = kinds == 1u << i ? i : by;
    print_empty(view, compare);
    print_versions(view, &compare->versions);
    fputc('\n', view->output->to);
    if (compare_judges(compare))
        print_changed(view, compare, kinds);
    print_total(view, compare, (enum compare_by)by);
    if (compare_judges(compare))
        print_few_runs(view, compare, (enum compare_by)by);
    print_load(view, compare);
}

void diff_legend(struct view *view, const struct compare *compare)
{
    fputc('\n', view->output->to);
    if (!compare_judges(compare)) {
        diff_note(view, "No change here is certain. Compare several runs per side, taken in turn (A B A B ...), for "
                        "example five: panalyze diff A1 A2 A3 A4 A5 -- B1 B2 B3 B4 B5.");
        diff_note(view, "~: sampling alone may explain the change. ?: sampling does not explain the change, but the "
                        "variation between runs may.");
        diff_note(view, "Points: Share B minus Share A.");
        return;
    }
    const char *plus_minus = diff_plus_minus(view);
    char *certain = memory_print("~: the change may be chance. A change is certain if it is larger than its limit "
                                 "(column %s). Certain changes come first.",
                                 plus_minus);
    char *judged = memory_print(
        "Each row is judged by one column, Change or Points: the one that varies less between runs. The column %s to the right of it shows the limit.",
        plus_minus);
    diff_note(view, certain);
    diff_note(view, "If a program is compared with itself, about 2 of 100 comparisons still call a change certain "
                    "(with five runs per side, in turn: A B A B ...).");
    diff_note(view, judged);
    diff_note(
        view,
        "Points: the change as a percentage of A's total, corrected for runs that were faster or slower as a whole.");
    free(judged);
    free(certain);
}
