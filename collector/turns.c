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
    *turns = (struct turns){0};
    if (session->config->turn_count > 1)
        *turns = (struct turns){.period_ns = session->settings->switch_ns,
                                .next_ns = now_ns + session->settings->switch_ns,
                                .start_ns = now_ns,
                                .last_ns = now_ns};
}

int turns_wait(const struct turns *turns, uint64_t now_ns, int wait_ms)
{
    if (!turns->period_ns)
        return wait_ms;
    const uint64_t left_ms = turns->next_ns > now_ns ? (turns->next_ns - now_ns + 999999) / 1000000 : 0;
    return wait_ms >= 0 && (uint64_t)wait_ms < left_ms ? wait_ms : (int)left_ms;
}

uint64_t turns_before(const struct turns *turns, uint64_t until_ns)
{
    return turns->period_ns && turns->next_ns < until_ns ? turns->next_ns : until_ns;
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
    const uint64_t start_ns = turns->period_ns ? monotonic_ns() : 0;
    if (!turns->period_ns || start_ns < turns->next_ns)
        return;
    switch_all(tasks);
    const uint64_t end_ns = monotonic_ns(), least_ns = SHARE * (end_ns - start_ns);
    turns->count++;
    turns->last_ns = start_ns;
    turns->next_ns += ((start_ns - turns->next_ns) / turns->period_ns + 1) * turns->period_ns;
    if (turns->next_ns < start_ns + least_ns)
        turns->next_ns = start_ns + least_ns;
}

uint64_t turns_length_ns(const struct turns *turns)
{
    return turns->count >= COUNTED ? (turns->last_ns - turns->start_ns) / turns->count : 0;
}
