/* SPDX-License-Identifier: MIT */
/*
 * A terminal that is drawn on as a whole, and given back as it was: its own (alternate) screen, no cursor, and keys
 * without Enter where they are wanted. Nothing is done to it while another job is in its foreground.
 */
#ifndef ANALYZE_LIVE_SCREEN_H
#define ANALYZE_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
    int fd;      /* drawn on */
    int keys;    /* read from; -1: the keyboard is not ours */
    bool active; /* it is ours now */
    bool raw;    /* old holds the modes that are to be restored */
    struct termios old;
    int columns, rows;
};

/* Whether FD is a terminal that understands what is written here, by TERM. */
bool screen_is_one(int fd);
void screen_init(struct screen *screen, int fd, int keys);
/* Reads the size: a terminal that is not the controlling one tells nobody that it has another. */
void screen_measure(struct screen *screen);
/* Takes the terminal, unless another job has it. Again after a stop. */
void screen_enter(struct screen *screen);
/* Gives it back. Does nothing twice. */
void screen_leave(struct screen *screen);
/* Shows the first lines of TEXT[SIZE], and STATUS in the last one. 0 or -errno: the terminal has gone. */
int screen_draw(struct screen *screen, const char *text, size_t size, const char *status);

#endif
