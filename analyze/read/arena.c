/* SPDX-License-Identifier: MIT */
#include "analyze/read/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST (16u << 10)
#define LARGEST  (1u << 20)

struct arena_block {
    struct arena_block *next;
    size_t size;
    unsigned char bytes[];
};

void arena_release(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
    *arena = (struct arena)ARENA_INIT;
}

static int add_block(struct arena *arena, size_t size)
{
    /* Block sizes double: small files use little memory, large ones few calls. */
    size_t wanted = arena->blocks ? arena->blocks->size * 2 : SMALLEST;
    if (wanted > LARGEST)
        wanted = LARGEST;
    if (wanted < size)
        wanted = size;
    struct arena_block *block = malloc(sizeof(*block) + wanted);
    if (!block)
        return -ENOMEM;
    block->next = arena->blocks;
    block->size = wanted;
    arena->blocks = block;
    arena->at = block->bytes;
    arena->left = wanted;
    return 0;
}

void *arena_take(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = size ? (size + 7) & ~(size_t)7 : 8;
    if (size > arena->left && add_block(arena, size) < 0)
        return NULL;
    void *at = arena->at;
    arena->at += size;
    arena->left -= size;
    return at;
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    void *copy = arena_take(arena, size);
    if (copy && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

char *arena_text(struct arena *arena, const char *text, size_t size)
{
    size_t length = strnlen(text, size);
    char *copy = arena_take(arena, length + 1);
    if (copy) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

int arena_room(void *items, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity)
        return 0;
    /* UINT32_MAX means "none" everywhere. */
    if (*capacity >= UINT32_MAX / 2)
        return -ENOMEM;
    uint32_t wanted = *capacity ? *capacity * 2 : 8;
    void **at = items;
    void *grown = reallocarray(*at, wanted, size);
    if (!grown)
        return -ENOMEM;
    *at = grown;
    *capacity = wanted;
    return 0;
}
