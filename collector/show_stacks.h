/* SPDX-License-Identifier: MIT */
/* pinject-run --stacks and --tree: checks the numbers of processes, and lets pstack/ do the rest. */
#ifndef COLLECTOR_SHOW_STACKS_H
#define COLLECTOR_SHOW_STACKS_H

#include "collector/settings_parse.h"

/* Writes to stdout, which is not flushed. 0; 1: some of it could not be had; -errno after report_error(). */
int show_stacks(const struct settings_line *line);

#endif
