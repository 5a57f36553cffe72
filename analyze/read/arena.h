/* SPDX-License-Identifier: MIT */
/* An arena: allocations are freed all at once. Addresses are stable and aligned to 8 bytes. */
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

#define ARENA_INIT    \
    {                 \
        NULL, NULL, 0 \
    }

void arena_release(struct arena *arena);
/* Not initialised. NULL: out of memory. */
void *arena_take(struct arena *arena, size_t size);
void *arena_copy(struct arena *arena, const void *bytes, size_t size);
/* Copies TEXT up to its NUL, at most SIZE bytes, and terminates the copy. */
char *arena_text(struct arena *arena, const char *text, size_t size);

/*
 * Grows *ITEMS, if needed, so that one more item fits after COUNT items of SIZE bytes each. *CAPACITY counts items.
 * 0 or -ENOMEM. The growth policy of every array here. The memory comes from malloc(): the caller frees it.
 */
int arena_room(void *items, uint32_t *capacity, uint32_t count, size_t size);

#endif
