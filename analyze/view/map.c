/* SPDX-License-Identifier: MIT */
#include "analyze/view/map.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "common/table.h"

struct map_string {
    UT_hash_handle hh;
    uint32_t index;
    char text[];
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t hash = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

/* Puts INDEX with HASH, which must be new, into SLOTS. */
static void put_slot(struct map_slot *slots, size_t slot_count, uint32_t hash, uint32_t index)
{
    size_t at = hash & (slot_count - 1);
    while (slots[at].index)
        at = (at + 1) & (slot_count - 1);
    slots[at] = (struct map_slot){hash, index + 1};
}

/* Doubles the slots; called when more than three quarters are in use. */
static void grow_slots(struct map *map)
{
    struct map_slot *old = map->slots;
    size_t old_count = map->slot_count;
    map->slot_count = old_count ? old_count * 2 : 64;
    map->slots = memory_new(map->slot_count, sizeof(*map->slots));
    for (size_t i = 0; i < old_count; i++)
        if (old[i].index)
            put_slot(map->slots, map->slot_count, old[i].hash, old[i].index - 1);
    free(old);
}

void map_release(struct map *map)
{
    free(map->slots);
    free(map->pairs);
    *map = (struct map){0};
}

void map_clear(struct map *map)
{
    if (map->slots)
        memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
    map->count = 0;
}

uint32_t map_find(const struct map *map, uint64_t a, uint64_t b)
{
    if (!map->slot_count)
        return MAP_NONE;
    uint32_t hash = (uint32_t)mix(a, b);
    size_t mask = map->slot_count - 1;
    for (size_t at = hash & mask; map->slots[at].index; at = (at + 1) & mask) {
        uint32_t index = map->slots[at].index - 1;
        if (map->slots[at].hash == hash && map->pairs[index].a == a && map->pairs[index].b == b)
            return index;
    }
    return MAP_NONE;
}

uint32_t map_add(struct map *map, uint64_t a, uint64_t b)
{
    uint32_t found = map_find(map, a, b);
    if (found != MAP_NONE)
        return found;
    if ((map->count + 1) * 4 > map->slot_count * 3)
        grow_slots(map);
    map->pairs = memory_grow(map->pairs, &map->capacity, map->count + 1, sizeof(*map->pairs));
    map->pairs[map->count] = (struct map_pair){a, b};
    put_slot(map->slots, map->slot_count, (uint32_t)mix(a, b), (uint32_t)map->count);
    return (uint32_t)map->count++;
}

void map_strings_release(struct map_strings *strings)
{
    struct map_string *string, *next;
    HASH_ITER(hh, strings->table, string, next)
    {
        HASH_DEL(strings->table, string);
        free(string);
    }
    free(strings->texts);
    *strings = (struct map_strings){0};
}

uint32_t map_strings_add(struct map_strings *strings, const char *text)
{
    size_t size = strlen(text);
    struct map_string *string;
    HASH_FIND(hh, strings->table, text, size, string);
    if (string)
        return string->index;
    string = memory_new(1, sizeof(*string) + size + 1);
    memcpy(string->text, text, size + 1);
    string->index = (uint32_t)strings->count;
    HASH_ADD_KEYPTR(hh, strings->table, string->text, size, string);
    if (!TABLE_HAS(string))
        memory_exhausted();
    strings->texts = memory_grow(strings->texts, &strings->capacity, strings->count + 1, sizeof(*strings->texts));
    strings->texts[strings->count++] = string->text;
    return string->index;
}
