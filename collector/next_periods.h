/* SPDX-License-Identifier: MIT */
/*
 * What happens to the periods of a task after its samples were read: random ones are chosen anew (--smpl-periods-random),
 * and a task that has its samples gets no more (--saturate-smpl-buffer). Context: the event loop.
 */
#ifndef COLLECTOR_NEXT_PERIODS_H
#define COLLECTOR_NEXT_PERIODS_H

#include <stdbool.h>
#include <stdint.h>

struct session;
struct settings;
struct task;
struct tasks;

struct next_periods {
    const struct settings *settings;
    bool on;       /* something may happen */
    uint64_t pass; /* number of this pass through the tasks, from 1 */
    unsigned left; /* calls of the kernel that this round may still make */
};

void next_periods_start(struct next_periods *periods, const struct session *session);
/* A round of the event loop begins. */
void next_periods_begin_round(struct next_periods *periods);
/* TASK, which may have ended, was read. */
void next_periods_drained(struct next_periods *periods, struct task *task);
/* All tasks were read. What one sweep has no time for, the next one begins with. */
void next_periods_swept(struct next_periods *periods, const struct tasks *tasks);

#endif
