/* SPDX-License-Identifier: MIT */
#include "collector/needs.h"

#include <stdlib.h>
#include <string.h>

/* So many say something; after so many more, what was long ago counts half. */
enum { STACKS_KNOWN = 32, TASKS_KNOWN = 16, STACKS_LONG = 4096, TASKS_LONG = 1024 };

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

static void add(uint32_t *classes, unsigned count, unsigned class, uint32_t *all, uint32_t most)
{
    set(&classes[class], get(&classes[class]) + 1);
    set(all, get(all) + 1);
    if (get(all) < most)
        return;
    uint32_t left = 0;
    for (unsigned i = 0; i < count; i++) {
        set(&classes[i], get(&classes[i]) / 2);
        left += get(&classes[i]);
    }
    set(all, left);
}

void need_add_stack(struct need *need, uint64_t bytes, bool cut)
{
    unsigned class = 0;
    while (class < NEEDS_STACKS - 1 && (bytes > (uint64_t)NEEDS_STACK_MIN << class))
        class++;
    if (cut && class < NEEDS_STACKS - 1)
        class++;
    if (need)
        add(need->stacks, NEEDS_STACKS, class, &need->stacks_all, STACKS_LONG);
}

void need_add_task(struct need *need, uint64_t samples)
{
    unsigned class = 0;
    while (class < NEEDS_SAMPLES - 1 && samples >> class)
        class++;
    if (need)
        add(need->tasks, NEEDS_SAMPLES, class, &need->tasks_all, TASKS_LONG);
}

/* ---- Asking ---- */

/* The first class that at most one of PART is beyond. */
static unsigned find_class(const uint32_t *classes, unsigned count, uint32_t part)
{
    uint64_t all = 0, beyond;
    unsigned class = 0;
    for (unsigned i = 0; i < count; i++)
        all += get(&classes[i]);
    for (beyond = all - get(&classes[0]); class < count - 1 && beyond * part > all; beyond -= get(&classes[class]))
        class++;
    return class;
}

uint32_t need_stack(const struct need *need)
{
    if (!need || get(&need->stacks_all) < STACKS_KNOWN)
        return 0;
    unsigned class = find_class(need->stacks, NEEDS_STACKS, 100);
    return (uint32_t)NEEDS_STACK_MIN << (class < NEEDS_STACKS - 1 ? class : NEEDS_STACKS - 2);
}

uint64_t need_samples(const struct need *need)
{
    if (!need || get(&need->tasks_all) < TASKS_KNOWN)
        return UINT64_MAX;
    unsigned class = find_class(need->tasks, NEEDS_SAMPLES, 64);
    return class < NEEDS_SAMPLES - 1 ? (UINT64_C(1) << class) - 1 : UINT64_MAX;
}
