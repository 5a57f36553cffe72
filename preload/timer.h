/* SPDX-License-Identifier: MIT */
/*
 * The sampler of threads without perf events: of all (PINJECT_SESSION_TIMER), or of those that the kernel hides from
 * the collector. One POSIX timer for each thread, whose signal is taken by a handler that writes perf's records into
 * the thread's ring. wire.h has the ring.
 *
 * The timers run on the thread's user time as the kernel's tick counts it: they expire in the interrupt that found the
 * thread in user space, and nowhere else, so that no system call of the program is ever interrupted by them.
 *
 * What a sample weighs: the first one of a thread what its expiries count ((1 + overrun) x interval: a tick), so that
 * among many short threads the few that a tick meets stand for all; each further one the user time since the last, as
 * getrusage() has it from the scheduler's exact clock: with more work than CPUs ticks alone lose 10 to 30 % of it.
 *
 * Nothing here changes errno or allocates but by mmap.
 */
#ifndef PINJECT_PRELOAD_TIMER_H
#define PINJECT_PRELOAD_TIMER_H

#include "pinject/wire.h"
#include "sys.h"

#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* A thread's. A vfork child finds its parent's, and must not use it: tid tells. */
struct pinject_sampler {
    struct perf_event_mmap_page *page; /* of the ring; NULL: nothing is sampled */
    struct pinject_timer_head *head;
    unsigned char *data;
    uint64_t at;       /* bytes written: data_head, not read back while we write */
    uint64_t told;     /* lost samples that stand in the ring already */
    uint64_t lost;
    uint64_t id, interval_ns, flags;
    uint64_t user_ns;  /* the thread's user time at the last sample; 0: there was none */
    bool by_overrun;   /* the timer's clock runs in the kernel too: only its own count is a weight */
    bool paused;       /* our signal is really blocked in the thread: nothing expires that others could take */
    int32_t pid, tid;
    int32_t timer;     /* the kernel's number + 1; 0: none. Atomic: whoever ends it takes it */
    /*
     * The program blocked our signal in this thread; it stays open, and the program is shown what it asked for. The
     * same of a vfork child of the thread, which runs on its memory: pinject_signal_masked() tells them apart.
     */
    bool masked, child_masked;
    int32_t child_tid;
};

/*
 * timer_table.c. The calling thread's sampler, NULL: it has none; the same, made where it is missing, NULL: there is no
 * room; given back. Whether POINTER is one. Context: anywhere.
 */
int pinject_samplers_init(void); /* by one thread at a time */
struct pinject_sampler *pinject_sampler_find(void);
struct pinject_sampler *pinject_sampler_own(void);
void pinject_sampler_drop(struct pinject_sampler *sampler);
bool pinject_sampler_is(const void *pointer);
void pinject_samplers_clear(void);
void pinject_samplers_each(void (*call)(struct pinject_sampler *));

/* The calling thread's timer, with the answer to its request: number of its ring + 1; 0 and below: none. */
void pinject_timer_start(int answer);
/* A new thread, whose creator had blocked our signal: MASKED. Forgets who had its place in memory before. */
void pinject_timer_thread(bool masked);
/* Whether the calling thread has one; not a vfork child of it. Context: such a child too. */
bool pinject_timer_runs(void);
/* The calling thread is about to get an alternate stack of SIZE bytes: where the signal does not fit, no more comes. */
void pinject_timer_alternate(size_t size);
/* The thread ends: last counts, no timer, no ring. */
void pinject_timer_stop(void);
/*
 * Our signal has become really blocked in the calling thread, or is open again: meanwhile the timer stands still, and
 * what had expired is taken out of the queue (CONTEXT: as a sample, where the handler has one), so that no signalfd or
 * sigwait of the program finds it. Without a timer no system call is made.
 */
void pinject_timer_pause(void *context);
void pinject_timer_resume(void);
/* The kernel's TIMER expires each INTERVAL_NS; 0: it stands still. 0 or -errno. */
static inline int pinject_timer_set(int timer, uint64_t interval_ns)
{
    const struct timespec interval = {(time_t)(interval_ns / 1000000000u), (long)(interval_ns % 1000000000u)};
    const struct itimerspec times = {interval, interval};
    return (int)SYS_4(SYS_timer_settime, timer, 0, &times, 0);
}

/* Brings the counts in the ring up to date. */
void pinject_timer_count(void);
/*
 * Around an exec of the calling thread: one that is not its process' first goes on with the first one's ring, and its
 * counts must not be counted again there.
 */
bool pinject_timer_before_exec(void);
void pinject_timer_after_exec(bool told);
/* In a child of fork, which has inherited the handler alone. */
void pinject_timer_forked(void);
/* This process is not followed any more: nothing of ours stays. */
void pinject_timer_leave(void);
/*
 * No timer of any thread goes on, and none begins. FILTER: the program is about to forbid itself system calls. Not
 * undone.
 */
void pinject_timer_end_all(bool filter);
/*
 * Whether it did that, or the process is blocked by seccomp: what only timers need is not called any more, as a filter
 * may kill.
 */
bool pinject_timer_ended(void);
/* After that: what the threads' rings share with the collector is replaced by memory of the process' own. */
void pinject_timer_give_up_rings(void);

/* The signal; 0: none is taken. */
int pinject_timer_signal(void);

/* timer_sample.c: one expiry. Context: the handler; all signals are blocked. */
void pinject_sampler_take(struct pinject_sampler *sampler, uint64_t overrun, const void *context);
/* The kernel's figures of the thread into the ring's head. Returns its user time; 0: unknown. */
uint64_t pinject_sampler_count(struct pinject_sampler *sampler);

#endif
