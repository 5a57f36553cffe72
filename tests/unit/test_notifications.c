/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <poll.h>
#include <pthread.h>

#include "collector/sources/notifications.h"

enum { WRITERS = 4, EACH = 2000 };

static struct notification *make(pid_t pid, pid_t tid)
{
    struct notification *notification = calloc(1, sizeof(*notification));
    assert_non_null(notification);
    notification->pidfd = -1;
    notification->pid = pid;
    notification->tid = tid;
    return notification;
}

static bool is_ready(const struct notifications *notifications, int patience_ms)
{
    struct pollfd fd = {.fd = notifications->eventfd, .events = POLLIN};
    return poll(&fd, 1, patience_ms) == 1;
}

static void oldest_first(void **state)
{
    (void)state;
    struct notifications notifications;
    assert_int_equal(notifications_init(&notifications), 0);
    assert_null(notifications_take(&notifications));
    for (pid_t i = 1; i <= 3; i++)
        notifications_put(&notifications, make(i, i));
    assert_true(is_ready(&notifications, 0));
    struct notification *all = notifications_take(&notifications);
    assert_false(is_ready(&notifications, 0));
    for (pid_t i = 1; i <= 3; i++) {
        struct notification *next = all->next;
        assert_int_equal(all->tid, i);
        notification_free(all);
        all = next;
    }
    assert_null(all);
    notification_free(NULL);
    notifications_release(&notifications);
}

static void release_frees_the_rest(void **state)
{
    (void)state;
    struct notifications notifications;
    assert_int_equal(notifications_init(&notifications), 0);
    struct notification *notification = make(1, 1);
    notification->exec = strdup("/bin/true");
    notification->cmdline = strdup("true");
    notification->maps = strdup("");
    notification->pidfd = dup(0);
    notifications_put(&notifications, notification);
    notifications_release(&notifications);
}

static void *put_many(void *argument)
{
    struct notifications *notifications = argument;
    static int writers;
    pid_t writer = __atomic_add_fetch(&writers, 1, __ATOMIC_RELAXED);
    for (pid_t i = 0; i < EACH; i++)
        notifications_put(notifications, make(writer, i));
    return NULL;
}

static void none_is_lost_between_threads(void **state)
{
    (void)state;
    struct notifications notifications;
    pthread_t threads[WRITERS];
    pid_t next_of[WRITERS + 1] = {0};
    assert_int_equal(notifications_init(&notifications), 0);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, put_many, &notifications), 0);
    for (int got = 0; got < WRITERS * EACH;) {
        assert_true(is_ready(&notifications, 30000)); /* a lost wake hangs here */
        for (struct notification *notification = notifications_take(&notifications), *next; notification;
             notification = next, got++) {
            next = notification->next;
            assert_in_range(notification->pid, 1, WRITERS);
            assert_int_equal(notification->tid, next_of[notification->pid]++);
            notification_free(notification);
        }
    }
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    notifications_release(&notifications);
}

static unsigned free_all(struct notification *notification)
{
    unsigned count = 0;
    for (struct notification *next; notification; notification = next, count++) {
        next = notification->next;
        notification_free(notification);
    }
    return count;
}

/* What a target tells as fast as it can is held up to a bound, and counted beyond it; the next take makes room. */
static void notifications_are_bounded(void **state)
{
    (void)state;
    struct notifications notifications;
    assert_int_equal(notifications_init(&notifications), 0);
    for (unsigned i = 0; i <= NOTIFICATIONS_MANY; i++) {
        assert_false(notifications_are_many(&notifications));
        notifications_put(&notifications, make(1, 1));
    }
    assert_true(notifications_are_many(&notifications));
    for (unsigned i = 0; i < 3 * NOTIFICATIONS_MAX; i++)
        notifications_put(&notifications, make(1, 1));
    assert_int_equal(free_all(notifications_take(&notifications)), NOTIFICATIONS_MAX);
    assert_int_equal(notifications.refused, 3 * NOTIFICATIONS_MAX + NOTIFICATIONS_MANY + 1 - NOTIFICATIONS_MAX);
    assert_false(notifications_are_many(&notifications));
    notifications_put(&notifications, make(1, 1));
    assert_int_equal(free_all(notifications_take(&notifications)), 1);
    notifications_release(&notifications);
}

/* Another user's fill half of it: the rest is for the session's own. */
static void others_have_half(void **state)
{
    (void)state;
    struct notifications notifications;
    assert_int_equal(notifications_init(&notifications), 0);
    for (unsigned i = 0; i < 2 * NOTIFICATIONS_MAX; i++) {
        struct notification *notification = make(1, 1);
        notification->limited = true;
        notifications_put(&notifications, notification);
    }
    assert_int_equal(notifications.refused, 2 * NOTIFICATIONS_MAX - NOTIFICATIONS_MAX / 2);
    for (unsigned i = 0; i < NOTIFICATIONS_MAX / 2; i++)
        notifications_put(&notifications, make(1, 1));
    assert_int_equal(notifications.refused, 2 * NOTIFICATIONS_MAX - NOTIFICATIONS_MAX / 2);
    assert_int_equal(free_all(notifications_take(&notifications)), NOTIFICATIONS_MAX);
    assert_int_equal(notifications.count + notifications.others + notifications.others_bytes, 0);
    notifications_release(&notifications);
}

/* Texts of megabytes: few of them fill the queue. A task with events is there nevertheless, without its own. */
static void texts_are_bounded(void **state)
{
    (void)state;
    enum { TEXT = 1 << 20 };
    struct notifications notifications;
    struct attached events;
    assert_int_equal(notifications_init(&notifications), 0);
    for (unsigned i = 0; i < 100; i++) {
        struct notification *notification = make(1, 1);
        notification->cmdline = calloc(1, TEXT);
        notification->cmdline_size = TEXT;
        notifications_put(&notifications, notification);
    }
    assert_int_equal(notifications.refused, 100 - NOTIFICATIONS_BYTES / TEXT);
    struct notification *task = make(2, 2);
    task->events = &events;
    task->maps = strdup("maps");
    task->cmdline = calloc(1, 100);
    task->cmdline_size = 100;
    notifications_put(&notifications, task);
    assert_int_equal(notifications.cut, 1);
    assert_null(task->maps);
    assert_null(task->cmdline);
    assert_int_equal(task->cmdline_size, 0);
    assert_int_equal(notifications.bytes, NOTIFICATIONS_BYTES / TEXT * TEXT); /* its own do not count any more */
    task->events = NULL;
    assert_int_equal(free_all(notifications_take(&notifications)), NOTIFICATIONS_BYTES / TEXT + 1);
    assert_int_equal(notifications.bytes, 0);
    assert_int_equal(notifications.count, 0);
    notifications_release(&notifications);
}

static void a_process_is_let_go(void **state)
{
    (void)state;
    int fds[2];
    char byte;
    assert_int_equal(pipe(fds), 0);
    struct notification *notification = make(1, 1);
    notification->pidfd = fds[1];
    notification_free(notification);
    assert_int_equal(read(fds[0], &byte, 1), 0); /* nobody else had the other end */
    close(fds[0]);
    notification_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notifications_are_bounded),
        cmocka_unit_test(others_have_half),
        cmocka_unit_test(texts_are_bounded),
        cmocka_unit_test(oldest_first),
        cmocka_unit_test(release_frees_the_rest),
        cmocka_unit_test(a_process_is_let_go),
        cmocka_unit_test(none_is_lost_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
