/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <poll.h>
#include <pthread.h>

#include "collector/arrivals.h"

enum { WRITERS = 4, EACH = 5000 };

static struct arrival *make(pid_t pid, pid_t tid)
{
    struct arrival *arrival = calloc(1, sizeof(*arrival));
    assert_non_null(arrival);
    arrival->pidfd = -1;
    arrival->pid = pid;
    arrival->tid = tid;
    return arrival;
}

static bool is_ready(const struct arrivals *arrivals, int patience_ms)
{
    struct pollfd fd = {.fd = arrivals->eventfd, .events = POLLIN};
    return poll(&fd, 1, patience_ms) == 1;
}

static void oldest_first(void **state)
{
    (void)state;
    struct arrivals arrivals;
    assert_int_equal(arrivals_init(&arrivals), 0);
    assert_null(arrivals_take(&arrivals));
    for (pid_t i = 1; i <= 3; i++)
        arrivals_put(&arrivals, make(i, i));
    assert_true(is_ready(&arrivals, 0));
    struct arrival *all = arrivals_take(&arrivals);
    assert_false(is_ready(&arrivals, 0));
    for (pid_t i = 1; i <= 3; i++) {
        struct arrival *next = all->next;
        assert_int_equal(all->tid, i);
        arrival_free(all);
        all = next;
    }
    assert_null(all);
    arrival_free(NULL);
    arrivals_release(&arrivals);
}

static void release_frees_the_rest(void **state)
{
    (void)state;
    struct arrivals arrivals;
    assert_int_equal(arrivals_init(&arrivals), 0);
    struct arrival *arrival = make(1, 1);
    arrival->exec = strdup("/bin/true");
    arrival->cmdline = strdup("true");
    arrival->maps = strdup("");
    arrival->pidfd = dup(0);
    arrivals_put(&arrivals, arrival);
    arrivals_release(&arrivals);
}

static void *put_many(void *argument)
{
    struct arrivals *arrivals = argument;
    static int writers;
    pid_t writer = __atomic_add_fetch(&writers, 1, __ATOMIC_RELAXED);
    for (pid_t i = 0; i < EACH; i++)
        arrivals_put(arrivals, make(writer, i));
    return NULL;
}

static void none_is_lost_between_threads(void **state)
{
    (void)state;
    struct arrivals arrivals;
    pthread_t threads[WRITERS];
    pid_t next_of[WRITERS + 1] = {0};
    assert_int_equal(arrivals_init(&arrivals), 0);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, &arrivals), 0);
    for (int got = 0; got < WRITERS * EACH;) {
        assert_true(is_ready(&arrivals, 30000)); /* a lost wake hangs here */
        for (struct arrival *arrival = arrivals_take(&arrivals), *next; arrival; arrival = next, got++) {
            next = arrival->next;
            assert_in_range(arrival->pid, 1, WRITERS);
            assert_int_equal(arrival->tid, next_of[arrival->pid]++);
            arrival_free(arrival);
        }
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    arrivals_release(&arrivals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_first),
        cmocka_unit_test(release_frees_the_rest),
        cmocka_unit_test(none_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
