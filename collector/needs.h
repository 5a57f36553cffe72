/* SPDX-License-Identifier: MIT */
/*
 * How deep the stacks of the programs of a name were, for those of the name that come: of a compiler's processes one
 * has deep stacks for a second, the others a few shallow ones. A ring has to hold a number of dumps, and the kernel
 * clears its pages for each task, which costs more than all else of its start.
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
    NEEDS_STACKS = 4,       /* classes of stacks: up to 8, 16 and 32 KiB, and what is deeper or was cut */
    NEEDS_STACK_MIN = 8192, /* perf's own default */
};

/* Counted by the event loop's thread, read by any: each count is atomic, relaxed. */
struct need {
    char name[NEEDS_NAME];
    uint32_t stacks[NEEDS_STACKS];
    uint32_t stacks_all;
    uint32_t tasks;         /* that ended, with stacks or without */
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
/* A task ended. */
void need_add_task(struct need *need);

/*
 * Bytes of stack that were enough for 99 of 100, or for all where there were few: NEEDS_STACK_MIN, or twice or four
 * times that. 0: not known. NULL: not known. Any thread.
 */
uint32_t need_stack(const struct need *need);

#endif
