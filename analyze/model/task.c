/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "analyze/model/loader.h"

/* Limits per task, above what any recorder writes: the searches are linear, and files are not trusted. */
#define MOST_READINGS    4096 /* events times CPUs */
#define MOST_GENERATIONS 4096
#define MOST_COUNTS      16384

struct task *task_new(struct loader *loader, uint32_t *ret_index)
{
    struct task *task = calloc(1, sizeof(*task));
    if (!task || arena_room(&loader->tasks, &loader->task_capacity, loader->task_count, sizeof(task)) < 0) {
        free(task);
        return NULL;
    }
    task->shown.ppid = -1;
    task->shown.exit = -1;
    task->shown.comm = task->shown.exec = "";
    *ret_index = loader->task_count;
    loader->tasks[loader->task_count++] = task;
    return task;
}

void task_free(struct task *task)
{
    if (!task)
        return;
    free(task->generations);
    free(task->counts);
    free(task->readings);
    free(task->rounds);
    free(task);
}

struct task_generation *task_generation_at(struct task *task, uint32_t number)
{
    uint32_t at = task->generation_count;
    while (at > 0 && task->generations[at - 1].number >= number)
        if (task->generations[--at].number == number)
            return &task->generations[at];
    if (task->generation_count >= MOST_GENERATIONS)
        return &task->generations[task->generation_count - 1];
    if (arena_room(&task->generations, &task->generation_capacity, task->generation_count, sizeof(*task->generations)) <
        0)
        return NULL;
    memmove(task->generations + at + 1, task->generations + at,
            (task->generation_count - at) * sizeof(*task->generations));
    task->generations[at] = (struct task_generation){.number = number, .shown = {.comm = "", .exec = ""}};
    task->generation_count++;
    return &task->generations[at];
}

int task_add_count(struct task *task, const struct profile_count *count)
{
    /* Each file of a task (--exec-split-results) may have a count of the whole task: the largest is the latest. */
    for (uint32_t i = 0; i < task->count_count; i++) {
        struct profile_count *known = &task->counts[i];
        if (known->event != count->event || known->generation != count->generation)
            continue;
        if (count->value >= known->value)
            *known = *count;
        return 0;
    }
    if (task->count_count >= MOST_COUNTS)
        return 0;
    if (arena_room(&task->counts, &task->count_capacity, task->count_count, sizeof(*count)) < 0)
        return -ENOMEM;
    task->counts[task->count_count++] = *count;
    return 0;
}

static void join_reading(struct task_reading *to, const struct task_reading *from, bool add)
{
    const struct task_reading before = *to;
    *to = *from;
    if (!add)
        return;
    to->value += before.value;
    to->enabled_ns += before.enabled_ns;
    to->running_ns += before.running_ns;
}

int task_add_reading(struct task *task, const struct task_reading *reading, bool add)
{
    for (uint32_t i = 0; i < task->reading_count; i++) {
        if (task->readings[i].event == reading->event && task->readings[i].id == reading->id) {
            join_reading(&task->readings[i], reading, add);
            return 0;
        }
    }
    if (task->reading_count >= MOST_READINGS)
        return 0;
    if (arena_room(&task->readings, &task->reading_capacity, task->reading_count, sizeof(*reading)) < 0)
        return -ENOMEM;
    task->readings[task->reading_count++] = *reading;
    return 0;
}

static struct profile_count *find_count(struct task *task, uint32_t event, uint32_t generation)
{
    for (uint32_t i = 0; i < task->count_count; i++)
        if (task->counts[i].event == event && task->counts[i].generation == generation)
            return &task->counts[i];
    if (arena_room(&task->counts, &task->count_capacity, task->count_count, sizeof(*task->counts)) < 0)
        return NULL;
    task->counts[task->count_count] = (struct profile_count){.event = event, .generation = generation};
    return &task->counts[task->count_count++];
}

/*
 * Adds the readings of an event on several CPUs to one count. Each of them runs less than it is enabled, because its
 * task is on other CPUs meanwhile: the sum of the running times is the whole time. Those of perf stat record are on all
 * CPUs, or of each one alone: the difference is multiplexing.
 */
int task_take_readings(struct task *task, uint32_t generation)
{
    for (uint32_t i = 0; i < task->reading_count; i++) {
        const struct task_reading *reading = &task->readings[i];
        struct profile_count *count = find_count(task, reading->event, generation);
        if (!count)
            return -ENOMEM;
        count->value += reading->value;
        count->running_ns += reading->running_ns;
        count->enabled_ns += reading->multiplexed ? reading->enabled_ns : reading->running_ns;
    }
    task->reading_count = 0;
    return 0;
}
