/* SPDX-License-Identifier: MIT */
/* Parts of the command line: combinations of options that are refused, and --smpl-module. */
#ifndef ANALYZE_CLI_CHECK_H
#define ANALYZE_CLI_CHECK_H

#include "analyze/view/settings.h"
#include "common/options.h"

/* 0; -EINVAL after a message: one of the options would have no effect beside another one. */
int cli_check_settings(const struct settings *settings);

/*
 * --smpl-module names a sampling module of pfmon. It stands for the command that has the module's output, and for some
 * of its options.
 */

/* Takes the name of a module, as an option of a table. */
int cli_module_take(void *state, const struct option_row *row, const char *value);
/* The name of the command for a command line that names a module and no command; NULL: it names none. */
const char *cli_module_command(int argc, char **argv);
/* Turns the module, if there is one, into options of COMMAND. 0, or -EINVAL after a message. */
int cli_module_apply(struct settings *settings, const char *command);

#endif
