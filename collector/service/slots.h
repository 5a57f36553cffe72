/* SPDX-License-Identifier: MIT */
/*
 * The slots of a channel, from the collector's side: requests are taken out of them, answered, and what a dead owner
 * left is freed. Every word in them may be written by any program of the
 * channel's user at any time.
 */
#ifndef COLLECTOR_SERVICE_SLOTS_H
#define COLLECTOR_SERVICE_SLOTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pinject/wire.h"

struct channel;
struct session;

/* Nothing in that memory can be trusted to be ours: locks and what was seen are kept here. */
struct slots {
    struct session *session;
    struct channel *channel;
    pthread_mutex_t locks[PINJECT_SLOTS]; /* held while a slot is served: only one thread frees it */
    /* At the last sweep, by the thread that sweeps. */
    uint32_t seen[PINJECT_SLOTS];         /* states */
    uint8_t still[PINJECT_SLOTS];         /* sweeps that found the same one */
    uint32_t hint;                        /* of the channel */
    bool idle;                            /* all were free */
};

void slots_init(struct slots *slots, struct channel *channel);
void slots_destroy(struct slots *slots);
/* Serves what is posted in slot NUMBER; waits for who serves it already. False: nothing was, or nothing came of it. */
bool slots_serve(struct slots *slots, unsigned number);
/*
 * The same if it is a notification that nobody waits for (an ended child), and BIT in *PENDING says so; waits for
 * nobody. False: nothing came of it, or somebody else is at it.
 */
bool slots_serve_notification(struct slots *slots, unsigned number, uint64_t *pending, uint64_t bit);
/*
 * What no doorbell tells: frees what a dead owner left, serves what was posted without a doorbell; what has moved since
 * the last sweep is left alone. Context: one thread alone.
 */
void slots_sweep(struct slots *slots);
/* The session is over: whoever has posted does not have to wait until its patience ends. */
void slots_refuse(struct channel *channel);

#endif
