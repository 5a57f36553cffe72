/* SPDX-License-Identifier: MIT */
/* analyze/model/thread_pool.h: with threads a profile is what it is without them. */
#include "profile_kit.h"

#include <pthread.h>
#include <sched.h>

#include "analyze/model/thread_pool_private.h"

enum {
    ALONE = 50000, /* the caller finds the stacks of so many samples before threads begin */
    SAMPLES = ALONE + 12000,
    SECOND = 3000, /* of the second file */
    DEEP = 8000,   /* addresses of a chain */
    MOST_ENTRIES = 1 << 20,
};

static struct thread_pool *pool;
static unsigned calls, calls_of_threads, threads_made; /* of chain_add(); of pthread_create() that it lets pass */
static unsigned merges;                                /* of thread_pool_merge() */
static uint64_t most_found;                            /* entries that the threads knew of at some time */
static unsigned failing_call;                          /* of chain_add() in a thread; 0: none */
static unsigned most_threads;                          /* pthread_create() gives no more */
static bool settle_often;
static pthread_t caller;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* NOLINTBEGIN(bugprone-reserved-identifier): the linker's --wrap wants these names. */
int __wrap_chain_add(struct chain *chain, struct chain_sample *samples, uint32_t count);
int __real_chain_add(struct chain *chain, struct chain_sample *samples, uint32_t count);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*work)(void *), void *argument);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*work)(void *), void *argument);
int __wrap_thread_pool_merge(struct thread_pool *one);
int __real_thread_pool_merge(struct thread_pool *one);
struct thread_pool *__wrap_thread_pool_new(struct chain *chain, unsigned threads);
struct thread_pool *__real_thread_pool_new(struct chain *chain, unsigned threads);

int __wrap_chain_add(struct chain *chain, struct chain_sample *samples, uint32_t count)
{
    bool thread = !pthread_equal(pthread_self(), caller), fails = false;
    pthread_mutex_lock(&lock);
    calls++;
    if (thread)
        fails = ++calls_of_threads == failing_call;
    pthread_mutex_unlock(&lock);
    if (thread) {
        pthread_mutex_lock(&pool->lock);
        most_found = pool->entries > most_found ? pool->entries : most_found;
        /* As if the threads had found as many as they may. */
        if (settle_often)
            pool->entries = MOST_ENTRIES;
        pthread_mutex_unlock(&pool->lock);
    }
    return fails ? -ENOMEM : __real_chain_add(chain, samples, count);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*work)(void *), void *argument)
{
    if (threads_made >= most_threads)
        return EAGAIN;
    threads_made++;
    return __real_pthread_create(thread, attr, work, argument);
}

int __wrap_thread_pool_merge(struct thread_pool *one)
{
    merges++;
    return __real_thread_pool_merge(one);
}

struct thread_pool *__wrap_thread_pool_new(struct chain *chain, unsigned threads)
{
    return pool = __real_thread_pool_new(chain, threads);
}
/* NOLINTEND(bugprone-reserved-identifier) */

static void put_chain(struct writer *writer, unsigned i, uint16_t mode, uint64_t leaf, uint64_t depth)
{
    static uint64_t chain[DEEP];
    uint64_t ip = mode == USER ? leaf : 0x77;
    chain[0] = mode == USER ? PERF_CONTEXT_USER : mode == KERNEL ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_HV;
    chain[1] = ip;
    for (uint64_t j = 2; j < depth; j++)
        chain[j] = 0x1000 + (i % 97) * 16 + j % 5;
    writer->time++;
    writer_sample(writer, i % 7 == 0, mode, ip, 1 + i % 3, chain, depth);
}

/* What comes only when threads are at work is new to them: modules, an exec, names, hypervisors and guests. */
static void put_notification(struct writer *writer, unsigned i)
{
    if (i == ALONE + 3000)
        writer_comm(writer, "renamed", false);
    if (i == ALONE + 4000)
        writer_mmap(writer, 0x20000, 0x1000, 0, "/lib/late.so");
    if (i == ALONE + 5000) {
        writer_comm(writer, "again", true);
        writer_mmap(writer, 0x1000, 0x2000, 0x1000, "/bin/again");
    }
}

static void save_many(const char *path, uint32_t pid, unsigned count, uint16_t max_stack)
{
    struct writer writer;
    begin(&writer, pid, pid);
    writer.attrs[0].sample_max_stack = max_stack;
    writer.attrs[1].sample_period = 1;
    writer_session(&writer, 0xaa, 1000);
    writer_task(&writer, ENDED, 0, 600 + pid, 1u << 30, 0);
    writer_comm(&writer, "app", false);
    writer_mmap(&writer, 0x1000, 0x2000, 0, "/bin/app");
    for (unsigned i = 0; i < count; i++) {
        put_notification(&writer, i);
        uint16_t mode = i < ALONE + 2000 || i % 50 ? USER
                        : i % 100                  ? PERF_RECORD_MISC_HYPERVISOR
                                                   : PERF_RECORD_MISC_GUEST_USER;
        bool deep = i > ALONE + 8000 && i % 40 == 0;
        put_chain(&writer, i, i % 1000 == 999 ? KERNEL : mode, i % 11 ? 0x1010 + i % 13 : 0x20010 + i / 5000,
                  deep ? DEEP : 3 + i % 4);
    }
    writer_save(&writer, path);
    writer_release(&writer);
}

static int load(unsigned threads, unsigned most, struct profile **ret)
{
    const char *paths[] = {in_directory("one"), in_directory("two")};
    struct profile_options options = {.threads = threads};
    calls = calls_of_threads = threads_made = merges = 0;
    most_found = 0;
    most_threads = most;
    caller = pthread_self();
    return profile_load(paths, 2, &options, ret);
}

static void same_frames(const struct profile *one, const struct profile *other)
{
    assert_int_equal(one->module_count, other->module_count);
    assert_int_equal(one->frame_count, other->frame_count);
    for (uint32_t i = 0; i < one->frame_count; i++) {
        const struct profile_frame *a = &one->frames[i], *b = &other->frames[i];
        assert_string_equal(a->module ? a->module->path : "?", b->module ? b->module->path : "?");
        assert_true(!a->module || !b->module || a->module->kernel == b->module->kernel);
        assert_true(!a->module || a->module == one->modules[a->module->index]);
        assert_true(!b->module || b->module == other->modules[b->module->index]);
        assert_int_equal(a->offset, b->offset);
        assert_int_equal(a->ip, b->ip);
        assert_true(a->kernel == b->kernel && a->caller == b->caller && a->index == i && b->index == i);
    }
}

static void same_entries(const struct profile_entry *one, const struct profile_entry *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(one[i].task, other[i].task);
        assert_int_equal(one[i].event, other[i].event);
        assert_int_equal(one[i].stack, other[i].stack);
        assert_true(!one[i].comm == !other[i].comm);
        if (one[i].comm)
            assert_string_equal(one[i].comm, other[i].comm);
        assert_int_equal(one[i].samples, other[i].samples);
        assert_int_equal(one[i].weight, other[i].weight);
    }
}

static void same_profile(const struct profile *one, const struct profile *other)
{
    same_frames(one, other);
    assert_int_equal(one->stack_count, other->stack_count);
    for (uint32_t i = 0; i < one->stack_count; i++) {
        const struct profile_stack *a = &one->stacks[i], *b = &other->stacks[i];
        assert_int_equal(a->depth, b->depth);
        assert_int_equal(a->truncated, b->truncated);
        assert_memory_equal(a->frames, b->frames, a->depth * sizeof(*a->frames));
    }
    assert_int_equal(one->entry_count, other->entry_count);
    same_entries(one->entries, other->entries, one->entry_count);
    assert_int_equal(one->sum_count, other->sum_count);
    same_entries(one->sums, other->sums, one->sum_count);
}

static struct profile *alone; /* without threads */

/* What the others are compared with is itself right. */
static void test_alone(void **state)
{
    (void)state;
    uint64_t samples = 0, truncated = 0;
    assert_int_equal(load(1, 0, &alone), 0);
    assert_int_equal(calls_of_threads, 0);
    for (uint32_t i = 0; i < alone->entry_count; i++)
        samples += alone->entries[i].samples;
    assert_int_equal(samples, SAMPLES + SECOND);
    assert_int_equal(alone->events[0].samples + alone->events[1].samples, SAMPLES + SECOND);
    bool hypervisor = false, guest = false, late = false;
    for (uint32_t i = 0; i < alone->module_count; i++) {
        hypervisor |= strcmp(alone->modules[i]->path, "[hypervisor]") == 0;
        guest |= strcmp(alone->modules[i]->path, "[guest]") == 0;
        late |= strcmp(alone->modules[i]->path, "/lib/late.so") == 0;
    }
    assert_true(hypervisor && guest && late);
    for (uint32_t i = 0; i < alone->stack_count; i++)
        truncated += alone->stacks[i].truncated;
    assert_true(truncated > 0 && truncated < alone->stack_count);
    /* Each file has a limit of its own, wherever the samples of one end among those that are looked for at once. */
    for (uint32_t i = 0; i < alone->entry_count; i++) {
        const struct profile_entry *entry = &alone->entries[i];
        const struct profile_stack *stack = &alone->stacks[entry->stack];
        uint32_t most = alone->tasks[entry->task].pid == 10 && entry->event == 0 ? 5 : 127;
        assert_int_equal(stack->truncated, stack->depth >= most);
    }
}

static void expect_same(unsigned threads, unsigned most, unsigned made)
{
    struct profile *profile = NULL;
    assert_int_equal(load(threads, most, &profile), 0);
    assert_int_equal(threads_made, made);
    assert_true(made ? calls_of_threads > 10 && calls_of_threads < calls : calls_of_threads == 0);
    if (settle_often)
        assert_true(merges > 1); /* the last one is made anyway; there are more batches than can wait */
    else
        assert_int_equal(merges, made > 0);
    assert_true(made ? settle_often || most_found > 100 : most_found == 0);
    assert_true(settle_often || most_found < profile->entry_count);
    same_profile(profile, alone);
    profile_free(profile);
}

static void test_threads(void **state)
{
    (void)state;
    static const unsigned counts[] = {2, 5};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        expect_same(counts[i], 64, counts[i]);
}

/* Where there can be fewer threads, or none, these do all. */
static void test_fewer_threads(void **state)
{
    (void)state;
    expect_same(4, 1, 1);
    expect_same(4, 0, 0);
}

/* The caller takes what was found before the end, again and again. */
static void test_settled_often(void **state)
{
    (void)state;
    settle_often = true;
    expect_same(3, 64, 3);
    settle_often = false;
}

/* What a thread lacks nobody has: early, and with the last of its work. */
static void test_memory_of_threads(void **state)
{
    (void)state;
    struct profile *profile = NULL;
    assert_int_equal(load(2, 64, &profile), 0);
    profile_free(profile);
    const unsigned failing[] = {1, calls_of_threads};
    for (size_t i = 0; i < 2; i++) {
        profile = NULL;
        failing_call = failing[i];
        check_capture();
        int status = load(2, 64, &profile);
        failing_call = 0;
        assert_non_null(strstr(check_captured(), "out of memory"));
        assert_int_equal(status, -ENOMEM);
        assert_null(profile);
    }
}

static void test_size(void **state)
{
    (void)state;
    cpu_set_t all, one;
    assert_int_equal(thread_pool_size(1), 1);
    assert_int_equal(thread_pool_size(3), 3);
    assert_int_equal(thread_pool_size(THREAD_POOL_MAX), THREAD_POOL_MAX);
    assert_int_equal(thread_pool_size(THREAD_POOL_MAX + 1), THREAD_POOL_MAX);
    assert_int_equal(thread_pool_size(UINT32_MAX), THREAD_POOL_MAX);
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    unsigned count = (unsigned)CPU_COUNT(&all);
    assert_int_equal(thread_pool_size(0), count < THREAD_POOL_MAX ? count : THREAD_POOL_MAX);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(thread_pool_size(0), 1);
    assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static int make_directory(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    save_many(in_directory("one"), 10, SAMPLES, 5);
    save_many(in_directory("two"), 20, SECOND, 0);
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    profile_free(alone);
    unlink(in_directory("one"));
    unlink(in_directory("two"));
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_fewer_threads),
        cmocka_unit_test(test_settled_often),
        cmocka_unit_test(test_memory_of_threads),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
