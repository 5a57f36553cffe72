/* SPDX-License-Identifier: MIT */
#include "analyze/view/output.h"

#include <errno.h>
#include <langinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analyze/view/settings.h"
#include "analyze/view/text.h"
#include "common/buffer.h"
#include "common/report.h"

#define NARROWEST 20

static void direct(struct output *output, const char *data, size_t size)
{
    int status = buffer_write(STDOUT_FILENO, data, size);
    if (status < 0) {
        output->error = -status;
        output->ended = true;
    }
}

/* The pager showed nothing: writes everything to the terminal instead. */
static void fall_back(struct output *output)
{
    char part[4096];
    size_t size;
    output->paged = false;
    while (!output->ended && (size = pager_take_back(&output->pager, part, sizeof(part))) > 0)
        direct(output, part, size);
    pager_release(&output->pager);
}

static ssize_t take(void *cookie, const char *data, size_t size)
{
    struct output *output = cookie;
    if (output->paged && !output->ended) {
        size_t before = output->pager.written;
        enum pager_state state = pager_write(&output->pager, data, size);
        output->ended = state == PAGER_QUIT;
        if (state == PAGER_FAILED) {
            size_t given = output->pager.written - before;
            fall_back(output);
            direct(output, data + given, size - given);
        }
    } else if (!output->ended) {
        direct(output, data, size);
    }
    /* Reports success, so that stdio does not retry; output_close() reports the error. */
    return (ssize_t)size;
}

static int width_of_terminal(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = columns ? strtol(columns, NULL, 10) : 0;
    if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width <= 0)
        width = 80;
    return width < NARROWEST ? NARROWEST : width > 10000 ? 10000 : (int)width;
}

bool output_wants_color(int color, bool terminal)
{
    const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");
    if (color != COLOR_AUTO)
        return color == COLOR_ALWAYS;
    return terminal && !(none && *none) && kind && strcmp(kind, "dumb") != 0;
}

static void start_pager(struct output *output)
{
    const char *command = getenv("PAGER");
    if (!command)
        command = "less -FRX";
    if (!*command || strcmp(command, "cat") == 0)
        return;
    int status = pager_start(&output->pager, command);
    if (status == 0) {
        /* While a pager runs, Ctrl-C is for the pager. */
        signal(SIGINT, SIG_IGN);
        output->paged = true;
    } else if (getenv("PAGER")) {
        report_note("the pager '%s' cannot be started (%s); set PAGER, or use --no-pager", command, strerror(-status));
    }
}

int output_open(struct output *output, int color, bool pager)
{
    static const cookie_io_functions_t functions = {.write = take};
    *output = (struct output){.pager = {.read_end = -1, .write_end = -1, .pid_fd = -1}};
    output->to = fopencookie(output, "w", functions);
    if (!output->to)
        return -ENOMEM;
    setvbuf(output->to, NULL, _IOFBF, 1 << 16);
    output->terminal = isatty(STDOUT_FILENO) == 1;
    output->width = output->terminal ? width_of_terminal() : 0;
    output->color = output_wants_color(color, output->terminal);
    output->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (pager && output->terminal)
        start_pager(output);
    return 0;
}

bool output_is_over(const struct output *output)
{
    return output->ended;
}

int output_close(struct output *output)
{
    bool failed = fflush(output->to) != 0 || ferror(output->to);
    fclose(output->to);
    if (output->paged && pager_finish(&output->pager) == PAGER_FAILED)
        fall_back(output);
    pager_release(&output->pager);
    if (output->error == EPIPE)
        return OUTPUT_BROKEN_PIPE;
    if (output->error)
        report_error("the output could not be written: %s", strerror(output->error));
    else if (failed)
        report_error("the output could not be written");
    return output->error || failed ? 1 : 0;
}

void output_color(struct output *output, enum output_color color)
{
    static const char *const codes[] = {"0", "1", "2", "31", "32", "36"};
    if (output->color)
        fprintf(output->to, "\033[%sm", codes[color]);
}

enum output_color output_heat(double percent)
{
    return percent >= 5 ? OUTPUT_HOT : percent >= 0.5 ? OUTPUT_WARM : OUTPUT_PLAIN;
}

void output_text(struct output *output, const char *text)
{
    char *clean = text_clean(text, output->utf8);
    fputs(clean, output->to);
    free(clean);
}

void output_wrapped(struct output *output, int indent, const char *text)
{
    char *clean = text_clean(text, output->utf8);
    size_t at = 0;
    for (char *rest = NULL, *word = strtok_r(clean, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t wide = text_columns(word, output->utf8);
        if (at && output->width && at + 1 + wide > (size_t)output->width) {
            fprintf(output->to, "\n%*s", indent, "");
            at = (size_t)indent;
        } else if (at) {
            fputc(' ', output->to);
            at++;
        }
        fputs(word, output->to);
        at += wide;
    }
    fputc('\n', output->to);
    free(clean);
}
