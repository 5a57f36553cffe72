/* SPDX-License-Identifier: MIT */
/*
 * Which processes a request may name. The content of a slot is the word of anybody who can write to the channel, so the
 * kernel is asked here. Context: any thread.
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
/* Does PID, with ORIGIN, belong to the session: has it events, or does it descend from a process that has? */
bool origin_is_ours(struct session *session, pid_t pid, const struct origin *origin);
/*
 * May CHANNEL name the process PID? It must belong to the channel's user, and to the session. If its ancestors have
 * ended, it belongs to the session if it has the channel in its memory, or if it hides its memory from the collector,
 * whose user it has. The channel of the collector's user may also name a process of another user that has the channel
 * in its memory, or any while nobody else has a channel. 0, -EPERM, or as origin_read(). *RET_ORIGIN is set with 0.
 */
int origin_check(const struct channel *channel, pid_t pid, int pidfd, struct origin *ret_origin);

#endif
