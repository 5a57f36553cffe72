/* SPDX-License-Identifier: MIT */
/* The counters of a task, one value per event, whatever its exec generations were. */
#ifndef ANALYZE_VIEW_COUNTERS_H
#define ANALYZE_VIEW_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/model/profile.h"

struct counter {
    bool present;
    bool estimate;    /* the event was not always counted (multiplexed): value is scaled */
    uint64_t value;   /* the kernel's count; of task-clock with the CPU time before and after it counted */
    uint64_t counted; /* the kernel's count alone */
    uint64_t scaled;  /* the estimate for the whole time; with the same additions */
    uint64_t enabled_ns, running_ns;
};

/* Whether the value says anything: that of an event that never had a counter of the machine does not. */
static inline bool counters_known(const struct counter *counter)
{
    return counter->present && !(counter->estimate && counter->running_ns == 0);
}

#define COUNTERS_UNKNOWN UINT64_MAX

/* RET: one per event of the profile. */
void counters_of_task(const struct profile *profile, const struct profile_task *task, struct counter *ret);
/* Adds FROM to TO, event by event. */
void counters_add(const struct profile *profile, struct counter *to, const struct counter *from);
bool counters_is_task_clock(const struct profile_event *event);
/* CPU time of TASK, or COUNTERS_UNKNOWN. *ret_estimate: from the samples' weight (WEIGHT), as there is no counter. */
uint64_t counters_cpu(const struct profile *profile, const struct profile_task *task, uint64_t weight,
                      bool *ret_estimate);

#endif
