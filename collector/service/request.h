/* SPDX-License-Identifier: MIT */
/* What a request means: the checked copy of a slot, and what is done for it. Context: a worker thread. */
#ifndef COLLECTOR_SERVICE_REQUEST_H
#define COLLECTOR_SERVICE_REQUEST_H

#include <pinject/wire.h>
#include <stdbool.h>

#include "collector/sources/notifications.h"

struct channel;
struct session;

/* Copied out of a slot before anything in it is looked at: its owner may go on writing. The copy was checked. */
struct request {
    struct pinject_slot slot; /* without state and owner; text is as long as its sizes say, then a NUL */
    char end;                 /* a NUL after the text, whatever the text is */
    bool late;                /* its sender does not wait (any more): it may have executed its next program already */
};

/* 0, or -EINVAL: the request is invalid. */
int request_copy(const struct session *session, const struct pinject_slot *from, struct request *ret);
/*
 * Is that a message for which nothing is opened, and the kernel is asked nothing? What is checked about it is checked
 * when it is used. Context: any thread; KIND and FLAGS may be anything.
 */
bool request_only_tells(const struct channel *channel, uint32_t kind, uint32_t flags);
/*
 * Does what the task waits for. Returns the answer (0, a ring's number + 1, or -errno), and *ret_notification: to be
 * finished; NULL: nothing to report. -EPERM: the request is about a task that CHANNEL may not name (origin.h); that is
 * counted.
 */
int request_begin(struct channel *channel, const struct request *request, struct notification **ret_notification);
/* Does what can be done while the task runs on already; queues NOTIFICATION. */
void request_finish(struct session *session, const struct request *request, struct notification *notification);

#endif
