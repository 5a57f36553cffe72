/* SPDX-License-Identifier: MIT */
/* Rings of inherited events: when the event loop waits for them, and when it reads them by the clock. */
#include "check.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collector/ring_watch.h"
#include "collector/sources/inherited.h"

#define MS UINT64_C(1000000)

static int rings = -1, epoll = -1; /* the former: readable all the time */
static bool for_all, filling;
static struct ring_watch watch;

int __wrap_inherited_fd(const struct inherited_sets *sets);
int __wrap_inherited_fd(const struct inherited_sets *sets)
{
    (void)sets;
    return rings;
}

bool __wrap_inherited_are_for_all(const struct inherited_sets *sets);
bool __wrap_inherited_are_for_all(const struct inherited_sets *sets)
{
    (void)sets;
    return for_all;
}

bool __wrap_inherited_are_filling(struct inherited_sets *sets);
bool __wrap_inherited_are_filling(struct inherited_sets *sets)
{
    (void)sets;
    return filling;
}

static bool is_waited_for(void)
{
    struct pollfd waits = {.fd = epoll, .events = POLLIN};
    return poll(&waits, 1, 0) > 0;
}

static int set_up(void **state)
{
    (void)state;
    rings = eventfd(1, EFD_CLOEXEC);
    epoll = epoll_create1(EPOLL_CLOEXEC);
    for_all = true;
    filling = false;
    return rings < 0 || epoll < 0 || ring_watch_start(&watch, epoll, NULL) < 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(rings);
    close(epoll);
    return 0;
}

/* By the clock: the loop does not wait for the rings, and never sleeps for long. */
static void check_by_clock(bool by_clock)
{
    assert_int_equal(is_waited_for(), !by_clock);
    assert_int_equal(ring_watch_wait(&watch, 100), by_clock ? 5 : 100);
    assert_int_equal(ring_watch_wait(&watch, -1), by_clock ? 5 : -1);
    assert_int_equal(ring_watch_wait(&watch, 2), 2);
}

static void by_clock_where_many_tasks_end(void **state)
{
    (void)state;
    check_by_clock(false);
    ring_watch_choose(&watch, 1000 * MS, 20);
    check_by_clock(false);
    ring_watch_choose(&watch, 1100 * MS, 29); /* 90 per second */
    check_by_clock(false);
    ring_watch_choose(&watch, 1119 * MS, 1000); /* so short a time says nothing */
    check_by_clock(false);
    ring_watch_choose(&watch, 1120 * MS, 1000);
    check_by_clock(true);
    ring_watch_choose(&watch, 1140 * MS, 1002);
    check_by_clock(true);
    ring_watch_choose(&watch, 1160 * MS, 1003);
    check_by_clock(false);
}

/* Whether the ring that is more than half full was seen while the loop gathered, or later. */
static void full_rings_are_waited_for(void **state)
{
    (void)state;
    ring_watch_choose(&watch, 1000 * MS, 1000);
    check_by_clock(true);
    filling = true;
    assert_true(ring_watch_is_filling(&watch));
    filling = false;
    assert_false(ring_watch_is_filling(&watch));
    ring_watch_choose(&watch, 1001 * MS, 2000);
    check_by_clock(false);
    ring_watch_choose(&watch, 1021 * MS, 3000);
    check_by_clock(true);
}

static void tasks_with_events_of_their_own(void **state)
{
    (void)state;
    for_all = false;
    ring_watch_choose(&watch, 1000 * MS, 1000);
    check_by_clock(false);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {TEST(by_clock_where_many_tasks_end), TEST(full_rings_are_waited_for),
                                       TEST(tasks_with_events_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
