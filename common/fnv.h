/* SPDX-License-Identifier: MIT */
/*
 * FNV-1a, 64 bits: a hash for comparisons, and for tables whose keys are not chosen to collide. For other tables:
 * table.h. Context: any.
 */
#ifndef COMMON_FNV_H
#define COMMON_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV_BEGIN UINT64_C(0xcbf29ce484222325)

/* Continues HASH, which is FNV_BEGIN or an earlier result, with SIZE bytes. */
static inline uint64_t fnv(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#endif
