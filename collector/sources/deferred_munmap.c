/* SPDX-License-Identifier: MIT */
#include "collector/sources/deferred_munmap.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "collector/sources/session.h"

void deferred_munmap_init(struct deferred_munmap *deferred)
{
    pthread_mutex_init(&deferred->lock, NULL);
    deferred->count = 0;
}

void deferred_munmap_release(struct deferred_munmap *deferred)
{
    pthread_mutex_destroy(&deferred->lock);
}

static int compare_rings(const void *one, const void *other)
{
    uintptr_t a = (uintptr_t)((const struct deferred_ring *)one)->start;
    uintptr_t b = (uintptr_t)((const struct deferred_ring *)other)->start;
    return (a > b) - (a < b);
}

/* Unmaps neighbours in one call: the kernel maps one ring below the other. Under the lock. */
static void unmap_all(struct session *session)
{
    struct deferred_ring *rings = session->deferred_munmap.rings;
    uint64_t bytes = 0;
    qsort(rings, session->deferred_munmap.count, sizeof(*rings), compare_rings);
    for (unsigned i = 0, next; i < session->deferred_munmap.count; i = next) {
        char *start = rings[i].start;
        size_t size = rings[i].size;
        for (next = i + 1; next < session->deferred_munmap.count && (char *)rings[next].start == start + size; next++)
            size += rings[next].size;
        munmap(start, size);
        bytes += size;
    }
    session->deferred_munmap.count = 0;
    __atomic_fetch_sub(&session->ring_bytes, bytes, __ATOMIC_RELAXED);
}

void deferred_munmap_run(struct session *session)
{
    pthread_mutex_lock(&session->deferred_munmap.lock);
    unmap_all(session);
    pthread_mutex_unlock(&session->deferred_munmap.lock);
}

void deferred_munmap_add(struct session *session, void *start, size_t size)
{
    struct deferred_munmap *deferred = &session->deferred_munmap;
    pthread_mutex_lock(&deferred->lock);
    deferred->rings[deferred->count++] = (struct deferred_ring){start, size};
    /* If memory is short, others wait for it. */
    bool scarce = session->ring_budget != UINT64_MAX &&
                  __atomic_load_n(&session->ring_bytes, __ATOMIC_RELAXED) > session->ring_budget / 4;
    if (deferred->count == DEFERRED_RINGS || scarce)
        unmap_all(session);
    pthread_mutex_unlock(&deferred->lock);
}
