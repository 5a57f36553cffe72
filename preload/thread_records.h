/* SPDX-License-Identifier: MIT */
/*
 * Records that a thread's creator passes to the new thread, from a pool of their own, not the program's malloc. And the
 * throttle of pthread_create.
 */
#ifndef PINJECT_PRELOAD_THREAD_RECORDS_H
#define PINJECT_PRELOAD_THREAD_RECORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <threads.h>

union pinject_thread_start {
    void *(*posix)(void *);
    thrd_start_t c11;
};

struct pinject_thread_record {
    uint32_t used;
    int32_t creator; /* tid */
    bool masked;     /* its creator's masked state (timer.h) */
    union pinject_thread_start start;
    void *argument;
};

/* NULL when there is neither a free record nor memory. Lock-free; signal handlers may interrupt it. */
struct pinject_thread_record *pinject_thread_record_take(void);
void pinject_thread_record_give(struct pinject_thread_record *record);

/*
 * Before a thread is made: waits while many threads of this process have not begun yet, some milliseconds at most. Not
 * while the collector is STALLED; if none of them begins, only a few times. A creator is faster than the requests of
 * its threads: without this wait they would find no free slot, and wait in vain.
 */
void pinject_thread_throttle(const uint32_t *stalled);

/* In a child of fork: the threads that were about to start do not exist here. */
void pinject_thread_records_reset(void);

#endif
