/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/call_tree.h"
#include "analyze/view/coverage.h"
#include "analyze/view/heading.h"
#include "analyze/view/histogram.h"
#include "analyze/view/line_histogram.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/missing.h"
#include "analyze/view/programs.h"
#include "analyze/view/rows.h"
#include "analyze/view/select.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/report.h"

/* Number of rows without --top. */
#define TOP_ALL_TASKS       30
#define TOP_WITH_TREES      20
#define TOP_OF_TASK         10
#define TOP_AFTER_INCLUSIVE 10
#define TREE_ALL_TASKS      200
#define TREE_OF_TASK        60
#define LEAST_SECTIONS      10
#define MOST_SECTIONS       25
#define ENOUGH_PERCENT      95 /* no more sections once they cover this */

static bool wants_trees(const struct view *view)
{
    return (view->settings->callers || view->settings->callees) && histogram_has_stacks(view->settings->by);
}

/* Whether no option asks for a special list, so that a report of many programs may begin with other tables. */
static bool is_first_look(const struct view *view)
{
    const struct settings *settings = view->settings;
    return settings->by == BY_FUNCTION && settings->tasks != TASKS_APART && !settings->call_tree &&
           !settings->callers && !settings->callees && !settings->group && !settings->sort_given &&
           !settings->symbols.count && !settings->dsos.count;
}

/* ENTRIES[COUNT]: those of TASK, or of all tasks. */
static void print_sum(struct view *view, uint32_t task, const uint32_t *entries, uint32_t count, uint64_t usual)
{
    if (view->settings->call_tree) {
        call_tree_print(view, entries, count,
                        rows_limit(view->settings, usual == TOP_OF_TASK ? TREE_OF_TASK : TREE_ALL_TASKS));
        return;
    }
    struct histogram histogram;
    struct rows rows;
    if (line_histogram_wanted(view->settings->by)) {
        line_histogram_print(view, entries, count, rows_limit(view->settings, usual));
        return;
    }
    histogram_init(&histogram, view->profile, view->names, view->settings->by);
    for (uint32_t i = 0; i < count; i++)
        histogram_add(&histogram, &view->profile->entries[entries[i]]);
    event_group_add(view, &histogram, task);
    if (view->settings->symbols.count && view->settings->by == BY_FUNCTION)
        histogram_count_inlined(&histogram);
    histogram_sort(&histogram, view->settings->sort);
    /* A list after another list is shorter. */
    if (is_first_look(view) && programs_print_inclusive(view, &histogram, entries, count))
        usual = TOP_AFTER_INCLUSIVE;
    rows_choose(&rows, view, &histogram, rows_limit(view->settings, usual), view->settings->cum);
    if (rows.count)
        rows_print(view, &histogram, &rows, entries, count);
    else
        fputs("nothing in this section matches the filters\n", view->output->to);
    rows_release(&rows);
    histogram_release(&histogram);
}

static void print_task_head(struct view *view, uint32_t index)
{
    const struct profile_task *task = &view->profile->tasks[index];
    const struct selection *selection = view->selection;
    struct output *output = view->output;
    char weight[TEXT_AMOUNT], share[TEXT_AMOUNT], samples[TEXT_AMOUNT];
    output_color(output, OUTPUT_BOLD);
    fprintf(output->to, "%" PRId32 ".%" PRId32 " ", task->pid, task->tid);
    output_text(output, task->comm);
    output_color(output, OUTPUT_PLAIN);
    fprintf(output->to, "  %s (%s) in %s\n",
            text_weight(weight, selection->weights[index], view->profile->events[view->profile->event].nanoseconds),
            text_percent(share, selection->weights[index], selection->total_weight),
            text_plural(samples, selection->samples[index], "sample", "samples"));
    if (!task->cmdline_count)
        return;
    char *command = text_command(task->cmdline, task->cmdline_count), *clean = text_clean(command, output->utf8);
    char *brief = command_brief(clean, output->width ? (size_t)output->width : SIZE_MAX, output->utf8);
    fprintf(output->to, "%s\n", brief);
    free(brief);
    free(clean);
    free(command);
}

static bool has_samples(const struct view *view, uint32_t task)
{
    return view->selection->samples[task] > 0 || event_group_has(view, task);
}

static void print_more_tasks(struct view *view, uint32_t shown)
{
    const struct selection *selection = view->selection;
    uint64_t weight = 0, with_samples = 0;
    for (uint32_t i = shown; i < selection->task_count; i++) {
        weight += selection->weights[selection->order[i]];
        with_samples += has_samples(view, selection->order[i]);
    }
    char number[TEXT_AMOUNT], share[TEXT_AMOUNT];
    if (with_samples)
        fprintf(view->output->to, "\nand %s more with %s together; '--by task' lists them\n",
                text_plural(number, with_samples, "task", "tasks"),
                text_percent(share, weight, selection->total_weight));
}

/* The entries of one task: the selected ones, or, in a merged profile, those from FIRST on. Owned by the caller. */
static uint32_t *task_entries(const struct view *view, uint32_t task, uint32_t first, uint32_t *ret_count)
{
    const struct selection *selection = view->selection;
    const struct profile *profile = view->profile;
    uint32_t *list = NULL, count = 0;
    size_t capacity = 0;
    if (profile->merged == PROFILE_BY_TASK) {
        *ret_count = selection->first[task + 1] - selection->first[task];
        list = memory_new(*ret_count, sizeof(*list));
        memcpy(list, selection->entries + selection->first[task], *ret_count * sizeof(*list));
        return list;
    }
    for (uint32_t i = first; i < profile->entry_count; i++) {
        if (profile->entries[i].task != task)
            continue;
        list = memory_grow(list, &capacity, (size_t)count + 1, sizeof(*list));
        list[count++] = i;
    }
    *ret_count = count;
    return list;
}

/* In a merged profile: reads the files again and appends the entries of the tasks that may get a section. */
static void read_tasks(struct view *view)
{
    const struct selection *selection = view->selection;
    bool *wanted = memory_new(view->profile->task_count, sizeof(*wanted));
    for (uint32_t i = 0; i < selection->task_count && i < MOST_SECTIONS; i++)
        wanted[selection->order[i]] = true;
    if (profile_add_entries(view->profile, wanted) < 0)
        memory_exhausted();
    free(wanted);
}

static bool finds_selected(const struct view *view, const uint32_t *entries, uint32_t count)
{
    return view->lines ? line_histogram_find(view, entries, count)
                       : select_finds(view->settings, view->profile, view->names, entries, count);
}

/* The same for the samples of the other events, with --group. */
static bool finds_others(const struct view *view, uint32_t task)
{
    return !view->lines && event_group_finds(view, task);
}

/* Prints the section of TASK. False: nothing in it matches the filters. */
static bool print_section(struct view *view, uint32_t task, uint32_t first)
{
    uint32_t count, *list = task_entries(view, task, first, &count);
    bool found = finds_selected(view, list, count) || finds_others(view, task);
    if (found) {
        fputc('\n', view->output->to);
        print_task_head(view, task);
        print_sum(view, task, list, count, TOP_OF_TASK);
    }
    free(list);
    return found;
}

static void print_sections(struct view *view)
{
    const struct selection *selection = view->selection;
    bool all = view->settings->top == SETTINGS_ALL;
    uint64_t covered = 0;
    uint32_t at = 0, shown = 0, without = 0, first = view->profile->entry_count;
    if (view->profile->merged != PROFILE_BY_TASK)
        read_tasks(view);
    for (; at < selection->task_count; at++) {
        uint32_t task = selection->order[at];
        bool enough = shown >= MOST_SECTIONS ||
                      (shown >= LEAST_SECTIONS && text_share(covered, selection->total_weight) >= ENOUGH_PERCENT);
        if ((enough && !all) || output_is_over(view->output))
            break;
        if (!has_samples(view, task)) /* with --group, later tasks may still have samples of another event */
            continue;
        covered += selection->weights[task];
        if (print_section(view, task, first))
            shown++;
        else
            without++;
    }
    char number[TEXT_AMOUNT];
    if (without)
        fprintf(view->output->to, "\nin %s, nothing matches the filters\n",
                text_plural(number, without, "other task", "other tasks"));
    if (at < selection->task_count)
        print_more_tasks(view, at);
}

static void print_user_part(struct view *view)
{
    const enum settings_by by = view->settings->by;
    const char *what = by == BY_FILE ? "Files" : by == BY_DSO ? "DSOs" : view->lines ? "Lines" : "Functions";
    char *line = view->lines || by == BY_FUNCTION || by == BY_DSO ? heading_user_part(view->profile, what) : NULL;
    if (line)
        output_wrapped(view->output, 2, line);
    free(line);
}

static bool wants_names(const struct view *view)
{
    const struct settings *settings = view->settings;
    return view->lines || settings->json || settings->by == BY_FUNCTION || settings->by == BY_ADDRESS ||
           (settings->call_tree && settings->by != BY_DSO);
}

static int print_report(struct view *view)
{
    const struct settings *settings = view->settings;
    const struct selection *selection = view->selection;
    FILE *to = view->output->to;
    if (wants_names(view))
        view_symbolize(view);
    /* Other filters were checked before the view began; those for lines need the lines. */
    if (view->lines && selection->total_samples && !finds_selected(view, selection->entries, selection->entry_count))
        return suggest_refuse(view);
    if (settings->json)
        return view_document(view, settings->tasks != TASKS_TOGETHER);
    heading_print(view);
    if (!selection->total_samples && !selection->other_count) {
        heading_print_no_samples(view);
    } else if (settings->tasks != TASKS_APART || !histogram_has_stacks(settings->by)) {
        fputc('\n', to);
        if (is_first_look(view))
            programs_print(view);
        print_sum(view, EVENT_GROUP_ALL, selection->entries, selection->entry_count,
                  wants_trees(view) ? TOP_WITH_TREES : TOP_ALL_TASKS);
    } else {
        print_sections(view);
    }
    fputc('\n', to);
    if (selection->total_samples)
        print_user_part(view);
    /* With --symbol all lines belong to named functions. */
    if (selection->total_samples && settings->by != BY_DSO && histogram_has_stacks(settings->by) &&
        !(view->lines && settings->symbols.count))
        missing_print(view);
    if (selection->total_samples && view->lines) {
        line_histogram_print_missing(view);
        if (settings->by == BY_LINE)
            output_wrapped(view->output, 2, LINES_ARE_LATE);
    }
    coverage_print(view);
    return 0;
}

static bool has_values(const struct profile *profile)
{
    bool has = false;
    for (uint32_t i = 0; i < profile->event_count; i++)
        has |= profile->events[i].grouped;
    return has;
}

int view_report(struct view *view)
{
    const struct settings *settings = view->settings;
    if (settings->values && !has_values(view->profile)) {
        report_error("option '--values' needs samples with the counts of an event group; record them with -e '{A,B}:S' "
                     "(pinject-run or perf record)");
        return 1;
    }
    if (!line_histogram_wanted(settings->by))
        return print_report(view);
    if (settings->callers || settings->callees || settings->call_tree) {
        report_error("--callers, --callees and --call-tree show functions: leave out --by, or use --by function");
        return 2;
    }
    view->lines = lines_new(view->names, view->profile->frame_count);
    int status = print_report(view);
    lines_free(view->lines);
    view->lines = NULL;
    return status;
}
