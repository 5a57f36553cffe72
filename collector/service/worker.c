/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/service/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/service/channel.h"
#include "collector/service/slots.h"
#include "collector/sources/pressure.h"
#include "collector/sources/session.h"
#include "collector/system/priority.h"
#include "common/clock.h"

enum { STACK = 256 << 10, SWEEP_NS = 900 * 1000 * 1000, AWAKE_MS = 500 };
enum { WAKE_AGAIN_NS = 10 * 1000 * 1000 };

/*
 * Shared by the workers of a channel. It is here because nothing in the channel's memory can be trusted to be theirs.
 */
struct worker_pool {
    struct session *session;
    struct channel *channel;
    bool stop;              /* atomic */
    uint32_t awake;         /* workers that have run, as a futex */
    pthread_mutex_t change; /* held while a worker hands over, and while stop is set */
    struct slots slots;
};

struct worker {
    struct worker_pool *pool;
    struct pinject_doorbell *doorbell;
    unsigned number;
    bool renew;               /* atomic: the thread is to hand over */
    uint32_t taken;           /* atomic: notifications that woke it, and that the event loop took */
    pthread_t thread, before; /* before: the thread that handed over to this one, if there was one */
};

static void futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- Doorbells ---- */

static bool is_rung(const struct pinject_doorbell *doorbell)
{
    for (unsigned i = 0; i < PINJECT_SLOTS / 64; i++)
        if (__atomic_load_n(&doorbell->pending[i], __ATOMIC_SEQ_CST))
            return true;
    return false;
}

/*
 * Too many requests came to nothing: all others that use the channel wait too, and go on without an answer if that is
 * long.
 */
static void hold_back(const struct worker *worker)
{
    struct channel *channel = worker->pool->channel;
    uint64_t ns = budget_wait_ns(&channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE), channel->session->cpus);
    if (ns > 0 && !__atomic_load_n(&worker->pool->stop, __ATOMIC_SEQ_CST))
        nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
}

/* Returns whether something came of it. */
static bool serve_doorbell(struct worker *worker)
{
    bool done = false;
    for (unsigned i = 0; i < PINJECT_SLOTS / 64; i++) {
        if (!__atomic_load_n(&worker->doorbell->pending[i], __ATOMIC_RELAXED))
            continue;
        /* Pairs with the preload object's release when it set its bit. */
        uint64_t bits = __atomic_exchange_n(&worker->doorbell->pending[i], 0, __ATOMIC_ACQUIRE);
        for (; bits; bits &= bits - 1) {
            hold_back(worker);
            done |= slots_serve(&worker->pool->slots, i * 64 + (unsigned)__builtin_ctzll(bits));
        }
    }
    return done;
}

static bool is_held(struct channel *channel)
{
    return budget_wait_ns(&channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE), channel->session->cpus) > 0;
}

static void take_notifications(struct worker *worker, unsigned word)
{
    uint64_t *pending = &worker->doorbell->pending[word], bits = __atomic_load_n(pending, __ATOMIC_RELAXED);
    for (; bits && !is_held(worker->pool->channel); bits &= bits - 1)
        if (slots_serve_notification(&worker->pool->slots, word * 64 + (unsigned)__builtin_ctzll(bits), pending,
                                     bits & -bits))
            __atomic_fetch_add(&worker->taken, 1, __ATOMIC_RELAXED);
}

void worker_take_notifications(struct channel *channel)
{
    for (unsigned i = 0; channel->workers && i < channel->session->doorbells; i++)
        for (unsigned word = 0; word < PINJECT_SLOTS / 64; word++)
            take_notifications(&channel->workers[i], word);
}

/*
 * Sleeps until the doorbell is rung. The preload object sets its bit, increments the count and looks at sleeping; the
 * worker reads the count, sets sleeping and looks at the bits: in any order, one sees the other, or the futex sees
 * another count.
 */
static void sleep_on(struct worker *worker)
{
    struct pinject_doorbell *doorbell = worker->doorbell;
    uint32_t count = __atomic_load_n(&doorbell->count, __ATOMIC_SEQ_CST);
    __atomic_store_n(&doorbell->sleeping, 1, __ATOMIC_SEQ_CST);
    if (!is_rung(doorbell) && !__atomic_load_n(&worker->pool->stop, __ATOMIC_SEQ_CST) &&
        !__atomic_load_n(&worker->renew, __ATOMIC_SEQ_CST)) {
        struct timespec rest = {.tv_sec = worker->pool->session->sleep_s};
        syscall(SYS_futex, &doorbell->count, FUTEX_WAIT, count, &rest, NULL, 0);
    }
    __atomic_store_n(&doorbell->sleeping, 0, __ATOMIC_SEQ_CST);
}

static void *run_successor(void *argument);

/*
 * Hands over to a thread that has its CPUs, signal mask and priority from this one. False: there is none, and this one
 * stays.
 */
static bool hand_over(struct worker *worker)
{
    struct worker_pool *pool = worker->pool;
    bool done = false;
    __atomic_store_n(&worker->renew, false, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&pool->change);
    /* A stop joins the threads that are in the table when stop is set. */
    if (!__atomic_load_n(&pool->stop, __ATOMIC_SEQ_CST)) {
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setstacksize(&attr, STACK);
        worker->before = worker->thread;
        done = pthread_create(&worker->thread, &attr, run_successor, worker) == 0;
        if (!done)
            worker->thread = worker->before;
        pthread_attr_destroy(&attr);
    }
    pthread_mutex_unlock(&pool->change);
    return done;
}

static void take_name(const struct worker *worker)
{
    char name[16];
    snprintf(name, sizeof(name), "pinject-work/%u", worker->number % 100);
    pthread_setname_np(pthread_self(), name);
}

static void run_worker(struct worker *worker)
{
    uint64_t swept = clock_ns(CLOCK_MONOTONIC_COARSE), cpu_ns = 0;
    uint32_t taken = __atomic_load_n(&worker->taken, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&worker->pool->stop, __ATOMIC_SEQ_CST)) {
        /* Once for all that is posted, so that none of them waits longer because of the others. */
        pressure_wait(worker->pool->session);
        uint64_t before = cpu_ns;
        bool done = serve_doorbell(worker);
        cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        uint32_t taken_before = taken;
        taken = __atomic_load_n(&worker->taken, __ATOMIC_RELAXED);
        /* Woken for nothing: the wake-up costs more than the look. */
        if (!done && before && taken == taken_before)
            budget_waste(&worker->pool->channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE), cpu_ns - before);
        hold_back(worker);
        uint64_t now = worker->number == 0 ? clock_ns(CLOCK_MONOTONIC_COARSE) : swept;
        if (now - swept >= SWEEP_NS) {
            slots_sweep(&worker->pool->slots);
            swept = now;
        }
        if (__atomic_load_n(&worker->renew, __ATOMIC_SEQ_CST) && hand_over(worker))
            return;
        sleep_on(worker);
    }
    serve_doorbell(worker);
}

static void *worker_main(void *argument)
{
    struct worker *worker = argument;
    priority_ask_for_quick_wakes();
    take_name(worker);
    __atomic_fetch_add(&worker->pool->awake, 1, __ATOMIC_SEQ_CST);
    futex_wake(&worker->pool->awake);
    run_worker(worker);
    return NULL;
}

static void *run_successor(void *argument)
{
    struct worker *worker = argument;
    take_name(worker);
    pthread_join(worker->before, NULL);
    run_worker(worker);
    return NULL;
}

/* ---- Starting and stopping ---- */

/* A set of libc's has room for 1024 CPUs. */
struct cpus {
    cpu_set_t sets[PINJECT_CPUS / CPU_SETSIZE];
};

/* The CPUs of the process' first thread: the caller may be a worker, on its own CPU. */
static void allowed_cpus(struct cpus *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (sched_getaffinity(getpid(), sizeof(*ret), ret->sets) < 0 || CPU_COUNT_S(sizeof(*ret), ret->sets) == 0)
        CPU_SET_S(0, sizeof(*ret), ret->sets);
}

void worker_assign_doorbells(struct session *session)
{
    struct pinject_segment *segment = session->segment;
    struct cpus cpus;
    allowed_cpus(&cpus);
    unsigned used = 0;
    for (unsigned cpu = 0; cpu < PINJECT_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(cpus), cpus.sets))
            segment->doorbell_of_cpu[cpu] = (uint8_t)(used++ % PINJECT_DOORBELLS);
    segment->doorbells_used = used < PINJECT_DOORBELLS ? used : PINJECT_DOORBELLS;
    session->doorbells = segment->doorbells_used;
}

/* The CPUs of a doorbell: those that worker_assign_doorbells() gave it. */
static void pin_to_doorbell(pthread_attr_t *attr, const struct cpus *allowed, unsigned doorbell)
{
    struct cpus mine;
    memset(&mine, 0, sizeof(mine));
    unsigned used = 0;
    for (unsigned cpu = 0; cpu < PINJECT_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(*allowed), allowed->sets) && used++ % PINJECT_DOORBELLS == doorbell)
            CPU_SET_S(cpu, sizeof(mine), mine.sets);
    if (CPU_COUNT_S(sizeof(mine), mine.sets) > 0)
        pthread_attr_setaffinity_np(attr, sizeof(mine), mine.sets);
}

static int start_worker(struct worker *worker, const struct cpus *allowed)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pin_to_doorbell(&attr, allowed, worker->number);
    int error = pthread_create(&worker->thread, &attr, worker_main, worker);
    pthread_attr_destroy(&attr);
    /* A CPU may be gone since then: run anywhere. */
    if (error == EINVAL)
        error = pthread_create(&worker->thread, NULL, worker_main, worker);
    return -error;
}

static struct worker_pool *new_pool(struct channel *channel)
{
    struct worker_pool *pool = calloc(1, sizeof(*pool));
    if (!pool)
        return NULL;
    pool->session = channel->session;
    pool->channel = channel;
    pthread_mutex_init(&pool->change, NULL);
    slots_init(&pool->slots, channel);
    return pool;
}

/* It looks again, whatever it waits for. */
static void wake_worker(struct worker *worker)
{
    __atomic_fetch_add(&worker->doorbell->count, 1, __ATOMIC_SEQ_CST);
    futex_wake(&worker->doorbell->count);
}

void worker_renew_all(struct channel *channel)
{
    for (unsigned i = 0; channel->workers && i < channel->session->doorbells; i++) {
        __atomic_store_n(&channel->workers[i].renew, true, __ATOMIC_SEQ_CST);
        wake_worker(&channel->workers[i]);
    }
}

/*
 * Has it ended by END_NS, of CLOCK_MONOTONIC? A worker hangs as long as the exec of a task that it looks at (errand.h).
 * It is woken again and again: a program that writes the old count back just before the worker sleeps lets it sleep on.
 * After END_NS it is not waited for: there may be thousands.
 */
static bool join_worker(struct worker *worker, uint64_t end_ns)
{
    for (;;) {
        uint64_t now = clock_ns(CLOCK_MONOTONIC), left = now < end_ns ? end_ns - now : 0;
        uint64_t soon = clock_ns(CLOCK_REALTIME) + (left < WAKE_AGAIN_NS ? left : WAKE_AGAIN_NS);
        struct timespec until = {.tv_sec = (time_t)(soon / 1000000000u), .tv_nsec = (long)(soon % 1000000000u)};
        wake_worker(worker);
        if (pthread_timedjoin_np(worker->thread, NULL, &until) == 0)
            return true;
        if (clock_ns(CLOCK_MONOTONIC) >= end_ns)
            return false;
    }
}

/* The first COUNT workers. */
static void ask_to_stop(struct channel *channel, unsigned count)
{
    struct worker_pool *pool = channel->workers[0].pool;
    pthread_mutex_lock(&pool->change);
    __atomic_store_n(&pool->stop, true, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool->change);
    for (unsigned i = 0; i < count; i++)
        wake_worker(&channel->workers[i]);
}

void worker_ask_to_stop(struct channel *channel)
{
    if (channel->workers)
        ask_to_stop(channel, channel->session->doorbells);
}

/* Joins the first COUNT workers. */
static void stop_workers(struct channel *channel, unsigned count, uint64_t end_ns)
{
    struct worker_pool *pool = channel->workers[0].pool;
    bool ended = true;
    ask_to_stop(channel, count);
    for (unsigned i = 0; i < count; i++)
        ended &= join_worker(&channel->workers[i], end_ns);
    if (!ended) { /* all of it stays */
        channel->session->hangs = true;
        channel->left = channel->workers;
        channel->workers = NULL;
        return;
    }
    slots_destroy(&pool->slots);
    pthread_mutex_destroy(&pool->change);
    free(pool);
    free(channel->workers);
    channel->workers = NULL;
}

/*
 * A new thread waits for its CPU as any other does, on a busy machine longer than a program waits for its first answer:
 * programs that ended soon were not profiled at all then (3 of 100, with a bare LD_PRELOAD beside five busy programs).
 */
void worker_await_all(struct channel *channel)
{
    if (!channel->workers)
        return;
    struct worker_pool *pool = channel->workers[0].pool;
    uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE), end = now + AWAKE_MS * UINT64_C(1000000);
    uint32_t awake;
    for (; (awake = __atomic_load_n(&pool->awake, __ATOMIC_SEQ_CST)) < channel->session->doorbells && now < end;
         now = clock_ns(CLOCK_MONOTONIC_COARSE)) {
        struct timespec rest = {.tv_nsec = (long)(end - now)};
        syscall(SYS_futex, &pool->awake, FUTEX_WAIT, awake, &rest, NULL, 0);
    }
}

int worker_start_all(struct channel *channel)
{
    struct cpus allowed;
    allowed_cpus(&allowed);
    struct worker_pool *pool = new_pool(channel);
    channel->workers = pool ? calloc(channel->session->doorbells, sizeof(*channel->workers)) : NULL;
    if (!channel->workers) {
        free(pool);
        return -ENOMEM;
    }
    sigset_t all, old;
    sigfillset(&all);
    /*
     * A fault of a worker must find its handler: a blocked one kills the process (a truncated segment, see session.c).
     */
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int status = 0;
    unsigned started = 0;
    for (; started < channel->session->doorbells && status == 0; started++) {
        struct worker *worker = &channel->workers[started];
        *worker = (struct worker){.pool = pool, .doorbell = &channel->requests->doorbells[started], .number = started};
        status = start_worker(worker, &allowed);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (status < 0) /* nobody rings, so those that run end at once */
        stop_workers(channel, started - 1, UINT64_MAX);
    return status;
}

void worker_stop_all(struct channel *channel, uint64_t end_ns)
{
    if (!channel->workers)
        return;
    stop_workers(channel, channel->session->doorbells, end_ns);
    slots_refuse(channel);
}
