/* SPDX-License-Identifier: MIT */
/* A session for tests, and a minimal version of the preload object's side of the protocol. */
#ifndef UNIT_WORKER_FAKE_H
#define UNIT_WORKER_FAKE_H

#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/service/channels.h"
#include "collector/service/listener.h"
#include "collector/service/service.h"
#include "collector/service/worker.h"
#include "collector/sources/attach.h"
#include "collector/sources/notifications.h"
#include "collector/sources/rings.h"

/* Only a broken worker needs that long. */
enum { FAKE_PATIENCE_S = 40 };

struct fake {
    struct settings settings;
    struct event_config config;
    struct session session;
};

#define UNUSED __attribute__((unused))

UNUSED static unsigned fake_doorbells = 1; /* of the last opened session */

UNUSED static pid_t fake_tid(void)
{
    return (pid_t)syscall(SYS_gettid);
}

UNUSED static void fake_open(struct fake *fake)
{
    memset(fake, 0, sizeof(*fake));
    fake->settings = (struct settings){.frequency = 999, .follow = PINJECT_SESSION_ALL};
    assert_int_equal(event_config_init(&fake->config, &fake->settings), 0);
    assert_int_equal(service_init(&fake->session, &fake->settings, &fake->config, "/nowhere/libpinject.so"), 0);
    fake->session.stop_s = 60; /* long: threads must end without a message even on a busy machine */
    fake_doorbells = fake->session.doorbells;
}

UNUSED static void fake_close(struct fake *fake)
{
    service_release(&fake->session);
    event_config_release(&fake->config);
}

/* Runs CHECK in a child, as uid 65534 if this is root. Fails unless the child's status is 0. */
UNUSED static void fake_unprivileged(void (*check)(void))
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0))
            _exit(77);
        prctl(PR_SET_DUMPABLE, 1);
        check();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* For such a child: cmocka's assertions would jump into the parent's loop. */
#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

/* ---- The preload object's side ---- */

UNUSED static struct pinject_slot *fake_claim(struct pinject_requests *requests, unsigned number, uint32_t kind)
{
    struct pinject_slot *slot = &requests->slots[number];
    __atomic_store_n(&requests->slots_claimed, PINJECT_SLOTS, __ATOMIC_RELAXED); /* as if all were claimed once */
    __atomic_fetch_add(&requests->hint, 1, __ATOMIC_RELAXED);
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    assert_int_equal(PINJECT_STATE_PHASE(state), PINJECT_FREE);
    uint32_t claimed = PINJECT_STATE(PINJECT_STATE_GENERATION(state) + 1, PINJECT_CLAIMED);
    assert_true(__atomic_compare_exchange_n(&slot->state, &state, claimed, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    __atomic_store_n(&slot->owner, fake_tid(), __ATOMIC_RELAXED);
    memset(&slot->kind, 0, offsetof(struct pinject_slot, text) - offsetof(struct pinject_slot, kind));
    slot->tid = fake_tid();
    slot->pid = getpid();
    slot->ppid = getppid();
    slot->kind = kind;
    /* Without a NUL: the collector adds one. */
    memcpy(slot->comm, "test_worker_process", sizeof(slot->comm));
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    slot->time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    return slot;
}

UNUSED static void fake_set_phase(struct pinject_slot *slot, uint32_t phase)
{
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->state, PINJECT_STATE(PINJECT_STATE_GENERATION(state), phase), __ATOMIC_RELEASE);
}

UNUSED static void fake_ring(struct pinject_requests *requests, unsigned doorbell, unsigned number)
{
    struct pinject_doorbell *at = &requests->doorbells[doorbell % fake_doorbells];
    __atomic_fetch_or(&at->pending[number / 64], UINT64_C(1) << (number % 64), __ATOMIC_RELEASE);
    __atomic_fetch_add(&at->count, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&at->sleeping, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &at->count, FUTEX_WAKE, 1, NULL, NULL, 0);
}

UNUSED static void fake_post(struct pinject_requests *requests, unsigned number)
{
    fake_set_phase(&requests->slots[number], PINJECT_POSTED);
    fake_ring(requests, number, number);
}

/* Waits until the slot has PHASE. Only an answer wakes us; other phases are polled. */
UNUSED static void fake_await(struct pinject_slot *slot, uint32_t phase)
{
    for (int i = 0; i < FAKE_PATIENCE_S * 100; i++) {
        uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
        if (PINJECT_STATE_PHASE(state) == phase)
            return;
        struct timespec while_ = {.tv_nsec = 10000000};
        syscall(SYS_futex, &slot->state, FUTEX_WAIT, state, &while_, NULL, 0);
    }
    fail_msg("the slot never came to phase %u", phase);
}

/* Waits for the answer, returns it, and frees the slot. */
UNUSED static int fake_answer(struct pinject_slot *slot)
{
    fake_await(slot, PINJECT_ANSWERED);
    int result = __atomic_load_n(&slot->result, __ATOMIC_RELAXED);
    fake_set_phase(slot, PINJECT_FREE);
    return result;
}

UNUSED static int fake_ask(struct pinject_requests *requests, unsigned number, uint32_t kind)
{
    struct pinject_slot *slot = fake_claim(requests, number, kind);
    fake_post(requests, number);
    return fake_answer(slot);
}

/* Waits for the next notification; tests have one at a time. */
UNUSED static struct notification *fake_notification(struct session *session)
{
    for (;;) {
        struct pollfd ready = {.fd = session->notifications.eventfd, .events = POLLIN};
        if (poll(&ready, 1, FAKE_PATIENCE_S * 1000) != 1)
            fail_msg("no notification came");
        struct notification *notification = notifications_take(&session->notifications);
        if (!notification)
            continue;
        assert_null(notification->next);
        return notification;
    }
}

UNUSED static void fake_drop(struct notification *notification)
{
    attach_free(notification->events);
    notification->events = NULL;
    notification_free(notification);
}

UNUSED static bool fake_covered(const struct session *session, pid_t tid)
{
    return __atomic_load_n(&session->segment->covered[tid / 64], __ATOMIC_ACQUIRE) >> (tid % 64) & 1;
}

/* Uses CPU time, so that a clock event has something to count. */
UNUSED static void fake_work(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < 5000000);
}

#endif
