/* SPDX-License-Identifier: MIT */
/*
 * Rounds of pinject-run --print-interval: READ records with what a task counted since the ones before. The last ones in
 * a file have the time of its end, and are no round.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/loader.h"
#include "common/bound.h"

/* Per task and in all, above a day of the shortest intervals: files are not trusted. */
enum { MOST_ROUNDS = 1 << 24 };

/* The files of all tasks have the same times: nearly all are known. */
static int add_time(struct loader *loader, uint64_t time_ns)
{
    uint32_t at = (uint32_t)LOWER_BOUND(loader->round_times, loader->round_time_count, , time_ns);
    if ((at < loader->round_time_count && loader->round_times[at] == time_ns) ||
        loader->round_time_count >= MOST_ROUNDS)
        return 0;
    if (arena_room(&loader->round_times, &loader->round_time_capacity, loader->round_time_count, sizeof(time_ns)) < 0)
        return -ENOMEM;
    memmove(loader->round_times + at + 1, loader->round_times + at,
            (loader->round_time_count - at) * sizeof(*loader->round_times));
    loader->round_times[at] = time_ns;
    loader->round_time_count++;
    return 0;
}

int rounds_take(struct loader *loader, struct task *task, uint64_t time_ns, const struct task_reading *reading)
{
    if (!loader->rounds_wanted || time_ns == 0 || time_ns == task->shown.end_ns || task->round_count >= MOST_ROUNDS)
        return 0;
    const struct profile_round_count count = {.time_ns = time_ns,
                                              .event = reading->event,
                                              .value = reading->value,
                                              .enabled_ns = reading->enabled_ns,
                                              .running_ns = reading->running_ns};
    if (arena_room(&task->rounds, &task->round_capacity, task->round_count, sizeof(count)) < 0)
        return -ENOMEM;
    task->rounds[task->round_count++] = count;
    return add_time(loader, time_ns);
}
