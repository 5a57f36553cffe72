/* SPDX-License-Identifier: MIT */
#include "collector/spent.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "collector/session.h"

void spent_init(struct spent *spent)
{
    pthread_mutex_init(&spent->lock, NULL);
    spent->count = 0;
}

void spent_release(struct spent *spent)
{
    pthread_mutex_destroy(&spent->lock);
}

static int compare_rings(const void *one, const void *other)
{
    uintptr_t a = (uintptr_t)((const struct spent_ring *)one)->start;
    uintptr_t b = (uintptr_t)((const struct spent_ring *)other)->start;
    return (a > b) - (a < b);
}

/* Neighbours in one call: the kernel maps one ring below the other. Under the lock. */
static void unmap_all(struct session *session)
{
    struct spent_ring *rings = session->spent.rings;
    uint64_t bytes = 0;
    qsort(rings, session->spent.count, sizeof(*rings), compare_rings);
    for (unsigned i = 0, next; i < session->spent.count; i = next) {
        char *start = rings[i].start;
        size_t size = rings[i].size;
        for (next = i + 1; next < session->spent.count && (char *)rings[next].start == start + size; next++)
            size += rings[next].size;
        munmap(start, size);
        bytes += size;
    }
    session->spent.count = 0;
    __atomic_fetch_sub(&session->ring_bytes, bytes, __ATOMIC_RELAXED);
}

void spent_unmap(struct session *session)
{
    pthread_mutex_lock(&session->spent.lock);
    unmap_all(session);
    pthread_mutex_unlock(&session->spent.lock);
}

void spent_add(struct session *session, void *start, size_t size)
{
    struct spent *spent = &session->spent;
    pthread_mutex_lock(&spent->lock);
    spent->rings[spent->count++] = (struct spent_ring){start, size};
    /* Where memory is short, others wait for it. */
    bool scarce = session->ring_budget != UINT64_MAX &&
                  __atomic_load_n(&session->ring_bytes, __ATOMIC_RELAXED) > session->ring_budget / 4;
    if (spent->count == SPENT_RINGS || scarce)
        unmap_all(session);
    pthread_mutex_unlock(&spent->lock);
}
