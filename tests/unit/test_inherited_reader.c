/* SPDX-License-Identifier: MIT */
/* The thread that reads the rings of inherited sets, with a pipe in the place of a ring. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collector/sources/inherited_private.h"

static struct inherited_sets sets;
static int ring[2];
static bool nothing_to_take, no_thread;
static sem_t was_read;

/* ---- In the place of what it uses ---- */

bool __wrap_inherited_read(struct inherited_sets *of);
bool __wrap_inherited_read(struct inherited_sets *of)
{
    char bytes[16];
    assert_ptr_equal(of, &sets);
    while (read(ring[0], bytes, sizeof(bytes)) > 0)
        ;
    sem_post(&was_read);
    return !nothing_to_take;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    return no_thread ? EAGAIN : __real_pthread_create(thread, attr, run, argument);
}

/* ---- */

static int set_up(void **state)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &ring};
    (void)state;
    sets = (struct inherited_sets){0};
    nothing_to_take = no_thread = false;
    sem_init(&was_read, 0, 0);
    return pipe2(ring, O_NONBLOCK) < 0 || inherited_reader_init(&sets.reader) < 0 ||
           epoll_ctl(sets.reader.rings, EPOLL_CTL_ADD, ring[0], &event) < 0;
}

static int tear_down(void **state)
{
    (void)state;
    inherited_reader_stop(&sets.reader);
    inherited_reader_release(&sets.reader);
    close(ring[0]);
    close(ring[1]);
    sem_destroy(&was_read);
    return 0;
}

static void fill(void)
{
    assert_int_equal(write(ring[1], "a", 1), 1);
}

static bool wakes_the_loop(int timeout_ms)
{
    struct pollfd loop = {.fd = sets.reader.loop, .events = POLLIN};
    return poll(&loop, 1, timeout_ms) > 0;
}

static void a_ring_is_read_without_the_loop(void **state)
{
    (void)state;
    inherited_reader_start(&sets.reader, &sets);
    inherited_reader_start(&sets.reader, &sets); /* with the next set: it runs already */
    for (unsigned i = 0; i < 3; i++) {
        fill();
        assert_true(wakes_the_loop(-1));
        inherited_reader_clear(&sets.reader);
    }
    assert_int_equal(sem_wait(&was_read), 0);
}

/* Nobody is woken for a ring that has stopped. */
static void rings_are_looked_at_again(void **state)
{
    (void)state;
    inherited_reader_start(&sets.reader, &sets);
    fill();
    for (unsigned i = 0; i < 1 + 10; i++)
        assert_int_equal(sem_wait(&was_read), 0);
}

static void the_loop_sleeps_if_there_is_nothing(void **state)
{
    (void)state;
    nothing_to_take = true;
    inherited_reader_start(&sets.reader, &sets);
    fill();
    assert_int_equal(sem_wait(&was_read), 0);
    inherited_reader_stop(&sets.reader);
    assert_false(wakes_the_loop(0));
}

static void without_a_thread_the_loop_is_woken(void **state)
{
    (void)state;
    no_thread = true;
    inherited_reader_start(&sets.reader, &sets);
    assert_false(wakes_the_loop(0));
    fill();
    assert_true(wakes_the_loop(0));
    /* The next set tries again. */
    no_thread = false;
    inherited_reader_start(&sets.reader, &sets);
    assert_int_equal(sem_wait(&was_read), 0);
    assert_true(wakes_the_loop(-1));
}

static void what_was_never_opened_is_released(void **state)
{
    (void)state;
    struct inherited_reader reader = {.rings = -1, .stop = -1, .filled = -1, .loop = -1};
    inherited_reader_stop(&reader);
    inherited_reader_release(&reader);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_ring_is_read_without_the_loop),
        TEST(rings_are_looked_at_again),
        TEST(the_loop_sleeps_if_there_is_nothing),
        TEST(without_a_thread_the_loop_is_woken),
        cmocka_unit_test(what_was_never_opened_is_released),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
