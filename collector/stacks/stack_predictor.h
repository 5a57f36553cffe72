/* SPDX-License-Identifier: MIT */
/*
 * Predicts the stack size of a program from earlier programs of the same name: of a compiler's processes one has deep
 * stacks for a second, the others a few shallow ones. A ring has to hold a number of dumps, and the kernel clears its
 * pages for each task, which costs more than everything else of its start.
 */
#ifndef COLLECTOR_STACKS_STACK_PREDICTOR_H
#define COLLECTOR_STACKS_STACK_PREDICTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    PREDICTOR_NAMES = 512,      /* further ones are unknown */
    PREDICTOR_NAME = 16,        /* of a task: TASK_COMM_LEN */
    PREDICTOR_CLASSES = 4,      /* up to 8, 16 and 32 KiB, and deeper or cut */
    PREDICTOR_STACK_MIN = 8192, /* perf's own default */
};

/* Counted by the event loop's thread, read by any: each count is atomic, relaxed. */
struct stack_sizes {
    char name[PREDICTOR_NAME];
    uint32_t stacks[PREDICTOR_CLASSES];
    uint32_t stacks_all;
    uint32_t tasks; /* that ended, with or without stacks */
};

struct stack_predictor {
    pthread_mutex_t lock; /* of COUNT and names */
    unsigned count;
    struct stack_sizes names[PREDICTOR_NAMES];
};

struct stack_predictor *stack_predictor_new(void); /* NULL: no memory */
/* NULL is accepted. */
void stack_predictor_free(struct stack_predictor *predictor);
/*
 * The entry of NAME, a new one if need be, valid as long as PREDICTOR. NULL: there are too many, or no PREDICTOR. Any
 * thread.
 */
struct stack_sizes *stack_predictor_find(struct stack_predictor *predictor, const char *name);

/* Called by the event loop; NULL is accepted. A stack that needed BYTES of its dump; CUT: more than these. */
void stack_sizes_add_stack(struct stack_sizes *sizes, uint64_t bytes, bool cut);
/* A task ended. */
void stack_sizes_add_task(struct stack_sizes *sizes);

/*
 * Bytes of stack that were enough for 99 of 100 stacks, or for all if there were few: PREDICTOR_STACK_MIN, or twice or
 * four times that. 0: unknown, also for NULL. Any thread.
 */
uint32_t stack_sizes_predict(const struct stack_sizes *sizes);

#endif
