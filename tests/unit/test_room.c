/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "check.h"

#include "preload/room.h"
#include "preload/state.h"
#include "preload/sys.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct pinject_preload pinject_preload;

static int begin(void **state)
{
    (void)state;
    pinject_preload.pid = getpid();
    pinject_preload.blocked = 0;
    pinject_rooms_reset();
    return 0;
}

/* By a frame that goes on living: nobody writes to its mark. */
static struct pinject_room *claim(void)
{
    static uint32_t marks[4096];
    static unsigned used;
    assert_true(used < sizeof(marks) / sizeof(marks[0]));
    return pinject_room_claim(&marks[used++]);
}

static void test_one_after_the_other(void **state)
{
    (void)state;
    struct pinject_room *first = claim(), *inner = claim();
    assert_non_null(first);
    assert_non_null(inner);
    assert_ptr_not_equal(first, inner); /* a handler's, meanwhile */
    pinject_room_release(inner);
    pinject_room_release(first);
    pinject_room_release(NULL);
    assert_ptr_equal(claim(), first);
    assert_ptr_equal(claim(), inner);
}

static void test_vectors(void **state)
{
    (void)state;
    struct pinject_room *room = claim();
    memset(pinject_room_vector(room, 100), 1, 100);
    memset(pinject_room_vector(room, sizeof(room->vector)), 2, sizeof(room->vector));
    char *more = pinject_room_vector(room, 100000);
    memset(more, 3, 100000);
    memset(pinject_room_vector(room, 200000), 4, 200000);
    more = pinject_room_vector(room, 200000);
    pinject_room_release(room);
    assert_ptr_equal(claim(), room);
    assert_ptr_equal(pinject_room_vector(room, 150000), more); /* it stayed */
    more = pinject_room_vector(room, 262144);                  /* the largest that stays */
    pinject_room_release(room);
    assert_ptr_equal(claim(), room);
    assert_ptr_equal(room->more, more);
    memset(pinject_room_vector(room, 3 << 20), 5, 3 << 20);
    pinject_room_release(room);
    assert_ptr_equal(claim(), room);
    assert_null(room->more); /* too large to stay */
    assert_null(pinject_room_vector(room, SIZE_MAX / 2));
    assert_ptr_equal(pinject_room_vector(room, 10), room->vector);
}

static struct pinject_room *claimed;
static void *word_before, *word_after; /* what the kernel clears at the child's end: while it has a room, and then */

static int claim_and_exec(void *program)
{
    claimed = claim();
    prctl(PR_GET_TID_ADDRESS, &word_before);
    char *argv[] = {program, NULL};
    if (program)
        execv(program, argv);
    if (program)
        pinject_room_release(claimed);
    prctl(PR_GET_TID_ADDRESS, &word_after);
    _exit(0);
}

static void borrow(char *program)
{
    static char stack[65536] __attribute__((aligned(16)));
    claimed = NULL;
    pid_t pid = clone(claim_and_exec, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, program);
    assert_true(pid > 0);
    /* It need not have ended: it has other memory now. */
    struct pinject_room *room = claimed;
    assert_non_null(room);
    assert_ptr_equal(claim(), room);
    pinject_room_release(room);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* A child on our memory gives back nothing, whether it executes, ends or is ended; or does it itself. */
static void test_children_of_vfork(void **state)
{
    (void)state;
    void *word;
    if (prctl(PR_GET_TID_ADDRESS, &word) != 0)
        skip();
    for (int i = 0; i < 200; i++) { /* more than there are */
        borrow((char *)(uintptr_t) "/bin/true");
        borrow(NULL);
        assert_ptr_equal(word_after, word_before); /* it ends with its room */
        borrow((char *)(uintptr_t) "/nonexistent");
        assert_ptr_equal(word_before, claimed->entry);
        assert_null(word_after); /* the room may be another's by now */
    }
    void *after;
    assert_int_equal(prctl(PR_GET_TID_ADDRESS, &after), 0);
    assert_ptr_equal(after, word);
}

static void *claim_in_thread(void *nothing)
{
    (void)nothing;
    return claim();
}

/* Who ended with one, without a word. */
static void test_ended_threads(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        void *room;
        assert_int_equal(pthread_create(&thread, NULL, claim_in_thread, NULL), 0);
        pthread_join(thread, &room);
        assert_non_null(room);
    }
}

/* ---- Frames that a handler leaves ---- */

static sigjmp_buf before;
static struct pinject_room *abandoned;

static void leave(int number)
{
    (void)number;
    siglongjmp(before, 1);
}

/* On the stack itself, whatever sanitizers make of variables. */
__attribute__((noinline, no_sanitize("address"))) static void claim_and_be_left(void)
{
    uint32_t mark;
    abandoned = pinject_room_claim(&mark);
    raise(SIGUSR1);
    pinject_room_release(abandoned);
}

static void claim_and_leave(void)
{
    struct sigaction action = {.sa_handler = leave}, old;
    sigaction(SIGUSR1, &action, &old);
    if (sigsetjmp(before, 1) == 0)
        claim_and_be_left();
    sigaction(SIGUSR1, &old, NULL);
}

static void test_left_by_handlers(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) { /* more than there are */
        claim_and_leave();
        assert_non_null(abandoned);
    }
}

/* Something else stands where the mark of a frame was. */
static void abandon(void)
{
    static uint32_t frame;
    abandoned = pinject_room_claim(&frame);
    frame = 0;
}

static unsigned claim_all(void)
{
    unsigned count = 0;
    while (claim())
        assert_true(++count < 1000);
    return count;
}

static struct pinject_room *of_handler;

static void claim_in_handler(int number)
{
    (void)number;
    of_handler = claim();
}

static void claim_and_be_interrupted(void)
{
    uint32_t mark;
    struct sigaction action = {.sa_handler = claim_in_handler}, old;
    of_handler = pinject_room_claim(&mark);
    assert_non_null(of_handler);
    claim_all();
    sigaction(SIGUSR1, &action, &old);
    raise(SIGUSR1);
    sigaction(SIGUSR1, &old, NULL);
}

/* A handler takes nothing from the frame that it interrupted. */
static void test_frames_that_live(void **state)
{
    (void)state;
    claim_and_be_interrupted();
    assert_null(of_handler);
    pinject_rooms_reset();
    unsigned all = claim_all();
    pinject_rooms_reset();
    abandon();
    assert_int_equal(claim_all(), all); /* the abandoned one as well, and once */
    pinject_room_release(abandoned);
    assert_ptr_equal(claim(), abandoned);
}

static int be_left_and_go_on(void *nothing)
{
    (void)nothing;
    abandon();
    claimed = claim();
    prctl(PR_GET_TID_ADDRESS, &word_before);
    pinject_room_release(claimed);
    prctl(PR_GET_TID_ADDRESS, &word_after);
    _exit(0);
}

/* In a child of vfork the kernel clears the owner of what was taken over, too, and of nothing that is given back. */
static void test_left_in_a_child_of_vfork(void **state)
{
    static char stack[65536] __attribute__((aligned(16)));
    (void)state;
    void *word;
    if (prctl(PR_GET_TID_ADDRESS, &word) != 0)
        skip();
    struct pinject_room *last = claim();
    claim_all();
    pinject_room_release(last);
    pid_t pid = clone(be_left_and_go_on, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    assert_true(pid > 0);
    assert_ptr_equal(claimed, last);
    assert_ptr_equal(word_before, claimed->entry);
    assert_null(word_after);
    assert_ptr_equal(claim(), last);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_all_taken(void **state)
{
    (void)state;
    assert_true(claim_all() >= 16);
    /* One may be given back: it is waited for, but not for long. */
    uint64_t began = sys_clock_ns(CLOCK_MONOTONIC);
    assert_null(claim());
    assert_true(sys_clock_ns(CLOCK_MONOTONIC) - began >= 7 * 500000);
    pinject_rooms_reset();
    assert_non_null(claim());
}

/* No system call is made. What stands under the thread's own name was its child's. */
static void test_blocked(void **state)
{
    (void)state;
    pinject_preload.blocked = 1;
    struct pinject_room *room = claim();
    assert_non_null(room);
    assert_ptr_equal(claim(), room);
    assert_null(pinject_room_vector(room, 1 << 30));
    pinject_room_release(room);
}

static void look_around(void *data)
{
    char **here = data, local;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGUSR1), 1);
    *here = &local;
    errno = E2BIG;
}

static void test_its_stack(void **state)
{
    (void)state;
    struct pinject_room *room = claim();
    char *there = NULL;
    sigset_t mask;
    errno = 0;
    pinject_room_call(room, look_around, &there);
    assert_int_equal(errno, E2BIG);
#if defined(__x86_64__) || defined(__aarch64__)
    assert_true(there > room->stack && there < room->stack + sizeof(room->stack));
#endif
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGUSR1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_one_after_the_other, begin),
        cmocka_unit_test_setup(test_vectors, begin),
        cmocka_unit_test_setup(test_children_of_vfork, begin),
        cmocka_unit_test_setup(test_ended_threads, begin),
        cmocka_unit_test_setup(test_all_taken, begin),
        cmocka_unit_test_setup(test_blocked, begin),
        cmocka_unit_test_setup(test_left_by_handlers, begin),
        cmocka_unit_test_setup(test_frames_that_live, begin),
        cmocka_unit_test_setup(test_left_in_a_child_of_vfork, begin),
        cmocka_unit_test_setup(test_its_stack, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
