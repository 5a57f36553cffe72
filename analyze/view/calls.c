/* SPDX-License-Identifier: MIT */
#include "analyze/view/calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"

void calls_init(struct calls *calls, const struct profile *profile, struct names *names, int by, bool reverse)
{
    *calls = (struct calls){.group = by, .reverse = reverse};
    histogram_init(&calls->keys, profile, names, histogram_has_stacks(by) ? by : BY_FUNCTION);
    calls->nodes = memory_grow(NULL, &calls->capacity, 1, sizeof(*calls->nodes));
    calls->nodes[calls->count++] = (struct calls_node){.frame = CALLS_GROUP};
}

void calls_release(struct calls *calls)
{
    histogram_release(&calls->keys);
    map_release(&calls->children);
    free(calls->nodes);
    *calls = (struct calls){0};
}

static uint32_t child_of(struct calls *calls, uint32_t parent, uint64_t key, uint32_t frame, uint32_t task)
{
    uint32_t index = map_add(&calls->children, parent, key) + 1;
    if (index == calls->count) {
        calls->nodes = memory_grow(calls->nodes, &calls->capacity, calls->count + 1, sizeof(*calls->nodes));
        struct calls_node *above = &calls->nodes[parent];
        calls->nodes[calls->count++] = (struct calls_node){.parent = parent,
                                                           .next = above->first,
                                                           .frame = frame,
                                                           .task = task,
                                                           .level = above->level + 1,
                                                           .key = key};
        above->first = index;
    }
    return index;
}

static uint32_t count_in(struct calls *calls, uint32_t node, const struct profile_entry *entry)
{
    calls->nodes[node].samples += entry->samples;
    calls->nodes[node].weight += entry->weight;
    return node;
}

static uint64_t group_key(const struct calls *calls, const struct profile_entry *entry)
{
    if (calls->group == BY_COMM)
        return (uintptr_t)entry->comm;
    return calls->group == BY_PROCESS ? (uint32_t)calls->keys.profile->tasks[entry->task].pid : entry->task;
}

void calls_add(struct calls *calls, const struct profile_entry *entry)
{
    uint32_t depth, repeats = 0, node = count_in(calls, 0, entry);
    const uint32_t *frames = histogram_stack(&calls->keys, entry->stack, &depth);
    if (!histogram_has_stacks(calls->group))
        node = count_in(calls, child_of(calls, node, group_key(calls, entry), CALLS_GROUP, entry->task), entry);
    for (uint32_t i = 0; i < depth; i++) {
        uint32_t frame = frames[calls->reverse ? i : depth - 1 - i];
        uint64_t key = histogram_frame_key(&calls->keys, frame);
        const bool same = node && calls->nodes[node].frame != CALLS_GROUP && calls->nodes[node].key == key;
        /* Calls within a DSO are no calls of the DSO. */
        if (same && calls->keys.by == BY_DSO)
            continue;
        repeats = same ? repeats + 1 : 1;
        if (!same || !calls->fold_recursion)
            node = count_in(calls, child_of(calls, node, key, frame, entry->task), entry);
        if (calls->nodes[node].repeats < repeats)
            calls->nodes[node].repeats = repeats;
    }
    calls->nodes[node].self_samples += entry->samples;
    calls->nodes[node].self_weight += entry->weight;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct calls *calls = context;
    const struct calls_node *a = &calls->nodes[*(const uint32_t *)left], *b = &calls->nodes[*(const uint32_t *)right];
    int order = order_larger(a->weight, b->weight), by = a->frame == CALLS_GROUP ? calls->group : calls->keys.by;
    return order ? order : order_keys(calls->keys.names, calls->keys.profile, by, a->key, b->key);
}

void calls_sort(struct calls *calls)
{
    uint32_t *list = NULL;
    size_t capacity = 0;
    for (size_t i = 0; i < calls->count; i++) {
        size_t count = 0;
        for (uint32_t at = calls->nodes[i].first; at; at = calls->nodes[at].next) {
            list = memory_grow(list, &capacity, count + 1, sizeof(*list));
            list[count++] = at;
        }
        if (count < 2)
            continue;
        qsort_r(list, count, sizeof(*list), compare, calls);
        calls->nodes[i].first = list[0];
        for (size_t j = 0; j < count; j++)
            calls->nodes[list[j]].next = j + 1 < count ? list[j + 1] : 0;
    }
    free(list);
}

uint32_t calls_after(const struct calls *calls, uint32_t node, bool below)
{
    if (below && calls->nodes[node].first)
        return calls->nodes[node].first;
    while (node && !calls->nodes[node].next)
        node = calls->nodes[node].parent;
    return node ? calls->nodes[node].next : 0;
}

bool calls_goes_on(const struct calls *calls, uint32_t node)
{
    const struct calls_node *parent = &calls->nodes[calls->nodes[node].parent];
    return parent->first == node && !calls->nodes[node].next && parent->weight == calls->nodes[node].weight;
}

static char *group_label(const struct calls *calls, const struct calls_node *node)
{
    const struct profile_task *task = &calls->keys.profile->tasks[node->task];
    if (calls->group == BY_COMM)
        return memory_text((const char *)(uintptr_t)node->key);
    if (calls->group == BY_TASK)
        return memory_print("%s %" PRId32 ".%" PRId32, task->comm, task->pid, task->tid);
    const char *name = *task->exec ? text_base(task->exec) : task->comm;
    return memory_print("%s %" PRId32, name, task->pid);
}

char *calls_frame_label(const struct histogram *keys, uint32_t frame)
{
    const struct names_place *place = names_frame(keys->names, frame);
    if (keys->by == BY_DSO)
        return memory_text(text_base(place->dso));
    if (keys->by == BY_ADDRESS)
        return names_address_label(place);
    return place->inlined ? memory_print("%s (inlined)", place->symbol) : memory_text(place->symbol);
}

char *calls_label(struct calls *calls, uint32_t index)
{
    const struct calls_node *node = &calls->nodes[index];
    if (index == 0)
        return memory_text("all");
    if (node->frame == CALLS_GROUP)
        return group_label(calls, node);
    return calls_frame_label(&calls->keys, node->frame);
}

bool calls_is_inlined(const struct calls *calls, uint32_t node)
{
    uint32_t frame = calls->nodes[node].frame;
    return frame != CALLS_GROUP && names_is_inlined(calls->keys.names, frame);
}

const char *calls_dso(struct calls *calls, uint32_t node)
{
    uint32_t frame = calls->nodes[node].frame;
    return frame == CALLS_GROUP ? "" : names_frame(calls->keys.names, frame)->dso;
}
