/* SPDX-License-Identifier: MIT */
/*
 * uthash with this project's settings: include this, not <uthash.h>. Two things differ from its defaults.
 *
 * Out of memory does not end the program: HASH_ADD* then does not add the element, and TABLE_HAS() is false. Keys are
 * hashed with SipHash under a key of this process: profiled programs often choose paths and names, but they cannot fill
 * one bucket without knowing the key.
 *
 *     struct thing { char *name; UT_hash_handle hh; } *things = NULL;
 *     HASH_ADD_KEYPTR(hh, things, thing->name, strlen(thing->name), thing);
 *     if (!TABLE_HAS(thing))
 *         return -ENOMEM;
 */
#ifndef COMMON_TABLE_H
#define COMMON_TABLE_H

#include "common/siphash.h"

/* The key for hashes, constant for the life of this process. Context: any thread; allocates nothing. */
const uint64_t *table_key(void);

#define HASH_NONFATAL_OOM                    1
#define HASH_FUNCTION(bytes, size, ret_hash) ((ret_hash) = (unsigned)siphash(table_key(), bytes, size))
#include <uthash.h>
#ifndef uthash_nonfatal_oom
#error "uthash 2.1.0 or later is needed: out of memory would end the program"
#endif

/* Whether the element was added; to be checked after each HASH_ADD*. */
#define TABLE_HAS(element) ((element)->hh.tbl != NULL)

#endif
