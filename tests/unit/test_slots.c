/* SPDX-License-Identifier: MIT */
/* Slots of a channel, one step at a time: what is served, what is answered, and whose slots are taken away. */
#include "worker_fake.h"

#include "collector/service/request.h"
#include "collector/service/slots.h"

enum { GENERATION = 9, SLOT = 3 };

static struct fake fake;
static struct slots slots;
static struct pinject_requests *requests;
static struct pinject_slot *slot;

static int set_up(void **state)
{
    (void)state;
    fake_open(&fake);
    requests = fake.session.own->requests;
    memset(&slots, 0, sizeof(slots));
    slots_init(&slots, fake.session.own);
    requests->slots_claimed = PINJECT_SLOTS;
    slot = &requests->slots[SLOT];
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (struct notification *notification = notifications_take(&fake.session.notifications), *next; notification;
         notification = next) {
        next = notification->next;
        if (notification->events)
            attach_retire(&fake.session, notification->events);
        fake_drop(notification);
    }
    slots_destroy(&slots);
    fake_close(&fake);
    return 0;
}

/* What the slot becomes while it is served; 0: it stays. */
static uint32_t meanwhile;

int __real_request_begin(struct channel *channel, const struct request *request, struct notification **ret);
int __wrap_request_begin(struct channel *channel, const struct request *request, struct notification **ret);
int __wrap_request_begin(struct channel *channel, const struct request *request, struct notification **ret)
{
    int status = __real_request_begin(channel, request, ret);
    if (meanwhile)
        slot->state = meanwhile;
    meanwhile = 0;
    return status;
}

static void set(uint32_t phase)
{
    slot->state = PINJECT_STATE(GENERATION, phase);
}

static void expect(uint32_t phase)
{
    assert_int_equal(slot->state, PINJECT_STATE(GENERATION, phase));
}

/* A request of KIND by this process. */
static void post(uint32_t kind, uint32_t flags)
{
    set(PINJECT_FREE);
    slot->state = PINJECT_STATE(GENERATION - 1, PINJECT_FREE);
    assert_ptr_equal(fake_claim(requests, SLOT, kind), slot);
    slot->flags = flags;
    slot->result = 77;
    set(PINJECT_POSTED);
}

static uint64_t malformed(void)
{
    return fake.session.malformed;
}

static void only_posted_slots_are_served(void **state)
{
    static const uint32_t others[] = {PINJECT_FREE, PINJECT_CLAIMED, PINJECT_TAKEN, PINJECT_ANSWERED, 6, 255};
    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        set(others[i]);
        assert_false(slots_serve(&slots, SLOT));
        expect(others[i]);
        assert_int_equal(pthread_mutex_trylock(&slots.locks[SLOT]), 0);
        pthread_mutex_unlock(&slots.locks[SLOT]);
    }
    assert_int_equal(malformed(), 0);
}

static void nonsense_is_answered_and_costs(void **state)
{
    (void)state;
    post(99, 0);
    requests->stalled = PINJECT_STALLED_YES;
    assert_false(slots_serve(&slots, SLOT));
    expect(PINJECT_ANSWERED);
    assert_int_equal(slot->result, -EINVAL);
    assert_int_equal(malformed(), 1);
    assert_int_equal(requests->stalled, 0); /* somebody is there */
    assert_true(fake.session.own->budget.wasted_ns > 0);
    assert_int_equal(fake.session.own->budget.told, 0);
    assert_null(notifications_take(&fake.session.notifications));
    /* Without anybody who reads an answer. */
    static const uint32_t flags[] = {PINJECT_REQUEST_NO_REPLY, PINJECT_REQUEST_NO_WAIT};
    for (unsigned i = 0; i < 2; i++) {
        post(99, flags[i]);
        assert_false(slots_serve(&slots, SLOT));
        expect(PINJECT_FREE);
        assert_int_equal(slot->result, 77);
    }
    post(99, 0);
    set(PINJECT_ABANDONED);
    assert_false(slots_serve(&slots, SLOT));
    expect(PINJECT_FREE);
    assert_int_equal(slot->result, 77);
    assert_int_equal(malformed(), 4);
}

/* Its sender waits no longer: the slot is free for the next one, unless it is no longer ours. */
static void senders_give_up_meanwhile(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags <= PINJECT_REQUEST_NO_REPLY; flags += PINJECT_REQUEST_NO_REPLY) {
        post(PINJECT_FORK, flags);
        meanwhile = PINJECT_STATE(GENERATION, PINJECT_ABANDONED);
        slots_serve(&slots, SLOT);
        expect(PINJECT_FREE);
        post(PINJECT_FORK, flags);
        meanwhile = PINJECT_STATE(GENERATION + 1, PINJECT_CLAIMED);
        slots_serve(&slots, SLOT);
        assert_int_equal(slot->state, PINJECT_STATE(GENERATION + 1, PINJECT_CLAIMED));
    }
}

static void process_gets_its_events(void **state)
{
    (void)state;
    if (fake.config.source != PINJECT_SOURCE_PERF)
        skip();
    post(PINJECT_PROCESS, 0);
    assert_true(slots_serve(&slots, SLOT));
    expect(PINJECT_ANSWERED);
    assert_int_equal(slot->result, 0);
    assert_int_equal(fake.session.own->budget.wasted_ns, 0);
    assert_int_equal(malformed(), 0);
    struct notification *notification = notifications_take(&fake.session.notifications);
    assert_int_equal(notification->kind, PINJECT_PROCESS);
    assert_false(notification->late);
    assert_non_null(notification->events);
    attach_retire(&fake.session, notification->events);
    fake_drop(notification);
    /* One that does not wait has begun by then. */
    post(PINJECT_PROCESS, PINJECT_REQUEST_NO_WAIT);
    assert_true(slots_serve(&slots, SLOT));
    expect(PINJECT_FREE);
    notification = notifications_take(&fake.session.notifications);
    assert_true(notification->late);
    attach_retire(&fake.session, notification->events);
    fake_drop(notification);
}

/* Below an inherited set each child asks once, and whoever makes it says so before: no work for nothing. */
static void who_has_its_events_wastes_nothing(void **state)
{
    (void)state;
    if (fake.config.source != PINJECT_SOURCE_PERF)
        skip();
    post(PINJECT_FORK, 0);
    assert_true(slots_serve(&slots, SLOT));
    assert_int_equal(fake.session.own->budget.told, 0);
    static const uint32_t kinds[] = {PINJECT_FORK, PINJECT_INHERIT, PINJECT_INHERIT};
    const struct budget *budget = &fake.session.own->budget;
    for (unsigned i = 0; i < 3; i++) {
        const uint64_t window_ns = budget->window_ns;
        const uint32_t told = budget->told;
        post(kinds[i], 0);
        assert_true(slots_serve(&slots, SLOT));
        expect(PINJECT_ANSWERED);
        assert_int_equal(slot->result, 0);
        /* A tenth of a second may have ended meanwhile. */
        assert_int_equal(budget->told, budget->window_ns == window_ns ? told + 1 : 1);
    }
    assert_int_equal(budget->wasted_ns, 0);
}

/* What is only told has a limit of its own. */
static void notifications_are_counted(void **state)
{
    uint64_t pending = 5;
    (void)state;
    post(PINJECT_PROCESS, 0);
    assert_false(slots_serve_notification(&slots, SLOT, &pending, 4));
    expect(PINJECT_POSTED);
    post(PINJECT_REAPED, PINJECT_REQUEST_NO_REPLY);
    assert_false(slots_serve_notification(&slots, SLOT, &pending, 2)); /* not told of */
    expect(PINJECT_POSTED);
    assert_int_equal(pending, 5);
    pthread_mutex_lock(&slots.locks[SLOT]);
    assert_false(slots_serve_notification(&slots, SLOT, &pending, 4)); /* somebody is at it */
    pthread_mutex_unlock(&slots.locks[SLOT]);
    expect(PINJECT_POSTED);
    assert_int_equal(pending, 5);
    assert_true(slots_serve_notification(&slots, SLOT, &pending, 4));
    expect(PINJECT_FREE);
    assert_int_equal(pending, 1);
    assert_int_equal(pthread_mutex_trylock(&slots.locks[SLOT]), 0);
    pthread_mutex_unlock(&slots.locks[SLOT]);
    set(PINJECT_ABANDONED);
    assert_false(slots_serve_notification(&slots, SLOT, &pending, 1));
    expect(PINJECT_ABANDONED);
    assert_int_equal(pending, 1);
}

/* How many sweeps a slot of PHASE and OWNER keeps it; 0: for ever. */
static unsigned sweeps_of(uint32_t phase, int32_t owner)
{
    set(phase);
    slot->owner = owner;
    slots.seen[SLOT] = 0;
    for (unsigned i = 1; i <= 10; i++) {
        requests->hint++;
        slots_sweep(&slots);
        if (slot->state == PINJECT_STATE(GENERATION, PINJECT_FREE))
            return i;
    }
    return 0;
}

static void slots_that_do_not_move_are_freed(void **state)
{
    (void)state;
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    /* Seen, then: its owner is gone. One that lives has three more. */
    assert_int_equal(sweeps_of(PINJECT_CLAIMED, dead), 2);
    assert_int_equal(sweeps_of(PINJECT_ANSWERED, dead), 2);
    assert_int_equal(sweeps_of(PINJECT_CLAIMED, 0), 2);
    assert_int_equal(sweeps_of(PINJECT_CLAIMED, -1), 2);
    assert_int_equal(sweeps_of(PINJECT_CLAIMED, getpid()), 4);
    assert_int_equal(sweeps_of(PINJECT_ANSWERED, 1), 4); /* of another user, for whom kill() says EPERM */
    assert_int_equal(sweeps_of(PINJECT_TAKEN, getpid()), 2);
    assert_int_equal(sweeps_of(6, getpid()), 2);
    /* Somebody serves it. */
    pthread_mutex_lock(&slots.locks[SLOT]);
    assert_int_equal(sweeps_of(PINJECT_TAKEN, dead), 0);
    pthread_mutex_unlock(&slots.locks[SLOT]);
    /* Posted, and the doorbell was lost. */
    post(99, PINJECT_REQUEST_NO_REPLY);
    assert_int_equal(sweeps_of(PINJECT_POSTED, getpid()), 2);
    assert_int_equal(malformed(), 1);
}

static void sweeps_rest_while_nobody_asks(void **state)
{
    (void)state;
    set(PINJECT_FREE);
    slots.seen[SLOT] = slot->state;
    slots_sweep(&slots);
    assert_true(slots.idle);
    set(PINJECT_TAKEN);
    for (unsigned i = 0; i < 8; i++)
        slots_sweep(&slots);
    expect(PINJECT_TAKEN);
    requests->hint++; /* somebody claims */
    slots_sweep(&slots);
    assert_false(slots.idle);
    slots_sweep(&slots);
    expect(PINJECT_FREE);
    slots_sweep(&slots);
    assert_false(slots.idle); /* it has moved */
    slots_sweep(&slots);
    assert_true(slots.idle);
}

static void unused_slots_are_not_looked_at(void **state)
{
    (void)state;
    requests->slots_claimed = SLOT;
    assert_int_equal(sweeps_of(6, 0), 0);
    requests->slots_claimed = SLOT + 1;
    assert_int_equal(sweeps_of(6, 0), 2);
    requests->slots_claimed = UINT32_MAX; /* a lie */
    assert_int_equal(sweeps_of(6, 0), 2);
}

static void full_channel_is_looked_at_again(void **state)
{
    (void)state;
    requests->stalled = PINJECT_STALLED_FULL;
    slots_sweep(&slots);
    assert_int_equal(requests->stalled, PINJECT_STALLED_YES);
    requests->hint++;
    slots_sweep(&slots);
    assert_int_equal(requests->stalled, PINJECT_STALLED_YES);
    requests->stalled = 0;
    requests->hint++;
    slots_sweep(&slots);
    assert_int_equal(requests->stalled, 0);
}

static void end_of_the_session_is_answered(void **state)
{
    (void)state;
    set(PINJECT_POSTED);
    slots_refuse(fake.session.own);
    expect(PINJECT_ANSWERED);
    assert_int_equal(slot->result, -ECANCELED);
    set(PINJECT_ABANDONED);
    slots_refuse(fake.session.own);
    expect(PINJECT_FREE);
    set(PINJECT_CLAIMED);
    slots_refuse(fake.session.own);
    expect(PINJECT_CLAIMED);
    set(PINJECT_POSTED);
    requests->slots_claimed = SLOT;
    slots_refuse(fake.session.own);
    expect(PINJECT_POSTED);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_posted_slots_are_served),      TEST(nonsense_is_answered_and_costs),
        TEST(senders_give_up_meanwhile),         TEST(process_gets_its_events),
        TEST(who_has_its_events_wastes_nothing), TEST(notifications_are_counted),
        TEST(slots_that_do_not_move_are_freed),  TEST(sweeps_rest_while_nobody_asks),
        TEST(unused_slots_are_not_looked_at),    TEST(full_channel_is_looked_at_again),
        TEST(end_of_the_session_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
