/* SPDX-License-Identifier: MIT */
/* What a request means: the checked copy of a slot, and what is done for it. Context: a worker thread. */
#ifndef COLLECTOR_SERVICE_REQUEST_H
#define COLLECTOR_SERVICE_REQUEST_H

#include <pinject/wire.h>
#include <stdbool.h>

#include "collector/sources/notifications.h"

struct channel;
struct session;

/* Copied out of a slot before anything in it is looked at: its owner may write on. What is in it was checked. */
struct request {
    struct pinject_slot slot; /* but for state and owner; text is as long as its sizes say, then a NUL */
    char end;                 /* a NUL behind the text, whatever the text is */
    bool late;                /* its sender does not wait (any more): it may have executed what it was about to */
};

/* 0, or -EINVAL: it makes no sense. */
int request_copy(const struct session *session, const struct pinject_slot *from, struct request *ret);
/*
 * What the task waits for. Returns the answer, 0 or -errno, and *ret_notification: to be finished; NULL: nothing to
 * report. -EPERM: it is about a task that CHANNEL may not name (origin.h); that is counted.
 */
int request_begin(struct channel *channel, const struct request *request, struct notification **ret_notification);
/* What can be done while the task runs on already; queues NOTIFICATION. */
void request_finish(struct session *session, const struct request *request, struct notification *notification);

#endif
