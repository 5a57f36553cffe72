/* SPDX-License-Identifier: MIT */
/*
 * --live: `panalyze top` beside the command, on the growing result files. A process of its own, so that names are
 * looked up outside of the collector, and so that whatever becomes of it costs the screen alone.
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
 * to as well: both would mix, and to give the command something else would change what it does. 0 or -errno after
 * report_error().
 */
int live_init(struct live *live, const struct settings *settings);
/* Starts panalyze, with the signal mask MASK. A failure is said, and costs the screen. */
void live_start(struct live *live, const struct session *session, const sigset_t *mask);
/* Lets it end and waits for that, not for ever, and less where SIGNAL_FD has something. The terminal is as it was. */
void live_end(struct live *live, int signal_fd);
void live_release(struct live *live);

#endif
