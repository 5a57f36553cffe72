/* SPDX-License-Identifier: MIT */
/*
 * Options from one table: a row gives parsing, the line of --help and the check against the manual. Both programs use
 * it. GNU conventions: --long=VALUE, --long VALUE, unambiguous prefixes, -sVALUE, -s VALUE, bundled flags, "--" ends
 * the options. The message about an unknown option suggests the nearest known one. No global state, reentrant.
 */
#ifndef COMMON_OPTIONS_H
#define COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct option_row;

/* Takes VALUE (NULL: a flag, or an optional value that is not given). 0, or -EINVAL after report_error(). */
typedef int option_take(void *state, const struct option_row *row, const char *value);

enum option_flags {
    OPTION_OPTIONAL_VALUE = 1, /* value only as --long=VALUE or -sVALUE */
    OPTION_HIDDEN = 2,         /* not in --help */
    OPTION_MORE = 4,           /* not in a brief --help */
    OPTION_SYNONYM = 8,        /* another name: not in --help, never suggested; works in full and as a prefix */
};

struct option_row {
    char letter;       /* 0: none */
    const char *name;  /* long name without "--"; NULL: a heading row, help is its text */
    const char *value; /* name of the value in --help ("HZ"); NULL: a flag */
    unsigned flags;
    option_take *take;
    size_t offset;     /* for the stock takers: offset of the member in STATE */
    int64_t number;    /* for the stock takers: value to store; others may use it as they like */
    uint32_t groups;   /* bit set of the commands that have the option; 0: all */
    const char *help;  /* a brief --help ends at a semicolon */
    const char *words; /* the words that it takes ("self|total"), for messages and options_take_word(); NULL: value */
};

/* A whole number of at least 1, in decimal. False: VALUE (may be NULL) is none, and *RET stays. */
bool options_parse_count(const char *value, uint64_t *ret);

/* Stock takers: store into (char *)state + offset. */
int options_take_flag(void *state, const struct option_row *row, const char *value);   /* bool: true */
int options_take_enum(void *state, const struct option_row *row, const char *value);   /* int: row->number */
int options_take_string(void *state, const struct option_row *row, const char *value); /* const char *, not empty */
int options_take_count(void *state, const struct option_row *row, const char *value);  /* uint64_t: at least 1 */
/* int: row->number for the first of the row's words, one more for the second, ... */
int options_take_word(void *state, const struct option_row *row, const char *value);

/* The position of WORD among WORDS ("self|total"): 0, 1, ...; -1: it is none of them. */
int options_find_word(const char *words, const char *word);
/* The word at POSITION, which must be one of WORDS; *ret_size: its length. */
const char *options_word(const char *words, int position, int *ret_size);

struct options {
    const struct option_row *rows; /* ended by a row whose name and help are NULL */
    uint32_t groups;               /* others are refused: "option '--x' does not belong to 'tree'"; 0: accept all */
    const char *group_name;        /* for that message */
    bool stop_at_operand;          /* the first operand ends the options (pinject-run); else they may be mixed */
    bool keep_dashes;              /* "--" is an operand that divides the others; it does not end the options */
    bool only_look;                /* only finds the operands: values are not checked or stored */
};

/*
 * Parses ARGV[1..]. Operands are moved to the front of ARGV+1 in order (mixed mode) or left in place (stop_at_operand).
 * *ret_operands: index of the first operand in ARGV; *ret_count: their number. 0, or -EINVAL after a message.
 */
int options_parse(const struct options *options, void *state, int argc, char **argv, int *ret_operands, int *ret_count);

enum options_which {
    OPTIONS_ALL,
    OPTIONS_BRIEF,  /* those without OPTION_MORE, with short texts */
    OPTIONS_OWN,    /* those of exactly these groups; without headings */
    OPTIONS_SHARED, /* those of several commands, each once */
};

/* Writes the option lines of --help for the rows of GROUPS (0: all), aligned, at most WIDTH columns wide. */
void options_help(const struct option_row *rows, uint32_t groups, enum options_which which, int width, FILE *to);
/* Whether options_help() would write anything. */
bool options_has_help(const struct option_row *rows, uint32_t groups, enum options_which which);

#endif
