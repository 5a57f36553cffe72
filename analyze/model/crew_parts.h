/* SPDX-License-Identifier: MIT */
/* What crew.c and crew_merge.c share. */
#ifndef ANALYZE_MODEL_CREW_PARTS_H
#define ANALYZE_MODEL_CREW_PARTS_H

#include <pthread.h>

#include "analyze/model/crew.h"

struct crew_attr {
    uint64_t file;
    struct attr *copy;
};

struct crew_batch {
    struct crew_batch *next;
    uint64_t number;
    struct chain_sample *items;
    uint32_t count;
    size_t bytes;                    /* of what was copied, about */
    struct arena arena;              /* chains, spaces, events, modules */
    struct lookup spaces;            /* copies by state */
    struct space **space_list;
    uint32_t space_count, space_capacity;
    struct crew_attr *attrs;
    uint32_t attr_count, attr_capacity;
    const struct profile_module *const *modules;
};

struct crew_worker {
    struct crew *crew;
    pthread_t thread;
    struct store store;
    struct chain chain;
};

/* How far the lists of a worker had grown when it had done a batch. */
struct crew_mark {
    uint32_t worker, frames, stacks, entries;
};

struct crew {
    struct chain *chain;             /* the caller's */
    uint64_t file;
    struct crew_worker *workers;
    unsigned wanted, worker_count;   /* 0 until there are enough samples: the caller does it */
    uint64_t samples;                /* that the caller did */
    struct crew_batch *filling;      /* of the caller */
    uint64_t batches;                /* handed over since the last merge */

    pthread_mutex_t lock;            /* of all below */
    pthread_cond_t work, done;
    struct crew_batch *waiting, **last, *idle;
    unsigned busy;
    bool over, failed;
    uint64_t entries;                /* that the threads have found since the last merge */
    struct crew_mark *marks;         /* by number of batch */
    uint32_t mark_capacity;
};

int crew_worker_init(struct crew_worker *worker, struct crew *crew);
void crew_worker_release(struct crew_worker *worker);
/* When no thread is at work. 0 or -ENOMEM. */
int crew_merge(struct crew *crew);

#endif
