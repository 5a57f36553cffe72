/* SPDX-License-Identifier: MIT */
/* Why a task that never came is counted as missed, in which words, and who is looked for once more. */
#include "check.h"

#include <errno.h>
#include <pinject/wire.h>

#include "collector/tasks/missed.h"

static struct missed missed;
static uint32_t dropped;

static int set_up(void **state)
{
    (void)state;
    dropped = 0;
    int status = missed_init(&missed);
    missed.dropped = &dropped;
    return status;
}

static int tear_down(void **state)
{
    (void)state;
    missed_release(&missed);
    return missed.requested.words != NULL;
}

static void expect(const char *wanted)
{
    char text[4096] = "";
    for (unsigned i = 0; i < missed.count; i++)
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%d %s %d%s: %s\n", (int)missed.lines[i].count,
                 missed.lines[i].comm, (int)missed.lines[i].cpu_ns, missed.lines[i].chosen ? " chosen" : "",
                 missed.lines[i].reason);
    assert_string_equal(text, wanted);
}

#define PROCESS \
    "child exited before it was found (static, setuid, cleaned environment, or no access to pinject's files)\n"
#define THREAD  "thread exited before it was found (not created by pthread_create)\n"
#define NO_SLOT "task exited before it was found (request queue full, or the program is static or setuid)\n"
#define REFUSED "refused by the kernel: the task is setuid, not dumpable, or of another user (root can profile it)\n"
#define POLICY  "child not followed (--follow-all follows it)\n"

static void reasons(void **state)
{
    (void)state;
    for (pid_t i = 0; i < 7; i++)
        missed_announced(&missed, 1, i == 2 ? 5 : 10 + i, 10 + i, (uint64_t)i + 1, i != 0);
    strcpy(missed_find(&missed, 10)->comm, "ls");
    missed_find(&missed, 11)->cpu_ns = 30;
    missed_refused(&missed, 13, -EACCES);
    missed_refused(&missed, 14, -EPERM);
    missed_refused(&missed, 15, -ESRCH);
    missed_refused(&missed, 99, -EPERM); /* nobody */
    missed_settle(&missed, 1);           /* before the first */
    assert_int_equal(missed.children, 7);
    missed_settle(&missed, 7);
    assert_int_equal(missed.children, 1);
    expect("1 ls 0 chosen: " POLICY "2  30: " PROCESS "1  0: " THREAD "2  0: " REFUSED);
    dropped = 1;
    missed_announced(&missed, 1, 10, 10, 1, false);
    strcpy(missed_find(&missed, 10)->comm, "ls");
    missed_settle(&missed, UINT64_MAX);
    expect("2 ls 0 chosen: " POLICY "2  30: " PROCESS "1  0: " THREAD "2  0: " REFUSED "1  0: " NO_SLOT);
    assert_int_equal(missed.children, 0);
    assert_int_equal(missed.uncounted, 0);
}

/* Children that never come do not fill the memory: one of them makes room. */
static void children_are_bounded(void **state)
{
    enum { MAX = 65536 };
    (void)state;
    for (pid_t tid = 1; tid <= MAX; tid++)
        missed_announced(&missed, 1, tid, tid, 5, true);
    assert_int_equal(missed.children, MAX);
    expect("");
    missed_announced(&missed, 1, MAX + 1, MAX + 1, 5, true);
    assert_int_equal(missed.children, MAX);
    assert_non_null(missed_find(&missed, MAX + 1));
    expect("1  0: " PROCESS);
    assert_int_equal(missed.uncounted, 0);
}

/* A look at those that may be there still has a bound too, and each is looked at three times at most. */
static void looks_are_bounded(void **state)
{
    enum { AT_ONCE = 256, CHILDREN = 300 };
    (void)state;
    for (pid_t tid = 1; tid <= CHILDREN; tid++)
        missed_announced(&missed, 1, 3990000 + tid, 3990000 + tid, 5, true);
    for (unsigned turn = 1; turn <= 7; turn++) {
        unsigned looks = 0, most = 0;
        missed_look(&missed, 6);
        for (pid_t tid = 1; tid <= CHILDREN; tid++) {
            const struct untracked_task *child = missed_find(&missed, 3990000 + tid);
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
    for (int i = 0; i < MISSED_LINES + 5; i++) {
        char reason[16];
        snprintf(reason, sizeof(reason), "r%d", i);
        missed_add(&missed, reason, i < 5 ? "name" : "", 1, 1);
    }
    missed_add(&missed, "r3", "name", 1, 1);
    assert_int_equal(missed.count, MISSED_LINES);
    assert_string_equal(missed.lines[MISSED_LINES - 1].reason, "other reasons");
    assert_string_equal(missed.lines[MISSED_LINES - 1].comm, "");
    assert_int_equal(missed.lines[MISSED_LINES - 1].count, 6);
    assert_int_equal(missed.lines[MISSED_LINES - 1].cpu_ns, 6);
    assert_string_equal(missed.lines[MISSED_LINES - 2].reason, "r254");
    assert_int_equal(missed.lines[3].count, 2);
}

static size_t find_untracked(uint64_t before_ns, unsigned tries, struct untracked_task *found, size_t size)
{
    const struct missed_wanted wanted = {before_ns, before_ns, 0, tries};
    return missed_untracked(&missed, &wanted, found, size);
}

static void who_is_looked_for(void **state)
{
    struct untracked_task found[4];
    (void)state;
    for (pid_t i = 0; i < 6; i++)
        missed_announced(&missed, 1, 10 + i, 10 + i, 100, i != 1);
    missed_find(&missed, 12)->ended = true;
    missed_refused(&missed, 13, -EMFILE);
    missed_refused(&missed, 13, -EMFILE);
    assert_int_equal(find_untracked(100, 2, found, 4), 0);
    assert_int_equal(find_untracked(101, 2, found, 4), 3);
    assert_true(found[0].pid == 10 && found[1].pid == 14 && found[2].pid == 15);
    assert_int_equal(find_untracked(101, 3, found, 4), 4);
    assert_int_equal(find_untracked(101, 3, found, 2), 2);
    /* One that is told of once more has all its tries again, and its time. */
    missed_expected(&missed, 1, 13, 200);
    assert_int_equal(find_untracked(101, 2, found, 4), 3);
    assert_int_equal(find_untracked(201, 1, found, 4), 4);
}

/* More than there is time for in one sweep: the next one goes on. Who may still ask is in nobody's way. */
static void untracked_have_their_turn(void **state)
{
    struct untracked_task found[64];
    struct missed_wanted wanted = {.before_ns = 1000, .patient_ns = 500, .busy_ns = UINT64_MAX, .tries = 3};
    unsigned met = 0;
    (void)state;
    for (pid_t i = 0; i < 200; i++)
        missed_announced(&missed, 1, 3990000 + i, 3990000 + i, 600, true); /* young, and idle */
    missed_announced(&missed, 1, 3990500, 3990500, 400, true);
    missed_announced(&missed, 1, 1, 3990600, 600, true); /* a thread */
    assert_int_equal(missed_untracked(&missed, &wanted, found, 64), 2);
    assert_true(found[0].tid + found[1].tid == 3990500 + 3990600);
    wanted.busy_ns = 0; /* they run */
    assert_int_equal(missed_untracked(&missed, &wanted, found, 64), 64);
    for (unsigned i = 0; i < 4; i++) { /* 64 in each sweep, but for what was left of a place */
        size_t count = missed_untracked(&missed, &wanted, found, 64);
        for (size_t j = 0; j < count; j++) {
            struct untracked_task *child = missed_find(&missed, found[j].tid);
            met += !child->error;
            child->error = 1;
        }
    }
    assert_int_equal(met, 202);
    wanted.patient_ns = 1000;
    met = 0;
    for (unsigned i = 0; i < 5; i++) {
        size_t count = missed_untracked(&missed, &wanted, found, 64);
        assert_int_equal(count, 64);
        for (size_t j = 0; j < 50; j++) { /* there was no time for the rest */
            struct untracked_task *child = missed_find(&missed, found[j].tid);
            missed_tried(&missed, child->tid);
            met += child->error == 1;
            child->error = 2;
        }
    }
    assert_int_equal(met, 202);
}

/* Of one parent, and of another with the same place in the table. */
static void children_of_a_parent(void **state)
{
    const pid_t twin = 7 + MISSED_TABLE;
    (void)state;
    missed_announced(&missed, 7, 20, 20, 1, true);
    missed_announced(&missed, twin, 21, 21, 1, true);
    missed_announced(&missed, 7, 22, 22, 1, true);
    assert_true(missed_has_untracked(&missed, 7) && missed_has_untracked(&missed, twin));
    missed_requested(&missed, 22); /* the newest, the oldest, the last */
    assert_true(missed_has_untracked(&missed, 7));
    missed_requested(&missed, 20);
    assert_false(missed_has_untracked(&missed, 7));
    assert_true(missed_has_untracked(&missed, twin));
    missed_requested(&missed, 21);
    assert_false(missed_has_untracked(&missed, twin));
    /* In the table of numbers too. */
    missed_announced(&missed, 1, 30, 30, 1, true);
    missed_announced(&missed, 1, 30 + MISSED_TABLE, 30 + MISSED_TABLE, 1, true);
    missed_requested(&missed, 30);
    assert_null(missed_find(&missed, 30));
    assert_non_null(missed_find(&missed, 30 + MISSED_TABLE));
    assert_false(missed_take_requested(&missed, 30)); /* its announcement was met */
}

static void notifications_before_announcements(void **state)
{
    (void)state;
    missed_requested(&missed, 64);
    missed_requested(&missed, 65);
    assert_true(missed_take_requested(&missed, 64));
    assert_false(missed_take_requested(&missed, 64));
    assert_false(missed_take_requested(&missed, 63));
    assert_false(missed_take_requested(&missed, 0));
    assert_false(missed_take_requested(&missed, -1));
    assert_false(missed_take_requested(&missed, PINJECT_TASKS));
    missed_requested(&missed, PINJECT_TASKS - 1);
    assert_true(missed_take_requested(&missed, PINJECT_TASKS - 1));
    missed_announced(&missed, 1, 65, 65, 1, true);
    assert_null(missed_find(&missed, 65));
    missed_requested(&missed, 66);
    missed_expected(&missed, 1, 66, 1); /* that was an earlier one */
    assert_true(missed_find(&missed, 66)->expected);
    missed_announced(&missed, 2, 66, 66, 2, true); /* of another parent: the number is used again */
    assert_false(missed_find(&missed, 66)->expected);
    assert_int_equal(missed.count, 1);
    missed_expected(&missed, 2, 67, 1);
    missed_announced(&missed, 2, 67, 67, 2, false);
    assert_false(missed_find(&missed, 67)->expected);
    assert_false(missed_find(&missed, 67)->followed);
}

/* Each name is a file of /proc: some in each call, each some times. */
static void names_are_looked_up(void **state)
{
    (void)state;
    for (pid_t i = 0; i < 300; i++)
        missed_announced(&missed, 1, 200000 + i, 200000 + i, 1, true);
    unsigned looks[7];
    for (unsigned round = 0; round < 7; round++) {
        looks[round] = 0;
        missed_look(&missed, 2);
        for (pid_t i = 0; i < 300; i++)
            looks[round] += missed_find(&missed, 200000 + i)->looks;
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
        TEST(untracked_have_their_turn),
        TEST(children_of_a_parent),
        TEST(notifications_before_announcements),
        TEST(names_are_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
