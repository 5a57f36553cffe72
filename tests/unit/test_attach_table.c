/* SPDX-License-Identifier: MIT */
/* The table of live tasks, with entries that are made by hand: who is in it, whose end is met, what is marked. */
#include "collector/sources/attach_table.h"
#include "worker_fake.h"

#include "collector/sources/attach.h"

enum { PID = 3000000, TABLES = 8 };

static struct fake fake;
static struct attached entries[TABLES];
static int ends[TABLES][2]; /* an entry's task has ended when something can be read */

static int set_up(void **state)
{
    (void)state;
    fake_open(&fake);
    memset(entries, 0, sizeof(entries));
    for (unsigned i = 0; i < TABLES; i++) {
        if (pipe(ends[i]))
            return -1;
        entries[i].session = &fake.session;
        entries[i].end_fd = ends[i][0];
        entries[i].number = -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (unsigned i = 0; i < TABLES; i++) {
        attach_retire(&fake.session, &entries[i]);
        close(ends[i][0]);
        close(ends[i][1]);
    }
    fake_close(&fake);
    return 0;
}

static int enter(unsigned number, pid_t pid, pid_t tid)
{
    entries[number].pid = pid;
    entries[number].tid = tid;
    return attach_table_enter(&fake.session, &entries[number]);
}

static void end(unsigned number)
{
    assert_int_equal(write(ends[number][1], "e", 1), 1);
}

static bool covered(pid_t tid)
{
    return fake_covered(&fake.session, tid);
}

static void tasks_come_and_go(void **state)
{
    (void)state;
    assert_false(attach_has_process(&fake.session, PID));
    assert_int_equal(enter(0, PID, PID), 0);
    assert_true(entries[0].listed && entries[0].key == PID && covered(PID));
    assert_true(attach_knows(&fake.session, PID, PID, NULL));
    assert_false(attach_knows(&fake.session, PID + 1, PID + 1, NULL));
    assert_int_equal(enter(1, PID, PID), -EEXIST);
    assert_false(entries[1].listed);
    attach_retire(&fake.session, &entries[1]); /* never in it */
    assert_true(covered(PID));
    attach_retire(&fake.session, &entries[0]);
    assert_false(entries[0].listed || covered(PID));
    assert_false(attach_knows(&fake.session, PID, PID, NULL));
    /* A number that is used again: the entry of before goes. */
    assert_int_equal(enter(0, PID, PID), 0);
    end(0);
    assert_int_equal(enter(1, PID, PID), 0);
    assert_false(entries[0].listed);
    assert_true(entries[1].listed && covered(PID));
    attach_retire(&fake.session, &entries[0]); /* marks nothing of the other's */
    assert_true(covered(PID));
}

static void rings_are_told(void **state)
{
    bool ring = true;
    (void)state;
    assert_int_equal(enter(0, PID, PID), 0);
    assert_true(attach_knows(&fake.session, PID, PID, &ring));
    assert_false(ring);
    ring = true;
    assert_false(attach_knows(&fake.session, PID, PID + 1, &ring));
    assert_false(ring);
    entries[1].timer = true;
    entries[1].ring = &ring; /* looked at by nobody */
    assert_int_equal(enter(1, PID + 2, PID + 2), 0);
    assert_true(attach_knows(&fake.session, PID + 2, PID + 2, &ring));
    assert_true(ring);
    /* Beside tasks with events it is not marked: each of its exec generations asks. */
    assert_int_equal(covered(PID + 2), fake.config.source == PINJECT_SOURCE_TIMER);
    attach_retire(&fake.session, &entries[1]);
    entries[1].ring = NULL;
}

/* By its first thread, by any other that lives, and not by one of another process in the same place. */
static void processes_are_known_by_threads(void **state)
{
    (void)state;
    assert_int_equal(enter(0, PID, PID + 1), 0);
    assert_true(attach_has_process(&fake.session, PID));
    assert_false(attach_has_process(&fake.session, PID + 1)); /* that is a thread */
    assert_int_equal(enter(1, PID, PID + 2), 0);
    end(0);
    assert_true(attach_has_process(&fake.session, PID));
    end(1);
    assert_false(attach_has_process(&fake.session, PID));
    assert_int_equal(enter(2, PID, PID), 0);
    assert_true(attach_has_process(&fake.session, PID));
    end(2);
    assert_false(attach_has_process(&fake.session, PID));
}

/* In each list of several the first, one in the middle, and the last may go. */
static void any_of_many_goes(void **state)
{
    static const unsigned orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}};
    (void)state;
    for (size_t order = 0; order < 3; order++) {
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(enter(i, PID, PID + 1 + (pid_t)i), 0);
        for (unsigned i = 0; i < 4; i++) {
            attach_retire(&fake.session, &entries[orders[order][i]]);
            for (unsigned left = 0; left < 4; left++) {
                bool there = false;
                for (unsigned later = i + 1; later < 4; later++)
                    there |= orders[order][later] == left;
                assert_int_equal(attach_knows(&fake.session, PID, PID + 1 + (pid_t)left, NULL), there);
                assert_int_equal(covered(PID + 1 + (pid_t)left), there);
            }
            assert_int_equal(attach_has_process(&fake.session, PID), i < 3);
        }
    }
}

/* A thread whose number is gone while it lives has become its process. */
static void exec_of_a_thread(void **state)
{
    (void)state;
    assert_int_equal(enter(0, PID, PID + 1), 0);
    assert_int_equal(enter(1, PID + 5, PID + 6), 0); /* of another process */
    assert_true(attach_knows(&fake.session, PID, PID, NULL));
    assert_int_equal(entries[0].key, PID);
    assert_int_equal(entries[0].tid, PID + 1);
    assert_true(covered(PID));
    assert_false(covered(PID + 1));
    assert_int_equal(entries[1].key, PID + 6);
    /* But not one that is there under its own number, nor one that has ended. */
    attach_retire(&fake.session, &entries[0]);
    assert_int_equal(enter(2, PID, PID + 2), 0);
    end(2);
    assert_false(attach_knows(&fake.session, PID, PID, NULL));
    assert_int_equal(enter(3, getppid(), getpid()), 0);
    assert_false(attach_knows(&fake.session, PID, getppid(), NULL));
}

static void snapshots(void **state)
{
    struct attach_value values[CONFIG_EVENTS];
    (void)state;
    memset(values, 1, sizeof(values));
    assert_int_equal(attach_snapshot(&fake.session, PID, values), -ESRCH);
    assert_int_equal(values[0].value, 0x0101010101010101);
    int refused = -1;
    entries[0].count = 1;
    entries[0].fds = &refused;
    assert_int_equal(enter(0, PID, PID), 0);
    assert_int_equal(attach_snapshot(&fake.session, PID, values), 0);
    assert_int_equal(values[0].value, 0); /* of an event that was refused */
    end(0);
    assert_int_equal(attach_snapshot(&fake.session, PID, values), -ESRCH);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tasks_come_and_go), TEST(rings_are_told),   TEST(processes_are_known_by_threads),
        TEST(any_of_many_goes),  TEST(exec_of_a_thread), TEST(snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
