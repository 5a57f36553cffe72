/* SPDX-License-Identifier: MIT */
/* Options of pinject-run, of the command line and, for a bare LD_PRELOAD, the environment: one table for both. */
#ifndef COLLECTOR_SETTINGS_PARSE_H
#define COLLECTOR_SETTINGS_PARSE_H

#include <stdbool.h>
#include <stdio.h>

#include "collector/config/settings.h"

enum settings_action {
    SETTINGS_RUN,     /* profile settings.command */
    SETTINGS_COLLECT, /* bare: collect for the process that started us */
    SETTINGS_WAIT,
    SETTINGS_INFO,
    SETTINGS_DOCTOR, /* settings.command: NULL, or what is to be examined */
    SETTINGS_STACKS, /* settings.command: numbers of processes */
    SETTINGS_LIST_EVENTS,
    SETTINGS_EVENT_INFO,
    SETTINGS_LIST_REGS,    /* list what --user-regs and --intr-regs know */
    SETTINGS_CHECK_EVENTS, /* settings.command: NULL, or what has the symbols of breakpoints */
    SETTINGS_VERSION,
    SETTINGS_HELP,
};

struct settings_line {
    struct settings settings; /* first: option rows point into it */
    int action;               /* enum settings_action */
    const char *help_all;     /* --help: NULL: only the options that most users need */
    const char *wait_base;    /* --wait: NULL: as in outfile */
    bool stacks, tree, json;  /* --stacks, --tree, --json */
    const char *pattern;      /* --list-events; NULL: all */
    const char *event;        /* --event-info */
    bool with_text;           /* --long */
    uint64_t collect_fd;      /* --collect */
    const char *preload;      /* --preload: path of the preload object that started us */
    const char *started;      /* file to create when the command is let go; NULL: none */
};

/* 0 or -EINVAL after report_error(). Strings point into ARGV. */
int settings_parse(struct settings_line *line, int argc, char **argv);
/*
 * PINJECT_* variables: PINJECT_OUTFILE for --outfile and so on. 0 or -EINVAL after report_error() with the variable's
 * name.
 */
int settings_parse_environment(struct settings_line *line);
/* ALL: with the options that few users need. */
void settings_help(FILE *to, bool all);

#endif
