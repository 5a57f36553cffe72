/* SPDX-License-Identifier: MIT */
#include "collector/arrivals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

int arrivals_init(struct arrivals *arrivals)
{
    *arrivals = (struct arrivals){0};
    arrivals->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return arrivals->eventfd < 0 ? -errno : 0;
}

void arrivals_release(struct arrivals *arrivals)
{
    for (struct arrival *arrival = arrivals->head, *next; arrival; arrival = next) {
        next = arrival->next;
        attach_free(arrival->events);
        arrival->events = NULL;
        arrival_free(arrival);
    }
    arrivals->head = NULL;
    if (arrivals->eventfd >= 0)
        close(arrivals->eventfd);
    arrivals->eventfd = -1;
}

uint64_t arrival_text(const struct arrival *arrival)
{
    uint64_t size = arrival->cmdline_size;
    size += arrival->maps ? strlen(arrival->maps) : 0;
    return size + (arrival->exec ? strlen(arrival->exec) : 0);
}

static void drop_texts(struct arrival *arrival)
{
    free(arrival->maps);
    free(arrival->cmdline);
    arrival->maps = arrival->cmdline = NULL;
    arrival->cmdline_size = 0;
}

static void tally(struct arrivals *arrivals, const struct arrival *arrival, uint64_t bytes, bool in)
{
    const uint32_t one = in ? 1 : UINT32_MAX;
    bytes = in ? bytes : -bytes;
    __atomic_fetch_add(&arrivals->count, one, __ATOMIC_RELAXED);
    __atomic_fetch_add(&arrivals->bytes, bytes, __ATOMIC_RELAXED);
    if (!arrival->limited)
        return;
    __atomic_fetch_add(&arrivals->others, one, __ATOMIC_RELAXED);
    __atomic_fetch_add(&arrivals->others_bytes, bytes, __ATOMIC_RELAXED);
}

/* With it counted in. */
static bool is_full(const struct arrivals *arrivals, const struct arrival *arrival, bool texts_alone)
{
    if (__atomic_load_n(&arrivals->bytes, __ATOMIC_RELAXED) > ARRIVALS_BYTES ||
        (arrival->limited && __atomic_load_n(&arrivals->others_bytes, __ATOMIC_RELAXED) > ARRIVALS_BYTES / 2))
        return true;
    return !texts_alone &&
           (__atomic_load_n(&arrivals->count, __ATOMIC_RELAXED) > ARRIVALS_MAX ||
            (arrival->limited && __atomic_load_n(&arrivals->others, __ATOMIC_RELAXED) > ARRIVALS_MAX / 2));
}

/* Counts ARRIVAL in. False: there is no room for it. */
static bool find_room(struct arrivals *arrivals, struct arrival *arrival)
{
    const bool task = arrival->events;
    if (!task && arrival->pidfd >= 0) { /* descriptors are for those who have events */
        close(arrival->pidfd);
        arrival->pidfd = -1;
    }
    uint64_t size = arrival_text(arrival);
    tally(arrivals, arrival, size, true);
    if (!is_full(arrivals, arrival, task))
        return true;
    tally(arrivals, arrival, size, false);
    __atomic_fetch_add(task ? &arrivals->cut : &arrivals->refused, 1, __ATOMIC_RELAXED);
    if (!task)
        return false;
    drop_texts(arrival);
    tally(arrivals, arrival, arrival_text(arrival), true);
    return true;
}

void arrivals_put(struct arrivals *arrivals, struct arrival *arrival)
{
    if (!find_room(arrivals, arrival)) {
        arrival_free(arrival);
        return;
    }
    struct arrival *head = __atomic_load_n(&arrivals->head, __ATOMIC_RELAXED);
    do
        arrival->next = head;
    while (!__atomic_compare_exchange_n(&arrivals->head, &head, arrival, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    /* A queue that was not empty has a wake on its way already. The write fails only at a count of 2^64. */
    if (!head) {
        uint64_t one = 1;
        (void)!write(arrivals->eventfd, &one, sizeof(one));
    }
}

struct arrival *arrivals_take(struct arrivals *arrivals)
{
    /* First the wake, then the queue: what is put in between is taken now and costs one empty wake later. */
    uint64_t count;
    (void)!read(arrivals->eventfd, &count, sizeof(count));
    /* Pairs with the release in arrivals_put(). */
    struct arrival *newest = __atomic_exchange_n(&arrivals->head, NULL, __ATOMIC_ACQUIRE);
    struct arrival *oldest = NULL;
    while (newest) {
        struct arrival *next = newest->next;
        tally(arrivals, newest, arrival_text(newest), false);
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
}

bool arrivals_are_many(const struct arrivals *arrivals)
{
    return __atomic_load_n(&arrivals->count, __ATOMIC_RELAXED) > ARRIVALS_MANY ||
           __atomic_load_n(&arrivals->bytes, __ATOMIC_RELAXED) > ARRIVALS_BYTES / 4;
}

void arrival_free(struct arrival *arrival)
{
    if (!arrival)
        return;
    if (arrival->pidfd >= 0)
        close(arrival->pidfd);
    free(arrival->values);
    free(arrival->maps);
    free(arrival->exec);
    free(arrival->cmdline);
    free(arrival);
}
