/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
/* The preload object's side of the slots, against a collector that is a thread of this test. */
#include "check.h"

#include "preload/request.h"
#include "preload/sys.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) && !defined(__SANITIZE_THREAD__)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { LONG_US = 20000000, SHORT_US = 20000, SENDERS = 8, ROUNDS = 2000 };

static struct pinject_segment *segment;
static struct pinject_requests *requests;
static uint32_t stop;

static int set_up(void **state)
{
    (void)state;
    segment = mmap(NULL, sizeof(*segment), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    requests = mmap(NULL, sizeof(*requests), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    stop = 0;
    return segment == MAP_FAILED || requests == MAP_FAILED;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap(segment, sizeof(*segment)) || munmap(requests, sizeof(*requests));
}

static struct pinject_channel channel(uint32_t wait_us)
{
    return (struct pinject_channel){segment, requests, 1, wait_us};
}

static uint32_t phase(uint32_t index)
{
    return PINJECT_STATE_PHASE(__atomic_load_n(&requests->slots[index].state, __ATOMIC_ACQUIRE));
}

static unsigned slots_in(uint32_t wanted)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < PINJECT_SLOTS; i++)
        count += phase(i) == wanted;
    return count;
}

static bool move(struct pinject_slot *slot, uint32_t from, uint32_t to)
{
    uint32_t state = __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE);
    uint32_t generation = PINJECT_STATE_GENERATION(state);
    return PINJECT_STATE_PHASE(state) == from &&
           __atomic_compare_exchange_n(&slot->state, &state, PINJECT_STATE(generation, to), false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* As wire.h has it: take, act (the result is the negative pid), answer or free; what was abandoned is freed. */
static void serve(uint32_t index)
{
    struct pinject_slot *slot = &requests->slots[index];
    if (move(slot, PINJECT_ABANDONED, PINJECT_FREE) || !move(slot, PINJECT_POSTED, PINJECT_TAKEN))
        return;
    bool reply = !(slot->flags & PINJECT_REQUEST_NO_REPLY);
    slot->result = -slot->pid;
    if (!move(slot, PINJECT_TAKEN, reply ? PINJECT_ANSWERED : PINJECT_FREE))
        move(slot, PINJECT_ABANDONED, PINJECT_FREE);
    else if (reply)
        sys_futex_wake(&slot->state, 1);
}

static void *worker(void *data)
{
    struct pinject_doorbell *doorbell = &requests->doorbells[0];
    (void)data;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        uint32_t count = __atomic_load_n(&doorbell->count, __ATOMIC_SEQ_CST);
        bool any = false;
        __atomic_store_n(&doorbell->sleeping, 1, __ATOMIC_SEQ_CST);
        for (unsigned word = 0; word < PINJECT_SLOTS / 64; word++) {
            uint64_t bits = __atomic_exchange_n(&doorbell->pending[word], 0, __ATOMIC_ACQUIRE);
            for (; bits; bits &= bits - 1, any = true)
                serve(word * 64 + (uint32_t)__builtin_ctzll(bits));
        }
        /* No time limit: a doorbell that did not ring makes the test hang, and fail. */
        if (!any)
            SYS_4(SYS_futex, &doorbell->count, FUTEX_WAIT, count, 0);
        __atomic_store_n(&doorbell->sleeping, 0, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static pthread_t open_worker(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, worker, NULL), 0);
    return thread;
}

static void close_worker(pthread_t thread)
{
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    __atomic_fetch_add(&requests->doorbells[0].count, 1, __ATOMIC_SEQ_CST);
    sys_futex_wake(&requests->doorbells[0].count, 1);
    pthread_join(thread, NULL);
}

static int ask(const struct pinject_channel *to, int32_t pid, uint32_t flags)
{
    struct pinject_claim claim = pinject_request_claim(to, 77);
    assert_non_null(claim.slot);
    assert_int_equal(claim.slot->owner, 77);
    assert_int_equal(claim.slot->flags, 0);
    claim.slot->kind = PINJECT_PROCESS;
    claim.slot->pid = pid;
    claim.slot->flags = flags;
    return pinject_request_send(to, claim);
}

static void test_answer(void **state)
{
    struct pinject_channel to = channel(LONG_US);
    (void)state;
    pthread_t thread = open_worker();
    assert_int_equal(ask(&to, 5, 0), -5);
    assert_int_equal(ask(&to, 6, PINJECT_REQUEST_NO_REPLY), 0);
    assert_int_equal(ask(&to, 7, 0), -7);
    close_worker(thread);
    assert_int_equal(slots_in(PINJECT_FREE), PINJECT_SLOTS);
    assert_int_equal(requests->unanswered + requests->dropped + requests->stalled, 0);
}

/* Whether a message with FLAGS rings the doorbell. Nobody is there to be woken. */
static bool rings(const struct pinject_channel *to, uint32_t flags, uint32_t index)
{
    requests->hint = index;
    struct pinject_claim claim = pinject_request_claim(to, 77);
    assert_int_equal(claim.index, index);
    claim.slot->kind = PINJECT_REAPED;
    claim.slot->flags = PINJECT_REQUEST_NO_REPLY | flags;
    uint32_t count = requests->doorbells[0].count;
    assert_int_equal(pinject_request_send(to, claim), 0);
    assert_true(requests->doorbells[0].pending[index / 64] >> (index % 64) & 1);
    assert_int_equal(phase(index), PINJECT_POSTED);
    return requests->doorbells[0].count != count;
}

static void test_notifications_wake_nobody(void **state)
{
    struct pinject_channel to = channel(LONG_US);
    (void)state;
    assert_false(rings(&to, PINJECT_REQUEST_ASYNCHRONOUS, 1));
    assert_false(rings(&to, PINJECT_REQUEST_ASYNCHRONOUS | PINJECT_REQUEST_NO_WAIT, 40));
    assert_true(rings(&to, PINJECT_REQUEST_ASYNCHRONOUS, 32)); /* somebody has to look before the slots run out */
    assert_true(rings(&to, 0, 2));
    assert_true(rings(&to, PINJECT_REQUEST_NO_WAIT, 3));
}

static void test_lock_holder(void **state)
{
    (void)state;
    char path[] = "/tmp/pinject-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    assert_int_equal(sys_lock_holder(fd), 0);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    assert_int_equal(fcntl(fd, F_SETLK, &lock), 0);
    assert_int_equal(sys_lock_holder(fd), 0); /* one's own is in nobody's way */
    pid_t holder = getpid(), child = fork();
    if (child == 0)
        _exit(sys_lock_holder(fd) == holder ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* In another pid namespace the holder has no number. */
    child = fork();
    if (child == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
            _exit(0);
        child = fork();
        if (child == 0)
            _exit(sys_lock_holder(fd) == -1 ? 0 : 1);
        _exit(waitpid(child, &status, 0) == child && status == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close(fd);
    assert_int_equal(sys_lock_holder(fd), -EBADF);
}

static void test_no_collector(void **state)
{
    struct pinject_channel to = channel(SHORT_US);
    (void)state;
    assert_int_equal(ask(&to, 5, 0), -ETIMEDOUT);
    assert_int_equal(requests->stalled, 1);
    assert_int_equal(requests->unanswered, 1);
    assert_int_equal(slots_in(PINJECT_ABANDONED), 1);
    /* The next one does not wait: with this limit it would take longer than the test may. */
    to.wait_us = UINT32_MAX;
    struct pinject_claim claim = pinject_request_claim(&to, 77);
    claim.slot->pid = 6;
    assert_int_equal(pinject_request_send(&to, claim), -EAGAIN);
    assert_int_equal(claim.slot->flags, PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_NO_WAIT);
    assert_int_equal(requests->unanswered, 2);
    /* A collector that comes back frees both. */
    pthread_t thread = open_worker();
    while (slots_in(PINJECT_FREE) < PINJECT_SLOTS)
        sched_yield();
    requests->stalled = 0;
    assert_int_equal(ask(&to, 8, 0), -8);
    close_worker(thread);
}

/* Slots beyond the first ones are pages that nobody has touched, and are not touched while one of those is free. */
static void test_first_slots_first(void **state)
{
    struct pinject_channel to = channel(SHORT_US);
    (void)state;
    requests->hint = PINJECT_SLOTS_FIRST - 1;
    assert_int_equal(pinject_request_claim(&to, 77).index, PINJECT_SLOTS_FIRST - 1);
    for (uint32_t i = 0; i < PINJECT_SLOTS_FIRST - 1; i++) {
        requests->hint = PINJECT_SLOTS_FIRST - 1;
        assert_int_equal(pinject_request_claim(&to, 77).index, i);
    }
    assert_int_equal(requests->slots_claimed, PINJECT_SLOTS_FIRST);
    for (uint32_t i = PINJECT_SLOTS_FIRST; i < PINJECT_SLOTS; i++)
        assert_int_equal(pinject_request_claim(&to, 77).index, i);
    assert_null(pinject_request_claim(&to, 77).slot);
}

static void test_all_slots_taken(void **state)
{
    struct pinject_channel to = channel(SHORT_US);
    (void)state;
    for (int i = 0; i < PINJECT_SLOTS; i++)
        assert_non_null(pinject_request_claim(&to, 77).slot);
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(requests->dropped, 1);
    assert_int_equal(requests->stalled, PINJECT_STALLED_NO);
    /* Given back by somebody, one is found wherever it is. */
    assert_true(move(&requests->slots[123], PINJECT_CLAIMED, PINJECT_FREE));
    struct pinject_claim claim = pinject_request_claim(&to, 77);
    assert_int_equal(claim.index, 123);
    assert_int_equal(claim.generation, 2);
}

/* Where nobody waits for answers, the first one that finds no slot says that there is no collector. */
static void test_stall_is_noted(void **state)
{
    struct pinject_channel to = channel(SHORT_US);
    (void)state;
    for (int i = 0; i < PINJECT_SLOTS; i++)
        assert_non_null(pinject_request_claim(&to, 77).slot);
    pinject_request_note_stall(&to);
    assert_int_equal(requests->stalled, PINJECT_STALLED_YES);
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(requests->stalled, PINJECT_STALLED_FULL);
    pinject_request_note_stall(&to);
    assert_int_equal(requests->stalled, PINJECT_STALLED_FULL);
}

/* Of a collector that does not answer: the first one that finds no slot is the last one that looks. */
static void test_all_slots_taken_and_stalled(void **state)
{
    struct pinject_channel to = channel(SHORT_US);
    (void)state;
    for (int i = 0; i < PINJECT_SLOTS; i++)
        assert_non_null(pinject_request_claim(&to, 77).slot);
    requests->stalled = PINJECT_STALLED_YES;
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(requests->stalled, PINJECT_STALLED_FULL);
    assert_int_equal(requests->slots_claimed, PINJECT_SLOTS);
    uint32_t hint = requests->hint;
    for (uint32_t i = 0; i < PINJECT_SLOTS; i++)
        assert_true(move(&requests->slots[i], PINJECT_CLAIMED, PINJECT_FREE));
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(requests->hint, hint);
    assert_int_equal(requests->dropped, 2);
    requests->stalled = PINJECT_STALLED_YES;
    assert_non_null(pinject_request_claim(&to, 77).slot);
}

static void test_generation_wraps(void **state)
{
    struct pinject_channel to = channel(LONG_US);
    (void)state;
    for (uint32_t i = 0; i < PINJECT_SLOTS; i++)
        requests->slots[i].state = PINJECT_STATE(0xffffff, PINJECT_FREE);
    pthread_t thread = open_worker();
    assert_int_equal(ask(&to, 5, 0), -5);
    close_worker(thread);
    assert_int_equal(slots_in(PINJECT_FREE), PINJECT_SLOTS);
}

static uint32_t interrupted;

static void on_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&interrupted, 1, __ATOMIC_SEQ_CST);
}

struct sender {
    pthread_t thread;
    int result;
};

static void *send_one(void *data)
{
    struct sender *sender = data;
    struct pinject_channel to = channel(LONG_US);
    sender->result = ask(&to, 9, 0);
    return NULL;
}

__attribute__((unused)) static void test_signal_while_waiting(void **state)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct sender sender = {.result = 0};
    (void)state;
    sigaction(SIGUSR1, &action, NULL); /* without SA_RESTART: the wait gets EINTR */
    pthread_create(&sender.thread, NULL, send_one, &sender);
    while (slots_in(PINJECT_POSTED) == 0)
        sched_yield();
    for (uint32_t i = 1; i <= 20; i++) {
        pthread_kill(sender.thread, SIGUSR1);
        while (__atomic_load_n(&interrupted, __ATOMIC_SEQ_CST) < i)
            sched_yield();
    }
    assert_int_equal(slots_in(PINJECT_POSTED), 1);
    pthread_t thread = open_worker();
    pthread_join(sender.thread, NULL);
    close_worker(thread);
    assert_int_equal(sender.result, -9);
}

static void test_slot_stolen_while_waiting(void **state)
{
    /* Any follower can write to the segment: a slot that changes hands must not keep us waiting. */
    struct sender sender = {.result = 0};
    struct pinject_slot *slot = NULL;
    (void)state;
    pthread_create(&sender.thread, NULL, send_one, &sender);
    while (!slot)
        for (uint32_t i = 0; i < PINJECT_SLOTS; i++)
            if (phase(i) == PINJECT_POSTED)
                slot = &requests->slots[i];
    __atomic_store_n(&slot->state, PINJECT_STATE(99, PINJECT_POSTED), __ATOMIC_RELEASE);
    sys_futex_wake(&slot->state, 1);
    pthread_join(sender.thread, NULL);
    assert_int_equal(sender.result, -EPROTO);
}

static void *send_many(void *data)
{
    struct pinject_channel to = channel(LONG_US);
    int32_t base = (int32_t)(intptr_t)data * ROUNDS;
    intptr_t wrong = 0;
    for (int32_t i = 1; i <= ROUNDS; i++)
        wrong += ask(&to, base + i, 0) != -(base + i);
    return (void *)wrong;
}

static void test_many_at_once(void **state)
{
    pthread_t senders[SENDERS];
    (void)state;
    pthread_t thread = open_worker();
    for (intptr_t i = 0; i < SENDERS; i++)
        pthread_create(&senders[i], NULL, send_many, (void *)i);
    for (int i = 0; i < SENDERS; i++) {
        void *wrong;
        pthread_join(senders[i], &wrong);
        assert_null(wrong);
    }
    close_worker(thread);
    assert_int_equal(slots_in(PINJECT_FREE), PINJECT_SLOTS);
    assert_int_equal(requests->unanswered + requests->dropped, 0);
}

static void test_hostile_header(void **state)
{
    /* Doorbells and CPU table are the collector's, but anybody can write them. */
    struct pinject_channel to = channel(LONG_US);
    (void)state;
    memset(segment->doorbell_of_cpu, 0xff, sizeof(segment->doorbell_of_cpu));
    segment->doorbells_used = 0xffffffff;
    requests->hint = 0xfffffffe;
    pthread_t thread = open_worker();
    assert_int_equal(ask(&to, 5, 0), -5);
    close_worker(thread);
}

static void test_covered(void **state)
{
    struct pinject_channel to = channel(SHORT_US);
    (void)state;
    segment->covered[70 / 64] = 1ull << (70 % 64);
    assert_true(pinject_request_covered(&to, 70));
    assert_false(pinject_request_covered(&to, 71));
    segment->covered[0] = 1;
    assert_true(pinject_request_covered(&to, 0));
    assert_false(pinject_request_covered(&to, 1));
    segment->covered[PINJECT_TASKS / 64 - 1] = 1ull << 63;
    assert_true(pinject_request_covered(&to, PINJECT_TASKS - 1));
    assert_false(pinject_request_covered(&to, -1));
    assert_false(pinject_request_covered(&to, PINJECT_TASKS));
    assert_false(pinject_request_covered(&to, INT32_MAX));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_answer),
        TEST(test_notifications_wake_nobody),
        TEST(test_lock_holder),
        TEST(test_no_collector),
        TEST(test_first_slots_first),
        TEST(test_all_slots_taken),
        TEST(test_stall_is_noted),
        TEST(test_all_slots_taken_and_stalled),
        TEST(test_generation_wraps),
        TEST(test_slot_stolen_while_waiting),
#ifndef __SANITIZE_THREAD__ /* keeps signals back until its own interceptors run, and our wait is a bare system call */
        TEST(test_signal_while_waiting),
#endif
        TEST(test_many_at_once),
        TEST(test_hostile_header),
        TEST(test_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
