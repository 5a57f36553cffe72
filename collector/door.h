/* SPDX-License-Identifier: MIT */
/*
 * The door threads of a channel: one per bell, pinned to the bell's CPU, so that the task that waits and the thread
 * that answers it do not meet over two caches. They take requests out of the slots, open events, answer, queue an
 * arrival.
 */
#ifndef COLLECTOR_DOOR_H
#define COLLECTOR_DOOR_H

#include <stdbool.h>
#include <stdint.h>

struct channel;
struct session;

/* Fills bells_used and bell_of_cpu of the segment, and session->bells. Before anybody else sees it. */
void door_assign_bells(struct session *session);
/*
 * 0 or -errno; then no thread runs. Nobody else has the channel yet. Context: any thread, another channel's door too.
 */
int door_start_all(struct channel *channel);
/* Until each has run once, or for 0.5 s. Context: door_stop_all() is not called meanwhile. */
void door_await_all(struct channel *channel);
/*
 * Whether doors can go before the programs of another session: they may have a real-time priority, or the scheduler
 * does not make a group of each session (autogroups). Else an answer to a program in a session of its own takes up to
 * milliseconds. Context: a thread with the usual policy.
 */
bool door_reaches_other_sessions(void);
/*
 * For a thread that works for microseconds while a task waits: it is to run soon after it is woken. What the kernel
 * refuses is left as it is. Threads that it makes have that too, and may ask again. Not for the process' first thread.
 */
void door_ask_for_quick_wakes(void);
/*
 * Serves the news that lie in the bells without a ring (ended children): their arrivals are queued when it
 * returns. Context: the event loop, beside the doors; waits for none of them.
 */
void door_take_news(struct channel *channel);
/*
 * Asks each door to hand over to a fresh thread, so that libc gives up what it caches for the old one. They do it when
 * they have served what is posted; nobody waits for it.
 */
void door_renew_all(struct channel *channel);
/* They end when they have served what is posted; nobody waits for it. */
void door_ask_to_stop(struct channel *channel);
/*
 * Serves what was rung for before the call, answers -ECANCELED to the rest, joins. The segment says closed by then.
 * Whoever does not end until END_NS (CLOCK_MONOTONIC) is left, with all that it uses: session->hangs, channel->left.
 */
void door_stop_all(struct channel *channel, uint64_t end_ns);

#endif
