/* SPDX-License-Identifier: MIT */
/* Each thread has a sampler of its own, which is known by its pointer as long as it is the thread's. */
#include "check.h"

#include "preload/sys.h"
#include "preload/timer.h"

#include <pthread.h>

enum { THREADS = 20 };

static struct pinject_sampler *met[THREADS + 1];
static unsigned met_count;

static void meet(struct pinject_sampler *sampler)
{
    assert_true(met_count < THREADS + 1);
    met[met_count++] = sampler;
}

static bool is_met(const struct pinject_sampler *sampler)
{
    for (unsigned i = 0; i < met_count; i++)
        if (met[i] == sampler)
            return true;
    return false;
}

static void look(unsigned count)
{
    met_count = 0;
    pinject_samplers_each(meet);
    assert_int_equal(met_count, count);
}

/* Before the first timer. */
static void nothing_is_there(void **state)
{
    int there;
    (void)state;
    assert_null(pinject_sampler_find());
    assert_null(pinject_sampler_own());
    assert_false(pinject_sampler_is(NULL));
    assert_false(pinject_sampler_is(&there));
    pinject_samplers_clear();
    look(0);
}

static void a_thread_has_one(void **state)
{
    (void)state;
    assert_int_equal(pinject_samplers_init(), 0);
    assert_null(pinject_sampler_find());
    struct pinject_sampler *own = pinject_sampler_own();
    assert_non_null(own);
    assert_ptr_equal(pinject_sampler_find(), own);
    assert_ptr_equal(pinject_sampler_own(), own);
    assert_int_equal(own->tid, sys_gettid());
    assert_int_equal(pinject_samplers_init(), 0); /* it is there */
    assert_ptr_equal(pinject_sampler_find(), own);
    look(1);
    assert_true(is_met(own));
    assert_true(pinject_sampler_is(own));
    assert_false(pinject_sampler_is((char *)own + 1));
    assert_false(pinject_sampler_is((char *)own + sizeof(*own) / 2));
    assert_false(pinject_sampler_is(NULL));
    assert_false(pinject_sampler_is(&own));
    /* All and nothing else: as many in a row as there are. */
    const struct pinject_sampler *first = own, *end = own;
    while (pinject_sampler_is(first - 1))
        first--;
    while (pinject_sampler_is(end))
        end++;
    assert_int_equal(end - first, 4096);
    /* Given back; the next owner finds nothing in it. */
    own->lost = 7;
    own->tid = 1;
    pinject_sampler_drop(own);
    assert_null(pinject_sampler_find());
    look(0);
    assert_ptr_equal(pinject_sampler_own(), own);
    assert_int_equal(own->lost, 0);
    assert_int_equal(own->tid, sys_gettid());
    pinject_samplers_clear();
    assert_null(pinject_sampler_find());
    look(0);
}

static pthread_barrier_t barrier;

static void *take_one(void *nothing)
{
    (void)nothing;
    struct pinject_sampler *own = pinject_sampler_own();
    bool right = own && own->tid == sys_gettid() && pinject_sampler_find() == own;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    right &= pinject_sampler_find() == own;
    pinject_sampler_drop(own);
    right &= !pinject_sampler_find();
    return right ? own : NULL;
}

static void threads_have_different_ones(void **state)
{
    pthread_t threads[THREADS];
    (void)state;
    assert_int_equal(pinject_samplers_init(), 0);
    const struct pinject_sampler *own = pinject_sampler_own();
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_one, NULL), 0);
    pthread_barrier_wait(&barrier);
    look(THREADS + 1);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < THREADS; i++) {
        void *its;
        assert_int_equal(pthread_join(threads[i], &its), 0);
        assert_true(its && its != own && is_met(its));
    }
    look(1);
    assert_true(is_met(own));
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there),
        cmocka_unit_test(a_thread_has_one),
        cmocka_unit_test(threads_have_different_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
