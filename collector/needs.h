/* SPDX-License-Identifier: MIT */
/*
 * How much of a stack, and how large a ring, the programs of a name needed so far, for those of the name that come: of
 * a compiler's three processes one has deep stacks for a second, two have a few samples. The kernel clears a ring's
 * pages for each task, which costs more than all else of its start.
 */
#ifndef COLLECTOR_NEEDS_H
#define COLLECTOR_NEEDS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NEEDS_NAMES = 512,      /* further ones are unknown */
    NEEDS_NAME = 16,        /* of a task: TASK_COMM_LEN */
    NEEDS_STACKS = 5,       /* classes of stacks: up to 4, 8, 16 and 32 KiB, and what is deeper or was cut */
    NEEDS_STACK_MIN = 4096,
    NEEDS_SAMPLES = 12,     /* classes of tasks: none, 1, up to 3, 7 ... samples */
};

/* Counted by the event loop's thread, read by any: each count is atomic, relaxed. */
struct need {
    char name[NEEDS_NAME];
    uint32_t stacks[NEEDS_STACKS];
    uint32_t stacks_all;
    uint32_t tasks[NEEDS_SAMPLES];
    uint32_t tasks_all;
};

struct needs {
    pthread_mutex_t lock;   /* of COUNT and names */
    unsigned count;
    struct need names[NEEDS_NAMES];
};

struct needs *needs_new(void); /* NULL: no memory */
/* NULL is accepted. */
void needs_free(struct needs *needs);
/* That of NAME, a new one if need be, as long as NEEDS lives. NULL: there are too many, or no NEEDS. Any thread. */
struct need *needs_find(struct needs *needs, const char *name);

/* What the event loop tells; NULL is accepted. A stack that needed BYTES of its dump; CUT: more than these. */
void need_add_stack(struct need *need, uint64_t bytes, bool cut);
/* A task that ended with so many samples. */
void need_add_task(struct need *need, uint64_t samples);

/*
 * Bytes of stack that 99 of 100 needed, of NEEDS_STACK_MIN ... 8 times that; 0: not known. Samples that 63 of 64 tasks
 * had at most; UINT64_MAX: not known. NULL: not known. Any thread.
 */
uint32_t need_stack(const struct need *need);
uint64_t need_samples(const struct need *need);

#endif
