/* SPDX-License-Identifier: MIT */
/* Merges the results of a pool's threads into the caller's store. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/model/thread_pool_private.h"

/* For one worker: the indices in the caller's store of the frames and stacks merged so far. */
struct merge_part {
    uint32_t *frames, *stacks;
    uint32_t frame_count, stack_count, entry_count;
};

/* Modules are the caller's, except those that a thread may make: for the hypervisor and for guests. */
static const struct profile_module *shared_module(struct store *to, const struct thread_pool_worker *worker,
                                                  const struct profile_module *module, bool *ret_failed)
{
    for (uint32_t i = 0; module && i < worker->store.modules.count; i++) {
        if (store_module_at(&worker->store, i) != module)
            continue;
        struct profile_module wanted = *module;
        wanted.path = store_string(to, module->path);
        uint32_t index = wanted.path ? store_module(to, &wanted) : LOOKUP_NONE;
        *ret_failed |= index == LOOKUP_NONE;
        return index == LOOKUP_NONE ? NULL : store_module_at(to, index);
    }
    return module;
}

static int merge_frames(struct store *to, const struct thread_pool_worker *worker, struct merge_part *part,
                        uint32_t count)
{
    const struct profile_frame *frames = worker->store.frames.items;
    for (; part->frame_count < count; part->frame_count++) {
        struct profile_frame frame = frames[part->frame_count];
        bool failed = false;
        frame.module = shared_module(to, worker, frame.module, &failed);
        uint32_t index = failed ? LOOKUP_NONE : store_frame(to, store_frame_hash(&frame), &frame);
        if (index == LOOKUP_NONE)
            return -ENOMEM;
        part->frames[part->frame_count] = index;
    }
    return 0;
}

static int merge_stacks(struct chain *chain, const struct thread_pool_worker *worker, struct merge_part *part,
                        uint32_t count)
{
    const struct profile_stack *stacks = worker->store.stacks.items;
    for (; part->stack_count < count; part->stack_count++) {
        const struct profile_stack *stack = &stacks[part->stack_count];
        if (chain_room(chain, stack->depth) < 0)
            return -ENOMEM;
        for (uint32_t i = 0; i < stack->depth; i++)
            chain->frames[i] = part->frames[stack->frames[i]];
        uint64_t hash = store_stack_hash(chain->frames, stack->depth, stack->truncated);
        uint32_t index = store_stack(chain->store, hash, chain->frames, stack->depth, stack->truncated);
        if (index == LOOKUP_NONE)
            return -ENOMEM;
        part->stacks[part->stack_count] = index;
    }
    return 0;
}

static int merge_entries(struct store *to, const struct thread_pool_worker *worker, struct merge_part *part,
                         uint32_t count)
{
    const struct profile_entry *entries = worker->store.entries.items;
    for (; part->entry_count < count; part->entry_count++) {
        struct profile_entry entry = entries[part->entry_count];
        entry.stack = part->stacks[entry.stack];
        if (store_sample(&to->entries, store_sample_hash(&entry), &entry) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* Merging in the order of the batches gives each thing the index it would have without threads: the worker of the batch
 * where it first occurs has it as new, too. */
static int merge_batches(struct thread_pool *pool, struct merge_part *parts)
{
    struct store *to = pool->chain->store;
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < pool->batches; i++) {
        const struct thread_pool_mark *mark = &pool->marks[i];
        const struct thread_pool_worker *worker = &pool->workers[mark->worker];
        struct merge_part *part = &parts[mark->worker];
        status = merge_frames(to, worker, part, mark->frames);
        if (status == 0)
            status = merge_stacks(pool->chain, worker, part, mark->stacks);
        if (status == 0)
            status = merge_entries(to, worker, part, mark->entries);
    }
    return status;
}

static int reset_workers(struct thread_pool *pool)
{
    int status = 0;
    for (unsigned i = 0; i < pool->worker_count; i++) {
        thread_pool_worker_release(&pool->workers[i]);
        if (thread_pool_worker_init(&pool->workers[i], pool) < 0)
            status = -ENOMEM;
    }
    pool->batches = 0;
    return status;
}

int thread_pool_merge(struct thread_pool *pool)
{
    struct merge_part *parts = calloc(pool->worker_count, sizeof(*parts));
    int status = parts ? 0 : -ENOMEM;
    for (unsigned i = 0; parts && i < pool->worker_count; i++) {
        struct store *store = &pool->workers[i].store;
        /* No more look-ups there: frees the memory now. */
        lookup_release(&store->frames.lookup);
        lookup_release(&store->stacks.lookup);
        lookup_release(&store->entries.lookup);
        parts[i].frames = calloc((size_t)store->frames.count + 1, sizeof(uint32_t));
        parts[i].stacks = calloc((size_t)store->stacks.count + 1, sizeof(uint32_t));
        if (!parts[i].frames || !parts[i].stacks)
            status = -ENOMEM;
    }
    if (status == 0)
        status = merge_batches(pool, parts);
    for (unsigned i = 0; parts && i < pool->worker_count; i++) {
        free(parts[i].frames);
        free(parts[i].stacks);
    }
    free(parts);
    int again = reset_workers(pool);
    return status < 0 ? status : again;
}
