/* SPDX-License-Identifier: MIT */
/* The threads behind the workers: where they run, that they run, and that they hand over to fresh ones. */
#include "worker_fake.h"

#include <dirent.h>
#include <sched.h>
#include <sys/resource.h>

#include "collector/service/channels.h"
#include "collector/service/service.h"

static struct fake fake;

/* Each thread that is not detached is met at its end: else its stack stays. */
static unsigned started, joined;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    int detached = PTHREAD_CREATE_JOINABLE, error = __real_pthread_create(thread, attr, run, argument);
    if (attr)
        pthread_attr_getdetachstate(attr, &detached);
    __atomic_fetch_add(&started, error == 0 && detached == PTHREAD_CREATE_JOINABLE, __ATOMIC_SEQ_CST);
    return error;
}

int __real_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret);
int __wrap_pthread_join(pthread_t thread, void **ret)
{
    __atomic_fetch_add(&joined, 1, __ATOMIC_SEQ_CST);
    return __real_pthread_join(thread, ret);
}

/* Nobody ends, and how long that was waited for. */
static bool all_hang;
static int64_t waited_ns;

static int wait_until(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t ns = (end->tv_sec - now.tv_sec) * 1000000000 + end->tv_nsec - now.tv_nsec;
    waited_ns += ns > 0 ? ns : 0;
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, end, NULL);
    return ETIMEDOUT;
}

int __real_pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *end);
int __wrap_pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *end);
int __wrap_pthread_timedjoin_np(pthread_t thread, void **ret, const struct timespec *end)
{
    if (all_hang)
        return wait_until(end);
    int error = __real_pthread_timedjoin_np(thread, ret, end);
    __atomic_fetch_add(&joined, error == 0, __ATOMIC_SEQ_CST);
    return error;
}

static void open_all(void)
{
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
}

static void close_all(void)
{
    service_stop_workers(&fake.session);
    assert_null(notifications_take(&fake.session.notifications));
    fake_close(&fake);
    assert_int_equal(joined, started);
}

/* It runs where its doorbell is rung, and nowhere else. */
static void expect_place(pid_t tid, unsigned doorbell)
{
    cpu_set_t allowed, mine;
    /* More CPUs than such a set holds; or the worker has ended since. */
    if (sched_getaffinity(0, sizeof(allowed), &allowed) < 0 || sched_getaffinity(tid, sizeof(mine), &mine) < 0)
        return;
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
        assert_int_equal(!!CPU_ISSET(cpu, &mine),
                         CPU_ISSET(cpu, &allowed) && fake.session.segment->doorbell_of_cpu[cpu] == doorbell);
}

/* Where the lowest real-time priority is refused, as nearly everywhere but to root. */
static bool only_niceness;

int __real_sched_setscheduler(pid_t pid, int policy, const struct sched_param *parameters);
int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *parameters);
int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *parameters)
{
    if (!only_niceness)
        return __real_sched_setscheduler(pid, policy, parameters);
    errno = EPERM;
    return -1;
}

static int lowest, highest; /* niceness of the workers that were counted last */

static void see_niceness(pid_t tid)
{
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, (id_t)tid);
    if (errno) /* it has ended since */
        return;
    lowest = nice < lowest ? nice : lowest;
    highest = nice > highest ? nice : highest;
}

/* By their names, which they give themselves when they run. */
static unsigned count_workers_that_ran(void)
{
    unsigned count = 0;
    const struct dirent *entry;
    lowest = INT32_MAX;
    highest = INT32_MIN;
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    while ((entry = readdir(directory))) {
        char path[300], name[32] = "";
        snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file && fgets(name, sizeof(name), file) && strncmp(name, "pinject-work/", 13) == 0) {
            const unsigned doorbell = (unsigned)strtoul(name + 13, NULL, 10);
            assert_in_range(doorbell, 0, fake.session.doorbells - 1);
            expect_place((pid_t)strtol(entry->d_name, NULL, 10), doorbell);
            see_niceness((pid_t)strtol(entry->d_name, NULL, 10));
            count++;
        }
        if (file)
            fclose(file);
    }
    closedir(directory);
    return count;
}

/* The kernel lists a thread that was joined for a moment more: on a busy machine long enough to be seen. */
static void expect_workers(unsigned wanted)
{
    unsigned count = count_workers_that_ran();
    for (int i = 0; i < FAKE_PATIENCE_S * 100 && count > wanted; i++) {
        poll(NULL, 0, 10);
        count = count_workers_that_ran();
    }
    assert_int_equal(count, wanted);
}

/* Nobody is told of the session before: who asks then waits for an answer, not for a thread's first time on its CPU. */
static void workers_are_awake(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        open_all();
        expect_workers(fake.session.doorbells);
        close_all();
    }
}

/* In a container root may not have that right. */
static bool may_be_nicer(void)
{
    int nice = getpriority(PRIO_PROCESS, 0), status;
    pid_t child = fork();
    if (child == 0)
        _exit(setpriority(PRIO_PROCESS, 0, nice - 15) < 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0;
}

/*
 * A worker that makes another channel is on its CPU, and goes before others: the new workers are on theirs, and as far
 * before others as it is, no more.
 */
static void workers_of_a_worker(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    for (int i = 0; i < 2; i++) {
        only_niceness = i;
        open_all();
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, 3, PINJECT_BECOME);
        slot->user = 12345;
        fake_post(fake.session.own->requests, 3);
        assert_int_equal(fake_answer(slot), 0);
        assert_int_equal(fake.session.channels->count, 2);
        worker_await_all(fake.session.channels->list[1]);
        expect_workers(2 * fake.session.doorbells);
        assert_int_equal(lowest, highest);
        if (i == 1 && may_be_nicer())
            assert_int_equal(highest, getpriority(PRIO_PROCESS, (id_t)getpid()) - 15);
        close_all();
    }
    only_niceness = false;
}

/* Many threads, each on its own slots, all rung on any doorbell: every one is answered. */
enum { ASKERS = 8, ROUNDS = 40 };

static void *ask_often(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, number + 8 * (i % 4), PINJECT_THREAD);
        fake_set_phase(slot, PINJECT_POSTED);
        fake_ring(fake.session.own->requests, number + i, number + 8 * (i % 4));
        assert_int_equal(fake_answer(slot), 0);
    }
    return NULL;
}

/* With RENEWALS workers hand over to fresh threads meanwhile. */
static void answer_all(unsigned renewals)
{
    pthread_t threads[ASKERS];
    unsigned got = 0;
    open_all();
    for (unsigned i = 0; i < ASKERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, (void *)(uintptr_t)i), 0);
    for (unsigned i = 0; i < renewals; i++) {
        service_renew_workers(&fake.session);
        sched_yield();
    }
    for (unsigned i = 0; i < ASKERS; i++)
        pthread_join(threads[i], NULL);
    if (renewals) /* and is stopped while it is at it */
        service_renew_workers(&fake.session);
    service_stop_workers(&fake.session);
    for (unsigned i = 0; i < fake.session.doorbells; i++) /* nobody sleeps whom a ring would have to wake */
        assert_int_equal(fake.session.own->requests->doorbells[i].sleeping, 0);
    expect_workers(0);
    for (struct notification *at = notifications_take(&fake.session.notifications), *next; at; at = next, got++) {
        next = at->next;
        fake_drop(at);
    }
    /* A thread that asked again has its events already. */
    assert_int_equal(got, ASKERS);
    fake_close(&fake);
    assert_int_equal(joined, started);
}

static void all_are_answered(void **state)
{
    (void)state;
    answer_all(0);
}

static void workers_hand_over(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        answer_all(300);
}

/* However many channels there are, and workers that hang: they are waited for once, and what they use stays. */
static void workers_that_hang(void **state)
{
    (void)state;
    int error;
    open_all();
    fake.session.stop_s = 1;
    if (geteuid() == 0)
        for (uint32_t user = 1; user < 5; user++)
            assert_non_null(channels_get(&fake.session, user, &error));
    waited_ns = 0;
    all_hang = true;
    service_stop_workers(&fake.session);
    all_hang = false;
    assert_in_range(waited_ns, 1, INT64_C(1100000000));
    assert_true(fake.session.hangs);
    for (unsigned i = 0; i < fake.session.channels->count; i++) {
        struct channel *channel = fake.session.channels->list[i];
        assert_non_null(channel->left);
        assert_null(channel->workers);
        channel->workers = channel->left; /* here they can be met in the end */
        channel->left = NULL;
    }
    fake.session.hangs = false;
    fake.session.stop_s = 60;
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_are_awake), cmocka_unit_test(workers_of_a_worker), cmocka_unit_test(all_are_answered),
        cmocka_unit_test(workers_hand_over), cmocka_unit_test(workers_that_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
