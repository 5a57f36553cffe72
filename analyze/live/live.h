/* SPDX-License-Identifier: MIT */
/* `panalyze top`: repeated looks, on a screen or as text, until the program ends or the user quits. */
#ifndef ANALYZE_LIVE_LIVE_H
#define ANALYZE_LIVE_LIVE_H

#include <stdbool.h>

#include "analyze/live/snapshot.h"

struct live_options {
    double interval;    /* seconds between two looks; 0: the default */
    uint64_t snapshots; /* number of looks; 0: until the end */
    int until;          /* the session runs as long as the other end of this pipe is open; -1: only its files tell */
};

/*
 * Shows looks on stdout, with keys from stdin if both are terminals. Returns the exit status. After a signal that ends
 * programs it does not return: it restores the terminal and dies of that signal.
 */
int live_run(const struct live_options *options, snapshot_render *render, void *context);

#endif
