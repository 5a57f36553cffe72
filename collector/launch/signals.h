/* SPDX-License-Identifier: MIT */
/*
 * Signals that reach pinject-run. It behaves as the command would: what is sent to us alone is passed on to the
 * command; what the whole group gets (from the terminal, by kill) has reached it already; when it stops we stop; no
 * signal ends us.
 */
#ifndef COLLECTOR_LAUNCH_SIGNALS_H
#define COLLECTOR_LAUNCH_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

#include "collector/launch/witness.h"

struct signals {
    int ends;   /* signalfd: SIGINT, SIGQUIT, SIGTERM, SIGHUP */
    int others; /* signalfd: all others, SIGCHLD among them */
    sigset_t old_mask;
    struct witness witness;
    bool leads;  /* we are the leader of our session */
    pid_t root;  /* the command; 0: a detached collector has none */
    bool apart;  /* it has a session of its own */
    bool stacks; /* SIGQUIT asks us for stacks; set by the caller after signals_init() */
};

/* Blocks all signals except those of faults. Context: one thread. 0 or -errno after report_error(). */
int signals_init(struct signals *signals);
/* Sets the command, which waits at its gate. */
void signals_set_root(struct signals *signals, pid_t root, bool apart);
/*
 * One of our signals has come. FROM_TREE: its sender was started by the command, so the command itself was not meant.
 * True: it asks for stacks, and is not passed on: SIGQUIT, sent to us alone, of which the command would die.
 */
bool signals_pass(struct signals *signals, const struct signalfd_siginfo *info, bool from_tree);
/* After a SIGCHLD: if the command has stopped we stop in the same way, until somebody continues us. */
void signals_stop_with_root(const struct signals *signals);
void signals_release(struct signals *signals);

#endif
