/* SPDX-License-Identifier: MIT */
/*
 * Channels: by which the processes of one user send requests (struct pinject_requests in wire.h). The collector's own
 * user has one from the start, another user gets one when the first process asks the listener for it, or has become
 * that user. Each has slots, doorbells and workers of its own, so that nobody who writes to one reaches the others.
 */
#ifndef COLLECTOR_SERVICE_CHANNEL_H
#define COLLECTOR_SERVICE_CHANNEL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/service/budget.h"
#include "pinject/wire.h"

struct session;
struct worker;

struct channel {
    struct session *session;
    struct pinject_requests *requests; /* hostile memory */
    uid_t user;
    bool own;     /* of the collector's user */
    bool guarded; /* guard_remove() is to be called */
    int fd;
    char path[PINJECT_PATH]; /* "": it has none */
    uint64_t name;           /* the end of it, as the segment tells it; 0: none */
    char mapping[64];        /* how /proc/PID/maps tells it: device and inode */
    struct budget budget;
    struct worker *workers; /* private to worker.c */
    struct worker *left;    /* private to worker.c: threads that did not end in time still use them */
};

#endif
