/* SPDX-License-Identifier: MIT */
/* pthread_create and thrd_create: what the new thread does before and after the program's function, and who is told. */
#include "hook_kit.h"

#include "preload/symbols.h"
#include "preload/thread_records.h"

#include <dlfcn.h>
#include <pthread.h>
#include <threads.h>

int hook_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument);
int hook_thrd_create(thrd_t *thread, thrd_start_t start, void *argument);

static const pthread_attr_t *attr_seen;
static int argument_of_start, found_of[3];
static const char *hidden_name; /* of a libc that lacks it */

/* As the loader has them; the last word of the name says which. */
void *pinject_symbols_find_late(int (*iterate)(int (*)(struct dl_phdr_info *, size_t, void *), void *),
                                const char *name)
{
    assert_ptr_equal(iterate, dl_iterate_phdr);
    found_of[strstr(name, "next") ? 2 : strstr(name, "_unregister") ? 1 : 0]++;
    return hidden_name && strcmp(name, hidden_name) == 0 ? NULL : dlsym(RTLD_DEFAULT, name);
}

/* The thread runs within the call: lines are in order. */
static int next_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *argument)
{
    hook_note("pthread_create%s", thread ? "" : " ?");
    attr_seen = attr;
    int error = (int)hook_answer();
    if (error)
        return error;
    error = pthread_create(thread, NULL, start, argument);
    if (!error) {
        void *result;
        pthread_join(*thread, &result);
        hook_note("result %s", result == PTHREAD_CANCELED     ? "canceled"
                               : result == &argument_of_start ? "argument"
                                                              : "?");
    }
    return error;
}

static int next_thrd_create(thrd_t *thread, thrd_start_t start, void *argument)
{
    hook_note("thrd_create");
    int error = (int)hook_answer(), result;
    if (error)
        return error;
    error = thrd_create(thread, start, argument);
    if (error == thrd_success && thrd_join(*thread, &result) == thrd_success)
        hook_note("result %d", result);
    return error;
}

static void *start(void *argument)
{
    hook_note("start%s", argument == &argument_of_start ? "" : " ?");
    return argument;
}

static void *leaves(void *argument)
{
    hook_note("start");
    pthread_exit(argument);
}

static void *is_canceled(void *argument)
{
    hook_note("start");
    pthread_cancel(pthread_self());
    pthread_testcancel();
    return argument;
}

static int start_c11(void *argument)
{
    hook_note("start%s", argument == &argument_of_start ? "" : " ?");
    return 42;
}

static void begin(void)
{
    hook_kit_begin(PINJECT_SESSION_ALL);
    hook_next.pthread_create = next_pthread_create;
    hook_next.thrd_create = next_thrd_create;
    hook_next.dl_iterate_phdr = dl_iterate_phdr;
    hook_next.sanitized = false;
    pinject_preload.threads = true;
}

static int create(void *(*run)(void *))
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    int error = hook_pthread_create(&thread, &attr, run, &argument_of_start);
    assert_ptr_equal(attr_seen, &attr);
    pthread_attr_destroy(&attr);
    return error;
}

static int create_c11(void)
{
    thrd_t thread;
    return hook_thrd_create(&thread, start_c11, &argument_of_start);
}

static void test_followed(void **state)
{
    (void)state;
    begin();
    assert_int_equal(create(start), 0);
    assert_notes("pool\ntake\npthread_create\nthread of the first\ngive\nstart\nresult argument\n");
    assert_int_equal(create_c11(), thrd_success);
    assert_notes("pool\ntake\nthrd_create\nthread of the first\ngive\nstart\nresult 42\n");
    assert_int_equal(hook_requests.dropped, 0);
}

/* The calls as they are: threads are not followed, the session is over, the process is blocked by seccomp. */
static void test_not_followed(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        begin();
        pinject_preload.threads = way != 0;
        hook_segment.closed = way == 1;
        pinject_preload.blocked = way == 2;
        pinject_preload.begun = 0;
        assert_int_equal(create(start), 0);
        assert_notes("init\npthread_create\nstart\nresult argument\n");
        assert_int_equal(create_c11(), thrd_success);
        assert_notes("thrd_create\nstart\nresult 42\n");
        assert_int_equal(hook_requests.blocked, way == 2 ? 2 : 0);
        assert_int_equal(hook_requests.dropped, 0);
    }
    begin();
    pinject_preload.threads = false;
    pinject_preload.blocked = 1; /* nobody wanted to follow it */
    assert_int_equal(create(start), 0);
    assert_int_equal(hook_requests.blocked, 0);
    hook_notes();
}

static void test_no_record(void **state)
{
    (void)state;
    begin();
    hook_kit.no_record = true;
    assert_int_equal(create(start), 0);
    assert_notes("pool\ntake\npthread_create\nstart\nresult argument\n");
    assert_int_equal(hook_requests.dropped, 1);
    assert_int_equal(create_c11(), thrd_success);
    assert_int_equal(hook_requests.dropped, 2);
    hook_notes();
}

/* The thread cannot be made: its record goes back, but for where a sanitizer writes down its creator. */
static void test_failure(void **state)
{
    (void)state;
    begin();
    hook_kit.result = EAGAIN;
    assert_int_equal(create(start), EAGAIN);
    assert_notes("pool\ntake\npthread_create\ngive\n");
    hook_kit.result = thrd_nomem;
    assert_int_equal(create_c11(), thrd_nomem);
    assert_notes("pool\ntake\nthrd_create\ngive\n");
    hook_next.sanitized = true;
    assert_int_equal(create(start), thrd_nomem);
    assert_int_equal(create_c11(), thrd_nomem);
    assert_notes("pool\ntake\npthread_create\npool\ntake\nthrd_create\n");
    hook_kit.result = 0;
    assert_int_equal(create(start), 0);
    assert_int_equal(create_c11(), thrd_success);
    assert_notes("pool\ntake\npthread_create\nthread of the first\ngive\nstart\nresult argument\n"
                 "pool\ntake\nthrd_create\nthread of the first\ngive\nstart\nresult 42\n");
}

/* A signal of the timers is taken: the thread begins with what its creator's mask said of it. */
static void test_masks(void **state)
{
    (void)state;
    begin();
    hook_kit.masked = true; /* of no number */
    assert_int_equal(create(start), 0);
    assert_notes("pool\ntake\npthread_create\nthread of the first\ngive\nstart\nresult argument\n");
    hook_kit.signal = 50;
    assert_int_equal(create(start), 0);
    assert_notes("pool\ntake\npthread_create\ntimer thread masked\nthread of the first\ngive\nstart\n"
                 "result argument\n");
    hook_kit.masked = false;
    assert_int_equal(create_c11(), thrd_success);
    assert_notes("pool\ntake\nthrd_create\ntimer thread\nthread of the first\ngive\nstart\nresult 42\n");
}

/* Its session became system-wide since it began: a thread is not wrapped any more. */
static void test_inherits(void **state)
{
    (void)state;
    begin();
    pinject_preload.inherits = true;
    assert_int_equal(create(start), 0);
    assert_notes("pthread_create\nstart\nresult argument\n");
    pinject_preload.inherits = false;
}

/* A thread with a timer stops it, however it ends. */
static void test_end_of_a_timer(void **state)
{
    (void)state;
    begin();
    hook_kit.timer_runs = true;
    /* First a libc without one of the three functions: none of them is called, and a thread that returns is none the
       worse for it. */
    hidden_name = "__pthread_unregister_cancel";
    assert_int_equal(create(start), 0);
    assert_notes("pool\ntake\npthread_create\nthread of the first\ngive\nstart\ntimer stop\nresult argument\n");
    assert_true(found_of[1] > 0);
    hidden_name = NULL;
    assert_int_equal(create(start), 0);
    assert_notes("pool\ntake\npthread_create\nthread of the first\ngive\nstart\ntimer stop\nresult argument\n");
    assert_int_equal(create(leaves), 0);
    assert_notes("pool\ntake\npthread_create\nthread of the first\ngive\nstart\ntimer stop\nresult argument\n");
    assert_int_equal(create(is_canceled), 0);
    assert_notes("pool\ntake\npthread_create\nthread of the first\ngive\nstart\ntimer stop\nresult canceled\n");
    assert_int_equal(create_c11(), thrd_success);
    assert_notes("pool\ntake\nthrd_create\nthread of the first\ngive\nstart\ntimer stop\nresult 42\n");
    /* Looked up once each. */
    memset(found_of, 0, sizeof(found_of));
    assert_int_equal(create(start), 0);
    assert_int_equal(found_of[0] + found_of[1] + found_of[2], 0);
    hook_notes();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_followed),       cmocka_unit_test(test_not_followed), cmocka_unit_test(test_no_record),
        cmocka_unit_test(test_inherits),       cmocka_unit_test(test_failure),      cmocka_unit_test(test_masks),
        cmocka_unit_test(test_end_of_a_timer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
