/* SPDX-License-Identifier: MIT */
/* Who makes threads waits for those who have not begun, and no longer than it may. */
#include "check.h"
#include "preload/thread_records.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>

enum { MANY = 32, PATIENCE_NS = 4000000, TRIES = 100, VAIN = 12, POOL = 256 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t wait_ns(uint32_t stalled)
{
    uint64_t start = now_ns();
    pinject_thread_throttle(&stalled);
    return now_ns() - start;
}

/* Of many tries: the machine may do something else in one of them. */
static uint64_t least_wait_ns(uint32_t stalled)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t waited = wait_ns(stalled);
        least = waited < least ? waited : least;
    }
    return least;
}

static void take(struct pinject_thread_record **records, int count)
{
    for (int i = 0; i < count; i++) {
        records[i] = pinject_thread_record_take();
        assert_non_null(records[i]);
    }
}

static void give(struct pinject_thread_record **records, int count)
{
    for (int i = 0; i < count; i++)
        pinject_thread_record_give(records[i]);
}

static void test_few(void **state)
{
    (void)state;
    struct pinject_thread_record *records[MANY];
    take(records, MANY - 1);
    assert_true(least_wait_ns(0) < PATIENCE_NS);
    give(records, MANY - 1);
}

static void test_many(void **state)
{
    (void)state;
    struct pinject_thread_record *records[MANY];
    take(records, MANY);
    assert_true(least_wait_ns(1) < PATIENCE_NS);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < VAIN; j++)
            assert_true(wait_ns(0) >= PATIENCE_NS);
        /* None of them has begun meanwhile: more waits would not help. */
        assert_true(least_wait_ns(0) < PATIENCE_NS);
        give(records, 1);
        take(records, 1);
    }
    give(records, MANY);
}

/* More than the pool has: they come from elsewhere, and count as the others do. */
static void test_overflow(void **state)
{
    (void)state;
    struct pinject_thread_record *records[1000];
    take(records, 1000);
    assert_true(wait_ns(0) >= PATIENCE_NS);
    unsigned elsewhere = 0, gone = 0;
    unsigned char there;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < 1000; i++) /* mapped by itself */
        elsewhere += (uintptr_t)records[i] % page == 0;
    assert_true(elsewhere >= 1000 - POOL);
    give(records, 1000);
    for (int i = 0; i < 1000; i++)
        if ((uintptr_t)records[i] % page == 0)
            gone += mincore(records[i], page, &there) < 0;
    assert_true(gone >= 1000 - POOL); /* their memory does not stay */
    assert_true(least_wait_ns(0) < PATIENCE_NS);
}

static void test_child_of_fork(void **state)
{
    (void)state;
    struct pinject_thread_record *records[MANY];
    take(records, MANY);
    pinject_thread_records_reset();
    assert_true(least_wait_ns(0) < PATIENCE_NS);
}

/* The records of the pool itself: they lie side by side, those beyond have pages of their own. */
static void take_pool(struct pinject_thread_record *taken[POOL + 1], bool seen[POOL])
{
    struct pinject_thread_record *first;
    take(taken, POOL + 1);
    first = taken[0];
    for (int i = 1; i < POOL; i++)
        first = taken[i] < first ? taken[i] : first;
    memset(seen, 0, POOL);
    for (int i = 0; i < POOL; i++) {
        assert_true(taken[i] - first < POOL);
        assert_false(seen[taken[i] - first]);
        seen[taken[i] - first] = true;
    }
    assert_true(taken[POOL] < first || taken[POOL] >= first + POOL);
    for (int i = 0; i <= POOL; i++)
        taken[i]->argument = taken[i]; /* they can be written to */
}

/* In the child of fork all of them are free again, whether they were held or not. */
static void test_child_of_fork_has_the_whole_pool(void **state)
{
    (void)state;
    struct pinject_thread_record *before[POOL + 1], *after[POOL + 1];
    bool seen[POOL];
    pinject_thread_records_reset();
    take_pool(before, seen);
    give(before, 3);
    pinject_thread_record_give(before[POOL]);
    pinject_thread_records_reset();
    take_pool(after, seen);
    for (int i = 0; i < POOL; i++)
        assert_true(after[i] - before[0] < POOL && before[0] - after[i] < POOL);
    give(after, POOL + 1);
}

struct pair {
    struct pinject_thread_record *records[MANY];
    pthread_barrier_t barrier;
    uint32_t calls; /* the creator is about to wait */
};

static bool first_thread_sleeps(void)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    bool read = fgets(text, sizeof(text), file);
    fclose(file);
    return read && strstr(text, ") S ");
}

static void *give_them(void *argument)
{
    struct pair *pair = argument;
    for (int i = 0; i < TRIES; i++) {
        pthread_barrier_wait(&pair->barrier);
        while (__atomic_load_n(&pair->calls, __ATOMIC_ACQUIRE) == (uint32_t)i || !first_thread_sleeps())
            sched_yield();
        give(pair->records, MANY);
        pthread_barrier_wait(&pair->barrier);
    }
    return NULL;
}

static void test_wake(void **state)
{
    (void)state;
    struct pair pair = {.calls = 0};
    pthread_t thread;
    uint64_t least = UINT64_MAX;
    pthread_barrier_init(&pair.barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, give_them, &pair), 0);
    for (int i = 0; i < TRIES; i++) {
        take(pair.records, MANY);
        pthread_barrier_wait(&pair.barrier);
        __atomic_store_n(&pair.calls, (uint32_t)i + 1, __ATOMIC_RELEASE);
        uint64_t waited = wait_ns(0);
        least = waited < least ? waited : least;
        pthread_barrier_wait(&pair.barrier);
    }
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&pair.barrier);
    assert_true(least < PATIENCE_NS);
}

/* A handler that forks between take and the thread's begin: the child still has what the thread is to do. */
static void test_fork_in_the_middle(void **state)
{
    int argument;
    (void)state;
    struct pinject_thread_record *record = pinject_thread_record_take();
    assert_non_null(record);
    record->creator = 7;
    record->argument = &argument;
    pinject_thread_records_reset();
    struct pinject_thread_record *other = pinject_thread_record_take();
    assert_true(other && other != record);
    assert_int_equal(record->creator, 7);
    assert_ptr_equal(record->argument, &argument);
    pinject_thread_record_give(record);
    pinject_thread_record_give(other);
    /* One was counted, two came back. */
    assert_true(least_wait_ns(0) < PATIENCE_NS);
    struct pinject_thread_record *records[MANY];
    take(records, MANY);
    assert_true(wait_ns(0) >= PATIENCE_NS);
    give(records, MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_child_of_fork),
        cmocka_unit_test(test_wake),
        cmocka_unit_test(test_fork_in_the_middle),
        cmocka_unit_test(test_child_of_fork_has_the_whole_pool),
    };
    return cmocka_run_group_tests_name("thread_pool", tests, NULL, NULL);
}
