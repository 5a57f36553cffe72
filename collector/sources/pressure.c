/* SPDX-License-Identifier: MIT */
#include "collector/sources/pressure.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector/sources/session.h"
#include "common/clock.h"

/* Far below the wait of a preload object: it is one wait for a whole round of requests. */
enum { WAIT_NS = 3 * 1000 * 1000 };
/* Unwritten tasks hold about 6 kB each. */
enum { UNWRITTEN = 16384 };

void pressure_taken(struct session *session, unsigned count)
{
    __atomic_fetch_add(&session->pressure.descriptors, count, __ATOMIC_RELAXED);
}

static bool is_idle(const struct session *session)
{
    return __atomic_load_n(&session->pressure.idle, __ATOMIC_SEQ_CST);
}

static void report_progress(struct session *session)
{
    struct pressure *pressure = &session->pressure;
    __atomic_fetch_add(&pressure->progress, 1, __ATOMIC_SEQ_CST);
    /* Pairs with pressure_wait(), which counts itself and then lets the futex compare. */
    if (__atomic_load_n(&pressure->waiting, __ATOMIC_SEQ_CST) && (is_idle(session) || !pressure_is_high(session)))
        syscall(SYS_futex, &pressure->progress, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

void pressure_idle(struct session *session, bool idle)
{
    __atomic_store_n(&session->pressure.idle, idle, __ATOMIC_SEQ_CST);
    if (idle)
        report_progress(session);
}

void pressure_freed(struct session *session, unsigned count)
{
    __atomic_fetch_sub(&session->pressure.descriptors, count, __ATOMIC_RELAXED);
    report_progress(session);
}

void pressure_queued(struct session *session)
{
    __atomic_fetch_add(&session->pressure.unwritten, 1, __ATOMIC_RELAXED);
}

void pressure_written(struct session *session)
{
    __atomic_fetch_sub(&session->pressure.unwritten, 1, __ATOMIC_RELAXED);
    report_progress(session);
}

bool pressure_needs_room(const struct session *session)
{
    uint64_t bytes = __atomic_load_n(&session->ring_bytes, __ATOMIC_RELAXED);
    return __atomic_load_n(&session->pressure.descriptors, __ATOMIC_RELAXED) > session->fd_limit / 2 ||
           (session->ring_budget != UINT64_MAX && bytes > session->ring_budget / 8 * 7);
}

bool pressure_is_high(const struct session *session)
{
    return pressure_needs_room(session) || notifications_are_many(&session->notifications) ||
           __atomic_load_n(&session->pressure.unwritten, __ATOMIC_RELAXED) > UNWRITTEN;
}

void pressure_wait(struct session *session)
{
    struct pressure *pressure = &session->pressure;
    if (!pressure_is_high(session))
        return;
    uint64_t now = clock_ns(CLOCK_MONOTONIC), end = now + WAIT_NS;
    __atomic_fetch_add(&pressure->waiting, 1, __ATOMIC_SEQ_CST);
    while (now < end) {
        struct timespec rest = {.tv_nsec = (long)(end - now)};
        uint32_t seen = __atomic_load_n(&pressure->progress, __ATOMIC_SEQ_CST);
        if (is_idle(session) || !pressure_is_high(session))
            break;
        syscall(SYS_futex, &pressure->progress, FUTEX_WAIT_PRIVATE, seen, &rest, NULL, 0);
        now = clock_ns(CLOCK_MONOTONIC);
    }
    __atomic_fetch_sub(&pressure->waiting, 1, __ATOMIC_SEQ_CST);
}
