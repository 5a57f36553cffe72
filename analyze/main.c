/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "analyze/cli.h"
#include "analyze/inputs.h"
#include "analyze/view/names.h"
#include "analyze/view/output.h"
#include "analyze/view/select.h"
#include "analyze/view/view.h"
#include "common/report.h"

#define USAGE 2

/* Whatever was inherited: no signal for a closed pipe, and no input file in the place of a closed stdout. */
static void settle(void)
{
    signal(SIGPIPE, SIG_IGN);
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY); /* what is written to stdout must still fail */
    setlocale(LC_CTYPE, "");
}

/* A word that is no file is rather a command with a typing error. */
static int check_operands(const struct cli *cli)
{
    if (cli->operand_count == 0)
        return 0;
    const char *word = cli->operands[0];
    const struct cli_command *near = cli_nearest(word);
    if (access(word, F_OK) == 0 || strchr(word, '/'))
        return 0;
    if (near && cli->command == cli_find("report")) {
        report_error("unknown command '%s', did you mean '%s'?", word, near->name);
        return -EINVAL;
    }
    if (strpbrk(word, "*?[")) {
        report_error("no file matches '%s' here; 'pinject-run --follow-all -- COMMAND' writes out.PID.TID", word);
        return -ENOENT;
    }
    return 0;
}

static int show_help(const struct cli *cli)
{
    struct output output;
    const struct cli_command *command = cli->command;
    if (!command->view && cli->operand_count) {
        command = cli_find(cli->operands[0]);
        const struct cli_command *near = command ? NULL : cli_nearest(cli->operands[0]);
        if (!command) {
            report_error("unknown command '%s'%s%s%s; 'panalyze help' lists them", cli->operands[0],
                         near ? ", did you mean '" : "", near ? near->name : "", near ? "'?" : "");
            return USAGE;
        }
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

/* Names and selection for the profile of VIEW, if it wants one, then the view itself. */
static int show(const struct cli *cli, struct view *view)
{
    const struct settings *settings = &cli->settings;
    int status = 0;
    if (view->profile) {
        bool rows = cli->command->view == view_report && settings->by != BY_TASK && settings->by != BY_PROCESS &&
                    settings->by != BY_COMM;
        bool whole = (cli->command->needs & CLI_WHOLE_SAMPLES) ||
                     (cli->command->view == view_report && !rows && !settings->json);
        view->names = names_new(view->profile, settings);
        view->selection = select_new(view->profile, settings, view->names, whole);
        if (view->selection->task_count == 0) {
            report_error("no task matches the filters; 'panalyze tree' lists the tasks");
            status = 1;
        }
    }
    struct output output;
    bool pager = !settings->no_pager && !(cli->command->needs & CLI_DOCUMENT);
    if (status == 0 && output_open(&output, settings->color, pager) < 0)
        status = 1;
    if (status == 0) {
        view->output = &output;
        status = cli->command->view(view);
        int closed = output_close(&output);
        status = closed ? closed : status;
    }
    select_free(view->selection);
    names_free(view->names);
    return status;
}

static int analyze(const struct cli *cli, const struct inputs *inputs)
{
    const struct settings *settings = &cli->settings;
    struct view view = {
        .settings = settings,
        .paths = (const char *const *)inputs->paths,
        .path_count = inputs->count,
    };
    if (!(cli->command->needs & CLI_PROFILE))
        return show(cli, &view);
    struct profile_options options = {
        .session = settings->session,
        .event = settings->event,
        .counts_only = (cli->command->needs & CLI_COUNTS) && !settings->json,
    };
    int status = profile_load(view.paths, view.path_count, &options, &view.profile);
    if (status < 0) {
        if (status == -ENOMEM)
            report_error("out of memory; fewer files need less");
        return 1;
    }
    int bad = view.profile->files_bad > 0;
    status = show(cli, &view);
    profile_free(view.profile);
    return status ? status : bad;
}

int main(int argc, char **argv)
{
    struct cli cli;
    struct inputs inputs = {0};
    settle();
    report_program("panalyze");
    int status = cli_parse(&cli, argc, argv) < 0 ? USAGE : 0;
    if (status)
        goto out;
    if (cli.settings.version) {
        status = show_version();
    } else if (cli.settings.help || !cli.command->view) {
        status = show_help(&cli);
    } else {
        int wrong = check_operands(&cli);
        if (wrong < 0)
            status = wrong == -EINVAL ? USAGE : 1;
        else
            status = inputs_find(&inputs, cli.operands, cli.operand_count) < 0 ? 1 : analyze(&cli, &inputs);
    }
out:
    inputs_release(&inputs);
    cli_release(&cli);
    return status;
}
