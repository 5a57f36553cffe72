/* SPDX-License-Identifier: MIT */
/*
 * Hash tables of the views: number pairs of numbers, or strings, 0, 1, 2, ... in the order in which they are added. The
 * hashes have a key that nobody can guess: profiled programs choose what they are called and which addresses they touch.
 */
#ifndef ANALYZE_VIEW_MAP_H
#define ANALYZE_VIEW_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_pair {
    uint64_t a, b;
};

struct map_slot {
    uint32_t hash;  /* compared first, so that other keys in the same slot need no further look */
    uint32_t index; /* + 1; 0: empty slot */
};

struct map {
    struct map_slot *slots;
    size_t slot_count;      /* a power of two */
    struct map_pair *pairs; /* by index */
    size_t count, capacity;
};

#define MAP_NONE UINT32_MAX

void map_release(struct map *map);
/* Empties the map, but keeps its memory. */
void map_clear(struct map *map);
/* The number of (A, B); a new pair gets the next number. */
uint32_t map_add(struct map *map, uint64_t a, uint64_t b);
/* The number of (A, B) or MAP_NONE. */
uint32_t map_find(const struct map *map, uint64_t a, uint64_t b);

/* Strings are copied. */
struct map_strings {
    struct map_slot *slots;
    size_t slot_count;
    char **texts; /* by index */
    size_t count, capacity;
};

void map_strings_release(struct map_strings *strings);
uint32_t map_strings_add(struct map_strings *strings, const char *text);

#endif
