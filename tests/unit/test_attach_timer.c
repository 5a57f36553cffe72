/* SPDX-License-Identifier: MIT */
/* Tasks that the kernel hides from us in a session with events: they get a ring for the timer fallback. */
#include "worker_fake.h"

#include "collector/config/probe.h"
#include "collector/service/service.h"

#include <fcntl.h>

enum { CHILDREN = 2 };

static struct fake fake;
static pid_t children[CHILDREN];
static int closing; /* who reads from it learns of our end */

/* As fake_open(), in a child that is uid 65534, with children that are not dumpable. */
static void must_open(void)
{
    int hidden[2], end[2];
    char byte;
    fake.settings = (struct settings){.frequency = 999, .follow = PINJECT_SESSION_ALL};
    MUST(event_config_init(&fake.config, &fake.settings) == 0);
    if (fake.config.source != PINJECT_SOURCE_PERF)
        _exit(77);
    MUST(service_init(&fake.session, &fake.settings, &fake.config, "/x") == 0);
    MUST(pipe(hidden) == 0 && pipe(end) == 0);
    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_DUMPABLE, 0);
            close(end[1]);
            MUST(write(hidden[1], "h", 1) == 1);
            _exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
        }
        MUST(read(hidden[0], &byte, 1) == 1);
    }
    closing = end[1];
}

static void must_close(void)
{
    close(closing);
    for (int i = 0; i < CHILDREN; i++)
        MUST(waitpid(children[i], NULL, 0) == children[i]);
    service_release(&fake.session);
    event_config_release(&fake.config);
}

static uint64_t clock_of(const struct attached *attached)
{
    struct attach_value values[CONFIG_EVENTS];
    attach_read(attached, values);
    return event_config_clock(&fake.config, values);
}

static struct pinject_timer_head *head_of(const struct attached *attached)
{
    return rings_head(&fake.session.rings, attached->number);
}

static void check_fallback(void)
{
    struct attached *attached, *again;
    must_open();
    pid_t pid = children[0];
    MUST(attach_open(&fake.session, pid, pid, NULL, ATTACH_RUNNING, &attached) == -EACCES);
    MUST(!attach_has_timer(&fake.session, pid) && !rings_are_needed(&fake.session));
    MUST(access(fake.session.rings.path, F_OK) < 0);
    MUST(attach_open_timer(&fake.session, pid, pid, -EACCES, &attached) == 0);
    MUST(attached->timer && attached->refusal == -EACCES && attached->ring_error == 0);
    MUST(attach_has_timer(&fake.session, pid) && attach_knows(&fake.session, pid, pid, NULL));
    MUST(attach_open(&fake.session, pid, pid, NULL, ATTACH_RUNNING, &again) == -EEXIST);
    MUST(!fake_covered(&fake.session, pid)); /* its next exec generation has to ask */
    attach_complete(attached);
    for (unsigned i = 0; i < fake.config.count; i++)
        MUST(!attached->ids[i] == !(attach_timer_counts(&fake.config, i)));
    MUST(clock_of(attached) == 0);
    int answer = attach_answer(&fake.session, pid, 1000);
    MUST(answer == attached->number + 1 && answer > 0 && access(fake.session.rings.path, F_OK) == 0);
    MUST(head_of(attached)->id == attached->ids[attach_timer_event(&fake.config)]);
    MUST(head_of(attached)->flags & PINJECT_TIMER_SAMPLES);
    head_of(attached)->cpu_ns = 51000;
    MUST(clock_of(attached) == 50000);
    MUST(attach_answer(&fake.session, pid, 60000) == answer && clock_of(attached) == 50000);
    struct pollfd end = {.fd = attached->end_fd, .events = POLLIN};
    MUST(poll(&end, 1, 0) == 0);
    attach_free(attached);
    MUST(!attach_has_timer(&fake.session, pid));
    char path[PINJECT_PATH];
    snprintf(path, sizeof(path), "%.4000s", fake.session.rings.path);
    must_close();
    MUST(access(path, F_OK) < 0);
}

/* Its clock goes on in the ring of the first thread, where what was counted of it is not counted again. */
static void check_thread_that_execs(void)
{
    struct attached *first, *thread;
    must_open();
    pid_t pid = children[0], tid = children[1];
    MUST(attach_open_timer(&fake.session, pid, pid, -EACCES, &first) == 0);
    MUST(attach_open_timer(&fake.session, pid, tid, -EACCES, &thread) == 0);
    MUST(attach_answer(&fake.session, pid, 5000) > 0 && attach_answer(&fake.session, tid, 0) > 0);
    head_of(first)->cpu_ns = 20000;
    head_of(thread)->cpu_ns = 50000;
    attach_retire(&fake.session, thread); /* ended by itself */
    MUST(attach_answer(&fake.session, pid, 0) > 0 && clock_of(first) == 15000);
    attach_free(thread);
    MUST(attach_open_timer(&fake.session, pid, tid, -EACCES, &thread) == 0 && attach_answer(&fake.session, tid, 0) > 0);
    head_of(thread)->cpu_ns = 50000;
    head_of(thread)->execs = 1;
    attach_retire(&fake.session, thread);
    attach_free(thread);
    MUST(clock_of(first) == 15000);
    MUST(attach_answer(&fake.session, pid, 51000) > 0 && clock_of(first) == 15000);
    head_of(first)->cpu_ns = 57000;
    MUST(clock_of(first) == 22000);
    attach_free(first);
    must_close();
}

/* 0: a random one */
static uint64_t name_of_rings;

ssize_t __real_getrandom(void *buffer, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags);
ssize_t __wrap_getrandom(void *buffer, size_t size, unsigned flags)
{
    if (!name_of_rings || size != sizeof(name_of_rings))
        return __real_getrandom(buffer, size, flags);
    memcpy(buffer, &name_of_rings, size);
    return (ssize_t)size;
}

static void must_create(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    MUST(fd >= 0);
    close(fd);
}

/* All see the path of the segment: who creates what is named after it alone takes nothing. */
static void check_path_is_not_known(void)
{
    struct attached *attached;
    char path[PINJECT_PATH];
    must_open();
    snprintf(path, sizeof(path), "%.4000s%s", fake.session.path, PINJECT_RINGS_SUFFIX);
    must_create(path);
    MUST(fake.session.segment->rings == 0);
    MUST(attach_open_timer(&fake.session, children[0], children[0], -EPERM, &attached) == 0);
    MUST(attached->ring_error == 0 && attach_answer(&fake.session, children[0], 1000) > 0);
    MUST(fake.session.segment->rings == fake.session.rings.name && fake.session.rings.name != 0);
    attach_free(attached);
    must_close();
    MUST(unlink(path) == 0);
}

/* The file is somebody else's: nobody has a ring, and all are known. */
static void check_no_rings(void)
{
    struct attached *attached;
    char path[PINJECT_PATH];
    must_open();
    name_of_rings = 42;
    snprintf(path, sizeof(path), "%.4000s%s.42", fake.session.path, PINJECT_RINGS_SUFFIX);
    must_create(path);
    for (int i = 0; i < CHILDREN; i++) {
        MUST(attach_open_timer(&fake.session, children[i], children[i], -EPERM, &attached) == 0);
        MUST(attached->ring_error == -EEXIST);
        MUST(attach_answer(&fake.session, children[i], 1000) == 0 && attached->number < 0);
        MUST(clock_of(attached) == 0);
        attach_free(attached);
    }
    MUST(fake.session.segment->rings == 0);
    must_close();
    MUST(access(path, F_OK) == 0); /* not ours to remove */
    unlink(path);
}

/* Where stdin is closed, what tells an end may have its number. */
static void check_descriptor_of_stdin(void)
{
    struct attached *first, *second;
    must_open();
    MUST(attach_open_timer(&fake.session, children[0], children[0], -EACCES, &first) == 0);
    uint64_t taken = fake.session.pressure.descriptors;
    MUST(first->descriptors == 1 && taken == 1);
    close(0);
    MUST(attach_open_timer(&fake.session, children[1], children[1], -EACCES, &second) == 0);
    MUST(second->end_fd == 0 && second->descriptors == 1);
    MUST(fake.session.pressure.descriptors == 2);
    attach_free(second);
    MUST(fcntl(0, F_GETFD) < 0 && fake.session.pressure.descriptors == 1);
    attach_free(first);
    MUST(fake.session.pressure.descriptors == 0);
    must_close();
}

static void a_timer_is_the_fallback(void **state)
{
    (void)state;
    fake_unprivileged(check_fallback);
}

static void a_thread_that_execs(void **state)
{
    (void)state;
    fake_unprivileged(check_thread_that_execs);
}

static void the_path_is_not_known(void **state)
{
    (void)state;
    fake_unprivileged(check_path_is_not_known);
}

static void no_rings(void **state)
{
    (void)state;
    fake_unprivileged(check_no_rings);
}

static void descriptor_of_stdin(void **state)
{
    (void)state;
    fake_unprivileged(check_descriptor_of_stdin);
}

static void which_events_timers_know(void **state)
{
    (void)state;
    struct event_config config = {.count = 4, .sampling = 2};
    config.events[0].samples = config.events[1].samples = true;
    config.events[0].attr = probe_attr(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    config.events[1].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
    config.events[2].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    config.events[3].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS);
    assert_int_equal(attach_timer_event(&config), 1);
    assert_false(attach_timer_counts(&config, 0));
    assert_true(attach_timer_counts(&config, 1) && attach_timer_counts(&config, 2));
    assert_false(attach_timer_counts(&config, 3));
    config.events[1].attr.exclude_kernel = config.events[2].attr.exclude_kernel = 1;
    assert_int_equal(attach_timer_event(&config), 1);
    assert_true(attach_timer_counts(&config, 1));
    assert_false(attach_timer_counts(&config, 2)); /* getrusage() leaves nothing out */
    config.events[1].attr.exclude_user = 1;
    assert_int_equal(attach_timer_event(&config), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_timer_is_the_fallback), cmocka_unit_test(a_thread_that_execs),
        cmocka_unit_test(the_path_is_not_known),   cmocka_unit_test(no_rings),
        cmocka_unit_test(descriptor_of_stdin),     cmocka_unit_test(which_events_timers_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
