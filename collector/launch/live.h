/* SPDX-License-Identifier: MIT */
/*
 * --live: `panalyze top` beside the command, on the growing result files. A process of its own, so that the collector
 * looks up no names, and so that a failure costs only the screen.
 */
#ifndef COLLECTOR_LAUNCH_LIVE_H
#define COLLECTOR_LAUNCH_LIVE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "collector/config/settings.h"
#include "collector/sources/session.h"

struct live {
    int to;      /* the terminal or file; -1: --live was not asked for */
    bool screen; /* TO is a terminal */
    int until;   /* our end of a pipe that lasts as long as the session; -1: not started */
    pid_t pid;
    int pidfd;
};

/*
 * Before anything is started: is there a place to show, and panalyze? Refuses a terminal that the command's output goes
 * to as well: both would mix, and another output would change what the command does. 0 or -errno after report_error().
 */
int live_init(struct live *live, const struct settings *settings);
/* Starts panalyze, with the signal mask MASK. A failure is reported, and costs only the screen. */
void live_start(struct live *live, const struct session *session, const sigset_t *mask);
/* Lets it end and waits for that, for a bounded time, less if SIGNAL_FD has something. Restores the terminal. */
void live_end(struct live *live, int signal_fd);
void live_release(struct live *live);

#endif
