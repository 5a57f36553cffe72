/* SPDX-License-Identifier: MIT */
#include "collector/interval_timer.h"

#include <stddef.h>

void interval_timer_start(struct interval_timer *timer, uint64_t period_ns, uint64_t now_ns)
{
    *timer = (struct interval_timer){.period_ns = period_ns, .next_ns = now_ns + period_ns, .last_ns = now_ns};
}

int interval_timer_wait(const struct interval_timer *timer, uint64_t now_ns, int wait_ms)
{
    if (!timer->period_ns)
        return wait_ms;
    const uint64_t left_ms = timer->next_ns > now_ns ? (timer->next_ns - now_ns + 999999) / 1000000 : 0;
    return wait_ms >= 0 && (uint64_t)wait_ms < left_ms ? wait_ms : (int)left_ms;
}

bool interval_timer_take(struct interval_timer *timer, uint64_t now_ns, uint64_t *ret_length_ns)
{
    if (!timer->period_ns || now_ns < timer->next_ns)
        return false;
    *ret_length_ns = now_ns - timer->last_ns;
    timer->last_ns = now_ns;
    timer->next_ns += ((now_ns - timer->next_ns) / timer->period_ns + 1) * timer->period_ns;
    return true;
}
