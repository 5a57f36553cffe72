/* SPDX-License-Identifier: MIT */
#include "analyze/view/ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/crew.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"

/* One object, for one thread. */
struct job {
    struct symbols_object *object;
    bool kernel;
    uint32_t *frames; /* in the list of all */
    uint32_t frame_count;
    struct symbol_line *lines;
    size_t line_count, line_capacity;
    bool failed; /* memory */
};

struct ahead {
    struct names *names;
    const struct profile *profile;
    unsigned what;
    struct ahead_frame *frames; /* by frame */
    struct job *jobs;
    uint32_t *order; /* of the jobs, the longest first */
    uint32_t *list;  /* of frames, those of one job together */
    size_t job_count, job_capacity;
    atomic_size_t next; /* in the order */
};

static struct symbol_line *room(struct job *job, size_t count)
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

static void take_lines(struct job *job, struct ahead_frame *to, uint64_t offset, size_t least)
{
    struct symbol_line found[SYMBOLS_LINES_MAX];
    size_t count = symbols_lines(job->object, offset, found);
    struct symbol_line *list = count >= least ? room(job, count) : NULL;
    if (!list)
        return;
    memcpy(list, found, count * sizeof(*found));
    to->line = job->line_count;
    to->line_count = (uint32_t)count;
    job->line_count += count;
}

static void do_job(struct ahead *ahead, struct job *job)
{
    struct symbol symbol;
    for (uint32_t i = 0; i < job->frame_count && !job->failed; i++) {
        uint64_t offset = ahead->profile->frames[job->frames[i]].offset;
        struct ahead_frame *to = &ahead->frames[job->frames[i]];
        if ((ahead->what & AHEAD_SYMBOLS) && symbols_find(job->object, offset, &symbol)) {
            to->name = symbol.name;
            to->raw_name = symbol.raw_name;
            to->module = symbol.module;
        }
        if (ahead->what & (AHEAD_INLINED | AHEAD_LINES))
            take_lines(job, to, offset, ahead->what & AHEAD_LINES ? 1 : 2);
    }
}

static void *work(void *context)
{
    struct ahead *ahead = context;
    size_t at;
    /* Each takes what nobody has taken; what they found is seen by who joins them. */
    while ((at = atomic_fetch_add_explicit(&ahead->next, 1, memory_order_relaxed)) < ahead->job_count)
        do_job(ahead, &ahead->jobs[ahead->order[at]]);
    return NULL;
}

/* How long a job takes is known afterwards; the kernel has the most symbols. */
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

/* One job per object; how many frames have one. */
static size_t find_jobs(struct ahead *ahead, const bool *wanted)
{
    struct map objects = {0};
    size_t count = 0;
    for (uint32_t i = 0; i < ahead->profile->frame_count; i++) {
        struct symbols_object *object = !wanted || wanted[i] ? names_symbols(ahead->names, i) : NULL;
        if (!object)
            continue;
        uint32_t index = map_add(&objects, (uintptr_t)object, 0);
        if (index == ahead->job_count) {
            ahead->jobs = memory_grow(ahead->jobs, &ahead->job_capacity, index + 1, sizeof(*ahead->jobs));
            ahead->jobs[ahead->job_count++] =
                (struct job){.object = object, .kernel = ahead->profile->frames[i].kernel};
        }
        ahead->jobs[index].frame_count++;
        ahead->frames[i].job = index + 1;
        count++;
    }
    map_release(&objects);
    return count;
}

static void fill_jobs(struct ahead *ahead, size_t count)
{
    ahead->list = memory_new(count, sizeof(*ahead->list));
    ahead->order = memory_new(ahead->job_count, sizeof(*ahead->order));
    uint32_t *at = ahead->list;
    for (uint32_t i = 0; i < ahead->job_count; i++) {
        ahead->jobs[i].frames = at;
        at += ahead->jobs[i].frame_count;
        ahead->jobs[i].frame_count = 0;
        ahead->order[i] = i;
    }
    for (uint32_t i = 0; i < ahead->profile->frame_count; i++) {
        struct job *job = ahead->frames[i].job ? &ahead->jobs[ahead->frames[i].job - 1] : NULL;
        if (job)
            job->frames[job->frame_count++] = i;
    }
    if (ahead->job_count)
        qsort_r(ahead->order, ahead->job_count, sizeof(*ahead->order), by_length, ahead->jobs);
}

static void run(struct ahead *ahead, unsigned threads)
{
    pthread_t started[CREW_MOST_THREADS];
    size_t count = 0;
    if (threads > ahead->job_count)
        threads = (unsigned)ahead->job_count;
    /* Who cannot be started is not needed: the caller works too. */
    while (count + 1 < threads && pthread_create(&started[count], NULL, work, ahead) == 0)
        count++;
    work(ahead);
    while (count)
        pthread_join(started[--count], NULL);
}

struct ahead *ahead_new(struct names *names, const struct profile *profile, const bool *wanted, unsigned what,
                        unsigned threads)
{
    struct ahead *ahead = memory_new(1, sizeof(*ahead));
    ahead->names = names;
    ahead->profile = profile;
    ahead->what = what;
    ahead->frames = memory_new(profile->frame_count, sizeof(*ahead->frames));
    fill_jobs(ahead, find_jobs(ahead, wanted));
    run(ahead, crew_size(threads));
    for (size_t i = 0; i < ahead->job_count; i++)
        if (ahead->jobs[i].failed)
            memory_exhausted();
    return ahead;
}

void ahead_free(struct ahead *ahead)
{
    if (!ahead)
        return;
    for (size_t i = 0; i < ahead->job_count; i++)
        free(ahead->jobs[i].lines);
    free(ahead->jobs);
    free(ahead->order);
    free(ahead->list);
    free(ahead->frames);
    free(ahead);
}

const struct ahead_frame *ahead_frame(const struct ahead *ahead, uint32_t frame)
{
    return &ahead->frames[frame];
}

const struct symbol_line *ahead_lines(const struct ahead *ahead, const struct ahead_frame *frame)
{
    return frame->line_count ? ahead->jobs[frame->job - 1].lines + frame->line : NULL;
}
