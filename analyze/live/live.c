/* SPDX-License-Identifier: MIT */
#include "analyze/live/live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "analyze/live/screen.h"
#include "common/clock.h"
#include "common/fnv.h"
#include "common/report.h"

#define INTERVAL 2.0
#define SOON_NS  200000000u /* interval while there is no file yet */
/* After each look there is a pause of at least this many times its duration: the analysis must not take the CPU from
 * the program. */
#define REST        4
#define BROKEN_PIPE 141

struct live {
    const struct live_options *options;
    struct snapshots snapshots;
    struct snapshot last;
    struct screen screen;
    bool on_screen;
    bool keys_open;
    bool over;   /* no more looks */
    bool finish; /* the session has ended: one last look, then over */
    bool quit;
    int signals; /* signalfd of all signals but SIGTSTP */
    int stops;   /* signalfd of SIGTSTP, never read: see stop_live() */
    int ending;  /* signal that ends us; 0: none */
    int status;
    uint64_t next_ns; /* of the next look */
    uint64_t taken;
    uint64_t shown_hash;
};

/* Under pinject-run the program runs beside us, and SIGINT and SIGQUIT are only for the program. */
static int open_signals(struct live *live)
{
    static const int taken[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH, SIGCHLD};
    sigset_t set, stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
        sigaddset(&set, taken[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    live->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    live->stops = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
    return live->signals < 0 || live->stops < 0 ? -errno : 0;
}

static uint64_t interval_ns(const struct live *live)
{
    double seconds = live->options->interval > 0 ? live->options->interval : INTERVAL;
    uint64_t wanted = (uint64_t)(seconds * 1e9), least = live->snapshots.took_ns * REST;
    return wanted > least ? wanted : least;
}

static void draw_screen(struct live *live)
{
    char status[700], safe[600];
    const char *why = live->last.error, *keys = live->keys_open ? "; q quits" : "";
    if (!live->on_screen)
        return;
    if (*why)
        snprintf(status, sizeof(status), "%s%s", report_safe(safe, sizeof(safe), why, strlen(why)), keys);
    else if (!live->taken)
        snprintf(status, sizeof(status), "looking%s", keys);
    else if (live->last.complete)
        snprintf(status, sizeof(status), "the program has ended%s", keys);
    else
        snprintf(status, sizeof(status), "every %.1f s%s", (double)interval_ns(live) / 1e9, keys);
    const char *text = live->last.text.size ? (const char *)live->last.text.data : "";
    if (screen_draw(&live->screen, text, live->last.text.size, status) < 0)
        live->quit = true; /* the terminal is gone */
}

/* Without a screen: prints looks one below the other; with --snapshots all of them, else only those that differ. */
static void print_look(struct live *live)
{
    if (live->last.error[0] && !live->last.good && (live->over || live->finish))
        report_error("%s", live->last.error);
    if (!live->last.good)
        return;
    uint64_t hash = fnv(FNV_BEGIN, live->last.text.data, live->last.text.size);
    if (hash == live->shown_hash && !live->options->snapshots)
        return;
    int error = live->shown_hash ? buffer_write(STDOUT_FILENO, "\n", 1) : 0;
    if (!error)
        error = buffer_write(STDOUT_FILENO, live->last.text.data, live->last.text.size);
    live->shown_hash = hash;
    if (error) {
        live->status = error == -EPIPE ? BROKEN_PIPE : 1;
        live->over = true;
        if (error != -EPIPE)
            report_error("the output could not be written: %s", strerror(-error));
    }
}

/* Whether this look was the last one. On a screen with keys, the user decides. */
static bool is_last_look(const struct live *live)
{
    if (live->finish || (live->options->snapshots && live->taken >= live->options->snapshots))
        return true;
    /* Without a file, waiting is useless, unless pinject-run has announced a session (options->until). */
    if (!live->last.good && live->options->until < 0)
        return !live->on_screen && !live->shown_hash;
    return live->last.complete && !(live->on_screen && live->keys_open) && live->options->until < 0;
}

static void take_look(struct live *live)
{
    if (!snapshots_take(&live->snapshots, &live->last))
        return;
    live->taken += live->last.good;
    live->next_ns = clock_ns(CLOCK_MONOTONIC) + (live->last.text.size ? interval_ns(live) : SOON_NS);
    live->over |= is_last_look(live);
    if (live->over)
        live->status = live->last.good ? 0 : 1;
    if (live->on_screen)
        draw_screen(live);
    else
        print_look(live);
    /* Nothing changes any more: the last look stays until the user quits. */
    if (live->last.complete && live->options->until < 0)
        live->next_ns = UINT64_MAX;
}

static void begin_look(struct live *live)
{
    bool screen = live->on_screen;
    screen_measure(&live->screen);
    int status = snapshots_begin(&live->snapshots, screen ? live->screen.columns : 0,
                                 screen ? live->screen.rows - 1 : 0);
    if (status < 0)
        snprintf(live->last.error, sizeof(live->last.error),
                 "cannot start the process that prepares the next update: %s", strerror(-status));
    live->next_ns = UINT64_MAX; /* until this look is done */
    if (status < 0)
        live->next_ns = clock_ns(CLOCK_MONOTONIC) + interval_ns(live);
}

/* For a new window size, or when the terminal is ours again: the current look was for the old size. */
static void restart_look(struct live *live)
{
    snapshots_stop(&live->snapshots);
    if (live->on_screen)
        screen_enter(&live->screen);
    draw_screen(live);
    live->next_ns = 0;
}

/*
 * Lets the kernel stop us, since it does not stop a job that nobody could continue. The SIGTSTP was polled, but not
 * read, so it is still pending, unless a SIGCONT has discarded it since. If it was read and raised again, it would stop
 * us after that SIGCONT, for good.
 */
static void stop_live(struct live *live)
{
    sigset_t set;
    screen_leave(&live->screen);
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &set, NULL); /* stops here */
    sigprocmask(SIG_BLOCK, &set, NULL);
    restart_look(live);
}

static void take_signals(struct live *live)
{
    struct signalfd_siginfo info;
    while (read(live->signals, &info, sizeof(info)) == sizeof(info)) {
        int number = (int)info.ssi_signo;
        bool keyboard = number == SIGINT || number == SIGQUIT;
        if (number == SIGWINCH || number == SIGCONT)
            restart_look(live);
        else if (number != SIGCHLD && !(keyboard && live->options->until >= 0))
            live->ending = number;
    }
}

static void take_keys(struct live *live)
{
    char keys[64];
    ssize_t got = read(live->screen.keys, keys, sizeof(keys));
    if (got <= 0 && errno != EINTR && errno != EAGAIN)
        live->keys_open = false;
    for (ssize_t i = 0; i < got; i++) {
        live->quit |= keys[i] == 'q' || keys[i] == 'Q';
        if (keys[i] == ' ' || keys[i] == '\f')
            live->next_ns = live->snapshots.pid ? live->next_ns : 0;
    }
}

/*
 * The session has ended: its files are complete. A screen is given up now, for the output of pinject-run.
 */
static void take_session_end(struct live *live)
{
    char byte;
    ssize_t got = read(live->options->until, &byte, 1);
    if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN)))
        return;
    live->finish = true;
    live->over |= live->on_screen;
    snapshots_stop(&live->snapshots);
    live->next_ns = 0;
}

static void wait_for_events(struct live *live)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    int timeout = live->next_ns == UINT64_MAX ? -1
                  : live->next_ns <= now      ? 0
                                              : (int)((live->next_ns - now) / 1000000) + 1;
    struct pollfd fds[] = {
        {.fd = live->signals, .events = POLLIN},
        {.fd = live->keys_open && live->screen.raw ? live->screen.keys : -1, .events = POLLIN},
        {.fd = live->finish ? -1 : live->options->until, .events = POLLIN},
        {.fd = live->stops, .events = POLLIN},
    };
    if (poll(fds, 4, timeout) < 0)
        return;
    if (fds[3].revents)
        stop_live(live);
    if (fds[1].revents)
        take_keys(live);
    if (fds[2].revents)
        take_session_end(live);
    if (fds[0].revents)
        take_signals(live);
}

static void run_live(struct live *live)
{
    if (live->on_screen) {
        screen_enter(&live->screen);
        draw_screen(live);
    }
    while (!live->over && !live->quit && !live->ending) {
        if (!live->snapshots.pid && live->next_ns <= clock_ns(CLOCK_MONOTONIC))
            begin_look(live);
        wait_for_events(live);
        take_look(live);
    }
    snapshots_stop(&live->snapshots);
    screen_leave(&live->screen);
}

/* Dies of the signal, so that the parent sees it. */
static void die_of(int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    signal(number, SIG_DFL);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

int live_run(const struct live_options *options, snapshot_render *render, void *context)
{
    struct live live = {.options = options};
    live.on_screen = screen_is_one(STDOUT_FILENO);
    live.keys_open = live.on_screen && options->until < 0 && isatty(STDIN_FILENO) == 1;
    screen_init(&live.screen, STDOUT_FILENO, live.keys_open ? STDIN_FILENO : -1);
    int status = open_signals(&live);
    if (status == 0)
        status = snapshots_init(&live.snapshots, render, context);
    if (status < 0) {
        report_error("cannot start: %s", strerror(-status));
        return 1;
    }
    run_live(&live);
    /* The user did not quit: prints the last look after the screen is gone. */
    if (live.on_screen && live.over && options->until < 0)
        live.status = buffer_write(STDOUT_FILENO, live.last.text.data, live.last.text.size) < 0 ? 1 : live.status;
    if (live.on_screen && options->until < 0 && live.last.error[0])
        report_error("%s", live.last.error);
    snapshots_release(&live.snapshots);
    buffer_release(&live.last.text);
    close(live.signals);
    close(live.stops);
    if (live.ending)
        die_of(live.ending);
    return live.status;
}
