/* SPDX-License-Identifier: MIT */
/*
 * The preload object's side of the slots: claim, fill, send. pinject/wire.h has the protocol. Context: anywhere, also a
 * vfork child (nothing of the process is written) and a signal handler. errno stays.
 */
#ifndef PINJECT_PRELOAD_REQUEST_H
#define PINJECT_PRELOAD_REQUEST_H

#include "pinject/wire.h"

#include <stdbool.h>

/* Where requests go. What the segment says about it was checked. */
struct pinject_channel {
    const struct pinject_segment *segment; /* read-only memory */
    struct pinject_requests *requests;     /* of this process' user: see hook_user.c */
    uint32_t doorbells_used;
    uint32_t wait_us; /* at most PINJECT_WAIT_MAX_US */
};

struct pinject_claim {
    struct pinject_slot *slot; /* NULL: none was free */
    uint32_t index;
    uint32_t generation;
};

bool pinject_request_covered(const struct pinject_channel *channel, int32_t tid);

/* Clears the slot but for its text. If no slot is free it tries again for 16 ms, then counts `dropped`. */
struct pinject_claim pinject_request_claim(const struct pinject_channel *channel, int32_t tid);

/*
 * For a task that waits for no answer: slots are not freed, so the collector is stalled, and no task waits for a slot
 * until it answers.
 */
void pinject_request_note_stall(const struct pinject_channel *channel);

/*
 * Posts the slot, which the caller gives up. Without PINJECT_REQUEST_NO_REPLY it waits for the answer, at most wait_us.
 * Returns the collector's result, -ETIMEDOUT if none came, -EAGAIN if it did not wait (the collector is stalled, or the
 * task is real-time), -EPROTO if somebody else changed the slot.
 */
int pinject_request_send(const struct pinject_channel *channel, struct pinject_claim claim);

#endif
