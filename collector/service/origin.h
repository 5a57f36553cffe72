/* SPDX-License-Identifier: MIT */
/*
 * Whom a request may name. What stands in a slot is the word of anybody who can write to the channel; here the kernel
 * is asked. Context: any thread.
 */
#ifndef COLLECTOR_SERVICE_ORIGIN_H
#define COLLECTOR_SERVICE_ORIGIN_H

#include <stdbool.h>
#include <sys/types.h>

struct channel;
struct session;

/* What the kernel says of a process. */
struct origin {
    pid_t ppid;
    uid_t users[3]; /* real, effective, saved */
};

/* PIDFD: of PID, or -1. 0; -ESRCH: it is gone; -EMFILE, -ENFILE, -ENOMEM: we cannot look. */
int origin_read(pid_t pid, int pidfd, struct origin *ret);
/* Is PID, of which ORIGIN tells, the session's: a process with events, or one that comes from such a one? */
bool origin_is_ours(struct session *session, pid_t pid, const struct origin *origin);
/*
 * May CHANNEL name the process PID? It must be the session's, or, when those it comes from have ended, have the channel
 * in its memory, or hide its memory from the collector, whose user it has; and one of the channel's user. Through the
 * channel of the collector's user also one of another user that has the channel in its memory, or any while nobody else
 * has a channel. 0, -EPERM, or as origin_read(). *RET_ORIGIN is set with 0.
 */
int origin_check(const struct channel *channel, pid_t pid, int pidfd, struct origin *ret_origin);

#endif
