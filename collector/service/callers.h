/* SPDX-License-Identifier: MIT */
/*
 * Who asks the listener, by user: a user who asks all the time waits, and nobody else with him. Peers are descriptors
 * of accepted connections. Context: the listener's thread.
 */
#ifndef COLLECTOR_SERVICE_CALLERS_H
#define COLLECTOR_SERVICE_CALLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CALLERS_USERS = 33, /* further users in one second share the last place */
    CALLERS_HELD = 16,  /* of one user; a further one takes the place of the oldest */
    CALLERS_ALL = 32,   /* of all users: descriptors that results may need */
    CALLERS_LATE_NS = 40000000, /* then its preload object has given up, or is about to */
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
    unsigned turn;    /* whose held peer is next */
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
/* ALLOWED_NS a second are used up, and this user had more than an equal part of it. */
bool callers_is_dear(const struct callers *callers, const struct caller *caller, uint64_t allowed_ns);
/* Keeps PEER for callers_next(), or closes it where others have all the room. */
void callers_hold(struct callers *callers, struct caller *caller, int peer, uint64_t now_ns);
/* The oldest peer that still waits, of one user after the other; now the caller's. -1: none. Closes those that came too
 * long ago. */
int callers_next(struct callers *callers, uint64_t now_ns, struct caller **ret);

#endif
