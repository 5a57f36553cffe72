/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/cli.h"
#include "analyze/export/export.h"
#include "analyze/fields/field_report.h"
#include "analyze/inputs.h"
#include "analyze/live/live.h"
#include "analyze/model/json_document.h"
#include "analyze/progress.h"
#include "analyze/view/histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/output.h"
#include "analyze/view/select.h"
#include "analyze/view/view.h"
#include "common/report.h"

#define USAGE 2

/* Makes the process independent of what it inherits: no SIGPIPE, and no input file gets a closed descriptor 0 to 2. */
static void set_up_process(void)
{
    signal(SIGPIPE, SIG_IGN);
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY); /* read-only, so that writes to stdout still fail */
    setlocale(LC_CTYPE, "");
}

/* For export: the first operand is the format, if it is the name of one. --smpl-module=raw stands for the format perf. */
static int take_format(struct cli *cli)
{
    const char *word = cli->operand_count ? cli->operands[0] : NULL;
    const bool raw = cli->settings.module == MODULE_RAW;
    bool operand;
    if (!(cli->command->needs & CLI_OWN_OUTPUT))
        return 0;
    if (raw && !(word && export_find(word)))
        word = "perf";
    cli->settings.format = export_choose(word, cli->settings.file, &operand);
    if (!cli->settings.format || export_check(&cli->settings) < 0)
        return -EINVAL;
    if (raw && strcmp(cli->settings.format->name, "perf") != 0) {
        report_error("--smpl-module=raw writes the format perf, not %s: leave out --smpl-module=raw or the format",
                     cli->settings.format->name);
        return -EINVAL;
    }
    operand &= cli->operand_count && word == cli->operands[0];
    cli->operands += operand;
    cli->operand_count -= operand;
    return 0;
}

/* An operand that is no file is more likely a mistyped command. */
static int check_operands(const struct cli *cli)
{
    if (cli->operand_count == 0)
        return 0;
    for (size_t i = 1; i < cli->operand_count; i++)
        if (cli_find(cli->operands[i]) && access(cli->operands[i], F_OK) < 0 && access(cli->operands[0], F_OK) == 0) {
            report_error("'%s' is a command, not a file; put it first: panalyze %s FILE...", cli->operands[i],
                         cli->operands[i]);
            return -EINVAL;
        }
    const char *word = cli->operands[0];
    const struct cli_command *near = cli_nearest(word);
    if (access(word, F_OK) == 0 || strchr(word, '/'))
        return 0;
    if (near && strcmp(near->name, word) == 0) {
        report_error("'%s' is a command, not a file; give one command at a time", word);
        return -EINVAL;
    }
    if (near && cli->command == cli_find("report")) {
        report_error("unknown command '%s'; did you mean '%s'?", word, near->name);
        return -EINVAL;
    }
    if (strpbrk(word, "*?[")) {
        report_error("no file matches '%s' here; 'pinject-run --follow-all -- COMMAND' writes files out.PID.TID", word);
        return -ENOENT;
    }
    return 0;
}

/* Checked here, since a missing directory would be skipped silently. */
static int check_directory(const char *option, const char *path)
{
    struct stat status;
    int error = stat(path, &status) < 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
    if (error)
        report_error("option '--%s' needs a directory, not '%s': %s", option, path, strerror(error));
    return -error;
}

static int check_directories(const struct settings *settings)
{
    int wrong = settings->symfs ? check_directory("symfs", settings->symfs) : 0;
    for (size_t i = 0; i < settings->debug_paths.count && wrong == 0; i++)
        wrong = check_directory("debug-path", settings->debug_paths.items[i]);
    return wrong < 0 ? -ENOENT : 0;
}

static int show_help(const struct cli *cli)
{
    struct output output;
    const struct cli_command *command = cli->command;
    if (!command->view && cli->operand_count) {
        command = cli_find(cli->operands[0]);
        const struct cli_command *near = command ? NULL : cli_nearest(cli->operands[0]);
        if (near)
            report_error("unknown command '%s'; did you mean '%s'?", cli->operands[0], near->name);
        else if (!command)
            report_error("unknown command '%s'; 'panalyze help' lists the commands", cli->operands[0]);
        if (!command)
            return USAGE;
    }
    if (output_open(&output, cli->settings.color, !cli->settings.no_pager) < 0)
        return 1;
    cli_help(command, output.width, output.to);
    return output_close(&output);
}

static int show_version(void)
{
    struct output output;
    if (output_open(&output, COLOR_NEVER, false) < 0)
        return 1;
    fputs("panalyze " PANALYZE_VERSION "\n", output.to);
    return output_close(&output);
}

/* Whether call chains have inlined functions. Rows of functions have them only if chains are shown or the user asks for
 * them; the self weights of functions are the same then. */
static bool shows_inlined(const struct cli *cli)
{
    const struct settings *settings = &cli->settings;
    bool flame = cli->command->view == view_flame;
    /* A function given by --symbol may be an inlined one. */
    bool chains = flame || settings->callers || settings->callees || settings->call_tree || settings->symbols.count;
    bool functions = settings->by == BY_FUNCTION || !histogram_has_stacks(settings->by);
    if (cli->command->view == view_diff)
        return settings->inlined;
    return (flame || cli->command->view == view_report) && functions && !settings->no_inline &&
           (chains || settings->inlined);
}

/* Makes names and selection for the profile of VIEW, if it has one. */
static void prepare_view(const struct cli *cli, struct view *view)
{
    const struct settings *settings = &cli->settings;
    bool rows = cli->command->view == view_report && settings->by != BY_TASK && settings->by != BY_PROCESS &&
                settings->by != BY_COMM;
    bool whole = (cli->command->needs & CLI_WHOLE_SAMPLES) || field_report_wanted(settings->by) ||
                 (cli->command->view == view_report && !rows && !settings->json);
    if (!view->profile)
        return;
    view->inlined = shows_inlined(cli);
    view->names = names_new(view->profile, settings);
    view->selection = select_new(view->profile, settings, view->names, whole);
}

static void release_view(struct view *view)
{
    select_free(view->selection);
    names_free(view->names);
    if (view->profile)
        profile_free(view->profile);
}

/* The exit status, after a message, if the files or the filters leave nothing to show; 0: there is something. */
static int refuse_empty(const struct cli *cli, struct view *view)
{
    const struct profile *profile = view->profile;
    const struct selection *selection = view->selection;
    if (!selection || view->runs)
        return 0;
    if (profile->task_count == 0) {
        report_error("there is no task in %s%s: nothing was recorded, or nothing is written yet", view->paths[0],
                     view->path_count > 1 ? " and the other files" : "");
        return 1;
    }
    if (selection->task_count == 0) {
        report_error("no task matches the filters; 'panalyze tree' lists the tasks");
        return 1;
    }
    if (view->inlined && (cli->settings.symbols.count || cli->settings.dsos.count))
        view_symbolize(view);
    bool sampled = profile->event_count && profile->events[profile->event].samples;
    sampled |= event_group_has(view, EVENT_GROUP_ALL);
    if (!sampled || !(cli->command->needs & CLI_PLACES) || event_group_finds(view, EVENT_GROUP_ALL) ||
        select_finds(view->settings, profile, view->names, selection->entries, selection->entry_count))
        return 0;
    return suggest_refuse(view);
}

static int run_view(const struct cli *cli, struct view *view)
{
    return field_report_wanted(cli->settings.by) ? field_report(view) : cli->command->view(view);
}

static int show_view(const struct cli *cli, struct view *view)
{
    struct output output;
    bool pager = !cli->settings.no_pager && !(cli->command->needs & CLI_DOCUMENT);
    int nothing = refuse_empty(cli, view);
    if (nothing)
        return nothing;
    if (cli->command->needs & CLI_OWN_OUTPUT)
        return cli->command->view(view);
    if (output_open(&output, cli->settings.color, pager) < 0)
        return 1;
    view->output = &output;
    for (size_t i = 0; view->runs && i < view->runs->counts[0] + view->runs->counts[1]; i++)
        view->runs->views[i].output = &output;
    int status = run_view(cli, view);
    int closed = output_close(&output);
    return closed ? closed : status;
}

#define LARGE_FILES (256u << 20) /* bytes; larger files are read twice rather than kept apart by task */

/* How samples may be merged, where the view is about all tasks together. */
static enum profile_merge merge_of(const struct cli *cli)
{
    const struct settings *settings = &cli->settings;
    bool by_task = settings->by == BY_TASK || settings->by == BY_PROCESS;
    if (select_by_task(settings))
        return PROFILE_BY_TASK;
    bool whole_samples = settings->dsos.count || settings->symbols.count;
    bool together = settings->json ? settings->tasks == TASKS_TOGETHER : settings->tasks != TASKS_APART;
    bool report = cli->command->view == view_report && together && settings->by != BY_COMM &&
                  !(whole_samples && field_report_wanted(settings->by));
    if ((cli->command->view == view_summary && !whole_samples) || (report && !by_task)) /* a document has commands */
        return settings->json ? PROFILE_BY_COMM : PROFILE_BY_STACK;
    if (cli->command->view == view_flame && !by_task)
        return settings->aggregate || (settings->by_given && settings->by != BY_COMM) ? PROFILE_BY_STACK
                                                                                      : PROFILE_BY_COMM;
    return cli->command->view == view_diff ? PROFILE_BY_COMM : PROFILE_BY_TASK;
}

/* Whether only some tasks are shown one by one, so that a second reading of the files can give these. */
static bool shows_few_tasks(const struct cli *cli)
{
    const struct settings *settings = &cli->settings;
    return cli->command->view == view_report && histogram_has_stacks(settings->by) && !settings->json &&
           !settings->group && settings->top != SETTINGS_ALL && !settings->dsos.count && !settings->symbols.count &&
           !select_by_task(settings);
}

/* Loads the profile of VIEW from its paths. 0; 1 after messages about some of the files; -1 after a message: failed. */
static int load_profile(const struct cli *cli, struct view *view, const char *session)
{
    struct progress progress;
    progress_init(&progress);
    struct profile_options options = {
        .progress = cli->command->needs & CLI_FOLLOW ? NULL : progress_tell,
        .progress_context = &progress,
        .session = session,
        .event = cli->settings.event,
        .threads = (unsigned)cli->settings.threads,
        .merged = merge_of(cli),
        .merged_foreign = cli->command->view == view_diff,
        .merge_above = shows_few_tasks(cli) ? LARGE_FILES : 0,
        .rounds = cli->settings.rounds,
        .data = cli->settings.by == BY_DATA_PAGE || cli->settings.by == BY_DATA_SYMBOL,
        .branches = cli->settings.by == BY_BRANCH,
        .counts_only = (cli->command->needs & CLI_COUNTS) && !cli->settings.json,
        .symfs = cli->settings.symfs,
        .debug_paths = cli->settings.debug_paths.items,
        .debug_path_count = cli->settings.debug_paths.count,
        .unwinder = cli->settings.unwinder,
    };
    bool document = (cli->command->needs & CLI_PAIR) && view->path_count == 1 && document_is(view->paths[0]);
    int status = document ? document_load(view->paths[0], &options, &view->profile)
                          : profile_load(view->paths, view->path_count, &options, &view->profile);
    progress_end(&progress);
    if (status == -ENOMEM)
        report_error("out of memory; give fewer files");
    return status < 0 ? -1 : view->profile->files_bad > 0;
}

static struct view view_of(const struct cli *cli, const struct inputs *inputs)
{
    return (struct view){
        .settings = &cli->settings,
        .paths = (const char *const *)inputs->paths,
        .path_count = inputs->count,
    };
}

static int analyze_inputs(const struct cli *cli, const struct inputs *inputs)
{
    struct view view = view_of(cli, inputs);
    int bad = cli->command->needs & CLI_PROFILE ? load_profile(cli, &view, cli->settings.session) : 0;
    int status = 1;
    if (bad >= 0) {
        prepare_view(cli, &view);
        status = show_view(cli, &view);
        /* The view may have read the files again. */
        bad |= view.profile && view.profile->files_bad;
    }
    release_view(&view);
    return status ? status : bad;
}

static int analyze_one(const struct cli *cli)
{
    struct inputs inputs;
    if (inputs_find(&inputs, cli->operands, cli->operand_count) < 0)
        return 1;
    int status = analyze_inputs(cli, &inputs);
    inputs_release(&inputs);
    return status;
}

/* The session of SIDE in --session A,B; owned by the caller, NULL: none is given. */
static char *session_of(const struct settings *settings, int side)
{
    const char *comma = settings->session ? strchr(settings->session, ',') : NULL;
    if (!settings->session || (comma && side == 0 && comma == settings->session) || (comma && side && !comma[1]))
        return NULL;
    if (side && comma)
        return memory_text(comma + 1);
    return comma ? memory_print("%.*s", (int)(comma - settings->session), settings->session)
                 : memory_text(settings->session);
}

/* The operands of one run, and their files. */
struct run {
    const char **operands;
    size_t count, capacity;
    struct inputs inputs;
};

struct runs {
    struct run *list;
    size_t count, capacity;
    size_t before;
};

/* The files BASE.PID.TID of one BASE are one run. Each directory, report and other file is a run of its own. */
static void add_operand(struct runs *runs, size_t first, const char *operand)
{
    size_t at = document_is(operand) ? runs->count : first;
    while (at < runs->count && !inputs_same_place(runs->list[at].operands[0], operand))
        at++;
    if (at == runs->count) {
        runs->list = memory_grow(runs->list, &runs->capacity, runs->count + 1, sizeof(*runs->list));
        runs->list[runs->count++] = (struct run){0};
    }
    struct run *run = &runs->list[at];
    run->operands = memory_grow(run->operands, &run->capacity, run->count + 1, sizeof(*run->operands));
    run->operands[run->count++] = operand;
}

static struct runs divide_runs(const struct cli *cli)
{
    struct runs runs = {0};
    for (size_t i = 0; i < cli->operand_count; i++) {
        if (i == cli->before)
            runs.before = runs.count;
        add_operand(&runs, i < cli->before ? 0 : runs.before, cli->operands[i]);
    }
    return runs;
}

static int load_run(const struct cli *cli, struct run *run, int side, struct view *view)
{
    char *session = session_of(&cli->settings, side);
    int loaded = -1;
    if (inputs_find(&run->inputs, run->operands, run->count) == 0) {
        *view = view_of(cli, &run->inputs);
        loaded = load_profile(cli, view, session);
    }
    free(session);
    return loaded;
}

static int analyze_pair(const struct cli *cli)
{
    struct runs runs = divide_runs(cli);
    struct view *views = memory_new(runs.count, sizeof(*views));
    const struct view_runs all = {views, {runs.before, runs.count - runs.before}};
    int bad = 0, status = 1;
    for (size_t i = 0; i < runs.count && bad >= 0; i++) {
        int loaded = load_run(cli, &runs.list[i], i >= runs.before, &views[i]);
        bad = loaded < 0 ? loaded : bad | loaded;
    }
    if (bad >= 0) {
        for (size_t i = 0; i < runs.count; i++)
            prepare_view(cli, &views[i]);
        views[0].runs = &all;
        status = show_view(cli, &views[0]);
    }
    for (size_t i = 0; i < runs.count; i++) {
        release_view(&views[i]);
        inputs_release(&runs.list[i].inputs);
        free(runs.list[i].operands);
    }
    free(runs.list);
    free(views);
    return status ? status : bad;
}

/* Context: a child process for this look. Files appear and grow, so they are searched each time. */
static int render_look(void *context, const struct top_look *look)
{
    struct cli *cli = context;
    struct inputs inputs = {0};
    cli->settings.look = look;
    cli->settings.no_pager = true;
    report_quiet(true);
    int status = inputs_follow(&inputs, cli->settings.base, cli->operands, cli->operand_count) < 0 ? 1 : 0;
    status = status ? status : analyze_inputs(cli, &inputs);
    inputs_release(&inputs);
    return status;
}

static int follow_session(struct cli *cli)
{
    struct settings *settings = &cli->settings;
    const struct live_options options = {.interval = settings->interval,
                                         .snapshots = settings->snapshots,
                                         .until = settings->until ? (int)settings->until : -1};
    if (settings->until && (settings->until > INT32_MAX || fcntl(options.until, F_SETFD, FD_CLOEXEC) < 0)) {
        report_error("option '--until' needs an open file descriptor (only 'pinject-run --live' uses this option)");
        return USAGE;
    }
    /* The look prints to a file, so the colour is decided here. */
    settings->color = output_wants_color(settings->color, isatty(STDOUT_FILENO) == 1) ? COLOR_ALWAYS : COLOR_NEVER;
    return live_run(&options, render_look, cli);
}

int main(int argc, char **argv)
{
    struct cli cli;
    set_up_process();
    report_program("panalyze");
    int status = cli_parse(&cli, argc, argv) < 0 ? USAGE : 0;
    if (status)
        goto out;
    if (cli.settings.version) {
        status = show_version();
    } else if (cli.settings.help || !cli.command->view) {
        status = show_help(&cli);
    } else {
        int wrong = take_format(&cli);
        if (wrong == 0)
            wrong = check_operands(&cli);
        if (wrong == 0)
            wrong = check_directories(&cli.settings);
        if (wrong < 0)
            status = wrong == -EINVAL ? USAGE : 1;
        else if (cli.command->needs & CLI_FOLLOW)
            status = follow_session(&cli);
        else
            status = cli.command->needs & CLI_PAIR ? analyze_pair(&cli) : analyze_one(&cli);
    }
out:
    cli_release(&cli);
    return status;
}
