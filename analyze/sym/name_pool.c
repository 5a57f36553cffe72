/* SPDX-License-Identifier: MIT */
#include "analyze/sym/name_pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { POOL_CHUNK = 64 * 1024 };

struct name_pool_chunk {
    struct name_pool_chunk *next;
    size_t used, size;
    char bytes[];
};

void name_pool_release(struct name_pool *pool)
{
    while (pool->chunks) {
        struct name_pool_chunk *chunk = pool->chunks;

        pool->chunks = chunk->next;
        free(chunk);
    }
}

static char *reserve_name(struct name_pool *pool, size_t size)
{
    struct name_pool_chunk *chunk = pool->chunks;

    if (!chunk || chunk->size - chunk->used < size) {
        size_t room = size > POOL_CHUNK ? size : POOL_CHUNK;

        if (room > SIZE_MAX / 2)
            return NULL;
        chunk = malloc(sizeof(*chunk) + room);
        if (!chunk)
            return NULL;
        chunk->used = 0;
        chunk->size = room;
        chunk->next = pool->chunks;
        pool->chunks = chunk;
    }
    chunk->used += size;
    return chunk->bytes + chunk->used - size;
}

const char *name_pool_string(struct name_pool *pool, const char *text, size_t size)
{
    char *copy = size < SIZE_MAX / 4 ? reserve_name(pool, size + 1) : NULL;

    if (!copy)
        return NULL;
    memcpy(copy, text, size);
    copy[size] = '\0';
    return copy;
}

const char *name_pool_join(struct name_pool *pool, const char *head, const char *tail)
{
    size_t head_size = strlen(head), tail_size = strlen(tail);
    char *copy = reserve_name(pool, head_size + tail_size + 1);

    if (!copy)
        return NULL;
    memcpy(copy, head, head_size);
    memcpy(copy + head_size, tail, tail_size + 1);
    return copy;
}
