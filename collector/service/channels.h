/* SPDX-License-Identifier: MIT */
/*
 * Channels: the processes of one user send their requests through one (struct pinject_requests in wire.h). The
 * collector's own user has one from the start. Another user gets one when a process of his first asks the listener, or
 * when root is about to become that user. Each has its own slots, doorbells and workers, so that somebody who writes to
 * one does not reach the others.
 */
#ifndef COLLECTOR_SERVICE_CHANNELS_H
#define COLLECTOR_SERVICE_CHANNELS_H

#include "collector/service/channel.h"

/* Users in one session; processes of further users are attached late. */
enum {
    CHANNELS_MAX = PINJECT_USERS,
    CHANNELS_ASKED = 24, /* beyond that none is made on request: the rest is for users that have come */
};

struct channels {
    struct channel *list[CHANNELS_MAX];
    uint32_t count; /* atomic: those before it are complete, and stay until channels_free() */
    pthread_mutex_t lock;
    bool workers_run;  /* new ones get workers at once */
    bool closed;       /* the session ends: there are no new ones */
    uint64_t again_ns; /* CLOCK_MONOTONIC: channels_prepare() makes none before, as it could not */
};

enum channel_count {
    CHANNEL_UNANSWERED,
    CHANNEL_DROPPED,
    CHANNEL_FOREIGN,
    CHANNEL_BLOCKED,
};

/* NULL: no memory. */
struct channels *channels_new(void);
/* Workers must have been stopped. NULL is accepted. */
void channels_free(struct channels *channels);
/* Their files alone. */
void channels_unlink(const struct channels *channels);
/*
 * The channel of USER, made if there is none; session->path must be set. Thread-safe; its workers may not have run yet.
 * Returns NULL, and *RET_ERROR is a -errno, when it cannot be made.
 */
struct channel *channels_get(struct session *session, uid_t user, int *ret_error);
/* Makes the channel of a USER who has no process yet: 0 or -errno. After a failure none is made for a second. */
int channels_prepare(struct session *session, uid_t user);
/* Starts the workers of all channels: 0 or -errno after report_error(). */
int channels_start_workers(struct session *session);
/* Ends the workers of all channels, within session->stop_s. No channel is made after that. */
void channels_stop_workers(struct session *session);
void channels_renew_workers(struct session *session);
/* See worker_take_notifications(). */
void channels_take_notifications(struct session *session);
/* Is a request posted that no worker has taken? */
bool channels_have_requests(const struct session *session);
/* How often a channel's budget was used up. */
uint64_t channels_held(const struct session *session);
/*
 * A count that the preload objects of channel NUMBER made. RET_WORD: ""; for another user than the collector's, a word
 * that says whose figure it is, since each process of a user can write any figure there. False: there are no more
 * channels.
 */
bool channels_counted(const struct session *session, uint32_t number, enum channel_count which, uint64_t *ret_count,
                      char *ret_word, size_t size);

#endif
