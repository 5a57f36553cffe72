/* SPDX-License-Identifier: MIT */
/* The parts of a profile, each stored once: strings, modules, frames, stacks, events, entries. Except for strings,
 * others refer to them by index. */
#ifndef ANALYZE_MODEL_STORE_H
#define ANALYZE_MODEL_STORE_H

#include "analyze/model/lookup.h"
#include "analyze/model/profile.h"
#include "analyze/read/arena.h"

struct store_list {
    void *items;
    uint32_t count, capacity;
    struct lookup lookup;
};

struct store {
    struct arena arena;
    struct store_list texts;   /* const char * */
    struct store_list modules; /* const struct profile_module * */
    struct store_list frames;  /* struct profile_frame */
    struct store_list stacks;  /* struct profile_stack */
    struct store_list events;  /* struct profile_event; few: no lookup */
    struct store_list entries; /* struct profile_entry */
    struct store_list sums;    /* the same, without stacks */
};

void store_release(struct store *store);

/* The one copy of TEXT up to its NUL, at most SIZE bytes. NULL: out of memory. */
const char *store_text(struct store *store, const char *text, size_t size);
const char *store_string(struct store *store, const char *text);

/* These return an index, which is LOOKUP_NONE: out of memory. The path must be of store_text(). */
uint32_t store_module(struct store *store, const struct profile_module *wanted);
/* HASH: store_..._hash() of the same thing. store_..._fetch() prefetches what a look-up of HASH will read. */
uint64_t store_frame_hash(const struct profile_frame *wanted);
uint32_t store_frame(struct store *store, uint64_t hash, const struct profile_frame *wanted);
void store_frame_fetch(const struct store *store, uint64_t hash);
uint64_t store_stack_hash(const uint32_t *frames, uint32_t depth, bool truncated);
uint32_t store_stack(struct store *store, uint64_t hash, const uint32_t *frames, uint32_t depth, bool truncated);
void store_stack_fetch(const struct store *store, uint64_t hash);
uint32_t store_event(struct store *store, const struct profile_event *wanted);
/* Adds SAMPLE to the entry of LIST (entries or sums) with the same task, event, stack and comm. 0 or -ENOMEM. */
int store_sample(struct store_list *list, uint64_t hash, const struct profile_entry *sample);
uint64_t store_sample_hash(const struct profile_entry *sample);
void store_sample_fetch(const struct store_list *list, uint64_t hash);

static inline struct profile_event *store_event_at(const struct store *store, uint32_t index)
{
    return (struct profile_event *)store->events.items + index;
}

static inline const struct profile_module *store_module_at(const struct store *store, uint32_t index)
{
    return ((const struct profile_module **)store->modules.items)[index];
}

#endif
