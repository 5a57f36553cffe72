/* SPDX-License-Identifier: MIT */
/*
 * The socket that hands out the session's files to processes that cannot reach them: of another user, below another
 * /dev/shm, in a chroot. It has a thread of its own, reads nothing from a peer, and waits for none.
 */
#ifndef COLLECTOR_SERVICE_LISTENER_H
#define COLLECTOR_SERVICE_LISTENER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct session;

struct listener {
    struct session *session;
    int socket;       /* -1: none; then such processes are attached late */
    int segment;      /* the segment, for reading */
    int stop;         /* eventfd */
    uint64_t free_ns; /* CPU time a second, for each CPU, without a rest; beyond that answers are 2 ms apart */
    bool running;
    pthread_t thread;
};

/* NULL: no memory. */
struct listener *listener_new(void);
/* After the segment is complete, and before its lock is taken: closing the file would give that up. */
void listener_open(struct listener *listener, struct session *session);
void listener_start(struct listener *listener);
/* Joins. */
void listener_stop(struct listener *listener);
/* After listener_stop(). NULL is accepted. */
void listener_free(struct listener *listener);

#endif
