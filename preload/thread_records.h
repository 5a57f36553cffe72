/* SPDX-License-Identifier: MIT */
/* What a new thread is told by its creator, without the program's malloc. */
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
    bool masked;     /* its creator's sampler.masked (timer.h) */
    union pinject_thread_start start;
    void *argument;
};

/* NULL when there is neither a free record nor memory. Lock-free; signal handlers may come in between. */
struct pinject_thread_record *pinject_thread_record_take(void);
void pinject_thread_record_give(struct pinject_thread_record *record);

/*
 * Before a thread is made: while many of this process have not begun yet, for some milliseconds at most; not while the
 * collector is STALLED, and a few times only while none of them begins. A creator is faster than those who ask: else
 * they would find no free slot, and wait in vain.
 */
void pinject_thread_throttle(const uint32_t *stalled);

/* In a child of fork: the threads that were to start have not come along. */
void pinject_thread_records_reset(void);

#endif
