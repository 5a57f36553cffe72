/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>

#include "collector/channel.h"

/* The segment, the rings and the channels. */
enum { REGIONS = CHANNELS_MAX + 2 };

static struct {
    char *start;
    size_t size;
} regions[REGIONS];

static uint32_t count; /* atomic: regions that are complete */
static bool begun;
static struct sigaction others_action;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool replace(const char *at)
{
    /* Pairs with the release in guard_add(). */
    uint32_t known = __atomic_load_n(&count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < known; i++)
        if (at >= regions[i].start && at < regions[i].start + regions[i].size)
            return mmap(regions[i].start, regions[i].size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) != MAP_FAILED;
    return false;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (!replace(info->si_addr))
        sigaction(signal, &others_action, NULL); /* it strikes again, on who it belongs to */
    errno = saved;
}

bool guard_begin(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigfillset(&action.sa_mask);
    pthread_mutex_lock(&lock);
    bool done = !begun && sigaction(SIGBUS, &action, &others_action) == 0;
    begun |= done;
    pthread_mutex_unlock(&lock);
    return done;
}

bool guard_add(void *start, size_t size)
{
    pthread_mutex_lock(&lock);
    uint32_t at = __atomic_load_n(&count, __ATOMIC_RELAXED);
    bool room = begun && at < REGIONS;
    if (room) {
        regions[at].start = start;
        regions[at].size = size;
        __atomic_store_n(&count, at + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    return room;
}

void guard_end(void)
{
    pthread_mutex_lock(&lock);
    if (begun)
        sigaction(SIGBUS, &others_action, NULL);
    begun = false;
    __atomic_store_n(&count, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}
