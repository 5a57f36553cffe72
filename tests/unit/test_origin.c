/* SPDX-License-Identifier: MIT */
/* Whom a request may name, and what of its word is believed. */
#include "worker_fake.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "collector/service/origin.h"
#include "collector/service/request.h"
#include "common/clock.h"

enum { OTHER = 12345 };

static struct fake fake;
static pid_t gone_at_first; /* it is another one's, when it is asked for the third time */

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    const bool looks = (number == SYS_tgkill && b == gone_at_first) || (number == SYS_tkill && a == gone_at_first);
    if (!gone_at_first || !looks)
        return __real_syscall(number, a, b, c, d, e, f);
    if (number == SYS_tkill)
        gone_at_first = 0;
    errno = ESRCH;
    return -1;
}

static void both_ways_to_ask_the_kernel_agree(void **state)
{
    (void)state;
    struct origin by_pidfd, by_proc;
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert_int_equal(origin_read(getpid(), pidfd, &by_pidfd), 0);
    assert_int_equal(origin_read(getpid(), -1, &by_proc), 0);
    assert_int_equal(by_pidfd.ppid, getppid());
    assert_memory_equal(&by_pidfd, &by_proc, sizeof(by_proc));
    assert_int_equal(by_proc.users[1], geteuid());
    close(pidfd);
    assert_int_equal(origin_read(PINJECT_TASKS - 1, -1, &by_proc), -ESRCH);
}

/* A child that waits until the pipe is closed. */
static pid_t make_child(int ends[2])
{
    char byte;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(ends[0]);
    return child;
}

static void end_child(pid_t child, const int ends[2])
{
    int status;
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void what_descends_is_ours(void **state)
{
    (void)state;
    struct origin origin;
    int ends[2];
    fake_open(&fake);
    pid_t child = make_child(ends);
    assert_int_equal(origin_read(child, -1, &origin), 0);
    assert_false(origin_is_ours(&fake.session, child, &origin));
    /* Its parent is the collector, whose command it may be, or a helper process. */
    fake.session.self = getpid();
    assert_false(origin_is_ours(&fake.session, child, &origin));
    fake.session.segment->root = child;
    assert_true(origin_is_ours(&fake.session, child, &origin));
    assert_int_equal(origin_read(getpid(), -1, &origin), 0);
    assert_false(origin_is_ours(&fake.session, getpid(), &origin));
    assert_int_equal(origin_check(fake.session.own, getpid(), -1, &origin), -EPERM);
    /* The collector is process 1 of a container, as below unshare --pid --fork. */
    fake.session.self = 1;
    origin.ppid = 1;
    assert_true(origin_is_ours(&fake.session, child, &origin));
    assert_false(origin_is_ours(&fake.session, getpid(), &origin));
    fake.session.self = 0;
    assert_false(origin_is_ours(&fake.session, child, &origin));
    /* Its parent has events. */
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(fake_ask(fake.session.own->requests, 0, PINJECT_FORK), 0);
    struct notification *notification = fake_notification(&fake.session);
    assert_int_equal(origin_read(child, -1, &origin), 0);
    assert_true(origin_is_ours(&fake.session, child, &origin));
    assert_int_equal(origin_read(getppid(), -1, &origin), 0);
    assert_false(origin_is_ours(&fake.session, getppid(), &origin));
    service_stop_workers(&fake.session);
    fake_drop(notification);
    end_child(child, ends);
    fake_close(&fake);
}

/* As the processes of a tree whose first one has ended: the channel in their memory shows it. */
static void who_has_the_channel_in_memory_is_ours(void **state)
{
    (void)state;
    struct origin origin;
    fake_open(&fake);
    assert_int_equal(origin_check(fake.session.own, getpid(), -1, &origin), 0);
    assert_int_equal(origin_check(fake.session.own, getppid(), -1, &origin), -EPERM);
    fake_close(&fake);
}

static void another_user_names_his_own_alone(void **state)
{
    (void)state;
    struct origin origin;
    int error;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    fake.session.self = getppid(); /* so that this process descends */
    fake.session.segment->root = getpid();
    struct channel *channel = channels_get(&fake.session, OTHER, &error);
    assert_non_null(channel);
    assert_int_equal(origin_check(fake.session.own, getpid(), -1, &origin), 0);
    assert_int_equal(origin_check(channel, getpid(), -1, &origin), -EPERM);
    fake_close(&fake);
}

/* A process of OTHER, in which the own channel stays mapped or not. */
static pid_t start_other(bool keeps)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        if (!keeps)
            munmap(fake.session.own->requests, sizeof(*fake.session.own->requests));
        if (setresuid(OTHER, OTHER, OTHER) < 0 || write(ready[1], &byte, 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

/* A process of OTHER that comes from nobody we know; DUMPABLE: its user may look into it. */
static pid_t start_untracked(int dumpable, int ready)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    munmap(fake.session.own->requests, sizeof(*fake.session.own->requests));
    if (setresuid(OTHER, OTHER, OTHER) < 0 || prctl(PR_SET_DUMPABLE, dumpable) < 0 || write(ready, "", 1) != 1)
        _exit(1);
    pause();
    _exit(0);
}

/* What an unprivileged collector, of OTHER, says of both. */
static int check_untracked(pid_t hidden, pid_t open)
{
    struct origin origin;
    if (setresuid(OTHER, OTHER, OTHER) < 0)
        return 1;
    struct channel channel = *fake.session.own;
    channel.user = OTHER;
    if (origin_check(&channel, open, -1, &origin) != -EPERM || origin_check(&channel, hidden, -1, &origin) != 0)
        return 2;
    fake.session.self = hidden;
    if (origin_check(&channel, hidden, -1, &origin) != -EPERM)
        return 3;
    fake.session.self = 0;
    if (origin_check(&channel, getppid(), -1, &origin) != -EPERM) /* root's */
        return 4;
    channel.own = false;
    return origin_check(&channel, hidden, -1, &origin) == -EPERM ? 0 : 5;
}

/* A daemon that is not dumpable, whose parent has ended: neither its tree nor its memory shows whose it is. */
static void who_hides_from_his_user_is_believed(void **state)
{
    (void)state;
    int ready[2], status;
    char byte;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    assert_int_equal(pipe(ready), 0);
    pid_t untracked_children[] = {start_untracked(0, ready[1]), start_untracked(1, ready[1])};
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(read(ready[0], &byte, 1), 1);
    pid_t collector = fork();
    if (collector == 0)
        _exit(check_untracked(untracked_children[0], untracked_children[1]));
    assert_int_equal(waitpid(collector, &status, 0), collector);
    for (unsigned i = 0; i < 2; i++) {
        kill(untracked_children[i], SIGKILL);
        waitpid(untracked_children[i], NULL, 0);
        close(ready[i]);
    }
    assert_int_equal(status, 0);
    fake_close(&fake);
}

/* Any process of the machine, as far as the sender goes. */
static void a_process_of_nobody_is_refused(void **state)
{
    static const uint32_t kinds[] = {PINJECT_PROCESS,    PINJECT_FORK,         PINJECT_THREAD, PINJECT_ARM,
                                     PINJECT_GENERATION, PINJECT_INHERIT_EXEC, PINJECT_SPAWN,  PINJECT_SNAPSHOT};
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, i, kinds[i]);
        slot->pid = slot->tid = getppid();
        fake_post(fake.session.own->requests, i);
        assert_int_equal(fake_answer(slot), -EPERM);
        assert_int_equal(fake.session.denied, i + 1);
        assert_false(fake_covered(&fake.session, getppid()));
    }
    assert_null(notifications_take(&fake.session.notifications));
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

/* Own process, another one's task: what is told would be told of that. */
static void a_pair_that_is_none_is_refused(void **state)
{
    static const uint32_t kinds[] = {PINJECT_THREAD, PINJECT_INHERIT_EXEC, PINJECT_SNAPSHOT};
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, i, kinds[i]);
        slot->tid = getppid();
        fake_post(fake.session.own->requests, i);
        assert_int_equal(fake_answer(slot), -EPERM);
        assert_int_equal(fake.session.denied, i + 1);
    }
    assert_null(notifications_take(&fake.session.notifications));
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

/* What is told of a task that is gone is believed, but for one of another user's: the loop knows whose it was. */
static void what_is_gone_is_marked(void **state)
{
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    for (unsigned i = 0; i < 2; i++) {
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, i, PINJECT_GENERATION);
        if (i == 0)
            slot->pid = slot->tid = child;
        fake_post(fake.session.own->requests, i);
        fake_answer(slot);
        struct notification *notification = fake_notification(&fake.session);
        assert_int_equal(notification->gone, i == 0);
        fake_drop(notification);
    }
    assert_int_equal(fake.session.ended, 0);
    /* What these say can be judged by the task alone. */
    static const uint32_t kinds[] = {PINJECT_SPAWN, PINJECT_INHERIT_EXEC, PINJECT_SNAPSHOT};
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct pinject_slot *slot = fake_claim(fake.session.own->requests, 2 + i, kinds[i]);
        slot->pid = slot->tid = child;
        fake_post(fake.session.own->requests, 2 + i);
        assert_int_equal(fake_answer(slot), -ESRCH);
        assert_int_equal(fake.session.ended, i + 1);
    }
    assert_int_equal(fake.session.malformed, 0);
    assert_int_equal(fake.session.denied, 0);
    assert_null(notifications_take(&fake.session.notifications));
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

static uint64_t startup_of(unsigned slot_number, pid_t pid, uint64_t told_ns)
{
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, slot_number, PINJECT_GENERATION);
    slot->pid = slot->tid = pid;
    slot->startup_ns = told_ns;
    fake_post(fake.session.own->requests, slot_number);
    fake_answer(slot);
    struct notification *notification = fake_notification(&fake.session);
    uint64_t startup_ns = notification->startup_ns;
    fake_drop(notification);
    return startup_ns;
}

static void nobody_used_more_than_his_clock_says(void **state)
{
    (void)state;
    fake_open(&fake);
    fake.session.start_ns -= UINT64_C(60000000000); /* else such times cannot be */
    assert_int_equal(service_start_workers(&fake.session), 0);
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    const uint64_t little = 5000000, much = UINT64_C(30000000000);
    assert_int_equal(startup_of(0, getpid(), little), little);
    assert_int_equal(startup_of(1, child, much), 0);
    while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) <= little + 1000)
        continue;
    assert_int_equal(startup_of(2, getpid(), little + 1), little + 1);
    uint64_t before = clock_ns(CLOCK_PROCESS_CPUTIME_ID), startup = startup_of(3, getpid(), much);
    assert_in_range(startup, before, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

/* root's requests say nothing of processes that have a channel of their own. */
static void the_own_user_names_no_other(void **state)
{
    (void)state;
    struct origin origin;
    int error;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    pid_t changed = start_other(false), kept = start_other(true);
    fake.session.self = getpid();
    fake.session.segment->root = changed; /* the other one shows the channel */
    assert_int_equal(origin_check(fake.session.own, changed, -1, &origin), 0);
    struct channel *channel = channels_get(&fake.session, OTHER, &error);
    assert_non_null(channel);
    assert_int_equal(origin_check(fake.session.own, changed, -1, &origin), -EPERM);
    assert_int_equal(origin_check(fake.session.own, kept, -1, &origin), 0);
    assert_int_equal(origin_check(channel, changed, -1, &origin), 0);
    const pid_t children[] = {changed, kept};
    for (unsigned i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    fake_close(&fake);
}

static struct request request_of(uint32_t kind, pid_t pid)
{
    return (struct request){.slot = {.kind = kind, .pid = pid, .tid = pid, .ppid = getpid(), .parent_tid = getpid()}};
}

/* It was gone when it was asked whose it is, and its number is another's when its events would be opened. */
static void a_number_that_is_anothers_by_now(void **state)
{
    (void)state;
    struct notification *notification = NULL;
    fake_open(&fake);
    pid_t child = fork();
    if (child == 0)
        pause();
    struct request request = request_of(PINJECT_PROCESS, child);
    gone_at_first = child;
    assert_int_equal(request_begin(fake.session.own, &request, &notification), -ESRCH);
    assert_int_equal(gone_at_first, 0);
    assert_non_null(notification);
    assert_true(notification->gone);
    assert_null(notification->events);
    notification_free(notification);
    request = request_of(PINJECT_INHERIT, child);
    gone_at_first = child;
    assert_int_equal(request_begin(fake.session.own, &request, &notification), -ESRCH);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fake_close(&fake);
}

/* No descriptor is free to ask with: that says nothing of whose it is, and nothing is opened once there is one. */
static void check_unasked(void)
{
    static const uint32_t kinds[] = {PINJECT_PROCESS,    PINJECT_FORK,         PINJECT_ARM,   PINJECT_THREAD,
                                     PINJECT_GENERATION, PINJECT_INHERIT_EXEC, PINJECT_SPAWN, PINJECT_INHERIT};
    struct origin origin;
    struct rlimit all, none;
    fake_open(&fake);
    pid_t child = fork();
    if (child == 0)
        pause();
    MUST(getrlimit(RLIMIT_NOFILE, &all) == 0);
    none = (struct rlimit){0, all.rlim_max};
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    MUST(origin_read(child, -1, &origin) == -EMFILE);
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct request request = request_of(kinds[i], child);
        struct notification *notification = NULL;
        MUST(request_begin(fake.session.own, &request, &notification) == -EMFILE);
        MUST(!notification == (i >= 4));
        MUST(!notification || (!notification->gone && !notification->events && notification->result == -EMFILE));
        MUST(fake.session.no_memory == (i >= 4 ? i - 3 : 0));
        notification_free(notification);
    }
    MUST(setrlimit(RLIMIT_NOFILE, &all) == 0);
    MUST(fake.session.denied == 0 && fake.session.ended == 0 && fake.session.refused == 4);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fake_close(&fake);
}

static void who_cannot_be_asked_about(void **state)
{
    (void)state;
    fake_unprivileged(check_unasked);
}

/* Another user's word for a parent says nothing where the kernel knows none. */
static void other_users_name_no_parent(void **state)
{
    (void)state;
    struct notification *notification = NULL;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    fake.session.self = getppid();
    fake.session.segment->root = getpid();
    int error;
    pid_t child = start_other(true);
    struct channel *channel = channels_get(&fake.session, OTHER, &error);
    assert_non_null(channel);
    struct request request = request_of(PINJECT_PROCESS, child);
    request.slot.ppid = 1234567;
    request_begin(channel, &request, &notification);
    assert_non_null(notification);
    assert_int_equal(notification->ppid, getpid());
    fake_drop(notification);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fake_close(&fake);
}

/* A path in its maps has any text in it: what stands where the kernel tells device and inode counts. */
static void a_path_is_no_mapping(void **state)
{
    (void)state;
    char directory[] = "/tmp/pinject-origin-XXXXXX", path[256], byte = 0;
    int ready[2];
    struct origin origin;
    fake_open(&fake);
    const struct channel *own = fake.session.own;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/a%sb", directory, own->mapping);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, 4096) == 0 && pipe(ready) == 0);
    for (int keeps = 0; keeps < 2; keeps++) {
        pid_t child = fork();
        if (child == 0) {
            void *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
            if (!keeps)
                munmap(own->requests, sizeof(*own->requests));
            if (map == MAP_FAILED || write(ready[1], &byte, 1) != 1)
                _exit(1);
            pause();
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        assert_int_equal(origin_check(own, child, -1, &origin), keeps ? 0 : -EPERM);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
    close(fd);
    close(ready[0]);
    close(ready[1]);
    unlink(path);
    rmdir(directory);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_no_mapping),
        cmocka_unit_test(a_number_that_is_anothers_by_now),
        cmocka_unit_test(who_cannot_be_asked_about),
        cmocka_unit_test(other_users_name_no_parent),
        cmocka_unit_test(both_ways_to_ask_the_kernel_agree),
        cmocka_unit_test(what_descends_is_ours),
        cmocka_unit_test(who_has_the_channel_in_memory_is_ours),
        cmocka_unit_test(another_user_names_his_own_alone),
        cmocka_unit_test(who_hides_from_his_user_is_believed),
        cmocka_unit_test(a_process_of_nobody_is_refused),
        cmocka_unit_test(a_pair_that_is_none_is_refused),
        cmocka_unit_test(what_is_gone_is_marked),
        cmocka_unit_test(nobody_used_more_than_his_clock_says),
        cmocka_unit_test(the_own_user_names_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
