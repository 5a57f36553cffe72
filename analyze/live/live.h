/* SPDX-License-Identifier: MIT */
/* `panalyze top`: one look after the other, on a screen or as text, until the program has ended or the user has seen
 * enough. */
#ifndef ANALYZE_LIVE_LIVE_H
#define ANALYZE_LIVE_LIVE_H

#include <stdbool.h>

#include "analyze/live/snapshot.h"

struct live_options {
    double interval;    /* seconds between two looks; 0: the usual */
    uint64_t snapshots; /* so many looks; 0: until the end */
    int until;          /* the session lives as long as somebody holds the other end; -1: told by its files alone */
};

/*
 * On stdout, with keys from stdin where both are terminals. The exit status; does not come back after a signal that
 * ends programs: it dies of that, once the terminal is as it was.
 */
int live_run(const struct live_options *options, snapshot_render *render, void *context);

#endif
