/* SPDX-License-Identifier: MIT */
/* Breakpoints on symbols of a position-independent program: their address in each process. Without a kernel. */
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/config/probe.h"
#include "collector/sources/attach.h"
#include "collector/sources/attach_table.h"
#include "collector/sources/session.h"

enum { CLOCK, WRITES, CALLS, EVENTS, FD = 1000, BIAS = 0x5000, NOWHERE = PROBE_NOWHERE };
enum { WRITTEN = 0x4010, CALLED = 0x1139 };

static struct {
    unsigned moves, stops;
    struct perf_event_attr attrs[EVENTS];
    bool armed;  /* an event that still waits for its exec */
    bool refuse; /* everything */
} kernel;

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    const struct perf_event_attr *attr = va_arg(list, const struct perf_event_attr *);
    va_end(list);
    assert_in_range(fd, FD, FD + EVENTS - 1);
    if (request == PERF_EVENT_IOC_DISABLE) {
        kernel.stops++;
        return 0;
    }
    assert_int_equal(request, PERF_EVENT_IOC_MODIFY_ATTRIBUTES);
    kernel.moves++;
    kernel.attrs[fd - FD] = *attr;
    if (!kernel.refuse && attr->enable_on_exec == kernel.armed)
        return 0;
    errno = EINVAL;
    return -1;
}

static struct event_spec specs[EVENTS];
static struct event_config config;
static struct settings settings;
static struct session session;

static void add_breakpoint(unsigned index, uint64_t address)
{
    specs[index] = (struct event_spec){.relative = true};
    config.events[index].attr = probe_attr(PERF_TYPE_BREAKPOINT, 0);
    config.events[index].attr.bp_addr = address;
    config.events[index].spec = &specs[index];
    config.events[index].leader = index;
}

/* The program is this one, as if it was linked at AT_PHDR - BIAS. */
static int set_up(void **state)
{
    static struct event_program program;
    struct stat info;
    (void)state;
    memset(&kernel, 0, sizeof(kernel));
    memset(&config, 0, sizeof(config));
    memset(&session, 0, sizeof(session));
    assert_int_equal(stat("/proc/self/exe", &info), 0);
    program = (struct event_program){info.st_dev, info.st_ino, getauxval(AT_PHDR) - BIAS};
    config.count = EVENTS;
    config.program = &program;
    config.events[CLOCK].attr = probe_attr(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    add_breakpoint(WRITES, WRITTEN);
    add_breakpoint(CALLS, CALLED);
    session.config = &config;
    session.settings = &settings;
    session.segment = calloc(1, sizeof(*session.segment));
    assert_non_null(session.segment);
    attach_table_init(&session.table);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    attach_table_release(&session.table);
    free(session.segment);
    return 0;
}

/* The task of this process. */
static struct attached *new_task(enum attach_how how)
{
    struct attached *attached = attach_new(EVENTS);
    assert_non_null(attached);
    attached->session = &session;
    attached->pid = attached->tid = attached->key = getpid();
    attached->end_fd = -1;
    for (int i = 0; i < EVENTS; i++)
        attached->fds[i] = FD + i;
    assert_int_equal(attach_place_init(attached, how), 0);
    for (unsigned i = 0; i < EVENTS; i++) {
        struct perf_event_attr attr = config.events[i].attr;
        attr.disabled = attr.enable_on_exec = how == ATTACH_ON_EXEC;
        attach_place_attr(attached, i, &attr);
        attach_place_opened(attached, i, &attr);
        kernel.attrs[i] = attr;
    }
    assert_int_equal(attach_table_enter(&session, attached), 0);
    return attached;
}

static void free_task(struct attached *attached)
{
    attach_retire(&session, attached);
    free(attached->places);
    free(attached->periods);
    free(attached);
}

static void check_addresses(uint64_t bias)
{
    assert_int_equal(kernel.attrs[CLOCK].bp_addr, 0);
    assert_int_equal(kernel.attrs[WRITES].bp_addr, bias ? bias + WRITTEN : NOWHERE);
    assert_int_equal(kernel.attrs[CALLS].bp_addr, bias ? bias + CALLED : NOWHERE);
}

static void opened_where_the_program_is(void **state)
{
    (void)state;
    struct event_program other = *config.program;
    struct attached *attached = new_task(ATTACH_RUNNING);
    check_addresses(BIAS);
    /* The kernel would set it, and compare it later. */
    assert_true(kernel.attrs[WRITES].sample_max_stack > 0 && kernel.attrs[CLOCK].sample_max_stack == 0);
    free_task(attached);
    attached = new_task(ATTACH_ON_EXEC); /* nobody knows where the next program will be */
    check_addresses(0);
    free_task(attached);
    other.inode++;
    config.program = &other; /* this process runs another program */
    attached = new_task(ATTACH_RUNNING);
    check_addresses(0);
    free_task(attached);
    config.program = NULL; /* no event is on such a symbol */
    attached = new_task(ATTACH_RUNNING);
    assert_null(attached->places);
    assert_int_equal(kernel.attrs[WRITES].bp_addr, WRITTEN);
    attach_place(&session, getpid(), getpid());
    assert_int_equal(kernel.moves, 0);
    free_task(attached);
}

static void moved_after_exec(void **state)
{
    (void)state;
    struct event_program other = *config.program;
    struct attached *attached = new_task(ATTACH_ON_EXEC);
    attached->fds[CALLS] = -1; /* it was refused */
    attach_place(&session, getpid(), getpid());
    assert_int_equal(kernel.moves, 1);
    assert_int_equal(kernel.attrs[WRITES].bp_addr, BIAS + WRITTEN);
    assert_true(!kernel.attrs[WRITES].disabled && !kernel.attrs[WRITES].enable_on_exec);
    attach_place(&session, getpid(), getpid()); /* it is there already */
    assert_int_equal(kernel.moves, 1);
    attached->fds[CALLS] = FD + CALLS;
    other.device++;
    config.program = &other;
    attach_place(&session, getpid(), getpid());
    assert_int_equal(kernel.moves, 3);
    check_addresses(0);
    attach_place(&session, getpid(), getpid() + 1); /* no task of ours */
    assert_int_equal(kernel.moves, 3);
    assert_int_equal(session.unplaced, 0);
    free_task(attached);
}

/* Of a set that has not its turn, an event stays disabled; further events of a group never are. */
static void moved_in_its_state(void **state)
{
    (void)state;
    config.events[WRITES].set = 1;
    config.events[CALLS].set = 2;
    struct attached *attached = new_task(ATTACH_ON_EXEC);
    attached->set = 2;
    attach_place(&session, getpid(), getpid());
    assert_true(kernel.attrs[WRITES].disabled && !kernel.attrs[CALLS].disabled);
    free_task(attached);
    config.events[CALLS].leader = WRITES;
    attached = new_task(ATTACH_ON_EXEC);
    attached->set = 3;
    attach_place(&session, getpid(), getpid());
    assert_true(kernel.attrs[WRITES].disabled && !kernel.attrs[CALLS].disabled);
    free_task(attached);
}

static void moved_with_its_period(void **state)
{
    (void)state;
    config.events[WRITES].samples = config.events[CALLS].samples = true;
    config.events[WRITES].attr.sample_period = 100;
    config.events[CALLS].attr.freq = 1;
    config.events[CALLS].attr.sample_freq = 999;
    config.events[WRITES].random_mask = 0xff;
    config.varies = true;
    struct attached *attached = new_task(ATTACH_ON_EXEC);
    assert_int_equal(attach_period_init(attached, NULL), 0);
    const uint64_t period = attach_period_now(attached, WRITES);
    attach_place(&session, getpid(), getpid());
    assert_int_equal(kernel.attrs[WRITES].sample_period, period);
    assert_int_equal(kernel.attrs[CALLS].sample_freq, 999);
    attached->stopped = true;
    attached->bias = 0x1000;
    attach_place(&session, getpid(), getpid());
    assert_true(kernel.attrs[WRITES].sample_period > UINT64_MAX / 8);
    assert_int_equal(kernel.attrs[CALLS].sample_freq, 1);
    free_task(attached);
}

static void refused_by_the_kernel(void **state)
{
    (void)state;
    struct attached *attached = new_task(ATTACH_ON_EXEC);
    kernel.refuse = true;
    attach_place(&session, getpid(), getpid());
    assert_int_equal(kernel.stops, 2);
    assert_int_equal(session.unplaced, 1);
    assert_true(attach_place_is_unknown(attached, WRITES)); /* "not counted", and not 0 */
    assert_false(attach_place_is_unknown(attached, CLOCK));
    kernel.refuse = false;
    kernel.armed = true; /* the exec failed, and its events wait for the next one */
    kernel.moves = 0;
    attached->bias = 0;
    attach_place(&session, getpid(), getpid());
    assert_int_equal(kernel.moves, 4);
    assert_true(kernel.attrs[WRITES].enable_on_exec);
    assert_false(attach_place_is_unknown(attached, WRITES));
    kernel.refuse = true;
    attached->bias = 0x1000;
    attach_place(&session, getpid(), getpid());
    assert_int_equal(session.unplaced, 2);
    assert_false(attach_place_is_unknown(attached, WRITES)); /* it has counted before */
    free_task(attached);
}

/* A process can say anything of where its program is: the kernel's addresses are not watched for it. */
static void hostile_places(void **state)
{
    (void)state;
    struct event_program other = *config.program;
    static const uint64_t biases[] = {1, 0xffffffff80000000, (UINT64_C(1) << 63) - 0x4000, 0};
    config.program = &other;
    for (size_t i = 0; i < sizeof(biases) / sizeof(biases[0]); i++) {
        other.headers = getauxval(AT_PHDR) - biases[i];
        struct attached *attached = new_task(ATTACH_RUNNING);
        check_addresses(0);
        assert_true(attach_place_is_unknown(attached, WRITES));
        attach_place(&session, getpid(), getpid());
        assert_int_equal(session.unplaced, i + 1);
        assert_int_equal(kernel.moves, 0);
        free_task(attached);
    }
}

/* A thread has the program where the first thread of its process has it: nobody is asked. */
static void threads_have_the_place_of_their_process(void **state)
{
    (void)state;
    struct attached *first = new_task(ATTACH_RUNNING), *thread = attach_new(EVENTS);
    assert_non_null(thread);
    thread->session = &session;
    thread->pid = getpid();
    first->bias = 0x777000;
    assert_int_equal(attach_place_init(thread, ATTACH_THREAD), 0);
    assert_int_equal(thread->bias, 0x777000);
    assert_true(thread->placed);
    free(thread->places);
    first->placed = false; /* then /proc says it */
    assert_int_equal(attach_place_init(thread, ATTACH_THREAD), 0);
    assert_int_equal(thread->bias, BIAS);
    free(thread->places);
    free(thread);
    free_task(first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(opened_where_the_program_is),
        TEST(moved_after_exec),
        TEST(moved_in_its_state),
        TEST(moved_with_its_period),
        TEST(refused_by_the_kernel),
        TEST(hostile_places),
        TEST(threads_have_the_place_of_their_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
