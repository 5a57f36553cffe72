/* SPDX-License-Identifier: MIT */
#include "analyze/view/map.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "common/table.h"

static uint64_t fold(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Most look-ups of the views are of pairs: siphash() would take several times as long. */
static uint32_t mix(uint64_t a, uint64_t b)
{
    const uint64_t *key = table_key();
    return (uint32_t)fold(fold(a ^ key[0], key[1] | 1) ^ b, key[0] | 1);
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
static void grow_slots(struct map_slot **slots, size_t *slot_count)
{
    const size_t old_count = *slot_count;
    struct map_slot *old = *slots;
    *slot_count = old_count ? old_count * 2 : 64;
    *slots = memory_new(*slot_count, sizeof(**slots));
    for (size_t i = 0; i < old_count; i++)
        if (old[i].index)
            put_slot(*slots, *slot_count, old[i].hash, old[i].index - 1);
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
    uint32_t hash = mix(a, b);
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
        grow_slots(&map->slots, &map->slot_count);
    map->pairs = memory_grow(map->pairs, &map->capacity, map->count + 1, sizeof(*map->pairs));
    map->pairs[map->count] = (struct map_pair){a, b};
    put_slot(map->slots, map->slot_count, mix(a, b), (uint32_t)map->count);
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

uint32_t map_strings_add(struct map_strings *strings, const char *text)
{
    const size_t size = strlen(text);
    const uint32_t hash = (uint32_t)siphash(table_key(), text, size);
    const size_t mask = strings->slot_count - 1;
    for (size_t at = hash & mask; strings->slot_count && strings->slots[at].index; at = (at + 1) & mask)
        if (strings->slots[at].hash == hash && strcmp(strings->texts[strings->slots[at].index - 1], text) == 0)
            return strings->slots[at].index - 1;
    if ((strings->count + 1) * 4 > strings->slot_count * 3)
        grow_slots(&strings->slots, &strings->slot_count);
    strings->texts = memory_grow(strings->texts, &strings->capacity, strings->count + 1, sizeof(*strings->texts));
    strings->texts[strings->count] = memory_text(text);
    put_slot(strings->slots, strings->slot_count, hash, (uint32_t)strings->count);
    return (uint32_t)strings->count++;
}
