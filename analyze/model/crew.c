/* SPDX-License-Identifier: MIT */
#include "analyze/model/crew.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/crew_parts.h"

#define BATCH_SAMPLES 1024u
#define BATCH_BYTES (4u << 20)
#define FEW_SAMPLES 50000u /* threads cost more than they gain */
/* Of all threads, that the caller's store has not: it takes them before there are more. */
#define MANY_ENTRIES (1u << 20)

unsigned crew_size(unsigned wanted)
{
    cpu_set_t cpus;
    if (wanted == 0)
        wanted = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
    return wanted < CREW_MOST_THREADS ? wanted : CREW_MOST_THREADS;
}

int crew_worker_init(struct crew_worker *worker, struct crew *crew)
{
    worker->crew = crew;
    worker->store = (struct store){0};
    int status = chain_init(&worker->chain, &worker->store);
    worker->chain.kernel_module = crew->chain->kernel_module;
    return status;
}

void crew_worker_release(struct crew_worker *worker)
{
    chain_release(&worker->chain);
    store_release(&worker->store);
}

/* Empties BATCH, keeps what can be used again. */
static void clear_batch(struct crew_batch *batch)
{
    arena_release(&batch->arena);
    lookup_release(&batch->spaces);
    batch->count = batch->space_count = batch->attr_count = 0;
    batch->bytes = 0;
}

static void free_batches(struct crew_batch *list)
{
    while (list) {
        struct crew_batch *batch = list;
        list = batch->next;
        clear_batch(batch);
        free(batch->items);
        free(batch->space_list);
        free(batch->attrs);
        free(batch);
    }
}

static int do_batch(struct crew_worker *worker, const struct crew_batch *batch)
{
    worker->chain.modules = batch->modules;
    /* NULL: it could not begin again. */
    return worker->chain.known ? chain_add(&worker->chain, batch->items, batch->count) : -ENOMEM;
}

static void *work(void *argument)
{
    struct crew_worker *worker = argument;
    struct crew *crew = worker->crew;
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        while (!crew->waiting && !crew->over)
            pthread_cond_wait(&crew->work, &crew->lock);
        struct crew_batch *batch = crew->waiting;
        if (!batch)
            break;
        crew->waiting = batch->next;
        if (!crew->waiting)
            crew->last = &crew->waiting;
        crew->busy++;
        bool failed = crew->failed || crew->over;
        uint32_t entries = worker->store.entries.count;
        pthread_mutex_unlock(&crew->lock);
        if (!failed)
            failed = do_batch(worker, batch) < 0;
        clear_batch(batch);
        pthread_mutex_lock(&crew->lock);
        crew->entries += worker->store.entries.count - entries;
        crew->marks[batch->number] =
            (struct crew_mark){(uint32_t)(worker - crew->workers), worker->store.frames.count,
                               worker->store.stacks.count, worker->store.entries.count};
        crew->failed |= failed;
        crew->busy--;
        batch->next = crew->idle;
        crew->idle = batch;
        pthread_cond_signal(&crew->done);
    }
    pthread_mutex_unlock(&crew->lock);
    return NULL;
}

static int add_batch(struct crew *crew)
{
    struct crew_batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        return -ENOMEM;
    batch->next = crew->idle;
    crew->idle = batch;
    batch->items = reallocarray(NULL, BATCH_SAMPLES, sizeof(*batch->items));
    return batch->items ? 0 : -ENOMEM;
}

/* Fewer threads than wanted do the same, and without any the caller goes on alone. */
static void start(struct crew *crew)
{
    unsigned threads = crew->wanted;
    crew->wanted = 1;
    crew->workers = calloc(threads, sizeof(*crew->workers));
    for (unsigned i = 0; crew->workers && i < threads; i++) {
        struct crew_worker *worker = &crew->workers[i];
        if (crew_worker_init(worker, crew) < 0 || add_batch(crew) < 0 || add_batch(crew) < 0 ||
            pthread_create(&worker->thread, NULL, work, worker) != 0) {
            crew_worker_release(worker);
            break;
        }
        crew->worker_count++;
    }
}

struct crew *crew_new(struct chain *chain, unsigned threads)
{
    struct crew *crew = calloc(1, sizeof(*crew));
    if (!crew)
        return NULL;
    crew->chain = chain;
    crew->wanted = threads;
    crew->last = &crew->waiting;
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->work, NULL);
    pthread_cond_init(&crew->done, NULL);
    if (add_batch(crew) < 0) {
        crew_free(crew);
        return NULL;
    }
    return crew;
}

void crew_free(struct crew *crew)
{
    if (!crew)
        return;
    pthread_mutex_lock(&crew->lock);
    crew->over = true;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->worker_count; i++) {
        pthread_join(crew->workers[i].thread, NULL);
        crew_worker_release(&crew->workers[i]);
    }
    free_batches(crew->filling);
    free_batches(crew->waiting);
    free_batches(crew->idle);
    pthread_mutex_destroy(&crew->lock);
    pthread_cond_destroy(&crew->work);
    pthread_cond_destroy(&crew->done);
    free(crew->workers);
    free(crew->marks);
    free(crew);
}

static int do_it_here(struct crew *crew)
{
    struct crew_batch *batch = crew->filling;
    int status = chain_add(crew->chain, batch->items, batch->count);
    crew->samples += batch->count;
    clear_batch(batch);
    return status;
}

/* Waits until all that was handed over is found, and adds it to the caller's store. */
static int settle(struct crew *crew)
{
    int status = 0;
    pthread_mutex_lock(&crew->lock);
    while (crew->waiting || crew->busy > 0)
        pthread_cond_wait(&crew->done, &crew->lock);
    if (crew->failed)
        status = -ENOMEM;
    crew->entries = 0;
    pthread_mutex_unlock(&crew->lock);
    return status < 0 || crew->worker_count == 0 ? status : crew_merge(crew);
}

/* Hands over what is filled. */
static int post(struct crew *crew)
{
    struct crew_batch *batch = crew->filling;
    const struct store *store = crew->chain->store;
    if (!batch || batch->count == 0)
        return 0;
    if (crew->wanted > 1 && crew->samples >= FEW_SAMPLES)
        start(crew);
    if (crew->worker_count == 0)
        return do_it_here(crew);
    /* The list moves when it grows: a thread looks at a copy. */
    batch->modules = arena_copy(&batch->arena, store->modules.items, store->modules.count * sizeof(void *));
    if (!batch->modules)
        return -ENOMEM;
    pthread_mutex_lock(&crew->lock);
    bool many = crew->entries >= MANY_ENTRIES;
    bool room = crew->batches < UINT32_MAX - 1 &&
                arena_room(&crew->marks, &crew->mark_capacity, (uint32_t)crew->batches, sizeof(*crew->marks)) == 0;
    int status = room && !crew->failed ? 0 : -ENOMEM;
    if (status == 0) {
        crew->filling = NULL;
        batch->number = crew->batches++;
        batch->next = NULL;
        *crew->last = batch;
        crew->last = &batch->next;
        pthread_cond_signal(&crew->work);
    }
    pthread_mutex_unlock(&crew->lock);
    return status == 0 && many ? settle(crew) : status;
}

/* An empty batch to fill: waits for one where the threads have more to do than they can. */
static void take_batch(struct crew *crew)
{
    pthread_mutex_lock(&crew->lock);
    while (!crew->idle)
        pthread_cond_wait(&crew->done, &crew->lock);
    crew->filling = crew->idle;
    crew->idle = crew->filling->next;
    pthread_mutex_unlock(&crew->lock);
    crew->filling->next = NULL;
}

static const struct space *copy_of_space(struct crew_batch *batch, const struct space *space)
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

static const struct attr *copy_of_attr(struct crew *crew, const struct attr *attr)
{
    struct crew_batch *batch = crew->filling;
    /* By number: in a pipe the list grows and moves, and another event may come to the same address. */
    for (uint32_t i = batch->attr_count; i-- > 0;)
        if (batch->attrs[i].copy->index == attr->index && batch->attrs[i].file == crew->file)
            return batch->attrs[i].copy;
    struct attr *copy = arena_copy(&batch->arena, attr, sizeof(*attr));
    if (!copy || arena_room(&batch->attrs, &batch->attr_capacity, batch->attr_count, sizeof(*batch->attrs)) < 0)
        return NULL;
    batch->attrs[batch->attr_count++] = (struct crew_attr){crew->file, copy};
    return copy;
}

static const unsigned char *copy_bytes(struct crew_batch *batch, const unsigned char *bytes, uint64_t size)
{
    batch->bytes += size;
    return arena_copy(&batch->arena, bytes, size);
}

static int fill(struct crew *crew, struct chain_sample *item, const struct chain_place *place,
                const struct record *sample)
{
    struct crew_batch *batch = crew->filling;
    struct record *copy = &item->sample;
    *copy = *sample;
    copy->attr = copy_of_attr(crew, sample->attr);
    copy->user_stack = NULL; /* what could be unwound was; it may not be there any more when the chain is looked for */
    item->place = (struct chain_place){copy_of_space(batch, place->user), copy_of_space(batch, place->kernel),
                                       place->machine};
    if (sample->chain)
        copy->chain = copy_bytes(batch, sample->chain, 8 * sample->chain_count);
    if (sample->user_regs)
        copy->user_regs = copy_bytes(batch, sample->user_regs,
                                     8 * (uint64_t)__builtin_popcountll(sample->attr->perf.sample_regs_user));
    bool filled = copy->attr && item->place.user && item->place.kernel && !copy->chain == !sample->chain &&
                  !copy->user_regs == !sample->user_regs;
    return filled ? 0 : -ENOMEM;
}

int crew_add(struct crew *crew, const struct profile_entry *entry, const struct chain_place *place,
             const struct record *sample)
{
    if (!crew->filling)
        take_batch(crew);
    struct crew_batch *batch = crew->filling;
    struct chain_sample *item = &batch->items[batch->count];
    int status = fill(crew, item, place, sample);
    if (status < 0)
        return status;
    item->entry = *entry;
    batch->count++;
    return batch->count == BATCH_SAMPLES || batch->bytes >= BATCH_BYTES ? post(crew) : 0;
}

void crew_next_file(struct crew *crew)
{
    crew->file++;
}

int crew_finish(struct crew *crew)
{
    int status = post(crew);
    int settled = settle(crew);
    return status < 0 ? status : settled;
}
