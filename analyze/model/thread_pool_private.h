/* SPDX-License-Identifier: MIT */
/* Shared by thread_pool.c and thread_pool_merge.c. */
#ifndef ANALYZE_MODEL_THREAD_POOL_PRIVATE_H
#define ANALYZE_MODEL_THREAD_POOL_PRIVATE_H

#include <pthread.h>

#include "analyze/model/thread_pool.h"

struct thread_pool_attr {
    uint64_t file;
    struct attr *copy;
};

struct thread_pool_batch {
    struct thread_pool_batch *next;
    uint64_t number;
    struct chain_sample *items;
    uint32_t count;
    size_t bytes;         /* copied, about */
    struct arena arena;   /* chains, spaces, events, modules */
    struct lookup spaces; /* copies by state */
    struct space **space_list;
    uint32_t space_count, space_capacity;
    struct thread_pool_attr *attrs;
    uint32_t attr_count, attr_capacity;
    const struct profile_module *const *modules;
};

struct thread_pool_worker {
    struct thread_pool *pool;
    pthread_t thread;
    struct store store;
    struct chain chain;
};

/* The lengths of a worker's lists after it did a batch. */
struct thread_pool_mark {
    uint32_t worker, frames, stacks, entries;
};

struct thread_pool {
    struct chain *chain; /* the caller's */
    uint64_t file;
    struct thread_pool_worker *workers;
    unsigned wanted, worker_count;     /* worker_count 0: too few samples so far, the caller does the work */
    uint64_t samples;                  /* that the caller did */
    struct thread_pool_batch *filling; /* the caller's, being filled */
    uint64_t batches;                  /* handed over since the last merge */

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t work, done;
    struct thread_pool_batch *waiting, **last, *idle;
    unsigned busy;
    bool over, failed;
    uint64_t entries;               /* new ones of the threads since the last merge */
    struct thread_pool_mark *marks; /* by number of batch */
    uint32_t mark_capacity;
};

int thread_pool_worker_init(struct thread_pool_worker *worker, struct thread_pool *pool);
void thread_pool_worker_release(struct thread_pool_worker *worker);
/* To be called while no thread works. 0 or -ENOMEM. */
int thread_pool_merge(struct thread_pool *pool);

#endif
