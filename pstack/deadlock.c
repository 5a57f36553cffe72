/* SPDX-License-Identifier: MIT */
#include "deadlock.h"

#include <errno.h>
#include <stdlib.h>

#include "blocked.h"

/* The thread that INDEX waits for; thread_count: none. A call with a time limit ends by itself: it does not count. */
static size_t holder_index(const struct target *target, size_t index)
{
    pid_t holder = target->threads[index].limited ? 0 : target->threads[index].holder;
    struct target_thread *thread = holder ? target_thread_of(target, holder) : NULL;
    return thread ? (size_t)(thread - target->threads) : target->thread_count;
}

static int add_deadlock(const struct target *target, size_t first, struct deadlock **ret, size_t *ret_count)
{
    size_t count = 1, index = first;
    /* All have slept since before the first owner was read, so none can have released a lock. */
    bool still = blocked_still(target, &target->threads[first]);
    while (still && (index = holder_index(target, index)) != first) {
        still = blocked_still(target, &target->threads[index]);
        count++;
    }
    if (!still)
        return 0;
    struct deadlock *list = reallocarray(*ret, *ret_count + 1, sizeof(*list));
    if (!list)
        return -ENOMEM;
    *ret = list;
    size_t *threads = calloc(count, sizeof(*threads));
    if (!threads)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++, index = holder_index(target, index))
        threads[i] = index;
    list[(*ret_count)++] = (struct deadlock){target, threads, count};
    return 0;
}

int deadlock_find(const struct target *target, struct deadlock **ret, size_t *ret_count)
{
    /* The walk, from 1, that visited a thread: a walk that comes back to one of its own threads has found a cycle. */
    size_t *walks = calloc(target->thread_count + 1, sizeof(*walks));
    int error = walks ? 0 : -ENOMEM;
    for (size_t i = 0; i < target->thread_count && !error; i++) {
        size_t at = i;
        for (; at < target->thread_count && !walks[at]; at = holder_index(target, at))
            walks[at] = i + 1;
        if (at < target->thread_count && walks[at] == i + 1)
            error = add_deadlock(target, at, ret, ret_count);
    }
    free(walks);
    return error;
}

void deadlock_release(struct deadlock *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i].threads);
    free(list);
}
