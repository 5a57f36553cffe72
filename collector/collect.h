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
 * Shows the stacks of all that a session follows while it runs (--stacks-after, SIGQUIT). A thread of its own looks and
 * writes. The event loop goes on but leaves the command alone: stops of traced tasks are also reported as stops of this
 * process' children. Called by the event loop.
 */
struct collect_stacks {
    /* Of PIDS[COUNT], which begin() frees, and of their descendants. 0 or -errno. */
    int (*begin)(pid_t *pids, size_t count, int unwinder);
    /* True once after each begin(): it has ended. */
    bool (*over)(void);
};

/*
 * ROOT: the command's process, our child (launcher), or 0 (bare: ends when the last task has ended, when no task came
 * within 10 s, or by SIGINT, SIGQUIT, SIGTERM or SIGHUP). SIGNALS: blocked and opened by the caller, with ROOT set.
 * ROOT_EVENTS: of the root, armed before its exec (owned by collect_run afterwards), NULL when refused. Ends when the
 * root has ended and everything is written. Only with settings.linger it waits for tasks that are left behind, until
 * one of these signals comes.
 */
struct count_output;

struct collect_args {
    struct session *session;
    struct results *results;
    pid_t root;
    int root_pidfd;
    struct attached *root_events;
    uint64_t root_inherited_set; /* if it has no events of its own: the inherited set that it is in; 0: none */
    unsigned root_readings;      /* READ records that its end brings then */
    uint64_t root_start_ns;
    uint64_t root_startup_ns; /* CPU time of the child between fork and exec, before its events started */
    struct signals *signals;
    char *const *root_non_injectable;    /* arguments of a non-injectable command; NULL: it can be injected */
    int root_inherit_error;              /* 0 or -errno of its inherited set */
    const struct collect_stacks *stacks; /* NULL: not available here */
    const struct count_output *counts;   /* for --print-interval; NULL: it is not asked for */
};
int collect_run(const struct collect_args *args, struct outcome *outcome);

#endif
