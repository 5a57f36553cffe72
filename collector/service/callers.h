/* SPDX-License-Identifier: MIT */
/*
 * Peers of the listener, by user: a user who asks all the time waits, and no other user waits with him. Peers are
 * descriptors of accepted connections. Context: the listener's thread.
 */
#ifndef COLLECTOR_SERVICE_CALLERS_H
#define COLLECTOR_SERVICE_CALLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CALLERS_USERS = 33,         /* further users in one second share the last place */
    CALLERS_HELD = 16,          /* of one user; another one replaces the oldest */
    CALLERS_ALL = 32,           /* of all users: result files may need the descriptors */
    CALLERS_LATE_NS = 40000000, /* by then its preload object has given up, or is about to */
};

struct caller {
    uid_t user;
    uint64_t used_ns;     /* CPU time for answers to this user in the current second */
    unsigned first, held; /* a ring of peers */
    struct caller_peer {
        int fd;
        uint64_t since_ns;
    } peers[CALLERS_HELD];
};

struct callers {
    struct caller list[CALLERS_USERS];
    unsigned count;
    unsigned turn;    /* the user whose held peer is next */
    unsigned held;    /* of all */
    uint64_t used_ns; /* CPU time of the listener in the current second */
};

void callers_init(struct callers *callers);
/* Closes all held peers. */
void callers_release(struct callers *callers);
/* Forgets what was used, and users without a held peer. */
void callers_new_second(struct callers *callers);
/* The entry of USER, made if there is none. Valid until callers_new_second(). */
struct caller *callers_find(struct callers *callers, uid_t user);
/* True if ALLOWED_NS of this second are used up, and this user has used more than an equal part of it. */
bool callers_is_dear(const struct callers *callers, const struct caller *caller, uint64_t allowed_ns);
/* Keeps PEER for callers_next(), or closes it if others have all the room. */
void callers_hold(struct callers *callers, struct caller *caller, int peer, uint64_t now_ns);
/* The oldest peer that still waits, of each user in turn; the caller owns it. -1: none. Closes those that came too
 * long ago. */
int callers_next(struct callers *callers, uint64_t now_ns, struct caller **ret);

#endif
