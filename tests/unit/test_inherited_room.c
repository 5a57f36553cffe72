/* SPDX-License-Identifier: MIT */
/* The room that the rings of inherited sets may have: memory that is refused, limits of all rings, their order. */
#include "worker_fake.h"

#include "collector/sources/inherited.h"

static struct fake fake;

static unsigned opened_on_others, late_rings; /* events of other tasks; shared mappings since */

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    opened_on_others += number == SYS_perf_event_open && b > 0;
    return __real_syscall(number, a, b, c, d, e, f);
}

static size_t largest = SIZE_MAX; /* of a shared mapping that is allowed */
static int refusal;
static unsigned refused;

void *__real_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    late_rings += flags & MAP_SHARED && opened_on_others > 0;
    if (!(flags & MAP_SHARED) || size <= largest)
        return __real_mmap(at, size, protection, flags, fd, offset);
    refused++;
    errno = refusal;
    return MAP_FAILED;
}

static long cpus; /* of the machine; 0: as it is */

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_CONF && cpus ? cpus : __real_sysconf(name);
}

/*
 * So many rings, and so many bytes of them; one inherited set may have more rings. Nothing is begun for one too many.
 */
static void rings_are_bounded(void **state)
{
    enum { RINGS = 4096, PAGES = 2, BYTES = 256 << 20 };
    (void)state;
    const pid_t child = fork(), pid = getpid();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    fake_open(&fake);
    struct inherited_sets *sets = fake.session.inherited_sets;
    int first = inherited_open(sets, pid, pid, INHERIT_RUNS);
    const unsigned fds = check_open_fds();
    const uint64_t bytes = fake.session.ring_bytes;
    refused = 0;
    largest = 0; /* who comes so far finds out */
    refusal = EINVAL;
    cpus = RINGS;
    int full = inherited_open(sets, child, child, INHERIT_RUNS);
    const unsigned begun = refused;
    cpus = RINGS - __real_sysconf(_SC_NPROCESSORS_CONF);
    int room = inherited_open(sets, child, child, INHERIT_RUNS);
    largest = SIZE_MAX;
    cpus = 0;
    fake_close(&fake);
    fake_open(&fake);
    largest = 0;
    cpus = 2 * RINGS; /* none is there yet: one inherited set may have them */
    int alone = inherited_open(fake.session.inherited_sets, child, child, INHERIT_RUNS);
    cpus = BYTES / PAGES / __real_sysconf(_SC_PAGESIZE) + 1;
    int large = inherited_open(fake.session.inherited_sets, child, child, INHERIT_RUNS);
    cpus = 0;
    largest = SIZE_MAX;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(fake.session.ring_bytes == 0);
    fake_close(&fake);
    if (first == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(first, 0);
    assert_true(fds > 0 && bytes > 0);
    assert_int_equal(full, -ENOMEM);
    assert_int_equal(begun, 0);
    assert_int_equal(room, -EINVAL); /* by the mapping */
    assert_int_equal(alone, -EINVAL);
    assert_int_equal(large, -ENOMEM);
}

/* Where memory may not be locked, or there is none, smaller rings are tried. */
static void rings_get_smaller(void **state)
{
    static const int errors[] = {EPERM, ENOMEM, EINVAL};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        fake_open(&fake);
        refused = 0;
        refusal = errors[i];
        largest = 3 * page;
        int status = inherited_open(fake.session.inherited_sets, getpid(), getpid(), INHERIT_RUNS);
        largest = SIZE_MAX;
        if (status == -EPERM && geteuid() != 0 && refusal != EPERM)
            skip();
        if (refusal == EINVAL) {
            assert_int_equal(status, -EINVAL);
            assert_int_equal(refused, 1);
        } else {
            assert_int_equal(status, 0);
            assert_true(refused > 1);
            assert_int_equal(fake.session.ring_bytes % (3 * page), 0); /* of two pages, on each CPU */
            assert_true(fake.session.ring_bytes > 0);
        }
        fake_close(&fake);
    }
}

/* A ring takes the kernel some ms, in which the task makes others: all are there before its first event. */
static void rings_come_first(void **state)
{
    (void)state;
    fake_open(&fake);
    const unsigned fds = check_open_fds();
    opened_on_others = late_rings = 0;
    int status = inherited_open(fake.session.inherited_sets, getpid(), getpid(), INHERIT_RUNS);
    const unsigned opened = opened_on_others, late = late_rings;
    const unsigned more = check_open_fds() - fds;
    fake_close(&fake);
    if (status == -EPERM && geteuid() != 0)
        skip();
    assert_int_equal(status, 0);
    assert_true(opened > 0);
    assert_int_equal(late, 0);
    assert_int_equal(more, opened + 1); /* and the pidfd: none for the rings */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_get_smaller),
        cmocka_unit_test(rings_are_bounded),
        cmocka_unit_test(rings_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
