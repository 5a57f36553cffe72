/* SPDX-License-Identifier: MIT */
/*
 * Where the answer goes: stdout, or a pager when stdout is a terminal. Views print to ->to; whether all of it arrived
 * is known from output_close().
 */
#ifndef ANALYZE_VIEW_OUTPUT_H
#define ANALYZE_VIEW_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "analyze/view/pager.h"

enum output_color { OUTPUT_PLAIN, OUTPUT_BOLD, OUTPUT_DIM, OUTPUT_HOT, OUTPUT_WARM, OUTPUT_NAME };

struct output {
    FILE *to;
    bool terminal; /* stdout is one */
    bool color;
    bool utf8; /* characters beyond ASCII may be shown */
    int width; /* columns; 0: not limited */
    bool paged;
    struct pager pager;
    bool ended; /* nobody reads any more: what follows is dropped */
    int error;  /* first errno of a write; EPIPE: the reader has gone */
};

#define OUTPUT_BROKEN_PIPE 141 /* as a shell shows the end by SIGPIPE */

/*
 * COLOR: enum settings_color. Reads NO_COLOR, TERM, COLUMNS and PAGER; setlocale() must have been called. 0 or -errno.
 */
int output_open(struct output *output, int color, bool pager);
/* COLOR: enum settings_color, for a TERMINAL or not. */
bool output_wants_color(int color, bool terminal);
/* True when no more needs to be printed. */
bool output_is_over(const struct output *output);
/* Waits for the pager. 0; 1 after a message when something could not be written; OUTPUT_BROKEN_PIPE when the reader
 * left. */
int output_close(struct output *output);

/* Starts and ends a colour; nothing where there are none. */
void output_color(struct output *output, enum output_color color);
/* Hot, warm or plain, for PERCENT of the whole. */
enum output_color output_heat(double percent);
/* TEXT of someone else, harmless, without padding. */
void output_text(struct output *output, const char *text);
/* A line of several words ("- " LEAD), broken between words where the width ends, further lines indented by INDENT. */
void output_wrapped(struct output *output, int indent, const char *text);

#endif
