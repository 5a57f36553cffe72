/* SPDX-License-Identifier: MIT */
/*
 * One look, made by a child: its memory goes with it, a crash of it costs that look alone, and whoever waits for it can
 * still be told to stop.
 */
#ifndef ANALYZE_LIVE_SNAPSHOT_H
#define ANALYZE_LIVE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyze/view/top.h"
#include "common/buffer.h"

/* Prints one look to stdout, LOOK on its mind; the exit status. Runs in the child. */
typedef int snapshot_render(void *context, const struct top_look *look);

struct snapshots {
    snapshot_render *render;
    void *context;
    pid_t pid; /* of the child; 0: none */
    int text, errors, future;
    uint64_t started_ns, took_ns; /* of the last one */
    struct buffer past;           /* struct top_head and its records */
};

/* What came out. */
struct snapshot {
    struct buffer text;
    char error[512]; /* its first message where it failed; "" where it did not */
    bool good;
    bool complete; /* the session has ended */
};

/* 0 or -errno. */
int snapshots_init(struct snapshots *snapshots, snapshot_render *render, void *context);
void snapshots_release(struct snapshots *snapshots);
/* Begins a look for a screen of COLUMNS and ROWS (0: none). 0 or -errno. SIGCHLD tells of its end. */
int snapshots_begin(struct snapshots *snapshots, int columns, int rows);
/* True when it has ended: RET is filled; ret->text is kept as it was where there is nothing new. */
bool snapshots_take(struct snapshots *snapshots, struct snapshot *ret);
/* Ends a child that is at work. */
void snapshots_stop(struct snapshots *snapshots);

#endif
