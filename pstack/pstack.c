/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "pstack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answer.h"
#include "blocked.h"
#include "callchain.h"
#include "capture.h"

/* Bytes of stack that are copied: of all threads of a process, and of one. A thousand threads have 64 KiB each. */
enum { STACKS_BYTES = 64 << 20, STACK_MIN = 64 << 10, STACK_MAX = 1 << 20, FRAMES_MAX = 1024 };

struct addresses {
    uint64_t *ips;            /* owned */
    size_t count;
};

static size_t stack_limit(const struct target *target)
{
    size_t each = STACKS_BYTES / (target->thread_count ? target->thread_count : 1);
    return each < STACK_MIN ? STACK_MIN : each > STACK_MAX ? STACK_MAX : each;
}

/* As far as its sleep allows, else for a moment stopped. Sets IPS[FRAMES_MAX]; how many. */
static size_t look_at(struct callchain *callchain, struct target *target, struct target_thread *thread, uint64_t *ips)
{
    const size_t limit = stack_limit(target);
    size_t count = 0;
    bool asleep = thread->state != 'R' && capture_asleep(target, thread, limit);
    if (asleep)
        count = callchain_find(callchain, target, thread, ips, FRAMES_MAX);
    if (asleep && (thread->end == UNWIND_BOTTOM || thread->end == UNWIND_TOO_DEEP || thread->state == 'D'))
        return count;
    if (asleep && capture_would_disturb(thread)) {
        thread->spared = true;
        return count;
    }
    struct target_thread kept = *thread;
    thread->stack = NULL;
    if (capture_stopped(target, thread, limit)) {
        free(kept.stack);
        return callchain_find(callchain, target, thread, ips, FRAMES_MAX);
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
    if (a->frame_count != b->frame_count || a->in_call != b->in_call || a->state != b->state || a->end != b->end ||
        (a->in_call && a->call != b->call) || a->error != b->error || !a->frame_count)
        return false;
    for (size_t i = 0; i < a->frame_count; i++)
        if (!same_frame(&a->frames[i], &b->frames[i]))
            return false;
    return true;
}

static void fold(struct target *target)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        size_t first = 0;
        while (first < i && (target->threads[first].same_as != first ||
                             !same_stack(&target->threads[first], &target->threads[i])))
            first++;
        target->threads[i].same_as = first;
    }
}

/* What is ending has no memory any more, and may not be traced; that is no refusal. */
static bool has_ended(const struct target *target, const struct target_thread *thread)
{
    char *text = target_read(target->pid, thread->tid, "stat");
    const char *close = text ? strrchr(text, ')') : NULL;
    bool ended = !close || close[1] != ' ' || strchr("ZXx", close[2]);
    free(text);
    char *maps = ended ? NULL : target_read(target->pid, 0, "maps");
    ended |= !maps || !*maps;
    free(maps);
    return ended;
}

static int look_at_all(struct callchain *callchain, struct target *target)
{
    static const char ended[] = "ZXx";
    uint64_t ips[FRAMES_MAX];
    struct addresses *found = calloc(target->thread_count + 1, sizeof(*found));
    int error = found ? target_read_maps(target) : -ENOMEM;
    if (error && error != -ENOMEM) {
        target->error = error == -ENOENT ? -ESRCH : error;
        for (size_t i = 0; i < target->thread_count; i++)
            target->threads[i].error = target->error;
        error = 0;
    }
    for (size_t i = 0; i < target->thread_count && !error && !target->error; i++) {
        struct target_thread *thread = &target->threads[i];
        if (!thread->state || strchr(ended, thread->state))
            continue;
        found[i].count = look_at(callchain, target, thread, ips);
        if (thread->error && thread->error != -ENOMEM && has_ended(target, thread))
            thread->error = -ESRCH;
        found[i].ips = malloc(found[i].count * sizeof(*ips) + 1);
        if (!found[i].ips || thread->error == -ENOMEM)
            error = -ENOMEM;
        else
            memcpy(found[i].ips, ips, found[i].count * sizeof(*ips));
        free(thread->stack); /* the chain is all that is needed of it */
        thread->stack = NULL;
    }
    /* Mappings stay as they are from here on. */
    for (size_t i = 0; i < target->thread_count && !error; i++)
        error = callchain_name(callchain, target, &target->threads[i], found[i].ips, found[i].count);
    for (size_t i = 0; found && i < target->thread_count; i++)
        free(found[i].ips);
    free(found);
    fold(target);
    return error;
}

static int describe_waits(struct answer *answer)
{
    struct blocked blocked = {.targets = answer->targets, .count = answer->count};
    int error = 0;
    for (size_t i = 0; i < answer->count && !error; i++) {
        struct target *target = &answer->targets[i];
        for (size_t t = 0; t < target->thread_count && !error; t++)
            error = blocked_describe(&blocked, target, &target->threads[t]);
        if (!error)
            error = deadlock_find(target, &answer->deadlocks, &answer->deadlock_count);
    }
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

/* One that ended while it was looked at is no failure of a tree, but of what was asked for by number. */
static bool is_missing(const struct target *target)
{
    if (!target->state)
        return target->depth == 0;
    bool missing = target->error && target->error != -ESRCH;
    for (size_t i = 0; i < target->thread_count && !missing; i++)
        missing = target->threads[i].error && target->threads[i].error != -ESRCH;
    return missing;
}

int pstack_print(const struct pstack_options *options, FILE *to)
{
    struct answer answer = {.tree = options->tree};
    struct callchain callchain;
    int status = callchain_init(&callchain, options->libunwind);
    if (status)
        return status;
    status = read_targets(options, &answer);
    for (size_t i = 0; i < answer.count && !status; i++)
        if (answer.targets[i].state)
            status = look_at_all(&callchain, &answer.targets[i]);
    if (!status)
        status = describe_waits(&answer);
    if (!status && options->json)
        answer_json(&answer, to);
    else if (!status)
        answer_text(&answer, to);
    for (size_t i = 0; i < answer.count; i++) {
        status = status == 0 && is_missing(&answer.targets[i]) ? 1 : status;
        target_release(&answer.targets[i]);
    }
    free(answer.targets);
    deadlock_release(answer.deadlocks, answer.deadlock_count);
    callchain_release(&callchain);
    return status;
}
