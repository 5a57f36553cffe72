/* SPDX-License-Identifier: MIT */
#include "collector/next_periods.h"

#include "collector/sources/attach.h"
#include "collector/sources/session.h"
#include "collector/tasks/tasks.h"

/* Each call interrupts the CPU on which the task runs: a round makes no more. */
enum { ROUND_CALLS = 256 };

void next_periods_start(struct next_periods *periods, const struct session *session)
{
    const bool on = session->config->varies || session->settings->saturate;
    *periods = (struct next_periods){.settings = session->settings, .on = on, .pass = 1};
}

void next_periods_begin_round(struct next_periods *periods)
{
    periods->left = ROUND_CALLS;
}

void next_periods_drained(struct next_periods *periods, struct task *task)
{
    if (!periods->on || !periods->left || !task_is_live(task) || !task->events || task->events->timer)
        return;
    const unsigned calls = task_is_saturated(task, periods->settings)
                               ? attach_stop_sampling(task->events)
                               : attach_renew_periods(task->events, periods->left);
    periods->left -= calls < periods->left ? calls : periods->left;
}

void next_periods_swept(struct next_periods *periods, const struct tasks *tasks)
{
    for (struct task *task = tasks->live; periods->on && task && periods->left; task = task->live_next) {
        if (!task->events || task->events->period_pass == periods->pass)
            continue;
        task->events->period_pass = periods->pass;
        next_periods_drained(periods, task);
    }
    periods->pass += periods->left > 0; /* each task had its turn */
}
