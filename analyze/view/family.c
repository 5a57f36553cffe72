/* SPDX-License-Identifier: MIT */
#include "analyze/view/family.h"

#include <stdlib.h>

#include "analyze/view/map.h"
#include "analyze/view/memory.h"

#define DEEPEST 1000

struct index {
    struct map tids;  /* (pid, tid) and (tid, 0) to a list of tasks */
    uint32_t *last;   /* by number of the map: the latest task so far */
    uint32_t *before; /* by task: the one before it with the same (pid, tid) */
    size_t capacity;
};

static bool started_later(const struct profile_task *task, const struct profile_task *than)
{
    return task->start_ns && than->start_ns && task->start_ns > than->start_ns;
}

/* The youngest task of (A, B) that was there when CHILD began; numbers are used again. */
static uint32_t find(const struct index *index, const struct profile *profile, int32_t pid, int32_t tid, uint32_t child)
{
    uint32_t number = map_find(&index->tids, (uint32_t)pid, (uint32_t)tid);
    uint32_t at = number == MAP_NONE ? FAMILY_NONE : index->last[number];
    while (at != FAMILY_NONE && (at == child || started_later(&profile->tasks[at], &profile->tasks[child])))
        at = index->before[at];
    return at;
}

static uint32_t parent_of(const struct index *index, const struct profile *profile, uint32_t child)
{
    const struct profile_task *task = &profile->tasks[child];
    if (task->tid != task->pid)
        return find(index, profile, task->pid, task->pid, child);
    if (task->ppid <= 0)
        return FAMILY_NONE;
    uint32_t found = FAMILY_NONE;
    if (task->parent_tid > 0)
        found = find(index, profile, task->ppid, task->parent_tid, child);
    return found != FAMILY_NONE ? found : find(index, profile, task->ppid, task->ppid, child);
}

/* Bad files may name each other as parents, or be deeper than any real family. */
static bool would_loop(const uint32_t *parent, uint32_t child, uint32_t above)
{
    for (uint32_t steps = 0; above != FAMILY_NONE && steps < DEEPEST; steps++, above = parent[above])
        if (above == child)
            return true;
    return above != FAMILY_NONE;
}

static void find_parents(struct family *family, const struct profile *profile)
{
    uint32_t count = profile->task_count;
    struct index index = {.before = memory_new(count, sizeof(uint32_t))};
    for (uint32_t i = 0; i < count; i++) {
        size_t known = index.tids.count;
        uint32_t number = map_add(&index.tids, (uint32_t)profile->tasks[i].pid, (uint32_t)profile->tasks[i].tid);
        index.last = memory_grow(index.last, &index.capacity, index.tids.count, sizeof(*index.last));
        index.before[i] = number == known ? FAMILY_NONE : index.last[number];
        index.last[number] = i;
        family->parent[i] = FAMILY_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = parent_of(&index, profile, i);
        if (parent != FAMILY_NONE && !would_loop(family->parent, i, parent))
            family->parent[i] = parent;
    }
    map_release(&index.tids);
    free(index.last);
    free(index.before);
}

void family_init(struct family *family, const struct profile *profile, const bool *wanted)
{
    uint32_t count = profile->task_count;
    family->parent = memory_new(count, sizeof(uint32_t));
    family->first = memory_new(count, sizeof(uint32_t));
    family->next = memory_new(count, sizeof(uint32_t));
    family->root = FAMILY_NONE;
    find_parents(family, profile);
    for (uint32_t i = 0; i < count; i++) {
        family->first[i] = family->next[i] = FAMILY_NONE;
        while (family->parent[i] != FAMILY_NONE && !wanted[family->parent[i]])
            family->parent[i] = family->parent[family->parent[i]];
    }
    /* From behind, so that brothers stand in the order of their start. */
    for (uint32_t i = count; i-- > 0;) {
        if (!wanted[i])
            continue;
        uint32_t *list = family->parent[i] == FAMILY_NONE ? &family->root : &family->first[family->parent[i]];
        family->next[i] = *list;
        *list = i;
    }
}

void family_release(struct family *family)
{
    free(family->parent);
    free(family->first);
    free(family->next);
}

uint32_t family_next(const struct family *family, uint32_t task)
{
    if (family->first[task] != FAMILY_NONE)
        return family->first[task];
    while (task != FAMILY_NONE && family->next[task] == FAMILY_NONE)
        task = family->parent[task];
    return task == FAMILY_NONE ? FAMILY_NONE : family->next[task];
}
