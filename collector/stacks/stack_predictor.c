/* SPDX-License-Identifier: MIT */
#include "collector/stacks/stack_predictor.h"

#include <stdlib.h>
#include <string.h>

/* So many stacks are enough to predict, or so many tasks with fewer stacks; after many stacks, old ones count half. */
enum { STACKS_KNOWN = 32, TASKS_KNOWN = 16, STACKS_LONG = 4096 };

struct stack_predictor *stack_predictor_new(void)
{
    struct stack_predictor *predictor = calloc(1, sizeof(*predictor));
    if (predictor)
        pthread_mutex_init(&predictor->lock, NULL);
    return predictor;
}

void stack_predictor_free(struct stack_predictor *predictor)
{
    if (predictor)
        pthread_mutex_destroy(&predictor->lock);
    free(predictor);
}

static struct stack_sizes *find(struct stack_predictor *predictor, const char *name)
{
    for (unsigned i = 0; i < predictor->count; i++)
        if (strncmp(predictor->names[i].name, name, PREDICTOR_NAME) == 0)
            return &predictor->names[i];
    if (predictor->count == PREDICTOR_NAMES)
        return NULL;
    struct stack_sizes *sizes = &predictor->names[predictor->count++];
    memcpy(sizes->name, name, strnlen(name, PREDICTOR_NAME));
    return sizes;
}

struct stack_sizes *stack_predictor_find(struct stack_predictor *predictor, const char *name)
{
    if (!predictor)
        return NULL;
    pthread_mutex_lock(&predictor->lock);
    struct stack_sizes *sizes = find(predictor, name);
    pthread_mutex_unlock(&predictor->lock);
    return sizes;
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

static void halve_counts(struct stack_sizes *sizes)
{
    uint32_t left = 0;
    for (unsigned i = 0; i < PREDICTOR_CLASSES; i++) {
        set(&sizes->stacks[i], get(&sizes->stacks[i]) / 2);
        left += get(&sizes->stacks[i]);
    }
    set(&sizes->stacks_all, left);
}

void stack_sizes_add_stack(struct stack_sizes *sizes, uint64_t bytes, bool cut)
{
    unsigned class = 0;
    if (!sizes)
        return;
    while (class < PREDICTOR_CLASSES - 1 && bytes > (uint64_t)PREDICTOR_STACK_MIN << class)
        class ++;
    if (cut && class < PREDICTOR_CLASSES - 1)
        class ++;
    set(&sizes->stacks[class], get(&sizes->stacks[class]) + 1);
    set(&sizes->stacks_all, get(&sizes->stacks_all) + 1);
    if (get(&sizes->stacks_all) >= STACKS_LONG)
        halve_counts(sizes);
}

void stack_sizes_add_task(struct stack_sizes *sizes)
{
    if (sizes && get(&sizes->tasks) < TASKS_KNOWN)
        set(&sizes->tasks, get(&sizes->tasks) + 1);
}

/* ---- Asking ---- */

uint32_t stack_sizes_predict(const struct stack_sizes *sizes)
{
    unsigned class = 0;
    if (!sizes || (get(&sizes->stacks_all) < STACKS_KNOWN && get(&sizes->tasks) < TASKS_KNOWN))
        return 0;
    /* The first class with at most one of 100 beyond it. */
    for (; class < PREDICTOR_CLASSES - 2; class ++) {
        uint64_t beyond = 0;
        for (unsigned i = class + 1; i < PREDICTOR_CLASSES; i++)
            beyond += get(&sizes->stacks[i]);
        if (beyond * 100 <= get(&sizes->stacks_all))
            break;
    }
    return (uint32_t)PREDICTOR_STACK_MIN << class;
}
