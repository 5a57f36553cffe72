/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/counters.h"
#include "analyze/view/coverage.h"
#include "analyze/view/family.h"
#include "analyze/view/grid.h"
#include "analyze/view/heading.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"

#define DEEPEST 40    /* levels that are indented */
#define MOST_IMAGES 6 /* earlier images that are named */

/* The branches left of TASK: from its eldest shown ancestor down. */
static char *branches(const struct family *family, uint32_t task, bool utf8)
{
    uint32_t line[DEEPEST];
    size_t count = 0;
    for (uint32_t at = task; family->parent[at] != FAMILY_NONE && count < DEEPEST; at = family->parent[at])
        line[count++] = at;
    char *text = memory_new(count * 12 + 1, 1), *to = text;
    for (size_t i = count; i-- > 0;) {
        bool last = family->next[line[i]] == FAMILY_NONE;
        if (i > 0)
            to = stpcpy(to, last ? "   " : utf8 ? "│  " : "|  ");
        else
            to = stpcpy(to, last ? utf8 ? "└─ " : "`- " : utf8 ? "├─ " : "|- ");
    }
    return text;
}

/* What the task was before: the names of its earlier programs, without the copy of the parent that a fork starts as. */
static char *history(const struct profile *profile, const struct family *family, uint32_t index, bool utf8)
{
    const struct profile_task *task = &profile->tasks[index];
    uint32_t parent = family->parent[index], first = 0;
    if (task->image_count > 1 && parent != FAMILY_NONE) {
        const struct profile_task *above = &profile->tasks[parent];
        for (uint32_t i = 0; i < above->image_count && first == 0; i++)
            first = strcmp(above->images[i].exec, task->images[0].exec) == 0;
    }
    char *text = memory_text("");
    for (uint32_t i = first; i + 1 < task->image_count; i++) {
        bool skip = i - first >= MOST_IMAGES;
        const char *name = *task->images[i].exec ? text_base(task->images[i].exec) : task->images[i].comm;
        char *longer = memory_print("%s%s%s", text, skip ? "..." : name, utf8 ? " » " : " > ");
        free(text);
        text = longer;
        if (skip)
            break;
    }
    return text;
}

static char *label(const struct profile *profile, const struct family *family, uint32_t index, bool utf8)
{
    const struct profile_task *task = &profile->tasks[index];
    char *left = branches(family, index, utf8), *label_text;
    if (task->tid != task->pid) {
        label_text = memory_print("%s{%s}", left, task->comm);
    } else {
        char *before = history(profile, family, index, utf8);
        char *command = text_task_command(task);
        label_text = memory_print("%s%s%s", left, before, command);
        free(command);
        free(before);
    }
    free(left);
    return label_text;
}

static void add_times(struct grid *grid, const struct view *view, const struct profile_task *task, uint64_t origin)
{
    char text[TEXT_AMOUNT], time[TEXT_AMOUNT];
    if (task->start_ns && task->start_ns >= origin)
        snprintf(text, sizeof(text), "%.3f s", (double)(task->start_ns - origin) / 1e9);
    else
        snprintf(text, sizeof(text), "-");
    grid_cell(grid, OUTPUT_PLAIN, text);
    if (task->start_ns && task->end_ns >= task->start_ns)
        snprintf(text, sizeof(text), "%s%s", task->ended ? "" : ">", text_time(time, task->end_ns - task->start_ns));
    else
        snprintf(text, sizeof(text), "-");
    grid_cell(grid, OUTPUT_PLAIN, text);
    bool estimate;
    uint64_t cpu = counters_cpu(view->profile, task, view->selection->weights[task->index], &estimate);
    if (cpu == COUNTERS_UNKNOWN)
        snprintf(text, sizeof(text), "-");
    else
        snprintf(text, sizeof(text), "%s%s", estimate ? "~" : "", text_time(time, cpu));
    grid_cell(grid, OUTPUT_PLAIN, text);
}

static void add_task(struct grid *grid, const struct view *view, const struct family *family, uint32_t index,
                     uint64_t origin)
{
    const struct profile_task *task = &view->profile->tasks[index];
    char text[TEXT_AMOUNT];
    snprintf(text, sizeof(text), "%" PRId32 ".%" PRId32, task->pid, task->tid);
    grid_cell(grid, OUTPUT_PLAIN, text);
    add_times(grid, view, task, origin);
    if (task->exit >= 0)
        snprintf(text, sizeof(text), "%d", task->exit);
    else
        snprintf(text, sizeof(text), "%s", task->tid != task->pid ? "" : "-");
    grid_cell(grid, task->exit > 0 ? OUTPUT_HOT : OUTPUT_PLAIN, text);
    grid_cell(grid, OUTPUT_PLAIN, text_count(text, view->selection->samples[index]));
    char *command = label(view->profile, family, index, view->output->utf8);
    grid_cell(grid, OUTPUT_PLAIN, command);
    free(command);
}

static uint64_t origin_of(const struct profile *profile)
{
    uint64_t origin = profile->session.start_ns;
    for (uint32_t i = 0; i < profile->task_count; i++)
        if (profile->tasks[i].start_ns && (!origin || profile->tasks[i].start_ns < origin))
            origin = profile->tasks[i].start_ns;
    return origin;
}

int view_tree(struct view *view)
{
    static const struct grid_column columns[] = {{"PID.TID", true},  {"Start", true}, {"Duration", true},
                                                 {"CPU time", true}, {"Exit", true},  {"Samples", true},
                                                 {"Command"}};
    if (view->settings->json)
        return view_document(view, false);
    heading_print(view);
    fputc('\n', view->output->to);
    struct family family;
    family_init(&family, view->profile, view->selection->tasks);
    struct grid *grid = grid_new(columns, sizeof(columns) / sizeof(columns[0]), view->output->utf8);
    uint64_t origin = origin_of(view->profile), shown = 0, top = view->settings->top;
    uint32_t at = family.root;
    for (; at != FAMILY_NONE && (!top || shown < top); at = family_next(&family, at), shown++)
        add_task(grid, view, &family, at, origin);
    grid_print(grid, view->output, true);
    if (at != FAMILY_NONE)
        fprintf(view->output->to, "and %" PRIu64 " more (--top)\n", view->selection->task_count - shown);
    grid_free(grid);
    family_release(&family);
    fputc('\n', view->output->to);
    coverage_print(view);
    return 0;
}
