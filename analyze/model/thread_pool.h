/* SPDX-License-Identifier: MIT */
/*
 * The thread pool: threads look up stacks of samples while the caller reads on. Only the caller uses tasks, events and
 * address spaces; it hands over samples in batches, with copies of all data that a thread needs. Each thread has its
 * own frames, stacks and entries. thread_pool_finish() adds them to the store in the order of the batches, so that
 * everything gets the index that it would have without threads: the profile does not depend on their number.
 */
#ifndef ANALYZE_MODEL_THREAD_POOL_H
#define ANALYZE_MODEL_THREAD_POOL_H

#include "analyze/model/chain.h"
#include "analyze/model/store.h"

struct thread_pool;

enum { THREAD_POOL_MAX = 64 };

/* The number of threads to use for the wish WANTED (0: one per CPU that this process may use). */
unsigned thread_pool_size(unsigned wanted);

/*
 * CHAIN and its store stay the caller's, but only the pool may add frames, stacks or entries until
 * thread_pool_finish(). THREADS 1: only the caller's thread. Others start once there are many samples. NULL: out of
 * memory.
 */
struct thread_pool *thread_pool_new(struct chain *chain, unsigned threads);
/* Waits for the threads; drops what thread_pool_finish() has not added. */
void thread_pool_free(struct thread_pool *pool);

/* Adds ENTRY with the stack of SAMPLE; both are copied, except for the comm. 0, or -ENOMEM, also if a thread ran out of
 * memory. */
int thread_pool_add(struct thread_pool *pool, const struct profile_entry *entry, const struct chain_place *place,
                    const struct record *sample);
/* The next samples are of another file: earlier SAMPLE->attr are no longer valid. */
void thread_pool_next_file(struct thread_pool *pool);
/* Waits until all stacks are found, and adds them to the store of CHAIN. The pool can be used again. 0 or -ENOMEM. */
int thread_pool_finish(struct thread_pool *pool);

#endif
