/* SPDX-License-Identifier: MIT */
/* The segment while somebody writes whatever he likes into it: the workers go on, and serve who behaves. */
#include "collector/sources/deferred_munmap.h"
#include "collector/sources/inherited.h"
#include "common/clock.h"
#include "worker_fake.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { WRITERS = 2, STROKES = 60000, VICTIM = 250 };

static struct fake fake;

struct writer {
    pthread_t thread;
    uint64_t random;
};

static uint64_t next_random(struct writer *writer)
{
    writer->random ^= writer->random << 13;
    writer->random ^= writer->random >> 7;
    writer->random ^= writer->random << 17;
    return writer->random;
}

/* Small numbers and limits are more dangerous than any number. */
static uint32_t next_word(struct writer *writer)
{
    static const uint32_t nasty[] = {
        0, 1, 2, 3, 4, 5, 6, 7, 8, 255, 3967, 3968, 3969, 4096, PINJECT_TASKS, INT32_MAX, UINT32_MAX};
    uint64_t random = next_random(writer);
    if (random & 0x300)
        return nasty[(random >> 16) % (sizeof(nasty) / sizeof(nasty[0]))];
    return random & 0x400 ? (uint32_t)getpid() : (uint32_t)(random >> 32);
}

static void strike(struct writer *writer)
{
    struct pinject_requests *requests = fake.session.own->requests;
    unsigned number = (unsigned)(next_random(writer) % VICTIM);
    struct pinject_slot *slot = &requests->slots[number];
    uint32_t *words = (uint32_t *)slot;
    for (unsigned i = 1; i < 32; i++)
        __atomic_store_n(&words[i], next_word(writer), __ATOMIC_RELAXED);
    __atomic_store_n(&words[32 + next_random(writer) % 990], next_word(writer), __ATOMIC_RELAXED);
    uint64_t random = next_random(writer);
    uint32_t state = random & 0xf000 ? PINJECT_STATE(random >> 40, PINJECT_POSTED) : (uint32_t)(random >> 32);
    __atomic_store_n(&words[0], state, __ATOMIC_RELEASE);
    struct pinject_doorbell *doorbell = &requests->doorbells[random % fake_doorbells];
    __atomic_store_n(&doorbell->pending[(random >> 8) % 4], random * 31, __ATOMIC_RELAXED);
    __atomic_store_n(&doorbell->sleeping, (uint32_t)random & 1, __ATOMIC_RELAXED);
    fake_ring(requests, (unsigned)random, number);
}

static void *strike_often(void *argument)
{
    struct writer *writer = argument;
    for (int i = 0; i < STROKES; i++)
        strike(writer);
    return NULL;
}

/* a writer's request for an inherited set over this process made sense: then that samples the thread */
static bool is_inherited;

static void *be_honest(void *argument)
{
    (void)argument;
    int result = fake_ask(fake.session.own->requests, VICTIM, PINJECT_THREAD);
    is_inherited = inherited_know(fake.session.inherited_sets, fake_tid());
    return (void *)(intptr_t)result;
}

static bool drop_all(pid_t honest)
{
    bool found = false;
    for (struct notification *at = notifications_take(&fake.session.notifications), *next; at; at = next) {
        next = at->next;
        assert_in_range(at->kind, PINJECT_PROCESS, PINJECT_KINDS - 1);
        found |= at->kind == PINJECT_THREAD && at->events && at->tid != honest;
        fake_drop(at);
    }
    return found;
}

static void ask_once(void)
{
    pthread_t honest;
    void *result;
    assert_int_equal(pthread_create(&honest, NULL, be_honest, NULL), 0);
    pthread_join(honest, &result);
    assert_int_equal((intptr_t)result, 0);
}

static void workers_survive(void **state)
{
    (void)state;
    struct writer writers[WRITERS];
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i].random = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
        assert_int_equal(pthread_create(&writers[i].thread, NULL, strike_often, &writers[i]), 0);
    }
    bool served = false;
    for (unsigned i = 0; i < 20; i++) {
        ask_once();
        served |= drop_all(getpid()) | is_inherited;
    }
    for (unsigned i = 0; i < WRITERS; i++)
        pthread_join(writers[i].thread, NULL);
    /* The writers are of the same user: all of its requests may have been paused meanwhile, which ends with them. */
    for (uint64_t end = clock_ns(CLOCK_MONOTONIC) + 30 * UINT64_C(1000000000);
         !served && clock_ns(CLOCK_MONOTONIC) < end;) {
        ask_once();
        served = drop_all(getpid()) | is_inherited;
    }
    service_stop_workers(&fake.session);
    served |= drop_all(getpid());
    if (!served)
        fail_msg("no thread got events: refused %u, denied %u, malformed %u, held %u", (unsigned)fake.session.refused,
                 (unsigned)fake.session.denied, (unsigned)fake.session.malformed,
                 (unsigned)channels_held(&fake.session));
    assert_true(fake.session.malformed > 0);
    deferred_munmap_run(&fake.session);
    inherited_free(fake.session.inherited_sets); /* a request for one may have made sense */
    fake.session.inherited_sets = NULL;
    assert_true(fake.session.ring_bytes == 0);
    fake_close(&fake);
}

/*
 * What a preload object can open of it: no mapping of that can be made writable, nor reach another part of a writable
 * one.
 */
static void the_segment_is_read_only_for_preload_objects(void **state)
{
    (void)state;
    fake_open(&fake);
    int fd = open(fake.session.path, O_RDONLY);
    assert_true(fd >= 0);
    void *map = mmap(NULL, sizeof(struct pinject_segment), PROT_READ, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    assert_int_equal(mprotect(map, 4096, PROT_READ | PROT_WRITE), -1);
    assert_int_equal(errno, EACCES);
    assert_true(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    munmap(map, sizeof(struct pinject_segment));
    close(fd);
    struct stat segment, requests;
    assert_int_equal(stat(fake.session.path, &segment), 0);
    assert_int_equal(stat(fake.session.own->path, &requests), 0);
    assert_true(segment.st_ino != requests.st_ino);
    fake_close(&fake);
}

static void a_segment_cut_short_ends_the_requests_alone(void **state)
{
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(fake_ask(fake.session.own->requests, 0, PINJECT_FORK), 0);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(truncate(fake.session.path, 0), 0);
    assert_false(fake_covered(&fake.session, getpid()));
    assert_int_equal(truncate(fake.session.own->path, 0), 0);
    assert_int_equal(fake.session.own->requests->slots[0].owner, 0);
    service_stop_workers(&fake.session);
    fake_drop(notification);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers_survive),
        cmocka_unit_test(the_segment_is_read_only_for_preload_objects),
        cmocka_unit_test(a_segment_cut_short_ends_the_requests_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
