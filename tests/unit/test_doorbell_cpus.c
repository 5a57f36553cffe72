/* SPDX-License-Identifier: MIT */
/* Which CPU rings where, on machines that the test makes up; and what a session leaves mapped. */
#include "worker_fake.h"

#include <sched.h>

static const unsigned *allowed; /* CPUs, up to the first that is not below PINJECT_CPUS */
static bool is_known;           /* the kernel tells of them */

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *ret)
{
    assert_int_equal(pid, getpid()); /* its first thread's */
    assert_true(size >= PINJECT_CPUS / 8);
    memset(ret, 0, size);
    for (const unsigned *cpu = allowed; is_known && *cpu < PINJECT_CPUS; cpu++)
        CPU_SET_S(*cpu, size, ret);
    errno = EINVAL;
    return is_known ? (int)size : -1;
}

static struct session session;

static void assign(const unsigned *cpus)
{
    allowed = cpus;
    is_known = true;
    memset(session.segment, 0xee, sizeof(*session.segment));
    worker_assign_doorbells(&session);
    assert_int_equal(session.doorbells, session.segment->doorbells_used);
}

static void each_cpu_has_a_doorbell(void **state)
{
    static const unsigned some[] = {1, 3, PINJECT_CPUS - 1, PINJECT_CPUS}, one[] = {5, PINJECT_CPUS},
                          none[] = {PINJECT_CPUS};
    static unsigned all[PINJECT_CPUS + 1];
    (void)state;
    session.segment = calloc(1, sizeof(*session.segment));
    assert_non_null(session.segment);
    const uint8_t *doorbells = session.segment->doorbell_of_cpu;
    assign(some);
    assert_int_equal(session.doorbells, 3);
    assert_true(doorbells[1] == 0 && doorbells[3] == 1 && doorbells[PINJECT_CPUS - 1] == 2);
    assert_int_equal(doorbells[0], 0xee); /* we do not run there */
    assign(one);
    assert_int_equal(session.doorbells, 1);
    assert_int_equal(doorbells[5], 0);
    /* More CPUs than doorbells: they share them, in turn. */
    for (unsigned i = 0; i <= PINJECT_CPUS; i++)
        all[i] = i;
    assign(all);
    assert_int_equal(session.doorbells, PINJECT_DOORBELLS);
    for (unsigned i = 0; i < PINJECT_CPUS; i++)
        assert_int_equal(doorbells[i], i % PINJECT_DOORBELLS);
    all[PINJECT_DOORBELLS - 1] = PINJECT_CPUS;
    assign(all);
    assert_int_equal(session.doorbells, PINJECT_DOORBELLS - 1);
    /* Nothing is known: the first one. */
    assign(none);
    assert_int_equal(session.doorbells, 1);
    assert_int_equal(doorbells[0], 0);
    is_known = false;
    allowed = some;
    worker_assign_doorbells(&session);
    assert_int_equal(session.doorbells, 1);
    assert_int_equal(doorbells[0], 0);
    free(session.segment);
}

static bool is_mapped(const char *path)
{
    char line[8192];
    bool found = false;
    FILE *file = fopen("/proc/self/maps", "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        found = found || strstr(line, path);
    fclose(file);
    return found;
}

static void nothing_of_a_session_stays(void **state)
{
    static const unsigned first[] = {0, PINJECT_CPUS};
    static struct fake fake;
    char path[PINJECT_PATH];
    (void)state;
    allowed = first;
    is_known = true;
    fake_open(&fake);
    snprintf(path, sizeof(path), "%s", fake.session.path);
    assert_true(is_mapped(path));
    assert_int_equal(access(path, F_OK), 0);
    fake_close(&fake);
    assert_false(is_mapped(path));
    assert_int_equal(access(path, F_OK), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_cpu_has_a_doorbell),
        cmocka_unit_test(nothing_of_a_session_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
