/* SPDX-License-Identifier: MIT */
/*
 * A terminal used as a full screen, and then restored: alternate screen, no cursor, and keys without Enter if they are
 * wanted. It is left alone while another job is in its foreground.
 */
#ifndef ANALYZE_LIVE_SCREEN_H
#define ANALYZE_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
    int fd;      /* to draw on */
    int keys;    /* to read from; -1: the keyboard is not ours */
    bool active; /* we use it now */
    bool raw;    /* `old` has the modes to restore */
    struct termios old;
    int columns, rows;
};

/* Whether FD is a terminal that understands our escape sequences, by TERM. */
bool screen_is_one(int fd);
void screen_init(struct screen *screen, int fd, int keys);
/* Reads the size; only the controlling terminal reports changes (SIGWINCH). */
void screen_measure(struct screen *screen);
/* Takes the terminal, unless another job has it. To be called again after a stop. */
void screen_enter(struct screen *screen);
/* Restores the terminal. A second call does nothing. */
void screen_leave(struct screen *screen);
/* Shows the first lines of TEXT[SIZE], and STATUS in the last line. 0, or -errno: the terminal is gone. */
int screen_draw(struct screen *screen, const char *text, size_t size, const char *status);

#endif
