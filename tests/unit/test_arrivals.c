/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <poll.h>
#include <pthread.h>

#include "collector/arrivals.h"

enum { WRITERS = 4, EACH = 2000 };

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

static unsigned free_all(struct arrival *arrival)
{
    unsigned count = 0;
    for (struct arrival *next; arrival; arrival = next, count++) {
        next = arrival->next;
        arrival_free(arrival);
    }
    return count;
}

/* What a target tells as fast as it can is held up to a bound, and counted beyond it; the next take makes room. */
static void news_are_bounded(void **state)
{
    (void)state;
    struct arrivals arrivals;
    assert_int_equal(arrivals_init(&arrivals), 0);
    for (unsigned i = 0; i <= ARRIVALS_MANY; i++) {
        assert_false(arrivals_are_many(&arrivals));
        arrivals_put(&arrivals, make(1, 1));
    }
    assert_true(arrivals_are_many(&arrivals));
    for (unsigned i = 0; i < 3 * ARRIVALS_MAX; i++)
        arrivals_put(&arrivals, make(1, 1));
    assert_int_equal(free_all(arrivals_take(&arrivals)), ARRIVALS_MAX);
    assert_int_equal(arrivals.refused, 3 * ARRIVALS_MAX + ARRIVALS_MANY + 1 - ARRIVALS_MAX);
    assert_false(arrivals_are_many(&arrivals));
    arrivals_put(&arrivals, make(1, 1));
    assert_int_equal(free_all(arrivals_take(&arrivals)), 1);
    arrivals_release(&arrivals);
}

/* Another user's fill half of it: the rest is for the session's own. */
static void others_have_half(void **state)
{
    (void)state;
    struct arrivals arrivals;
    assert_int_equal(arrivals_init(&arrivals), 0);
    for (unsigned i = 0; i < 2 * ARRIVALS_MAX; i++) {
        struct arrival *arrival = make(1, 1);
        arrival->limited = true;
        arrivals_put(&arrivals, arrival);
    }
    assert_int_equal(arrivals.refused, 2 * ARRIVALS_MAX - ARRIVALS_MAX / 2);
    for (unsigned i = 0; i < ARRIVALS_MAX / 2; i++)
        arrivals_put(&arrivals, make(1, 1));
    assert_int_equal(arrivals.refused, 2 * ARRIVALS_MAX - ARRIVALS_MAX / 2);
    assert_int_equal(free_all(arrivals_take(&arrivals)), ARRIVALS_MAX);
    assert_int_equal(arrivals.count + arrivals.others + arrivals.others_bytes, 0);
    arrivals_release(&arrivals);
}

/* Texts of megabytes: few of them fill the queue. A task with events is there nevertheless, without its own. */
static void texts_are_bounded(void **state)
{
    (void)state;
    enum { TEXT = 1 << 20 };
    struct arrivals arrivals;
    struct attached events;
    assert_int_equal(arrivals_init(&arrivals), 0);
    for (unsigned i = 0; i < 100; i++) {
        struct arrival *arrival = make(1, 1);
        arrival->cmdline = calloc(1, TEXT);
        arrival->cmdline_size = TEXT;
        arrivals_put(&arrivals, arrival);
    }
    assert_int_equal(arrivals.refused, 100 - ARRIVALS_BYTES / TEXT);
    struct arrival *task = make(2, 2);
    task->events = &events;
    task->maps = strdup("maps");
    task->cmdline = calloc(1, 100);
    task->cmdline_size = 100;
    arrivals_put(&arrivals, task);
    assert_int_equal(arrivals.cut, 1);
    assert_null(task->maps);
    assert_null(task->cmdline);
    assert_int_equal(task->cmdline_size, 0);
    assert_int_equal(arrivals.bytes, ARRIVALS_BYTES / TEXT * TEXT); /* its own do not count any more */
    task->events = NULL;
    assert_int_equal(free_all(arrivals_take(&arrivals)), ARRIVALS_BYTES / TEXT + 1);
    assert_int_equal(arrivals.bytes, 0);
    assert_int_equal(arrivals.count, 0);
    arrivals_release(&arrivals);
}

static void a_process_is_let_go(void **state)
{
    (void)state;
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    struct arrival *arrival = make(1, 1);
    arrival->pidfd = fds[1];
    arrival_free(arrival);
    assert_int_equal(read(fds[0], &byte, 1), 0); /* nobody else had the other end */
    close(fds[0]);
    arrival_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(news_are_bounded),
        cmocka_unit_test(others_have_half),
        cmocka_unit_test(texts_are_bounded),
        cmocka_unit_test(oldest_first),
        cmocka_unit_test(release_frees_the_rest),
        cmocka_unit_test(a_process_is_let_go),
        cmocka_unit_test(none_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
