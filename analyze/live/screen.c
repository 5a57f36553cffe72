/* SPDX-License-Identifier: MIT */
#include "analyze/live/screen.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/buffer.h"

static const char enter_text[] = "\033[?1049h\033[?25l\033[2J";
static const char leave_text[] = "\033[0m\033[?25h\033[?1049l";

bool screen_is_one(int fd)
{
    const char *kind = getenv("TERM");
    return isatty(fd) == 1 && kind && *kind && strcmp(kind, "dumb") != 0;
}

void screen_init(struct screen *screen, int fd, int keys)
{
    *screen = (struct screen){.fd = fd, .keys = keys};
}

/* False for a terminal that is not our controlling one: there is no other job to disturb. */
static bool is_in_background(const struct screen *screen)
{
    pid_t group = tcgetpgrp(screen->fd);
    return group >= 0 && group != getpgrp();
}

void screen_measure(struct screen *screen)
{
    struct winsize size = {0};
    bool known = ioctl(screen->fd, TIOCGWINSZ, &size) == 0;
    screen->columns = known && size.ws_col ? size.ws_col : 80;
    screen->rows = known && size.ws_row ? size.ws_row : 24;
}

void screen_enter(struct screen *screen)
{
    screen_measure(screen);
    if (is_in_background(screen))
        return;
    /* A shell may have changed the modes while we were stopped: these are the ones to restore later. */
    if (screen->keys >= 0 && !screen->raw && tcgetattr(screen->keys, &screen->old) == 0) {
        struct termios raw = screen->old;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        screen->raw = tcsetattr(screen->keys, TCSANOW, &raw) == 0;
    }
    if (!screen->active)
        screen->active = buffer_write(screen->fd, enter_text, sizeof(enter_text) - 1) == 0;
}

void screen_leave(struct screen *screen)
{
    if (screen->active)
        (void)buffer_write(screen->fd, leave_text, sizeof(leave_text) - 1);
    if (screen->raw)
        tcsetattr(screen->keys, TCSANOW, &screen->old);
    screen->active = screen->raw = false;
}

int screen_draw(struct screen *screen, const char *text, size_t size, const char *status)
{
    struct buffer frame = BUFFER_INIT;
    int row = 1;
    if (is_in_background(screen))
        return 0;
    if (!screen->active)
        screen_enter(screen);
    /* One write, so that no other output comes in between. */
    buffer_printf(&frame, "\033[H");
    for (const char *end = text + size; text < end && row < screen->rows; row++) {
        const char *line = memchr(text, '\n', (size_t)(end - text));
        line = line ? line : end;
        buffer_append(&frame, text, (size_t)(line - text));
        buffer_printf(&frame, "\033[0m\033[K\r\n");
        text = line < end ? line + 1 : end;
    }
    buffer_printf(&frame, "\033[J\033[%d;1H%.*s\033[K", screen->rows, screen->columns - 1, status);
    int error = buffer_failed(&frame) ? 0 : buffer_write(screen->fd, frame.data, frame.size);
    buffer_release(&frame);
    return error;
}
