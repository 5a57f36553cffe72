/* SPDX-License-Identifier: MIT */
/* The result of a session, in figures. Context: the event loop's thread, when all workers have ended. */
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
    int root_status;    /* as of wait(2) */
    struct rusage tree; /* of the root and all it waited for (launcher only) */
    uint64_t tasks;     /* seen */
    uint64_t processes, threads;
    uint64_t inherited;    /* tasks of them: covered by inheritance */
    uint64_t active_max;   /* most at the same time */
    uint64_t alive;        /* still running when the session ended */
    bool whole_tree;       /* event_config.whole_tree: the tasks were counted together */
    bool tree_alive;       /* and some of them still run */
    uint64_t tree_exit_ns; /* and the CPU time that their events lack */
    uint64_t samples, lost;
    struct counts counts;     /* owned; at the end: see outcome_complete() */
    struct counts interval;   /* owned; the last, unfinished one of --print-interval */
    uint64_t interval_ns;     /* when that one began */
    uint64_t turn_ns;         /* length of a turn of event sets, in the mean; 0: there was none */
    uint64_t counted_only;    /* tasks without a ring */
    char stacks[STACKS_TEXT]; /* how call stacks were made, if they are unwound; else "" */
    uint64_t stacks_behind;   /* of them: by frame pointers because the collector had fallen behind */
    uint64_t without_sample;
    uint64_t saturated; /* tasks that were only counted once they had the samples of --saturate-smpl-buffer */
    /* tasks whose events were refused, and in which the preload object was to start a timer */
    uint64_t timer_fallbacks;
    uint64_t timer_fallbacks_counted; /* of them: not sampled; in counted_only too */
    int refusal;                      /* -errno of the first of them */
    uint64_t cpu_ns;                  /* of the tree by the kernel's accounting, with stolen time; 0: unknown */
    uint64_t stolen_ns;               /* part of cpu_ns; 0: too little to be reported */
    uint64_t machine_ns;              /* how long the machine's time was measured; 0: unknown */
    uint64_t others_ns;               /* CPU time of everything else on the machine in that time */
    char stolen[STOLEN_TEXT];         /* a note about that, or "" */
    uint64_t attributed_ns;
    uint64_t collector_ns;        /* own CPU time */
    uint64_t wall_ns;             /* of the session */
    uint64_t elapsed_ns;          /* of the command; 0: it has not ended */
    struct result_missed *missed; /* strings owned */
    unsigned missed_count;
    uint64_t uncounted; /* further ones, and records, for which the collector had no memory */
};

/*
 * When all tasks but the root's are written: fills in what the root's file says of the session. The caller sets
 * ROOT_ENDED, ROOT_STATUS and TREE before. BARE: nobody waits for the root; TASKS has what is known of its end.
 */
void outcome_fill(struct outcome *outcome, struct tasks *tasks, bool bare);
/* When the root's is written too: adds what its file adds, and takes the counts. */
void outcome_complete(struct outcome *outcome, struct tasks *tasks);
void outcome_release(struct outcome *outcome);
/* In ns. */
uint64_t outcome_time(const struct timeval *time);

#endif
