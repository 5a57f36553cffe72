/* SPDX-License-Identifier: MIT */
/* What a request says: each word of it is checked, and gets to where it belongs. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <stdbool.h>

#include "collector/service/channel.h"
#include "collector/service/request.h"
#include "collector/sources/session.h"
#include "collector/system/procfs.h"
#include "common/clock.h"

#define SECOND UINT64_C(1000000000)
#define BEFORE (60 * SECOND) /* CPU time of a task from before the session */

static struct settings settings;
static struct session session;
static struct channel channel;
static struct pinject_slot slot;
static struct request request;
static bool no_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return no_memory ? NULL : __real_calloc(count, size);
}

static int set_up(void **state)
{
    (void)state;
    memset(&session, 0, sizeof(session));
    memset(&slot, 0, sizeof(slot));
    memset(&request, 0xff, sizeof(request));
    session.start_ns = clock_ns(CLOCK_MONOTONIC) - SECOND;
    session.cpus = 2;
    session.settings = &settings;
    settings.bare = true;
    channel = (struct channel){.session = &session, .own = true, .user = 77};
    slot.kind = PINJECT_REAPED;
    slot.pid = 300;
    slot.tid = 400;
    return notifications_init(&session.notifications);
}

static int tear_down(void **state)
{
    (void)state;
    notifications_release(&session.notifications);
    return 0;
}

static void words_get_to_their_places(void **state)
{
    struct notification *notification;
    (void)state;
    slot.flags = PINJECT_REQUEST_NO_REPLY;
    slot.ppid = 200;
    slot.parent_tid = 201;
    slot.time_ns = session.start_ns + 5;
    slot.startup_ns = 6;
    slot.utime_ns = 7;
    slot.stime_ns = 8;
    slot.switches = 9;
    slot.status = 10;
    memset(slot.comm, 'c', sizeof(slot.comm)); /* no NUL */
    memset(slot.program, 'p', sizeof(slot.program));
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(request_copy(&session, &slot, &request), 0);
        request.late = turn;
        channel.own = turn;
        assert_int_equal(request_begin(&channel, &request, &notification), 0);
        assert_non_null(notification);
        assert_int_equal(notification->kind, PINJECT_REAPED);
        assert_int_equal(notification->flags, PINJECT_REQUEST_NO_REPLY);
        assert_true(notification->pid == 300 && notification->tid == 400 && notification->ppid == 200 &&
                    notification->parent_tid == 201);
        assert_int_equal(notification->time_ns, session.start_ns + 5);
        assert_true(notification->startup_ns == 6 && notification->utime_ns == 7 && notification->stime_ns == 8);
        assert_true(notification->switches == 9 && notification->status == 10 && notification->result == 0);
        assert_string_equal(notification->comm, "ccccccccccccccc");
        assert_string_equal(notification->program, "ppppppppppppppp");
        assert_true(notification->late == turn && notification->limited == !turn && notification->user == 77);
        assert_true(!notification->gone && !notification->attached_late && !notification->inherited &&
                    !notification->events && !notification->values);
        assert_int_equal(notification->pidfd, -1);
        notification_free(notification);
    }
    assert_int_equal(session.no_memory + session.denied + session.ended, 0);
}

static void no_memory_is_counted(void **state)
{
    struct notification *notification = (struct notification *)&session;
    (void)state;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    no_memory = true;
    int status = request_begin(&channel, &request, &notification);
    no_memory = false;
    assert_int_equal(status, -ENOMEM);
    assert_null(notification);
    assert_int_equal(session.no_memory, 1);
}

static void expect_refused(void)
{
    assert_int_equal(request_copy(&session, &slot, &request), -EINVAL);
}

static void tasks_that_cannot_be(void **state)
{
    (void)state;
    struct pinject_slot right = slot;
    static const int32_t numbers[] = {0, -1, INT32_MIN, PINJECT_TASKS, INT32_MAX};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        slot.pid = numbers[i];
        expect_refused();
        slot = right;
        slot.tid = numbers[i];
        assert_int_equal(request_copy(&session, &slot, &request), 0); /* whoever waited */
        slot.kind = PINJECT_THREAD;
        expect_refused();
        slot = right;
    }
    slot.pid = slot.tid = PINJECT_TASKS - 1;
    slot.kind = PINJECT_THREAD;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    slot = right;
    slot.ppid = -1;
    expect_refused();
    slot = right;
    slot.parent_tid = -1;
    expect_refused();
    slot = right;
    slot.kind = PINJECT_PROCESS - 1;
    expect_refused();
    slot.kind = PINJECT_KINDS;
    expect_refused();
    slot.kind = PINJECT_BECOME;
    slot.user = UINT32_MAX;
    expect_refused();
    slot.user--;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_int_equal(request.slot.user, UINT32_MAX - 1);
    slot.kind = PINJECT_INHERIT;
    slot.user = UINT32_MAX;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    /* These are of a process' first thread. */
    static const uint32_t kinds[] = {PINJECT_FORK, PINJECT_ARM, PINJECT_SPAWN, PINJECT_PROCESS, PINJECT_GENERATION};
    for (int i = 0; i < 5; i++) {
        slot.kind = kinds[i];
        slot.tid = 400;
        expect_refused();
        slot.tid = slot.pid;
        assert_int_equal(request_copy(&session, &slot, &request), 0);
    }
}

static void times_that_cannot_be(void **state)
{
    (void)state;
    slot.time_ns = session.start_ns - 1;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_int_equal(request.slot.time_ns, session.start_ns);
    slot.time_ns = UINT64_MAX;
    uint64_t before = clock_ns(CLOCK_MONOTONIC);
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_in_range(request.slot.time_ns, before, clock_ns(CLOCK_MONOTONIC));
    slot.startup_ns = BEFORE + SECOND / 2;               /* the session is a second old */
    slot.utime_ns = slot.stime_ns = BEFORE + SECOND / 2; /* on two CPUs */
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_int_equal(request.slot.startup_ns, slot.startup_ns);
    assert_true(request.slot.utime_ns == slot.utime_ns && request.slot.stime_ns == slot.utime_ns);
    slot.startup_ns = 10 * BEFORE;
    slot.utime_ns = 10 * BEFORE;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_int_equal(request.slot.startup_ns, 0);
    assert_true(request.slot.utime_ns == 0 && request.slot.stime_ns == 0);
    slot.utime_ns = 1;
    slot.stime_ns = 10 * BEFORE;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_true(request.slot.utime_ns == 0 && request.slot.stime_ns == 0);
    /* What a launcher starts has used nothing before. */
    settings.bare = false;
    slot.startup_ns = SECOND / 2;
    slot.utime_ns = slot.stime_ns = SECOND;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_int_equal(request.slot.startup_ns, slot.startup_ns);
    assert_true(request.slot.utime_ns == slot.utime_ns && request.slot.stime_ns == slot.utime_ns);
    slot.stime_ns = SECOND + SECOND / 2; /* both together are more than two CPUs had */
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_true(request.slot.utime_ns == 0 && request.slot.stime_ns == 0);
    slot.startup_ns = slot.utime_ns = BEFORE;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_int_equal(request.slot.startup_ns, 0);
    assert_true(request.slot.utime_ns == 0 && request.slot.stime_ns == 0);
}

static void texts_that_cannot_be(void **state)
{
    (void)state;
    memset(slot.text, 'x', sizeof(slot.text));
    slot.exec_size = slot.cmdline_size = 50;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_true(request.slot.exec_size == 0 && request.slot.cmdline_size == 0); /* of this kind none is wanted */
    slot.kind = PINJECT_GENERATION;
    slot.tid = slot.pid;
    expect_refused(); /* the name has no end */
    slot.text[49] = '\0';
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_true(request.slot.exec_size == 50 && request.slot.cmdline_size == 50);
    assert_memory_equal(request.slot.text, slot.text, 100);
    assert_int_equal(request.slot.text[100], 0);
    slot.exec_size = 0;
    slot.cmdline_size = PINJECT_TEXT; /* all of it */
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    assert_memory_equal(request.slot.text, slot.text, PINJECT_TEXT);
    assert_int_equal(request.end, 0);
    slot.cmdline_size++;
    expect_refused();
    slot.exec_size = 50;
    slot.cmdline_size = PINJECT_TEXT - 49;
    expect_refused();
    slot.cmdline_size--;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    slot.exec_size = PINJECT_TEXT + 1;
    slot.cmdline_size = 0;
    expect_refused();
    slot.exec_size = UINT32_MAX;
    expect_refused();
}

/* What became of the texts of a request. */
static struct notification *finish(uint32_t kind, uint32_t flags, const char *exec)
{
    struct notification *notification = calloc(1, sizeof(*notification));
    assert_non_null(notification);
    slot.kind = notification->kind = kind;
    slot.flags = notification->flags = flags;
    slot.pid = slot.tid = getpid();
    notification->pidfd = -1;
    notification->exec = exec ? strdup(exec) : NULL;
    assert_int_equal(request_copy(&session, &slot, &request), 0);
    request_finish(&session, &request, notification);
    assert_ptr_equal(notifications_take(&session.notifications), notification);
    return notification;
}

static void texts_are_taken(void **state)
{
    (void)state;
    memcpy(slot.text, "/bin/prog\0prog\0-x\0", 18);
    slot.exec_size = 10;
    slot.cmdline_size = 8;
    struct notification *notification = finish(PINJECT_GENERATION, 0, NULL);
    assert_string_equal(notification->exec, "/bin/prog");
    assert_int_equal(notification->cmdline_size, 8);
    assert_memory_equal(notification->cmdline, "prog\0-x\0", 8);
    notification_free(notification);
    /* What the kernel said of it holds; an argument without an end gets one. */
    slot.cmdline_size = 7;
    notification = finish(PINJECT_PROCESS, 0, "/usr/bin/true");
    assert_string_equal(notification->exec, "/usr/bin/true");
    assert_int_equal(notification->cmdline_size, 8);
    assert_memory_equal(notification->cmdline, "prog\0-x\0", 8);
    notification_free(notification);
    slot.cmdline_size = 0;
    notification = finish(PINJECT_INHERIT_EXEC, 0, NULL);
    assert_string_equal(notification->exec, "/bin/prog");
    assert_true(!notification->cmdline && notification->cmdline_size == 0);
    notification_free(notification);
    notification = finish(PINJECT_REAPED, 0, NULL);
    assert_true(!notification->exec && !notification->cmdline);
    notification_free(notification);
}

/* What was too long for a slot is read in /proc, if it runs already. */
static void long_texts_are_read(void **state)
{
    size_t size;
    (void)state;
    memcpy(slot.text, "/bin/prog\0prog\0-x\0", 18);
    slot.exec_size = 10;
    slot.cmdline_size = 8;
    char *own = procfs_cmdline(getpid(), &size);
    assert_non_null(own);
    struct notification *notification = finish(PINJECT_PROCESS, PINJECT_REQUEST_TEXT_CUT, NULL);
    assert_string_equal(notification->exec, "/bin/prog");
    assert_int_equal(notification->cmdline_size, size);
    assert_memory_equal(notification->cmdline, own, size);
    notification_free(notification);
    free(own);
    notification = finish(PINJECT_INHERIT_EXEC, PINJECT_REQUEST_TEXT_CUT, NULL);
    assert_string_equal(notification->exec, "/bin/prog");
    assert_null(notification->cmdline); /* that of the program before it */
    notification_free(notification);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(words_get_to_their_places), TEST(no_memory_is_counted), TEST(tasks_that_cannot_be),
        TEST(times_that_cannot_be),      TEST(texts_that_cannot_be), TEST(texts_are_taken),
        TEST(long_texts_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
