/* SPDX-License-Identifier: MIT */
/* Tasks that are attached late: what is opened for them, in which order, and what they used before. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <time.h>

#include "collector/sources/attach.h"
#include "collector/sources/attach_late.h"
#include "collector/sources/inherited.h"
#include "collector/sources/session.h"
#include "collector/system/numbers.h"
#include "collector/system/procfs.h"

static struct event_config config;
static struct session session;
static struct notification notification;
static struct attached events;
static char steps[256]; /* what was done, in its order */

/* ---- In the place of the kernel ---- */

static bool is_known, set_knows, number_holds;
static unsigned long long began_tick;
static int stat_parent;
enum { PARENT = 4000077 };
static char parent_state; /* 0: it is gone */
static int open_status, inherit_status;
static unsigned no_cmdline; /* so often there is none */
static const char *exec_path;
static uint64_t counted[16], scheduled[16]; /* what each look says */
static unsigned counted_looks, scheduled_looks;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(steps + strlen(steps), sizeof(steps) - strlen(steps), format, list);
    va_end(list);
}

bool __wrap_attach_knows(struct session *of, pid_t pid, pid_t tid, bool *ret_ring);
bool __wrap_attach_knows(struct session *of, pid_t pid, pid_t tid, bool *ret_ring)
{
    assert_true(of == &session && pid == notification.pid && tid == notification.pid);
    assert_null(ret_ring);
    return is_known;
}

bool __wrap_inherited_know(struct inherited_sets *inherited, pid_t tid);
bool __wrap_inherited_know(struct inherited_sets *inherited, pid_t tid)
{
    (void)inherited;
    assert_int_equal(tid, notification.pid);
    return set_knows;
}

int __wrap_inherited_open_of(struct inherited_sets *inherited, pid_t pid, pid_t tid, int pidfd, enum inherit_root root);
int __wrap_inherited_open_of(struct inherited_sets *inherited, pid_t pid, pid_t tid, int pidfd, enum inherit_root root)
{
    (void)inherited;
    assert_true(pidfd >= 0 && pidfd == notification.pidfd);
    assert_int_equal(root, INHERIT_RUNS);
    note("inherit %d.%d ", (int)pid, (int)tid);
    return inherit_status;
}

int __wrap_attach_open(struct session *of, pid_t pid, pid_t tid, const char *name, enum attach_how how,
                       struct attached **ret);
int __wrap_attach_open(struct session *of, pid_t pid, pid_t tid, const char *name, enum attach_how how,
                       struct attached **ret)
{
    assert_true(of == &session && name == notification.comm);
    note("open %d.%d %s ", (int)pid, (int)tid, how == ATTACH_THREAD ? "thread" : how == ATTACH_RUNNING ? "runs" : "?");
    if (open_status == 0)
        *ret = &events;
    return open_status;
}

void __wrap_attach_complete(struct attached *attached);
void __wrap_attach_complete(struct attached *attached)
{
    assert_ptr_equal(attached, &events);
    note("complete");
}

void __wrap_attach_read(const struct attached *attached, struct attach_value *values);
void __wrap_attach_read(const struct attached *attached, struct attach_value *values)
{
    assert_ptr_equal(attached, &events);
    values[0] = (struct attach_value){.value = counted[counted_looks++], .enabled_ns = 1};
}

/* The last question, when all is open and read; or of one whose stat file cannot be read. */
bool __wrap_numbers_hold(int pidfd, pid_t pid, pid_t tid);
bool __wrap_numbers_hold(int pidfd, pid_t pid, pid_t tid)
{
    assert_true(pidfd >= 0 && pid == notification.pid && tid == notification.tid);
    assert_true((scheduled_looks > 0 && notification.comm[0]) || (notification.known_ns && !began_tick));
    return number_holds;
}

void __wrap_attach_free(struct attached *attached);
void __wrap_attach_free(struct attached *attached)
{
    assert_ptr_equal(attached, &events);
    note("free");
}

/* The stat file of the task: began so many ticks after boot, a child of STAT_PARENT. */
char *__real_procfs_read(pid_t pid, const char *name, size_t limit, size_t *size);
char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *size);
char *__wrap_procfs_read(pid_t pid, const char *name, size_t limit, size_t *size)
{
    char *text = NULL;
    unsigned int tid;
    if (began_tick == ULLONG_MAX)
        return __real_procfs_read(pid, name, limit, size);
    if (pid == PARENT && parent_state)
        assert_true(asprintf(&text, "%d (p) %c 1 1 1 0 -1 0 5 0 0 0 1 2 0 0 20 0 1 0 9 9", PARENT, parent_state) > 0);
    if (pid == PARENT)
        return text;
    assert_true(pid == notification.pid && sscanf(name, "task/%u/stat", &tid) == 1 && (pid_t)tid == notification.tid);
    if (began_tick)
        assert_true(asprintf(&text, "%u (a) 1 (b) S %d 1 1 0 -1 4194560 5 0 0 0 1 2 0 0 20 0 1 0 %llu 9 9", tid,
                             stat_parent, began_tick) > 0);
    return text;
}

uint64_t __wrap_procfs_scheduled_ns(pid_t pid, pid_t tid);
uint64_t __wrap_procfs_scheduled_ns(pid_t pid, pid_t tid)
{
    assert_true(pid == notification.pid && tid == notification.tid);
    return scheduled[scheduled_looks++];
}

char *__wrap_procfs_maps(pid_t pid);
char *__wrap_procfs_maps(pid_t pid)
{
    assert_int_equal(pid, notification.pid);
    return strdup("maps");
}

char *__wrap_procfs_exec(pid_t pid);
char *__wrap_procfs_exec(pid_t pid)
{
    assert_int_equal(pid, notification.pid);
    return exec_path ? strdup(exec_path) : NULL;
}

char *__wrap_procfs_cmdline(pid_t pid, size_t *ret_size);
char *__wrap_procfs_cmdline(pid_t pid, size_t *ret_size)
{
    assert_int_equal(pid, notification.pid);
    note("cmdline ");
    *ret_size = 5;
    return no_cmdline && no_cmdline-- ? NULL : strdup("line");
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    (void)left;
    note("%dus ", (int)(time->tv_nsec / 1000));
    return 0;
}

void __wrap_procfs_comm(pid_t pid, pid_t tid, char ret[16]);
void __wrap_procfs_comm(pid_t pid, pid_t tid, char ret[16])
{
    assert_true(pid == notification.pid && tid == notification.tid);
    strcpy(ret, "its name");
}

/* ---- The stage ---- */

static int set_up(void **state)
{
    (void)state;
    config.count = 1;
    config.events[0].attr.type = PERF_TYPE_SOFTWARE;
    config.events[0].attr.config = PERF_COUNT_SW_TASK_CLOCK;
    config.events[0].nanoseconds = true;
    session.config = &config;
    notification = (struct notification){.pid = getpid(), .tid = getpid(), .pidfd = -1};
    is_known = set_knows = false;
    number_holds = true;
    began_tick = 0;
    stat_parent = 1;
    open_status = inherit_status = 0;
    no_cmdline = counted_looks = scheduled_looks = 0;
    exec_path = "/bin/found";
    memset(counted, 0, sizeof(counted));
    for (unsigned i = 0; i < 16; i++)
        scheduled[i] = 7000;
    steps[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    if (notification.pidfd >= 0)
        close(notification.pidfd);
    free(notification.exec);
    free(notification.cmdline);
    free(notification.maps);
    return 0;
}

/* "%d" is the pid. */
static void expect_steps(const char *format)
{
    char wanted[256];
    const int pid = getpid();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(wanted, sizeof(wanted), format, pid, pid, pid, pid);
#pragma GCC diagnostic pop
    assert_string_equal(steps, wanted);
}

/* ---- Tests ---- */

static void a_process_has_a_set_first(void **state)
{
    (void)state;
    assert_int_equal(attach_late_open(&session, &notification), 0);
    expect_steps("inherit %d.%d open %d.%d runs cmdline complete");
    assert_int_equal(notification.kind, PINJECT_PROCESS);
    assert_true(notification.attached_late && notification.flags == PINJECT_REQUEST_INHERIT_EXEC &&
                notification.inherit_error == 0);
    assert_ptr_equal(notification.events, &events);
    assert_true(notification.answered_ns > 0);
    assert_int_equal(notification.startup_ns, 7000);
    assert_string_equal(notification.comm, "its name");
    assert_string_equal(notification.maps, "maps");
    assert_string_equal(notification.exec, "/bin/found");
    assert_string_equal(notification.cmdline, "line");
    assert_int_equal(notification.cmdline_size, 5);
    struct pollfd end = {.fd = notification.pidfd, .events = POLLIN};
    assert_int_equal(poll(&end, 1, 0), 0); /* we live */
    assert_true(notification.pidfd >= 0 && end.revents == 0);
}

static void a_set_that_is_refused_is_told(void **state)
{
    (void)state;
    inherit_status = -EACCES;
    assert_int_equal(attach_late_open(&session, &notification), 0);
    assert_int_equal(notification.inherit_error, -EACCES);
    assert_ptr_equal(notification.events, &events);
}

static void a_thread_has_events_alone(void **state)
{
    (void)state;
    notification.tid++;
    is_known = set_knows = true; /* its process is */
    assert_int_equal(attach_late_open(&session, &notification), 0);
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "open %d.%d thread complete", notification.pid, notification.tid);
    assert_string_equal(steps, wanted);
    assert_int_equal(notification.kind, PINJECT_THREAD);
    assert_true(notification.attached_late && notification.flags == 0 && notification.pidfd == -1);
    assert_true(!notification.maps && !notification.exec && !notification.cmdline);
    assert_int_equal(notification.startup_ns, 7000);
}

static void who_is_known_is_left_alone(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        is_known = i == 0;
        set_knows = i == 1;
        assert_int_equal(attach_late_open(&session, &notification), -EEXIST);
        assert_string_equal(steps, "");
        assert_null(notification.events);
    }
}

static void events_that_are_refused(void **state)
{
    (void)state;
    open_status = -ESRCH;
    assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
    expect_steps("inherit %d.%d open %d.%d runs ");
    assert_true(!notification.events && notification.pidfd == -1 && !notification.maps &&
                notification.answered_ns == 0);
    steps[0] = '\0';
    notification.tid++;
    assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
    assert_null(strstr(steps, "complete"));
}

/* Its number was given out again meanwhile: what was opened, and read, is given back. */
static void who_has_its_number_is_left_alone(void **state)
{
    (void)state;
    number_holds = false;
    assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
    expect_steps("inherit %d.%d open %d.%d runs cmdline free");
    assert_true(!notification.events && !notification.maps && !notification.exec && !notification.cmdline &&
                notification.pidfd == -1);
    steps[0] = '\0';
    notification.tid++;
    assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
    assert_non_null(strstr(steps, "thread free"));
    assert_true(!notification.events && notification.pidfd == -1);
}

static unsigned long long tick_of(clockid_t clock, int64_t later_ns)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (unsigned long long)((now.tv_sec * INT64_C(1000000000) + now.tv_nsec + later_ns) /
                                (1000000000 / sysconf(_SC_CLK_TCK)));
}

/* Known since a time: who began after that has the number of one that has ended. Nothing is opened for it. */
static void who_began_later_is_another(void **state)
{
    (void)state;
    const int64_t second = 1000000000, known = 5 * second;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const int64_t now_ns = now.tv_sec * second + now.tv_nsec;
    for (pid_t thread = 0; thread < 2; thread++) {
        notification.tid = notification.pid + thread;
        notification.known_ns = (uint64_t)(now_ns - known);
        began_tick = tick_of(CLOCK_BOOTTIME, second - known);
        steps[0] = '\0';
        assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
        assert_string_equal(steps, "");
        assert_true(notification.pidfd == -1);
        began_tick = 0; /* there is nobody */
        number_holds = false;
        assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
        assert_string_equal(steps, "");
        number_holds = true; /* there is somebody, whom /proc does not show: refused, not gone */
        assert_int_equal(attach_late_open(&session, &notification), -EACCES);
        assert_string_equal(steps, "");
        began_tick = tick_of(CLOCK_BOOTTIME, -2 * known);
        notification.of_parent = true;
        notification.ppid = PARENT; /* it is no child of that one */
        parent_state = 'S';
        assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
        assert_string_equal(steps, "");
        notification.of_parent = false;
        assert_int_equal(attach_late_open(&session, &notification), 0);
        assert_non_null(strstr(steps, "complete"));
        tear_down(NULL);
        notification.exec = notification.cmdline = notification.maps = NULL;
        notification.pidfd = -1;
    }
}

/* It was found as a child of one that ends while it is looked at: it is another's then, and is taken all the same. */
static void a_parent_may_end_meanwhile(void **state)
{
    static const char ended[] = {'Z', 'X', 0};
    (void)state;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    notification.known_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    notification.of_parent = true;
    notification.ppid = PARENT;
    for (size_t i = 0; i < sizeof(ended); i++) {
        parent_state = ended[i];
        began_tick = tick_of(CLOCK_BOOTTIME, INT64_C(5000000000)); /* but nobody who began later */
        assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
        assert_string_equal(steps, "");
        began_tick = tick_of(CLOCK_BOOTTIME, -INT64_C(5000000000));
        assert_int_equal(attach_late_open(&session, &notification), 0);
        assert_non_null(strstr(steps, "complete"));
        tear_down(NULL);
        notification.exec = notification.cmdline = notification.maps = NULL;
        notification.pidfd = -1;
        steps[0] = '\0';
    }
}

/* What the kernel really says, of us. */
static void we_began_before_now(void **state)
{
    (void)state;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    began_tick = ULLONG_MAX;
    notification.of_parent = true;
    notification.ppid = getppid();
    notification.known_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    assert_int_equal(attach_late_open(&session, &notification), 0);
    tear_down(NULL);
    notification.exec = notification.cmdline = notification.maps = NULL;
    notification.pidfd = -1;
    notification.ppid = getpid();
    assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
    notification.ppid = getppid();
    notification.known_ns = 1; /* when the machine started */
    assert_int_equal(attach_late_open(&session, &notification), -ESRCH);
}

/* posix_spawn() returns from the middle of the exec. */
static void arguments_come_a_moment_later(void **state)
{
    (void)state;
    no_cmdline = 2;
    assert_int_equal(attach_late_open(&session, &notification), 0);
    expect_steps("inherit %d.%d open %d.%d runs cmdline 250us cmdline 250us cmdline complete");
    assert_string_equal(notification.cmdline, "line");
    free(notification.cmdline);
    free(notification.exec);
    free(notification.maps);
    close(notification.pidfd);
    notification.pidfd = -1;
    notification.cmdline = NULL;
    steps[0] = '\0';
    no_cmdline = 100; /* or never */
    assert_int_equal(attach_late_open(&session, &notification), 0);
    assert_int_equal(no_cmdline, 100 - 8);
    assert_null(notification.cmdline);
    free(notification.exec);
    free(notification.maps);
    close(notification.pidfd);
    notification.pidfd = -1;
    steps[0] = '\0';
    exec_path = NULL; /* it is gone: nothing is waited for */
    assert_int_equal(attach_late_open(&session, &notification), 0);
    expect_steps("inherit %d.%d open %d.%d runs complete");
}

/* It runs meanwhile: two looks at its events have to agree, to 100 us, about what the scheduler says between them. */
static void what_was_used_before(void **state)
{
    (void)state;
    notification.events = &events;
    counted[0] = 1000;
    counted[1] = 1000 + 99999;
    scheduled[0] = 50000;
    assert_int_equal(attach_late_used_before(&session, &notification), 49000);
    assert_int_equal(scheduled_looks, 1);
    counted_looks = scheduled_looks = 0;
    counted[1] = 1000 + 100000;
    counted[2] = 101500;
    scheduled[1] = 151000;
    assert_int_equal(attach_late_used_before(&session, &notification), 50000);
    assert_int_equal(scheduled_looks, 2);
    counted_looks = scheduled_looks = 0;
    scheduled[0] = 900; /* the scheduler is behind */
    counted[1] = 1000;
    assert_int_equal(attach_late_used_before(&session, &notification), 0);
    counted_looks = scheduled_looks = 0;
    for (unsigned i = 0; i < 16; i++) { /* they never agree: the last look counts */
        counted[i] = 1000000 * (i + 1);
        scheduled[i] = 1000000 * (i + 1) + 10 * i;
    }
    assert_int_equal(attach_late_used_before(&session, &notification), 70);
    assert_int_equal(scheduled_looks, 8);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_process_has_a_set_first),  TEST(a_set_that_is_refused_is_told),    TEST(a_thread_has_events_alone),
        TEST(who_is_known_is_left_alone), TEST(events_that_are_refused),          TEST(arguments_come_a_moment_later),
        TEST(what_was_used_before),       TEST(a_parent_may_end_meanwhile),       TEST(who_began_later_is_another),
        TEST(we_began_before_now),        TEST(who_has_its_number_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
