/* SPDX-License-Identifier: MIT */
/* pinject-run --stacks, --tree and --stacks-after: checks the numbers of processes, and lets pstack/ do the rest. */
#ifndef COLLECTOR_SHOW_STACKS_H
#define COLLECTOR_SHOW_STACKS_H

#include "collector/collect.h"
#include "collector/settings_parse.h"

/* Writes to stdout, which is not flushed. 0; 1: some of it is missing; -errno after report_error(). */
int show_stacks(const struct settings_line *line);
/* For collect_args: to stderr, in one piece. NULL: not on this architecture. */
const struct collect_stacks *show_stacks_of_tree(void);

#endif
