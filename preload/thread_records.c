/* SPDX-License-Identifier: MIT */
#include "sys.h"
#include "thread_records.h"

#include <errno.h>
#include "text.h"

enum {
    RECORDS = 256,
    MANY = 32, /* two workers answer so many in some milliseconds, also beside busy programs */
    FEW = 16,
    PATIENCE_NS = 4000000,
    VAIN = 12, /* about as long as one thread waits for its answer */
};

/* A record is held from pthread_create() until its thread has its events: as many as threads start at the same time. */
static struct pinject_thread_record records[RECORDS];
static uint32_t hint;

static struct {
    uint32_t held;    /* records */
    uint32_t waiting; /* creators */
    uint32_t turns;   /* how often held came down to FEW */
    uint32_t vain;    /* waits that timed out since the last record came back */
} crowd;

static bool is_pooled(const struct pinject_thread_record *record)
{
    return record >= records && record < records + RECORDS;
}

static struct pinject_thread_record *find_record(void)
{
    uint32_t first = __atomic_fetch_add(&hint, 1, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < RECORDS; i++) {
        struct pinject_thread_record *record = &records[(first + i) % RECORDS];
        uint32_t expected = 0;
        /* Acquire: pairs with the release of the thread that gave it back. */
        if (__atomic_load_n(&record->used, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&record->used, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return record;
    }
    struct pinject_thread_record *page = sys_map(sizeof(*page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                                 -1);
    return sys_failed(page) ? NULL : page;
}

struct pinject_thread_record *pinject_thread_record_take(void)
{
    struct pinject_thread_record *record = find_record();
    if (record)
        __atomic_fetch_add(&crowd.held, 1, __ATOMIC_RELAXED);
    return record;
}

void pinject_thread_record_give(struct pinject_thread_record *record)
{
    if (__atomic_load_n(&crowd.vain, __ATOMIC_RELAXED))
        __atomic_store_n(&crowd.vain, 0, __ATOMIC_RELAXED);
    /* Sequentially consistent with a waiter, which counts itself and then reads turns and held. */
    uint32_t held = __atomic_load_n(&crowd.held, __ATOMIC_RELAXED);
    while (held > 0 &&
           !__atomic_compare_exchange_n(&crowd.held, &held, held - 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        continue; /* 0: taken before a fork */
    if (held == FEW + 1) {
        __atomic_fetch_add(&crowd.turns, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&crowd.waiting, __ATOMIC_SEQ_CST))
            sys_futex_wake(&crowd.turns, INT32_MAX);
    }
    if (is_pooled(record))
        __atomic_store_n(&record->used, 0, __ATOMIC_RELEASE);
    else
        sys_unmap(record, sizeof(*record));
}

void pinject_thread_records_reset(void)
{
    /* The contents stay: a handler may have forked in the middle of pthread_create(), which continues here. */
    for (uint32_t i = 0; i < RECORDS; i++)
        records[i].used = 0;
    memset(&crowd, 0, sizeof(crowd));
}

void pinject_thread_throttle(const uint32_t *stalled)
{
    /* The new threads may all wait for a CPU that their creator has. */
    if (__atomic_load_n(&crowd.held, __ATOMIC_RELAXED) < MANY || __atomic_load_n(&crowd.vain, __ATOMIC_RELAXED) >= VAIN)
        return;
    if (sys_is_real_time())
        return;
    uint64_t limit = sys_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
    struct timespec deadline = {(time_t)(limit / 1000000000u), (long)(limit % 1000000000u)};
    __atomic_fetch_add(&crowd.waiting, 1, __ATOMIC_SEQ_CST);
    for (;;) {
        uint32_t seen = __atomic_load_n(&crowd.turns, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&crowd.held, __ATOMIC_SEQ_CST) <= FEW || __atomic_load_n(stalled, __ATOMIC_RELAXED))
            break;
        long error = sys_futex_wait_until(&crowd.turns, seen, &deadline);
        if (error == 0 || error == -EINTR || error == -EAGAIN)
            continue;
        __atomic_fetch_add(&crowd.vain, 1, __ATOMIC_RELAXED);
        break;
    }
    __atomic_fetch_sub(&crowd.waiting, 1, __ATOMIC_RELAXED);
}
