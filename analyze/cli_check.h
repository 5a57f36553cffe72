/* SPDX-License-Identifier: MIT */
/* Parts of the command line: combinations of options that are refused, and --smpl-module. */
#ifndef ANALYZE_CLI_CHECK_H
#define ANALYZE_CLI_CHECK_H

#include "analyze/view/settings.h"

/* The words of report's --by, in the order of enum settings_by. */
#define CLI_REPORT_BY "function|dso|task|process|comm|address|line|inline|file|data-page|data-symbol|data-type|branch"

/* 0; -EINVAL after a message: one of the options would have no effect beside another one. */
int cli_check_settings(const struct settings *settings);

/*
 * --smpl-module names a sampling module of pfmon. It stands for the command that has the module's output, and for some
 * of its options.
 */

/* The modules, in the order of enum settings_module, from MODULE_HISTOGRAM on. */
#define CLI_MODULES "inst-hist|detailed|compact|raw"

/* The name of the command for a command line that names a module and no command; NULL: it names none. */
const char *cli_module_command(int argc, char **argv);
/* Turns the module, if there is one, into options of COMMAND. 0, or -EINVAL after a message. */
int cli_module_apply(struct settings *settings, const char *command);

#endif
