/* SPDX-License-Identifier: MIT */
#include "analyze/model/store.h"

#include <string.h>

static void list_release(struct store_list *list)
{
    free(list->items);
    lookup_release(&list->lookup);
    *list = (struct store_list){0};
}

void store_release(struct store *store)
{
    list_release(&store->texts);
    list_release(&store->modules);
    list_release(&store->frames);
    list_release(&store->stacks);
    list_release(&store->events);
    list_release(&store->entries);
    list_release(&store->sums);
    arena_release(&store->arena);
}

/* Appends ITEM to the list and its lookup. */
static uint32_t list_add(struct store_list *list, uint64_t hash, const void *item, size_t size)
{
    if (arena_room(&list->items, &list->capacity, list->count, size) < 0 ||
        lookup_add(&list->lookup, hash, list->count) < 0)
        return LOOKUP_NONE;
    memcpy((unsigned char *)list->items + list->count * size, item, size);
    return list->count++;
}

const char *store_text(struct store *store, const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    uint64_t hash = lookup_hash_bytes(text, length);
    const char **texts = store->texts.items;
    struct lookup_walk walk = lookup_start(&store->texts.lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (strncmp(texts[i], text, length) == 0 && texts[i][length] == '\0')
            return texts[i];
    const char *copy = arena_text(&store->arena, text, length);
    if (!copy || list_add(&store->texts, hash, &copy, sizeof(copy)) == LOOKUP_NONE)
        return NULL;
    return copy;
}

const char *store_string(struct store *store, const char *text)
{
    return store_text(store, text, strlen(text));
}

uint32_t store_module(struct store *store, const struct profile_module *wanted)
{
    uint64_t hash = lookup_mix(
        (uintptr_t)wanted->path,
        lookup_hash_bytes(wanted->build_id_size ? wanted->build_id : (const void *)"", wanted->build_id_size));
    hash = lookup_mix(hash, (uint32_t)wanted->pid + wanted->symbol_start);
    struct lookup_walk walk = lookup_start(&store->modules.lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;) {
        const struct profile_module *module = store_module_at(store, i);
        if (module->path == wanted->path && module->kernel == wanted->kernel && module->pid == wanted->pid &&
            module->symbol == wanted->symbol && module->symbol_start == wanted->symbol_start &&
            module->build_id_size == wanted->build_id_size &&
            (wanted->build_id_size == 0 || memcmp(module->build_id, wanted->build_id, wanted->build_id_size) == 0))
            return i;
    }
    struct profile_module *fresh = arena_copy(&store->arena, wanted, sizeof(*wanted));
    if (!fresh)
        return LOOKUP_NONE;
    fresh->build_id = wanted->build_id_size ? arena_copy(&store->arena, wanted->build_id, wanted->build_id_size) : NULL;
    fresh->index = store->modules.count;
    if (wanted->build_id_size && !fresh->build_id)
        return LOOKUP_NONE;
    return list_add(&store->modules, hash, &fresh, sizeof(fresh));
}

uint64_t store_frame_hash(const struct profile_frame *wanted)
{
    uint64_t hash = lookup_mix((uintptr_t)wanted->module, wanted->offset);
    return lookup_mix(hash, (uint64_t)wanted->kernel << 1 | wanted->caller);
}

static void prefetch_item(const struct store_list *list, uint64_t hash, size_t size)
{
    uint32_t index = lookup_guess(&list->lookup, hash);
    if (index != LOOKUP_NONE)
        __builtin_prefetch((const unsigned char *)list->items + index * size);
}

void store_frame_fetch(const struct store *store, uint64_t hash)
{
    prefetch_item(&store->frames, hash, sizeof(struct profile_frame));
}

uint32_t store_frame(struct store *store, uint64_t hash, const struct profile_frame *wanted)
{
    const struct profile_frame *frames = store->frames.items;
    struct lookup_walk walk = lookup_start(&store->frames.lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (frames[i].module == wanted->module && frames[i].offset == wanted->offset &&
            frames[i].kernel == wanted->kernel && frames[i].caller == wanted->caller)
            return i;
    struct profile_frame fresh = *wanted;
    fresh.index = store->frames.count;
    return list_add(&store->frames, hash, &fresh, sizeof(fresh));
}

uint64_t store_stack_hash(const uint32_t *frames, uint32_t depth, bool truncated)
{
    return lookup_mix(lookup_hash_bytes(frames, depth * sizeof(*frames)), truncated);
}

void store_stack_fetch(const struct store *store, uint64_t hash)
{
    prefetch_item(&store->stacks, hash, sizeof(struct profile_stack));
}

uint32_t store_stack(struct store *store, uint64_t hash, const uint32_t *frames, uint32_t depth, bool truncated)
{
    const struct profile_stack *stacks = store->stacks.items;
    struct lookup_walk walk = lookup_start(&store->stacks.lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (stacks[i].depth == depth && stacks[i].truncated == truncated &&
            memcmp(stacks[i].frames, frames, depth * sizeof(*frames)) == 0)
            return i;
    struct profile_stack fresh = {arena_copy(&store->arena, frames, depth * sizeof(*frames)), depth, truncated};
    return fresh.frames ? list_add(&store->stacks, hash, &fresh, sizeof(fresh)) : LOOKUP_NONE;
}

/* Linear search: the files of a session have few events, and mostly the same. */
uint32_t store_event(struct store *store, const struct profile_event *wanted)
{
    for (uint32_t i = 0; i < store->events.count; i++) {
        struct profile_event *event = store_event_at(store, i);
        if (event->name != wanted->name || event->type != wanted->type || event->config != wanted->config)
            continue;
        if (wanted->sampled && !event->sampled) {
            event->sampled = true;
            event->frequency = wanted->frequency;
            event->sample_value = wanted->sample_value;
        }
        event->exclude_kernel |= wanted->exclude_kernel;
        return i;
    }
    return list_add(&store->events, lookup_mix((uintptr_t)wanted->name, wanted->config), wanted, sizeof(*wanted));
}

uint64_t store_sample_hash(const struct profile_entry *sample)
{
    return lookup_mix((uint64_t)sample->task << 32 | sample->stack, (uintptr_t)sample->comm + sample->event);
}

void store_sample_fetch(const struct store_list *list, uint64_t hash)
{
    prefetch_item(list, hash, sizeof(struct profile_entry));
}

int store_sample(struct store_list *list, uint64_t hash, const struct profile_entry *sample)
{
    struct profile_entry *entries = list->items;
    struct lookup_walk walk = lookup_start(&list->lookup, hash);
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;) {
        struct profile_entry *entry = &entries[i];
        if (entry->task == sample->task && entry->stack == sample->stack && entry->event == sample->event &&
            entry->comm == sample->comm) {
            entry->samples += sample->samples;
            entry->weight += sample->weight;
            return 0;
        }
    }
    return list_add(list, hash, sample, sizeof(*sample)) == LOOKUP_NONE ? -ENOMEM : 0;
}
