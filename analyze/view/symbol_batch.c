/* SPDX-License-Identifier: MIT */
#include "analyze/view/symbol_batch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/thread_pool.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"

/* The frames of one DSO, for one thread. */
struct job {
    struct symbols_dso *dso;
    bool kernel;
    uint32_t *frames; /* in the list of all frames */
    uint32_t frame_count;
    struct symbol_line *lines;
    size_t line_count, line_capacity;
    bool failed; /* out of memory */
};

struct symbol_batch {
    struct names *names;
    const struct profile *profile;
    unsigned what;
    struct symbol_batch_frame *frames; /* by frame */
    struct job *jobs;
    uint32_t *order; /* of the jobs, the longest first */
    uint32_t *list;  /* of frames, grouped by job */
    size_t job_count, job_capacity;
    atomic_size_t next; /* index into `order` */
};

static struct symbol_line *reserve_lines(struct job *job, size_t count)
{
    if (job->line_capacity - job->line_count < count) {
        size_t capacity = 2 * job->line_capacity + count + 64;
        struct symbol_line *grown = reallocarray(job->lines, capacity, sizeof(*grown));
        if (!grown) {
            job->failed = true;
            return NULL;
        }
        job->lines = grown;
        job->line_capacity = capacity;
    }
    return job->lines + job->line_count;
}

static void take_lines(struct job *job, struct symbol_batch_frame *to, uint64_t offset, size_t least)
{
    struct symbol_line found[SYMBOLS_LINES_MAX];
    size_t count = symbols_lines(job->dso, offset, found);
    struct symbol_line *list = count >= least ? reserve_lines(job, count) : NULL;
    if (!list)
        return;
    memcpy(list, found, count * sizeof(*found));
    to->line = job->line_count;
    to->line_count = (uint32_t)count;
    job->line_count += count;
}

static void symbolize_job(struct symbol_batch *batch, struct job *job)
{
    struct symbol symbol;
    for (uint32_t i = 0; i < job->frame_count && !job->failed; i++) {
        uint64_t offset = batch->profile->frames[job->frames[i]].offset;
        struct symbol_batch_frame *to = &batch->frames[job->frames[i]];
        if ((batch->what & BATCH_SYMBOLS) && symbols_find(job->dso, offset, &symbol)) {
            to->name = symbol.name;
            to->raw_name = symbol.raw_name;
            to->module = symbol.module;
        }
        if (batch->what & (BATCH_INLINED | BATCH_LINES))
            take_lines(job, to, offset, batch->what & BATCH_LINES ? 1 : 2);
    }
}

static void *run_jobs(void *context)
{
    struct symbol_batch *batch = context;
    size_t at;
    /* Relaxed is enough to take the next job; pthread_join() makes the results visible. */
    while ((at = atomic_fetch_add_explicit(&batch->next, 1, memory_order_relaxed)) < batch->job_count)
        symbolize_job(batch, &batch->jobs[batch->order[at]]);
    return NULL;
}

/* An estimate of the time a job takes: first the kernel, which has the most symbols, then by number of frames. */
static int by_length(const void *left, const void *right, void *context)
{
    const struct job *jobs = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (jobs[a].kernel != jobs[b].kernel)
        return jobs[a].kernel ? -1 : 1;
    if (jobs[a].frame_count != jobs[b].frame_count)
        return jobs[a].frame_count < jobs[b].frame_count ? 1 : -1;
    return a < b ? -1 : a > b;
}

/* Makes one job per DSO. Returns the number of frames with a job. */
static size_t find_jobs(struct symbol_batch *batch, const bool *wanted)
{
    struct map dsos = {0};
    size_t count = 0;
    for (uint32_t i = 0; i < batch->profile->frame_count; i++) {
        struct symbols_dso *dso = !wanted || wanted[i] ? names_symbols(batch->names, i) : NULL;
        if (!dso)
            continue;
        uint32_t index = map_add(&dsos, (uintptr_t)dso, 0);
        if (index == batch->job_count) {
            batch->jobs = memory_grow(batch->jobs, &batch->job_capacity, index + 1, sizeof(*batch->jobs));
            batch->jobs[batch->job_count++] = (struct job){.dso = dso, .kernel = batch->profile->frames[i].kernel};
        }
        batch->jobs[index].frame_count++;
        batch->frames[i].job = index + 1;
        count++;
    }
    map_release(&dsos);
    return count;
}

static void fill_jobs(struct symbol_batch *batch, size_t count)
{
    batch->list = memory_new(count, sizeof(*batch->list));
    batch->order = memory_new(batch->job_count, sizeof(*batch->order));
    uint32_t *at = batch->list;
    for (uint32_t i = 0; i < batch->job_count; i++) {
        batch->jobs[i].frames = at;
        at += batch->jobs[i].frame_count;
        batch->jobs[i].frame_count = 0;
        batch->order[i] = i;
    }
    for (uint32_t i = 0; i < batch->profile->frame_count; i++) {
        struct job *job = batch->frames[i].job ? &batch->jobs[batch->frames[i].job - 1] : NULL;
        if (job)
            job->frames[job->frame_count++] = i;
    }
    if (batch->job_count)
        qsort_r(batch->order, batch->job_count, sizeof(*batch->order), by_length, batch->jobs);
}

static void run_workers(struct symbol_batch *batch, unsigned threads)
{
    pthread_t started[THREAD_POOL_MAX];
    size_t count = 0;
    if (threads > batch->job_count)
        threads = (unsigned)batch->job_count;
    /* Threads that cannot be started are not needed: the caller works, too. */
    while (count + 1 < threads && pthread_create(&started[count], NULL, run_jobs, batch) == 0)
        count++;
    run_jobs(batch);
    while (count)
        pthread_join(started[--count], NULL);
}

struct symbol_batch *symbol_batch_new(struct names *names, const struct profile *profile, const bool *wanted,
                                      unsigned what, unsigned threads)
{
    struct symbol_batch *batch = memory_new(1, sizeof(*batch));
    batch->names = names;
    batch->profile = profile;
    batch->what = what;
    batch->frames = memory_new(profile->frame_count, sizeof(*batch->frames));
    fill_jobs(batch, find_jobs(batch, wanted));
    run_workers(batch, thread_pool_size(threads));
    for (size_t i = 0; i < batch->job_count; i++)
        if (batch->jobs[i].failed)
            memory_exhausted();
    return batch;
}

void symbol_batch_free(struct symbol_batch *batch)
{
    if (!batch)
        return;
    for (size_t i = 0; i < batch->job_count; i++)
        free(batch->jobs[i].lines);
    free(batch->jobs);
    free(batch->order);
    free(batch->list);
    free(batch->frames);
    free(batch);
}

const struct symbol_batch_frame *symbol_batch_frame(const struct symbol_batch *batch, uint32_t frame)
{
    return &batch->frames[frame];
}

const struct symbol_line *symbol_batch_lines(const struct symbol_batch *batch, const struct symbol_batch_frame *frame)
{
    return frame->line_count ? batch->jobs[frame->job - 1].lines + frame->line : NULL;
}
