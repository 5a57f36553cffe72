/* SPDX-License-Identifier: MIT */
/* A request that comes while a worker is about to sleep: it is seen, in whatever word of the doorbell its bit is. */
#include "collector/sources/deferred_munmap.h"
#include "worker_fake.h"

static struct fake fake;
static pid_t worker;       /* atomic: of the first doorbell, which is known by its waits */
static unsigned waits;     /* atomic: that it has begun */
static int armed = -1;     /* atomic: the slot that is posted before the next wait; -1: none */
static int posted = -1;    /* by the worker's thread alone, which has seen it or not */
static unsigned overslept; /* atomic: waits that began while the bit of POSTED was set */

static struct pinject_requests *requests(void)
{
    return fake.session.own->requests;
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    struct pinject_doorbell *doorbell = fake.session.own ? &requests()->doorbells[0] : NULL;
    if (number == SYS_futex && doorbell && (void *)a == &doorbell->count && (int)b == FUTEX_WAIT) {
        __atomic_store_n(&worker, fake_tid(), __ATOMIC_SEQ_CST);
        if (posted >= 0 && doorbell->pending[posted / 64] & UINT64_C(1) << posted % 64)
            __atomic_fetch_add(&overslept, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&waits, 1, __ATOMIC_SEQ_CST);
    }
    return __real_syscall(number, a, b, c, d, e, f);
}

/* The worker looks how much CPU time it has used between its last look at the bits and its wait. */
int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    if (clock == CLOCK_THREAD_CPUTIME_ID && fake_tid() == __atomic_load_n(&worker, __ATOMIC_SEQ_CST)) {
        int number = __atomic_exchange_n(&armed, -1, __ATOMIC_SEQ_CST);
        if (number >= 0) {
            posted = number;
            fake_set_phase(&requests()->slots[number], PINJECT_POSTED);
            fake_ring(requests(), 0, (unsigned)number);
        }
    }
    return __real_clock_gettime(clock, ret);
}

static void await_wait(unsigned before)
{
    for (int i = 0; i < FAKE_PATIENCE_S * 100 && __atomic_load_n(&waits, __ATOMIC_SEQ_CST) <= before; i++)
        poll(NULL, 0, 10);
    assert_true(__atomic_load_n(&waits, __ATOMIC_SEQ_CST) > before);
}

static void no_bit_is_overslept(void **state)
{
    static const unsigned numbers[] = {0, 63, 64, 127, 128, 191, 192, PINJECT_SLOTS - 1};
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    await_wait(0);
    for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        unsigned other = (numbers[i] + 32) % PINJECT_SLOTS;
        struct pinject_slot *first = fake_claim(requests(), other, PINJECT_THREAD);
        struct pinject_slot *second = fake_claim(requests(), numbers[i], PINJECT_THREAD);
        __atomic_store_n(&armed, (int)numbers[i], __ATOMIC_SEQ_CST);
        fake_set_phase(first, PINJECT_POSTED);
        fake_ring(requests(), 0, other);
        (void)fake_answer(first);
        (void)fake_answer(second);
        assert_int_equal(__atomic_load_n(&armed, __ATOMIC_SEQ_CST), -1);
        if (__atomic_load_n(&overslept, __ATOMIC_SEQ_CST))
            fail_msg("the worker slept though slot %u was posted", numbers[i]);
    }
    service_stop_workers(&fake.session);
    for (struct notification *notification = notifications_take(&fake.session.notifications), *next; notification;
         notification = next) {
        next = notification->next;
        if (notification->events)
            attach_retire(&fake.session, notification->events);
        attach_free(notification->events);
        notification->events = NULL;
        notification_free(notification);
    }
    deferred_munmap_run(&fake.session);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bit_is_overslept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
