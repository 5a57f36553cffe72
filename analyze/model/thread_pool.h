/* SPDX-License-Identifier: MIT */
/*
 * Threads that find the stacks of samples while the caller goes on reading. The caller alone knows tasks, events and
 * address spaces; it hands over samples in batches, each with copies of all that a thread must look at. Each thread has
 * frames, stacks and entries of its own; thread_pool_finish() adds them to the store, batch by batch, so that
 * everything gets the place it would have had without threads: the profile is the same for every number of them.
 */
#ifndef ANALYZE_MODEL_THREAD_POOL_H
#define ANALYZE_MODEL_THREAD_POOL_H

#include "analyze/model/chain.h"
#include "analyze/model/store.h"

struct thread_pool;

enum { THREAD_POOL_MAX = 64 };

/* How many threads there are to be where the caller wants WANTED (0: one per CPU that this process may use). */
unsigned thread_pool_size(unsigned wanted);

/*
 * CHAIN and its store are the caller's; nobody else adds frames, stacks or entries to it until thread_pool_finish().
 * THREADS of 1: there is none but the caller's. More begin when there are many samples. NULL without memory.
 */
struct thread_pool *thread_pool_new(struct chain *chain, unsigned threads);
/* Waits for the threads; what they found and was not asked for is dropped. */
void thread_pool_free(struct thread_pool *pool);

/* ENTRY and the SAMPLE that its stack is of; copied, but for the comm. 0 or -ENOMEM, also for what a thread lacked. */
int thread_pool_add(struct thread_pool *pool, const struct profile_entry *entry, const struct chain_place *place,
                    const struct record *sample);
/* The samples to come are of another file: what SAMPLE->attr pointed to is gone. */
void thread_pool_next_file(struct thread_pool *pool);
/* Waits until all is found, and adds it to the store of CHAIN. The threads can go on then. 0 or -ENOMEM. */
int thread_pool_finish(struct thread_pool *pool);

#endif
