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

/* Counts ARRIVAL in. False: there is no room for it. */
static bool find_room(struct arrivals *arrivals, struct arrival *arrival)
{
    const bool task = arrival->events;
    if (!task && arrival->pidfd >= 0) { /* descriptors are for those who have events */
        close(arrival->pidfd);
        arrival->pidfd = -1;
    }
    uint64_t size = arrival_text(arrival), bytes = __atomic_add_fetch(&arrivals->bytes, size, __ATOMIC_RELAXED);
    if (bytes > ARRIVALS_BYTES && task) {
        drop_texts(arrival);
        __atomic_fetch_sub(&arrivals->bytes, size - arrival_text(arrival), __ATOMIC_RELAXED);
        __atomic_fetch_add(&arrivals->cut, 1, __ATOMIC_RELAXED);
    }
    uint32_t count = __atomic_add_fetch(&arrivals->count, 1, __ATOMIC_RELAXED);
    if (task || (bytes <= ARRIVALS_BYTES && count <= ARRIVALS_MAX))
        return true;
    __atomic_fetch_sub(&arrivals->count, 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&arrivals->bytes, size, __ATOMIC_RELAXED);
    __atomic_fetch_add(&arrivals->refused, 1, __ATOMIC_RELAXED);
    return false;
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
        __atomic_fetch_sub(&arrivals->count, 1, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&arrivals->bytes, arrival_text(newest), __ATOMIC_RELAXED);
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
