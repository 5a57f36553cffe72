/* SPDX-License-Identifier: MIT */
#include "analyze/cli_check.h"

#include <errno.h>
#include <string.h>

#include "analyze/script/script_fields.h"
#include "common/options.h"
#include "common/report.h"

/* --cum and --show-cum are about the rows of a table. The document of --json always has one. */
static int check_cum(const struct settings *settings)
{
    if (settings->json || !settings->call_tree || !(settings->cum > 0 || settings->show_cum))
        return 0;
    report_error("option '--%s' needs a table with rows, and --call-tree shows a tree: leave out one of them",
                 settings->cum > 0 ? "cum" : "show-cum");
    return -EINVAL;
}

static int check_resolve(const struct settings *settings)
{
    const char *other = settings->symbols.count                          ? "--symbol"
                        : settings->by == BY_LINE                        ? "--by line"
                        : settings->by == BY_INLINE                      ? "--by inline"
                        : settings->by == BY_FILE                        ? "--by file"
                        : settings->by == BY_DATA_PAGE                   ? "--by data-page"
                        : settings->by == BY_DATA_SYMBOL                 ? "--by data-symbol"
                        : settings->by == BY_BRANCH                      ? "--by branch"
                        : settings->inlined                              ? "--inline"
                        : settings->lines                                ? "--lines"
                        : settings->no_demangle                          ? "--no-demangle"
                        : settings->debuginfod                           ? "--debuginfod"
                        : settings->fields & FIELD_BIT(FIELD_SYM)        ? "the field 'sym'"
                        : settings->fields & FIELD_BIT(FIELD_SRCLINE)    ? "the field 'srcline'"
                        : settings->fields & FIELD_BIT(FIELD_BRSTACKSYM) ? "the field 'brstacksym'"
                                                                         : NULL;
    if (!settings->no_resolve || !other)
        return 0;
    report_error("option '--no-resolve' looks up no names: leave out %s", other);
    return -EINVAL;
}

static int check_compact(const struct settings *settings)
{
    const char *other = settings->fields    ? "--fields"
                        : settings->json    ? "--json"
                        : settings->all     ? "--all"
                        : settings->lines   ? "--lines"
                        : settings->inlined ? "--inline"
                                            : NULL;
    if (!settings->compact || !other)
        return 0;
    report_error("option '--compact' always prints the same columns: leave out %s", other);
    return -EINVAL;
}

/* Refuses options that rows of data and branches cannot have. */
static int check_data(const struct settings *settings)
{
    const char *other = settings->callers                                      ? "--callers"
                        : settings->callees                                    ? "--callees"
                        : settings->reverse                                    ? "--reverse"
                        : settings->call_tree                                  ? "--call-tree"
                        : settings->inlined                                    ? "--inline"
                        : settings->no_inline                                  ? "--no-inline"
                        : settings->sort_given && settings->sort == SORT_TOTAL ? "--sort total"
                                                                               : NULL;
    if (settings->by < BY_DATA_PAGE)
        return 0;
    int size;
    const char *by = options_word(CLI_REPORT_BY, settings->by, &size);
    if (settings->tasks == TASKS_APART) {
        report_error("--by=%.*s has no sections for tasks: leave out --per-task, or choose a task with --tid", size,
                     by);
        return -EINVAL;
    }
    if (settings->show_cum || settings->values) {
        const char *option = settings->values ? "--values" : "--show-cum";
        report_error("--by=%.*s has no column for %s: leave out %s", size, by, option, option);
        return -EINVAL;
    }
    if (!other)
        return 0;
    report_error("--by=%.*s does not show call chains: leave out %s", size, by, other);
    return -EINVAL;
}

int cli_check_settings(const struct settings *settings)
{
    int status = check_cum(settings);
    if (status == 0)
        status = check_resolve(settings);
    if (status == 0)
        status = check_data(settings);
    return status == 0 ? check_compact(settings) : status;
}

/* ---- --smpl-module */

/* In the order of enum settings_module. */
static const char *const module_commands[] = {NULL, "report", "script", "script", "export"};

const char *cli_module_command(int argc, char **argv)
{
    static const char option[] = "--smpl-module", shortest[] = "--smpl-m";
    const char *command = NULL;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const size_t size = strcspn(argv[i], "=");
        if (size < sizeof(shortest) - 1 || size >= sizeof(option) || strncmp(argv[i], option, size) != 0)
            continue;
        const char *value = argv[i][size] ? argv[i] + size + 1 : argv[i + 1];
        command = module_commands[options_find_word(CLI_MODULES, value ? value : "") + 1];
    }
    return command;
}

int cli_module_apply(struct settings *settings, const char *command)
{
    const int module = settings->module;
    const char *other = NULL;
    if (module == MODULE_HISTOGRAM)
        other = settings->by_given && settings->by != BY_ADDRESS ? "--by"
                : !settings->call_tree || settings->json         ? NULL /* a document has rows and a tree */
                : settings->reverse                              ? "--reverse"
                                                                 : "--call-tree";
    else if (module == MODULE_DETAILED && settings->compact)
        other = "--compact";
    if (module == MODULE_NONE)
        return 0;
    int size;
    const char *name = options_word(CLI_MODULES, module - MODULE_HISTOGRAM, &size);
    if (strcmp(command, module_commands[module]) != 0) {
        report_error("--smpl-module=%.*s is for the command '%s', not for '%s'", size, name, module_commands[module],
                     command);
        return -EINVAL;
    }
    if (other) {
        report_error("--smpl-module=%.*s shows %s: leave out %s", size, name,
                     module == MODULE_HISTOGRAM ? "a row for each address" : "each sample in several lines", other);
        return -EINVAL;
    }
    if (module == MODULE_HISTOGRAM) {
        settings->by = BY_ADDRESS;
        settings->show_cum = true;
    }
    settings->compact |= module == MODULE_COMPACT;
    return 0;
}
