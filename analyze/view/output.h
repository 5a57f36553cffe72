/* SPDX-License-Identifier: MIT */
/*
 * The output of a view: stdout, or a pager if stdout is a terminal. Views print to ->to; output_close() says whether
 * all of it was written.
 */
#ifndef ANALYZE_VIEW_OUTPUT_H
#define ANALYZE_VIEW_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * The program that shows long output page by page. The caller must ignore SIGPIPE. If the pager is missing, or exits
 * without reading anything, no output is lost: pager_take_back() returns it.
 */
struct pager {
    pid_t pid;     /* 0: none, or ended */
    int read_end;  /* kept open, so that unread output can be taken back */
    int write_end; /* non-blocking */
    int pid_fd;    /* readable when the pager has exited; -1: not available */
    size_t written;
};

enum pager_state {
    PAGER_TOOK,   /* it took everything */
    PAGER_QUIT,   /* the user quit it */
    PAGER_FAILED, /* it did not read a byte, or was not found: pager_take_back() */
};

/* Starts COMMAND (the value of $PAGER). 0, or -errno (-ENOENT: there is no such program). */
int pager_start(struct pager *pager, const char *command);
enum pager_state pager_write(struct pager *pager, const char *data, size_t size);
/* After the last write: waits for the pager to end. */
enum pager_state pager_finish(struct pager *pager);
/* After PAGER_FAILED: reads back up to SIZE bytes of what was written; 0 at the end. */
size_t pager_take_back(struct pager *pager, char *ret, size_t size);
void pager_release(struct pager *pager);

enum output_color { OUTPUT_PLAIN, OUTPUT_BOLD, OUTPUT_DIM, OUTPUT_HOT, OUTPUT_WARM, OUTPUT_NAME };

struct output {
    FILE *to;
    bool terminal; /* stdout is one */
    bool color;
    bool utf8; /* characters beyond ASCII may be shown */
    int width; /* columns; 0: not limited */
    bool paged;
    struct pager pager;
    bool ended; /* there is no reader any more: what follows is dropped */
    int error;  /* first errno of a write; EPIPE: the reader has exited */
};

#define OUTPUT_BROKEN_PIPE 141 /* exit status that a shell shows for death by SIGPIPE */

/*
 * COLOR: enum settings_color. Reads NO_COLOR, TERM, COLUMNS and PAGER; setlocale() must have been called. 0 or -errno.
 */
int output_open(struct output *output, int color, bool pager);
/* Whether to use colour. COLOR: enum settings_color. TERMINAL: the output is a terminal. */
bool output_wants_color(int color, bool terminal);
/* Whether printing more is useless. */
bool output_is_over(const struct output *output);
/* Waits for the pager. 0; 1 after a message: something could not be written; OUTPUT_BROKEN_PIPE: the reader exited. */
int output_close(struct output *output);

/* Switches to a colour, or with OUTPUT_PLAIN back; does nothing without colours. */
void output_color(struct output *output, enum output_color color);
/* Hot, warm or plain, for PERCENT of the whole. */
enum output_color output_heat(double percent);
/* Prints untrusted TEXT, made harmless, without padding. */
void output_text(struct output *output, const char *text);
/* Prints TEXT, wrapped between words at the width of the output; further lines are indented by INDENT. */
void output_wrapped(struct output *output, int indent, const char *text);

#endif
