/* SPDX-License-Identifier: MIT */
/* What the threads of a crew found becomes part of the caller's store. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/model/crew_parts.h"

/* Of one worker: where its frames and stacks are in the caller's store, as far as they were merged. */
struct merge_part {
    uint32_t *frames, *stacks;
    uint32_t frame_count, stack_count, entry_count;
};

/* Modules are the caller's, but for those that a thread met first: the hypervisor's and a guest's. */
static const struct profile_module *shared_module(struct store *to, const struct crew_worker *worker,
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

static int merge_frames(struct store *to, const struct crew_worker *worker, struct merge_part *part, uint32_t count)
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

static int merge_stacks(struct chain *chain, const struct crew_worker *worker, struct merge_part *part, uint32_t count)
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

static int merge_entries(struct store *to, const struct crew_worker *worker, struct merge_part *part, uint32_t count)
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

/* In the order of the batches a thing comes first where it would have come first without threads: whoever did that
 * batch had not seen it before either. */
static int merge_batches(struct crew *crew, struct merge_part *parts)
{
    struct store *to = crew->chain->store;
    int status = 0;
    for (uint64_t i = 0; status == 0 && i < crew->batches; i++) {
        const struct crew_mark *mark = &crew->marks[i];
        const struct crew_worker *worker = &crew->workers[mark->worker];
        struct merge_part *part = &parts[mark->worker];
        status = merge_frames(to, worker, part, mark->frames);
        if (status == 0)
            status = merge_stacks(crew->chain, worker, part, mark->stacks);
        if (status == 0)
            status = merge_entries(to, worker, part, mark->entries);
    }
    return status;
}

static int start_again(struct crew *crew)
{
    int status = 0;
    for (unsigned i = 0; i < crew->worker_count; i++) {
        crew_worker_release(&crew->workers[i]);
        if (crew_worker_init(&crew->workers[i], crew) < 0)
            status = -ENOMEM;
    }
    crew->batches = 0;
    return status;
}

int crew_merge(struct crew *crew)
{
    struct merge_part *parts = calloc(crew->worker_count, sizeof(*parts));
    int status = parts ? 0 : -ENOMEM;
    for (unsigned i = 0; parts && i < crew->worker_count; i++) {
        struct store *store = &crew->workers[i].store;
        /* Nothing is looked up there any more, and the memory is wanted. */
        lookup_release(&store->frames.lookup);
        lookup_release(&store->stacks.lookup);
        lookup_release(&store->entries.lookup);
        parts[i].frames = calloc((size_t)store->frames.count + 1, sizeof(uint32_t));
        parts[i].stacks = calloc((size_t)store->stacks.count + 1, sizeof(uint32_t));
        if (!parts[i].frames || !parts[i].stacks)
            status = -ENOMEM;
    }
    if (status == 0)
        status = merge_batches(crew, parts);
    for (unsigned i = 0; parts && i < crew->worker_count; i++) {
        free(parts[i].frames);
        free(parts[i].stacks);
    }
    free(parts);
    int again = start_again(crew);
    return status < 0 ? status : again;
}
