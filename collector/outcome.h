/* SPDX-License-Identifier: MIT */
/* What came out of a session, in figures. Context: the event loop's thread, when all workers have ended. */
#ifndef COLLECTOR_OUTCOME_H
#define COLLECTOR_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "collector/output/counts.h"
#include "collector/output/result.h"
#include "collector/stacks/stacks.h"

struct tasks;

enum { STOLEN_TEXT = 120 };

/* For the closing summary and the exit status. Zeroed: empty. */
struct outcome {
    bool root_ended;
    int root_status;              /* as of wait(2) */
    struct rusage tree;           /* of the root and all it waited for (launcher only) */
    uint64_t tasks;               /* seen */
    uint64_t processes, threads;
    uint64_t active_max;          /* most at the same time */
    uint64_t alive;               /* still running when the session ended */
    uint64_t samples, lost;
    struct counts counts;         /* at the end: see outcome_complete() */
    uint64_t counted_only;        /* tasks without a ring */
    char stacks[STACKS_TEXT];     /* how call stacks came about, where they are unwound; else "" */
    uint64_t stacks_behind;       /* of them, by frame pointers since the collector had fallen behind */
    uint64_t without_sample;
    /* tasks whose events were refused, and in which the preload object was to start a timer */
    uint64_t timer_fallbacks;
    uint64_t timer_fallbacks_counted; /* of them, those that were not sampled; in counted_only too */
    int refusal;                      /* -errno of the first of them */
    uint64_t cpu_ns; /* of the tree by the kernel's accounting, and what was stolen of it; 0: unknown */
    uint64_t stolen_ns;               /* of cpu_ns; 0: too little to be said */
    uint64_t machine_ns;              /* how long the machine's time was looked at; 0: not known */
    uint64_t others_ns;               /* CPU time of all else on the machine in that time */
    char stolen[STOLEN_TEXT];         /* a note of that, or "" */
    uint64_t attributed_ns;
    uint64_t collector_ns;        /* own CPU time */
    uint64_t wall_ns;             /* of the session */
    uint64_t elapsed_ns;          /* of the command; 0: it has not ended */
    struct result_missed *missed; /* strings owned */
    unsigned missed_count;
    uint64_t uncounted;           /* further ones, and records, that the collector had no memory for */
};

/*
 * When all tasks but the root's have been written: what the root's file says of the session. ROOT_ENDED, ROOT_STATUS
 * and TREE are the caller's to set before. BARE: nobody waits for the root; what is known of its end is in TASKS.
 */
void outcome_fill(struct outcome *outcome, struct tasks *tasks, bool bare);
/* When the root's has been written too: what its file adds. */
void outcome_complete(struct outcome *outcome, const struct tasks *tasks);
void outcome_release(struct outcome *outcome);
/* In ns. */
uint64_t outcome_time(const struct timeval *time);

#endif
