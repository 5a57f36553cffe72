/* SPDX-License-Identifier: MIT */
/*
 * Finds a thread's sampler. Not a thread-local variable, as the program would notice it, by the number and size of its
 * own. A thread is known by its thread pointer, which a vfork child shares, and which is the same in a child of fork.
 */
#include "sys.h"
#include "timer.h"

#include "text.h"

enum { SAMPLERS = 4096, NEAR = 64 };

/*
 * Made by the thread of the first timer; others may be looking. Keys are separate, since a child of fork looks at all.
 */
static uint64_t keys[SAMPLERS];
static struct pinject_sampler *samplers;

static uint64_t own_key(void)
{
    return (uint64_t)sys_thread_pointer();
}

static uint32_t place_of(uint64_t key, uint32_t step)
{
    return ((uint32_t)(key >> 6 ^ key >> 18) + step) % SAMPLERS;
}

int pinject_samplers_init(void)
{
    if (__atomic_load_n(&samplers, __ATOMIC_RELAXED))
        return 0;
    void *map = sys_map(SAMPLERS * sizeof(*samplers), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (sys_failed(map))
        return (int)(intptr_t)map;
    /* Its pages are zero: another thread finds nothing in it. */
    __atomic_store_n(&samplers, map, __ATOMIC_RELEASE);
    return 0;
}

struct pinject_sampler *pinject_sampler_find(void)
{
    uint64_t key = own_key();
    for (uint32_t step = 0; samplers && step < NEAR; step++)
        if (__atomic_load_n(&keys[place_of(key, step)], __ATOMIC_RELAXED) == key)
            return &samplers[place_of(key, step)];
    return NULL;
}

struct pinject_sampler *pinject_sampler_own(void)
{
    uint64_t key = own_key();
    struct pinject_sampler *found = pinject_sampler_find();
    for (uint32_t step = 0; !found && samplers && step < NEAR; step++) {
        uint64_t none = 0;
        uint32_t place = place_of(key, step);
        /* Acquire: pairs with the release of the thread that gave it back. */
        if (!__atomic_compare_exchange_n(&keys[place], &none, key, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        found = &samplers[place];
        memset(found, 0, sizeof(*found));
        found->tid = sys_gettid();
    }
    return found;
}

void pinject_sampler_drop(struct pinject_sampler *sampler)
{
    __atomic_store_n(&keys[sampler - samplers], 0, __ATOMIC_RELEASE);
}

bool pinject_sampler_is(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer - (uintptr_t)samplers;
    return samplers && at < SAMPLERS * sizeof(*samplers) && at % sizeof(*samplers) == 0;
}

void pinject_samplers_clear(void)
{
    for (uint32_t i = 0; samplers && i < SAMPLERS; i++)
        if (keys[i]) /* most pages were never touched */
            keys[i] = 0;
}

void pinject_samplers_each(void (*call)(struct pinject_sampler *))
{
    for (uint32_t i = 0; samplers && i < SAMPLERS; i++)
        if (__atomic_load_n(&keys[i], __ATOMIC_ACQUIRE))
            call(&samplers[i]);
}
