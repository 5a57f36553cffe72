/* SPDX-License-Identifier: MIT */
/*
 * The worker threads of a channel: one per doorbell, pinned to the doorbell's CPU, so that the task that waits and the
 * thread that answers it do not meet over two caches. They take requests out of the slots, open events, answer, queue a
 * notification.
 */
#ifndef COLLECTOR_SERVICE_WORKER_H
#define COLLECTOR_SERVICE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

struct channel;
struct session;

/* Fills doorbells_used and doorbell_of_cpu of the segment, and session->doorbells. Before anybody else sees it. */
void worker_assign_doorbells(struct session *session);
/*
 * 0 or -errno; then no thread runs. Nobody else has the channel yet. Context: any thread, another channel's worker too.
 */
int worker_start_all(struct channel *channel);
/* Until each has run once, or for 0.5 s. Context: worker_stop_all() is not called meanwhile. */
void worker_await_all(struct channel *channel);
/*
 * Whether workers can go before the programs of another session: they may have a real-time priority, or the scheduler
 * does not make a group of each session (autogroups). Else an answer to a program in a session of its own takes up to
 * milliseconds. Context: a thread with the usual policy.
 */
bool worker_outruns_other_sessions(void);
/*
 * For a thread that works for microseconds while a task waits: it is to run soon after it is woken. What the kernel
 * refuses is left as it is. Threads that it makes have that too, and may ask again. Not for the process' first thread.
 */
void worker_ask_for_quick_wakes(void);
/*
 * Serves requests that wake nobody (ended children): their notifications are queued when it returns. Context: the event
 * loop, beside the workers; waits for none of them.
 */
void worker_take_notifications(struct channel *channel);
/*
 * Asks each worker to hand over to a fresh thread, so that libc gives up what it caches for the old one. They do it
 * when they have served what is posted; nobody waits for it.
 */
void worker_renew_all(struct channel *channel);
/* They end when they have served what is posted; nobody waits for it. */
void worker_ask_to_stop(struct channel *channel);
/*
 * Serves what was rung for before the call, answers -ECANCELED to the rest, joins. The segment says closed by then.
 * Whoever does not end until END_NS (CLOCK_MONOTONIC) is left, with all that it uses: session->hangs, channel->left.
 */
void worker_stop_all(struct channel *channel, uint64_t end_ns);

#endif
