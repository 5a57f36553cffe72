/* SPDX-License-Identifier: MIT */
/*
 * uthash as this project uses it: include this, not <uthash.h>. Two things differ from its defaults.
 *
 * Out of memory does not end the program: HASH_ADD* leaves out what has no room, and TABLE_HAS() then says false.
 * Keys are hashed with SipHash under a key of this process: paths and names are often the choice of the profiled
 * programs, and who cannot guess the key cannot fill one bucket.
 *
 *     struct thing { char *name; UT_hash_handle hh; } *things = NULL;
 *     HASH_ADD_KEYPTR(hh, things, thing->name, strlen(thing->name), thing);
 *     if (!TABLE_HAS(thing))
 *         return -ENOMEM;
 */
#ifndef COMMON_TABLE_H
#define COMMON_TABLE_H

#include "common/siphash.h"

/* Key of the hashes of this process, the same until it ends. Context: any thread; allocates nothing. */
const uint64_t *table_key(void);

#define HASH_NONFATAL_OOM 1
#define HASH_FUNCTION(bytes, size, ret_hash) ((ret_hash) = (unsigned)siphash(table_key(), bytes, size))
#include <uthash.h>
#ifndef uthash_nonfatal_oom
#error "uthash 2.1.0 or later is needed: out of memory would end the program"
#endif

/* Whether the element was added: behind each HASH_ADD*. */
#define TABLE_HAS(element) ((element)->hh.tbl != NULL)

#endif
