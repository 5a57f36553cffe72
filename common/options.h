/* SPDX-License-Identifier: MIT */
/*
 * Options from one table: a row gives parsing, the line of --help and the check against the manual. Both programs use
 * it. GNU habits: --long=VALUE, --long VALUE, unambiguous prefixes, -sVALUE, -s VALUE, bundled flags, "--" ends the
 * options. An unknown option is named with the nearest known one. No global state, reentrant.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct option_row;

/* Takes VALUE (NULL for a flag, or an optional value not given). 0, or -EINVAL after saying why with report_error(). */
typedef int option_take(void *state, const struct option_row *row, const char *value);

enum option_flags {
    OPTION_OPTIONAL_VALUE = 1, /* value only as --long=VALUE or -sVALUE */
    OPTION_HIDDEN = 2,         /* not in --help */
    OPTION_MORE = 4,           /* not in a brief --help */
};

struct option_row {
    char letter;        /* 0: none */
    const char *name;   /* long name without "--"; NULL: a heading row, help is its text */
    const char *value;  /* name of the value in --help ("HZ"), NULL: a flag */
    unsigned flags;
    option_take *take;
    size_t offset;      /* for the stock takers: offsetof the field in STATE */
    int64_t number;     /* for the stock takers: value to store, or what take() wants */
    uint32_t groups;    /* bit set of the commands that know the option; 0: all */
    const char *help;   /* what stands behind a semicolon is left out of a brief --help */
};

/* Stock takers: store into (char *)state + offset. */
int options_take_flag(void *state, const struct option_row *row, const char *value);   /* bool: true */
int options_take_enum(void *state, const struct option_row *row, const char *value);   /* int: row->number */
int options_take_string(void *state, const struct option_row *row, const char *value); /* const char *, not empty */
int options_take_count(void *state, const struct option_row *row, const char *value);  /* uint64_t: at least 1 */

struct options {
    const struct option_row *rows; /* ended by a row whose name and help are NULL */
    uint32_t groups;               /* others are refused: "option '--x' does not belong to 'tree'"; 0: take all */
    const char *group_name;        /* for that message */
    bool stop_at_operand;          /* the first operand ends the options (pinject-run); else they mix */
    bool keep_dashes;              /* "--" is an operand, which divides the others, and ends nothing */
    bool only_look;                /* for the operands: no value is judged or stored */
};

/*
 * Parses ARGV[1..]. Operands are moved to the front of ARGV+1 in order (mixed mode) or left in place (stop_at_operand).
 * *ret_operands: index of the first operand in ARGV, *ret_count: how many. -EINVAL after a message.
 */
int options_parse(const struct options *options, void *state, int argc, char **argv, int *ret_operands, int *ret_count);

enum options_which {
    OPTIONS_ALL,
    OPTIONS_BRIEF,  /* those without OPTION_MORE, in short */
    OPTIONS_OWN,    /* those of exactly the groups; without headings */
    OPTIONS_SHARED, /* those of several commands, each once */
};

/* The option lines of --help for the rows of GROUPS (0: all), aligned, at most WIDTH columns wide. */
void options_help(const struct option_row *rows, uint32_t groups, enum options_which which, int width, FILE *to);
/* Whether options_help() would write anything. */
bool options_has_help(const struct option_row *rows, uint32_t groups, enum options_which which);

#endif
