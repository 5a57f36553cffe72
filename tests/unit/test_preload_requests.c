/* SPDX-License-Identifier: MIT */
/* The requests of a followed process, and what fork makes of it. */
#include "preload_kit.h"

#include "pinject/pinject.h"
#include "preload/sys.h"

/* ---- Requests ---- */

static void test_notification(void **state)
{
    char expected[128];
    (void)state;
    begin(0);
    pinject_preload_snapshot();
    assert_notes("count\n" ASKED("SNAPSHOT 0"));
    pinject_preload_spawned(999);
    snprintf(expected, sizeof(expected), "SPAWN 0 pid 999 tid 999 ppid me by me\n");
    assert_notes(expected);
    pinject_preload_reaped(998, 0x700, 5, 6, 7);
    assert_notes("REAPED 0x21 pid 998 tid me ppid parent by 0\n");
    assert_int_equal(slot.status, 0x700);
    assert_int_equal(slot.utime_ns, 5);
    assert_int_equal(slot.stime_ns, 6);
    assert_int_equal(slot.switches, 7);
    pinject_preload_become(1234);
    assert_notes(ASKED("BECOME 0"));
    assert_int_equal(slot.user, 1234);
    play.no_slot = true;
    pinject_preload_snapshot();
    pinject_preload_become(1234);
    pinject_preload_spawned(999);
    pinject_preload_reaped(998, 0, 0, 0, 0);
    assert_notes("count\n");
}

/* Who is neither the process nor its child would ask for somebody else. */
static void test_unknown_process(void **state)
{
    (void)state;
    begin(0);
    pinject_preload.pid = getpid() + 1;
    pinject_preload_arm("/x");
    pinject_preload_thread(5);
    pinject_preload_inherit();
    assert_notes("");
    pinject_preload.pid = getppid(); /* a child of vfork */
    pinject_preload_arm("/x");
    assert_notes(ASKED("ARM 0") "timer 0\n");
}

static void test_thread(void **state)
{
    (void)state;
    begin(0);
    play.answer = -3;
    pinject_preload_thread(77);
    assert_notes("THREAD 0 pid me tid me ppid parent by 77\ntimer -3\n");
    segment.closed = 1;
    pinject_preload_thread(77);
    segment.closed = 0;
    pinject_preload.blocked = 1;
    pinject_preload_thread(77);
    assert_notes("");
}

/* Asked once a thread; a thread with the number of an earlier one asks anew. */
static void test_inherit(void **state)
{
    (void)state;
    begin(0);
    pinject_preload_thread(0);
    notes();
    play.answer = -ETIMEDOUT;
    errno = ERANGE;
    pinject_preload_inherit();
    assert_notes(ASKED("INHERIT 0"));
    play.answer = 0;
    pinject_preload_inherit();
    pinject_preload_inherit();
    assert_notes(ASKED("INHERIT 0"));
    pinject_preload_thread(0);
    notes();
    pinject_preload_inherit();
    assert_notes(ASKED("INHERIT 0"));
    pinject_preload_thread(0);
    notes();
    begin(PINJECT_SESSION_TIMER);
    pinject_preload_inherit();
    begin(0);
    segment.closed = 1;
    pinject_preload_inherit();
    begin(0);
    pinject_preload.state = PINJECT_LEFT;
    pinject_preload_inherit();
    assert_notes("");
    begin(0);
    errno = ERANGE;
    pinject_preload_inherit();
    assert_int_equal(errno, ERANGE);
    assert_notes(ASKED("INHERIT 0"));
    pinject_preload_thread(0);
    notes();
    play.no_slot = true;
    pinject_preload_inherit();
    play.no_slot = false;
    pinject_preload_inherit();
    assert_notes(ASKED("INHERIT 0"));
}

static void test_small_questions(void **state)
{
    (void)state;
    begin(0);
    assert_true(pinject_active());
    segment.closed = 1;
    assert_false(pinject_active());
    segment.closed = 0;
    pinject_preload.state = PINJECT_LEFT;
    assert_false(pinject_active());
    for (int exec_kind = PINJECT_EXEC_MISSING; exec_kind <= PINJECT_EXEC_SECURE_REFUSES; exec_kind++) {
        play.unreachable = false;
        assert_int_equal(pinject_preload_admits((enum pinject_exec_kind)exec_kind), exec_kind);
        play.unreachable = true;
        assert_int_equal(pinject_preload_admits((enum pinject_exec_kind)exec_kind),
                         exec_kind == PINJECT_EXEC_TAKES ? PINJECT_EXEC_REFUSES : (enum pinject_exec_kind)exec_kind);
    }
}

/* ---- Filters for all threads ---- */

static void *leaves(void *nothing)
{
    (void)nothing;
    pinject_preload_leave();
    return NULL;
}

static void test_settle(void **state)
{
    const uint64_t patience = 50 * 100000;
    pthread_t thread;
    (void)state;
    begin(PINJECT_SESSION_PTHREAD);
    pinject_preload_settle();
    pinject_preload_enter();
    uint64_t since = sys_clock_ns(CLOCK_MONOTONIC);
    pinject_preload_settle(); /* who does not leave is waited for, but not for ever */
    assert_true(sys_clock_ns(CLOCK_MONOTONIC) - since >= patience);
    since = sys_clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(pthread_create(&thread, NULL, leaves, NULL), 0);
    pinject_preload_settle();
    assert_true(__atomic_load_n(&pinject_preload.busy, __ATOMIC_ACQUIRE) == 0 ||
                sys_clock_ns(CLOCK_MONOTONIC) - since >= patience);
    pthread_join(thread, NULL);
    assert_int_equal(pinject_preload.busy, 0);
    /* Its own ways keep the count. */
    pinject_preload_inherit();
    pinject_preload_before_fork();
    assert_int_equal(pinject_preload.busy, 0);
    /* Nobody who was within is in a child of fork. */
    pinject_preload_enter();
    pinject_preload_forked();
    assert_int_equal(pinject_preload.busy, 0);
    pinject_preload_leave(); /* a handler forked: what it had interrupted goes on there */
    assert_int_equal(pinject_preload.busy, 0);
    notes();
}

/* ---- fork ---- */

static uint32_t *foreign; /* shared */

/* The child's lines; what it is afterwards is its exit status. */
static int forked(bool prepared)
{
    int status;
    if (prepared)
        pinject_preload_before_fork();
    requests.foreign = 0;
    pid_t pid = fork();
    if (pid == 0) {
        pinject_preload_forked();
        *foreign = requests.foreign;
        _exit((int)(pinject_preload.state + 10 * (pinject_preload.pid == getpid()) + 20 * pinject_preload.threads));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define FORKED "rooms\nturn\npool\ntimer forked\nuser?\n"
#define GONE   "timer leaves\nclose\n"

static void test_fork(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_FORK | PINJECT_SESSION_PTHREAD);
    assert_int_equal(forked(true), PINJECT_FOLLOWED + 30);
    assert_notes(FORKED "FORK 0 pid me tid me ppid parent by parent\ntimer 0\n");
    assert_int_equal(*foreign, 0);
    /* Threads of the first process alone are followed. */
    begin(PINJECT_SESSION_FORK);
    pinject_preload.threads = true;
    assert_int_equal(forked(true), PINJECT_FOLLOWED + 10);
    notes();
    /* Not followed: nothing of ours stays. */
    begin(PINJECT_SESSION_EXEC | PINJECT_SESSION_VFORK);
    assert_int_equal(forked(true), PINJECT_LEFT + 10);
    assert_notes(FORKED GONE "forget PINJECT_SESSION=/s\n");
    begin(PINJECT_SESSION_PTHREAD);
    assert_int_equal(forked(true), PINJECT_LEFT + 30);
    assert_notes(FORKED GONE);
    begin(PINJECT_SESSION_FORK);
    segment.closed = 1;
    assert_int_equal(forked(true), PINJECT_LEFT + 10);
    assert_notes(FORKED GONE);
}

/* The kernel gives events to what it makes. Its reports take no slot from a collector that is stalled. */
static void test_inherits(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_ALL | PINJECT_SESSION_INHERITS);
    pinject_preload.inherits = true;
    pinject_preload_inherit();
    assert_notes("");
    /* Its creator had events of its own then, and the set may not have the thread. */
    pinject_preload_thread(77);
    assert_notes("THREAD 0 pid me tid me ppid parent by 77\ntimer 0\n");
    assert_int_equal(forked(true), PINJECT_FOLLOWED + 10);
    assert_notes(FORKED);
    pinject_preload_reaped(998, 0x700, 5, 6, 7);
    assert_notes("REAPED 0x21 pid 998 tid me ppid parent by 0\n");
    assert_int_equal(requests.stalled, PINJECT_STALLED_NO);
    play.no_slot = true;
    pinject_preload_reaped(998, 0x700, 5, 6, 7);
    assert_int_equal(requests.stalled, PINJECT_STALLED_YES);
    requests.stalled = PINJECT_STALLED_NO;
    pinject_preload.inherits = false;
    pinject_preload_reaped(998, 0x700, 5, 6, 7);
    assert_int_equal(requests.stalled, PINJECT_STALLED_NO);
    assert_notes("");
}

static void test_fork_not_prepared(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_FORK);
    pinject_preload_before_fork();
    pinject_preload_forked(); /* as by fork(), then again by _Fork() */
    notes();
    assert_int_equal(forked(false), PINJECT_FOLLOWED);
    assert_notes("rooms\nturn\n");
    begin(PINJECT_SESSION_FORK);
    pinject_preload.state = PINJECT_LEFT;
    assert_int_equal(forked(true), PINJECT_LEFT);
    assert_notes("rooms\nturn\n");
    /* Blocked by a filter: no calls, no requests; counted where it would have been followed. */
    begin(PINJECT_SESSION_FORK);
    pinject_preload.blocked = 1;
    uint32_t before = requests.blocked;
    pinject_preload_forked();
    assert_notes("rooms\nturn\npool\n");
    assert_int_equal(requests.blocked, before + 1);
    pinject_preload.flags = PINJECT_SESSION_VFORK;
    pinject_preload_forked();
    assert_int_equal(requests.blocked, before + 1);
    /* Prepared in a process that was not blocked, and that was left since. */
    begin(PINJECT_SESSION_FORK);
    pinject_preload_before_fork();
    pinject_preload.state = PINJECT_LEFT;
    notes();
    assert_int_equal(forked(false), PINJECT_LEFT);
    assert_notes("rooms\nturn\n");
    pinject_preload.state = PINJECT_FOLLOWED;
    pinject_preload_forked();
    notes();
    pinject_preload.blocked = 1;
    pinject_preload_before_fork();
    pinject_preload.blocked = 0;
    assert_int_equal(forked(false), PINJECT_FOLLOWED);
    assert_notes("rooms\nturn\n");
}

/* What a process that nobody knows makes is as little known; it leaves. */
static void test_fork_of_an_unknown_process(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_FORK);
    pinject_preload.pid = getpid() + 1;
    assert_int_equal(forked(true), PINJECT_LEFT + 10);
    assert_notes(FORKED GONE);
    assert_int_equal(*foreign, 1);
}

/* Two threads whose places in memory meet in one slot: the creator's number is not known, and nobody's is given. */
static void *meet(void *data)
{
    (void)data;
    pinject_preload_before_fork();
    return NULL;
}

static int meeting_result;

static void *fork_after_meeting(void *data)
{
    pthread_t other;
    pinject_preload_before_fork();
    assert_int_equal(pthread_create(&other, data, meet, NULL), 0);
    pthread_join(other, NULL);
    meeting_result = forked(false);
    return NULL;
}

static void test_fork_meets_another(void **state)
{
    enum { STACK = 1 << 20, APART = 1 << 30 };
    pthread_attr_t attrs[2];
    pthread_t thread;
    (void)state;
    begin(PINJECT_SESSION_FORK);
    char *place = mmap(NULL, APART + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(place != MAP_FAILED);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mprotect(place + (size_t)i * APART, STACK, PROT_READ | PROT_WRITE), 0);
        pthread_attr_init(&attrs[i]);
        assert_int_equal(pthread_attr_setstack(&attrs[i], place + (size_t)i * APART, STACK), 0);
    }
    assert_int_equal(pthread_create(&thread, &attrs[0], fork_after_meeting, &attrs[1]), 0);
    pthread_join(thread, NULL);
    assert_int_equal(meeting_result, PINJECT_FOLLOWED + 10);
    assert_notes(FORKED "FORK 0 pid me tid me ppid parent by 0\ntimer 0\n");
    munmap(place, APART + STACK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notification),
        cmocka_unit_test(test_unknown_process),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_inherit),
        cmocka_unit_test(test_small_questions),
        cmocka_unit_test(test_settle),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_inherits),
        cmocka_unit_test(test_fork_not_prepared),
        cmocka_unit_test(test_fork_of_an_unknown_process),
        cmocka_unit_test(test_fork_meets_another),
    };
    preload_kit_begin();
    foreign = mmap(NULL, sizeof(*foreign), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
