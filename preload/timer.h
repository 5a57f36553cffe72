/* SPDX-License-Identifier: MIT */
/*
 * The sampler of threads without perf events: all threads (PINJECT_SESSION_TIMER), or those that the kernel hides from
 * the collector. Each thread has a POSIX timer. The handler of its signal writes perf records into the thread's ring;
 * wire.h describes the ring.
 *
 * The timers run on the thread's user time as the kernel's tick counts it. They expire only in an interrupt that found
 * the thread in user space, so they never interrupt a system call of the program.
 *
 * The weight of a sample: the first one of a thread weighs its expiries ((1 + overrun) x interval: a tick), so that
 * among many short threads the few that a tick meets represent all. Each further one weighs the user time since the
 * last, which getrusage() takes from the scheduler's exact clock: with more work than CPUs, ticks alone lose 10 to 30 %
 * of it.
 *
 * Nothing here changes errno, or allocates except by mmap.
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

/* A thread's sampler. A vfork child finds its parent's, and must not use it: tid differs. */
struct pinject_sampler {
    struct perf_event_mmap_page *page; /* the ring; NULL: nothing is sampled */
    struct pinject_timer_head *head;
    unsigned char *data;
    uint64_t at;   /* bytes written: data_head, not read back while we write */
    uint64_t told; /* lost samples that the ring already reports */
    uint64_t lost;
    uint64_t id, interval_ns, flags;
    uint64_t user_ns; /* the thread's user time at the last sample; 0: there was none */
    bool by_overrun;  /* the timer's clock includes time in the kernel: only its own count is a weight */
    bool paused;      /* our signal is really blocked in the thread, and its timer stopped: others take no expiry */
    int32_t pid, tid;
    int32_t timer; /* the kernel's timer id + 1; 0: none. Atomic: whoever ends the timer takes it */
    /*
     * The program blocked our signal in this thread. It stays open, but the program sees it as blocked. child_masked:
     * the same for a vfork child of the thread, which runs on its memory; pinject_signal_masked() distinguishes them.
     */
    bool masked, child_masked;
    int32_t child_tid;
};

/*
 * timer_table.c. find: the calling thread's sampler; NULL: it has none. own: the same, created if missing; NULL: no
 * room. drop: gives it back. is: is POINTER a sampler? Context: anywhere.
 */
int pinject_samplers_init(void); /* by one thread at a time */
struct pinject_sampler *pinject_sampler_find(void);
struct pinject_sampler *pinject_sampler_own(void);
void pinject_sampler_drop(struct pinject_sampler *sampler);
bool pinject_sampler_is(const void *pointer);
void pinject_samplers_clear(void);
void pinject_samplers_each(void (*call)(struct pinject_sampler *));

/* Starts the calling thread's timer. ANSWER: to its request, number of its ring + 1; 0 and below: none. */
void pinject_timer_start(int answer);
/*
 * A new thread; MASKED: its creator had blocked our signal. Drops the sampler of an earlier thread at its place in
 * memory.
 */
void pinject_timer_thread(bool masked);
/* Does the calling thread have a timer? False in a vfork child of it. Context: such a child too. */
bool pinject_timer_runs(void);
/*
 * The calling thread is about to get an alternate stack of SIZE bytes: if the signal does not fit there, its timer
 * ends.
 */
void pinject_timer_alternate(size_t size);
/* The thread ends: reads the last counts, ends the timer, unmaps the ring. */
void pinject_timer_stop(void);
/*
 * Our signal is now really blocked in the calling thread, or is open again. Meanwhile the timer is stopped, and an
 * expired signal is taken out of the queue, so that no signalfd or sigwait of the program finds it. CONTEXT: of the
 * handler, if there is one; then it becomes a sample. Without a timer no system call is made.
 */
void pinject_timer_pause(void *context);
void pinject_timer_resume(void);
/* Makes the kernel's TIMER expire every INTERVAL_NS; 0: stops it. 0 or -errno. */
static inline int pinject_timer_set(int timer, uint64_t interval_ns)
{
    const struct timespec interval = {(time_t)(interval_ns / 1000000000u), (long)(interval_ns % 1000000000u)};
    const struct itimerspec times = {interval, interval};
    return (int)SYS_4(SYS_timer_settime, timer, 0, &times, 0);
}

/* Updates the counts in the ring. */
void pinject_timer_count(void);
/*
 * Around an exec of the calling thread: a thread that is not its process' first goes on with the first one's ring,
 * where its counts must not be counted again.
 */
bool pinject_timer_before_exec(void);
void pinject_timer_after_exec(bool told);
/* In a child of fork, which inherits the handler alone. */
void pinject_timer_forked(void);
/* This process is not followed any more: removes everything of ours. */
void pinject_timer_leave(void);
/*
 * Ends the timers of all threads, for good: none begins any more. FILTER: the program is about to install a seccomp
 * filter.
 */
void pinject_timer_end_all(bool filter);
/*
 * Was that called with FILTER, or is the process blocked by seccomp? Then calls that only timers need are not made any
 * more, as a filter may kill for them.
 */
bool pinject_timer_ended(void);
/* After that: private memory replaces the rings of the threads, which the collector shares. */
void pinject_timer_give_up_rings(void);

/* The signal; 0: none is taken yet. */
int pinject_timer_signal(void);

/* timer_sample.c: one expiry. Context: the handler; all signals are blocked. */
void pinject_sampler_take(struct pinject_sampler *sampler, uint64_t overrun, const void *context);
/* Writes the kernel's figures of the thread into the ring's head. Returns its user time; 0: unknown. */
uint64_t pinject_sampler_count(struct pinject_sampler *sampler);

#endif
