/* SPDX-License-Identifier: MIT */
/*
 * A hash table from hashes to indices of things that are kept elsewhere. A walk returns the indices with a hash in the
 * order in which they were added; the caller compares the things.
 *
 *     struct lookup_walk walk = lookup_start(&table, hash);
 *     for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
 *         if (things[i] is meant)
 *             return i;
 */
#ifndef ANALYZE_MODEL_LOOKUP_H
#define ANALYZE_MODEL_LOOKUP_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define LOOKUP_NONE UINT32_MAX

struct lookup_place {
    uint32_t hash;
    uint32_t index; /* + 1; 0: empty slot */
};

struct lookup {
    struct lookup_place *places;
    uint32_t mask, used;
};

struct lookup_walk {
    const struct lookup *lookup;
    uint32_t hash, at;
};

static inline uint64_t lookup_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 32;
}

static inline uint64_t lookup_hash_bytes(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = size;
    for (; size >= 8; at += 8, size -= 8) {
        uint64_t value;
        __builtin_memcpy(&value, at, 8);
        hash = lookup_mix(hash, value);
    }
    uint64_t rest = 0;
    __builtin_memcpy(&rest, at, size);
    return lookup_mix(hash, rest);
}

static inline struct lookup_walk lookup_start(const struct lookup *lookup, uint64_t hash)
{
    return (struct lookup_walk){lookup, (uint32_t)hash, (uint32_t)hash & lookup->mask};
}

static inline uint32_t lookup_next(struct lookup_walk *walk)
{
    const struct lookup *lookup = walk->lookup;
    while (lookup->places && lookup->places[walk->at].index) {
        const struct lookup_place *place = &lookup->places[walk->at];
        walk->at = (walk->at + 1) & lookup->mask;
        if (place->hash == walk->hash)
            return place->index - 1;
    }
    return LOOKUP_NONE;
}

/* A table larger than the CPU's caches is prefetched in two steps, with other work in between: first the slot of
 * HASH, */
static inline void lookup_prefetch(const struct lookup *lookup, uint64_t hash)
{
    if (lookup->places)
        __builtin_prefetch(&lookup->places[(uint32_t)hash & lookup->mask]);
}

/* then the thing itself, which most likely has the index returned here. */
static inline uint32_t lookup_guess(const struct lookup *lookup, uint64_t hash)
{
    const struct lookup_place *place = lookup->places ? &lookup->places[(uint32_t)hash & lookup->mask] : NULL;
    return place && place->index ? place->index - 1 : LOOKUP_NONE;
}

static inline void lookup_put(struct lookup *lookup, uint32_t hash, uint32_t index)
{
    uint32_t at = hash & lookup->mask;
    while (lookup->places[at].index)
        at = (at + 1) & lookup->mask;
    lookup->places[at] = (struct lookup_place){hash, index};
    lookup->used++;
}

static inline int lookup_grow(struct lookup *lookup)
{
    struct lookup old = *lookup;
    uint32_t places = old.places ? (old.mask + 1) * 2 : 64;
    if (places == 0)
        return -ENOMEM;
    struct lookup_place *fresh = calloc(places, sizeof(*fresh));
    if (!fresh)
        return -ENOMEM;
    *lookup = (struct lookup){fresh, places - 1, 0};
    for (uint32_t i = 0; old.places && i <= old.mask; i++)
        if (old.places[i].index)
            lookup_put(lookup, old.places[i].hash, old.places[i].index);
    free(old.places);
    return 0;
}

/* Adds INDEX under HASH. 0 or -ENOMEM. */
static inline int lookup_add(struct lookup *lookup, uint64_t hash, uint32_t index)
{
    if (index >= UINT32_MAX - 1 ||
        ((!lookup->places || lookup->used >= lookup->mask / 4 * 3) && lookup_grow(lookup) < 0))
        return -ENOMEM;
    lookup_put(lookup, (uint32_t)hash, index + 1);
    return 0;
}

static inline void lookup_release(struct lookup *lookup)
{
    free(lookup->places);
    *lookup = (struct lookup){0};
}

#endif
