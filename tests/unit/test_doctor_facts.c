/* SPDX-License-Identifier: MIT */
/* What --doctor finds out of a machine before it judges it; the trials run in children, as always. */
#define _GNU_SOURCE
#include "machine_fake.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "collector/doctor/doctor_inject.h"
#include "collector/doctor/doctor_probe.h"
#include "common/report.h"

static struct settings settings;
static struct doctor_args args;
static struct doctor_facts facts;

void doctor_inject_try(void *state)
{
    struct doctor_facts *given = state;
    given->shared->injection = -ENOSPC;
    given->shared->notified = given->shared->config_status == 0;
}

static int virtual_machine(const struct perf_event_attr *attr)
{
    return attr->type == PERF_TYPE_SOFTWARE ? 0 : -ENOENT;
}

static int user_space_only(const struct perf_event_attr *attr)
{
    return attr->exclude_kernel ? 0 : -EACCES;
}

static int refused(const struct perf_event_attr *attr)
{
    (void)attr;
    return -EPERM;
}

/* In a child of the guard. */
static int killed(const struct perf_event_attr *attr)
{
    (void)attr;
    prctl(PR_SET_DUMPABLE, 0); /* no core file */
    abort();
}

static void find(void)
{
    assert_int_equal(doctor_facts_init(&facts, &args), 0);
    assert_ptr_equal(facts.args, &args);
}

static int set_up(void **state)
{
    static char name[] = "/bin/sh", other[] = "/no/such";
    static char *command[] = {name, other, NULL};
    (void)state;
    machine_fake_init();
    facts = (struct doctor_facts){.container = ""};
    unsetenv("container");
    machine_fake_say("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000400\nCapBnd:\t0000000000000800\n"
                                          "NoNewPrivs:\t1\nSeccomp:\t2\n");
    machine_fake_say("/proc/self/uid_map", "         0          0 4294967295\n");
    machine_fake.perf = virtual_machine;
    settings = (struct settings){.frequency = 999, .command = command};
    args = (struct doctor_args){.settings = &settings, .preload = "/lib/preload.so"};
    return 0;
}

static void machine_that_works(void **state)
{
    char self[4096];
    (void)state;
    machine_fake.user = 77;
    find();
    assert_int_equal(facts.uid, 77);
    assert_int_equal(facts.paranoid, 2);
    assert_true(facts.status.capabilities == 0x400 && facts.status.bounding == 0x800);
    assert_true(facts.status.no_new_privileges && facts.status.seccomp == 2);
    assert_false(facts.user_namespace);
    assert_true(doctor_has_capability(&facts, 10));
    assert_false(doctor_has_capability(&facts, 11));
    ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);
    assert_true(size > 0);
    self[size] = '\0';
    assert_string_equal(facts.self, self);
    const struct doctor_shared *shared = facts.shared;
    assert_int_equal(shared->refusal, -EINVAL);
    assert_int_equal(shared->user, 0);
    assert_int_equal(shared->kernel, 0);
    assert_int_equal(shared->cycles, -ENOENT);
    assert_int_equal(shared->config_status, 0);
    assert_string_equal(shared->config.events[0].name, "task-clock");
    assert_int_equal(shared->ring, 0);
    assert_int_equal(shared->cost.status, -ENOTTY); /* what stands for the event cannot be started */
    assert_int_equal(shared->timer, 0);
    assert_true(shared->timer_fired);
    assert_true(facts.perf.tried && facts.config.tried && facts.cost.tried && facts.timer.tried &&
                facts.injection.tried);
    assert_int_equal(shared->injection, -ENOSPC);
    assert_true(shared->notified);
    assert_string_equal(facts.executable.path, "/bin/sh");
    doctor_facts_release(&facts);
    assert_null(facts.shared);
    doctor_facts_release(&facts);
}

static void user_sees_user_space(void **state)
{
    (void)state;
    machine_fake.perf = user_space_only;
    machine_fake_say("/proc/self/uid_map", "0 1000 1\n");
    settings.command = NULL;
    args.preload = "";
    setenv("container", "podman", 1);
    find();
    assert_true(facts.user_namespace);
    assert_false(doctor_has_capability(&facts, 10)); /* those of a user namespace do not count */
    assert_int_equal(facts.shared->user, 0);
    assert_int_equal(facts.shared->kernel, -EACCES);
    assert_int_equal(facts.shared->cycles, 0);
    assert_true(facts.shared->config.exclude_kernel);
    assert_false(facts.injection.tried);
    assert_int_equal(facts.shared->injection, -ENOSYS);
    assert_int_equal(facts.executable.path[0], '\0');
    if (access("/.dockerenv", F_OK) < 0)
        assert_string_equal(facts.container, "podman");
    doctor_facts_release(&facts);
}

static void only_timers(void **state)
{
    (void)state;
    machine_fake.perf = refused;
    machine_fake.refusal = -EPERM;
    machine_fake_sysctl("perf_event_paranoid", NULL);
    setenv("container", "lxc", 1);
    find();
    assert_true(facts.paranoid == INT64_MIN);
    assert_int_equal(facts.shared->refusal, -EPERM);
    assert_true(facts.shared->user == -EPERM && facts.shared->kernel == -EPERM && facts.shared->cycles == -EPERM);
    assert_int_equal(facts.shared->config_status, 0);
    assert_int_equal(facts.shared->config.source, PINJECT_SOURCE_TIMER);
    assert_false(facts.cost.tried);
    assert_true(facts.injection.tried && facts.timer.tried);
    if (access("/.dockerenv", F_OK) < 0 && access("/run/.containerenv", F_OK) < 0)
        assert_string_equal(facts.container, "");
    doctor_facts_release(&facts);
}

/* Where a file system or kernel knows no files without a name, one with a name does; else the place is no place. */
static void places_without_nameless_files(void **state)
{
    static const int unknown[] = {EOPNOTSUPP, EISDIR, ENOENT}, errors[] = {EACCES, EROFS, ENOSPC};
    char directory[] = "/tmp/pinject-unit-XXXXXX", wanted[64];
    (void)state;
    assert_non_null(mkdtemp(directory));
    setenv("TMPDIR", directory, 1);
    for (unsigned i = 0; i < 3; i++) {
        struct doctor_finding finding = {0};
        machine_fake.tmpfile_error = unknown[i];
        machine_fake.fallocate_calls = 0;
        doctor_segment(&facts, &finding);
        assert_int_equal(finding.level, DOCTOR_OK);
        assert_non_null(strstr(finding.value, "/dev/shm has room for the "));
        assert_string_equal(finding.meaning, "");
        finding = (struct doctor_finding){0};
        machine_fake.fallocate_calls = 0;
        machine_fake.fallocate_errors[0] = ENOSPC; /* the next place */
        doctor_segment(&facts, &finding);
        assert_int_equal(finding.level, DOCTOR_NOTE);
        assert_non_null(strstr(finding.value, directory));
        machine_fake.fallocate_errors[0] = 0;
        finding = (struct doctor_finding){0};
        machine_fake.tmpfile_error = errors[i];
        doctor_segment(&facts, &finding);
        assert_int_equal(finding.level, DOCTOR_REFUSED);
        snprintf(wanted, sizeof(wanted), "%s: %s", directory, strerror(errors[i]));
        assert_non_null(strstr(finding.meaning, wanted));
        assert_null(strstr(finding.remedy, "ulimit"));
    }
    assert_int_equal(rmdir(directory), 0); /* nothing is left there */
    unsetenv("TMPDIR");
}

/* No timer fits into what may be pending: that is told, and nobody waits for its ticks. */
static void no_timer(void **state)
{
    (void)state;
    struct rlimit before;
    assert_int_equal(prlimit(0, RLIMIT_SIGPENDING, NULL, &before), 0);
    assert_int_equal(prlimit(0, RLIMIT_SIGPENDING, &(struct rlimit){0, before.rlim_max}, NULL), 0);
    find();
    assert_int_equal(prlimit(0, RLIMIT_SIGPENDING, &before, NULL), 0);
    assert_true(facts.timer.tried);
    assert_int_equal(facts.shared->timer, -EAGAIN);
    assert_false(facts.shared->timer_fired);
    assert_int_equal(facts.shared->memory_read, 0);
    doctor_facts_release(&facts);
}

/* Where the first call kills, none is made again. */
static void call_that_kills(void **state)
{
    (void)state;
    machine_fake.perf = killed;
    find();
    assert_false(facts.perf.tried);
    assert_int_equal(facts.perf.signal, 6);
    assert_false(facts.config.tried || facts.cost.tried || facts.injection.tried);
    assert_true(facts.timer.tried);
    assert_true(facts.shared->user == -ENOSYS && facts.shared->kernel == -ENOSYS && facts.shared->cycles == -ENOSYS);
    assert_true(facts.shared->config_status == -ENOSYS && facts.shared->injection == -ENOSYS);
    doctor_facts_release(&facts);
}

static void nothing_to_sample(void **state)
{
    (void)state;
    settings.stat = true;
    find();
    assert_int_equal(facts.shared->ring, 0);
    assert_false(facts.cost.tried);
    doctor_facts_release(&facts);
    settings.stat = false;
    settings.frequency = 0; /* no event configuration */
    find();
    assert_true(facts.config.tried);
    assert_int_equal(facts.shared->config_status, -EINVAL);
    assert_string_equal(facts.config.said, "a frequency of 0 Hz takes no samples; use -F 1 or more, or --stat");
    assert_false(facts.cost.tried);
    assert_false(facts.shared->notified);
    doctor_facts_release(&facts);
}

/* What cannot be tried has a reason, and no figures. */
static void no_cost(void **state)
{
    struct event_config config = {.count = 1, .ring_pages = 1};
    struct doctor_cost cost = {.samples = 77};
    (void)state;
    machine_fake.perf = refused;
    config.events[0].attr = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK};
    doctor_try_cost(&config, &cost);
    assert_int_equal(cost.status, -EPERM);
    config.events[0].attr.type = PERF_TYPE_HARDWARE;
    cost.status = 0;
    doctor_try_cost(&config, &cost);
    assert_int_equal(cost.status, -EPERM);
    config.events[0].attr.type = PERF_TYPE_SOFTWARE;
    config.events[0].attr.config = PERF_COUNT_SW_PAGE_FAULTS; /* they do not come by themselves */
    doctor_try_cost(&config, &cost);
    assert_int_equal(cost.status, -EOPNOTSUPP);
    config.events[0].attr.type = PERF_TYPE_TRACEPOINT;
    config.events[0].attr.config = PERF_COUNT_SW_TASK_CLOCK;
    cost.status = 0;
    doctor_try_cost(&config, &cost);
    assert_int_equal(cost.status, -EOPNOTSUPP);
    assert_int_equal(cost.samples, 77);
}

int main(void)
{
    report_program("pinject-run");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(machine_that_works, set_up),
        cmocka_unit_test_setup(user_sees_user_space, set_up),
        cmocka_unit_test_setup(only_timers, set_up),
        cmocka_unit_test_setup(call_that_kills, set_up),
        cmocka_unit_test_setup(nothing_to_sample, set_up),
        cmocka_unit_test_setup(no_timer, set_up),
        cmocka_unit_test_setup(places_without_nameless_files, set_up),
        cmocka_unit_test_setup(no_cost, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
