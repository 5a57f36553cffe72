/* SPDX-License-Identifier: MIT */
/*
 * A process that tells whether a signal was sent to us alone or to our whole process group: it is in that group, blocks
 * everything and does nothing else. The kernel signals the members of a group from the newest to the oldest, so what we
 * have got as a group the witness has got before.
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

/* Context: the signals that it is asked for are blocked, and there is one thread. Without one every signal is taken for ours alone. */
void witness_start(struct witness *witness);
/* Whether the group got this one as well. To be asked for each signal once, as the witness forgets it then. */
bool witness_has(struct witness *witness, const struct signalfd_siginfo *info);
void witness_end(struct witness *witness);

#endif
