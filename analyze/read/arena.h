/* SPDX-License-Identifier: MIT */
/* Memory that is given back all at once. Addresses are stable and aligned to 8. */
#ifndef ANALYZE_READ_ARENA_H
#define ANALYZE_READ_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct arena_block;

struct arena {
    struct arena_block *blocks;
    unsigned char *at;
    size_t left;
};

#define ARENA_INIT {NULL, NULL, 0}

void arena_release(struct arena *arena);
/* Not initialised. NULL without memory. */
void *arena_take(struct arena *arena, size_t size);
void *arena_copy(struct arena *arena, const void *bytes, size_t size);
/* The bytes up to SIZE or their NUL, terminated. */
char *arena_text(struct arena *arena, const char *text, size_t size);

/*
 * Makes room for one more item behind COUNT of SIZE bytes each in *ITEMS of *CAPACITY. 0 or -ENOMEM. The growth policy
 * of every array here; plain memory, to be freed.
 */
int arena_room(void *items, uint32_t *capacity, uint32_t count, size_t size);

#endif
