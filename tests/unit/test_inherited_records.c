/* SPDX-License-Identifier: MIT */
/* What an inherited set keeps of records that the test makes up, in the place of those of a ring. */
#include "worker_fake.h"

#include <pthread.h>
#include <sched.h>

#include "collector/records/records.h"
#include "collector/sources/attach.h"
#include "collector/sources/covered.h"
#include "collector/sources/inherited.h"
#include "collector/sources/inherited_private.h"
#include "collector/sources/inherited_ring.h"
#include "common/clock.h"

static struct fake fake;

enum { PLAYED_SIZE = 128 };
static _Alignas(8) unsigned char played[1000][PLAYED_SIZE];
static size_t played_count, played_at;

/* ---- Who waits while another one reads ---- */

static unsigned coming, awaited, begins; /* atomic */

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
    __atomic_fetch_add(&coming, 1, __ATOMIC_SEQ_CST);
    return __real_pthread_mutex_lock(lock);
}

/* ---- In the place of a ring ---- */

bool __real_inherited_ring_begin(struct inherited_ring *ring);
bool __wrap_inherited_ring_begin(struct inherited_ring *ring);
bool __wrap_inherited_ring_begin(struct inherited_ring *ring)
{
    __atomic_fetch_add(&begins, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&coming, __ATOMIC_SEQ_CST) < awaited)
        sched_yield();
    return played_at < played_count || __real_inherited_ring_begin(ring);
}

const struct perf_event_header *__real_inherited_ring_next(struct inherited_ring *ring, void *scratch);
const struct perf_event_header *__wrap_inherited_ring_next(struct inherited_ring *ring, void *scratch);
const struct perf_event_header *__wrap_inherited_ring_next(struct inherited_ring *ring, void *scratch)
{
    if (!played_count)
        return __real_inherited_ring_next(ring, scratch);
    return played_at < played_count ? (const void *)played[played_at++] : NULL;
}

void __real_inherited_ring_end(struct inherited_ring *ring);
void __wrap_inherited_ring_end(struct inherited_ring *ring);
void __wrap_inherited_ring_end(struct inherited_ring *ring)
{
    if (!played_count)
        __real_inherited_ring_end(ring);
}

/* What the kernel has written meanwhile is left where it is. */
bool __real_inherited_ring_has_stopped(struct inherited_ring *ring, uint64_t now_ns, bool ended, void *scratch);
bool __wrap_inherited_ring_has_stopped(struct inherited_ring *ring, uint64_t now_ns, bool ended, void *scratch);
bool __wrap_inherited_ring_has_stopped(struct inherited_ring *ring, uint64_t now_ns, bool ended, void *scratch)
{
    return !played_count && __real_inherited_ring_has_stopped(ring, now_ns, ended, scratch);
}

/* A record of TYPE of the task TID of PID, about that task (FORK: about TASK). */
static void play_at(uint32_t type, pid_t pid, pid_t tid, pid_t task, uint64_t time_ns)
{
    const struct records_stamp stamp = {.pid = pid, .tid = tid, .time_ns = time_ns};
    struct records_layout layout;
    struct buffer buffer = BUFFER_INIT;
    records_layout_init(&layout, &fake.config);
    records_make_comm(&layout, &stamp, "as long as that", &buffer); /* a FORK or EXIT is as large */
    assert_in_range(buffer.size, 1, PLAYED_SIZE);
    unsigned char *record = played[played_count++];
    memcpy(record, buffer.data, buffer.size);
    buffer_release(&buffer);
    memcpy(record, &type, sizeof(type));
    if (type == PERF_RECORD_COMM)
        return;
    const uint32_t tasks[] = {(uint32_t)task, (uint32_t)pid, (uint32_t)task, (uint32_t)tid};
    const uint64_t lost[] = {0, 7};
    memcpy(record + 8, type == PERF_RECORD_LOST ? (const void *)lost : tasks, sizeof(tasks));
}

/* The FORK that was played last told so. */
static void began_at(uint64_t time_ns)
{
    memcpy(played[played_count - 1] + 24, &time_ns, sizeof(time_ns));
}

static void play_record(uint32_t type, pid_t pid, pid_t tid, pid_t task)
{
    play_at(type, pid, tid, task, 1000 + played_count);
}

static void *stay(void *argument)
{
    const int *pipes = argument;
    char byte;
    const pid_t tid = fake_tid();
    MUST(write(pipes[3], &tid, sizeof(tid)) == sizeof(tid));
    MUST(read(pipes[0], &byte, 1) == 1);
    return NULL;
}

/* Which records are the root's: those of its thread, and of its process' first one, until another has that number. */
static void the_root_has_its_numbers(void **state)
{
    (void)state;
    enum { OTHER = 77, THIRD = 78 };
    static const bool wanted[] = {true, true, false, false, true, true, false, false, true, false, false};
    const pid_t pid = getpid();
    pthread_t thread;
    pid_t tid;
    int pipes[4];
    uint64_t lost = 0;
    size_t count = 0;
    fake_open(&fake);
    struct inherited_sets *sets = fake.session.inherited_sets;
    assert_true(pipe(pipes) == 0 && pipe(pipes + 2) == 0);
    assert_int_equal(pthread_create(&thread, NULL, stay, pipes), 0);
    assert_int_equal(read(pipes[2], &tid, sizeof(tid)), sizeof(tid));
    int status = inherited_open(sets, pid, tid, INHERIT_RUNS);
    play_record(PERF_RECORD_COMM, pid, tid, 0);
    play_record(PERF_RECORD_COMM, pid, pid, 0);
    play_record(PERF_RECORD_COMM, OTHER, pid, 0);
    play_record(PERF_RECORD_FORK, OTHER, OTHER, THIRD);
    play_record(PERF_RECORD_COMM, pid, pid, 0);
    play_record(PERF_RECORD_COMM, pid, tid, 0);
    play_record(PERF_RECORD_LOST, pid, pid, 0);
    play_record(PERF_RECORD_FORK, OTHER, OTHER, tid);
    play_record(PERF_RECORD_COMM, pid, tid, 0);
    play_record(PERF_RECORD_COMM, pid, pid, 0);
    play_record(PERF_RECORD_FORK, OTHER, OTHER, pid);
    play_record(PERF_RECORD_COMM, pid, pid, 0);
    const bool knows = inherited_know(sets, THIRD);
    struct inherited_record *kept = inherited_take(sets, UINT64_MAX, &lost);
    played_count = played_at = 0;
    assert_int_equal(write(pipes[1], "x", 1), 1);
    pthread_join(thread, NULL);
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(status, 0);
    assert_true(knows);
    assert_int_equal(lost, 7);
    for (struct inherited_record *next; kept; kept = next, count++) {
        next = kept->next;
        assert_in_range(count, 0, sizeof(wanted) - 1);
        assert_int_equal(kept->time_ns, 1000 + count + (count > 5));
        if (kept->root != wanted[count])
            fail_msg("record %zu: %s", count, kept->root ? "the root's" : "not the root's");
        free(kept);
    }
    assert_int_equal(count, sizeof(wanted));
    for (size_t i = 0; i < 4; i++)
        close(pipes[i]);
    fake_close(&fake);
}

static bool is_covered(pid_t tid)
{
    return fake.session.segment->covered[tid / 64] >> (tid % 64) & 1;
}

/* The inherited sets, with one below PID. */
static struct inherited_sets *with_set(pid_t pid, enum inherit_root root)
{
    fake_open(&fake);
    int status = inherited_open(fake.session.inherited_sets, pid, pid, root);
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(status, 0);
    return fake.session.inherited_sets;
}

/* Their EXIT records were lost: the numbers are not in the inherited set for ever, whoever has them next. */
static void who_ended_without_a_record(void **state)
{
    (void)state;
    enum { OTHER = 77, THIRD = 78, FOURTH = 79, FIFTH = 80 };
    const pid_t pid = getpid();
    struct inherited_sets *sets = with_set(pid, INHERIT_RUNS);
    for (pid_t tid = THIRD; tid <= FIFTH; tid++)
        play_record(PERF_RECORD_FORK, pid, pid, tid);
    assert_true(inherited_know(sets, THIRD) && is_covered(THIRD));
    inherited_forget(sets, THIRD);
    assert_false(inherited_know(sets, THIRD) || is_covered(THIRD));
    inherited_forget(sets, THIRD);
    inherited_forget(sets, 0);
    inherited_forget(sets, PINJECT_TASKS);
    /* The root, and who is in it, make others that are; who is not does not. */
    inherited_made_by(sets, pid, FOURTH);
    inherited_made_by(sets, FIFTH, FOURTH);
    assert_true(inherited_know(sets, FOURTH) && is_covered(FOURTH));
    inherited_made_by(sets, OTHER, FOURTH);
    assert_false(inherited_know(sets, FOURTH) || is_covered(FOURTH));
    assert_true(inherited_know(sets, FIFTH) && is_covered(FIFTH));
    inherited_made_by(NULL, OTHER, FIFTH);
    played_count = played_at = 0;
    fake_close(&fake);
}

/* The rings of several CPUs are read one after the other: an end may be read before the start, which was earlier. */
static void who_ended_before_the_start_was_read(void **state)
{
    (void)state;
    enum { THIRD = 78, FOURTH = 79, FIFTH = 80 };
    const pid_t pid = getpid();
    struct inherited_sets *sets = with_set(pid, INHERIT_RUNS);
    play_record(PERF_RECORD_FORK, pid, pid, FOURTH);
    play_at(PERF_RECORD_EXIT, THIRD, THIRD, THIRD, 3000);
    play_at(PERF_RECORD_EXIT, FIFTH, FIFTH, FIFTH, 1500);
    play_at(PERF_RECORD_FORK, pid, pid, THIRD, 2000);
    play_at(PERF_RECORD_FORK, pid, pid, FIFTH, 2500); /* its number is given out again */
    assert_false(inherited_know(sets, THIRD) || is_covered(THIRD));
    assert_true(inherited_know(sets, FOURTH) && is_covered(FOURTH));
    assert_true(inherited_know(sets, FIFTH) && is_covered(FIFTH));
    played_count = played_at = 0;
    fake_close(&fake);
}

/*
 * Who began while the inherited set was laid has its events on some CPUs alone, and so has who comes from it: they are
 * not in it, but for those who are in another one.
 */
static void who_began_while_it_was_laid(void **state)
{
    (void)state;
    enum { THIRD = 78, FOURTH = 79, FIFTH = 80, SIXTH = 81 };
    static const bool parts[] = {true, true, false, true, false};
    const pid_t pid = getpid();
    uint64_t lost = 0;
    size_t count = 0;
    fake_open(&fake);
    struct inherited_sets *sets = fake.session.inherited_sets;
    const uint64_t before = clock_ns(CLOCK_MONOTONIC);
    int status = inherited_open(sets, pid, pid, INHERIT_RUNS);
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(status, 0);
    play_at(PERF_RECORD_FORK, THIRD, THIRD, FOURTH, 3); /* read before that of its parent */
    play_at(PERF_RECORD_FORK, pid, pid, THIRD, 2);
    began_at(before);
    play_at(PERF_RECORD_FORK, pid, pid, FIFTH, 4);
    assert_false(inherited_know(sets, THIRD) || is_covered(THIRD) || inherited_know(sets, FOURTH) ||
                 is_covered(FOURTH));
    assert_true(inherited_know(sets, FIFTH) && is_covered(FIFTH));
    play_at(PERF_RECORD_FORK, FOURTH, FOURTH, SIXTH, 5);
    assert_false(inherited_know(sets, SIXTH));
    /* Its own events tell that it made that one: its mark, and its bit of who has events, stay as they are. */
    covered_mark(&fake.session, FOURTH, true);
    play_at(PERF_RECORD_EXIT, FOURTH, FOURTH, FOURTH, 6);
    assert_false(inherited_know(sets, FOURTH));
    assert_true(is_covered(FOURTH));
    play_at(PERF_RECORD_FORK, pid, pid, FOURTH, 7);
    assert_true(inherited_know(sets, FOURTH));
    for (struct inherited_record *kept = inherited_take(sets, UINT64_MAX, &lost), *next; kept; kept = next) {
        const struct perf_event_header *record = (const struct perf_event_header *)(const void *)kept->bytes;
        next = kept->next;
        if (record->type == PERF_RECORD_FORK) {
            assert_in_range(count, 0, sizeof(parts) - 1);
            assert_int_equal(kept->part, parts[count++]);
        }
        free(kept);
    }
    assert_int_equal(count, sizeof(parts));
    played_count = played_at = 0;
    fake_close(&fake);
}

static uint64_t waited_ns;

uint64_t __wrap_procfs_waited_ns(pid_t pid, pid_t tid);
uint64_t __wrap_procfs_waited_ns(pid_t pid, pid_t tid)
{
    (void)pid, (void)tid;
    return waited_ns;
}

/*
 * A fork takes its events first, and tells of itself last: while the inherited set was laid the root may have been in
 * one, and may have lost the CPU there. The next one began later.
 */
static void who_was_in_the_making(void **state)
{
    (void)state;
    enum { THIRD = 78, FOURTH = 79, FIFTH = 80, GRANDCHILD = 81, MS = 1000 * 1000, ENDED = 1 };
    static const struct {
        enum inherit_root root;
        uint64_t waits, first, second;
        bool first_is_whole;
    } cases[] = {
        {INHERIT_RUNS, 0, MS / 10, MS / 5, false},       {INHERIT_RUNS, 0, 1200 * MS, 1201 * MS, true},
        {INHERIT_RUNS, 0, 60 * MS, 61 * MS, true},       {INHERIT_RUNS, 60 * MS, 60 * MS, 61 * MS, false},
        {INHERIT_RUNS, ENDED, 60 * MS, 61 * MS, false},  {INHERIT_RUNS, 500 * MS, 250 * MS, 251 * MS, true},
        {INHERIT_WAITS, 60 * MS, MS / 10, MS / 5, true}, {INHERIT_EXECS, 60 * MS, MS / 10, MS / 5, true},
    };
    const pid_t pid = getpid();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        waited_ns = 7;
        struct inherited_sets *sets = with_set(pid, cases[i].root);
        const uint64_t whole = sets->first->whole_ns ? sets->first->whole_ns : clock_ns(CLOCK_MONOTONIC);
        waited_ns = cases[i].waits == ENDED ? 0 : waited_ns + cases[i].waits;
        play_record(PERF_RECORD_FORK, pid, pid, FOURTH); /* read before that of the first */
        began_at(whole + cases[i].second);
        play_record(PERF_RECORD_FORK, pid, pid, THIRD);
        began_at(whole + cases[i].first);
        play_record(PERF_RECORD_FORK, pid, pid, FIFTH);
        began_at(whole + cases[i].second + MS / 100);
        play_record(PERF_RECORD_FORK, FOURTH, FOURTH, GRANDCHILD);
        began_at(whole + cases[i].second + MS / 50);
        if (inherited_know(sets, THIRD) != cases[i].first_is_whole)
            fail_msg("case %zu", i);
        assert_int_equal(is_covered(THIRD), cases[i].first_is_whole);
        assert_true(inherited_know(sets, FOURTH) && inherited_know(sets, FIFTH) && inherited_know(sets, GRANDCHILD));
        played_count = played_at = 0;
        fake_close(&fake);
    }
}

/* One under whose root it is laid before an exec is whole when it counts. */
static void who_began_before_the_exec(void **state)
{
    (void)state;
    enum { THIRD = 78 };
    const pid_t pid = getpid();
    struct inherited_sets *sets = with_set(pid, INHERIT_EXECS);
    play_record(PERF_RECORD_FORK, pid, pid, THIRD);
    began_at(1);
    assert_true(inherited_know(sets, THIRD));
    played_count = played_at = 0;
    fake_close(&fake);
}

/* A root that waits for the answer makes nobody meanwhile; right behind it there may be others. */
static void who_began_behind_the_answer(void **state)
{
    (void)state;
    enum { THIRD = 78, FOURTH = 79 };
    const pid_t pid = getpid();
    const uint64_t before = clock_ns(CLOCK_MONOTONIC);
    struct inherited_sets *sets = with_set(pid, INHERIT_WAITS);
    const uint64_t behind = clock_ns(CLOCK_MONOTONIC);
    play_record(PERF_RECORD_FORK, pid, pid, THIRD);
    began_at(behind);
    play_record(PERF_RECORD_FORK, pid, pid, FOURTH);
    began_at(before); /* it did not wait for so long */
    assert_true(inherited_know(sets, THIRD));
    assert_false(inherited_know(sets, FOURTH));
    played_count = played_at = 0;
    fake_close(&fake);
}

/* A sample of TID with the id ID, which has the fields that each sample has in front. */
static void play_sample(pid_t tid, uint64_t id)
{
    struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = PLAYED_SIZE};
    const uint32_t task[] = {(uint32_t)tid, (uint32_t)tid};
    unsigned char *record = played[played_count++];
    memset(record, 0, PLAYED_SIZE);
    memcpy(record, &header, sizeof(header));
    memcpy(record + 8, &id, sizeof(id));
    memcpy(record + 24, task, sizeof(task));
}

/* Plays samples of a task with unknown ids and with the id of the second event. Their events, and what was LOST. */
static unsigned take_samples(struct inherited_sets *sets, unsigned events[4], uint64_t *lost)
{
    enum { UNKNOWN = 12345, THIRD = 78 };
    unsigned count = 0;
    *lost = 0;
    play_sample(THIRD, UNKNOWN);
    play_sample(THIRD, sets->first->cpus[0].ids[1]);
    play_sample(getpid(), UNKNOWN); /* the root has events of its own */
    play_sample(THIRD, UNKNOWN);
    for (struct inherited_record *kept = inherited_take(sets, UINT64_MAX, lost), *next; kept; kept = next) {
        next = kept->next;
        assert_in_range(count, 0, 3);
        events[count++] = kept->event;
        free(kept);
    }
    played_count = played_at = 0;
    return count;
}

/*
 * If another profiler samples the same software event of a task, the kernel may give its id to the samples. Such a
 * sample is of the only event that can be meant; if there are several, it is lost.
 */
static void ids_of_another_profiler(void **state)
{
    (void)state;
    unsigned events[4];
    uint64_t lost;
    struct inherited_sets *sets = with_set(getpid(), INHERIT_RUNS);
    struct event_config *config = &fake.config;
    config->sampling = 1;
    sets->layout.count = 2;
    for (unsigned cpu = 0; cpu < sets->first->cpu_count; cpu++)
        sets->first->cpus[cpu].ids[1] = 4711;
    assert_int_equal(take_samples(sets, events, &lost), 4);
    assert_int_equal(lost, 0);
    assert_true(events[0] == 0 && events[1] == 1 && events[3] == 0);
    config->sampling = 3;
    for (unsigned i = 0; i < 3; i++)
        config->events[i].attr.type = PERF_TYPE_SOFTWARE;
    config->events[0].nanoseconds = config->events[1].nanoseconds = true;
    config->events[2].nanoseconds = false;
    assert_int_equal(take_samples(sets, events, &lost), 4);
    assert_int_equal(lost, 0);
    assert_true(events[0] == 2 && events[1] == 1 && events[3] == 2);
    config->events[1].nanoseconds = false;
    assert_int_equal(take_samples(sets, events, &lost), 1);
    assert_int_equal(lost, 2);
    assert_int_equal(events[0], 1);
    fake_close(&fake);
}

/* Nor is anybody in an inherited set that is gone. */
static void a_set_that_ends_leaves_nobody(void **state)
{
    (void)state;
    enum { THIRD = 78 };
    char byte;
    int pipes[2];
    const pid_t pid = getpid();
    fake_open(&fake);
    struct inherited_sets *sets = fake.session.inherited_sets;
    assert_int_equal(pipe(pipes), 0);
    pid_t root = fork();
    if (root == 0) {
        close(pipes[1]);
        _exit(read(pipes[0], &byte, 1) != 0);
    }
    int other = inherited_open(sets, pid, pid, INHERIT_RUNS), status = inherited_open(sets, root, root, INHERIT_RUNS);
    if (status == 0 && other == 0) {
        play_record(PERF_RECORD_FORK, root, root, THIRD);
        assert_true(inherited_know(sets, THIRD) && is_covered(THIRD));
    }
    played_count = played_at = 0;
    close(pipes[1]);
    close(pipes[0]);
    assert_int_equal(waitpid(root, NULL, 0), root);
    if (status == 0 && other == 0)
        assert_false(inherited_know(sets, THIRD) || is_covered(THIRD));
    assert_true(inherited_live(sets) || other != 0);
    fake_close(&fake);
    if ((status == -EPERM || other == -EPERM) && geteuid() != 0)
        skip();
    assert_true(status == 0 && other == 0);
}

/* As many as came since the last look, each at its place. */
static void many_records_are_kept(void **state)
{
    (void)state;
    enum { MANY = sizeof(played) / sizeof(played[0]) };
    uint64_t lost = 0;
    size_t count = 0;
    const pid_t root = getpid();
    fake_open(&fake);
    int status = inherited_open(fake.session.inherited_sets, root, root, INHERIT_RUNS);
    for (unsigned i = 0; i < MANY; i++)
        play_record(PERF_RECORD_COMM, root, root, 0);
    for (struct inherited_record *kept = inherited_take(fake.session.inherited_sets, UINT64_MAX, &lost), *next; kept;
         kept = next, count++) {
        next = kept->next;
        assert_int_equal(kept->time_ns, 1000 + count);
        free(kept);
    }
    played_count = played_at = 0;
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(status, 0);
    assert_int_equal(count, MANY);
    assert_int_equal(lost, 0);
    fake_close(&fake);
}

enum { THREADS = 8, INSIDE = 78 };

static void *ask(void *argument)
{
    return inherited_know(argument, INSIDE) ? argument : NULL;
}

/* However many ask while the rings are read, they are read once more for all of them. */
static void who_waits_does_not_read_again(void **state)
{
    (void)state;
    const pid_t root = getpid();
    pthread_t threads[THREADS];
    struct inherited_sets *sets = with_set(root, INHERIT_RUNS);
    begins = 0;
    inherited_know(sets, INSIDE);
    const unsigned rings = begins;
    assert_true(rings > 0);
    play_record(PERF_RECORD_FORK, root, root, INSIDE);
    begins = coming = 0;
    awaited = THREADS; /* the first one waits within until all have come */
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, sets), 0);
        while (!__atomic_load_n(&begins, __ATOMIC_SEQ_CST))
            sched_yield();
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, sets);
    }
    awaited = 0;
    assert_int_equal(begins, 2 * rings);
    inherited_know(sets, INSIDE); /* who comes later reads */
    assert_int_equal(begins, 3 * rings);
    played_count = played_at = 0;
    fake_close(&fake);
}

/* Workers read, and nobody takes: samples are dropped first, all is counted, and ends are seen. */
static void what_nobody_takes_is_bounded(void **state)
{
    (void)state;
    enum { MANY = sizeof(played) / sizeof(played[0]), THIRD = 78, ROOM = 64 << 10, LENT = 4 << 20 };
    static const uint32_t types[] = {PERF_RECORD_SAMPLE, PERF_RECORD_COMM};
    uint64_t kept_bytes[2] = {0}, lost = 0, read = 0, kept_count = 0;
    const pid_t root = getpid();
    struct inherited_sets *sets = with_set(root, INHERIT_RUNS);
    const uint64_t rings = fake.session.ring_bytes, more = rings + (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * ROOM;
    const uint64_t least = rings > LENT ? rings : LENT, most = more > LENT ? more : LENT;
    play_record(PERF_RECORD_FORK, root, root, THIRD);
    assert_true(inherited_know(sets, THIRD));
    read++;
    for (unsigned i = 0; i < 2; i++) {
        for (played_count = 0; played_count < MANY;)
            play_record(types[i], root, root, 0);
        const uint64_t size = ((const struct perf_event_header *)(const void *)played[0])->size;
        for (uint64_t bytes = 0; bytes < 3 * most; bytes += MANY * size, read += MANY) {
            played_at = 0;
            assert_true(inherited_know(sets, THIRD));
        }
    }
    played_at = played_count = 0;
    play_record(PERF_RECORD_EXIT, root, THIRD, THIRD);
    assert_false(inherited_know(sets, THIRD) || is_covered(THIRD));
    read++;
    for (struct inherited_record *kept = inherited_take(sets, UINT64_MAX, &lost), *next; kept;
         kept = next, kept_count++) {
        const struct perf_event_header *record = (const void *)kept->bytes;
        kept_bytes[record->type != PERF_RECORD_SAMPLE] += record->size;
        next = kept->next;
        free(kept);
    }
    assert_in_range(kept_bytes[0], least - 2 * PLAYED_SIZE, most);
    assert_in_range(kept_bytes[0] + kept_bytes[1], 2 * least - 2 * PLAYED_SIZE, 2 * most);
    assert_int_equal(kept_count + lost, read);
    /* What was taken makes room. */
    for (played_at = played_count = 0; played_count < MANY;)
        play_record(PERF_RECORD_SAMPLE, root, root, 0);
    for (struct inherited_record *kept = inherited_take(sets, UINT64_MAX, &lost), *next; kept;
         kept = next, kept_count++) {
        next = kept->next;
        free(kept);
    }
    assert_int_equal(kept_count + lost, read + MANY);
    played_count = played_at = 0;
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_has_its_numbers),      cmocka_unit_test(many_records_are_kept),
        cmocka_unit_test(what_nobody_takes_is_bounded),  cmocka_unit_test(who_waits_does_not_read_again),
        cmocka_unit_test(who_ended_without_a_record),    cmocka_unit_test(who_ended_before_the_start_was_read),
        cmocka_unit_test(who_began_while_it_was_laid),   cmocka_unit_test(who_was_in_the_making),
        cmocka_unit_test(who_began_before_the_exec),     cmocka_unit_test(who_began_behind_the_answer),
        cmocka_unit_test(a_set_that_ends_leaves_nobody), cmocka_unit_test(ids_of_another_profiler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
