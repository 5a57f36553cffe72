/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/diff.h"
#include "analyze/view/grid.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/report.h"

#define TOP_OF_COMMANDS 10 /* beside another table, without --top */
#define TOP_ALONE 30
#define LONGEST_STACK 12 /* functions of a stack that are shown in text */

int diff_wanted(const struct settings *settings)
{
    return settings->diff_by_given ? settings->diff_by : DIFF_ALL;
}

/* ---- what may be compared */

static const struct profile_event *event_of(const struct view *view)
{
    return view->profile->event_count ? &view->profile->events[view->profile->event] : NULL;
}

/* The events that both sides have samples of, as words for a message; owned by the caller. */
static char *common_events(const struct view *view)
{
    const struct profile *before = view->profile, *after = view->other->profile;
    char *list = memory_text("");
    for (uint32_t i = 0; i < before->event_count; i++) {
        bool both = false;
        for (uint32_t j = 0; j < after->event_count && before->events[i].samples; j++)
            both |= after->events[j].samples && strcmp(before->events[i].name, after->events[j].name) == 0;
        if (!both)
            continue;
        char *longer = memory_print("%s%s%s", list, *list ? ", " : "", before->events[i].name);
        free(list);
        list = longer;
    }
    return list;
}

static int refuse_events(const struct view *view, const char *before, const char *after)
{
    char *common = common_events(view);
    if (*common)
        report_error(
            "A shows %s, B shows %s: no difference of these means anything; both have: %s (choose with --event)",
            before, after, common);
    else
        report_error("A shows %s, B shows %s: no difference of these means anything; record both with the same event "
                     "(pinject-run -e NAME)",
                     before, after);
    free(common);
    return -1;
}

static int refuse_kernel(const struct profile_event *before)
{
    report_error(
        "%s was sampled with the kernel's code in %s, and without in %s; record both as the same user with the "
        "same settings, or both with -e %s:u",
        before->name, before->exclude_kernel ? "B" : "A", before->exclude_kernel ? "A" : "B", before->name);
    return -1;
}

static bool finds(const struct view *view)
{
    return select_finds(view->settings, view->profile, view->names, view->selection->entries,
                        view->selection->entry_count);
}

static int check_sides(struct view *view)
{
    const struct profile_event *before = event_of(view), *after = event_of(view->other);
    const struct selection *a = view->selection, *b = view->other->selection;
    if (!before || !after || !view->profile->events[view->profile->event].samples ||
        !view->other->profile->events[view->other->profile->event].samples) {
        report_error("set %s has no samples; 'panalyze counts' shows what was counted there",
                     !before || !before->samples ? "A" : "B");
        return -1;
    }
    if (strcmp(before->name, after->name) != 0 || before->nanoseconds != after->nanoseconds)
        return refuse_events(view, before->name, after->name);
    if (before->exclude_kernel != after->exclude_kernel)
        return refuse_kernel(before);
    if (!a->total_samples && !b->total_samples) {
        report_error("no sample of either set matches the filters; 'panalyze tree' lists the tasks");
        return -1;
    }
    view_look_ahead(view);
    view_look_ahead(view->other);
    if (!finds(view) && !finds(view->other)) {
        select_refuse(view->settings);
        return -1;
    }
    return 0;
}

/* ---- text */

static void print_side(struct view *view, const struct view *side, const char *name)
{
    char when[64], took[TEXT_AMOUNT];
    uint64_t duration = heading_duration(side->profile);
    char *command = heading_command(side->profile), *event = heading_event(side);
    heading_when(when, sizeof(when), side->profile->session.start_realtime_ns);
    char *line = memory_print("%s: %s", name, command), *clean = text_clean(line, view->output->utf8);
    if (view->output->width)
        text_cut(clean, (size_t)view->output->width, view->output->utf8);
    output_color(view->output, OUTPUT_BOLD);
    fputs(clean, view->output->to);
    output_color(view->output, OUTPUT_PLAIN);
    fputs("\n   ", view->output->to);
    free(clean);
    free(line);
    line = memory_print("%s%s%s%s%s", event, *when ? "; " : "", when, duration ? ", took " : "",
                        duration ? text_time(took, duration) : "");
    output_wrapped(view->output, 3, line);
    free(line);
    free(event);
    free(command);
}

/* "+1.20 s", "~-3.00 ms": a tilde in front of noise. RET has room for TEXT_AMOUNT + 2. */
static const char *change_text(char *ret, uint64_t before, uint64_t after, bool nanoseconds, bool noise)
{
    char amount[TEXT_AMOUNT];
    text_weight(amount, after > before ? after - before : before - after, nanoseconds);
    snprintf(ret, TEXT_AMOUNT + 2, "%s%s%s", noise && after != before ? "~" : "",
             after > before   ? "+"
             : after < before ? "-"
                              : "",
             amount);
    return ret;
}

static void add_sums(struct grid *grid, const struct view *view, const struct compare *compare,
                     const struct compare_row *row)
{
    bool nanoseconds = event_of(view)->nanoseconds;
    bool weight_noise = noise_is(noise_of_weight(compare->sides, row->sums), row->sums);
    bool share_noise = noise_is(noise_of_share(compare->sides, row->sums), row->sums);
    double points = compare_share_change(compare, row);
    char text[TEXT_AMOUNT + 2];
    enum output_color color = weight_noise                                ? OUTPUT_DIM
                              : row->sums[1].weight > row->sums[0].weight ? OUTPUT_HOT
                                                                          : OUTPUT_WARM;
    grid_cell(grid, color, change_text(text, row->sums[0].weight, row->sums[1].weight, nanoseconds, weight_noise));
    for (int i = 0; i < 2; i++)
        grid_cell(grid, OUTPUT_PLAIN,
                  row->sums[i].samples ? text_weight(text, row->sums[i].weight, nanoseconds) : "-");
    snprintf(text, sizeof(text), "%s%+.2f", share_noise ? "~" : "", points);
    grid_cell(grid, share_noise ? OUTPUT_DIM : points > 0 ? OUTPUT_HOT : OUTPUT_WARM, text);
    for (int i = 0; i < 2; i++)
        grid_cell(grid, OUTPUT_PLAIN, text_percent(text, row->sums[i].weight, compare->sides[i].all.weight));
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

static void add_label(struct grid *grid, const struct compare *compare, enum compare_by by,
                      const struct compare_row *row)
{
    if (by == COMPARE_FUNCTION) {
        grid_cell(grid, OUTPUT_DIM, compare_text(compare, row->second));
        grid_cell(grid, OUTPUT_PLAIN, compare_text(compare, row->first));
        return;
    }
    /* Of a stack neither is the number of a text. */
    const char *executable = by == COMPARE_COMM ? compare_text(compare, row->second) : "";
    const char *name = by == COMPARE_STACK ? "" : compare_text(compare, row->first);
    char *label = by == COMPARE_STACK                            ? stack_text(compare, row)
                  : *executable && strcmp(executable, name) != 0 ? memory_print("%s (%s)", name, executable)
                                                                 : memory_text(name);
    grid_cell(grid, OUTPUT_PLAIN, label);
    free(label);
}

static void print_rest(struct view *view, const struct compare *compare, enum compare_by by, const uint32_t *order,
                       size_t from, size_t count)
{
    static const char *const one[] = {"command", "object", "function", "stack"};
    static const char *const many[] = {"commands", "objects", "functions", "stacks"};
    char number[TEXT_AMOUNT], loud_number[TEXT_AMOUNT];
    uint64_t loud = 0;
    for (size_t i = from; i < count; i++) {
        const struct compare_row *row = &compare->tables[by].rows[order[i]];
        loud += !noise_is(noise_of_weight(compare->sides, row->sums), row->sums);
    }
    if (from < count)
        fprintf(view->output->to, "and %s more, %s of them beyond the noise; --top all shows all\n",
                text_plural(number, count - from, one[by], many[by]), loud ? text_count(loud_number, loud) : "none");
}

static void print_table(struct view *view, const struct compare *compare, enum compare_by by, uint64_t usual)
{
    static const char *const heads[] = {"Command", "Object", "Function", "Stack"};
    bool share = view->settings->diff_sort == DIFF_BY_SHARE, function = by == COMPARE_FUNCTION;
    const char *weight = event_of(view)->nanoseconds ? "Time" : "Weight";
    char a[16], b[16];
    snprintf(a, sizeof(a), "%s A", weight);
    snprintf(b, sizeof(b), "%s B", weight);
    const struct grid_column columns[] = {{"Change", true, false},
                                          {a, true, false},
                                          {b, true, false},
                                          {"Points", true, false},
                                          {"Share A", true, false},
                                          {"Share B", true, false},
                                          {function ? "Object" : heads[by], false, true},
                                          {"Function", false, true}};
    struct grid *grid = grid_new(columns, function ? 8 : 7, view->output->utf8);
    size_t count, shown = 0;
    uint32_t *order = compare_order(compare, by, share, &count);
    uint64_t limit = view->settings->top ? view->settings->top : usual;
    for (; shown < count && shown < limit; shown++) {
        const struct compare_row *row = &compare->tables[by].rows[order[shown]];
        add_sums(grid, view, compare, row);
        add_label(grid, compare, by, row);
    }
    fputc('\n', view->output->to);
    if (count)
        grid_print(grid, view->output, true);
    else
        fputs("nothing here matches the filters\n", view->output->to);
    print_rest(view, compare, by, order, shown, count);
    grid_free(grid);
    free(order);
}

static void print_all(struct view *view, const struct compare *compare)
{
    const struct noise_sum sums[2] = {compare->sides[0].all, compare->sides[1].all};
    char change[TEXT_AMOUNT + 2], before[TEXT_AMOUNT], after[TEXT_AMOUNT], percent[TEXT_AMOUNT] = "";
    bool nanoseconds = event_of(view)->nanoseconds;
    if (sums[0].weight)
        snprintf(percent, sizeof(percent), " (%+.2f %%)",
                 100 * ((double)sums[1].weight - (double)sums[0].weight) / (double)sums[0].weight);
    fprintf(view->output->to, "\nFrom A to B: %s%s, from %s to %s\n",
            change_text(change, sums[0].weight, sums[1].weight, nanoseconds, false), percent,
            text_weight(before, sums[0].weight, nanoseconds), text_weight(after, sums[1].weight, nanoseconds));
}

static void print_noise(struct view *view)
{
    char *line = memory_print(
        "~: within the noise of the sample counts: below %g standard deviations of a difference of two Poisson counts "
        "(change) or two proportions (points), or fewer than %d samples. Samples in a row are not independent, and "
        "two "
        "runs differ by themselves: a change a little beyond this may be chance too, and only more runs can tell.",
        NOISE_SIGMAS, NOISE_LEAST_SAMPLES);
    fputc('\n', view->output->to);
    output_wrapped(view->output, 2, line);
    free(line);
}

int view_diff(struct view *view)
{
    struct compare compare;
    int wanted = diff_wanted(view->settings);
    if (check_sides(view) < 0)
        return 1;
    compare_init(&compare, view->settings->total);
    compare.no_executables = !view->profile->session.ours || !view->other->profile->session.ours;
    compare_add(&compare, view, 0);
    compare_add(&compare, view->other, 1);
    compare_finish(&compare);
    if (view->settings->json) {
        diff_json(view, &compare);
    } else {
        print_side(view, view, "A");
        print_side(view, view->other, "B");
        print_all(view, &compare);
        if (wanted == DIFF_ALL && !view->settings->symbols.count && !view->settings->objects.count)
            print_table(view, &compare, COMPARE_COMM, TOP_OF_COMMANDS);
        print_table(view, &compare, wanted == DIFF_ALL ? COMPARE_FUNCTION : (enum compare_by)wanted, TOP_ALONE);
        print_noise(view);
    }
    compare_release(&compare);
    return 0;
}
