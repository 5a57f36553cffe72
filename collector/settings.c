/* SPDX-License-Identifier: MIT */
#include "collector/settings_parse.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pinject/wire.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collector/config/dump_event.h"
#include "collector/config/sample_cost.h"
#include "collector/events/event_list.h"
#include "collector/settings_counting.h"
#include "collector/settings_rate.h"
#include "collector/settings_samples.h"
#include "collector/system/paths.h"
#include "common/follow.h"
#include "common/nearest.h"
#include "common/options.h"
#include "common/report.h"
#include "counts/count_print.h"
#include "unwind/engine.h"

extern char **environ;

/* Which options a PINJECT_* variable may set. */
enum { GROUP_LINE = 1, GROUP_ENVIRONMENT = 2, GROUP_BOTH = 3 };

static int take_events(void *state, const struct option_row *row, const char *value)
{
    (void)row;
    return event_list_parse(&((struct settings *)state)->events, &event_sources_system, value);
}

static int take_filter(void *state, const struct option_row *row, const char *value)
{
    (void)row;
    return event_list_filter(&((struct settings *)state)->events, value);
}

/* Of all events, or with --switch-timeout of the set before it. */
static int take_each_level(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    (void)row;
    settings->set_levels[settings->events.sets] = value;
    return 0;
}

/* -u and -k, and -0 to -3 as pfmon has them. */
static int take_level(void *state, const struct option_row *row, const char *value)
{
    (void)value;
    if (!row->number)
        report_warning("option -%c has no effect: Linux runs no code at this privilege level", row->letter);
    ((struct settings *)state)->levels |= (unsigned)row->number;
    return 0;
}

static int take_dump(struct settings *settings, const char *value)
{
    char *end;
    errno = 0;
    unsigned long long size = strtoull(value, &end, 10);
    if (errno || *end || !isdigit((unsigned char)*value) || size < STACKS_DUMP_MIN || size > STACKS_DUMP_MAX) {
        report_error("invalid stack dump size '%s'; use %d to %d bytes", value, STACKS_DUMP_MIN, STACKS_DUMP_MAX);
        return -EINVAL;
    }
    settings->dump = (uint32_t)((size + 7) / 8 * 8);
    return 0;
}

static int take_call_graph(void *state, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"fp", "none", "dwarf", "auto"};
    struct settings *settings = state;
    size_t size = strcspn(value, ",");
    int how = 0;
    (void)row;
    while (how < 4 && (strlen(names[how]) != size || memcmp(value, names[how], size) != 0))
        how++;
    bool dumps = how == SETTINGS_CALL_GRAPH_DWARF || how == SETTINGS_CALL_GRAPH_AUTO;
    if (how == 4 || (value[size] && !dumps)) {
        report_error("unknown call graph '%s'; use fp (frame pointers), dwarf (unwind tables), auto or none", value);
        return -EINVAL;
    }
    settings->call_graph = how;
    settings->call_graph_given = true;
    settings->dump = 0;
    return value[size] ? take_dump(settings, value + size + 1) : 0;
}

/* The owner must be able to read and write them, or they could not grow. */
static int take_mode(void *state, const struct option_row *row, const char *value)
{
    char *end;
    errno = 0;
    unsigned long mode = strtoul(value, &end, 8);
    if (errno || *end || !isdigit((unsigned char)*value) || (mode & ~0666ul) || (mode & 0600) != 0600) {
        report_error("--%s needs an octal file mode from 0600 to 0666, such as 0640, not '%s'", row->name, value);
        return -EINVAL;
    }
    ((struct settings *)state)->mode = (unsigned)mode;
    return 0;
}

/* The first of these options replaces the default, further ones add to it. */
static void add_follow(struct settings *settings, unsigned flags)
{
    settings->follow = (settings->follow_given ? settings->follow : 0) | flags;
    settings->follow_given = true;
}

static int take_follow(void *state, const struct option_row *row, const char *value)
{
    (void)value;
    add_follow(state, (unsigned)row->number);
    return 0;
}

static int take_follow_list(void *state, const struct option_row *row, const char *value)
{
    unsigned flags;
    (void)row;
    int error = follow_parse(value, &flags);
    if (error == 0)
        add_follow(state, flags);
    return error;
}

/* Seconds, or with a unit: 500ms, 60s, 1.5m, 2h. */
static int take_stacks_after(void *state, const struct option_row *row, const char *value)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1e9}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};
    static const size_t count = sizeof(units) / sizeof(units[0]);
    size_t digits = strspn(value, "0123456789."), unit = 0;
    char *end;
    double number = strtod(value, &end);
    while (unit < count && strcmp(value + digits, units[unit].name) != 0)
        unit++;
    double ns = unit < count && end == value + digits ? number * units[unit].ns : 0;
    if (ns < 1e6 || ns > 365 * 86400e9) {
        report_error("--%s needs a time such as 60s, 1.5m or 500ms, not '%s'", row->name, value);
        return -EINVAL;
    }
    ((struct settings *)state)->stacks_after_ns = (uint64_t)ns;
    return 0;
}

static int take_verbose(void *state, const struct option_row *row, const char *value)
{
    (void)row;
    (void)value;
    ((struct settings *)state)->verbose++;
    return 0;
}

static int take_live(void *state, const struct option_row *row, const char *value)
{
    struct settings *settings = state;
    settings->live = true;
    settings->live_to = value;
    if (!value || *value)
        return 0;
    report_error("option '--%s=' needs the name of a terminal or file after '='", row->name);
    return -EINVAL;
}

static int take_help(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    line->action = SETTINGS_HELP;
    line->help_all = value;
    if (!value || strcmp(value, "all") == 0)
        return 0;
    report_error("option '--%s' takes 'all', not '%s'", row->name, value);
    return -EINVAL;
}

static int take_pid(void *state, const struct option_row *row, const char *value)
{
    (void)state;
    report_error("--%s: pinject cannot attach to a running process yet; restart the process with "
                 "'pinject-run -- COMMAND', or type: perf record -g -p %s, then: panalyze perf.data",
                 row->name, value);
    return -EINVAL;
}

static int take_list(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    (void)row;
    line->action = SETTINGS_LIST_EVENTS;
    line->pattern = value;
    return 0;
}

static int take_event_info(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    (void)row;
    line->action = SETTINGS_EVENT_INFO;
    line->event = value;
    return 0;
}

static int take_wait(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    line->action = (int)row->number;
    line->wait_base = value;
    return 0;
}

/* --stacks and --tree. */
static int take_stacks(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    (void)value;
    line->action = SETTINGS_STACKS;
    line->stacks = true;
    line->tree |= row->number;
    return 0;
}

static int take_collect(void *state, const struct option_row *row, const char *value)
{
    struct settings_line *line = state;
    line->action = SETTINGS_COLLECT;
    char *end;
    errno = 0;
    line->collect_fd = strtoull(value, &end, 10);
    if (errno || *end || end == value || line->collect_fd > 1 << 20) {
        report_error("--%s needs a file descriptor, not '%s'", row->name, value);
        return -EINVAL;
    }
    return 0;
}

#define FIELD(name) offsetof(struct settings, name)

static const struct option_row rows[] = {
    {0, NULL, NULL, 0, NULL, 0, 0, 0, "Profiling"},
    {'o', "outfile", "BASE", 0, options_take_string, FIELD(outfile), 0, GROUP_BOTH,
     "write result files BASE.PID.TID (default: out.PID.TID); with -o DIR/, write them into the directory DIR"},
    {0, "mode", "OCTAL", OPTION_MORE, take_mode, 0, 0, GROUP_BOTH,
     "file mode of the result files (default: 0600); 0640 lets the group read them, 0644 lets everybody read them"},
    {'e', "events", "LIST", 0, take_events, 0, 0, GROUP_BOTH,
     "events to sample or count, such as cycles,faults:u; default: cycles, or task-clock if cycles cannot be used"},
    {0, "filter", "EXPR", OPTION_MORE, take_filter, 0, 0, GROUP_LINE,
     "for the tracepoints of the -e before this option: count only hits whose fields match EXPR, such as "
     "'prev_pid == 0'"},
    {'u', "user-level", NULL, OPTION_MORE, take_level, 0, EVENT_LEVEL_USER, GROUP_BOTH,
     "count only in user space; events with a modifier of their own (cycles:k) keep it; -3 is another name for -u"},
    {'k', "kernel-level", NULL, OPTION_MORE, take_level, 0, EVENT_LEVEL_KERNEL, GROUP_BOTH,
     "count only in the kernel; events with a modifier of their own (cycles:u) keep it; -0 is another name for -k"},
    {'0', "level-0", NULL, OPTION_HIDDEN, take_level, 0, EVENT_LEVEL_KERNEL, GROUP_LINE, "as -k"},
    {'1', "level-1", NULL, OPTION_HIDDEN, take_level, 0, 0, GROUP_LINE, "nothing"},
    {'2', "level-2", NULL, OPTION_HIDDEN, take_level, 0, 0, GROUP_LINE, "nothing"},
    {'3', "level-3", NULL, OPTION_HIDDEN, take_level, 0, EVENT_LEVEL_USER, GROUP_LINE, "as -u"},
    {0, "priv-levels", "LIST", OPTION_MORE, take_each_level, 0, 0, GROUP_BOTH,
     "where to count each event: u (user space), k (kernel) or uk (both), in the order of the events, such as u,k,uk; "
     "with --switch-timeout, each --priv-levels is for the events of the -e that precedes it"},
    {'F', "freq", "HZ", 0, settings_take_frequency, 0, 0, GROUP_BOTH,
     "samples per second of a running thread; default: auto, a rate from 99 to 999 at which samples cost each thread "
     "at most 2 % of its CPU time"},
    {'c', "period", "N", OPTION_MORE, settings_take_period, 0, 0, GROUP_BOTH,
     "take one sample every N events, not -F samples per second; for clock events, N is in nanoseconds; with N,N each "
     "event has its own period"},
    {0, "long-smpl-periods", "N,N", OPTION_MORE, settings_take_smpl_periods, 0, 0, GROUP_BOTH,
     "each event has its own period, as with -c N,N; events without a period are only counted"},
    {0, "short-smpl-periods", "N,N", OPTION_MORE, settings_take_smpl_periods, 0, 0, GROUP_BOTH,
     "the same as --long-smpl-periods (pfmon has both options)"},
    {0, "smpl-periods-random", "MASK:SEED,...", OPTION_MORE, settings_take_random_periods, 0, 0, GROUP_BOTH,
     "add a random number to the period (-c) of each event; the number has only bits of MASK; SEED is the start of the "
     "sequence of numbers"},
    {0, "saturate-smpl-buffer", "N", OPTION_MORE, options_take_count, FIELD(saturate), 0, GROUP_BOTH,
     "take at most N samples of each task; after that, the events of the task are only counted"},
    {0, "overflow-block", NULL, OPTION_HIDDEN, settings_take_overflow_block, 0, 0, GROUP_LINE, "not possible"},
    {0, "sampler", "auto|task|inherit|cpu", OPTION_MORE, options_take_word, FIELD(sampler), 0, GROUP_BOTH,
     "task: each task has events of its own; cpu: each CPU has events, which costs less with many context switches or "
     "short tasks, but only root can do it; inherit: all tasks inherit the events of the command; auto (the default): "
     "for root, begin with task, and change to cpu when the events of the tasks cost much; for other users, inherit if "
     "nothing speaks against it, or else task"},
    {0, "sample-cpu", NULL, OPTION_MORE, options_take_flag, FIELD(sample_cpu), 0, GROUP_BOTH,
     "record the CPU of each sample; 'panalyze script' shows it"},
    {'d', "data", NULL, OPTION_MORE, options_take_flag, FIELD(data), 0, GROUP_BOTH,
     "for each sample, record the address of the data, the source of the data, and the cost of the access, if the "
     "event provides them"},
    {0, "smpl-values", NULL, OPTION_MORE, options_take_flag, FIELD(values), 0, GROUP_BOTH,
     "sample only the first event of each group {a,b}, with the counts of all events of the group in each sample, as "
     "{a,b}:S does; without { }, all events of -e are one group"},
    {0, "user-regs", "LIST", OPTION_OPTIONAL_VALUE | OPTION_MORE, settings_take_user_regs, 0, 0, GROUP_BOTH,
     "record the registers of user space with each sample: all of them, or those of LIST, such as ip,sp,ax; "
     "--user-regs=? prints their names"},
    {0, "intr-regs", "LIST", OPTION_OPTIONAL_VALUE | OPTION_MORE, settings_take_intr_regs, 0, 0, GROUP_BOTH,
     "like --user-regs, but record the registers at the moment of the sample, which may be those of the kernel"},
    {0, "switch-events", NULL, OPTION_MORE, options_take_flag, FIELD(switch_events), 0, GROUP_BOTH,
     "record each context switch of each task (PERF_RECORD_SWITCH); 'panalyze script --all' shows these records"},
    {'b', "branch-any", NULL, OPTION_MORE, settings_take_branches, 0, 0, GROUP_BOTH,
     "record the last branches before each sample, if the CPU records branches; the same as --branch-filter=any"},
    {'j', "branch-filter", "KINDS", OPTION_MORE, settings_take_branches, 0, 0, GROUP_BOTH,
     "record the last branches of KINDS, as in perf record: any, any_call, any_ret, ind_call, cond, stack, u, k, ..."},
    {'g', "call-graph", "HOW", 0, take_call_graph, 0, 0, GROUP_BOTH,
     "call stacks: auto (the default), dwarf, fp or none; fp uses frame pointers, dwarf uses unwind tables, and auto "
     "uses frame pointers in processes that have them, and unwind tables in all others; dwarf,BYTES and auto,BYTES set "
     "the size of the stack dumps (default: 8192 to 32768)"},
    {0, "unwinder", "ENGINE", OPTION_MORE, unwind_engine_take, FIELD(unwinder), 0, GROUP_BOTH,
     "the engine that unwinds the stacks of samples, of --stacks and of --tree: 'tables' (pinject's own, the default) "
     "or 'libunwind'"},
    {0, "stat", NULL, 0, options_take_flag, FIELD(stat), 0, GROUP_BOTH,
     "only count events, take no samples; print the counts when the command has ended"},
    {0, NULL, NULL, 0, NULL, 0, 0, 0, "Counts (with --stat)"},
    {0, "per-thread", NULL, OPTION_MORE, settings_take_count_choice, FIELD(count_by), COUNT_BY_THREAD, GROUP_BOTH,
     "print the counts of each thread"},
    {0, "per-process", NULL, OPTION_MORE, settings_take_count_choice, FIELD(count_by), COUNT_BY_PROCESS, GROUP_BOTH,
     "print the counts of each process"},
    {0, "per-comm", NULL, OPTION_MORE, settings_take_count_choice, FIELD(count_by), COUNT_BY_COMM, GROUP_BOTH,
     "print the counts of each command name; a task is counted under the name of its last program"},
    {'x', "field-separator", "SEP", OPTION_MORE, settings_take_separator, 0, 0, GROUP_BOTH,
     "print CSV with the columns of perf stat, separated by SEP"},
    {0, "openmetrics", NULL, OPTION_MORE, settings_take_count_choice, FIELD(count_form), COUNT_AS_OPENMETRICS,
     GROUP_BOTH, "print the counts in the format of OpenMetrics; --json prints JSON"},
    {0, "us-counter-format", NULL, OPTION_MORE, settings_take_count_choice, FIELD(count_digits), COUNT_US, GROUP_BOTH,
     "print counts as 1,234,567"},
    {0, "eu-counter-format", NULL, OPTION_MORE, settings_take_count_choice, FIELD(count_digits), COUNT_EU, GROUP_BOTH,
     "print counts as 1.234.567"},
    {0, "hex-counter-format", NULL, OPTION_MORE, settings_take_count_choice, FIELD(count_digits), COUNT_HEX, GROUP_BOTH,
     "print counts in hexadecimal, such as 0x12d687, and times in hexadecimal nanoseconds"},
    {'I', "print-interval", "MS", OPTION_MORE, settings_take_interval, 0, 0, GROUP_BOTH,
     "every MS milliseconds (10 or more), print the counts since the previous print; at the end, print the totals"},
    {0, "switch-timeout", "MS", OPTION_MORE, settings_take_switch, 0, 0, GROUP_LINE,
     "count the events of each -e in turn, MS milliseconds at a time; print estimates for the whole time"},
    {'r', "repeat", "N", OPTION_MORE, settings_take_repeat, 0, 0, GROUP_LINE,
     "run COMMAND N times, and print the mean of each count, with its spread"},
    {0, "pre", "CMD", OPTION_MORE, settings_take_count_text, FIELD(pre), 0, GROUP_LINE,
     "with --repeat: run the shell command CMD before each run"},
    {0, "post", "CMD", OPTION_MORE, settings_take_count_text, FIELD(post), 0, GROUP_LINE,
     "with --repeat: run the shell command CMD after each run"},
    {0, "counts-file", "FILE", OPTION_MORE, settings_take_count_text, FIELD(counts_file), 0, GROUP_BOTH,
     "print the counts to FILE, not to stderr"},
    {0, "append", NULL, OPTION_MORE, settings_take_count_flag, FIELD(append), 0, GROUP_BOTH,
     "append the counts to the file of --counts-file instead of replacing the file"},
    {0, "with-header", NULL, OPTION_MORE, settings_take_count_flag, FIELD(with_header), 0, GROUP_BOTH,
     "print the date, the machine and the command before the counts"},
    {0, NULL, NULL, 0, NULL, 0, 0, 0, "What to follow (default: everything that the command starts)"},
    {0, "follow", "LIST", 0, take_follow_list, 0, 0, GROUP_BOTH,
     "follow all, none, or some of threads,fork,vfork,exec; the first process is always profiled"},
    {0, "follow-all", NULL, OPTION_MORE, take_follow, 0, PINJECT_SESSION_ALL, GROUP_BOTH,
     "follow everything (the default)"},
    {0, "follow-fork", NULL, OPTION_MORE, take_follow, 0, PINJECT_SESSION_FORK, GROUP_BOTH,
     "follow only processes that fork() makes, not threads, vfork() or posix_spawn()"},
    {0, "follow-vfork", NULL, OPTION_MORE, take_follow, 0, PINJECT_SESSION_VFORK, GROUP_BOTH,
     "follow only processes made by vfork, posix_spawn, system and popen"},
    {0, "follow-pthread", NULL, OPTION_MORE, take_follow, 0, PINJECT_SESSION_PTHREAD, GROUP_BOTH,
     "follow only threads"},
    {0, "follow-exec", NULL, OPTION_MORE, take_follow, 0, PINJECT_SESSION_EXEC, GROUP_BOTH,
     "follow only programs that a process executes (exec); several --follow options add up"},
    {0, "exec-split-results", NULL, OPTION_MORE, options_take_flag, FIELD(split), 0, GROUP_BOTH,
     "write one file BASE.PID.TID.N.PROGRAM for each program that a process runs; N is the number of the exec"},
    {0, NULL, NULL, 0, NULL, 0, 0, 0, "Other"},
    {0, "live", "FILE", OPTION_OPTIONAL_VALUE | OPTION_MORE, take_live, 0, 0, GROUP_LINE,
     "show a live view on this terminal, or, with FILE, on another terminal or as text in a file; on this terminal "
     "the output of COMMAND would mix with the live view, so redirect the output"},
    {0, "wait", "BASE", OPTION_OPTIONAL_VALUE | OPTION_MORE, take_wait, 0, SETTINGS_WAIT, GROUP_LINE,
     "for a program started without pinject-run: wait until its result files BASE.* (default: out.*) are complete"},
    {0, "info", NULL, OPTION_MORE, options_take_enum, offsetof(struct settings_line, action), SETTINGS_INFO, GROUP_LINE,
     "list what this machine supports and refuses"},
    {0, "list-events", "REGEX", OPTION_OPTIONAL_VALUE | OPTION_MORE, take_list, 0, 0, GROUP_LINE,
     "list the events of this machine, or those that REGEX matches, and whether they can be used"},
    {0, "long", NULL, OPTION_MORE, options_take_flag, offsetof(struct settings_line, with_text), 0, GROUP_LINE,
     "with --list-events: show descriptions and unit masks"},
    {0, "event-info", "EVENT", OPTION_MORE, take_event_info, 0, 0, GROUP_LINE,
     "show what EVENT is: its PMU, type, config, terms, unit masks"},
    {0, "check-events-only", NULL, OPTION_MORE, options_take_enum, offsetof(struct settings_line, action),
     SETTINGS_CHECK_EVENTS, GROUP_LINE,
     "exit with status 0 if the events of -e can be counted together; otherwise print the reason"},
    {0, "stacks", NULL, OPTION_MORE, take_stacks, 0, false, GROUP_LINE,
     "PID...: show the stack of each thread of these processes, and what the thread waits for; deadlocks come first"},
    {0, "tree", NULL, OPTION_MORE, take_stacks, 0, true, GROUP_LINE,
     "PID...: like --stacks, and show all descendants of these processes, too"},
    {0, "json", NULL, OPTION_MORE, options_take_flag, offsetof(struct settings_line, json), 0, GROUP_LINE,
     "with --stat, --stacks or --tree: print one JSON document"},
    {0, "stacks-after", "TIME", OPTION_MORE, take_stacks_after, 0, 0, GROUP_LINE,
     "after TIME (60s, 1.5m, 500ms), show the stacks of COMMAND and its descendants on stderr, once"},
    {0, "doctor", NULL, 0, options_take_enum, offsetof(struct settings_line, action), SETTINGS_DOCTOR, GROUP_LINE,
     "check whether profiling works, and suggest fixes; with COMMAND, also check whether COMMAND can be profiled"},
    {0, "linger", NULL, OPTION_MORE, options_take_flag, FIELD(linger), 0, GROUP_LINE,
     "after COMMAND exits, wait for daemons that it left running (press Ctrl-C to stop waiting)"},
    {0, "show-time", NULL, OPTION_MORE, options_take_flag, FIELD(show_time), 0, GROUP_LINE,
     "print the elapsed time and the CPU time of COMMAND, as time(1) does"},
    {0, "no-cmd-output", NULL, OPTION_MORE, options_take_flag, FIELD(no_cmd_output), 0, GROUP_LINE,
     "run COMMAND with stdout and stderr on /dev/null"},
    {0, "strict", NULL, OPTION_MORE, options_take_flag, FIELD(strict), 0, GROUP_LINE,
     "exit with status 125 if the profile is not complete, and say why"},
    {'q', "quiet", NULL, 0, options_take_flag, FIELD(quiet), 0, GROUP_BOTH, "print only errors and warnings"},
    {'v', "verbose", NULL, OPTION_MORE, take_verbose, 0, 0, GROUP_BOTH, "print more details"},
    {0, "version", NULL, OPTION_MORE, options_take_enum, offsetof(struct settings_line, action), SETTINGS_VERSION,
     GROUP_LINE, "print the version"},
    {'h', "help", "all", OPTION_OPTIONAL_VALUE, take_help, 0, 0, GROUP_LINE,
     "print this help (--help=all: all options)"},
    {'p', "pid", "PID", OPTION_HIDDEN, take_pid, 0, 0, GROUP_LINE, "attach to a process: not possible yet"},
    {0, "collect", "FD", OPTION_HIDDEN, take_collect, 0, 0, GROUP_LINE,
     "collect for the process at the other end of FD"},
    {0, "preload", "PATH", OPTION_HIDDEN, options_take_string, offsetof(struct settings_line, preload), 0, GROUP_LINE,
     "path of the preload object that starts this collector"},
    {0, "started", "FILE", OPTION_HIDDEN, options_take_string, offsetof(struct settings_line, started), 0, GROUP_LINE,
     "create FILE when the command starts: without FILE, pinject-ci starts it itself"},
    {0},
};

static void set_defaults(struct settings_line *line)
{
    *line = (struct settings_line){.action = SETTINGS_RUN, .collect_fd = UINT64_MAX};
    line->settings.outfile = SETTINGS_OUTFILE;
    line->settings.mode = 0600;
    line->settings.frequency = SAMPLE_COST_MOST_HZ;
    line->settings.frequency_auto = true;
    line->settings.follow = PINJECT_SESSION_ALL;
    line->settings.call_graph = SETTINGS_CALL_GRAPH_AUTO;
}

/*
 * How many words of GIVEN[COUNT] are an option that goes with --stacks, or an abbreviation of one (the parser has
 * refused ambiguous ones). 0: the first is another option.
 */
static int count_of_stacks(char **given, int count)
{
    static const char *const words[] = {"--stacks", "--tree", "--json", "--unwinder"};
    const size_t size = strcspn(given[0], "=");
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (size > 2 && size <= strlen(words[i]) && strncmp(given[0], words[i], size) == 0)
            return i == 3 && !given[0][size] && count > 1 ? 2 : 1;
    return strcmp(given[0], "--") == 0;
}

/* --stacks profiles nothing, so options for profiles are refused. GIVEN[COUNT]: the options as typed. */
static int check_stacks(const struct settings_line *line, char **given, int count, int operands)
{
    if (line->action == SETTINGS_HELP)
        return 0;
    if (!line->stacks && line->json && !line->settings.stat) {
        report_error(
            "option '--json' needs '--stat', '--stacks' or '--tree'; for reports as JSON use 'panalyze --json'");
        return -EINVAL;
    }
    for (int i = 0, words; line->stacks && i < count; i += words) {
        words = count_of_stacks(given + i, count - i);
        if (!words) {
            report_error("option '%s' cannot be used with '--%s', which profiles nothing", given[i],
                         line->tree ? "tree" : "stacks");
            return -EINVAL;
        }
    }
    if (line->stacks && !operands) {
        report_error("no PID is given; type: pinject-run --%s PID... ('pgrep NAME' finds the PID)",
                     line->tree ? "tree" : "stacks");
        return -EINVAL;
    }
    return 0;
}

/* What options say of all events, when all are known. */
static int finish_events(struct settings_line *line)
{
    struct settings *settings = &line->settings;
    char path[PATH_MAX];
    if (settings->levels && !settings->events.count) {
        report_error("-u and -k change the events of -e, but no -e is given; type: -e cycles:%s",
                     settings->levels == EVENT_LEVEL_USER ? "u" : "k");
        return -EINVAL;
    }
    event_list_set_levels(&settings->events, settings->levels);
    if (settings_finish_sets(settings) < 0)
        return -EINVAL;
    if (settings_check_samples(settings) < 0 || settings_finish_rate(settings) < 0 ||
        event_list_check_values(&settings->events) < 0)
        return -EINVAL;
    const bool found = settings->command && line->action != SETTINGS_STACKS &&
                       paths_find_command(settings->command[0], path, sizeof(path)) == 0;
    return event_list_resolve(&settings->events, found ? path : NULL);
}

static bool takes_command(int action)
{
    return action == SETTINGS_RUN || action == SETTINGS_DOCTOR || action == SETTINGS_STACKS ||
           action == SETTINGS_CHECK_EVENTS;
}

int settings_parse(struct settings_line *line, int argc, char **argv)
{
    const struct options options = {.rows = rows, .groups = GROUP_LINE, .stop_at_operand = true};
    int first = 0, count = 0;
    set_defaults(line);
    int error = options_parse(&options, line, argc, argv, &first, &count);
    if (error || (error = check_stacks(line, argv + 1, first - 1, count)))
        return error;
    if (line->action == SETTINGS_RUN && (error = settings_check_counting(&line->settings, line->json)))
        return error;
    if (line->action == SETTINGS_RUN && !count) {
        report_error("no command to profile; type: pinject-run [OPTIONS] [--] COMMAND [ARGS], or pinject-run --help");
        return -EINVAL;
    }
    if (line->with_text && line->action != SETTINGS_LIST_EVENTS) {
        report_error("option '--long' needs '--list-events'");
        return -EINVAL;
    }
    if (count && !takes_command(line->action)) {
        report_error("unexpected argument '%s': with these options pinject-run runs no command", argv[first]);
        return -EINVAL;
    }
    line->settings.command = count ? argv + first : NULL;
    line->settings.bare = line->action == SETTINGS_COLLECT;
    return finish_events(line);
}

/* PINJECT_FOLLOW_ALL for "follow-all". */
static bool variable_is(const char *variable, size_t size, const char *option)
{
    for (; size && *option; variable++, option++, size--)
        if (*variable != (*option == '-' ? '_' : toupper((unsigned char)*option)))
            return false;
    return !size && !*option;
}

static int unknown_variable(const char *name, size_t size)
{
    static const char *const others[] = {PINJECT_ENV_SESSION, PINJECT_ENV_COLLECTOR};
    const char *known[sizeof rows / sizeof rows[0]];
    char words[sizeof rows / sizeof rows[0]][48], word[64];
    size_t count = 0;
    snprintf(word, sizeof word, "%.*s", (int)(size < 60 ? size : 60), name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (!strcmp(word, others[i]))
            return 0;
    for (const struct option_row *row = rows; row->help || row->name; row++) {
        if (!row->name || !(row->groups & GROUP_ENVIRONMENT))
            continue;
        snprintf(words[count], sizeof words[count], "PINJECT_%s", row->name);
        for (char *at = words[count] + 8; *at; at++)
            *at = *at == '-' ? '_' : (char)toupper((unsigned char)*at);
        known[count] = words[count];
        count++;
    }
    const char *near = nearest_word(word, known, count);
    report_warning("unknown variable %s%s%s", word, near ? "; did you mean " : "", near ? near : "");
    return 0;
}

static int take_variable(struct settings_line *line, const char *name, size_t size, const char *value)
{
    for (const struct option_row *row = rows; row->help || row->name; row++) {
        if (!row->name || !(row->groups & GROUP_ENVIRONMENT) || !variable_is(name + 8, size - 8, row->name))
            continue;
        if (!row->value) {
            if (!strcmp(value, "1"))
                return row->take(line, row, NULL);
            if (!value[0] || !strcmp(value, "0"))
                return 0;
            report_error("variable %.*s must be 1 or 0, not '%s'", (int)size, name, value);
            return -EINVAL;
        }
        int error = value[0] ? row->take(line, row, value) : 0;
        if (error)
            report_error("the invalid value comes from the environment variable %.*s", (int)size, name);
        return error;
    }
    return unknown_variable(name, size);
}

int settings_parse_environment(struct settings_line *line)
{
    for (char **entry = environ; entry && *entry; entry++) {
        size_t size = strcspn(*entry, "=");
        if (strncmp(*entry, "PINJECT_", 8) || size <= 8 || (*entry)[size] != '=')
            continue;
        int error = take_variable(line, *entry, size, *entry + size + 1);
        if (error)
            return error;
    }
    const int error = finish_events(line);
    return error ? error : settings_check_counting(&line->settings, false);
}

void settings_help(FILE *to, bool all)
{
    struct winsize size = {0};
    int width = !ioctl(fileno(to), TIOCGWINSZ, &size) && size.ws_col > 40 ? size.ws_col : 100;
    fputs("Usage: pinject-run [OPTIONS] [--] COMMAND [ARGS]\n"
          "Profiles COMMAND with all processes and threads that it starts.\n"
          "Writes a file out.PID.TID for each thread.\n\n"
          "  pinject-run make -j8            then: panalyze out.*\n"
          "  pinject-run --stat ./app        count events, like perf stat\n"
          "  pinject-run --doctor            check whether profiling works here\n"
          "  pinject-run --stacks PID        show what a hanging process waits for\n\n",
          to);
    options_help(rows, GROUP_LINE, all ? OPTIONS_ALL : OPTIONS_BRIEF, width, to);
    if (!all)
        return;
    fputs("\n"
          "The exit status is that of COMMAND, or 128+N if signal N ended COMMAND. It is 127 if COMMAND is not found,\n"
          "126 if COMMAND cannot be run, and 125 if pinject-run itself fails. With --strict it is also 125 if the\n"
          "profile is not complete.\n"
          "To profile without pinject-run, type: LD_PRELOAD=libpinject.so COMMAND. Environment variables then take\n"
          "the place of the options: PINJECT_FOLLOW=none, PINJECT_FREQ=99, and so on.\n",
          to);
}
