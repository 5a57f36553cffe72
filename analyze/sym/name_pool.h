/* SPDX-License-Identifier: MIT */
/* Strings that live as long as the pool. */
#ifndef ANALYZE_SYM_NAME_POOL_H
#define ANALYZE_SYM_NAME_POOL_H

#include <stddef.h>

struct name_pool_chunk;

struct name_pool {
    struct name_pool_chunk *chunks;
    size_t demangled; /* bytes that the demangler printed so far */
};

void name_pool_release(struct name_pool *pool);
/* A copy of TEXT[SIZE] with a final NUL. NULL: out of memory. */
const char *name_pool_string(struct name_pool *pool, const char *text, size_t size);
/* HEAD and TAIL as one string. NULL: out of memory. */
const char *name_pool_join(struct name_pool *pool, const char *head, const char *tail);

#endif
