/* SPDX-License-Identifier: MIT */
/* Rings of ended tasks: which pages are unmapped when, and what is reckoned. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "collector/sources/deferred_munmap.h"
#include "collector/sources/session.h"

static struct session session;
static char *pages; /* a mapping of single pages */
static size_t page;
enum { PAGES = 80 };

static int set_up(void **state)
{
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    memset(&session, 0, sizeof(session));
    deferred_munmap_init(&session.deferred_munmap);
    session.ring_budget = UINT64_MAX;
    session.ring_bytes = 1000 * page;
    pages = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED;
}

static int tear_down(void **state)
{
    (void)state;
    deferred_munmap_release(&session.deferred_munmap);
    return munmap(pages, PAGES * page);
}

static void add(unsigned from, unsigned count)
{
    deferred_munmap_add(&session, pages + from * page, count * page);
}

static void expect(const char *mapped, unsigned bytes_less)
{
    unsigned char resident;
    for (unsigned i = 0; mapped[i]; i++) {
        bool there = mincore(pages + i * page, page, &resident) == 0;
        if (there != (mapped[i] == '#'))
            fail_msg("page %u is %s, wanted: %s", i, there ? "there" : "gone", mapped);
    }
    assert_int_equal(session.ring_bytes, (1000 - bytes_less) * page);
}

static void pages_go_at_the_end(void **state)
{
    (void)state;
    add(4, 2);
    add(0, 1);
    add(1, 2);
    add(9, 1);
    expect("##########", 0);
    deferred_munmap_run(&session);
    expect("...#..###.#", 6);
    assert_int_equal(session.deferred_munmap.count, 0);
    deferred_munmap_run(&session);
    expect("...#..###.#", 6);
}

/* What lies behind a ring, and was a ring once, is somebody else's by now. */
static void neighbours_of_before_stay(void **state)
{
    (void)state;
    add(0, 1);
    add(1, 1);
    deferred_munmap_run(&session);
    expect("..###", 2);
    assert_true(mmap(pages, 2 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == pages);
    add(0, 1);
    deferred_munmap_run(&session);
    expect(".####", 3);
}

static void many_go_at_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < DEFERRED_RINGS - 1; i++)
        add(2 * i, 1);
    expect("########", 0);
    assert_int_equal(session.deferred_munmap.count, DEFERRED_RINGS - 1);
    add(2 * (DEFERRED_RINGS - 1), 1);
    assert_int_equal(session.deferred_munmap.count, 0);
    expect(".#.#.#.#", DEFERRED_RINGS);
}

static void scarce_memory_is_given_back(void **state)
{
    (void)state;
    session.ring_budget = 4000 * page;
    add(0, 1);
    expect("##", 0); /* a quarter, and no more */
    session.ring_bytes++;
    deferred_munmap_add(&session, pages + page, page);
    session.ring_bytes--;
    expect("..#", 2);
    session.ring_budget = UINT64_MAX;
    add(2, 1);
    expect("..#", 2);
    deferred_munmap_run(&session);
    expect("...#", 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pages_go_at_the_end),
        TEST(neighbours_of_before_stay),
        TEST(many_go_at_once),
        TEST(scarce_memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
