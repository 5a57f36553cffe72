/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/service/slots.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/service/channel.h"
#include "collector/service/request.h"
#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/sources/session.h"
#include "common/clock.h"

/* Sweeps, 0.9 s apart, after which a slot that did not change has no owner: claim and post are close. */
enum { STILL = 3 };

static bool move_state(uint32_t *state, uint32_t from, uint32_t to, int order)
{
    if (order == __ATOMIC_RELEASE)
        return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    return __atomic_compare_exchange_n(state, &from, to, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static uint32_t with_phase(uint32_t state, enum pinject_phase phase)
{
    return PINJECT_STATE(PINJECT_STATE_GENERATION(state), phase);
}

/* POSTED or ABANDONED -> TAKEN. *ret_taken: the new state; *ret_alone: nobody would read an answer. */
static bool take_request(struct pinject_slot *slot, uint32_t *ret_taken, bool *ret_alone)
{
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
    /* Twice: between the load and the exchange its owner may abandon it. */
    for (int i = 0; i < 2; i++) {
        uint32_t phase = PINJECT_STATE_PHASE(state);
        if (phase != PINJECT_POSTED && phase != PINJECT_ABANDONED)
            return false;
        *ret_taken = with_phase(state, PINJECT_TAKEN);
        /* Pairs with the preload object's release when it posted. */
        if (__atomic_compare_exchange_n(&slot->state, &state, *ret_taken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            *ret_alone = phase == PINJECT_ABANDONED;
            return true;
        }
    }
    return false;
}

/* TAKEN -> ANSWERED or FREE. False: its sender has abandoned it meanwhile. */
static bool answer_request(struct channel *channel, struct pinject_slot *slot, uint32_t taken, bool reply, int result)
{
    /* A worker that answers is not stalled, whoever asked. */
    if (__atomic_load_n(&channel->requests->stalled, __ATOMIC_RELAXED))
        __atomic_store_n(&channel->requests->stalled, 0, __ATOMIC_RELAXED);
    if (reply) {
        __atomic_store_n(&slot->result, result, __ATOMIC_RELAXED);
        /* Pairs with the preload object's acquire when it reads the answer. */
        if (move_state(&slot->state, taken, with_phase(taken, PINJECT_ANSWERED), __ATOMIC_RELEASE)) {
            syscall(SYS_futex, &slot->state, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
            return true;
        }
    } else if (move_state(&slot->state, taken, with_phase(taken, PINJECT_FREE), __ATOMIC_RELEASE)) {
        return true;
    }
    /* Abandoned meanwhile. */
    move_state(&slot->state, with_phase(taken, PINJECT_ABANDONED), with_phase(taken, PINJECT_FREE), __ATOMIC_RELEASE);
    return false;
}

/*
 * BEGAN: the thread's CPU time when it took a request that came to nothing; else 0. TOLD: nothing was opened for it: it
 * was a notification, or its task is in an inherited set already (as children of a task that sent INHERIT are), or it
 * failed.
 */
static void charge_budget(struct channel *channel, uint64_t began, bool told)
{
    if (began)
        budget_waste(&channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE), clock_ns(CLOCK_THREAD_CPUTIME_ID) - began);
    else if (told)
        budget_tell(&channel->budget, clock_ns(CLOCK_MONOTONIC_COARSE));
}

static bool opens_nothing(uint32_t kind)
{
    return kind == PINJECT_REAPED || kind == PINJECT_GENERATION || kind == PINJECT_SNAPSHOT ||
           kind == PINJECT_INHERIT_EXEC;
}

/*
 * Serves what is posted in the slot, if anything is; in the event LOOP only what asks the kernel nothing. Holds the
 * slot's lock until it is answered. Returns whether something came of it.
 */
static bool serve_locked(struct slots *slots, unsigned number, bool loop)
{
    struct session *session = slots->session;
    struct pinject_slot *slot = &slots->channel->requests->slots[number];
    struct notification *notification = NULL;
    struct request request;
    uint32_t taken;
    bool alone;
    if (!take_request(slot, &taken, &alone)) {
        pthread_mutex_unlock(&slots->locks[number]);
        return false;
    }
    uint64_t began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    int result = request_copy(session, slot, &request);
    request.late = alone || request.slot.flags & PINJECT_REQUEST_NO_WAIT;
    if (result == 0 && loop && !request_only_tells(slots->channel, request.slot.kind, request.slot.flags))
        result = -EINVAL; /* overwritten after it was posted */
    if (result < 0)
        __atomic_fetch_add(&session->malformed, 1, __ATOMIC_RELAXED);
    else
        result = request_begin(slots->channel, &request, &notification);
    /* If we lack a descriptor or memory, that is not the sender's fault. */
    bool done = notification ? result != -ESRCH : result == 0;
    charge_budget(slots->channel, done ? 0 : began, !notification || result < 0 || opens_nothing(notification->kind));
    alone |= request.slot.flags & (PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_NO_WAIT);
    bool met = answer_request(slots->channel, slot, taken, !alone, result);
    if (!met && notification && notification->kind == PINJECT_ARM && notification->events)
        attach_enable(notification->events); /* its exec may be over */
    pthread_mutex_unlock(&slots->locks[number]);
    if (notification)
        request_finish(session, &request, notification);
    return done;
}

bool slots_serve(struct slots *slots, unsigned number)
{
    pthread_mutex_lock(&slots->locks[number]);
    return serve_locked(slots, number, false);
}

/*
 * A request that nobody waits for, and for which nothing is opened. A posted slot stays the same request while its lock
 * is held.
 */
static bool is_notification(const struct slots *slots, const struct pinject_slot *slot)
{
    return PINJECT_STATE_PHASE(__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE)) == PINJECT_POSTED &&
           request_only_tells(slots->channel, __atomic_load_n(&slot->kind, __ATOMIC_RELAXED),
                              __atomic_load_n(&slot->flags, __ATOMIC_RELAXED));
}

bool slots_serve_notification(struct slots *slots, unsigned number, uint64_t *pending, uint64_t bit)
{
    const struct pinject_slot *slot = &slots->channel->requests->slots[number];
    if (!is_notification(slots, slot) || pthread_mutex_trylock(&slots->locks[number]) != 0)
        return false;
    /* Pairs with the preload object's release when it set the bit. */
    if (is_notification(slots, slot) && __atomic_fetch_and(pending, ~bit, __ATOMIC_ACQUIRE) & bit)
        return serve_locked(slots, number, true);
    pthread_mutex_unlock(&slots->locks[number]);
    return false;
}

/* ---- Sweeping: what no doorbell reports ---- */

/* Looking at a slot that was never claimed would allocate its page. */
static unsigned slots_used(const struct pinject_requests *requests)
{
    uint32_t claimed = __atomic_load_n(&requests->slots_claimed, __ATOMIC_RELAXED);
    return claimed < PINJECT_SLOTS ? claimed : PINJECT_SLOTS;
}

static bool is_gone(int32_t owner)
{
    return owner <= 0 || (kill(owner, 0) < 0 && errno == ESRCH);
}

/*
 * Would a sweep find what the last one left: free slots? An owner increments the hint before it claims one. If it began
 * to claim before the last sweep, and died right after, the next claim finds that, which is when it matters.
 */
static bool is_idle(struct slots *slots)
{
    uint32_t hint = __atomic_load_n(&slots->channel->requests->hint, __ATOMIC_RELAXED);
    bool before = slots->idle && hint == slots->hint;
    slots->hint = hint;
    return before;
}

void slots_sweep(struct slots *slots)
{
    if (is_idle(slots))
        return;
    bool idle = true;
    for (unsigned i = 0, used = slots_used(slots->channel->requests); i < used; i++) {
        struct pinject_slot *slot = &slots->channel->requests->slots[i];
        uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
        bool moved = state != slots->seen[i];
        slots->seen[i] = state;
        slots->still[i] = moved ? 0 : slots->still[i] < STILL ? slots->still[i] + 1 : STILL;
        uint32_t phase = PINJECT_STATE_PHASE(state);
        idle &= !moved && phase == PINJECT_FREE;
        if (moved || phase == PINJECT_FREE)
            continue;
        /* Busy: a worker serves it, and may have to wait for the kernel. */
        if (pthread_mutex_trylock(&slots->locks[i]) != 0)
            continue;
        if (phase == PINJECT_POSTED || phase == PINJECT_ABANDONED) {
            serve_locked(slots, i, false);
            continue;
        }
        /* Under the lock no worker has it: so somebody else wrote TAKEN, or a phase that does not exist. */
        bool nonsense = phase == PINJECT_TAKEN || phase > PINJECT_ABANDONED;
        /* The slot names its owner: a task that lives and has never heard of it would keep the slot for ever. */
        if (nonsense || slots->still[i] == STILL || is_gone(__atomic_load_n(&slot->owner, __ATOMIC_RELAXED)))
            move_state(&slot->state, state, with_phase(state, PINJECT_FREE), __ATOMIC_RELEASE);
        pthread_mutex_unlock(&slots->locks[i]);
    }
    /* Dead owners may have had all slots: then there was nothing to answer. */
    uint32_t full = PINJECT_STALLED_FULL;
    __atomic_compare_exchange_n(&slots->channel->requests->stalled, &full, PINJECT_STALLED_YES, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    slots->idle = idle;
    /* Nothing looks at them until one is claimed: until then their pages need not be ours. Their contents stay. */
    if (idle)
        madvise(slots->channel->requests->slots, sizeof(slots->channel->requests->slots), MADV_DONTNEED);
}

void slots_refuse(struct channel *channel)
{
    for (unsigned i = 0, used = slots_used(channel->requests); i < used; i++) {
        struct pinject_slot *slot = &channel->requests->slots[i];
        uint32_t taken;
        bool alone;
        if (take_request(slot, &taken, &alone))
            answer_request(channel, slot, taken, !alone, -ECANCELED);
    }
}

void slots_init(struct slots *slots, struct channel *channel)
{
    slots->session = channel->session;
    slots->channel = channel;
    for (unsigned i = 0; i < PINJECT_SLOTS; i++)
        pthread_mutex_init(&slots->locks[i], NULL);
}

void slots_destroy(struct slots *slots)
{
    for (unsigned i = 0; i < PINJECT_SLOTS; i++)
        pthread_mutex_destroy(&slots->locks[i]);
}
