/* SPDX-License-Identifier: MIT */
/* The turns of event sets (--switch-timeout): when they are due, and switching. Context: the event loop. */
#ifndef COLLECTOR_TURNS_H
#define COLLECTOR_TURNS_H

#include <stdint.h>

#include "collector/interval_timer.h"

struct session;
struct tasks;

/* Zeroed: there are none. */
struct turns {
    struct interval_timer timer; /* of their ends */
    uint64_t start_ns;           /* when the first turn began */
    uint64_t count;              /* of turns that are over */
};

void turns_start(struct turns *turns, const struct session *session, uint64_t now_ns);
/* WAIT_MS, or less if a turn ends earlier: for epoll_wait(). */
int turns_wait(const struct turns *turns, uint64_t now_ns, int wait_ms);
/* UNTIL_NS, or the end of the present turn if that is earlier. */
uint64_t turns_before(const struct turns *turns, uint64_t until_ns);
/* If the present turn is over, the next one begins, in all tasks that ran in it. */
void turns_take(struct turns *turns, struct tasks *tasks);
/* How long a turn took in the mean; 0: too few are over to say it. */
uint64_t turns_length_ns(const struct turns *turns);

#endif
