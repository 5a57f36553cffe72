/* SPDX-License-Identifier: MIT */
#include "collector/needs.h"

#include <stdlib.h>
#include <string.h>

/* So many stacks say something, or so many tasks that had fewer; after many, what was long ago counts half. */
enum { STACKS_KNOWN = 32, TASKS_KNOWN = 16, STACKS_LONG = 4096 };

struct needs *needs_new(void)
{
    struct needs *needs = calloc(1, sizeof(*needs));
    if (needs)
        pthread_mutex_init(&needs->lock, NULL);
    return needs;
}

void needs_free(struct needs *needs)
{
    if (needs)
        pthread_mutex_destroy(&needs->lock);
    free(needs);
}

static struct need *find(struct needs *needs, const char *name)
{
    for (unsigned i = 0; i < needs->count; i++)
        if (strncmp(needs->names[i].name, name, NEEDS_NAME) == 0)
            return &needs->names[i];
    if (needs->count == NEEDS_NAMES)
        return NULL;
    struct need *need = &needs->names[needs->count++];
    memcpy(need->name, name, strnlen(name, NEEDS_NAME));
    return need;
}

struct need *needs_find(struct needs *needs, const char *name)
{
    if (!needs)
        return NULL;
    pthread_mutex_lock(&needs->lock);
    struct need *need = find(needs, name);
    pthread_mutex_unlock(&needs->lock);
    return need;
}

/* ---- Counting ---- */

static uint32_t get(const uint32_t *count)
{
    return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void set(uint32_t *count, uint32_t value)
{
    __atomic_store_n(count, value, __ATOMIC_RELAXED);
}

static void halve(struct need *need)
{
    uint32_t left = 0;
    for (unsigned i = 0; i < NEEDS_STACKS; i++) {
        set(&need->stacks[i], get(&need->stacks[i]) / 2);
        left += get(&need->stacks[i]);
    }
    set(&need->stacks_all, left);
}

void need_add_stack(struct need *need, uint64_t bytes, bool cut)
{
    unsigned class = 0;
    if (!need)
        return;
    while (class < NEEDS_STACKS - 1 && bytes > (uint64_t)NEEDS_STACK_MIN << class)
        class++;
    if (cut && class < NEEDS_STACKS - 1)
        class++;
    set(&need->stacks[class], get(&need->stacks[class]) + 1);
    set(&need->stacks_all, get(&need->stacks_all) + 1);
    if (get(&need->stacks_all) >= STACKS_LONG)
        halve(need);
}

void need_add_task(struct need *need)
{
    if (need && get(&need->tasks) < TASKS_KNOWN)
        set(&need->tasks, get(&need->tasks) + 1);
}

/* ---- Asking ---- */

uint32_t need_stack(const struct need *need)
{
    unsigned class = 0;
    if (!need || (get(&need->stacks_all) < STACKS_KNOWN && get(&need->tasks) < TASKS_KNOWN))
        return 0;
    /* The first class that at most one of 100 is beyond. */
    for (; class < NEEDS_STACKS - 2; class++) {
        uint64_t beyond = 0;
        for (unsigned i = class + 1; i < NEEDS_STACKS; i++)
            beyond += get(&need->stacks[i]);
        if (beyond * 100 <= get(&need->stacks_all))
            break;
    }
    return (uint32_t)NEEDS_STACK_MIN << class;
}
