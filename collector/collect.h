/* SPDX-License-Identifier: MIT */
/* The event loop: admits tasks, drains rings, writes files, until the session is over. */
#ifndef COLLECTOR_COLLECT_H
#define COLLECTOR_COLLECT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "collector/result.h"
#include "collector/session.h"

/* What came out, for the closing summary and the exit status. Owned by the caller: collect_outcome_release(). */
struct collect_outcome {
    bool root_ended;
    int root_status;              /* as of wait(2) */
    struct rusage tree;           /* of the root and all it waited for (launcher only) */
    uint64_t tasks;               /* seen */
    uint64_t processes, threads;
    uint64_t active_max;          /* most at the same time */
    uint64_t alive;               /* still running when the session ended */
    uint64_t samples, lost;
    uint64_t counted_only;        /* tasks without a ring */
    char stacks[STACKS_TEXT];     /* how call stacks came about, where they are unwound; else "" */
    uint64_t stacks_behind;       /* of them, by frame pointers since the collector had fallen behind */
    uint64_t without_sample;
    uint64_t stood_in;            /* tasks whose events were refused, and in which the object was to start a timer */
    uint64_t stood_in_counted;    /* of them, those that were not sampled; in counted_only too */
    int refusal;                  /* -errno of the first of them */
    uint64_t cpu_ns;              /* of the tree by the kernel's accounting; 0: unknown */
    uint64_t attributed_ns;
    uint64_t collector_ns;        /* own CPU time */
    uint64_t wall_ns;
    struct result_unseen *unseen; /* strings owned */
    unsigned unseen_count;
    uint64_t uncounted;           /* further ones, and records, that the collector had no memory for */
};
void collect_outcome_release(struct collect_outcome *outcome);

/*
 * ROOT: the command's process, our child (launcher), or 0 (bare: ends when the last task has ended, when nobody came
 * within 10 s, or by a signal). The caller has blocked SIGINT, SIGQUIT, SIGTERM and SIGHUP and opened SIGNAL_FD for
 * them. What was sent to us alone, SIGTERM and SIGHUP, is passed on to ROOT; what the terminal sends reached it already.
 * ROOT_EVENTS: of the root, armed before its exec (owned by collect_run afterwards), NULL when refused.
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
int collect_run(const struct collect_args *args, struct collect_outcome *outcome);

#endif
