/* SPDX-License-Identifier: MIT */
/* What is added up over channels, and asked of each. The second one is made by hand: its user cannot be found here. */
#include "worker_fake.h"

enum { OTHER = 12345 };

static struct fake fake;
static struct channel other;
static struct channels *channels;

static int set_up(void **state)
{
    (void)state;
    fake_open(&fake);
    channels = fake.session.channels;
    memset(&other, 0, sizeof(other));
    other.session = &fake.session;
    other.user = OTHER;
    other.requests = mmap(NULL, sizeof(*other.requests), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (other.requests == MAP_FAILED || channels->count != 1)
        return -1;
    channels->list[channels->count++] = &other;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    channels->count = 1;
    munmap(other.requests, sizeof(*other.requests));
    fake_close(&fake);
    return 0;
}

static void users_are_told_apart(void **state)
{
    int error = 5;
    (void)state;
    assert_ptr_equal(channels_get(&fake.session, OTHER, &error), &other);
    assert_int_equal(error, 0);
    error = 5;
    assert_ptr_equal(channels_get(&fake.session, geteuid(), &error), fake.session.own);
    assert_int_equal(error, 0);
    assert_int_equal(fake.session.users_refused, 0);
    assert_int_equal(channels->count, 2);
    /* As many as there may be. */
    for (uint32_t i = 2; i < CHANNELS_MAX; i++)
        channels->list[i] = &other;
    channels->count = CHANNELS_MAX;
    assert_null(channels_get(&fake.session, OTHER + 1, &error));
    assert_int_equal(error, -EUSERS);
    assert_int_equal(fake.session.users_refused, 1);
    assert_int_equal(channels->count, CHANNELS_MAX);
    assert_ptr_equal(channels_get(&fake.session, OTHER, &error), &other);
}

static void expect(uint32_t number, enum channel_count which, uint64_t wanted, const char *wanted_word)
{
    char word[64] = "?";
    uint64_t count = 99;
    assert_true(channels_counted(&fake.session, number, which, &count, word, sizeof(word)));
    assert_int_equal(count, wanted);
    assert_string_equal(word, wanted_word);
}

static void what_preload_objects_count(void **state)
{
    char word[64];
    uint64_t count;
    (void)state;
    fake.session.own->requests->unanswered = 1;
    fake.session.own->requests->dropped = 2;
    fake.session.own->requests->foreign = 3;
    fake.session.own->requests->blocked = 4;
    other.requests->unanswered = 5;
    other.requests->dropped = 6;
    other.requests->foreign = 7;
    other.requests->blocked = 8;
    expect(0, CHANNEL_UNANSWERED, 1, "");
    expect(0, CHANNEL_DROPPED, 2, "");
    expect(0, CHANNEL_FOREIGN, 3, "");
    expect(0, CHANNEL_BLOCKED, 4, "");
    expect(1, CHANNEL_UNANSWERED, 5, "programs of uid 12345 reported this loss");
    expect(1, CHANNEL_DROPPED, 6, "programs of uid 12345 reported this loss");
    expect(1, CHANNEL_FOREIGN, 7, "programs of uid 12345 reported this loss");
    expect(1, CHANNEL_BLOCKED, 8, "programs of uid 12345 reported this loss");
    assert_false(channels_counted(&fake.session, 2, CHANNEL_BLOCKED, &count, word, sizeof(word)));
    assert_int_equal(channels_held(&fake.session), 0);
    fake.session.own->budget.held = 3;
    other.budget.held = 4;
    assert_int_equal(channels_held(&fake.session), 7);
}

static void doorbells_of_all_are_seen(void **state)
{
    (void)state;
    assert_false(channels_have_requests(&fake.session));
    uint64_t *const words[] = {
        &fake.session.own->requests->doorbells[0].pending[0],
        &fake.session.own->requests->doorbells[fake.session.doorbells - 1].pending[PINJECT_SLOTS / 64 - 1],
        &other.requests->doorbells[0].pending[0],
        &other.requests->doorbells[fake.session.doorbells - 1].pending[PINJECT_SLOTS / 64 - 1],
    };
    for (size_t i = 0; i < 4; i++) {
        *words[i] = UINT64_C(1) << 63;
        assert_true(channels_have_requests(&fake.session));
        *words[i] = 0;
    }
    assert_false(channels_have_requests(&fake.session));
    if (fake.session.doorbells < PINJECT_DOORBELLS) { /* those are nobody's */
        other.requests->doorbells[fake.session.doorbells].pending[0] = 1;
        assert_false(channels_have_requests(&fake.session));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(users_are_told_apart),
        TEST(what_preload_objects_count),
        TEST(doorbells_of_all_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
