/* SPDX-License-Identifier: MIT */
/* The event loop: admits tasks, drains rings, writes files, until the session is over. */
#ifndef COLLECTOR_COLLECT_H
#define COLLECTOR_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/launch/signals.h"
#include "collector/outcome.h"
#include "collector/output/result.h"
#include "collector/sources/session.h"

/*
 * Stacks of all that a session follows while it runs (--stacks-after, SIGQUIT): a thread of its own looks and writes,
 * the event loop goes on, but leaves the command alone: the stops of what is traced are reported as those of this
 * process' children as well. Called by the event loop.
 */
struct collect_stacks {
    /* Of PIDS[COUNT], which is taken over for free(), and of what descends from them. 0 or -errno. */
    int (*begin)(pid_t *pids, size_t count, int unwinder);
    /* True once after each begin(): it has come to its end. */
    bool (*over)(void);
};

/*
 * ROOT: the command's process, our child (launcher), or 0 (bare: ends when the last task has ended, when nobody came
 * within 10 s, or by SIGINT, SIGQUIT, SIGTERM or SIGHUP). SIGNALS: blocked and opened by the caller, and told of ROOT.
 * ROOT_EVENTS: of the root, armed before its exec (owned by collect_run afterwards), NULL when refused.
 * Ends when the root has ended and everything is written; who stays behind is waited for with settings.linger alone,
 * until one of these signals comes.
 */
struct collect_args {
    struct session *session;
    struct results *results;
    pid_t root;
    int root_pidfd;
    struct attached *root_events;
    uint64_t root_start_ns;
    uint64_t root_startup_ns;     /* CPU time of the child between fork and exec, before its events started */
    struct signals *signals;
    char *const *root_non_injectable; /* arguments of a command that cannot be injected; NULL: it can */
    int root_inherit_error;           /* 0 or -errno of its inherited set */
    const struct collect_stacks *stacks; /* NULL: they cannot be had here */
};
int collect_run(const struct collect_args *args, struct outcome *outcome);

#endif
