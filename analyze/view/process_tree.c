/* SPDX-License-Identifier: MIT */
#include "analyze/view/process_tree.h"

#include <stdlib.h>

#include "analyze/view/map.h"
#include "analyze/view/memory.h"

#define DEEPEST 1000

struct index {
    struct map tids;  /* from (pid, tid) and (tid, 0) to a list of tasks */
    uint32_t *last;   /* by number in the map: the latest task so far */
    uint32_t *before; /* by task: the previous one with the same (pid, tid) */
    size_t capacity;
};

static bool started_later(const struct profile_task *task, const struct profile_task *than)
{
    return task->start_ns && than->start_ns && task->start_ns > than->start_ns;
}

/* The youngest task (PID, TID) that existed when CHILD started; pids are reused. */
static uint32_t find(const struct index *index, const struct profile *profile, int32_t pid, int32_t tid, uint32_t child)
{
    uint32_t number = map_find(&index->tids, (uint32_t)pid, (uint32_t)tid);
    uint32_t at = number == MAP_NONE ? PROCESS_TREE_NONE : index->last[number];
    while (at != PROCESS_TREE_NONE && (at == child || started_later(&profile->tasks[at], &profile->tasks[child])))
        at = index->before[at];
    return at;
}

static uint32_t parent_of(const struct index *index, const struct profile *profile, uint32_t child)
{
    const struct profile_task *task = &profile->tasks[child];
    if (task->tid != task->pid)
        return find(index, profile, task->pid, task->pid, child);
    if (task->ppid <= 0)
        return PROCESS_TREE_NONE;
    uint32_t found = PROCESS_TREE_NONE;
    if (task->parent_tid > 0)
        found = find(index, profile, task->ppid, task->parent_tid, child);
    return found != PROCESS_TREE_NONE ? found : find(index, profile, task->ppid, task->ppid, child);
}

/* Tasks of damaged files may be each other's parents, or be nested too deep. */
static bool would_loop(const uint32_t *parent, uint32_t child, uint32_t above)
{
    for (uint32_t steps = 0; above != PROCESS_TREE_NONE && steps < DEEPEST; steps++, above = parent[above])
        if (above == child)
            return true;
    return above != PROCESS_TREE_NONE;
}

static void find_parents(struct process_tree *tree, const struct profile *profile)
{
    uint32_t count = profile->task_count;
    struct index index = {.before = memory_new(count, sizeof(uint32_t))};
    for (uint32_t i = 0; i < count; i++) {
        size_t known = index.tids.count;
        uint32_t number = map_add(&index.tids, (uint32_t)profile->tasks[i].pid, (uint32_t)profile->tasks[i].tid);
        index.last = memory_grow(index.last, &index.capacity, index.tids.count, sizeof(*index.last));
        index.before[i] = number == known ? PROCESS_TREE_NONE : index.last[number];
        index.last[number] = i;
        tree->parent[i] = PROCESS_TREE_NONE;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t parent = parent_of(&index, profile, i);
        if (parent != PROCESS_TREE_NONE && !would_loop(tree->parent, i, parent))
            tree->parent[i] = parent;
    }
    map_release(&index.tids);
    free(index.last);
    free(index.before);
}

void process_tree_init(struct process_tree *tree, const struct profile *profile, const bool *wanted)
{
    uint32_t count = profile->task_count;
    tree->parent = memory_new(count, sizeof(uint32_t));
    tree->first = memory_new(count, sizeof(uint32_t));
    tree->next = memory_new(count, sizeof(uint32_t));
    tree->root = PROCESS_TREE_NONE;
    find_parents(tree, profile);
    for (uint32_t i = 0; i < count; i++) {
        tree->first[i] = tree->next[i] = PROCESS_TREE_NONE;
        while (tree->parent[i] != PROCESS_TREE_NONE && !wanted[tree->parent[i]])
            tree->parent[i] = tree->parent[tree->parent[i]];
    }
    /* Backwards, so that siblings are in the order of their start. */
    for (uint32_t i = count; i-- > 0;) {
        if (!wanted[i])
            continue;
        uint32_t *list = tree->parent[i] == PROCESS_TREE_NONE ? &tree->root : &tree->first[tree->parent[i]];
        tree->next[i] = *list;
        *list = i;
    }
}

void process_tree_release(struct process_tree *tree)
{
    free(tree->parent);
    free(tree->first);
    free(tree->next);
}

uint32_t process_tree_next(const struct process_tree *tree, uint32_t task)
{
    if (tree->first[task] != PROCESS_TREE_NONE)
        return tree->first[task];
    while (task != PROCESS_TREE_NONE && tree->next[task] == PROCESS_TREE_NONE)
        task = tree->parent[task];
    return task == PROCESS_TREE_NONE ? PROCESS_TREE_NONE : tree->next[task];
}
