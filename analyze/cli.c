/* SPDX-License-Identifier: MIT */
#include "analyze/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/cli_check.h"
#include "analyze/export/export.h"
#include "analyze/model/thread_pool.h"
#include "analyze/script/script.h"
#include "analyze/script/script_fields.h"
#include "analyze/view/memory.h"
#include "common/nearest.h"
#include "common/options.h"
#include "common/report.h"
#include "counts/count_print.h"
#include "unwind/engine.h"

#define HELP_WIDTH 100

enum {
    REPORT = 1,
    TREE = 2,
    COUNTS = 4,
    SCRIPT = 8,
    INFO = 16,
    SUMMARY = 32,
    HELP = 64,
    FLAME = 128,
    DIFF = 256,
    ANNOTATE = 1 << 10,
    TOP = 1 << 11,
    ARCHIVE = 1 << 12,
    EXPORT = 1 << 13,
    PROFILE = REPORT | TREE | COUNTS | SCRIPT | SUMMARY | FLAME | ANNOTATE | TOP | ARCHIVE | EXPORT,
    NAMES = PROFILE | DIFF,
};

static const struct cli_command commands[] = {
    {"report", REPORT, CLI_PROFILE | CLI_PLACES, view_report, "where the time went, by function (the default command)",
     "What took the time"},
    {"summary", SUMMARY, CLI_PROFILE | CLI_PLACES, view_summary,
     "one page: what ran, the heaviest commands and functions, and what was not recorded"},
    {"flame", FLAME, CLI_PROFILE | CLI_DOCUMENT, view_flame,
     "flame graph: an SVG file to zoom and search in a browser"},
    {"annotate", ANNOTATE, CLI_PROFILE, view_annotate, "instructions and source lines of functions, with their shares"},
    {"diff", DIFF, CLI_PROFILE | CLI_PAIR, view_diff,
     "what changed between two versions of a program; several runs of each give the best results"},
    {"tree", TREE, CLI_PROFILE | CLI_COUNTS, view_tree,
     "processes and threads with their parents, times and exit status", "What ran"},
    {"counts", COUNTS, CLI_PROFILE | CLI_COUNTS, view_counts, "counts of events, in total and for each task"},
    {"top", TOP, CLI_PROFILE | CLI_FOLLOW, view_top, "live view of a running program"},
    {"script", SCRIPT, CLI_PROFILE | CLI_WHOLE_SAMPLES, script_view,
     "each sample as text or JSON, like perf script; with --all, each record"},
    {"info", INFO, 0, view_info, "what each file contains"},
    {"export", EXPORT, CLI_PROFILE | CLI_OWN_OUTPUT, export_view,
     "write the profile in FORMAT: perf, pprof, speedscope, firefox, folded, chrome or csv",
     "For other programs and machines"},
    {"archive", ARCHIVE, CLI_PROFILE, view_archive,
     "save function names and line numbers, for use on another machine or after a rebuild"},
    {"help", HELP, 0, NULL, "this text; 'help COMMAND' lists the options of one command"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static int take_sort(void *state, const struct option_row *row, const char *value)
{
    ((struct settings *)state)->sort_given = true;
    return options_take_word(state, row, value);
}

/* "object" is the older name of "dso". */
static int take_grouping(void *state, const struct option_row *row, const char *value)
{
    return options_take_word(state, row, value && strcmp(value, "object") == 0 ? "dso" : value);
}

static int take_by(void *state, const struct option_row *row, const char *value)
{
    ((struct settings *)state)->by_given = true;
    return take_grouping(state, row, value);
}

static int take_diff_by(void *state, const struct option_row *row, const char *value)
{
    ((struct settings *)state)->diff_by_given = true;
    return take_grouping(state, row, value);
}

/* Here the row's offset is the value. */
static int take_tasks(void *state, const struct option_row *row, const char *value)
{
    (void)value;
    ((struct settings *)state)->tasks = (int)row->offset;
    return 0;
}

static int take_list(void *state, const struct option_row *row, const char *value)
{
    struct settings_list *list = (struct settings_list *)((char *)state + row->offset);
    if (!value || !*value) {
        report_error("option '--%s' needs a value that is not empty (%s)", row->name, row->value);
        return -EINVAL;
    }
    list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof(*list->items));
    list->items[list->count++] = value;
    return 0;
}

static int take_numbers(void *state, const struct option_row *row, const char *value)
{
    struct settings_numbers *list = (struct settings_numbers *)((char *)state + row->offset);
    const char *at = value;
    for (;;) {
        char *end = NULL;
        errno = 0;
        long number = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : -1;
        if (number < 0 || errno || number > INT32_MAX || (*end && *end != ',')) {
            report_error("option '--%s' needs numbers separated by commas, not '%s'", row->name, value);
            return -EINVAL;
        }
        list->items = memory_grow(list->items, &list->capacity, list->count + 1, sizeof(*list->items));
        list->items[list->count++] = (int32_t)number;
        if (!*end)
            return 0;
        at = end + 1;
    }
}

static int take_top(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    if (value && strcmp(value, "all") == 0) {
        settings->top = SETTINGS_ALL;
        return 0;
    }
    return options_take_count(state, row, value);
}

static int take_fields(void *state, const struct option_row *row, const char *value)
{
    (void)row;
    return script_fields_parse(value ? value : "", &((struct settings *)state)->fields);
}

static int take_min(void *state, const struct option_row *row, const char *value)
{
    char *end = NULL;
    double percent = value && *value >= '0' && *value <= '9' ? strtod(value, &end) : 0;
    if (end && *end == '%')
        end++;
    if (!end || *end || !(percent >= 0 && percent < 100)) {
        report_error("option '--%s' needs a percentage of at least 0 and below 100, not '%s'", row->name,
                     value ? value : "");
        return -EINVAL;
    }
    ((struct settings *)state)->min = percent;
    ((struct settings *)state)->min_given = true;
    return 0;
}

static int take_threads(void *state, const struct option_row *row, const char *value)
{
    int status = options_take_count(state, row, value);
    uint64_t *threads = (uint64_t *)((char *)state + row->offset);
    if (status == 0 && *threads > THREAD_POOL_MAX) {
        report_error("option '--%s' takes at most %d, not '%s'", row->name, THREAD_POOL_MAX, value);
        return -EINVAL;
    }
    return status;
}

static int take_percent(void *state, const struct option_row *row, const char *value)
{
    char *end = NULL;
    double percent = value ? strtod(value, &end) : 0;
    if (end && *end == '%')
        end++;
    if (!end || end == value || *end || !(percent > 0 && percent <= 100)) {
        report_error("option '--%s' needs a percentage above 0 and at most 100, not '%s'", row->name,
                     value ? value : "");
        return -EINVAL;
    }
    ((struct settings *)state)->cum = percent;
    return 0;
}

static int take_interval(void *state, const struct option_row *row, const char *value)
{
    char *end = NULL;
    double seconds = strtod(value, &end);
    if (end == value || *end || !(seconds >= 0.1 && seconds <= 86400)) {
        report_error("option '--%s' needs a number of seconds from 0.1 to 86400, not '%s'", row->name, value);
        return -EINVAL;
    }
    ((struct settings *)state)->interval = seconds;
    return 0;
}

#define FIELD(name) offsetof(struct settings, name)

/* The options of which one excludes the others: those that store at OFFSET. */
static const char *alternatives(size_t offset)
{
    return offset == FIELD(count_by)     ? "--per-thread, --per-process, --per-comm and --per-exec"
           : offset == FIELD(count_form) ? "--field-separator and --openmetrics"
                                         : "--us-counter-format, --eu-counter-format and --hex-counter-format";
}

static int take_count_choice(void *state, const struct option_row *row, const char *value)
{
    int *choice = (int *)((char *)state + row->offset);
    (void)value;
    if (*choice && *choice != (int)row->number) {
        report_error("option '--%s': only one of %s can be used", row->name, alternatives(row->offset));
        return -EINVAL;
    }
    *choice = (int)row->number;
    return 0;
}

static int take_separator(void *state, const struct option_row *row, const char *value)
{
    int error = count_take_separator(&((struct settings *)state)->separator, value);
    return error ? error
                 : take_count_choice(
                       state,
                       &(struct option_row){.name = row->name, .number = COUNT_AS_CSV, .offset = FIELD(count_form)},
                       value);
}

static const struct option_row rows[] = {
    {.help = "Grouping and order", .groups = REPORT | FLAME | DIFF},
    {0, "per-task", NULL, 0, take_tasks, TASKS_APART, 0, REPORT, "a section for each task, heaviest first"},
    {'a', "aggregate", NULL, 0, take_tasks, TASKS_TOGETHER, 0, REPORT,
     "all tasks as one profile (the default for text output); with --json: leave out the functions of each task"},
    {'a', "aggregate", NULL, 0, options_take_flag, FIELD(aggregate), 0, EXPORT,
     "for the format speedscope: all tasks as one profile"},
    {'a', "aggregate", NULL, 0, options_take_flag, FIELD(aggregate), 0, FLAME,
     "no boxes for commands, only for functions; the same as --by=function"},
    {0, "group", NULL, 0, options_take_flag, FIELD(group), 0, REPORT | EXPORT,
     "show all sampled events side by side; --event chooses the first column (also with 'export csv')"},
    {0, "values", NULL, 0, options_take_flag, FIELD(values), 0, REPORT,
     "show what each event of a group counted (recorded with -e '{A,B}:S')"},
    {0, "by", "GROUP", 0, take_by, FIELD(by), 0, REPORT,
     "group rows by function (the default), dso, task, process, comm, address, line, inline, file, data-page, "
     "data-symbol, data-type or branch",
     CLI_REPORT_BY},
    {0, "by", "function|dso|task|process|comm|address", 0, take_by, FIELD(by), 0, FLAME,
     "what a box stands for: a function, a DSO, an address; or a task, a process or a command name, with the boxes of its "
     "functions in it (default: comm, the command name)"},
    {0, "by", "comm|dso|function|stack", 0, take_diff_by, FIELD(diff_by), 0, DIFF,
     "what to compare (default: commands and functions)"},
    {0, "total", NULL, 0, options_take_flag, FIELD(total), 0, DIFF,
     "compare functions and DSOs by total weight (with callees), not by self weight"},
    {0, "sort", "weight|share", 0, options_take_word, FIELD(diff_sort), 0, DIFF,
     "order rows by the change of the time or count (the default), or the change of the share (the column Points)"},
    {0, "reverse", NULL, 0, options_take_flag, FIELD(reverse), 0, FLAME,
     "sampled functions at the top, their callers below"},
    {0, "icicle", NULL, 0, options_take_enum, FIELD(layout), LAYOUT_HANGING, FLAME, "callers at the top (the default)"},
    {0, "upright", NULL, 0, options_take_enum, FIELD(layout), LAYOUT_UPRIGHT, FLAME,
     "callers at the bottom, as in a classic flame graph"},
    {0, "no-fold", NULL, 0, options_take_flag, FIELD(no_fold), 0, FLAME, "do not merge recursive calls into one box"},
    {0, "callers", NULL, 0, options_take_flag, FIELD(callers), 0, REPORT,
     "print under each function the functions that called it (bottom-up)"},
    {0, "callees", NULL, 0, options_take_flag, FIELD(callees), 0, REPORT,
     "print under each function the functions that it called (top-down)"},
    {0, "call-tree", NULL, 0, options_take_flag, FIELD(call_tree), 0, REPORT,
     "show the calls as a tree that begins with the outermost callers and ends with the sampled functions"},
    {0, "reverse", NULL, 0, options_take_flag, FIELD(reverse), 0, REPORT,
     "show the calls as a tree that begins with the sampled functions and ends with the outermost callers"},
    {0, "sort", "self|total", 0, take_sort, FIELD(sort), 0, REPORT | TREE | COUNTS | SUMMARY,
     "order functions by self weight (the default) or by total weight (the default with --callees)"},
    {.help = "How much to show"},
    {'n', "top", "N", 0, take_top, FIELD(top), 0, REPORT | TREE | COUNTS | SCRIPT | DIFF | ANNOTATE | TOP,
     "show at most N rows in each section; 'all' for no limit"},
    {0, "cum", "P", 0, take_percent, FIELD(cum), 0, REPORT | EXPORT,
     "show rows until they add up to P percent of the total (also with 'export csv')"},
    {0, "cum-thres", "P", OPTION_SYNONYM, take_percent, FIELD(cum), 0, REPORT | EXPORT,
     "pfmon\'s name for the option --cum"},
    {0, "smpl-cum-threshold", "P", OPTION_SYNONYM, take_percent, FIELD(cum), 0, REPORT | EXPORT,
     "pfmon\'s name for the option --cum"},
    {0, "smpl-show-top", "N", OPTION_SYNONYM, take_top, FIELD(top), 0, REPORT, "pfmon\'s name for the option --top"},
    {0, "show-cum", NULL, 0, options_take_flag, FIELD(show_cum), 0, REPORT | EXPORT,
     "add a column with the share of this row and all rows above it (also with 'export csv')"},
    {0, "min", "P", 0, take_min, FIELD(min), 0, REPORT,
     "in the call tree, show one line for all branches below P percent (default: 0.5)"},
    {0, "min", "P", 0, take_min, FIELD(min), 0, FLAME,
     "leave out boxes below P percent (default: draw the 10000 heaviest boxes)"},
    {0, "interval", "SECONDS", 0, take_interval, 0, 0, TOP, "seconds between two updates (default: 2)"},
    {0, "snapshots", "N", 0, options_take_count, FIELD(snapshots), 0, TOP,
     "stop after N updates (default: when the program ends)"},
    {0, "base", "BASE", OPTION_HIDDEN, options_take_string, FIELD(base), 0, TOP, "files BASE.PID.TID, when they come"},
    {0, "until", "FD", OPTION_HIDDEN, options_take_count, FIELD(until), 0, TOP, "end with this descriptor"},
    {.help = "Which tasks and samples"},
    {'p', "pid", "LIST", 0, take_numbers, FIELD(pids), 0, PROFILE,
     "only the processes with these pids (separated by commas)"},
    {'t', "tid", "LIST", 0, take_numbers, FIELD(tids), 0, PROFILE,
     "only the threads with these tids (separated by commas)"},
    {'c', "comm", "NAME", 0, take_list, FIELD(comms), 0, PROFILE | DIFF,
     "only this command, by name or pattern such as 'cc1*'; may be repeated"},
    {0, "command-line", "TEXT", 0, take_list, FIELD(command_lines), 0, PROFILE | DIFF,
     "only tasks with TEXT in their command line, such as 'big.cpp'; may be repeated"},
    {0, "dso", "NAME", 0, take_list, FIELD(dsos), 0, FLAME, "only stacks through this DSO; may be repeated"},
    {'o', "dso", "NAME", 0, take_list, FIELD(dsos), 0, REPORT | SCRIPT | SUMMARY | DIFF | ANNOTATE | TOP,
     "only functions of this DSO, by path, name or pattern; may be repeated"},
    {0, "object", "NAME", OPTION_SYNONYM, take_list, FIELD(dsos), 0,
     REPORT | SCRIPT | SUMMARY | DIFF | ANNOTATE | TOP | FLAME, "the older name of --dso"},
    {'S', "symbol", "NAME", 0, take_list, FIELD(symbols), 0, FLAME,
     "only stacks through this function; may be repeated"},
    {'S', "symbol", "NAME", 0, take_list, FIELD(symbols), 0, REPORT | SCRIPT | SUMMARY | DIFF | ANNOTATE | TOP,
     "only this function, by name or pattern; may be repeated"},
    {'e', "event", "NAME", 0, options_take_string, FIELD(event), 0, PROFILE | DIFF,
     "show this sampled event (default: the first one)"},
    {0, "session", "ID", 0, options_take_string, FIELD(session), 0, PROFILE,
     "show the run whose session id begins with ID (default: the newest run)"},
    {0, "session", "A[,B]", 0, options_take_string, FIELD(session), 0, DIFF,
     "compare the run A of the files BEFORE with the run B of the files AFTER; A and B are the beginnings of session "
     "ids (default for B: A)"},
    {0, "threads", "N", 0, take_threads, FIELD(threads), 0,
     REPORT | SUMMARY | FLAME | DIFF | SCRIPT | ANNOTATE | EXPORT,
     "use N threads to read files and look up names (default: one per CPU)"},
    {.help = "Counts"},
    {0, "per-thread", NULL, 0, take_count_choice, FIELD(count_by), COUNT_BY_THREAD, COUNTS,
     "the counts of each thread, in the form of 'pinject-run --stat'"},
    {0, "per-process", NULL, 0, take_count_choice, FIELD(count_by), COUNT_BY_PROCESS, COUNTS,
     "the counts of each process"},
    {0, "per-comm", NULL, 0, take_count_choice, FIELD(count_by), COUNT_BY_COMM, COUNTS,
     "the counts of each command name; a task is counted under the name of its last program"},
    {0, "per-exec", NULL, 0, take_count_choice, FIELD(count_by), COUNT_BY_EXEC, COUNTS,
     "the counts of each program that a thread ran, one row for each exec"},
    {0, "interval", NULL, 0, options_take_flag, FIELD(rounds), 0, COUNTS,
     "the counts of each interval of the run, then those of the whole run"},
    {'x', "field-separator", "SEP", 0, take_separator, 0, 0, COUNTS,
     "CSV with the columns of perf stat, separated by SEP"},
    {0, "openmetrics", NULL, 0, take_count_choice, FIELD(count_form), COUNT_AS_OPENMETRICS, COUNTS,
     "the counts in OpenMetrics format"},
    {0, "us-counter-format", NULL, 0, take_count_choice, FIELD(count_digits), COUNT_US, COUNTS,
     "print counts as 1,234,567"},
    {0, "eu-counter-format", NULL, 0, take_count_choice, FIELD(count_digits), COUNT_EU, COUNTS,
     "print counts as 1.234.567"},
    {0, "hex-counter-format", NULL, 0, take_count_choice, FIELD(count_digits), COUNT_HEX, COUNTS,
     "counts in hexadecimal, such as 0x12d687; times in hexadecimal nanoseconds"},
    {.help = "Names"},
    {0, "no-demangle", NULL, 0, options_take_flag, FIELD(no_demangle), 0, NAMES, "do not demangle C++ and Rust names"},
    {0, "no-resolve", NULL, 0, options_take_flag, FIELD(no_resolve), 0, REPORT | SCRIPT,
     "show addresses, not names of functions; no symbols are read"},
    {0, "symfs", "DIR", 0, options_take_string, FIELD(symfs), 0, NAMES, "look for programs and libraries below DIR"},
    {0, "debug-path", "DIR", 0, take_list, FIELD(debug_paths), 0, NAMES,
     "look for separate debug files in DIR before /usr/lib/debug; may be repeated"},
    {0, "unwinder", "ENGINE", 0, unwind_engine_take, FIELD(unwinder), 0, NAMES & ~(TREE | COUNTS),
     "unwinder for the stacks of 'perf record --call-graph dwarf': tables (pinject's own, the default) or libunwind"},
    {0, "objdump", "PATH", 0, options_take_string, FIELD(objdump), 0, ANNOTATE,
     "disassembler (default: the objdump in $PATH)"},
    {'F', "fields", "LIST", 0, take_fields, 0, 0, SCRIPT,
     "show only these fields of each sample, named as in perf script: comm,tid,pid,time,cpu,event,period,ip,sym,..."},
    {0, "compact", NULL, 0, options_take_flag, FIELD(compact), 0, SCRIPT,
     "one line for each sample, in the columns of pfmon: number, pid, tid, CPU, address, time, event, number of "
     "the event set, period, counts of the event's group"},
    {0, "smpl-compact", NULL, OPTION_SYNONYM, options_take_flag, FIELD(compact), 0, SCRIPT,
     "pfmon\'s name for the option --compact"},
    {0, "all", NULL, 0, options_take_flag, FIELD(all), 0, SCRIPT, "show all records, not only samples"},
    {0, "lines", NULL, 0, options_take_flag, FIELD(lines), 0, SCRIPT, "print the source line below each address"},
    {0, "inline", NULL, 0, options_take_flag, FIELD(inlined), 0, SCRIPT, "print inlined functions above each address"},
    {0, "inline", NULL, 0, options_take_flag, FIELD(inlined), 0, REPORT | FLAME,
     "show inlined functions in call chains, from debug information (the default)"},
    {0, "no-inline", NULL, 0, options_take_flag, FIELD(no_inline), 0, REPORT | FLAME | SCRIPT | EXPORT | DIFF,
     "do not show inlined functions"},
    {0, "inline", NULL, 0, options_take_flag, FIELD(inlined), 0, DIFF,
     "count each inlined function as a function of its own"},
    {0, "inline", NULL, 0, options_take_flag, FIELD(inlined), 0, EXPORT,
     "add inlined functions from debug information; for pprof and firefox, add source lines, too"},
    {0, "debuginfod", NULL, 0, options_take_flag, FIELD(debuginfod), 0, NAMES,
     "ask the servers in DEBUGINFOD_URLS for missing debug files"},
    {.help = "Output"},
    {0, "smpl-module", CLI_MODULES, 0, options_take_word, FIELD(module), MODULE_HISTOGRAM, REPORT | SCRIPT | EXPORT,
     "write output in the form of this sampling module of pfmon; its name also decides which panalyze command runs, "
     "and with which options"},
    {'o', "output", "FILE", 0, options_take_string, FIELD(file), 0, FLAME,
     "file to write (default: flame.svg); '-' is stdout"},
    {'o', "output", "TO", 0, options_take_string, FIELD(archive), 0, ARCHIVE,
     "directory, .tar or .tar.gz to write (default: a directory beside the result files, such as out.symbols)"},
    {0, "title", "TEXT", 0, options_take_string, FIELD(title), 0, FLAME,
     "title of the flame graph (default: the command line)"},
    {'j', "json", NULL, 0, options_take_flag, FIELD(json), 0, REPORT | TREE | COUNTS | SCRIPT | DIFF | ANNOTATE | INFO,
     "print one JSON document"},
    {'o', "output", "FILE", 0, options_take_string, FIELD(file), 0, EXPORT,
     "file to write (default: stdout); if no FORMAT is given, the extension of the file selects the format; .gz "
     "compresses the file"},
    {0, "markdown", NULL, 0, options_take_flag, FIELD(markdown), 0, SUMMARY, "print Markdown"},
    {0, "color", "auto|always|never", 0, options_take_word, FIELD(color), 0, 0,
     "use colours (auto: on a terminal, unless NO_COLOR is set)"},
    {0, "pager", NULL, 0, options_take_flag, FIELD(pager), 0, 0,
     "show long output with $PAGER on a terminal (the default)"},
    {0, "no-pager", NULL, 0, options_take_flag, FIELD(no_pager), 0, 0, "do not use a pager"},
    {'h', "help", NULL, 0, options_take_flag, FIELD(help), 0, 0,
     "print this help; after a command, print the options of that command"},
    {'V', "version", NULL, 0, options_take_flag, FIELD(version), 0, 0, "print the version"},
    {0},
};

const struct cli_command *cli_find(const char *name)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

const struct cli_command *cli_nearest(const char *name)
{
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *near = nearest_word(name, names, COMMAND_COUNT);
    return near ? cli_find(near) : NULL;
}

static void settings_release(struct settings *settings)
{
    free(settings->pids.items);
    free(settings->tids.items);
    free(settings->comms.items);
    free(settings->command_lines.items);
    free(settings->dsos.items);
    free(settings->symbols.items);
    free(settings->debug_paths.items);
    *settings = (struct settings){0};
}

/* The command is the first operand, if that is the name of one. Options may come before it. */
static int find_command(int argc, char **argv, const struct cli_command **ret_command)
{
    *ret_command = NULL;
    if (argc < 2 || argv[1][0] != '-') {
        *ret_command = argc < 2 ? NULL : cli_find(argv[1]);
        return 0;
    }
    char **copy = memory_new((size_t)argc + 1, sizeof(*copy));
    memcpy(copy, argv, (size_t)argc * sizeof(*copy));
    /* Values are checked later, by the command's rows. */
    struct options options = {.rows = rows, .only_look = true};
    int first = 0, count = 0;
    int status = options_parse(&options, NULL, argc, copy, &first, &count);
    if (status == 0 && count)
        *ret_command = cli_find(copy[first]);
    free(copy);
    return status;
}

/* Divides the operands of a pair: two, or any number on each side of "--", which is removed. 0, or -EINVAL after a
 * message. */
static int divide_operands(struct cli *cli, char **operands)
{
    size_t at = 0;
    while (at < cli->operand_count && strcmp(operands[at], "--") != 0)
        at++;
    cli->before = at;
    if (at == cli->operand_count) {
        cli->before = 1;
        if (cli->operand_count == 2)
            return 0;
    } else {
        memmove(operands + at, operands + at + 1, (--cli->operand_count - at) * sizeof(*operands));
        bool again = false;
        for (size_t i = at; i < cli->operand_count; i++)
            again |= strcmp(operands[i], "--") == 0;
        if (at > 0 && at < cli->operand_count && !again)
            return 0;
    }
    report_error("'%s' compares two sides. If each side is one run (a directory or a file), type: panalyze %s BEFORE "
                 "AFTER. If each side is several runs, type: panalyze %s A1 A2 A3 -- B1 B2 B3",
                 cli->command->name, cli->command->name, cli->command->name);
    return -EINVAL;
}

/* Refuses options that --group and --values cannot show. */
static int check_group(const struct settings *settings)
{
    const char *other = settings->call_tree                                    ? "--call-tree"
                        : settings->callers                                    ? "--callers"
                        : settings->callees                                    ? "--callees"
                        : settings->by == BY_LINE                              ? "--by line"
                        : settings->by == BY_INLINE                            ? "--by inline"
                        : settings->by == BY_FILE                              ? "--by file"
                        : settings->sort_given && settings->sort == SORT_TOTAL ? "--sort total"
                        : settings->inlined                                    ? "--inline"
                                                                               : NULL;
    if (!settings->group || !other)
        return 0;
    report_error("--%s shows only the self %s of each event: leave out %s", settings->only_values ? "values" : "group",
                 settings->only_values ? "weight" : "share", other);
    return -EINVAL;
}

/* Refuses options that would have no effect. */
static int refuse_unused(const struct cli *cli)
{
    const struct settings *settings = &cli->settings;
    if (check_group(settings) < 0 || cli_check_settings(settings) < 0)
        return -EINVAL;
    if (settings->no_inline && (settings->by == BY_LINE || settings->by == BY_INLINE || settings->by == BY_FILE)) {
        report_error("--by=line, --by=inline and --by=file show where inlined code comes from: leave out --no-inline");
        return -EINVAL;
    }
    if (settings->rounds && (settings->count_form == COUNT_AS_OPENMETRICS || settings->count_by == COUNT_BY_EXEC)) {
        report_error("option '--interval' cannot be used with '%s'",
                     settings->count_by == COUNT_BY_EXEC ? "--per-exec" : "--openmetrics");
        return -EINVAL;
    }
    if (count_check_style(settings->count_form, settings->count_digits) < 0)
        return -EINVAL;
    if (settings->json && (settings->count_by || settings->count_form || settings->count_digits || settings->rounds)) {
        report_error("option '--json' always prints all counts: leave out the options that choose or format counts, "
                     "such as --per-thread, --interval and -x");
        return -EINVAL;
    }
    if (!settings->min_given || cli->command->group != REPORT || settings->call_tree || settings->callers ||
        settings->callees)
        return 0;
    report_error("option '--min' needs --call-tree, --callers or --callees");
    return -EINVAL;
}

int cli_parse(struct cli *cli, int argc, char **argv)
{
    const struct cli_command *named = NULL;
    int first = 0, count = 0;
    *cli = (struct cli){0};
    int status = find_command(argc, argv, &named);
    if (status < 0)
        return status;
    const char *by_module = named ? NULL : cli_module_command(argc, argv);
    cli->command = named ? named : by_module ? cli_find(by_module) : &commands[0];
    struct options options = {.rows = rows, .groups = cli->command->group, .group_name = cli->command->name};
    options.keep_dashes = cli->command->needs & CLI_PAIR;
    /* 'panalyze --help' describes all commands. */
    status = options_parse(&options, &cli->settings, argc, argv, &first, &count);
    if (status < 0)
        return status;
    bool skip = named && count;
    cli->operands = (const char *const *)argv + first + skip;
    cli->operand_count = (size_t)count - skip;
    if (!named && cli->settings.help)
        cli->command = cli_find("help");
    if (cli->settings.callees && !cli->settings.sort_given)
        cli->settings.sort = SORT_TOTAL;
    cli->settings.call_tree |= cli->settings.reverse;
    cli->settings.inlined &= !cli->settings.no_inline;
    cli->settings.only_values = cli->settings.values && !cli->settings.group;
    cli->settings.group |= cli->settings.values;
    /* With --help the command may be 'help', which no module stands for. */
    if (!cli->settings.help && cli_module_apply(&cli->settings, cli->command->name) < 0)
        return -EINVAL;
    if (refuse_unused(cli) < 0)
        return -EINVAL;
    if ((cli->command->needs & CLI_PAIR) && !cli->settings.help && !cli->settings.version)
        return divide_operands(cli, argv + first + skip);
    return 0;
}

void cli_release(struct cli *cli)
{
    settings_release(&cli->settings);
}

static void help_of_command(const struct cli_command *command, int width, FILE *to)
{
    const char *operands = command->needs & CLI_PAIR ? "BEFORE AFTER | BEFORE... -- AFTER..." : "[FILE...]";
    fprintf(to, "Usage: panalyze %s%s [OPTIONS] %s\n%s\n\n", command->name,
            command->needs & CLI_OWN_OUTPUT ? " FORMAT" : "", operands, command->help);
    options_help(rows, command->group, OPTIONS_ALL, width, to);
    if (command->group == EXPORT)
        export_help(to);
    if (command->group == DIFF)
        fputs("\nRun the two versions of the program in turn, each at least five times:\n\n"
              "  for i in 1 2 3 4 5; do\n"
              "      pinject-run -o a$i/ -- ./old; pinject-run -o b$i/ -- ./new\n"
              "  done\n"
              "  panalyze diff a[1-5] -- b[1-5]\n",
              to);
}

static void list_commands(FILE *to)
{
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (commands[i].heading)
            fprintf(to, "\n%s:\n", commands[i].heading);
        fprintf(to, "  %-9s %s\n", commands[i].name, commands[i].help);
    }
}

void cli_help(const struct cli_command *command, int width, FILE *to)
{
    width = width > 0 && width < HELP_WIDTH ? width : HELP_WIDTH;
    if (command && command->view) {
        help_of_command(command, width, to);
        return;
    }
    fputs("Usage: panalyze [COMMAND] [OPTIONS] [FILE...]\n"
          "Shows what pinject-run (or perf record) wrote. FILE: result files, a directory of them, or perf.data;\n"
          "'-': the standard input; without FILE: the files out.PID.TID in this directory, or else perf.data.\n\n"
          "  panalyze out.*                  where the time went\n"
          "  panalyze tree out.*             what ran\n"
          "  panalyze flame out.*            a flame graph for the browser\n"
          "  panalyze help report            what a command can do\n",
          to);
    list_commands(to);
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (!options_has_help(rows, commands[i].group, OPTIONS_OWN))
            continue;
        fprintf(to, "\nOptions of %s:\n", commands[i].name);
        options_help(rows, commands[i].group, OPTIONS_OWN, width, to);
    }
    fputs("\nOptions of several commands ('panalyze help COMMAND' lists the options of one command):\n\n", to);
    options_help(rows, 0, OPTIONS_SHARED, width, to);
    fputs("\nExit status: 0 success, 1 something could not be read or written, 2 wrong usage,\n"
          "141 the reader of the output (such as head) ended early.\n",
          to);
}
