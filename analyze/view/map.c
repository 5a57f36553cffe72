/* SPDX-License-Identifier: MIT */
#include "analyze/view/map.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t hash = a * 0x9e3779b97f4a7c15u ^ (b + 0x7f4a7c15u) * 0xc2b2ae3d27d4eb4fu;
    hash ^= hash >> 29;
    hash *= 0xbf58476d1ce4e5b9u;
    return hash ^ hash >> 32;
}

static uint64_t hash_text(const char *text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    return mix(hash, 0);
}

/* Puts INDEX, whose hash is HASH and which is known to be new, into SLOTS. */
static void put(uint32_t *slots, size_t slot_count, uint64_t hash, uint32_t index)
{
    size_t at = hash & (slot_count - 1);
    while (slots[at])
        at = (at + 1) & (slot_count - 1);
    slots[at] = index + 1;
}

static void rehash(struct map *map)
{
    size_t size = map->slot_count ? map->slot_count * 2 : 64;
    free(map->slots);
    map->slots = memory_new(size, sizeof(*map->slots));
    map->slot_count = size;
    for (size_t i = 0; i < map->count; i++)
        put(map->slots, size, mix(map->pairs[i].a, map->pairs[i].b), (uint32_t)i);
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
    for (size_t at = mix(a, b) & (map->slot_count - 1); map->slots[at]; at = (at + 1) & (map->slot_count - 1)) {
        uint32_t index = map->slots[at] - 1;
        if (map->pairs[index].a == a && map->pairs[index].b == b)
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
        rehash(map);
    map->pairs = memory_grow(map->pairs, &map->capacity, map->count + 1, sizeof(*map->pairs));
    map->pairs[map->count] = (struct map_pair){a, b};
    put(map->slots, map->slot_count, mix(a, b), (uint32_t)map->count);
    return (uint32_t)map->count++;
}

void map_strings_release(struct map_strings *strings)
{
    for (size_t i = 0; i < strings->count; i++)
        free(strings->texts[i]);
    free(strings->texts);
    free(strings->slots);
    *strings = (struct map_strings){0};
}

static void rehash_strings(struct map_strings *strings)
{
    size_t size = strings->slot_count ? strings->slot_count * 2 : 64;
    free(strings->slots);
    strings->slots = memory_new(size, sizeof(*strings->slots));
    strings->slot_count = size;
    for (size_t i = 0; i < strings->count; i++)
        put(strings->slots, size, hash_text(strings->texts[i]), (uint32_t)i);
}

uint32_t map_strings_add(struct map_strings *strings, const char *text)
{
    uint64_t hash = hash_text(text);
    size_t mask = strings->slot_count - 1;
    for (size_t at = hash & mask; strings->slot_count && strings->slots[at]; at = (at + 1) & mask)
        if (strcmp(strings->texts[strings->slots[at] - 1], text) == 0)
            return strings->slots[at] - 1;
    if ((strings->count + 1) * 4 > strings->slot_count * 3)
        rehash_strings(strings);
    strings->texts = memory_grow(strings->texts, &strings->capacity, strings->count + 1, sizeof(*strings->texts));
    strings->texts[strings->count] = memory_text(text);
    put(strings->slots, strings->slot_count, hash, (uint32_t)strings->count);
    return (uint32_t)strings->count++;
}
