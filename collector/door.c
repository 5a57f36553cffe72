/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/door.h"

#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/pressure.h"
#include "collector/request.h"
#include "collector/session.h"
#include "common/report.h"

enum { STACK = 256 << 10, SWEEP_NS = 1000000000, SLICE_NS = 100000, NICER = 15, AWAKE_MS = 500 };

/* What the doors of a session share: nothing in the segment can be trusted to be theirs. */
struct hall {
    struct session *session;
    bool stop;                               /* atomic */
    uint32_t awake;                          /* doors that have run, as a futex */
    pthread_mutex_t slots[PINJECT_SLOTS];    /* held while a slot is served: only one door frees it */
    uint32_t seen[PINJECT_SLOTS];            /* states at the last sweep, by door 0 alone */
};

struct door {
    struct hall *hall;
    struct pinject_bell *bell;
    unsigned number;
    pthread_t thread;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void futex_wake(uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- Slots ---- */

static bool move(uint32_t *state, uint32_t from, uint32_t to, int order)
{
    if (order == __ATOMIC_RELEASE)
        return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static uint32_t with_phase(uint32_t state, enum pinject_phase phase)
{
    return PINJECT_STATE(PINJECT_STATE_GENERATION(state), phase);
}

/* POSTED or ABANDONED -> TAKEN. *ret_taken: the state then; *ret_alone: nobody would read an answer. */
static bool take(struct pinject_slot *slot, uint32_t *ret_taken, bool *ret_alone)
{
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
    /* Twice: between the look and the exchange its owner may give it up. */
    for (int i = 0; i < 2; i++) {
        uint32_t phase = PINJECT_STATE_PHASE(state);
        if (phase != PINJECT_POSTED && phase != PINJECT_ABANDONED)
            return false;
        *ret_taken = with_phase(state, PINJECT_TAKEN);
        /* Pairs with the object's release when it posted. */
        if (__atomic_compare_exchange_n(&slot->state, &state, *ret_taken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            *ret_alone = phase == PINJECT_ABANDONED;
            return true;
        }
    }
    return false;
}

/* TAKEN -> ANSWERED or FREE. */
static void answer(struct session *session, struct pinject_slot *slot, uint32_t taken, bool reply, int result)
{
    /* A door that answers is not stalled, whoever asked. */
    if (__atomic_load_n(&session->segment->stalled, __ATOMIC_RELAXED))
        __atomic_store_n(&session->segment->stalled, 0, __ATOMIC_RELAXED);
    if (reply) {
        __atomic_store_n(&slot->result, result, __ATOMIC_RELAXED);
        /* Pairs with the object's acquire when it reads the answer. */
        if (move(&slot->state, taken, with_phase(taken, PINJECT_ANSWERED), __ATOMIC_RELEASE)) {
            futex_wake(&slot->state);
            return;
        }
    } else if (move(&slot->state, taken, with_phase(taken, PINJECT_FREE), __ATOMIC_RELEASE)) {
        return;
    }
    /* Abandoned meanwhile. */
    move(&slot->state, with_phase(taken, PINJECT_ABANDONED), with_phase(taken, PINJECT_FREE), __ATOMIC_RELEASE);
}

/*
 * Serves what is posted in the slot, if anything is; with NEWS ended children alone. Under the slot's lock until it is
 * answered.
 */
static void serve_locked(struct hall *hall, unsigned number, bool news)
{
    struct session *session = hall->session;
    struct pinject_slot *slot = &session->segment->slots[number];
    struct arrival *arrival = NULL;
    struct request request;
    uint32_t taken;
    bool alone;
    if (!take(slot, &taken, &alone)) {
        pthread_mutex_unlock(&hall->slots[number]);
        return;
    }
    int result = request_copy(session, slot, &request);
    if (result == 0 && news && request.slot.kind != PINJECT_REAPED)
        result = -EINVAL; /* written over after it was posted */
    if (result < 0)
        __atomic_fetch_add(&session->malformed, 1, __ATOMIC_RELAXED);
    else
        result = request_begin(session, &request, &arrival);
    alone |= request.slot.flags & (PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_NO_WAIT);
    answer(session, slot, taken, !alone, result);
    pthread_mutex_unlock(&hall->slots[number]);
    if (arrival)
        request_finish(session, &request, arrival);
}

static void serve(struct hall *hall, unsigned number)
{
    pthread_mutex_lock(&hall->slots[number]);
    serve_locked(hall, number, false);
}

/* ---- Sweeping: what no bell tells ---- */

/* A look at one that was never claimed would give it a page. */
static unsigned slots_used(const struct pinject_segment *segment)
{
    uint32_t reach = __atomic_load_n(&segment->reach, __ATOMIC_RELAXED);
    return reach < PINJECT_SLOTS ? reach : PINJECT_SLOTS;
}

static bool is_gone(int32_t owner)
{
    return owner <= 0 || (kill(owner, 0) < 0 && errno == ESRCH);
}

/* Frees what a dead owner left, serves what was posted without a bell. Only what has not moved since the last sweep. */
static void sweep(struct hall *hall)
{
    for (unsigned i = 0, used = slots_used(hall->session->segment); i < used; i++) {
        struct pinject_slot *slot = &hall->session->segment->slots[i];
        uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
        bool moved = state != hall->seen[i];
        hall->seen[i] = state;
        uint32_t phase = PINJECT_STATE_PHASE(state);
        if (moved || phase == PINJECT_FREE)
            continue;
        if (phase == PINJECT_POSTED || phase == PINJECT_ABANDONED) {
            serve(hall, i);
            continue;
        }
        /* Busy: a door is at it, and may have to wait for the kernel. */
        if (pthread_mutex_trylock(&hall->slots[i]) != 0)
            continue;
        /* Under the lock no door has it: TAKEN, or a phase that does not exist, was written by somebody else. */
        bool nonsense = phase == PINJECT_TAKEN || phase > PINJECT_ABANDONED;
        if (nonsense || is_gone(__atomic_load_n(&slot->owner, __ATOMIC_RELAXED)))
            move(&slot->state, state, with_phase(state, PINJECT_FREE), __ATOMIC_RELEASE);
        pthread_mutex_unlock(&hall->slots[i]);
    }
    /* All slots may have been of the dead: then there was nothing to answer. */
    uint32_t full = PINJECT_STALLED_FULL;
    __atomic_compare_exchange_n(&hall->session->segment->stalled, &full, PINJECT_STALLED_YES, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

/* ---- Bells ---- */

static bool is_rung(const struct pinject_bell *bell)
{
    for (unsigned i = 0; i < PINJECT_SLOTS / 64; i++)
        if (__atomic_load_n(&bell->pending[i], __ATOMIC_SEQ_CST))
            return true;
    return false;
}

static void serve_bell(struct door *door)
{
    for (unsigned i = 0; i < PINJECT_SLOTS / 64; i++) {
        if (!__atomic_load_n(&door->bell->pending[i], __ATOMIC_RELAXED))
            continue;
        /* Pairs with the object's release when it set its bit. */
        uint64_t bits = __atomic_exchange_n(&door->bell->pending[i], 0, __ATOMIC_ACQUIRE);
        for (; bits; bits &= bits - 1)
            serve(door->hall, i * 64 + (unsigned)__builtin_ctzll(bits));
    }
}

/* What nobody waits for, and nothing is opened for. A slot that is posted stays who it is while its lock is held. */
static bool is_news(const struct pinject_slot *slot)
{
    return PINJECT_STATE_PHASE(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE)) == PINJECT_POSTED &&
           __atomic_load_n(&slot->kind, __ATOMIC_RELAXED) == PINJECT_REAPED;
}

static void take_news(struct hall *hall, struct pinject_bell *bell, unsigned word)
{
    uint64_t bits = __atomic_load_n(&bell->pending[word], __ATOMIC_RELAXED);
    for (; bits; bits &= bits - 1) {
        unsigned number = word * 64 + (unsigned)__builtin_ctzll(bits);
        uint64_t bit = bits & -bits;
        const struct pinject_slot *slot = &hall->session->segment->slots[number];
        if (!is_news(slot) || pthread_mutex_trylock(&hall->slots[number]) != 0)
            continue;
        /* Pairs with the object's release when it set the bit. */
        if (is_news(slot) && __atomic_fetch_and(&bell->pending[word], ~bit, __ATOMIC_ACQUIRE) & bit)
            serve_locked(hall, number, true);
        else
            pthread_mutex_unlock(&hall->slots[number]);
    }
}

void door_take_news(struct session *session)
{
    for (unsigned i = 0; session->doors && i < session->door_count; i++)
        for (unsigned word = 0; word < PINJECT_SLOTS / 64; word++)
            take_news(session->doors[i].hall, session->doors[i].bell, word);
}

void door_trim(struct session *session)
{
    madvise(session->segment->slots, sizeof(session->segment->slots), MADV_DONTNEED);
}

/*
 * Sleeps until the bell is rung. The object sets its bit, counts up and looks at sleeping; the door reads the count,
 * sets sleeping and looks at the bits: in whatever order, one sees the other, or the futex sees another count.
 */
static void sleep_on(struct door *door)
{
    struct pinject_bell *bell = door->bell;
    uint32_t count = __atomic_load_n(&bell->count, __ATOMIC_SEQ_CST);
    __atomic_store_n(&bell->sleeping, 1, __ATOMIC_SEQ_CST);
    if (!is_rung(bell) && !__atomic_load_n(&door->hall->stop, __ATOMIC_SEQ_CST)) {
        struct timespec second = {.tv_sec = 1};
        syscall(SYS_futex, &bell->count, FUTEX_WAIT, count, &second, NULL, 0);
    }
    __atomic_store_n(&bell->sleeping, 0, __ATOMIC_SEQ_CST);
}

/* As the kernel defines it; libc does not everywhere. */
struct scheduling {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

/*
 * A door works for microseconds, and a task waits for it. A short time slice lets the scheduler (EEVDF, since Linux
 * 6.12) prefer it at its wake-up over programs that only compute; so does a lower niceness, where it is allowed. With
 * six such programs and 100 starting threads on two CPUs, answers took up to 92 ms without both, less than 5 with them.
 */
static void ask_for_quick_wakes(void)
{
    struct scheduling scheduling = {.size = sizeof(scheduling)};
    if (syscall(SYS_sched_getattr, 0, &scheduling, sizeof(scheduling), 0) < 0 || scheduling.policy != SCHED_OTHER)
        return;
    scheduling.runtime_ns = SLICE_NS;
    int32_t nice = scheduling.nice;
    scheduling.nice = nice - NICER;
    if (syscall(SYS_sched_setattr, 0, &scheduling, 0) == 0)
        return;
    scheduling.nice = nice;
    syscall(SYS_sched_setattr, 0, &scheduling, 0);
}

static void *door_main(void *argument)
{
    struct door *door = argument;
    ask_for_quick_wakes();
    char name[16];
    snprintf(name, sizeof(name), "pinject-door/%u", door->number % 100);
    pthread_setname_np(pthread_self(), name);
    __atomic_fetch_add(&door->hall->awake, 1, __ATOMIC_SEQ_CST);
    futex_wake(&door->hall->awake);
    uint64_t swept = now_ns();
    while (!__atomic_load_n(&door->hall->stop, __ATOMIC_SEQ_CST)) {
        /* Once for all that is posted: each of them waits no longer for the others. */
        pressure_wait(door->hall->session);
        serve_bell(door);
        uint64_t now = door->number == 0 ? now_ns() : swept;
        if (now - swept >= SWEEP_NS) {
            sweep(door->hall);
            swept = now;
        }
        sleep_on(door);
    }
    serve_bell(door);
    return NULL;
}

/* ---- Starting and stopping ---- */

/* libc's set has room for 1024 of them. */
struct cpus {
    cpu_set_t sets[PINJECT_CPUS / CPU_SETSIZE];
};

static void allowed_cpus(struct cpus *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (sched_getaffinity(0, sizeof(*ret), ret->sets) < 0 || CPU_COUNT_S(sizeof(*ret), ret->sets) == 0)
        CPU_SET_S(0, sizeof(*ret), ret->sets);
}

void door_assign_bells(struct session *session)
{
    struct pinject_segment *segment = session->segment;
    struct cpus cpus;
    allowed_cpus(&cpus);
    unsigned used = 0;
    for (unsigned cpu = 0; cpu < PINJECT_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(cpus), cpus.sets))
            segment->bell_of_cpu[cpu] = (uint8_t)(used++ % PINJECT_BELLS);
    segment->bells_used = used < PINJECT_BELLS ? used : PINJECT_BELLS;
    session->door_count = segment->bells_used;
}

/* The CPUs of a bell: those that door_assign_bells() gave it. */
static void pin(pthread_attr_t *attr, const struct cpus *allowed, unsigned bell)
{
    struct cpus mine;
    memset(&mine, 0, sizeof(mine));
    unsigned used = 0;
    for (unsigned cpu = 0; cpu < PINJECT_CPUS; cpu++)
        if (CPU_ISSET_S(cpu, sizeof(*allowed), allowed->sets) && used++ % PINJECT_BELLS == bell)
            CPU_SET_S(cpu, sizeof(mine), mine.sets);
    if (CPU_COUNT_S(sizeof(mine), mine.sets) > 0)
        pthread_attr_setaffinity_np(attr, sizeof(mine), mine.sets);
}

static int start(struct door *door, const struct cpus *allowed)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pin(&attr, allowed, door->number);
    int error = pthread_create(&door->thread, &attr, door_main, door);
    pthread_attr_destroy(&attr);
    /* A CPU may have gone since: then anywhere. */
    if (error == EINVAL)
        error = pthread_create(&door->thread, NULL, door_main, door);
    return -error;
}

static struct hall *new_hall(struct session *session)
{
    struct hall *hall = calloc(1, sizeof(*hall));
    if (!hall)
        return NULL;
    hall->session = session;
    for (unsigned i = 0; i < PINJECT_SLOTS; i++)
        pthread_mutex_init(&hall->slots[i], NULL);
    return hall;
}

/* Joins the first COUNT doors. */
static void stop(struct session *session, unsigned count)
{
    struct hall *hall = session->doors[0].hall;
    __atomic_store_n(&hall->stop, true, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < count; i++) {
        __atomic_fetch_add(&session->doors[i].bell->count, 1, __ATOMIC_SEQ_CST);
        futex_wake(&session->doors[i].bell->count);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(session->doors[i].thread, NULL);
    for (unsigned i = 0; i < PINJECT_SLOTS; i++)
        pthread_mutex_destroy(&hall->slots[i]);
    free(hall);
    free(session->doors);
    session->doors = NULL;
}

/*
 * A new thread waits for its CPU as any other does, longer on a busy machine than a program waits for its first answer:
 * what ended soon then was not profiled at all (3 of 100, with a bare LD_PRELOAD beside five busy programs).
 */
static void await_doors(struct hall *hall, unsigned count)
{
    uint64_t end = now_ns() + AWAKE_MS * UINT64_C(1000000), now;
    uint32_t awake;
    while ((awake = __atomic_load_n(&hall->awake, __ATOMIC_SEQ_CST)) < count && (now = now_ns()) < end) {
        struct timespec rest = {.tv_nsec = (long)(end - now)};
        syscall(SYS_futex, &hall->awake, FUTEX_WAIT, awake, &rest, NULL, 0);
    }
}

int door_start_all(struct session *session)
{
    struct cpus allowed;
    allowed_cpus(&allowed);
    struct hall *hall = new_hall(session);
    session->doors = hall ? calloc(session->door_count, sizeof(*session->doors)) : NULL;
    if (!session->doors) {
        free(hall);
        report_error("out of memory");
        return -ENOMEM;
    }
    sigset_t all, old;
    sigfillset(&all);
    /* A fault of its own must find its handler: a blocked one kills the process (segment cut short, see session.c). */
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    int status = 0;
    unsigned started = 0;
    for (; started < session->door_count && status == 0; started++) {
        struct door *door = &session->doors[started];
        *door = (struct door){.hall = hall, .bell = &session->segment->bells[started], .number = started};
        status = start(door, &allowed);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (status < 0) {
        report_error("cannot start a thread: %s; raise 'ulimit -u'", strerror(-status));
        stop(session, started - 1);
    } else {
        await_doors(hall, started);
    }
    return status;
}

void door_stop_all(struct session *session)
{
    if (!session->doors)
        return;
    __atomic_store_n(&session->segment->closed, 1, __ATOMIC_SEQ_CST);
    stop(session, session->door_count);
    /* Who posted since does not have to wait until its patience ends. */
    for (unsigned i = 0, used = slots_used(session->segment); i < used; i++) {
        struct pinject_slot *slot = &session->segment->slots[i];
        uint32_t taken;
        bool alone;
        if (take(slot, &taken, &alone))
            answer(session, slot, taken, !alone, -ECANCELED);
    }
}
