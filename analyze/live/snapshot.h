/* SPDX-License-Identifier: MIT */
/*
 * One look, made by a child process: its memory is freed with it, a crash only costs that look, and the parent can
 * still react to the user while it waits.
 */
#ifndef ANALYZE_LIVE_SNAPSHOT_H
#define ANALYZE_LIVE_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyze/view/top.h"
#include "common/buffer.h"

/* Prints the look LOOK to stdout; returns the exit status. Runs in the child. */
typedef int snapshot_render(void *context, const struct top_look *look);

struct snapshots {
    snapshot_render *render;
    void *context;
    pid_t pid; /* of the child; 0: none */
    int text, errors, future;
    uint64_t started_ns, took_ns; /* of the last look */
    struct buffer past;           /* struct top_head and its records */
};

/* The result of a look. */
struct snapshot {
    struct buffer text;
    char error[512]; /* its first message if it failed, else "" */
    bool good;
    bool complete; /* the session has ended */
};

/* 0 or -errno. */
int snapshots_init(struct snapshots *snapshots, snapshot_render *render, void *context);
void snapshots_release(struct snapshots *snapshots);
/* Begins a look for a screen of COLUMNS and ROWS (0: none). 0 or -errno. SIGCHLD reports its end. */
int snapshots_begin(struct snapshots *snapshots, int columns, int rows);
/* True: it has ended, and RET is filled; ret->text stays as it was if the look failed. */
bool snapshots_take(struct snapshots *snapshots, struct snapshot *ret);
/* Kills a running child. */
void snapshots_stop(struct snapshots *snapshots);

#endif
