/* SPDX-License-Identifier: MIT */
/*
 * The slots of a channel, from the collector's side: takes requests out of them, answers them, and frees what a dead
 * owner left. Any program of the channel's user may write any word in them at any time.
 */
#ifndef COLLECTOR_SERVICE_SLOTS_H
#define COLLECTOR_SERVICE_SLOTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "pinject/wire.h"

struct channel;
struct session;

/* Nothing in that memory can be trusted to be ours: locks and observations are kept here. */
struct slots {
    struct session *session;
    struct channel *channel;
    pthread_mutex_t locks[PINJECT_SLOTS]; /* held while a slot is served: only one thread frees it */
    /* From the last sweep; for the thread that sweeps. */
    uint32_t seen[PINJECT_SLOTS]; /* states */
    uint8_t still[PINJECT_SLOTS]; /* sweeps that found the same state */
    uint32_t hint;                /* of the channel */
    bool idle;                    /* all were free */
};

void slots_init(struct slots *slots, struct channel *channel);
void slots_destroy(struct slots *slots);
/*
 * Serves what is posted in slot NUMBER; waits for a thread that serves it already. False: nothing was posted, or
 * nothing came of it.
 */
bool slots_serve(struct slots *slots, unsigned number);
/*
 * The same if it is a message for which the kernel is asked nothing (request_only_tells()), and BIT in *PENDING says so;
 * does not wait. False: nothing came of it, or another thread serves it.
 */
bool slots_serve_notification(struct slots *slots, unsigned number, uint64_t *pending, uint64_t bit);
/*
 * What no doorbell reports: frees what a dead owner left, serves what was posted without a doorbell. What has changed
 * since the last sweep is left alone. Context: one thread alone.
 */
void slots_sweep(struct slots *slots);
/* The session is over: answers what is posted, so that no task has to wait until its timeout. */
void slots_refuse(struct channel *channel);

#endif
