/* SPDX-License-Identifier: MIT */
/*
 * Who asks the listener, by user: a user who asks all the time waits, and nobody else with him. Peers are descriptors
 * of accepted connections. Context: the listener's thread.
 */
#ifndef COLLECTOR_CALLERS_H
#define COLLECTOR_CALLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    CALLERS_USERS = 33, /* further users in one second share the last place */
    CALLERS_HELD = 24,  /* of one user; served 2 ms apart, the last one just before its object gives up */
};

struct caller {
    uid_t user;
    uint64_t used_ns;     /* CPU time for answers to this user in the current second */
    unsigned first, held; /* a ring of peers */
    int peers[CALLERS_HELD];
};

struct callers {
    struct caller list[CALLERS_USERS];
    unsigned count;
    unsigned turn;    /* whose held peer is next */
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
/* Keeps PEER for callers_next(). False: no room, and PEER stays the caller's. */
bool callers_hold(struct caller *caller, int peer);
/* The peer that has waited longest, of one user after the other; now the caller's. -1: none is held. */
int callers_next(struct callers *callers, struct caller **ret);

#endif
