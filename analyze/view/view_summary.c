/* SPDX-License-Identifier: MIT */
/* The summary page that scripts/pinject-ci passes to a CI service: two small tables. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/brief.h"
#include "analyze/view/counters.h"
#include "analyze/view/coverage.h"
#include "analyze/view/cpu_use.h"
#include "analyze/view/heading.h"
#include "analyze/view/histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/missing.h"
#include "analyze/view/names.h"
#include "analyze/view/rows.h"
#include "analyze/view/text.h"
#include "analyze/view/text_table.h"
#include "analyze/view/view.h"

#define LINES         10
#define LONGEST       100 /* of a command line in Markdown */
#define LONGEST_LINE  300
#define LONGEST_PIPED 200 /* of a command line without a terminal: the output must stay one page */

struct command {
    const char *text; /* in a map of strings */
    uint64_t cpu, tasks;
};

/* Command lines that differ only in files. */
struct group {
    const struct command *heaviest;
    uint64_t cpu, tasks;
    size_t lines; /* number of different ones */
};

/* Processes by command line. Threads count for that of their process. */
struct commands {
    struct map_strings names, patterns;
    struct command *list;
    struct group *groups;
    size_t count, capacity, group_count, group_capacity;
    uint64_t cpu;
};

static void add_task(struct commands *commands, const struct view *view, const struct profile_task *task)
{
    bool estimate;
    char *text = text_task_command(task);
    uint32_t index = map_strings_add(&commands->names, text);
    free(text);
    if (index == commands->count) {
        commands->list = memory_grow(commands->list, &commands->capacity, commands->count + 1, sizeof(*commands->list));
        commands->list[commands->count++] = (struct command){commands->names.texts[index], 0, 0};
    }
    uint64_t cpu = counters_cpu(view->profile, task, view->selection->weights[task->index], &estimate);
    commands->list[index].cpu += cpu == COUNTERS_UNKNOWN ? 0 : cpu;
    commands->cpu += cpu == COUNTERS_UNKNOWN ? 0 : cpu;
    commands->list[index].tasks += task->pid == task->tid;
}

static int compare_commands(const void *left, const void *right)
{
    const struct command *a = left, *b = right;
    int order = order_larger(a->cpu, b->cpu);
    return order ? order : strcmp(a->text, b->text);
}

static int compare_groups(const void *left, const void *right)
{
    const struct group *a = left, *b = right;
    int order = order_larger(a->cpu, b->cpu);
    return order ? order : strcmp(a->heaviest->text, b->heaviest->text);
}

/* Makes groups from the list, heaviest first. */
static void make_groups(struct commands *commands)
{
    for (size_t i = 0; i < commands->count; i++) {
        const struct command *command = &commands->list[i];
        char *pattern = command_pattern(command->text);
        uint32_t index = map_strings_add(&commands->patterns, pattern);
        free(pattern);
        if (index == commands->group_count) {
            commands->groups = memory_grow(commands->groups, &commands->group_capacity, commands->group_count + 1,
                                           sizeof(*commands->groups));
            commands->groups[commands->group_count++] = (struct group){.heaviest = command};
        }
        commands->groups[index].cpu += command->cpu;
        commands->groups[index].tasks += command->tasks;
        commands->groups[index].lines++;
    }
    if (commands->group_count)
        qsort(commands->groups, commands->group_count, sizeof(*commands->groups), compare_groups);
}

/* "cc1 (12 commands that differ in file names)"; NULL for a single command line. Owned by the caller. */
static char *group_name(const struct group *group)
{
    char *program = command_program(group->heaviest->text);
    char *name = NULL;
    if (group->lines > 1)
        name = memory_print("%s (%zu commands that differ in file names)", program, group->lines);
    free(program);
    return name;
}

/* The file of the heaviest command of a group, or its command line; owned by the caller. */
static char *heaviest_name(const struct group *group)
{
    char *file = command_file(group->heaviest->text);
    return file ? file : memory_text(group->heaviest->text);
}

/* Prints TEXT as code in a cell of a Markdown table: without bars, backticks or line ends that would have a meaning. */
static void print_code(struct output *output, const char *text, text_table_shorten *shorten)
{
    char *whole = text_clean(text, true), *clean = shorten(whole, LONGEST, output->utf8);
    free(whole);
    fputc('`', output->to);
    for (const char *at = clean; *at; at++) {
        if (*at == '|')
            fputs("\\|", output->to);
        else
            fputc(*at == '`' ? '\'' : *at, output->to);
    }
    fputc('`', output->to);
    free(clean);
}

/* Prints TEXT with the special characters of Markdown escaped. */
static void print_escaped(struct output *output, const char *text)
{
    char *clean = text_clean(text, true);
    text_cut(clean, LONGEST_LINE, output->utf8);
    for (const char *at = clean; *at; at++) {
        if (strchr("\\`*_[]<>|~#&", *at))
            fputc('\\', output->to);
        fputc(*at, output->to);
    }
    free(clean);
}

static void print_row_markdown(struct view *view, const struct commands *commands, const struct command *row,
                               const char *before)
{
    FILE *to = view->output->to;
    char time[TEXT_AMOUNT], share[TEXT_AMOUNT];
    fprintf(to, "| %s | %s | %" PRIu64 " | %s", text_time(time, row->cpu), text_percent(share, row->cpu, commands->cpu),
            row->tasks, before);
    print_code(view->output, row->text, command_brief);
    fputs(" |\n", to);
}

static void print_commands_markdown(struct view *view, const struct commands *commands)
{
    FILE *to = view->output->to;
    fputs("\n| CPU time | share | runs | command |\n| ---: | ---: | ---: | --- |\n", to);
    for (size_t i = 0; i < commands->group_count && i < LINES; i++) {
        const struct group *group = &commands->groups[i];
        char *name = group_name(group), *heaviest = heaviest_name(group);
        const struct command row = {name ? name : group->heaviest->text, group->cpu, group->tasks};
        print_row_markdown(view, commands, &row, "");
        const struct command first = {heaviest, group->heaviest->cpu, group->heaviest->tasks};
        if (name)
            print_row_markdown(view, commands, &first, "the heaviest: ");
        free(heaviest);
        free(name);
    }
}

static void add_row(struct view *view, struct text_table *table, const struct commands *commands,
                    const struct command *row, const char *before)
{
    char text[TEXT_AMOUNT];
    text_table_cell(table, OUTPUT_PLAIN, text_time(text, row->cpu));
    text_table_cell(table, output_heat(text_share(row->cpu, commands->cpu)),
                    text_percent(text, row->cpu, commands->cpu));
    text_table_cell(table, OUTPUT_PLAIN, text_count(text, row->tasks));
    char *brief = view->output->width ? NULL : command_brief(row->text, LONGEST_PIPED, view->output->utf8);
    text_table_brief(table, OUTPUT_PLAIN, before, brief ? brief : row->text, command_brief);
    free(brief);
}

static void print_commands(struct view *view, const struct commands *commands)
{
    static const struct text_table_column columns[] = {
        {"CPU time", true}, {"Share", true}, {"Runs", true}, {"Command"}};
    struct text_table *table = text_table_new(columns, 4, view->output->utf8);
    for (size_t i = 0; i < commands->group_count && i < LINES; i++) {
        const struct group *group = &commands->groups[i];
        char *name = group_name(group), *heaviest = heaviest_name(group);
        const struct command row = {name ? name : group->heaviest->text, group->cpu, group->tasks};
        add_row(view, table, commands, &row, "");
        const struct command first = {heaviest, group->heaviest->cpu, group->heaviest->tasks};
        if (name)
            add_row(view, table, commands, &first, view->output->utf8 ? "└─ the heaviest: " : "`- the heaviest: ");
        free(heaviest);
        free(name);
    }
    fputc('\n', view->output->to);
    text_table_print(table, view->output, true);
    text_table_free(table);
}

static void show_commands(struct view *view)
{
    struct commands commands = {0};
    for (uint32_t i = 0; i < view->profile->task_count; i++)
        if (view->selection->tasks[i])
            add_task(&commands, view, &view->profile->tasks[i]);
    if (commands.count)
        qsort(commands.list, commands.count, sizeof(*commands.list), compare_commands);
    make_groups(&commands);
    if (view->settings->markdown)
        print_commands_markdown(view, &commands);
    else
        print_commands(view, &commands);
    map_strings_release(&commands.names);
    map_strings_release(&commands.patterns);
    free(commands.groups);
    free(commands.list);
}

static void print_functions_markdown(struct view *view, const struct histogram *histogram, const struct rows *rows)
{
    FILE *to = view->output->to;
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    char weight[TEXT_AMOUNT], self[TEXT_AMOUNT], total[TEXT_AMOUNT];
    fprintf(to, "\n| self | %s | total | function | DSO |\n| ---: | ---: | ---: | --- | --- |\n",
            nanoseconds ? "time" : "weight");
    for (size_t i = 0; i < rows->count; i++) {
        const struct histogram_row *row = rows->list[i];
        struct names_function function = names_function(view->names, (uint32_t)row->key);
        fprintf(to, "| %s | %s | %s | ", text_percent(self, row->self_weight, histogram->weight),
                text_weight(weight, row->self_weight, nanoseconds),
                text_percent(total, row->total_weight, histogram->weight));
        print_code(view->output, function.symbol, brief_name);
        fputs(" | ", to);
        print_code(view->output, text_base(function.dso), brief_name);
        fputs(" |\n", to);
    }
}

static void show_functions(struct view *view)
{
    struct histogram histogram;
    struct rows rows;
    if (!view->selection->total_samples)
        return;
    view_symbolize(view);
    histogram_init(&histogram, view->profile, view->names, BY_FUNCTION);
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        histogram_add(&histogram, &view->profile->entries[view->selection->entries[i]]);
    histogram_sort(&histogram, view->settings->sort);
    rows_choose(&rows, view, &histogram, LINES, view->settings->cum);
    /* Functions without self weight are left out. */
    while (rows.count && !rows.list[rows.count - 1]->self_weight)
        rows.count--;
    rows.more = 0;
    if (!rows.count) {
        fputs("\nThe functions that the filters select have no samples of their own.\n", view->output->to);
    } else if (view->settings->markdown) {
        print_functions_markdown(view, &histogram, &rows);
    } else {
        fputc('\n', view->output->to);
        rows_print(view, &histogram, &rows, view->selection->entries, view->selection->entry_count);
    }
    rows_release(&rows);
    histogram_release(&histogram);
    char *user_part = heading_user_part(view->profile, "Functions");
    if (user_part) {
        fputc('\n', view->output->to);
        output_wrapped(view->output, 2, user_part);
    }
    free(user_part);
}

static void markdown_heading(struct view *view)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    FILE *to = view->output->to;
    char amount[TEXT_AMOUNT], samples[TEXT_AMOUNT], tasks[TEXT_AMOUNT];
    char *command = heading_command(profile);
    fputs("### Profile of ", to);
    print_code(view->output, command, command_brief);
    free(command);
    char *run = heading_run(view);
    fprintf(to, "\n\n%s%s", run, *run ? ".\n\n" : "");
    free(run);
    char *bound = cpu_use_text(view);
    if (bound) {
        print_escaped(view->output, bound);
        fputs(".\n\n", to);
    }
    free(bound);
    fputs(text_plural(tasks, selection->task_count, "task", "tasks"), to);
    if (profile->event_count) {
        const struct profile_event *event = &profile->events[profile->event];
        fprintf(to, ", %s of ", text_plural(samples, selection->total_samples, "sample", "samples"));
        output_text(view->output, event->name);
        fprintf(to, " (%s)", text_weight(amount, selection->total_weight, event->nanoseconds));
    }
    fputs(".\n", to);
}

static void print_cpu_use(struct view *view)
{
    char *bound = cpu_use_text(view);
    if (bound)
        output_wrapped(view->output, 2, bound);
    free(bound);
}

int view_summary(struct view *view)
{
    if (view->settings->markdown) {
        markdown_heading(view);
    } else {
        heading_print(view);
        print_cpu_use(view);
    }
    show_commands(view);
    show_functions(view);
    fputc('\n', view->output->to);
    if (view->selection->total_samples)
        missing_print(view);
    coverage_print(view);
    return 0;
}
