/* SPDX-License-Identifier: MIT */
#include "analyze/view/programs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/counters.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"

#define LINES              5
#define INCLUSIVE_PROGRAMS 3  /* whose functions are shown, */
#define INCLUSIVE_LINES    5  /* so many of each */
#define FLAT               10 /* top functions: if they have less self weight than FLAT_PERCENT, they say little */
#define FLAT_PERCENT       25
#define NEARLY_ALL         90 /* percent of a program: main, and what leads to it */
#define LEAST_PERCENT      1  /* of the whole */
#define SAME_PERCENT       80 /* of the totals of two functions in common: they call each other */
#define MOSTLY_SELF        50 /* percent of a function's total as self: the list by self weight has it */

struct program {
    const char *name; /* in the map of strings */
    const char *path; /* of its file; "": not known */
    uint64_t cpu, runs;
    const char *heaviest; /* its heaviest command line */
    uint64_t heaviest_cpu;
    size_t lines; /* number of different command lines */
};

/* A command line of a program. Threads count for that of their process. */
struct line {
    uint32_t program;
    uint64_t cpu;
};

struct programs {
    struct map_strings names, texts; /* texts: number of the program, a space, the command line */
    struct program *list;
    struct line *lines;
    size_t count, capacity, line_capacity;
    uint64_t cpu;
};

static void add_line(struct programs *programs, const struct profile_task *task, uint32_t program, uint64_t cpu)
{
    char *command = text_task_command(task), *text = memory_print("%" PRIu32 " %s", program, command);
    size_t known = programs->texts.count;
    free(command);
    uint32_t index = map_strings_add(&programs->texts, text);
    free(text);
    programs->lines = memory_grow(programs->lines, &programs->line_capacity, programs->texts.count,
                                  sizeof(*programs->lines));
    if (index == known)
        programs->lines[index] = (struct line){.program = program};
    programs->lines[index].cpu += cpu;
}

static void find_heaviest(struct programs *programs)
{
    for (size_t i = 0; i < programs->texts.count; i++) {
        const struct line *line = &programs->lines[i];
        struct program *program = &programs->list[line->program];
        program->lines++;
        if (program->heaviest && line->cpu <= program->heaviest_cpu)
            continue;
        program->heaviest = strchr(programs->texts.texts[i], ' ') + 1;
        program->heaviest_cpu = line->cpu;
    }
}

static void add_task(struct programs *programs, const struct view *view, const struct profile_task *task)
{
    bool estimate;
    const char *name = *task->exec ? text_base(task->exec) : task->comm;
    uint32_t at = map_strings_add(&programs->names, name);
    if (at == programs->count) {
        programs->list = memory_grow(programs->list, &programs->capacity, programs->count + 1, sizeof(*programs->list));
        programs->list[programs->count++] = (struct program){.name = programs->names.texts[at], .path = task->exec};
    }
    uint64_t cpu = counters_cpu(view->profile, task, view->selection->weights[task->index], &estimate);
    cpu = cpu == COUNTERS_UNKNOWN ? 0 : cpu;
    programs->list[at].cpu += cpu;
    programs->cpu += cpu;
    programs->list[at].runs += task->pid == task->tid;
    add_line(programs, task, at, cpu);
}

static int compare_programs(const void *left, const void *right)
{
    const struct program *a = left, *b = right;
    int order = order_larger(a->cpu, b->cpu);
    return order ? order : strcmp(a->name, b->name);
}

static void find_programs(struct programs *programs, const struct view *view)
{
    *programs = (struct programs){0};
    for (uint32_t i = 0; i < view->profile->task_count; i++)
        if (view->selection->tasks[i])
            add_task(programs, view, &view->profile->tasks[i]);
    find_heaviest(programs);
    if (programs->count)
        qsort(programs->list, programs->count, sizeof(*programs->list), compare_programs);
}

static void release_programs(struct programs *programs)
{
    map_strings_release(&programs->names);
    map_strings_release(&programs->texts);
    free(programs->lines);
    free(programs->list);
}

/* "5.62 s mail.cpp": time and file of the heaviest run of PROGRAM; NULL: all runs had the same command line, or it
 * names no file. */
static char *heaviest_run(const struct program *program)
{
    char time[TEXT_AMOUNT], *file = program->lines > 1 ? command_file(program->heaviest) : NULL;
    const char *slash = file ? strrchr(file, '/') : NULL;
    char *text = file ? memory_print("%s %s", text_time(time, program->heaviest_cpu), slash ? slash + 1 : file) : NULL;
    free(file);
    return text;
}

static void add_program(struct text_table *table, const struct programs *programs, size_t at, const char *heaviest)
{
    const struct program *program = &programs->list[at];
    char text[TEXT_AMOUNT];
    text_table_cell(table, OUTPUT_PLAIN, text_time(text, program->cpu));
    text_table_cell(table, output_heat(text_share(program->cpu, programs->cpu)),
                    text_percent(text, program->cpu, programs->cpu));
    text_table_cell(table, OUTPUT_PLAIN, text_count(text, program->runs));
    text_table_cell(table, OUTPUT_PLAIN, program->name);
    if (heaviest)
        text_table_brief(table, OUTPUT_PLAIN, "", heaviest, brief_name);
}

static void print_list(struct view *view, const struct programs *programs)
{
    static const struct text_table_column columns[] = {
        {"CPU time", true}, {"Share", true}, {"Runs", true}, {"Program", false, true}, {"Heaviest run"}};
    char *heaviest[LINES] = {NULL};
    bool any = false;
    for (size_t i = 0; i < programs->count && i < LINES; i++) {
        heaviest[i] = heaviest_run(&programs->list[i]);
        any |= heaviest[i] != NULL;
    }
    struct text_table *table = text_table_new(columns, any ? 5 : 4, view->output->utf8);
    for (size_t i = 0; i < programs->count && i < LINES; i++) {
        add_program(table, programs, i, heaviest[i] ? heaviest[i] : any ? "" : NULL);
        free(heaviest[i]);
    }
    text_table_print(table, view->output, true);
    text_table_free(table);
}

void programs_print(struct view *view)
{
    struct programs programs;
    char text[TEXT_AMOUNT];
    find_programs(&programs, view);
    if (programs.count > 1) {
        print_list(view, &programs);
        if (programs.count > LINES)
            fprintf(view->output->to, "and %s more ('panalyze summary' lists them by the names of their commands)\n",
                    text_plural(text, programs.count - LINES, "program", "programs"));
        fputc('\n', view->output->to);
    }
    release_programs(&programs);
}

/* Functions of libc, libstdc++ and the kernel: their callers matter more. */
static bool is_helper(const struct names_function *function)
{
    static const char *const starts[] = {"[kernel", "libc.so", "libc-", "libstdc++.so", "ld-linux", "ld-musl"};
    const char *dso = text_base(function->dso);
    bool helper = false;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        helper |= strncmp(dso, starts[i], strlen(starts[i])) == 0;
    return helper;
}

/* Whether the top functions have little self weight. With MANY programs helpers do not count, since all share them. */
static bool says_little(const struct histogram *histogram, bool many)
{
    uint64_t weight = 0;
    for (size_t i = 0; i < histogram->count && i < FLAT; i++) {
        struct names_function function = names_function(histogram->names, (uint32_t)histogram->rows[i].key);
        if (!many || !is_helper(&function))
            weight += histogram->rows[i].self_weight;
    }
    return text_share(weight, histogram->weight) < FLAT_PERCENT;
}

static int by_total(const void *left, const void *right, void *context)
{
    const struct histogram_row *a = *(const struct histogram_row *const *)left,
                               *b = *(const struct histogram_row *const *)right;
    const struct histogram *histogram = context;
    int order = order_larger(a->total_weight, b->total_weight);
    return order ? order : order_functions(histogram->names, (uint32_t)a->key, (uint32_t)b->key);
}

/* The functions of a program that may be shown, heaviest first, and the weight that each two have in common. */
struct candidates {
    const struct histogram_row *rows[HISTOGRAM_MARKED];
    size_t count;
    uint64_t both[HISTOGRAM_MARKED][HISTOGRAM_MARKED];
};

static void find_candidates(struct candidates *candidates, const struct histogram *histogram,
                            const struct program *program)
{
    const struct histogram_row **rows = memory_new(histogram->count, sizeof(*rows));
    size_t count = 0;
    uint64_t most = 0;
    *candidates = (struct candidates){0};
    for (size_t i = 0; i < histogram->count && *program->path; i++) {
        const struct histogram_row *row = &histogram->rows[i];
        const struct names_function function = names_function(histogram->names, (uint32_t)row->key);
        if (!function.named || strcmp(function.dso, program->path) != 0)
            continue;
        rows[count++] = row;
        most = row->total_weight > most ? row->total_weight : most;
    }
    qsort_r(rows, count, sizeof(*rows), by_total, (void *)(uintptr_t)histogram);
    for (size_t i = 0; i < count && candidates->count < HISTOGRAM_MARKED; i++)
        if (text_share(rows[i]->total_weight, histogram->weight) >= LEAST_PERCENT &&
            text_share(rows[i]->total_weight, most) < NEARLY_ALL &&
            text_share(rows[i]->self_weight, rows[i]->total_weight) < MOSTLY_SELF)
            candidates->rows[candidates->count++] = rows[i];
    free(rows);
}

static void find_overlaps(struct candidates *candidates, struct histogram *histogram, const uint32_t *entries,
                          uint32_t count)
{
    uint32_t *marks = histogram_mark_stacks(histogram, candidates->rows, candidates->count, entries, count);
    for (uint32_t i = 0; i < count; i++) {
        const struct profile_entry *entry = &histogram->profile->entries[entries[i]];
        for (size_t a = 0; a < candidates->count; a++)
            for (size_t b = 0; b < a && marks[entry->stack] >> a & 1; b++)
                if (marks[entry->stack] >> b & 1)
                    candidates->both[a][b] += entry->weight;
    }
    free(marks);
}

/* Does it have nearly the same samples as one that is shown? Then one calls the other. */
static bool is_repeated(const struct candidates *candidates, size_t at, const bool *shown)
{
    bool repeated = false;
    for (size_t i = 0; i < at; i++)
        repeated |= shown[i] &&
                    text_share(candidates->both[at][i], candidates->rows[at]->total_weight) >= SAME_PERCENT &&
                    text_share(candidates->both[at][i], candidates->rows[i]->total_weight) >= SAME_PERCENT;
    return repeated;
}

static void add_function(struct text_table *table, const struct view *view, const struct histogram *histogram,
                         const struct program *program, const struct histogram_row *row)
{
    const bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    char text[TEXT_AMOUNT];
    text_table_cell(table, output_heat(text_share(row->total_weight, histogram->weight)),
                    text_percent(text, row->total_weight, histogram->weight));
    text_table_cell(table, OUTPUT_PLAIN, text_weight(text, row->total_weight, nanoseconds));
    text_table_cell(table, OUTPUT_PLAIN, text_percent(text, row->self_weight, histogram->weight));
    text_table_cell(table, OUTPUT_DIM, program->name);
    text_table_brief(table, OUTPUT_PLAIN, "", names_function(histogram->names, (uint32_t)row->key).symbol, brief_name);
}

/* Adds the functions of PROGRAM to TABLE. Returns their number. */
static size_t add_functions(struct text_table *table, const struct view *view, struct histogram *histogram,
                            const struct program *program, const uint32_t *entries, uint32_t count)
{
    struct candidates candidates;
    bool shown[HISTOGRAM_MARKED] = {false};
    size_t lines = 0;
    find_candidates(&candidates, histogram, program);
    find_overlaps(&candidates, histogram, entries, count);
    for (size_t i = 0; i < candidates.count && lines < INCLUSIVE_LINES; i++) {
        shown[i] = !is_repeated(&candidates, i, shown);
        if (shown[i])
            add_function(table, view, histogram, program, candidates.rows[i]);
        lines += shown[i];
    }
    return lines;
}

bool programs_print_inclusive(struct view *view, struct histogram *histogram, const uint32_t *entries, uint32_t count)
{
    static const struct text_table_column columns[] = {{"Total", true},
                                                       {"Time", true},
                                                       {"Self", true},
                                                       {"Program", false, true},
                                                       {"Function, with all that it called"}};
    struct programs programs;
    find_programs(&programs, view);
    if (!says_little(histogram, programs.count > 1)) {
        release_programs(&programs);
        return false;
    }
    struct text_table *table = text_table_new(columns, 5, view->output->utf8);
    size_t shown = 0;
    for (size_t i = 0; i < programs.count && i < INCLUSIVE_PROGRAMS; i++)
        shown += add_functions(table, view, histogram, &programs.list[i], entries, count);
    if (shown) {
        text_table_print(table, view->output, true);
        fputc('\n', view->output->to);
    }
    text_table_free(table);
    release_programs(&programs);
    return shown > 0;
}
