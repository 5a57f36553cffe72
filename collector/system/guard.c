/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/system/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "pinject/wire.h"

/* The segment, the rings and the channels. */
enum { REGIONS = PINJECT_USERS + 2 };

/* A region whose start is NULL is free, for another one of the same size: the handler may look at any time. */
static struct {
    char *start; /* atomic */
    size_t size; /* never changes */
} regions[REGIONS];

static uint32_t region_count; /* atomic, changed with the lock: regions that are complete, or free again */
static bool has_handler;
static struct sigaction others_action;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool replace(const char *at)
{
    /* Pairs with the release in guard_add(). */
    uint32_t known = __atomic_load_n(&region_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < known; i++) {
        char *start = __atomic_load_n(&regions[i].start, __ATOMIC_RELAXED);
        if (start && at >= start && at < start + regions[i].size)
            return mmap(start, regions[i].size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    }
    return false;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (!replace(info->si_addr))
        sigaction(signal, &others_action, NULL); /* the fault repeats, with the action that it belongs to */
    errno = saved;
}

bool guard_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    bool done = !has_handler && sigaction(SIGBUS, &action, &others_action) == 0;
    has_handler |= done;
    pthread_mutex_unlock(&lock);
    return done;
}

static uint32_t find(const void *start, size_t size)
{
    uint32_t at = 0;
    while (at < region_count && (regions[at].start != start || regions[at].size != size))
        at++;
    return at;
}

bool guard_add(void *start, size_t size)
{
    pthread_mutex_lock(&lock);
    uint32_t at = find(NULL, size);
    bool room = has_handler && at < REGIONS;
    if (room && at == region_count)
        regions[at].size = size;
    if (room)
        __atomic_store_n(&regions[at].start, start, __ATOMIC_RELAXED);
    if (room && at == region_count)
        __atomic_store_n(&region_count, at + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    return room;
}

void guard_remove(const void *start, size_t size)
{
    pthread_mutex_lock(&lock);
    uint32_t at = find(start, size);
    if (at < region_count)
        __atomic_store_n(&regions[at].start, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void guard_end(void)
{
    pthread_mutex_lock(&lock);
    if (has_handler)
        sigaction(SIGBUS, &others_action, NULL);
    has_handler = false;
    __atomic_store_n(&region_count, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}
