/* SPDX-License-Identifier: MIT */
#include "collector/arrivals.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int arrivals_init(struct arrivals *arrivals)
{
    arrivals->head = NULL;
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

void arrivals_put(struct arrivals *arrivals, struct arrival *arrival)
{
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
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    return oldest;
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
