/* SPDX-License-Identifier: MIT */
/* The page that scripts/pinject-ci hands to a CI service: the answer in two small tables. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/coverage.h"
#include "analyze/view/counters.h"
#include "analyze/view/grid.h"
#include "analyze/view/heading.h"
#include "analyze/view/hits.h"
#include "analyze/view/memory.h"
#include "analyze/view/order.h"
#include "analyze/view/rows.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"

#define LINES 10
#define LONGEST 100 /* of a command line in Markdown */

struct command {
    const char *text; /* of the map of strings */
    uint64_t cpu, tasks, failed;
};

/* Tasks with the same command line, as processes: threads add to their process' line. */
struct commands {
    struct map_strings names;
    struct command *list;
    size_t count, capacity;
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
        commands->list[commands->count++] = (struct command){commands->names.texts[index], 0, 0, 0};
    }
    uint64_t cpu = counters_cpu(view->profile, task, view->selection->weights[task->index], &estimate);
    commands->list[index].cpu += cpu == COUNTERS_UNKNOWN ? 0 : cpu;
    commands->cpu += cpu == COUNTERS_UNKNOWN ? 0 : cpu;
    commands->list[index].tasks += task->pid == task->tid;
    commands->list[index].failed += task->pid == task->tid && task->exit > 0;
}

static int compare(const void *left, const void *right)
{
    const struct command *a = left, *b = right;
    int order = order_larger(a->cpu, b->cpu);
    return order ? order : strcmp(a->text, b->text);
}

/* TEXT inside a cell of a Markdown table, as code: no bars, backticks or line ends of its own. */
static void print_code(struct output *output, const char *text)
{
    char *clean = text_clean(text, true);
    text_cut(clean, LONGEST, output->utf8);
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

static void print_commands_markdown(struct view *view, const struct commands *commands)
{
    FILE *to = view->output->to;
    char time[TEXT_AMOUNT], share[TEXT_AMOUNT];
    fputs("\n| CPU time | share | runs | command |\n| ---: | ---: | ---: | --- |\n", to);
    for (size_t i = 0; i < commands->count && i < LINES; i++) {
        const struct command *command = &commands->list[i];
        fprintf(to, "| %s | %s | %" PRIu64 " | ", text_time(time, command->cpu),
                text_percent(share, command->cpu, commands->cpu), command->tasks);
        print_code(view->output, command->text);
        fputs(" |\n", to);
    }
}

static void print_commands(struct view *view, const struct commands *commands)
{
    static const struct grid_column columns[] = {{"CPU time", true}, {"Share", true}, {"Runs", true}, {"Command"}};
    struct grid *grid = grid_new(columns, 4, view->output->utf8);
    for (size_t i = 0; i < commands->count && i < LINES; i++) {
        char text[TEXT_AMOUNT];
        const struct command *command = &commands->list[i];
        grid_cell(grid, OUTPUT_PLAIN, text_time(text, command->cpu));
        grid_cell(grid, output_heat(text_share(command->cpu, commands->cpu)),
                  text_percent(text, command->cpu, commands->cpu));
        grid_cell(grid, OUTPUT_PLAIN, text_count(text, command->tasks));
        grid_cell(grid, OUTPUT_PLAIN, command->text);
    }
    fputc('\n', view->output->to);
    grid_print(grid, view->output, true);
    grid_free(grid);
}

static void show_commands(struct view *view)
{
    struct commands commands = {0};
    for (uint32_t i = 0; i < view->profile->task_count; i++)
        if (view->selection->tasks[i])
            add_task(&commands, view, &view->profile->tasks[i]);
    if (commands.count)
        qsort(commands.list, commands.count, sizeof(*commands.list), compare);
    if (view->settings->markdown)
        print_commands_markdown(view, &commands);
    else
        print_commands(view, &commands);
    map_strings_release(&commands.names);
    free(commands.list);
}

static void print_functions_markdown(struct view *view, const struct hits *hits, const struct rows *rows)
{
    FILE *to = view->output->to;
    bool nanoseconds = view->profile->events[view->profile->event].nanoseconds;
    char weight[TEXT_AMOUNT], self[TEXT_AMOUNT], total[TEXT_AMOUNT];
    fprintf(to, "\n| self | %s | total | function | object |\n| ---: | ---: | ---: | --- | --- |\n",
            nanoseconds ? "time" : "weight");
    for (size_t i = 0; i < rows->count; i++) {
        const struct hits_row *row = rows->list[i];
        struct names_function function = names_function(view->names, (uint32_t)row->key);
        fprintf(to, "| %s | %s | %s | ", text_percent(self, row->self_weight, hits->weight),
                text_weight(weight, row->self_weight, nanoseconds),
                text_percent(total, row->total_weight, hits->weight));
        print_code(view->output, function.symbol);
        fputs(" | ", to);
        print_code(view->output, text_base(function.object));
        fputs(" |\n", to);
    }
}

static void show_functions(struct view *view)
{
    struct hits hits;
    struct rows rows;
    if (!view->selection->total_samples)
        return;
    view_look_ahead(view);
    hits_init(&hits, view->profile, view->names, BY_FUNCTION);
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        hits_add(&hits, &view->profile->entries[view->selection->entries[i]]);
    hits_sort(&hits, view->settings->sort);
    rows_choose(&rows, view, &hits, LINES);
    /* Functions that only called others are no news on one page. */
    while (rows.count && !rows.list[rows.count - 1]->self_weight)
        rows.count--;
    rows.more = 0;
    if (!rows.count) {
        fputs("\nNo function that the filters name was hit itself.\n", view->output->to);
    } else if (view->settings->markdown) {
        print_functions_markdown(view, &hits, &rows);
    } else {
        fputc('\n', view->output->to);
        rows_print(view, &hits, &rows, NULL, 0);
    }
    rows_release(&rows);
    hits_release(&hits);
}

static void markdown_heading(struct view *view)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    FILE *to = view->output->to;
    char amount[TEXT_AMOUNT], samples[TEXT_AMOUNT], tasks[TEXT_AMOUNT];
    char *command = heading_command(profile);
    fputs("### Profile of ", to);
    print_code(view->output, command);
    free(command);
    char *run = heading_run(view);
    fprintf(to, "\n\n%s%s", run, *run ? ".\n\n" : "");
    free(run);
    fputs(text_plural(tasks, selection->task_count, "task", "tasks"), to);
    if (profile->event_count) {
        const struct profile_event *event = &profile->events[profile->event];
        fprintf(to, ", %s of ", text_plural(samples, selection->total_samples, "sample", "samples"));
        output_text(view->output, event->name);
        fprintf(to, " (%s)", text_weight(amount, selection->total_weight, event->nanoseconds));
    }
    fputs(".\n", to);
}

int view_summary(struct view *view)
{
    if (view->settings->markdown)
        markdown_heading(view);
    else
        heading_print(view);
    show_commands(view);
    show_functions(view);
    fputc('\n', view->output->to);
    coverage_print(view);
    return 0;
}
