/* SPDX-License-Identifier: MIT */
#include "analyze/model/thread_pool.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/thread_pool_private.h"

#define BATCH_SAMPLES 1024u
#define BATCH_BYTES   (4u << 20)
#define FEW_SAMPLES   50000u     /* below this, threads cost more than they gain */
#define MANY_ENTRIES  (1u << 20) /* of all threads since the last merge: then the caller merges them */

unsigned thread_pool_size(unsigned wanted)
{
    cpu_set_t cpus;
    if (wanted == 0)
        wanted = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
    return wanted < THREAD_POOL_MAX ? wanted : THREAD_POOL_MAX;
}

int thread_pool_worker_init(struct thread_pool_worker *worker, struct thread_pool *pool)
{
    worker->pool = pool;
    worker->store = (struct store){0};
    int status = chain_init(&worker->chain, &worker->store);
    worker->chain.kernel_module = pool->chain->kernel_module;
    return status;
}

void thread_pool_worker_release(struct thread_pool_worker *worker)
{
    chain_release(&worker->chain);
    store_release(&worker->store);
}

/* Empties BATCH, but keeps memory that can be used again. */
static void clear_batch(struct thread_pool_batch *batch)
{
    arena_release(&batch->arena);
    lookup_release(&batch->spaces);
    batch->count = batch->space_count = batch->attr_count = 0;
    batch->bytes = 0;
}

static void free_batches(struct thread_pool_batch *list)
{
    while (list) {
        struct thread_pool_batch *batch = list;
        list = batch->next;
        clear_batch(batch);
        free(batch->items);
        free(batch->space_list);
        free(batch->attrs);
        free(batch);
    }
}

static int look_up_batch(struct thread_pool_worker *worker, const struct thread_pool_batch *batch)
{
    worker->chain.modules = batch->modules;
    /* NULL: re-initialising the worker failed. */
    return worker->chain.known ? chain_add(&worker->chain, batch->items, batch->count) : -ENOMEM;
}

static void *run_worker(void *argument)
{
    struct thread_pool_worker *worker = argument;
    struct thread_pool *pool = worker->pool;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->waiting && !pool->over)
            pthread_cond_wait(&pool->work, &pool->lock);
        struct thread_pool_batch *batch = pool->waiting;
        if (!batch)
            break;
        pool->waiting = batch->next;
        if (!pool->waiting)
            pool->last = &pool->waiting;
        pool->busy++;
        bool failed = pool->failed || pool->over;
        uint32_t entries = worker->store.entries.count;
        pthread_mutex_unlock(&pool->lock);
        if (!failed)
            failed = look_up_batch(worker, batch) < 0;
        clear_batch(batch);
        pthread_mutex_lock(&pool->lock);
        pool->entries += worker->store.entries.count - entries;
        pool->marks[batch->number] = (struct thread_pool_mark){(uint32_t)(worker - pool->workers),
                                                               worker->store.frames.count, worker->store.stacks.count,
                                                               worker->store.entries.count};
        pool->failed |= failed;
        pool->busy--;
        batch->next = pool->idle;
        pool->idle = batch;
        pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int add_batch(struct thread_pool *pool)
{
    struct thread_pool_batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        return -ENOMEM;
    batch->next = pool->idle;
    pool->idle = batch;
    batch->items = reallocarray(NULL, BATCH_SAMPLES, sizeof(*batch->items));
    return batch->items ? 0 : -ENOMEM;
}

/* If fewer threads start than wanted, these do the work; if none does, the caller does it. */
static void start_workers(struct thread_pool *pool)
{
    unsigned threads = pool->wanted;
    pool->wanted = 1;
    pool->workers = calloc(threads, sizeof(*pool->workers));
    for (unsigned i = 0; pool->workers && i < threads; i++) {
        struct thread_pool_worker *worker = &pool->workers[i];
        if (thread_pool_worker_init(worker, pool) < 0 || add_batch(pool) < 0 || add_batch(pool) < 0 ||
            pthread_create(&worker->thread, NULL, run_worker, worker) != 0) {
            thread_pool_worker_release(worker);
            break;
        }
        pool->worker_count++;
    }
}

struct thread_pool *thread_pool_new(struct chain *chain, unsigned threads)
{
    struct thread_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->chain = chain;
    pool->wanted = threads;
    pool->last = &pool->waiting;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    if (add_batch(pool) < 0) {
        thread_pool_free(pool);
        return NULL;
    }
    return pool;
}

void thread_pool_free(struct thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->over = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->worker_count; i++) {
        pthread_join(pool->workers[i].thread, NULL);
        thread_pool_worker_release(&pool->workers[i]);
    }
    free_batches(pool->filling);
    free_batches(pool->waiting);
    free_batches(pool->idle);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    free(pool->workers);
    free(pool->marks);
    free(pool);
}

static int look_up_here(struct thread_pool *pool)
{
    struct thread_pool_batch *batch = pool->filling;
    int status = chain_add(pool->chain, batch->items, batch->count);
    pool->samples += batch->count;
    clear_batch(batch);
    return status;
}

/* Waits for all batches that were handed over, and merges the results into the caller's store. */
static int finish_batches(struct thread_pool *pool)
{
    int status = 0;
    pthread_mutex_lock(&pool->lock);
    while (pool->waiting || pool->busy > 0)
        pthread_cond_wait(&pool->done, &pool->lock);
    if (pool->failed)
        status = -ENOMEM;
    pool->entries = 0;
    pthread_mutex_unlock(&pool->lock);
    return status < 0 || pool->worker_count == 0 ? status : thread_pool_merge(pool);
}

/* Hands over the batch that was filled. */
static int post_batch(struct thread_pool *pool)
{
    struct thread_pool_batch *batch = pool->filling;
    const struct store *store = pool->chain->store;
    if (!batch || batch->count == 0)
        return 0;
    if (pool->wanted > 1 && pool->samples >= FEW_SAMPLES)
        start_workers(pool);
    if (pool->worker_count == 0)
        return look_up_here(pool);
    /* The list moves when it grows, so threads get a copy. */
    batch->modules = arena_copy(&batch->arena, store->modules.items, store->modules.count * sizeof(void *));
    if (!batch->modules)
        return -ENOMEM;
    pthread_mutex_lock(&pool->lock);
    bool many = pool->entries >= MANY_ENTRIES;
    bool room = pool->batches < UINT32_MAX - 1 &&
                arena_room(&pool->marks, &pool->mark_capacity, (uint32_t)pool->batches, sizeof(*pool->marks)) == 0;
    int status = room && !pool->failed ? 0 : -ENOMEM;
    if (status == 0) {
        pool->filling = NULL;
        batch->number = pool->batches++;
        batch->next = NULL;
        *pool->last = batch;
        pool->last = &batch->next;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return status == 0 && many ? finish_batches(pool) : status;
}

/* Takes an empty batch to fill; waits for one if the threads are behind. */
static void take_batch(struct thread_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (!pool->idle)
        pthread_cond_wait(&pool->done, &pool->lock);
    pool->filling = pool->idle;
    pool->idle = pool->filling->next;
    pthread_mutex_unlock(&pool->lock);
    pool->filling->next = NULL;
}

static const struct space *copy_of_space(struct thread_pool_batch *batch, const struct space *space)
{
    struct lookup_walk walk = lookup_start(&batch->spaces, lookup_mix(8, space->state));
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (batch->space_list[i]->state == space->state)
            return batch->space_list[i];
    struct space *copy = space_copy(space, &batch->arena, &batch->bytes);
    if (!copy ||
        arena_room(&batch->space_list, &batch->space_capacity, batch->space_count, sizeof(*batch->space_list)) < 0 ||
        lookup_add(&batch->spaces, lookup_mix(8, space->state), batch->space_count) < 0)
        return NULL;
    batch->space_list[batch->space_count++] = copy;
    return copy;
}

static const struct attr *copy_of_attr(struct thread_pool *pool, const struct attr *attr)
{
    struct thread_pool_batch *batch = pool->filling;
    /* By index, not by address: in a pipe the list grows and moves, so the address may become another event's. */
    for (uint32_t i = batch->attr_count; i-- > 0;)
        if (batch->attrs[i].copy->index == attr->index && batch->attrs[i].file == pool->file)
            return batch->attrs[i].copy;
    struct attr *copy = arena_copy(&batch->arena, attr, sizeof(*attr));
    if (!copy || arena_room(&batch->attrs, &batch->attr_capacity, batch->attr_count, sizeof(*batch->attrs)) < 0)
        return NULL;
    batch->attrs[batch->attr_count++] = (struct thread_pool_attr){pool->file, copy};
    return copy;
}

static const unsigned char *copy_bytes(struct thread_pool_batch *batch, const unsigned char *bytes, uint64_t size)
{
    batch->bytes += size;
    return arena_copy(&batch->arena, bytes, size);
}

static int fill_batch(struct thread_pool *pool, struct chain_sample *item, const struct chain_place *place,
                      const struct record *sample)
{
    struct thread_pool_batch *batch = pool->filling;
    struct record *copy = &item->sample;
    *copy = *sample;
    copy->attr = copy_of_attr(pool, sample->attr);
    copy->user_stack = NULL; /* already unwound if possible; may be gone when a thread looks up the chain */
    item->place = (struct chain_place){copy_of_space(batch, place->user), copy_of_space(batch, place->kernel),
                                       place->machine, NULL};
    if (sample->chain)
        copy->chain = copy_bytes(batch, sample->chain, 8 * sample->chain_count);
    if (sample->user_regs)
        copy->user_regs = copy_bytes(batch, sample->user_regs,
                                     8 * (uint64_t)__builtin_popcountll(sample->attr->perf.sample_regs_user));
    bool filled = copy->attr && item->place.user && item->place.kernel && !copy->chain == !sample->chain &&
                  !copy->user_regs == !sample->user_regs;
    return filled ? 0 : -ENOMEM;
}

int thread_pool_add(struct thread_pool *pool, const struct profile_entry *entry, const struct chain_place *place,
                    const struct record *sample)
{
    if (!pool->filling)
        take_batch(pool);
    struct thread_pool_batch *batch = pool->filling;
    struct chain_sample *item = &batch->items[batch->count];
    int status = fill_batch(pool, item, place, sample);
    if (status < 0)
        return status;
    item->entry = *entry;
    batch->count++;
    return batch->count == BATCH_SAMPLES || batch->bytes >= BATCH_BYTES ? post_batch(pool) : 0;
}

void thread_pool_next_file(struct thread_pool *pool)
{
    pool->file++;
}

int thread_pool_finish(struct thread_pool *pool)
{
    int status = post_batch(pool);
    int settled = finish_batches(pool);
    return status < 0 ? status : settled;
}
