/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "pstack.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "blocked.h"
#include "callchain.h"
#include "capture.h"
#include "common/fnv.h"

/* Bytes of stack to copy: for all threads of a process, and per thread. A thousand threads have 64 KiB each. */
enum { STACKS_BYTES = 64 << 20, STACK_MIN = 64 << 10, STACK_MAX = 1 << 20, FRAMES_MAX = 1024 };

struct addresses {
    uint64_t *ips; /* owned */
    size_t count;
};

static size_t stack_limit(const struct target *target)
{
    size_t each = STACKS_BYTES / (target->thread_count ? target->thread_count : 1);
    return each < STACK_MIN ? STACK_MIN : each > STACK_MAX ? STACK_MAX : each;
}

/* The state of one call. */
struct work {
    const struct pstack_options *options;
    struct callchain callchain;
    struct capture capture;
    struct answer answer;
    int status;
};

static bool is_end_state(char state)
{
    return !state || strchr("ZXx", state);
}

/* Stops the thread only if that is needed and harmless. Sets IPS[FRAMES_MAX] and returns their number. */
static size_t unwind_thread(struct work *work, struct target *target, struct target_thread *thread, uint64_t *ips)
{
    const size_t limit = stack_limit(target);
    size_t count = 0;
    bool asleep = capture_asleep(target, thread, limit);
    if (asleep)
        count = callchain_find(&work->callchain, target, thread, ips, FRAMES_MAX);
    if (asleep && (thread->end == UNWIND_BOTTOM || thread->end == UNWIND_TOO_DEEP))
        return count;
    if (asleep && capture_would_disturb(target, thread)) {
        thread->spared = true;
        return count;
    }
    if (thread->state == 'D' || thread->error || is_end_state(thread->state))
        return count;
    struct target_thread kept = *thread;
    thread->stack = NULL;
    if (capture_stopped(&work->capture, target, thread, limit)) {
        free(kept.stack);
        return callchain_find(&work->callchain, target, thread, ips, FRAMES_MAX);
    }
    free(thread->stack);
    kept.error = thread->error;
    *thread = kept;
    return count;
}

static bool same_frame(const struct target_frame *a, const struct target_frame *b)
{
    return a->ip == b->ip && a->inlined == b->inlined;
}

static bool same_stack(const struct target_thread *a, const struct target_thread *b)
{
    if (a->hash != b->hash || a->frame_count != b->frame_count || a->in_call != b->in_call || a->state != b->state ||
        a->end != b->end || (a->in_call && a->call != b->call) || a->error != b->error || !a->frame_count)
        return false;
    for (size_t i = 0; i < a->frame_count; i++)
        if (!same_frame(&a->frames[i], &b->frames[i]))
            return false;
    return true;
}

static void fold_threads(struct target *target)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        size_t first = 0;
        while (first < i &&
               (target->threads[first].same_as != first || !same_stack(&target->threads[first], &target->threads[i])))
            first++;
        target->threads[i].same_as = first;
    }
}

/* Whether the thread ends: then it has no memory and cannot be traced, which is not a lack of permission. */
static bool has_ended(const struct target *target, struct target_thread *thread)
{
    if (!target_look(target, thread) || is_end_state(thread->state))
        return true;
    char *maps = target_read(target->via, 0, "maps");
    const bool ended = !maps || !*maps;
    free(maps);
    return ended;
}

/* 0 or -ENOMEM. */
static int look_at_thread(struct work *work, struct target *target, struct target_thread *thread, struct addresses *ret)
{
    uint64_t ips[FRAMES_MAX];
    if (is_end_state(thread->state))
        return 0;
    if (target->narrow) {
        thread->error = -ENOEXEC;
        return 0;
    }
    ret->count = unwind_thread(work, target, thread, ips);
    if (thread->error && thread->error != -ENOMEM && has_ended(target, thread))
        thread->error = -ESRCH;
    ret->ips = malloc(ret->count * sizeof(*ips) + 1);
    if (!ret->ips || thread->error == -ENOMEM)
        return -ENOMEM;
    memcpy(ret->ips, ips, ret->count * sizeof(*ips));
    thread->hash = fnv(FNV_BEGIN, ips, ret->count * sizeof(*ips)); /* for a fast comparison of stacks */
    free(thread->stack);                                           /* only the chain is needed */
    thread->stack = NULL;
    return 0;
}

/* *ret_found: the addresses of each thread, owned by the caller. 0 or -ENOMEM. */
static int look_at_target(struct work *work, struct target *target, struct addresses **ret_found)
{
    struct addresses *found = calloc(target->thread_count + 1, sizeof(*found));
    int error = found ? target_read_maps(target) : -ENOMEM;
    *ret_found = found;
    if (error && error != -ENOMEM) {
        target->error = error == -ENOENT ? -ESRCH : error;
        for (size_t i = 0; i < target->thread_count; i++)
            target->threads[i].error = target->error;
        error = 0;
    }
    for (size_t i = 0; i < target->thread_count && !error && !target->error; i++) {
        error = look_at_thread(work, target, &target->threads[i], &found[i]);
        capture_settle(&work->capture);
    }
    return error;
}

/* From here on the mappings of TARGET are not read again. */
static int name_frames(struct work *work, struct target *target, const struct addresses *found)
{
    int error = 0;
    for (size_t i = 0; i < target->thread_count && !error; i++)
        error = callchain_name(&work->callchain, target, &target->threads[i], found[i].ips, found[i].count);
    fold_threads(target);
    return error;
}

static void release_addresses(struct addresses *found, size_t count)
{
    for (size_t i = 0; found && i < count; i++)
        free(found[i].ips);
    free(found);
}

/* Reads all processes before any symbolization, which takes longer than a short process lives. */
static int look_at_targets(struct work *work)
{
    struct answer *answer = &work->answer;
    struct addresses **found = calloc(answer->count + 1, sizeof(*found));
    int error = found ? 0 : -ENOMEM;
    for (size_t i = 0; i < answer->count && !error; i++)
        if (answer->targets[i].state)
            error = look_at_target(work, &answer->targets[i], &found[i]);
    for (size_t i = 0; i < answer->count && !error; i++)
        if (found[i])
            error = name_frames(work, &answer->targets[i], found[i]);
    for (size_t i = 0; found && i < answer->count; i++)
        release_addresses(found[i], answer->targets[i].thread_count);
    free(found);
    return error;
}

static int describe_waits(struct answer *answer)
{
    struct blocked blocked = {.targets = answer->targets, .count = answer->count};
    int error = blocked_mark(&blocked);
    for (size_t i = 0; i < answer->count && !error; i++)
        for (size_t t = 0; t < answer->targets[i].thread_count && !error; t++)
            error = blocked_describe(&blocked, &answer->targets[i], &answer->targets[i].threads[t]);
    for (size_t i = 0; i < answer->count && !error; i++)
        error = deadlock_find(&answer->targets[i], &answer->deadlocks, &answer->deadlock_count);
    blocked_release(&blocked);
    return error;
}

static int read_targets(const struct pstack_options *options, struct answer *answer)
{
    const pid_t *pids = options->pids;
    pid_t *tree = NULL;
    unsigned *depths = NULL;
    size_t count = options->pid_count;
    int error = options->tree ? target_tree(pids, count, &tree, &depths, &count) : 0;
    pids = tree ? tree : pids;
    answer->targets = error ? NULL : calloc(count + 1, sizeof(*answer->targets));
    if (!error && !answer->targets)
        error = -ENOMEM;
    for (size_t i = 0; i < count && !error; i++) {
        if (tree && depths[i] && pids[i] == getpid())
            continue;
        error = target_init(&answer->targets[answer->count], pids[i]);
        answer->targets[answer->count++].depth = depths ? depths[i] : 0;
    }
    free(tree);
    free(depths);
    return error;
}

/* A process that ended meanwhile is no failure in a tree, but is one if it was asked for by pid. */
static bool is_missing(const struct target *target)
{
    if (!target->state)
        return target->depth == 0;
    bool missing = target->error && target->error != -ESRCH;
    for (size_t i = 0; i < target->thread_count && !missing; i++)
        missing = target->threads[i].error && target->threads[i].error != -ESRCH;
    return missing;
}

/*
 * The tracing thread. When it ends, the kernel detaches all threads that did not stop in time; this is before any
 * output, which may take long.
 */
static void *trace_targets(void *argument)
{
    struct work *work = argument;
    work->status = read_targets(work->options, &work->answer);
    if (!work->status)
        work->status = look_at_targets(work);
    capture_settle(&work->capture);
    return NULL;
}

int pstack_print(const struct pstack_options *options, FILE *to)
{
    struct work work = {.options = options, .answer.tree = options->tree};
    struct answer *answer = &work.answer;
    pthread_t thread;
    int status = callchain_init(&work.callchain, options->unwinder);
    if (status)
        return status;
    status = -pthread_create(&thread, NULL, trace_targets, &work);
    if (!status) {
        pthread_join(thread, NULL);
        status = work.status;
    }
    if (!status)
        status = describe_waits(answer);
    if (!status && options->json)
        answer_json(answer, to);
    else if (!status)
        answer_text(answer, to);
    if (!status && ferror(to))
        status = -EIO;
    for (size_t i = 0; i < answer->count; i++) {
        status = status == 0 && is_missing(&answer->targets[i]) ? 1 : status;
        target_release(&answer->targets[i]);
    }
    free(answer->targets);
    deadlock_release(answer->deadlocks, answer->deadlock_count);
    callchain_release(&work.callchain);
    return status;
}
