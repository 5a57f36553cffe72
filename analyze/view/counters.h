/* SPDX-License-Identifier: MIT */
/* The counters of a task, one value per event over all its exec generations. */
#ifndef ANALYZE_VIEW_COUNTERS_H
#define ANALYZE_VIEW_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"

struct counter {
    bool present;
    bool estimate;    /* the event did not count all the time (multiplexing): `scaled` is an estimate */
    uint64_t value;   /* the kernel's count; for task-clock plus the CPU time before and after counting */
    uint64_t counted; /* only the kernel's count */
    uint64_t scaled;  /* the estimate for the whole time, with the same additions */
    uint64_t enabled_ns, running_ns;
    uint64_t parts, unseen_ns; /* as in counts/count.h */
};

/* Whether the value has a meaning: the event had a hardware counter at least once. */
static inline bool counters_known(const struct counter *counter)
{
    return counter->present && !(counter->estimate && counter->running_ns == 0);
}

#define COUNTERS_UNKNOWN UINT64_MAX

/* RET has room for one per event of the profile. */
void counters_of_task(const struct profile *profile, const struct profile_task *task, struct counter *ret);
/* Adds FROM, of one task, to the sum TO, event by event. */
void counters_add(const struct profile *profile, struct counter *to, const struct counter *from);
bool counters_is_task_clock(const struct profile_event *event);
/* The CPU time of TASK, or COUNTERS_UNKNOWN. *ret_estimate: there is no counter, so it is the samples' WEIGHT. */
uint64_t counters_cpu(const struct profile *profile, const struct profile_task *task, uint64_t weight,
                      bool *ret_estimate);

#endif
