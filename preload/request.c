/* SPDX-License-Identifier: MIT */
#include "request.h"
#include "sys.h"

#include <errno.h>
#include "text.h"

enum {
    CLAIM_ROUNDS = 6,
    ASYNCHRONOUS_SLOTS = 32,
    CLAIM_PAUSE_NS = 500000,
    AWAKE_NS = 5000000,
    AWAKE_YIELDS = 256,
    STALLED_LOOKS = 16,
};

bool pinject_request_covered(const struct pinject_channel *channel, int32_t tid)
{
    if (tid < 0 || tid >= PINJECT_TASKS)
        return false;
    /* Pairs with the collector's release before it answers. */
    uint64_t word = __atomic_load_n(&channel->segment->covered[tid / 64], __ATOMIC_ACQUIRE);
    return word >> (tid % 64) & 1;
}

static void raise_slots_claimed(struct pinject_requests *requests, uint32_t claimed)
{
    uint32_t before = __atomic_load_n(&requests->slots_claimed, __ATOMIC_RELAXED);
    while (before < claimed && !__atomic_compare_exchange_n(&requests->slots_claimed, &before, claimed, true,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static bool claim_slot(struct pinject_requests *requests, uint32_t index, struct pinject_claim *ret_claim)
{
    struct pinject_slot *slot = &requests->slots[index];
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
    if (PINJECT_STATE_PHASE(state) != PINJECT_FREE)
        return false;
    uint32_t generation = PINJECT_STATE_GENERATION(state) + 1;
    /* Acquire: the last owner and the collector are done with the slot before we write to it. */
    if (!__atomic_compare_exchange_n(&slot->state, &state, PINJECT_STATE(generation, PINJECT_CLAIMED), false,
                                     __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    *ret_claim = (struct pinject_claim){slot, index, generation};
    raise_slots_claimed(requests, index + 1);
    return true;
}

/*
 * Where a claimer looks at its i-th try: at the first slots, starting at another one each time, then at the others in
 * order, so that pages beyond the first ones are only touched if needed. If the collector is stalled any slot will do.
 */
static uint32_t slot_to_try(uint32_t first, uint32_t i, bool stalled)
{
    if (stalled)
        return (first + i) % PINJECT_SLOTS;
    return i < PINJECT_SLOTS_FIRST ? (first + i) % PINJECT_SLOTS_FIRST : i;
}

struct pinject_claim pinject_request_claim(const struct pinject_channel *channel, int32_t tid)
{
    struct pinject_requests *requests = channel->requests;
    struct pinject_claim claim = {NULL, 0, 0};
    for (int round = 0; round < CLAIM_ROUNDS; round++) {
        /* While the collector is stopped or killed all slots are taken: a look at each would cost 20 us each time. */
        uint32_t stalled = __atomic_load_n(&requests->stalled, __ATOMIC_RELAXED);
        if (stalled == PINJECT_STALLED_FULL)
            break;
        uint32_t first = __atomic_fetch_add(&requests->hint, 1, __ATOMIC_RELAXED);
        for (uint32_t i = 0; i < (stalled ? STALLED_LOOKS : PINJECT_SLOTS); i++) {
            if (!claim_slot(requests, slot_to_try(first, i, stalled), &claim))
                continue;
            __atomic_store_n(&claim.slot->owner, tid, __ATOMIC_RELAXED);
            memset(&claim.slot->kind, 0, offsetof(struct pinject_slot, text) - offsetof(struct pinject_slot, kind));
            return claim;
        }
        if (stalled) {
            /* Looking at several slots costs a new process as many page faults: spare the next one. */
            __atomic_compare_exchange_n(&requests->stalled, &stalled, PINJECT_STALLED_FULL, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED);
            break;
        }
        if (sys_is_real_time())
            break;
        /* 0.5, 1, ... 8 ms: in that time as many requests are served as wait. */
        if (round < CLAIM_ROUNDS - 1)
            sys_sleep_ns(CLAIM_PAUSE_NS << round);
    }
    __atomic_fetch_add(&requests->dropped, 1, __ATOMIC_RELAXED);
    return claim;
}

void pinject_request_note_stall(const struct pinject_channel *channel)
{
    uint32_t no = PINJECT_STALLED_NO;
    __atomic_compare_exchange_n(&channel->requests->stalled, &no, PINJECT_STALLED_YES, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

/* One slot in so many wakes a worker all the same, so that slots do not run out. */
static bool wakes(const struct pinject_claim *claim)
{
    return !(claim->slot->flags & PINJECT_REQUEST_ASYNCHRONOUS) || claim->index % ASYNCHRONOUS_SLOTS == 0;
}

/* ELSEWHERE: rings the doorbell of another CPU, as no worker gets this CPU from a real-time task. */
static void ring_doorbell(const struct pinject_channel *channel, uint32_t index, bool wake, bool elsewhere)
{
    const struct pinject_segment *segment = channel->segment;
    struct pinject_requests *requests = channel->requests;
    int cpu = sys_cpu();
    uint32_t number = cpu >= 0 && cpu < PINJECT_CPUS ? segment->doorbell_of_cpu[cpu] : 0;
    number = number < channel->doorbells_used ? number : 0;
    struct pinject_doorbell *doorbell =
        &requests->doorbells[elsewhere ? (number + 1) % channel->doorbells_used : number];
    /* Pairs with the worker's exchange, acquire. */
    __atomic_fetch_or(&doorbell->pending[index / 64], 1ull << (index % 64), __ATOMIC_RELEASE);
    if (!wake)
        return;
    __atomic_fetch_add(&doorbell->count, 1, __ATOMIC_SEQ_CST);
    /* Sequentially consistent with the worker, which sets sleeping and then checks count and pending again. */
    if (__atomic_load_n(&doorbell->sleeping, __ATOMIC_SEQ_CST))
        sys_futex_wake(&doorbell->count, 1);
}

static void free_slot(struct pinject_claim claim)
{
    uint32_t expected = PINJECT_STATE(claim.generation, PINJECT_ANSWERED);
    /* Release: we have read the result. Nobody else frees an answered slot of a living owner. */
    __atomic_compare_exchange_n(&claim.slot->state, &expected, PINJECT_STATE(claim.generation, PINJECT_FREE), false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

/* True when the slot is abandoned; false when the answer came at the last moment, or somebody else has the slot. */
static bool abandon_slot(struct pinject_claim claim)
{
    static const uint32_t phases[] = {PINJECT_POSTED, PINJECT_TAKEN, PINJECT_POSTED, PINJECT_TAKEN};
    for (unsigned i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        uint32_t expected = PINJECT_STATE(claim.generation, phases[i]);
        uint32_t abandoned = PINJECT_STATE(claim.generation, PINJECT_ABANDONED);
        if (__atomic_compare_exchange_n(&claim.slot->state, &expected, abandoned, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
            return true;
    }
    return false;
}

static int wait_for_answer(const struct pinject_channel *channel, struct pinject_claim claim)
{
    struct pinject_requests *requests = channel->requests;
    const uint32_t answered = PINJECT_STATE(claim.generation, PINJECT_ANSWERED);
    const uint64_t begin = sys_clock_ns(CLOCK_MONOTONIC), wait = (uint64_t)channel->wait_us * 1000;
    const uint64_t limit = begin + wait, asleep = begin + (wait < AWAKE_NS ? wait : AWAKE_NS);
    struct timespec deadline = {(time_t)(limit / 1000000000u), (long)(limit % 1000000000u)};
    unsigned yields = 0; /* limited, because no task's figures have their CPU time */

    for (;;) {
        /* Pairs with the collector's release. */
        uint32_t state = __atomic_load_n(&claim.slot->state, __ATOMIC_ACQUIRE);
        if (state == answered) {
            int result = claim.slot->result;
            free_slot(claim);
            return result;
        }
        uint32_t phase = PINJECT_STATE_PHASE(state);
        if (PINJECT_STATE_GENERATION(state) != (claim.generation & 0xffffffu) ||
            (phase != PINJECT_POSTED && phase != PINJECT_TAKEN))
            return -EPROTO; /* somebody else writes to our slot: never wait on that */
        /* A program that polls until its child sleeps would take our sleep for the child's own. */
        if (yields++ < AWAKE_YIELDS && sys_clock_ns(CLOCK_MONOTONIC) < asleep && sys_yield() == 0)
            continue;
        /* EINTR: a handler of the program ran; EAGAIN, 0: the state changed, or somebody writes to the word. The
           deadline is absolute, and only the clock says that it has come. */
        long error = sys_futex_wait_until(&claim.slot->state, state, &deadline);
        bool late = error != 0 && error != -EINTR && error != -EAGAIN;
        if (late || sys_clock_ns(CLOCK_MONOTONIC) >= limit) {
            if (!abandon_slot(claim) && __atomic_load_n(&claim.slot->state, __ATOMIC_ACQUIRE) == answered)
                continue;
            __atomic_store_n(&requests->stalled, PINJECT_STALLED_YES, __ATOMIC_RELAXED);
            __atomic_fetch_add(&requests->unanswered, 1, __ATOMIC_RELAXED);
            return -ETIMEDOUT;
        }
    }
}

int pinject_request_send(const struct pinject_channel *channel, struct pinject_claim claim)
{
    struct pinject_requests *requests = channel->requests;
    bool reply = !(claim.slot->flags & PINJECT_REQUEST_NO_REPLY);
    bool wake = wakes(&claim);
    /* A task that waits yields the CPU; a real-time program may rely on no other task running before it. */
    bool real_time = (reply || wake) && sys_is_real_time();
    bool stalled = reply && (real_time || __atomic_load_n(&requests->stalled, __ATOMIC_RELAXED));
    if (stalled) {
        /* Nobody will read the answer, so the collector has to free the slot. */
        claim.slot->flags |= PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_NO_WAIT;
        __atomic_fetch_add(&requests->unanswered, 1, __ATOMIC_RELAXED);
        reply = false;
    }
    uint32_t claimed = PINJECT_STATE(claim.generation, PINJECT_CLAIMED);
    claim.slot->time_ns = sys_clock_ns(CLOCK_MONOTONIC);
    /* Pairs with the collector's acquire. Fails if we were stopped for so long that the slot was freed. */
    uint32_t posted = PINJECT_STATE(claim.generation, PINJECT_POSTED);
    if (!__atomic_compare_exchange_n(&claim.slot->state, &claimed, posted, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
        __atomic_fetch_add(&requests->unanswered, 1, __ATOMIC_RELAXED);
        return -EPROTO;
    }
    ring_doorbell(channel, claim.index, wake, real_time);
    if (reply)
        return wait_for_answer(channel, claim);
    return stalled ? -EAGAIN : 0;
}
