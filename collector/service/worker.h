/* SPDX-License-Identifier: MIT */
/*
 * The worker threads of a channel: one per doorbell, pinned to the doorbell's CPU, so that the cache lines of a task
 * that waits and of the thread that answers it stay on one CPU. They take requests out of the slots, open events,
 * answer, and queue a notification.
 */
#ifndef COLLECTOR_SERVICE_WORKER_H
#define COLLECTOR_SERVICE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct channel;
struct session;

/* Fills doorbells_used and doorbell_of_cpu of the segment, and session->doorbells. Before any other process sees it. */
void worker_assign_doorbells(struct session *session);
/*
 * 0 or -errno; then no thread runs. The channel is not published yet. Context: any thread, another channel's worker
 * too.
 */
int worker_start_all(struct channel *channel);
/* Waits until each has run once, or for 0.5 s. Context: worker_stop_all() is not called meanwhile. */
void worker_await_all(struct channel *channel);
/*
 * Serves posted messages that wake no worker (request_only_tells()); their notifications are queued on return. Context:
 * the event loop, beside the workers; waits for none of them.
 */
void worker_take_notifications(struct channel *channel);
/*
 * Asks each worker to hand over to a fresh thread, so that libc frees what it caches for the old one. They do so when
 * they have served what is posted; this does not wait.
 */
void worker_renew_all(struct channel *channel);
/* They end when they have served what is posted; this does not wait. */
void worker_ask_to_stop(struct channel *channel);
/*
 * Serves what was rung for before the call, answers -ECANCELED to the rest, joins. The segment says closed by then.
 * Workers that do not end until END_NS (CLOCK_MONOTONIC) are left, with all that they use: session->hangs,
 * channel->left.
 */
void worker_stop_all(struct channel *channel, uint64_t end_ns);

#endif
