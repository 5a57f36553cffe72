/* SPDX-License-Identifier: MIT */
/* The command line of panalyze: a table of commands and a table of options. */
#ifndef ANALYZE_CLI_H
#define ANALYZE_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/view/settings.h"
#include "analyze/view/view.h"

enum cli_needs {
    CLI_PROFILE = 1,       /* the files as one profile */
    CLI_COUNTS = 2,        /* only the counts of the profile, unless --json is given */
    CLI_WHOLE_SAMPLES = 4, /* --dso and --symbol choose samples, not lines */
    CLI_FOLLOW = 8,        /* the view is repeated while the files grow */
    CLI_DOCUMENT = 16,     /* writes a document: no pager */
    CLI_PAIR = 32,         /* two sets of files */
    CLI_OWN_OUTPUT = 64,   /* the view opens its output itself; the first operand is its format */
    CLI_PLACES = 128,      /* it is an error if no stack matches --dso and --symbol */
};

struct cli_command {
    const char *name;
    uint32_t group;                 /* bit of its options */
    unsigned needs;                 /* enum cli_needs */
    int (*view)(struct view *view); /* NULL: help */
    const char *help;
    const char *heading; /* printed above this command in the list of commands; NULL: none */
};

struct cli {
    const struct cli_command *command;
    struct settings settings;
    const char *const *operands; /* in argv */
    size_t operand_count;
    size_t before; /* of a pair: the number of operands in the first set; the rest is the second */
};

/* 0, or -EINVAL after a message. ARGV is reordered. */
int cli_parse(struct cli *cli, int argc, char **argv);
void cli_release(struct cli *cli);

/* NULL: there is no such command. */
const struct cli_command *cli_find(const char *name);
/* The command that the user probably meant by NAME, or NULL. */
const struct cli_command *cli_nearest(const char *name);
/* Prints the help of COMMAND (NULL: of all commands). WIDTH 0: not limited. */
void cli_help(const struct cli_command *command, int width, FILE *to);

#endif
