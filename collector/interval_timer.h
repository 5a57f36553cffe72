/* SPDX-License-Identifier: MIT */
/* When the rounds of --print-interval are due. No state outside; the event loop asks. */
#ifndef COLLECTOR_INTERVAL_TIMER_H
#define COLLECTOR_INTERVAL_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: never. */
struct interval_timer {
    uint64_t period_ns, next_ns;
    uint64_t last_ns; /* of the last round */
};

/* PERIOD_NS 0: never. */
void interval_timer_start(struct interval_timer *timer, uint64_t period_ns, uint64_t now_ns);
/* WAIT_MS, or less if a round is due earlier: for epoll_wait(). */
int interval_timer_wait(const struct interval_timer *timer, uint64_t now_ns, int wait_ms);
/*
 * Is a round due? Then the next one is set: rounds that are in the past are left out, and the times of the others stay
 * multiples of the period. *RET_LENGTH_NS: time since the last round.
 */
bool interval_timer_take(struct interval_timer *timer, uint64_t now_ns, uint64_t *ret_length_ns);

#endif
