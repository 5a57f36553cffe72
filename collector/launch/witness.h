/* SPDX-License-Identifier: MIT */
/*
 * A process that tells whether a signal was sent to us alone or to our whole process group: it is in that group, blocks
 * all signals and does nothing else. The kernel signals the members of a group from the newest to the oldest, so when
 * we have got a group's signal the witness has got it already.
 */
#ifndef COLLECTOR_LAUNCH_WITNESS_H
#define COLLECTOR_LAUNCH_WITNESS_H

#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

struct witness_page;

struct witness {
    pid_t pid; /* 0: none */
    struct witness_page *page;
};

/*
 * Context: the signals that it is asked for are blocked, and there is one thread. Without a witness every signal counts
 * as sent to us alone.
 */
void witness_start(struct witness *witness);
/* Did the group get this signal too? Ask once for each signal, as the witness forgets it then. */
bool witness_has(struct witness *witness, const struct signalfd_siginfo *info);
void witness_end(struct witness *witness);

#endif
