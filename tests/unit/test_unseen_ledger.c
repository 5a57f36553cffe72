/* SPDX-License-Identifier: MIT */
/* Why a task that never came is in the ledger, in which words, and who is looked for once more. */
#include "check.h"

#include <errno.h>
#include <pinject/wire.h>

#include "collector/unseen.h"

static struct unseen unseen;
static uint32_t dropped;

static int set_up(void **state)
{
    (void)state;
    dropped = 0;
    int status = unseen_init(&unseen);
    unseen.dropped = &dropped;
    return status;
}

static int tear_down(void **state)
{
    (void)state;
    unseen_release(&unseen);
    return unseen.arrived.words != NULL;
}

static void expect(const char *wanted)
{
    char text[4096] = "";
    for (unsigned i = 0; i < unseen.count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d %s %d%s: %s\n", (int)unseen.lines[i].count,
                 unseen.lines[i].comm, (int)unseen.lines[i].cpu_ns, unseen.lines[i].chosen ? " chosen" : "",
                 unseen.lines[i].reason);
    assert_string_equal(text, wanted);
}

#define PROCESS \
    "child exited before it was found (static, setuid, cleaned environment, or no access to the session)\n"
#define THREAD "thread exited before it was found (not created by pthread_create)\n"
#define NO_SLOT \
    "task exited before it was found (request queue full, or program not injectable: static, setuid)\n"
#define REFUSED "refused by the kernel: setuid, not dumpable, or of another user (root may see it)\n"
#define POLICY "child not followed (--follow-all follows it)\n"

static void reasons(void **state)
{
    (void)state;
    for (pid_t i = 0; i < 7; i++)
        unseen_announced(&unseen, 1, i == 2 ? 5 : 10 + i, 10 + i, (uint64_t)i + 1, i != 0);
    strcpy(unseen_find(&unseen, 10)->comm, "ls");
    unseen_find(&unseen, 11)->cpu_ns = 30;
    unseen_refused(&unseen, 13, -EACCES);
    unseen_refused(&unseen, 14, -EPERM);
    unseen_refused(&unseen, 15, -ESRCH);
    unseen_refused(&unseen, 99, -EPERM); /* nobody */
    unseen_settle(&unseen, 1); /* before the first */
    assert_int_equal(unseen.children, 7);
    unseen_settle(&unseen, 7);
    assert_int_equal(unseen.children, 1);
    expect("1 ls 0 chosen: " POLICY "2  30: " PROCESS "1  0: " THREAD "2  0: " REFUSED);
    dropped = 1;
    unseen_announced(&unseen, 1, 10, 10, 1, false);
    strcpy(unseen_find(&unseen, 10)->comm, "ls");
    unseen_settle(&unseen, UINT64_MAX);
    expect("2 ls 0 chosen: " POLICY "2  30: " PROCESS "1  0: " THREAD "2  0: " REFUSED "1  0: " NO_SLOT);
    assert_int_equal(unseen.children, 0);
    assert_int_equal(unseen.uncounted, 0);
}

/* Children that never come do not fill the memory: one of them makes room. */
static void children_are_bounded(void **state)
{
    enum { MAX = 65536 };
    (void)state;
    for (pid_t tid = 1; tid <= MAX; tid++)
        unseen_announced(&unseen, 1, tid, tid, 5, true);
    assert_int_equal(unseen.children, MAX);
    expect("");
    unseen_announced(&unseen, 1, MAX + 1, MAX + 1, 5, true);
    assert_int_equal(unseen.children, MAX);
    assert_non_null(unseen_find(&unseen, MAX + 1));
    expect("1  0: " PROCESS);
    assert_int_equal(unseen.uncounted, 0);
}

/* A look at those that may be there still has a bound too, and each is looked at three times at most. */
static void looks_are_bounded(void **state)
{
    enum { AT_ONCE = 256, CHILDREN = 300 };
    (void)state;
    for (pid_t tid = 1; tid <= CHILDREN; tid++)
        unseen_announced(&unseen, 1, 3990000 + tid, 3990000 + tid, 5, true);
    for (unsigned turn = 1; turn <= 7; turn++) {
        unsigned looks = 0, most = 0;
        unseen_look(&unseen, 6);
        for (pid_t tid = 1; tid <= CHILDREN; tid++) {
            const struct unseen_child *child = unseen_find(&unseen, 3990000 + tid);
            looks += child->looks;
            most = child->looks > most ? child->looks : most;
        }
        /* Three times the same, then what is left of them, three times. */
        const unsigned first = turn < 3 ? turn : 3, rest = turn - first < 3 ? turn - first : 3;
        assert_int_equal(looks, first * AT_ONCE + rest * (CHILDREN - AT_ONCE));
        assert_true(most <= 3);
    }
}

/* The line beyond which reasons are not told apart. */
static void further_reasons(void **state)
{
    (void)state;
    for (int i = 0; i < UNSEEN_LINES + 5; i++) {
        char reason[16];
        snprintf(reason, sizeof(reason), "r%d", i);
        unseen_add(&unseen, reason, i < 5 ? "name" : "", 1, 1);
    }
    unseen_add(&unseen, "r3", "name", 1, 1);
    assert_int_equal(unseen.count, UNSEEN_LINES);
    assert_string_equal(unseen.lines[UNSEEN_LINES - 1].reason, "further reasons");
    assert_string_equal(unseen.lines[UNSEEN_LINES - 1].comm, "");
    assert_int_equal(unseen.lines[UNSEEN_LINES - 1].count, 6);
    assert_int_equal(unseen.lines[UNSEEN_LINES - 1].cpu_ns, 6);
    assert_string_equal(unseen.lines[UNSEEN_LINES - 2].reason, "r254");
    assert_int_equal(unseen.lines[3].count, 2);
}

static size_t find_strangers(uint64_t before_ns, unsigned tries, struct unseen_child *found, size_t size)
{
    const struct unseen_wanted wanted = {before_ns, before_ns, 0, tries};
    return unseen_strangers(&unseen, &wanted, found, size);
}

static void who_is_looked_for(void **state)
{
    struct unseen_child found[4];
    (void)state;
    for (pid_t i = 0; i < 6; i++)
        unseen_announced(&unseen, 1, 10 + i, 10 + i, 100, i != 1);
    unseen_find(&unseen, 12)->ended = true;
    unseen_refused(&unseen, 13, -EMFILE);
    unseen_refused(&unseen, 13, -EMFILE);
    assert_int_equal(find_strangers(100, 2, found, 4), 0);
    assert_int_equal(find_strangers(101, 2, found, 4), 3);
    assert_true(found[0].pid == 10 && found[1].pid == 14 && found[2].pid == 15);
    assert_int_equal(find_strangers(101, 3, found, 4), 4);
    assert_int_equal(find_strangers(101, 3, found, 2), 2);
    /* One that is told of once more has all its tries again, and its time. */
    unseen_expected(&unseen, 1, 13, 200);
    assert_int_equal(find_strangers(101, 2, found, 4), 3);
    assert_int_equal(find_strangers(201, 1, found, 4), 4);
}

/* More than there is time for in one sweep: the next one goes on. Who may still ask is in nobody's way. */
static void strangers_have_their_turn(void **state)
{
    struct unseen_child found[64];
    struct unseen_wanted wanted = {.before_ns = 1000, .patient_ns = 500, .busy_ns = UINT64_MAX, .tries = 3};
    unsigned met = 0;
    (void)state;
    for (pid_t i = 0; i < 200; i++)
        unseen_announced(&unseen, 1, 3990000 + i, 3990000 + i, 600, true); /* young, and idle */
    unseen_announced(&unseen, 1, 3990500, 3990500, 400, true);
    unseen_announced(&unseen, 1, 1, 3990600, 600, true); /* a thread */
    assert_int_equal(unseen_strangers(&unseen, &wanted, found, 64), 2);
    assert_true(found[0].tid + found[1].tid == 3990500 + 3990600);
    wanted.busy_ns = 0; /* they run */
    assert_int_equal(unseen_strangers(&unseen, &wanted, found, 64), 64);
    for (unsigned i = 0; i < 4; i++) { /* 64 in each sweep, but for what was left of a place */
        size_t count = unseen_strangers(&unseen, &wanted, found, 64);
        for (size_t j = 0; j < count; j++) {
            struct unseen_child *child = unseen_find(&unseen, found[j].tid);
            met += !child->error;
            child->error = 1;
        }
    }
    assert_int_equal(met, 202);
    wanted.patient_ns = 1000;
    met = 0;
    for (unsigned i = 0; i < 5; i++) {
        size_t count = unseen_strangers(&unseen, &wanted, found, 64);
        assert_int_equal(count, 64);
        for (size_t j = 0; j < 50; j++) { /* there was no time for the rest */
            struct unseen_child *child = unseen_find(&unseen, found[j].tid);
            unseen_tried(&unseen, child->tid);
            met += child->error == 1;
            child->error = 2;
        }
    }
    assert_int_equal(met, 202);
}

/* Of one parent, and of another with the same place in the table. */
static void children_of_a_parent(void **state)
{
    const pid_t twin = 7 + UNSEEN_TABLE;
    (void)state;
    unseen_announced(&unseen, 7, 20, 20, 1, true);
    unseen_announced(&unseen, twin, 21, 21, 1, true);
    unseen_announced(&unseen, 7, 22, 22, 1, true);
    assert_true(unseen_has_strangers(&unseen, 7) && unseen_has_strangers(&unseen, twin));
    unseen_arrived(&unseen, 22); /* the newest, the oldest, the last */
    assert_true(unseen_has_strangers(&unseen, 7));
    unseen_arrived(&unseen, 20);
    assert_false(unseen_has_strangers(&unseen, 7));
    assert_true(unseen_has_strangers(&unseen, twin));
    unseen_arrived(&unseen, 21);
    assert_false(unseen_has_strangers(&unseen, twin));
    /* In the table of numbers too. */
    unseen_announced(&unseen, 1, 30, 30, 1, true);
    unseen_announced(&unseen, 1, 30 + UNSEEN_TABLE, 30 + UNSEEN_TABLE, 1, true);
    unseen_arrived(&unseen, 30);
    assert_null(unseen_find(&unseen, 30));
    assert_non_null(unseen_find(&unseen, 30 + UNSEEN_TABLE));
    assert_false(unseen_take_arrived(&unseen, 30)); /* its announcement was met */
}

static void arrivals_before_announcements(void **state)
{
    (void)state;
    unseen_arrived(&unseen, 64);
    unseen_arrived(&unseen, 65);
    assert_true(unseen_take_arrived(&unseen, 64));
    assert_false(unseen_take_arrived(&unseen, 64));
    assert_false(unseen_take_arrived(&unseen, 63));
    assert_false(unseen_take_arrived(&unseen, 0));
    assert_false(unseen_take_arrived(&unseen, -1));
    assert_false(unseen_take_arrived(&unseen, PINJECT_TASKS));
    unseen_arrived(&unseen, PINJECT_TASKS - 1);
    assert_true(unseen_take_arrived(&unseen, PINJECT_TASKS - 1));
    unseen_announced(&unseen, 1, 65, 65, 1, true);
    assert_null(unseen_find(&unseen, 65));
    unseen_arrived(&unseen, 66);
    unseen_expected(&unseen, 1, 66, 1); /* that was an earlier one */
    assert_true(unseen_find(&unseen, 66)->expected);
    unseen_announced(&unseen, 2, 66, 66, 2, true); /* of another parent: the number is used again */
    assert_false(unseen_find(&unseen, 66)->expected);
    assert_int_equal(unseen.count, 1);
    unseen_expected(&unseen, 2, 67, 1);
    unseen_announced(&unseen, 2, 67, 67, 2, false);
    assert_false(unseen_find(&unseen, 67)->expected);
    assert_false(unseen_find(&unseen, 67)->followed);
}

/* Each name is a file of /proc: some in each call, each some times. */
static void names_are_looked_up(void **state)
{
    (void)state;
    for (pid_t i = 0; i < 300; i++)
        unseen_announced(&unseen, 1, 200000 + i, 200000 + i, 1, true);
    unsigned looks[7];
    for (unsigned round = 0; round < 7; round++) {
        looks[round] = 0;
        unseen_look(&unseen, 2);
        for (pid_t i = 0; i < 300; i++)
            looks[round] += unseen_find(&unseen, 200000 + i)->looks;
    }
    assert_true(looks[0] == 256 && looks[1] == 512 && looks[2] == 768); /* then the others' turn has come */
    assert_true(looks[3] == 812 && looks[4] == 856 && looks[5] == 900 && looks[6] == 900);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reasons),
        TEST(further_reasons),
        TEST(children_are_bounded),
        TEST(looks_are_bounded),
        TEST(who_is_looked_for),
        TEST(strangers_have_their_turn),
        TEST(children_of_a_parent),
        TEST(arrivals_before_announcements),
        TEST(names_are_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
