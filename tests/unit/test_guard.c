/* SPDX-License-Identifier: MIT */
/* Somebody cuts a file that we have mapped: what is guarded reads as zeros, and other faults are whose they were. */
#include "check.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "collector/system/guard.h"

enum { REGIONS = 4096 }; /* more than there are */

static size_t page;
static sigjmp_buf back;
static volatile sig_atomic_t strikes, error; /* errno at the last one */
static bool no_memory;

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (!no_memory)
        return __real_mmap(at, size, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

static void on_fault(int signal)
{
    (void)signal;
    strikes++;
    error = errno;
    siglongjmp(back, 1);
}

/* PAGES of a file that is cut to nothing once they were written. */
static volatile char *cut_mapping(size_t pages)
{
    int fd = memfd_create("cut", MFD_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)(pages * page)), 0);
    char *at = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    memset(at, 'x', pages * page);
    assert_int_equal(ftruncate(fd, 0), 0);
    close(fd);
    return at;
}

/* Reads a byte; -1: it was struck. */
static int read_byte(volatile const char *at)
{
    return sigsetjmp(back, 1) ? -1 : *at;
}

static int set_up(void **state)
{
    (void)state;
    page = (size_t)sysconf(_SC_PAGESIZE);
    strikes = 0;
    return 0;
}

/* First in each test: cmocka has handlers of its own in between. */
static void set_handler(void)
{
    assert_true(signal(SIGBUS, on_fault) != SIG_ERR);
}

static int tear_down(void **state)
{
    (void)state;
    guard_end();
    return 0;
}

static void guarded_pages_become_zeros(void **state)
{
    (void)state;
    set_handler();
    volatile char *at = cut_mapping(3);
    assert_true(guard_begin());
    assert_true(guard_add((void *)(uintptr_t)at, 3 * page));
    errno = 77;
    const int first = read_byte(at + 3 * page - 1);
    assert_int_equal(errno, 77);
    assert_int_equal(first, 0);
    assert_int_equal(strikes, 0);
    assert_int_equal(read_byte(at), 0); /* all of it at once */
    at[page] = 'y';                     /* and it can be written */
    assert_int_equal(read_byte(at + page), 'y');
    munmap((void *)(uintptr_t)at, 3 * page);
}

/* In front of it, behind it, and of nobody: as if there were no guard, which ends with the first of them. */
static void other_faults_are_told_to_whom_they_belong(void **state)
{
    (void)state;
    set_handler();
    for (int i = 0; i < 3; i++) {
        volatile char *at = cut_mapping(3);
        assert_true(guard_begin());
        if (i < 2)
            assert_true(guard_add((void *)(uintptr_t)(at + page), page));
        assert_int_equal(read_byte(i == 0 ? at + page - 1 : at + 2 * page), -1);
        assert_int_equal(strikes, i + 1);
        munmap((void *)(uintptr_t)at, 3 * page);
        guard_end();
    }
}

/* There is no memory for zeros: it strikes as it would without us, and what it interrupted keeps its errno. */
static void pages_that_cannot_be_replaced(void **state)
{
    (void)state;
    set_handler();
    volatile char *at = cut_mapping(1);
    assert_true(guard_begin());
    assert_true(guard_add((void *)(uintptr_t)at, page));
    no_memory = true;
    errno = 77;
    const int got = read_byte(at);
    no_memory = false;
    assert_int_equal(got, -1);
    assert_int_equal(strikes, 1);
    assert_int_equal(error, 77);
    munmap((void *)(uintptr_t)at, page);
}

static void one_guard_at_a_time(void **state)
{
    struct sigaction action;
    (void)state;
    set_handler();
    char place[8];
    assert_false(guard_add(place, sizeof(place))); /* nobody guards */
    assert_true(guard_begin());
    assert_false(guard_begin());
    guard_end();
    assert_int_equal(sigaction(SIGBUS, NULL, &action), 0);
    assert_true(action.sa_handler == on_fault);
    guard_end(); /* of nothing: nor is what was set since then changed */
    signal(SIGBUS, SIG_DFL);
    guard_end();
    assert_int_equal(sigaction(SIGBUS, NULL, &action), 0);
    assert_true(action.sa_handler == SIG_DFL);
    /* The regions are forgotten with it. */
    set_handler();
    volatile char *at = cut_mapping(1);
    assert_true(guard_begin());
    assert_true(guard_add((void *)(uintptr_t)at, page));
    guard_end();
    assert_true(guard_begin());
    assert_int_equal(read_byte(at), -1);
    munmap((void *)(uintptr_t)at, page);
}

/* There is room for so many; those that are there stay guarded. */
static void too_many_regions(void **state)
{
    unsigned count = 1;
    (void)state;
    set_handler();
    char place[8];
    volatile char *at = cut_mapping(1);
    assert_true(guard_begin());
    while (count < REGIONS && guard_add(place, sizeof(place)))
        count++;
    assert_in_range(count, 2, REGIONS - 1);
    guard_end();
    assert_true(guard_begin());
    for (unsigned i = 1; i < count - 1; i++)
        assert_true(guard_add(place, sizeof(place)));
    assert_true(guard_add((void *)(uintptr_t)at, page)); /* the last one */
    assert_false(guard_add(place, sizeof(place)));
    assert_int_equal(read_byte(at), 0);
    munmap((void *)(uintptr_t)at, page);
}

/* What is not guarded any more takes no place; a mapping of another size does not get it. */
static void places_are_given_back(void **state)
{
    (void)state;
    set_handler();
    char place[8];
    volatile char *at = cut_mapping(1);
    assert_true(guard_begin());
    while (guard_add(place, sizeof(place)))
        ;
    guard_remove(place, sizeof(place) + 1);
    guard_remove(place + 1, sizeof(place));
    assert_false(guard_add(place, sizeof(place)));
    guard_remove(place, sizeof(place));
    assert_false(guard_add((void *)(uintptr_t)at, page));
    for (int i = 0; i < 3 * REGIONS; i++) {
        assert_true(guard_add(place, sizeof(place)));
        assert_false(guard_add(place, sizeof(place)));
        guard_remove(place, sizeof(place));
    }
    guard_end();
    assert_true(guard_begin());
    assert_true(guard_add((void *)(uintptr_t)at, page));
    guard_remove((void *)(uintptr_t)at, page);
    assert_int_equal(read_byte(at), -1);
    assert_int_equal(strikes, 1);
    munmap((void *)(uintptr_t)at, page);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(guarded_pages_become_zeros),
        TEST(other_faults_are_told_to_whom_they_belong),
        TEST(pages_that_cannot_be_replaced),
        TEST(one_guard_at_a_time),
        TEST(too_many_regions),
        TEST(places_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
