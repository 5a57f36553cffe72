/* SPDX-License-Identifier: MIT */
/*
 * How long the preload object waits for a slot and for its answer, and which doorbell it rings. Time does not pass
 * here.
 */
#include "check.h"

#include "played_time.h"
#include "preload/request.h"

#include <errno.h>

enum { WAITS = 16, DOORBELLS = 3 };

static struct pinject_segment segment;
static struct pinject_requests requests;
static uint64_t now_ns;
static bool real_time;
static int cpu;
static unsigned woken;

/* The waits: what each returns and what happens meanwhile; what each was called with. */
static struct {
    long results[WAITS];
    void (*meanwhile[WAITS])(struct pinject_slot *slot);
    uint64_t later_ns[WAITS];
    unsigned count;
    const uint32_t *word;
    uint32_t expected[WAITS];
    struct timespec deadline[WAITS];
} waits;

/* Refused, as by a filter of the program, unless a test allows it; then each takes so long. */
static struct {
    unsigned count;
    uint64_t each_ns;
    unsigned at; /* in this one something happens */
    void (*meanwhile)(struct pinject_slot *slot);
} yields;

static struct {
    unsigned count;
    uint32_t ns[WAITS];
    uint32_t freed_at; /* in this pause a slot comes back */
} pauses;

static struct pinject_slot *slot_of(uint32_t *word)
{
    return (struct pinject_slot *)(void *)((char *)word - offsetof(struct pinject_slot, state));
}

uint64_t played_clock_ns(clockid_t id)
{
    assert_int_equal(id, CLOCK_MONOTONIC);
    return now_ns;
}

void played_sleep_ns(uint32_t ns)
{
    assert_true(pauses.count < WAITS);
    pauses.ns[pauses.count++] = ns;
    if (pauses.count == pauses.freed_at)
        requests.slots[123].state = PINJECT_STATE(1, PINJECT_FREE);
}

long played_futex_wait_until(uint32_t *word, uint32_t expected, const struct timespec *deadline)
{
    unsigned i = waits.count++;
    assert_true(i < WAITS);
    waits.word = word;
    waits.expected[i] = expected;
    waits.deadline[i] = *deadline;
    now_ns += waits.later_ns[i];
    if (waits.meanwhile[i])
        waits.meanwhile[i](slot_of(word));
    return waits.results[i];
}

long played_futex_wake(uint32_t *word, int count)
{
    assert_int_equal(count, 1);
    for (unsigned i = 0; i < DOORBELLS; i++)
        woken |= (word == &requests.doorbells[i].count) << i;
    return 0;
}

long played_yield(void)
{
    if (yields.each_ns == 0)
        return -EPERM;
    now_ns += yields.each_ns;
    if (++yields.count == yields.at)
        for (unsigned i = 0; i < PINJECT_SLOTS; i++)
            if (requests.slots[i].owner == 77)
                yields.meanwhile(&requests.slots[i]);
    return 0;
}

bool played_is_real_time(void)
{
    return real_time;
}

int played_cpu(void)
{
    return cpu;
}

static int set_up(void **state)
{
    (void)state;
    memset(&segment, 0, sizeof(segment));
    memset(&requests, 0, sizeof(requests));
    memset(&waits, 0, sizeof(waits));
    memset(&pauses, 0, sizeof(pauses));
    memset(&yields, 0, sizeof(yields));
    now_ns = 1000000000;
    real_time = false;
    cpu = 0;
    woken = 0;
    return 0;
}

static struct pinject_channel channel(uint32_t wait_us)
{
    return (struct pinject_channel){&segment, &requests, DOORBELLS, wait_us};
}

static int ask_within(uint32_t wait_us, struct pinject_slot **ret_slot)
{
    struct pinject_channel to = channel(wait_us);
    struct pinject_claim claim = pinject_request_claim(&to, 77);
    assert_non_null(claim.slot);
    claim.slot->kind = PINJECT_PROCESS;
    if (ret_slot)
        *ret_slot = claim.slot;
    return pinject_request_send(&to, claim);
}

static void set_phase(struct pinject_slot *slot, uint32_t phase)
{
    slot->state = PINJECT_STATE(PINJECT_STATE_GENERATION(slot->state), phase);
}

static void is_taken(struct pinject_slot *slot)
{
    set_phase(slot, PINJECT_TAKEN);
}

static void is_answered(struct pinject_slot *slot)
{
    slot->result = -42;
    set_phase(slot, PINJECT_ANSWERED);
}

/* ---- The answer ---- */

static void test_deadline(void **state)
{
    static const struct {
        uint64_t now_ns;
        uint32_t wait_us;
        int64_t seconds, ns;
    } rows[] = {
        {0, 0, 0, 0},
        {0, 999999, 0, 999999000},
        {0, 1000000, 1, 0},
        {5999999999, 0, 5, 999999999},
        {5999999999, 1, 6, 999},
        {6000000000, 1000000, 7, 0},
        {6000000000000000, 20, 6000000, 20000},
        {36000999000000, 1000, 36001, 0},
        {1, UINT32_MAX, 4294, 967295001},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        set_up(state);
        now_ns = rows[i].now_ns;
        waits.results[0] = -ETIMEDOUT;
        assert_int_equal(ask_within(rows[i].wait_us, NULL), -ETIMEDOUT);
        assert_int_equal(waits.count, 1);
        if (waits.deadline[0].tv_sec != rows[i].seconds || waits.deadline[0].tv_nsec != rows[i].ns)
            fail_msg("row %zu: %lld s and %ld ns", i, (long long)waits.deadline[0].tv_sec, waits.deadline[0].tv_nsec);
    }
}

/* A handler ran, somebody woke it for nothing, the state changed: it goes on, until the same time. */
static void test_waits_on(void **state)
{
    struct pinject_slot *slot;
    (void)state;
    waits.results[0] = -EINTR;
    waits.results[1] = -EAGAIN;
    waits.meanwhile[1] = is_taken;
    waits.results[2] = 0;
    waits.later_ns[2] = 999999;
    waits.meanwhile[3] = is_answered;
    assert_int_equal(ask_within(1000, &slot), -42);
    assert_int_equal(waits.count, 4);
    assert_ptr_equal(waits.word, &slot->state);
    for (unsigned i = 0; i < 4; i++) {
        assert_int_equal(waits.expected[i], PINJECT_STATE(1, i < 2 ? PINJECT_POSTED : PINJECT_TAKEN));
        assert_int_equal(waits.deadline[i].tv_sec, 1);
        assert_int_equal(waits.deadline[i].tv_nsec, 1000000);
    }
    assert_int_equal(slot->state, PINJECT_STATE(1, PINJECT_FREE));
    assert_int_equal(requests.stalled + requests.unanswered, 0);
}

static void expect_given_up(struct pinject_slot *slot)
{
    assert_int_equal(slot->state, PINJECT_STATE(1, PINJECT_ABANDONED));
    assert_int_equal(requests.stalled, PINJECT_STALLED_YES);
    assert_int_equal(requests.unanswered, 1);
}

/* The clock alone says that the time has come, whatever the wait returns; other errors end the wait too. */
static void test_gives_up(void **state)
{
    static const long errors[] = {0, -EINTR, -EAGAIN, -ETIMEDOUT, -EINVAL, -ENOSYS, -EPERM};
    struct pinject_slot *slot;
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        set_up(state);
        waits.results[0] = errors[i];
        waits.later_ns[0] = i < 3 ? 1000000 : 0;
        waits.meanwhile[0] = i % 2 ? is_taken : NULL;
        assert_int_equal(ask_within(1000, &slot), -ETIMEDOUT);
        assert_int_equal(waits.count, 1);
        expect_given_up(slot);
    }
}

static void test_answer_in_the_last_moment(void **state)
{
    struct pinject_slot *slot;
    (void)state;
    waits.results[0] = -ETIMEDOUT;
    waits.later_ns[0] = 1000000;
    waits.meanwhile[0] = is_answered;
    assert_int_equal(ask_within(1000, &slot), -42);
    assert_int_equal(slot->state, PINJECT_STATE(1, PINJECT_FREE));
    assert_int_equal(requests.stalled + requests.unanswered, 0);
}

/* What only somebody hostile writes there: it is never waited on. */
static uint32_t written;

static void is_written(struct pinject_slot *slot)
{
    slot->state = written;
}

static void test_slot_of_somebody_else(void **state)
{
    const uint32_t words[] = {PINJECT_STATE(2, PINJECT_POSTED),
                              PINJECT_STATE(0, PINJECT_TAKEN),
                              PINJECT_STATE(2, PINJECT_ANSWERED),
                              PINJECT_STATE(1, PINJECT_FREE),
                              PINJECT_STATE(1, PINJECT_CLAIMED),
                              PINJECT_STATE(1, PINJECT_ABANDONED),
                              PINJECT_STATE(1, 0xff)};
    struct pinject_slot *slot;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        set_up(state);
        written = words[i];
        waits.meanwhile[0] = is_written;
        assert_int_equal(ask_within(1000, &slot), -EPROTO);
        assert_int_equal(waits.count, 1);
        assert_int_equal(slot->state, written);
        assert_int_equal(requests.stalled, 0);
        /* With the time out, too: it is not ours to give up. */
        set_up(state);
        waits.meanwhile[0] = is_written;
        waits.results[0] = -ETIMEDOUT;
        assert_int_equal(ask_within(1000, &slot), -ETIMEDOUT);
        assert_int_equal(slot->state, written);
    }
}

/* For 5 ms it is runnable, and does not sleep; the deadline stays. */
static void test_short_waits_are_awake(void **state)
{
    struct pinject_slot *slot;
    (void)state;
    yields.each_ns = 100000;
    yields.at = 50;
    yields.meanwhile = is_answered;
    assert_int_equal(ask_within(50000, &slot), -42);
    assert_int_equal(yields.count, 50);
    assert_int_equal(waits.count, 0);
    assert_int_equal(slot->state, PINJECT_STATE(1, PINJECT_FREE));

    set_up(state);
    yields.each_ns = 100000;
    waits.meanwhile[0] = is_answered;
    assert_int_equal(ask_within(50000, &slot), -42);
    assert_int_equal(yields.count, 50);
    assert_int_equal(waits.count, 1);
    assert_int_equal(waits.deadline[0].tv_nsec, 50000000);

    set_up(state); /* yields take CPU time: 256 at most */
    yields.each_ns = 1;
    waits.meanwhile[0] = is_answered;
    assert_int_equal(ask_within(50000, &slot), -42);
    assert_int_equal(yields.count, 256);
    assert_int_equal(waits.count, 1);

    set_up(state); /* a wait that is shorter than that */
    yields.each_ns = 100000;
    waits.results[0] = -ETIMEDOUT;
    assert_int_equal(ask_within(1000, &slot), -ETIMEDOUT);
    assert_int_equal(yields.count, 10);
    expect_given_up(slot);

    set_up(state); /* what somebody hostile writes is seen there, too */
    yields.each_ns = 100000;
    yields.at = 3;
    yields.meanwhile = is_written;
    written = PINJECT_STATE(2, PINJECT_POSTED);
    assert_int_equal(ask_within(50000, &slot), -EPROTO);
    assert_int_equal(yields.count, 3);
    assert_int_equal(waits.count, 0);
}

/* ---- A slot ---- */

static void take_all(void)
{
    for (int i = 0; i < PINJECT_SLOTS; i++)
        requests.slots[i].state = PINJECT_STATE(1, PINJECT_CLAIMED);
}

static void test_pauses(void **state)
{
    static const uint32_t expected[] = {500000, 1000000, 2000000, 4000000, 8000000};
    struct pinject_channel to = channel(1000);
    (void)state;
    take_all();
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(pauses.count, 5);
    assert_memory_equal(pauses.ns, expected, sizeof(expected));
    assert_int_equal(requests.dropped, 1);
    assert_int_equal(requests.hint, 6); /* each round begins elsewhere */
    assert_int_equal(requests.slots_claimed, 0);
    for (unsigned pause = 1; pause <= 5; pause++) {
        take_all();
        pauses.count = 0;
        pauses.freed_at = pause;
        struct pinject_claim claim = pinject_request_claim(&to, 77);
        assert_int_equal(claim.index, 123);
        assert_int_equal(claim.generation, 2);
        assert_int_equal(pauses.count, pause);
    }
    assert_int_equal(requests.dropped, 1);
}

static void test_who_does_not_pause(void **state)
{
    struct pinject_channel to = channel(1000);
    (void)state;
    take_all();
    real_time = true;
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(pauses.count, 0);
    assert_int_equal(requests.dropped, 1);
    assert_int_equal(requests.hint, 1);
    real_time = false;
    requests.stalled = PINJECT_STALLED_YES;
    requests.hint = PINJECT_SLOTS - 1;
    requests.slots[14].state = PINJECT_STATE(1, PINJECT_FREE); /* the 16th from there; one more is not looked at */
    assert_int_equal(pinject_request_claim(&to, 77).index, 14);
    requests.hint = PINJECT_SLOTS - 1;
    requests.slots[15].state = PINJECT_STATE(1, PINJECT_FREE);
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(requests.stalled, PINJECT_STALLED_FULL);
    assert_null(pinject_request_claim(&to, 77).slot);
    assert_int_equal(pauses.count, 0);
    assert_int_equal(requests.dropped, 3);
}

/* While the collector is stalled the slots behind the first ones are as good. */
static void test_any_slot_while_stalled(void **state)
{
    struct pinject_channel to = channel(1000);
    (void)state;
    take_all();
    requests.stalled = PINJECT_STALLED_YES;
    requests.slots[110].state = PINJECT_STATE(1, PINJECT_FREE);
    requests.hint = 110 - 15;
    assert_int_equal(pinject_request_claim(&to, 77).index, 110);
    assert_int_equal(requests.slots_claimed, 111);
    requests.slots[3].state = PINJECT_STATE(1, PINJECT_FREE);
    requests.hint = PINJECT_SLOTS - 3;
    assert_int_equal(pinject_request_claim(&to, 77).index, 3);
    assert_int_equal(requests.slots_claimed, 111);
}

/* What the last owner left is gone, but for the text; and nothing else is touched. */
static void test_clean_slot(void **state)
{
    struct pinject_channel to = channel(1000);
    static struct pinject_slot before, zero;
    (void)state;
    memset(requests.slots, 0xaa, sizeof(requests.slots));
    before = requests.slots[0];
    take_all();
    requests.slots[1].state = PINJECT_STATE(5, PINJECT_FREE);
    requests.hint = 1;
    struct pinject_claim claim = pinject_request_claim(&to, 77);
    assert_int_equal(claim.index, 1);
    assert_int_equal(claim.generation, 6);
    assert_int_equal(claim.slot->state, PINJECT_STATE(6, PINJECT_CLAIMED));
    assert_int_equal(claim.slot->owner, 77);
    const size_t start = offsetof(struct pinject_slot, kind), end = offsetof(struct pinject_slot, text);
    assert_memory_equal((char *)claim.slot + start, (char *)&zero + start, end - start);
    assert_memory_equal((char *)claim.slot + end, (char *)&before + end, sizeof(before) - end);
    for (int i = 0; i <= 2; i += 2)
        assert_memory_equal((char *)&requests.slots[i] + start, (char *)&before + start, sizeof(before) - start);
}

/* ---- Doorbells ---- */

static void send_from(int on)
{
    struct pinject_channel to = channel(1000);
    requests.hint = 70;
    memset(requests.doorbells, 0, sizeof(requests.doorbells));
    struct pinject_claim claim = pinject_request_claim(&to, 77);
    for (unsigned i = 0; i < DOORBELLS; i++)
        requests.doorbells[i].sleeping = i != 1;
    woken = 0;
    cpu = on;
    claim.slot->kind = PINJECT_FORK;
    claim.slot->flags = PINJECT_REQUEST_NO_REPLY;
    assert_int_equal(pinject_request_send(&to, claim), 0);
    assert_int_equal(claim.slot->time_ns, now_ns);
}

static void expect_doorbell(unsigned number)
{
    for (unsigned i = 0; i < DOORBELLS; i++) {
        assert_int_equal(requests.doorbells[i].count, i == number);
        uint64_t pending = 0;
        for (unsigned word = 0; word < PINJECT_SLOTS / 64; word++)
            pending |= requests.doorbells[i].pending[word];
        assert_int_equal(pending != 0, i == number);
    }
    assert_int_equal(woken, number == 1 ? 0 : 1u << number); /* who is awake needs no call */
}

static void test_doorbell(void **state)
{
    (void)state;
    memset(&segment, 1, sizeof(segment)); /* what lies around the table, too */
    segment.doorbell_of_cpu[0] = 2;
    segment.doorbell_of_cpu[1] = 1;
    segment.doorbell_of_cpu[2] = 2;
    segment.doorbell_of_cpu[3] = DOORBELLS; /* none */
    segment.doorbell_of_cpu[PINJECT_CPUS - 1] = 2;
    static const int cpus[] = {0, 1, 2, 3, PINJECT_CPUS - 1, PINJECT_CPUS, -1};
    static const unsigned doorbells[] = {2, 1, 2, 0, 2, 0, 0};
    for (size_t i = 0; i < sizeof(cpus) / sizeof(cpus[0]); i++) {
        real_time = false;
        send_from(cpus[i]);
        expect_doorbell(doorbells[i]);
        /* Nobody gets the CPU from a real-time task: another one's doorbell. */
        real_time = true;
        send_from(cpus[i]);
        expect_doorbell((doorbells[i] + 1) % DOORBELLS);
    }
}

/* Each slot has its own bit. */
static void test_bits_of_slots(void **state)
{
    static const uint32_t indices[] = {0, 1, 31, 32, 63, 64, 65, 127, 128, PINJECT_SLOTS - 1};
    for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
        struct pinject_channel to = channel(1000);
        set_up(state);
        requests.stalled = PINJECT_STALLED_YES; /* the one at the hint is taken */
        requests.hint = indices[i];
        struct pinject_claim claim = pinject_request_claim(&to, 77);
        assert_int_equal(claim.index, indices[i]);
        claim.slot->flags = PINJECT_REQUEST_NO_REPLY;
        assert_int_equal(pinject_request_send(&to, claim), 0);
        for (uint32_t word = 0; word < PINJECT_SLOTS / 64; word++)
            assert_int_equal(requests.doorbells[0].pending[word],
                             word == indices[i] / 64 ? UINT64_C(1) << (indices[i] % 64) : 0);
    }
}

static void test_real_time_does_not_wait(void **state)
{
    struct pinject_slot *slot;
    (void)state;
    real_time = true;
    assert_int_equal(ask_within(1000, &slot), -EAGAIN);
    assert_int_equal(waits.count, 0);
    assert_int_equal(slot->state, PINJECT_STATE(1, PINJECT_POSTED));
    assert_int_equal(slot->flags, PINJECT_REQUEST_NO_REPLY | PINJECT_REQUEST_NO_WAIT);
    assert_int_equal(requests.unanswered, 1);
    assert_int_equal(requests.stalled, 0);
}

/* The owner was stopped for so long that the collector freed its slot. */
static void test_slot_lost_before_it_is_sent(void **state)
{
    struct pinject_channel to = channel(1000);
    (void)state;
    struct pinject_claim claim = pinject_request_claim(&to, 77);
    claim.slot->kind = PINJECT_PROCESS;
    claim.slot->state = PINJECT_STATE(2, PINJECT_CLAIMED);
    assert_int_equal(pinject_request_send(&to, claim), -EPROTO);
    assert_int_equal(claim.slot->state, PINJECT_STATE(2, PINJECT_CLAIMED));
    assert_int_equal(requests.unanswered, 1);
    assert_int_equal(waits.count + requests.doorbells[0].count, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_deadline),
        TEST(test_waits_on),
        TEST(test_gives_up),
        TEST(test_answer_in_the_last_moment),
        TEST(test_slot_of_somebody_else),
        TEST(test_short_waits_are_awake),
        TEST(test_pauses),
        TEST(test_who_does_not_pause),
        TEST(test_any_slot_while_stalled),
        TEST(test_clean_slot),
        TEST(test_doorbell),
        TEST(test_bits_of_slots),
        TEST(test_real_time_does_not_wait),
        TEST(test_slot_lost_before_it_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
