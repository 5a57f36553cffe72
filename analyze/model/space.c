/* SPDX-License-Identifier: MIT */
#include "analyze/model/space.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/arena.h"
#include "common/bound.h"

#define MOST_OF_ONE 65536 /* vm.max_map_count is 65530 */

struct mappings {
    struct mapping *items; /* by start, never overlapping */
    uint32_t count, capacity;
    uint32_t references;
};

/* LIMITS NULL: mappings are not counted any more. */
static void drop_mappings(struct mappings *mappings, struct space_limits *limits)
{
    if (mappings && --mappings->references == 0) {
        if (limits)
            limits->mappings += mappings->count;
        free(mappings->items);
        free(mappings);
    }
}

void space_release(struct space *space)
{
    drop_mappings(space->mappings, NULL);
    drop_mappings(space->before, NULL);
    *space = (struct space){0};
}

void space_reset(struct space *space, struct space_limits *limits)
{
    drop_mappings(space->before, limits);
    *space = (struct space){.before = space->mappings, .state = ++*limits->states};
}

void space_share(struct space *child, const struct space *parent, struct space_limits *limits)
{
    if (parent->mappings)
        parent->mappings->references++;
    if (parent->before)
        parent->before->references++;
    drop_mappings(child->mappings, limits);
    drop_mappings(child->before, limits);
    *child = *parent;
}

/* Makes the mappings of SPACE writable (not shared), if the limits allow two more: a new one, and the end of one that
 * it splits. */
static int unshare_mappings(struct space *space, struct space_limits *limits)
{
    struct mappings *old = space->mappings;
    if (old && old->count >= MOST_OF_ONE)
        return -ENOSPC;
    bool shared = old && old->references > 1;
    uint64_t wanted = 2 + (shared ? old->count : 0);
    if (wanted > limits->mappings)
        return -ENOSPC;
    if (old && !shared)
        return 0;
    struct mappings *fresh = calloc(1, sizeof(*fresh));
    if (!fresh)
        return -ENOMEM;
    fresh->references = 1;
    fresh->capacity = old ? old->count + 8 : 8;
    fresh->items = reallocarray(NULL, fresh->capacity, sizeof(*fresh->items));
    if (!fresh->items) {
        free(fresh);
        return -ENOMEM;
    }
    if (old) {
        memcpy(fresh->items, old->items, old->count * sizeof(*old->items));
        fresh->count = old->count;
        limits->mappings -= old->count;
    }
    drop_mappings(old, limits);
    space->mappings = fresh;
    return 0;
}

/* The index of the first mapping that ends after ADDRESS. */
static uint32_t first_behind(const struct mappings *mappings, uint64_t address)
{
    return (uint32_t)UPPER_BOUND(mappings->items, mappings->count, .end, address);
}

static int room_for_two(struct mappings *mappings)
{
    int status = arena_room(&mappings->items, &mappings->capacity, mappings->count, sizeof(*mappings->items));
    return status < 0
               ? status
               : arena_room(&mappings->items, &mappings->capacity, mappings->count + 1, sizeof(*mappings->items));
}

/* Puts COUNT new items in the place of REMOVED ones at AT. */
static void replace_mappings(struct mappings *mappings, uint32_t at, uint32_t removed, const struct mapping *fresh,
                             uint32_t count)
{
    struct mapping *items = mappings->items;
    memmove(items + at + count, items + at + removed, (mappings->count - at - removed) * sizeof(*items));
    memcpy(items + at, fresh, count * sizeof(*items));
    mappings->count = mappings->count - removed + count;
}

int space_map(struct space *space, struct space_limits *limits, const struct mapping *mapping)
{
    if (mapping->end <= mapping->start)
        return 0;
    int status = unshare_mappings(space, limits);
    if (status < 0)
        return status;
    struct mappings *mappings = space->mappings;
    if (room_for_two(mappings) < 0)
        return -ENOMEM;
    struct mapping fresh[3];
    uint32_t count = 0, at = first_behind(mappings, mapping->start), last = at, before = mappings->count;
    while (last < mappings->count && mappings->items[last].start < mapping->end)
        last++;
    if (last > at && mappings->items[at].start < mapping->start) {
        fresh[count] = mappings->items[at];
        fresh[count++].end = mapping->start;
    }
    fresh[count++] = *mapping;
    if (last > at && mappings->items[last - 1].end > mapping->end) {
        struct mapping rest = mappings->items[last - 1];
        rest.pgoff += mapping->end - rest.start;
        rest.start = mapping->end;
        fresh[count++] = rest;
    }
    replace_mappings(mappings, at, last - at, fresh, count);
    limits->mappings += before; /* the new one may have replaced several */
    limits->mappings -= mappings->count;
    space->state = ++*limits->states;
    return 0;
}

static int copy_mappings(struct mappings **mappings, struct arena *arena, size_t *bytes)
{
    const struct mappings *old = *mappings;
    if (!old)
        return 0;
    struct mappings *fresh = arena_take(arena, sizeof(*fresh));
    struct mapping *items = arena_copy(arena, old->items, old->count * sizeof(*items));
    if (!fresh || !items)
        return -ENOMEM;
    *fresh = (struct mappings){.items = items, .count = old->count, .capacity = old->count, .references = 1};
    *bytes += sizeof(*fresh) + old->count * sizeof(*items);
    *mappings = fresh;
    return 0;
}

struct space *space_copy(const struct space *space, struct arena *arena, size_t *bytes)
{
    struct space *copy = arena_copy(arena, space, sizeof(*space));
    if (!copy || copy_mappings(&copy->mappings, arena, bytes) < 0 || copy_mappings(&copy->before, arena, bytes) < 0)
        return NULL;
    return copy;
}

static const struct mapping *find_mapping(const struct mappings *mappings, uint64_t address)
{
    uint32_t at = mappings ? first_behind(mappings, address) : 0;
    return mappings && at < mappings->count && mappings->items[at].start <= address ? &mappings->items[at] : NULL;
}

const struct mapping *space_find(const struct space *space, uint64_t address)
{
    const struct mapping *mapping = find_mapping(space->mappings, address);
    return mapping ? mapping : find_mapping(space->before, address);
}

const struct mapping *space_below(const struct space *space, uint64_t address)
{
    uint32_t at = space->mappings ? first_behind(space->mappings, address) : 0;
    return at > 0 ? &space->mappings->items[at - 1] : NULL;
}

const struct mapping *space_above(const struct space *space, uint64_t address)
{
    const struct mappings *mappings = space->mappings;
    uint32_t at = mappings ? first_behind(mappings, address) : 0;
    /* The one that contains ADDRESS is not above it. */
    at += mappings && at < mappings->count && mappings->items[at].start <= address;
    return mappings && at < mappings->count ? &mappings->items[at] : NULL;
}
