/* SPDX-License-Identifier: MIT */
/* The event loop: admits tasks, drains rings, writes files, until the session is over. */
#ifndef COLLECTOR_COLLECT_H
#define COLLECTOR_COLLECT_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/outcome.h"
#include "collector/result.h"
#include "collector/session.h"

/*
 * ROOT: the command's process, our child (launcher), or 0 (bare: ends when the last task has ended, when nobody came
 * within 10 s, or by a signal). The caller has blocked SIGINT, SIGQUIT, SIGTERM and SIGHUP and opened SIGNAL_FD for
 * them. What was sent to us alone, SIGTERM and SIGHUP, is passed on to ROOT; what the terminal sends reached it
 * already. ROOT_EVENTS: of the root, armed before its exec (owned by collect_run afterwards), NULL when refused.
 * Ends when the root has ended and everything is written; who stays behind is not waited for.
 */
struct collect_args {
    struct session *session;
    struct results *results;
    pid_t root;
    int root_pidfd;
    struct attached *root_events;
    uint64_t root_start_ns;
    uint64_t root_startup_ns;     /* CPU time of the child between fork and exec, before its events started */
    int signal_fd;
    char *const *root_closed;     /* arguments of a command that cannot be injected; NULL: it can */
    int root_net_error;           /* 0 or -errno of its net */
};
int collect_run(const struct collect_args *args, struct outcome *outcome);

#endif
