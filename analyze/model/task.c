/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "analyze/model/loader.h"

/* Of one task. Beyond what any recorder writes; searching them is linear, and files may lie. */
#define MOST_READINGS 4096 /* events times CPUs */
#define MOST_IMAGES 4096
#define MOST_COUNTS 16384

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
    free(task->images);
    free(task->counts);
    free(task->readings);
    free(task);
}

struct task_image *task_image_at(struct task *task, uint32_t number)
{
    uint32_t at = task->image_count;
    while (at > 0 && task->images[at - 1].number >= number)
        if (task->images[--at].number == number)
            return &task->images[at];
    if (task->image_count >= MOST_IMAGES)
        return &task->images[task->image_count - 1];
    if (arena_room(&task->images, &task->image_capacity, task->image_count, sizeof(*task->images)) < 0)
        return NULL;
    memmove(task->images + at + 1, task->images + at, (task->image_count - at) * sizeof(*task->images));
    task->images[at] = (struct task_image){.number = number, .shown = {.comm = "", .exec = ""}};
    task->image_count++;
    return &task->images[at];
}

int task_add_count(struct task *task, const struct profile_count *count)
{
    /* The files of one task (--exec-split-results) may each tell of the whole task: the latest knows the most. */
    for (uint32_t i = 0; i < task->count_count; i++) {
        struct profile_count *known = &task->counts[i];
        if (known->event != count->event || known->image != count->image)
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

int task_add_reading(struct task *task, const struct task_reading *reading)
{
    for (uint32_t i = 0; i < task->reading_count; i++) {
        if (task->readings[i].event == reading->event && task->readings[i].id == reading->id) {
            task->readings[i] = *reading;
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

static struct profile_count *find_count(struct task *task, uint32_t event, uint32_t image)
{
    for (uint32_t i = 0; i < task->count_count; i++)
        if (task->counts[i].event == event && task->counts[i].image == image)
            return &task->counts[i];
    if (arena_room(&task->counts, &task->count_capacity, task->count_count, sizeof(*task->counts)) < 0)
        return NULL;
    task->counts[task->count_count] = (struct profile_count){.event = event, .image = image};
    return &task->counts[task->count_count++];
}

/*
 * The readings of an event on several CPUs are one count. Such events run less than they are enabled, because their
 * task was on another CPU: the time running is all the time there was.
 */
int task_take_readings(struct task *task, uint32_t image)
{
    for (uint32_t i = 0; i < task->reading_count; i++) {
        const struct task_reading *reading = &task->readings[i];
        struct profile_count *count = find_count(task, reading->event, image);
        if (!count)
            return -ENOMEM;
        count->value += reading->value;
        count->running_ns += reading->running_ns;
        count->enabled_ns = count->running_ns;
    }
    task->reading_count = 0;
    return 0;
}
