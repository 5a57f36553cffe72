/* SPDX-License-Identifier: MIT */
#include "collector/turns.h"

#include "collector/sources/attach.h"
#include "collector/sources/inherited.h"
#include "collector/sources/session.h"
#include "collector/system/monotonic.h"
#include "collector/tasks/tasks.h"

/* Switching takes at most one part in so many of the time: if there are too many tasks for that, turns get longer. */
enum { SHARE = 20 };
enum { COUNTED = 8 }; /* turns: a mean of fewer says nothing */

void turns_start(struct turns *turns, const struct session *session, uint64_t now_ns)
{
    *turns = (struct turns){.start_ns = now_ns};
    if (session->config->turn_count > 1)
        interval_timer_start(&turns->timer, session->settings->switch_ns, now_ns);
}

int turns_wait(const struct turns *turns, uint64_t now_ns, int wait_ms)
{
    return interval_timer_wait(&turns->timer, now_ns, wait_ms);
}

uint64_t turns_before(const struct turns *turns, uint64_t until_ns)
{
    const struct interval_timer *timer = &turns->timer;
    return timer->period_ns && timer->next_ns < until_ns ? timer->next_ns : until_ns;
}

static void switch_all(const struct tasks *tasks)
{
    for (const struct task *task = tasks->live; task; task = task->live_next)
        if (task->events)
            attach_turn(task->events);
    inherited_turn(tasks->session->inherited_sets);
}

void turns_take(struct turns *turns, struct tasks *tasks)
{
    struct interval_timer *timer = &turns->timer;
    uint64_t length_ns, start_ns = timer->period_ns ? monotonic_ns() : 0;
    if (!interval_timer_take(timer, start_ns, &length_ns))
        return;
    switch_all(tasks);
    const uint64_t least_ns = SHARE * (monotonic_ns() - start_ns);
    turns->count++;
    if (timer->next_ns < start_ns + least_ns)
        timer->next_ns = start_ns + least_ns;
}

uint64_t turns_length_ns(const struct turns *turns)
{
    return turns->count >= COUNTED ? (turns->timer.last_ns - turns->start_ns) / turns->count : 0;
}
